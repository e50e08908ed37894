"""Greedy search: take the most probable token at each step. Fast, and the same as a beam of 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from seqline.decoding.hypothesis import AVERAGE, MARKS, Hypothesis, Marks, Penalty
from seqline.decoding.rules import Prefix, Rule, Stuck, allowed_log_probs
from seqline.state import Decoder, select


@torch.no_grad()
def greedy(
    decoder: Decoder,
    memory: Any,
    max_lengths: Tensor,
    *,
    penalty: Penalty = AVERAGE,
    rules: Sequence[Rule] = (),
    marks: Marks = MARKS,
) -> list[Hypothesis]:
    """Return the greedy output of each of B sentences.

    Args:
        decoder: any decoder, in eval mode.
        memory: what `decoder.prepare` returned for the B sources.
        max_lengths: [B], the most tokens of each sentence, eos included; at least 1. The search runs on its device.
        penalty: for the score; it changes no token.
        rules: which tokens may come next.
        marks: the ids that begin and end a sentence.

    Returns:
        One hypothesis a sentence, in the order of the batch. Of equally probable tokens the lowest id is taken.

    Raises:
        ValueError: a limit is below 1.
        Stuck: the rules leave a sentence no token.
        FloatingPointError: the logits are not finite.
    """
    if bool((max_lengths < 1).any()):
        raise ValueError(f"max_lengths must be at least 1, got {int(max_lengths.min())}")
    sentence = torch.arange(len(max_lengths), device=max_lengths.device)  # [N] the sentence of each live row
    tokens = torch.full((len(sentence), 1), marks.bos, device=max_lengths.device)  # [N 1+t]
    log_probability = torch.zeros(len(sentence), dtype=torch.float64, device=max_lengths.device)
    state = decoder.initial_state(memory, len(sentence))
    results: dict[int, Hypothesis] = {}
    while len(sentence):
        prefix = Prefix(sentence, tokens[:, 1:], max_lengths[sentence] - (tokens.shape[1] - 1))
        logits, state = decoder(tokens[:, -1:], state, memory)
        best, token = allowed_log_probs(logits, prefix, rules).max(dim=1)  # the first of equal ones
        if bool((best == float("-inf")).any()):
            raise Stuck(int(sentence[best.argmin()]), tokens.shape[1] - 1)
        tokens = torch.cat([tokens, token[:, None]], dim=1)
        log_probability = log_probability + best

        length = tokens.shape[1] - 1
        is_over = (token == marks.eos) | (max_lengths[sentence] == length)
        for row in is_over.nonzero().flatten().tolist():
            ids, total = tuple(tokens[row, 1:].tolist()), log_probability[row].item()
            results[int(sentence[row])] = Hypothesis(ids, total, penalty.score(total, length), ids[-1] == marks.eos)
        if bool(is_over.any()):
            rows = (~is_over).nonzero().flatten()
            sentence, tokens, log_probability = select((sentence, tokens, log_probability), rows)
            state, memory = select((state, memory), rows)
    return [results[b] for b in range(len(max_lengths))]
