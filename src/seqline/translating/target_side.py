"""The target side of a translator: settings and wishes become rules, a search becomes ids, and ids become text."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from seqline.config import DecodingConfig
from seqline.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer
from seqline.decoding import (
    Beam,
    Hypothesis,
    Rule,
    Sampling,
    Spelling,
    Stuck,
    beam,
    forbid,
    greedy,
    min_length,
    no_loops,
    no_repeat_ngram,
    parse_penalty,
    sample,
    stream,
    whole_utf8,
)
from seqline.state import Decoder, expand
from seqline.translating.requests import Request
from seqline.translating.wishes import Wishes


class TargetSide:
    """One target tokenizer and how outputs are searched.

    Args:
        tokenizer: of targets.
        decoding: the settings of a search.
        is_reversed: the model writes targets from their end to their beginning.
    """

    def __init__(self, tokenizer: Tokenizer, decoding: DecodingConfig, *, is_reversed: bool = False) -> None:
        self.tokenizer, self.decoding, self.is_reversed = tokenizer, decoding, is_reversed
        self.penalty = parse_penalty(decoding.length_penalty, where="decoding.length_penalty")
        has_bytes = any(value >= 0 for value in tokenizer.byte_values)
        # Bytes spell what the vocabulary lacks, so that <unk> is no output; without them it is one, and counted.
        never = (PAD, UNK, BOS) if has_bytes else (PAD, BOS)
        self.rules: list[Rule] = [forbid(never), min_length(decoding.min_length, EOS)]
        if has_bytes and not is_reversed:  # the rule knows bytes in the order of the text
            self.rules.append(whole_utf8(tokenizer.byte_values))
        if decoding.no_repeat_ngram is not None:
            self.rules.append(no_repeat_ngram(decoding.no_repeat_ngram))
        if decoding.max_repeats is not None:
            self.rules.append(no_loops(decoding.max_repeats))

    @cached_property
    def spelling(self) -> Spelling:
        """What each id writes."""
        return Spelling(self.tokenizer.spelled, EOS)

    def encode(self, text: str) -> list[int]:
        """Turn a target into ids in the order in which the model writes them, without the end mark."""
        ids = self.tokenizer.encode(text)
        return ids[::-1] if self.is_reversed else ids

    def decode(self, ids: Sequence[int]) -> str:
        """Turn generated ids into text."""
        return self.tokenizer.decode(ids[::-1] if self.is_reversed else ids)

    def max_length(self, source_length: int) -> int:
        """Return the most pieces an output may have, its end mark included, for a source of that many pieces."""
        decoding = self.decoding
        limit = int(decoding.max_length_factor * source_length) + decoding.max_length_extra
        limit = max(limit, decoding.min_length + 1)
        return limit if decoding.max_length is None else min(limit, decoding.max_length)

    def search(
        self,
        decoder: Decoder,
        memory: Any,
        limits: Tensor,
        requests: Sequence[Request],
        *,
        beam_size: int,
        n_best: int = 1,
    ) -> list[list[Hypothesis]]:
        """Return the best outputs of each of B sentences: a beam search, greedy where the beam is 1.

        Args:
            decoder: in evaluation mode.
            memory: of the B sources.
            limits: [B], the most pieces of each output, end mark included.
            requests: what each output must begin with, hold and not hold.
            beam_size: places of a sentence.
            n_best: how many to return.

        Raises:
            UserError: a wish that this tokenizer cannot spell, numbers that do not fit.
        """
        wishes = Wishes(self, requests)
        rules = wishes.around(self.rules, is_eager=beam_size == 1)
        if beam_size == 1 and wishes.must is None:
            best = greedy(decoder, memory, limits, penalty=self.penalty, rules=rules)
            return [[hypothesis] for hypothesis in best]
        groups = (self.decoding.num_groups, self.decoding.diversity) if beam_size > 1 else (1, 0.0)
        how = Beam(beam_size, n_best, self.penalty, *groups)
        return beam(decoder, memory, limits, how, rules=rules, must=wishes.must)

    def draw(
        self,
        decoder: Decoder,
        memory: Any,
        limits: Tensor,
        requests: Sequence[Request],
        *,
        sampling: Sampling,
        count: int,
        places: Sequence[int],
    ) -> list[list[Hypothesis]]:
        """Return `count` random outputs of each of B sentences, in the order of their numbers.

        Args:
            decoder, memory, limits, requests: as in `search`.
            sampling: how to draw.
            count: draws a sentence.
            places: where each sentence stands in the input; with the seed and the number of the draw it names the chance.
        """
        wishes = Wishes(self, [request for request in requests for _ in range(count)])
        wishes.refuse_must("a drawn output")
        try:
            found = sample(
                decoder,
                expand(memory, count),
                [[BOS]] * (len(requests) * count),
                limits.repeat_interleave(count),
                sampling=sampling,
                row_ids=[
                    place + (number << 40) for place in places for number in range(count)
                ],  # however many are drawn
                rules=wishes.around(self.rules, is_eager=True),
            )
        except Stuck as stuck:
            raise Stuck(stuck.sentence // count) from stuck
        scored = [h._replace(score=self.penalty.score(h.log_probability, len(h.ids))) for h in found]
        return [scored[begin : begin + count] for begin in range(0, len(scored), count)]

    def grow(
        self,
        decoder: Decoder,
        memory: Any,
        limits: Tensor,
        request: Request,
        *,
        sampling: Sampling | None,
        place: int,
    ) -> Generator[str, None, Hypothesis]:
        """Yield one output as it grows: what each step adds to its text; greedy where nothing is drawn. Return all of it."""
        wishes = Wishes(self, [request])
        wishes.refuse_must("an output that is shown as it grows")
        steps = stream(
            decoder,
            memory,
            [[BOS]],
            limits,
            sampling=sampling or Sampling(temperature=0.0),
            row_ids=[place],
            rules=wishes.around(self.rules, is_eager=True),
        )
        ids: list[int] = []
        total, shown = 0.0, ""
        for step in steps:
            ids += step.ids
            total += step.log_probabilities[0]
            text = self.decode(ids)  # a character of which a byte is missing is not in it yet
            yield text[len(shown) :]
            shown = text
        return Hypothesis(tuple(ids), total, self.penalty.score(total, len(ids)), ids[-1] == EOS)

    def score(self, logits: Tensor, ids: Sequence[int]) -> tuple[list[float], float]:
        """Return the log-probability of each id under logits [T V], and their sum under the length penalty."""
        steps = logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
        values = steps.gather(1, torch.tensor(ids, device=logits.device)[:, None])[:, 0].double().tolist()
        return values, self.penalty.score(sum(values), len(ids))
