"""Laws of what a decoder does with a prefix: pieces, rows, padding, later tokens, and what it may not change.

Each law runs the functions that training and translation run and returns how far the two sides of an equation are apart.
See docs/state.md for the equations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from seqline.data.batch import collate, source_batch
from seqline.data.tokenizer import EOS
from seqline.decoding import Hypothesis
from seqline.evaluation.subject import Finding, Subject, Worst, chance, poisoned, prepared
from seqline.evaluation.verify_search import search
from seqline.shapes import Tensor
from seqline.state import map_tensors, select

SEEDS = (1, 1, 2)


def fixed_law(subject: Subject) -> Finding:
    """Nothing is drawn at random: a model in evaluation mode gives the same bits whatever torch's generator holds."""

    def call() -> Tensor:
        batch = prepared(subject).batch
        return subject.model(batch.source, batch.source_is_real, batch.target_in)

    return is_fixed(subject.model, call)


def is_fixed(model: nn.Module, call: Callable[[], Tensor]) -> Finding:
    """Look for modules in training mode, and call again with the same and with another seed.

    Where the same seed gives other bits it is not chance, but something kept from call to call, which `pure` finds.
    """
    worst = Worst("fixed")
    for name, module in model.named_modules():
        if module.training:
            worst.add(float("inf"), f"{name or 'the model'} is in training mode")
    first, again, other = (_with_seed(seed, call) for seed in SEEDS)
    if torch.equal(first, again):
        worst.compare(other, first, "the same call twice")
    return worst.result()


def _with_seed(seed: int, call: Callable[[], Tensor]) -> Tensor:
    with chance(seed):
        return call()


def split_law(subject: Subject) -> Finding:
    """Feeding a target in pieces, ragged ones too, gives the logits of one call, and so does what follows."""
    (batch, memory, start), worst = prepared(subject), Worst("split")
    whole, _ = subject.model.decoder(batch.target_in, start, memory, batch.target_is_real)
    length = batch.target_in.shape[1]
    for cuts in _cuts(length):
        state, pieces = start, []
        for begin, end in zip((0, *cuts), (*cuts, length), strict=True):
            mask = batch.target_is_real[:, begin:end]
            logits, state = subject.model.decoder(batch.target_in[:, begin:end], state, memory, mask)
            pieces.append(logits)
        where = "token by token" if len(cuts) == length - 1 else f"cut at {cuts}"
        for row, is_real in enumerate(batch.target_is_real):
            worst.compare(torch.cat(pieces, 1)[row][is_real], whole[row][is_real], where, row)
    return worst.result()


def _cuts(length: int) -> list[tuple[int, ...]]:
    every, middle = tuple(range(1, length)), (length // 2,)
    return [every, middle, *([(1,), (length - 1,), (1, length - 1)] if length > 2 else [])]


def causal_law(subject: Subject) -> Finding:
    """What stands later in a target changes no logit before it."""
    (batch, memory, start), worst = prepared(subject), Worst("causal")
    ids = batch.target_in
    whole, _ = subject.model.decoder(ids, start, memory)
    other = torch.where(ids == EOS + 1, EOS, EOS + 1)
    for place in sorted({1, ids.shape[1] // 2, ids.shape[1] - 1} - {0}):
        changed = torch.cat([ids[:, :place], other[:, place:]], dim=1)
        logits, _ = subject.model.decoder(changed, start, memory)
        for row in range(len(ids)):
            where = f"other target tokens from place {place} on"
            worst.compare(logits[row, :place], whole[row, :place], where, row)
    return worst.result()


def select_law(subject: Subject) -> Finding:
    """A step after `select` gives the selected rows of the step; selecting twice is selecting the composition."""
    (batch, memory, start), worst = prepared(subject), Worst("select")
    _, state = subject.model.decoder(batch.target_in[:, :-1], start, memory, batch.target_is_real[:, :-1])
    last = batch.target_in[:, -1:]
    logits, after = subject.model.decoder(last, state, memory)
    n = len(batch.rows)
    rows = torch.tensor([*range(n - 1, -1, -1), 0, n - 1, n - 1])
    chosen, chosen_after = subject.model.decoder(last[rows], select(state, rows), select(memory, rows))
    for place, row in enumerate(rows.tolist()):
        worst.compare(chosen[place], logits[row], f"rows {rows.tolist()}", row)
    again = torch.tensor([2, 0, 0])
    worst.compare_trees(select(chosen_after, again), select(after, rows[again]), "selected twice")
    return worst.result()


def row_law(subject: Subject) -> Finding:
    """A row's logits are those of the row alone, whatever its neighbours, their order, the padding and its content."""
    worst, every = Worst("row"), list(range(len(subject.examples)))
    alone = [_logits_alone(subject, row) for row in every]
    for rows, padding in ((every, 0), (every[::-1], 3), (every, 7), *(([row], 2) for row in every)):
        source, is_real = source_batch([e.source for e in subject.examples], rows)
        batch = collate(subject.examples, rows)
        source = torch.nn.functional.pad(source, (0, padding))
        is_real = torch.nn.functional.pad(is_real, (0, padding))
        logits = subject.model(poisoned(source, is_real), is_real, batch.target_in)
        for place, row in enumerate(rows):
            length = alone[row].shape[1]
            where = f"row {row} of order {rows}, {padding} columns of padding"
            worst.compare(logits[place : place + 1, :length], alone[row], where, row)
    return worst.result()


def batch_law(subject: Subject) -> Finding:
    """Sentences of one length stand side by side without any padding, and still none changes another."""
    width = min(len(e.source) for e in subject.examples)
    height = min(len(e.target) for e in subject.examples)
    cut = [
        e._replace(source=[*e.source[: width - 1], e.source[-1]], target=e.target[:height]) for e in subject.examples
    ]
    even, worst = subject._replace(examples=cut), Worst("batch")
    alone = [_logits_alone(even, row) for row in range(len(cut))]
    for rows in (list(range(len(cut))), list(range(len(cut)))[::-1]):
        batch = collate(cut, rows)
        logits = subject.model(batch.source, batch.source_is_real, batch.target_in)
        for place, row in enumerate(rows):
            worst.compare(logits[place : place + 1], alone[row], f"row {row} of order {rows}", row)
    return worst.result()


def _logits_alone(subject: Subject, row: int) -> Tensor:
    batch = collate(subject.examples, [row])
    return subject.model(batch.source, batch.source_is_real, batch.target_in)


def prompt_law(subject: Subject) -> Finding:
    """Prompts of different lengths read in one padded call leave each row where reading it alone leaves it."""
    (batch, memory, start), worst = prepared(subject), Worst("prompt")
    decoder, ids, is_real = subject.model.decoder, batch.target_in, batch.target_is_real
    following = torch.full_like(ids[:, :1], EOS + 1)
    _, state = decoder(poisoned(ids, is_real), start, memory, is_real)
    logits, _ = decoder(following, state, memory)
    for row in range(len(ids)):
        one = torch.tensor([row])
        own = select(memory, one)
        _, state = decoder(ids[one][:, is_real[row]], decoder.initial_state(own, 1), own)
        expected, _ = decoder(following[one], state, own)
        worst.compare(logits[one], expected, f"row {row} after its prompt", row)
    return worst.result()


def pure_law(subject: Subject) -> Finding:
    """Neither a step nor a search changes the state, memory or ids it was given; the same call gives the same bits."""
    (batch, memory, start), worst = prepared(subject), Worst("pure")
    _, state = subject.model.decoder(batch.target_in[:, :1], start, memory)
    given = (memory, state, batch.target_in)
    before = map_tensors(torch.clone, given)

    def calls() -> tuple[Tensor, Any, list[list[Hypothesis]]]:
        with chance(0):
            whole = subject.model(batch.source, batch.source_is_real, batch.target_in)
            step = subject.model.decoder(batch.target_in[:, 1:2], state, memory)
            return whole, step, search(subject, memory, 3)

    first = calls()
    worst.compare_trees(given, before, "the state or memory that a step was given")
    again = calls()
    worst.compare(again[0], first[0], "a repeated call")
    worst.compare_trees(again[1], first[1], "a repeated step")
    if worst.finding.difference == 0 and first[2] != again[2]:
        worst.add(float("inf"), "a repeated search")
    return worst.result()
