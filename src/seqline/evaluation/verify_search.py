"""Laws of a search on a given model: what it returns is what enumeration and teacher forcing say, in any batch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import torch

from seqline.data.tokenizer import BOS, EOS
from seqline.decoding import AVERAGE, NONE, Beam, Hypothesis, Penalty, Sampling, beam, forbid, greedy, sample
from seqline.evaluation.subject import NEVER_GENERATED, Finding, Subject, Worst, prepared
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.shapes import Tensor
from seqline.state import Decoder, select

WIDE = 4
WARM = Sampling(temperature=1.4, top_p=0.95, seed=3)


def search(subject: Subject, memory: Any, size: int, n_best: int = 1) -> list[list[Hypothesis]]:
    """Search all examples in one batch, average length penalty, no special id but eos."""
    limits = _limits(subject, len(subject.examples))
    return beam(subject.model.decoder, memory, limits, Beam(size, n_best), rules=[forbid(NEVER_GENERATED)])


def rescore_law(subject: Subject) -> Finding:
    """Every hypothesis has the log-probability that teacher forcing gives its tokens, and the score of the formula."""
    (batch, memory, _), worst = prepared(subject), Worst("rescore")
    for size in (1, WIDE):
        for row, hypotheses in enumerate(search(subject, memory, size, n_best=size)):
            one = torch.tensor([row])
            for found in hypotheses:
                expected = score_ids(subject.model, batch.source[one], batch.source_is_real[one], found.ids)
                where = f"beam {size}, ids {found.ids}"
                worst.compare_numbers(found.log_probability, expected, where, row)
                worst.compare_numbers(found.score, found.log_probability / len(found.ids), where, row)
    return worst.result()


def greedy_law(subject: Subject) -> Finding:
    """A beam of 1 is greedy search: the same tokens and scores."""
    (_, memory, _), worst = prepared(subject), Worst("greedy")
    limits = _limits(subject, len(subject.examples))
    expected = greedy(subject.model.decoder, memory, limits, rules=[forbid(NEVER_GENERATED)])
    for row, (one, found) in enumerate(zip(expected, search(subject, memory, 1), strict=True)):
        compare_results(worst, found, [one], "other scores", row)
    return worst.result()


def search_law(subject: Subject) -> Finding:
    """What a search finds for a sentence does not depend on the batch around it, for greedy search and for a beam."""
    (_, memory, _), worst = prepared(subject), Worst("search")
    for size in (1, WIDE):
        together = search(subject, memory, size)
        for row, found in enumerate(together):
            one = subject._replace(examples=subject.examples[row : row + 1])
            alone = search(one, prepared(one).memory, size)[0]
            compare_results(worst, alone, found, f"beam {size}", row)
    return worst.result()


def exhaustive_law(subject: Subject, words: Sequence[int] | None = None) -> Finding:
    """With a beam as wide as the number of sequences, all hypotheses and scores are those of brute force.

    Args:
        subject: every sequence of at most its `max_length` ids is scored from each source.
        words: the only ids, beside eos, that may be written; None = all of a tiny vocabulary.
    """
    (batch, memory, start), worst = prepared(subject), Worst("exhaustive")
    logits, _ = subject.model.decoder(batch.target_in[:, :1], start, memory)
    every = range(logits.shape[-1])
    allowed = [i for i in (every if words is None else words) if i not in (*NEVER_GENERATED, EOS)]
    never = sorted(set(every) - {*allowed, EOS})
    sequences = _sequences(allowed, subject.max_length)
    limits = _limits(subject, len(batch.rows))
    totals = []
    for row in range(len(batch.rows)):
        source, is_real = batch.source[row : row + 1], batch.source_is_real[row : row + 1]
        totals.append(_score_together(subject.model, source, is_real, sequences))
    for penalty in (NONE, AVERAGE):
        how = Beam(len(sequences), len(sequences), penalty)
        found = beam(subject.model.decoder, memory, limits, how, rules=[forbid(never)])
        for row, hypotheses in enumerate(found):
            expected = _ranked(sequences, totals[row], penalty)
            compare_results(worst, hypotheses, expected, f"length penalty {penalty.name}", row)
    return worst.result()


def likely_words(subject: Subject, count: int) -> list[int]:
    """Return the ids that are most probable as first tokens, over all examples: what to enumerate in a real vocabulary."""
    batch, memory, start = prepared(subject)
    logits, _ = subject.model.decoder(batch.target_in[:, :1], start, memory)
    mean = logits[:, 0].log_softmax(-1).mean(0)
    mean[[*NEVER_GENERATED, EOS]] = float("-inf")
    return mean.topk(min(count, len(mean) - EOS - 1)).indices.tolist()


def sample_law(subject: Subject) -> Finding:
    """The tokens drawn for a row depend on seed, row and prompt only; their log-probability is that of teacher forcing.

    Prompts are the beginnings of the examples' targets, of different lengths.
    """
    (_, memory, _), worst = prepared(subject), Worst("sample")
    prompts = [[BOS, *e.target[: len(e.target) // 2]] for e in subject.examples]
    every = list(range(len(prompts)))
    alone = [_draw(subject, memory, prompts, [row])[0] for row in every]
    for rows in (every, every, every[::-1]):
        for row, found in zip(rows, _draw(subject, memory, prompts, rows), strict=True):
            compare_results(worst, [found], [alone[row]], f"rows {rows} together", row)
    for row, prompt in enumerate(prompts):
        own = select(memory, torch.tensor([row]))
        expected = _log_probability(subject.model.decoder, own, prompt, alone[row].ids)
        worst.compare_numbers(alone[row].log_probability, expected, f"ids {alone[row].ids}", row)
    return worst.result()


def _draw(subject: Subject, memory: Any, prompts: list[list[int]], rows: list[int]) -> list[Hypothesis]:
    chosen, limits = select(memory, torch.tensor(rows)), _limits(subject, len(rows))
    texts, rules = [prompts[row] for row in rows], [forbid(NEVER_GENERATED)]
    return sample(subject.model.decoder, chosen, texts, limits, sampling=WARM, row_ids=rows, rules=rules)


def _log_probability(decoder: Decoder, memory: Any, prompt: Sequence[int], ids: Sequence[int]) -> float:
    """Return log p(ids | prompt, source) in one call; memory of one row."""
    inputs = torch.tensor([[*prompt, *ids[:-1]]])
    logits, _ = decoder(inputs, decoder.initial_state(memory, 1), memory)
    return _sum_of(logits[:, len(prompt) - 1 :], torch.tensor([ids]))[0]


def score_ids(model: EncoderDecoder, source: Tensor, is_real: Tensor, ids: Sequence[int]) -> float:
    """Return log p(ids | source) by teacher forcing, the full softmax at every step; source [1 S]."""
    return _score_together(model, source, is_real, [tuple(ids)])[0]


def _score_together(
    model: EncoderDecoder, source: Tensor, is_real: Tensor, sequences: Sequence[tuple[int, ...]]
) -> list[float]:
    """Return log p of many sequences of one source, those of one length in one call."""
    totals: dict[tuple[int, ...], float] = {}
    for length in {len(ids) for ids in sequences}:
        same = [ids for ids in sequences if len(ids) == length]
        target = torch.tensor(same)
        target_in = torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1)
        logits = model(source.expand(len(same), -1), is_real.expand(len(same), -1), target_in)
        totals |= dict(zip(same, _sum_of(logits, target), strict=True))
    return [totals[ids] for ids in sequences]


def _sum_of(logits: Tensor, target: Tensor) -> list[float]:
    return logits.double().log_softmax(-1).gather(2, target[..., None]).sum((1, 2)).tolist()


def _sequences(words: Sequence[int], longest: int) -> list[tuple[int, ...]]:
    """Return each sequence of words that ends in eos or is cut at `longest` ids."""
    ended = [(*body, EOS) for length in range(longest) for body in product(words, repeat=length)]
    return [*ended, *product(words, repeat=longest)]


def _ranked(sequences: Sequence[tuple[int, ...]], totals: Sequence[float], penalty: Penalty) -> list[Hypothesis]:
    scored = [
        Hypothesis(ids, total, penalty.score(total, len(ids)), ids[-1] == EOS)
        for ids, total in zip(sequences, totals, strict=True)
    ]
    return sorted(scored, key=lambda hypothesis: -hypothesis.score)


def compare_results(
    worst: Worst, got: Sequence[Hypothesis], expected: Sequence[Hypothesis], where: str, row: int
) -> None:
    """Compare the results of two searches; the order of equally good ones is free where all sequences are there."""
    ours, theirs = (torch.tensor([h.score for h in found], dtype=torch.float64) for found in (got, expected))
    worst.compare(ours, theirs, where, row)
    one_by_one = {h.ids: h.log_probability for h in expected}
    same = len(got) == len(expected) and {h.ids for h in got} == one_by_one.keys()
    worst.add(0.0 if same else float("inf"), f"{where}: other tokens", row)
    for found in got if same else ():
        worst.compare_numbers(found.log_probability, one_by_one[found.ids], where, row)


def _limits(subject: Subject, rows: int) -> Tensor:
    return torch.full((rows,), subject.max_length)
