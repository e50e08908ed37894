"""The laws: what must hold for any model, checked on a given model and given sentences.

Each law runs the functions that training and translation run and returns how far the two sides of an equation are apart;
0.0 or rounding means it holds. tests/laws asks 1e-10 in float64 of every architecture. See docs/state.md for the equations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import torch

from seqline.data.batch import Example, collate, source_batch
from seqline.data.tokenizer import BOS, EOS
from seqline.decoding import AVERAGE, NONE, Hypothesis, beam, forbid, greedy
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.shapes import Tensor
from seqline.state import map_tensors, select

NEVER_GENERATED = (0, 1, 2)


class Subject(NamedTuple):
    """A model in evaluation mode and sentence pairs as ids (sources end in eos, targets have neither mark)."""

    model: EncoderDecoder
    examples: Sequence[Example]
    max_length: int


class Finding(NamedTuple):
    """How far a law is from holding: the largest absolute difference, and where it was seen."""

    law: str
    difference: float
    where: str


def check_laws(subject: Subject) -> list[Finding]:
    """Check every law on the subject; touches neither its weights nor its mode."""
    with torch.no_grad():
        return [law(subject) for law in LAWS.values()]


def split_law(subject: Subject) -> Finding:
    """Feeding a target in pieces, ragged ones too, gives the logits of one call, and so does what follows."""
    batch, memory, start = _prepared(subject)
    whole, _ = subject.model.decoder(batch.target_in, start, memory, batch.target_is_real)
    length = batch.target_in.shape[1]
    worst = Finding("split", 0.0, "")
    for cuts in _cuts(length):
        state, pieces = start, []
        for begin, end in zip((0, *cuts), (*cuts, length), strict=True):
            mask = batch.target_is_real[:, begin:end]
            logits, state = subject.model.decoder(batch.target_in[:, begin:end], state, memory, mask)
            pieces.append(logits)
        difference = _largest((torch.cat(pieces, 1) - whole)[batch.target_is_real])
        worst = max(worst, Finding("split", difference, f"cut at {cuts}"), key=lambda f: f.difference)
    return worst


def _cuts(length: int) -> list[tuple[int, ...]]:
    every, middle = tuple(range(1, length)), (length // 2,)
    return [every, middle, *([(1,), (length - 1,), (1, length - 1)] if length > 2 else [])]


def select_law(subject: Subject) -> Finding:
    """A step after `select` gives the selected rows of the step; selecting twice is selecting the composition."""
    batch, memory, start = _prepared(subject)
    _, state = subject.model.decoder(batch.target_in[:, :-1], start, memory, batch.target_is_real[:, :-1])
    last = batch.target_in[:, -1:]
    logits, after = subject.model.decoder(last, state, memory)
    n = len(batch.rows)
    rows = torch.tensor([*range(n - 1, -1, -1), 0, n - 1, n - 1])
    chosen, chosen_after = subject.model.decoder(last[rows], select(state, rows), select(memory, rows))
    differences = [_largest(chosen - logits[rows])]
    again = torch.tensor([2, 0, 0])
    differences += _tree_differences(select(chosen_after, again), select(after, rows[again]))
    return Finding("select", max(differences), f"rows {rows.tolist()}")


def row_law(subject: Subject) -> Finding:
    """A row's logits are those of the row alone, whatever its neighbours, their order, the padding and its content."""
    worst = Finding("row", 0.0, "")
    every = list(range(len(subject.examples)))
    for rows, padding in ((every, 0), (every[::-1], 3), (every, 7)):
        source, is_real = source_batch([e.source for e in subject.examples], rows)
        batch = collate(subject.examples, rows)
        source = torch.nn.functional.pad(source, (0, padding))
        is_real = torch.nn.functional.pad(is_real, (0, padding))
        poison = torch.arange(source.numel()).view_as(source) % 3 + EOS
        logits = subject.model(torch.where(is_real, source, poison), is_real, batch.target_in)
        for place, row in enumerate(rows):
            alone = collate(subject.examples, [row])
            expected = subject.model(alone.source, alone.source_is_real, alone.target_in)
            got = logits[place : place + 1, : expected.shape[1]]
            where = f"row {row} of order {rows}, {padding} columns of padding"
            worst = max(worst, Finding("row", _largest(got - expected), where), key=lambda f: f.difference)
    return worst


def pure_law(subject: Subject) -> Finding:
    """Neither a step nor a search changes the state, memory or ids it was given; the same call gives the same bits."""
    batch, memory, start = _prepared(subject)
    _, state = subject.model.decoder(batch.target_in[:, :1], start, memory)
    given = (memory, state, batch.target_in)
    before = map_tensors(torch.clone, given)
    first = subject.model.decoder(batch.target_in[:, 1:2], state, memory)
    searched = _search(subject, memory, beam_size=3)
    differences = _tree_differences(before, given)
    differences += _tree_differences(first, subject.model.decoder(batch.target_in[:, 1:2], state, memory))
    differences.append(0.0 if searched == _search(subject, memory, beam_size=3) else float("inf"))
    return Finding("pure", max(differences), "state, memory or a repeated call")


def rescore_law(subject: Subject) -> Finding:
    """Every hypothesis has the log-probability that teacher forcing gives its tokens, and the score of the formula."""
    batch, memory, _ = _prepared(subject)
    worst = Finding("rescore", 0.0, "")
    for beam_size in (1, 4):
        for row, hypotheses in enumerate(_search(subject, memory, beam_size, n_best=beam_size)):
            one = torch.tensor([row])
            for hypothesis in hypotheses:
                expected = score_ids(subject.model, batch.source[one], batch.source_is_real[one], hypothesis.ids)
                by_formula = hypothesis.log_probability / len(hypothesis.ids)
                difference = max(abs(expected - hypothesis.log_probability), abs(by_formula - hypothesis.score))
                where = f"row {row}, beam {beam_size}, ids {hypothesis.ids}"
                worst = max(worst, Finding("rescore", difference, where), key=lambda f: f.difference)
    return worst


def search_law(subject: Subject) -> Finding:
    """Beam 1 is greedy, a result does not depend on its batch, and a beam wide enough finds what enumeration finds."""
    batch, memory, _ = _prepared(subject)
    limits = _limits(subject, len(batch.rows))
    together = greedy(subject.model.decoder, memory, limits, rules=[forbid(NEVER_GENERATED)])
    worst = Finding("search", 0.0, "")

    def compare(got: Sequence[Hypothesis], expected: Sequence[Hypothesis], where: str) -> None:
        nonlocal worst
        same = [h.ids for h in got] == [h.ids for h in expected]
        apart = max((abs(a.score - b.score) for a, b in zip(got, expected, strict=False)), default=0.0)
        finding = Finding("search", apart if same else float("inf"), where)
        worst = max(worst, finding, key=lambda f: f.difference)

    compare([best[0] for best in _search(subject, memory, 1)], together, "beam 1 against greedy")
    wide = _search(subject, memory, 4)
    for row in range(len(batch.rows)):
        alone = select(memory, torch.tensor([row]))
        one = Subject(subject.model, subject.examples[row : row + 1], subject.max_length)
        compare(_search(one, alone, 4)[0], wide[row], f"row {row} alone against its batch, beam 4")
    return worst


def exhaustive_law(subject: Subject) -> Finding:
    """With a beam as wide as the number of sequences, all hypotheses and scores are those of brute force.

    Only for tiny vocabularies: every sequence of at most `max_length` ids is scored from its own source.
    """
    vocab_size = subject.model(*_first_inputs(subject)).shape[-1]
    batch, memory, _ = _prepared(subject)
    words = [i for i in range(vocab_size) if i not in (*NEVER_GENERATED, EOS)]
    sequences = [(*body, EOS) for n in range(subject.max_length) for body in product(words, repeat=n)] + list(
        product(words, repeat=subject.max_length)
    )
    worst = Finding("exhaustive", 0.0, "")
    for penalty in (NONE, AVERAGE):
        limits = _limits(subject, len(batch.rows))
        found = beam(
            subject.model.decoder, memory, limits, beam_size=len(sequences), n_best=len(sequences),
            penalty=penalty, rules=[forbid(NEVER_GENERATED)],
        )  # fmt: skip
        for row, hypotheses in enumerate(found):
            one = torch.tensor([row])
            source, is_real = batch.source[one], batch.source_is_real[one]
            totals = _score_together(subject.model, source, is_real, sequences)
            scored = [(penalty.score(total, len(ids)), ids) for total, ids in zip(totals, sequences, strict=True)]
            expected = sorted(scored, reverse=True)
            same = {h.ids for h in hypotheses} == set(sequences) and len(hypotheses) == len(sequences)
            apart = max(abs(h.score - score) for h, (score, _) in zip(hypotheses, expected, strict=False))
            finding = Finding("exhaustive", apart if same else float("inf"), f"row {row}, penalty {penalty}")
            worst = max(worst, finding, key=lambda f: f.difference)
    return worst


LAWS: dict[str, Callable[[Subject], Finding]] = {
    "split": split_law,
    "select": select_law,
    "row": row_law,
    "pure": pure_law,
    "rescore": rescore_law,
    "search": search_law,
}


def score_ids(model: EncoderDecoder, source: Tensor, is_real: Tensor, ids: Sequence[int]) -> float:
    """Return log p(ids | source) by teacher forcing, the full softmax at every step; source [1 S]."""
    target = torch.tensor([ids], device=source.device)
    target_in = torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1)
    return float(model(source, is_real, target_in).log_softmax(-1).gather(2, target[..., None]).sum())


def _score_together(
    model: EncoderDecoder, source: Tensor, is_real: Tensor, sequences: Sequence[tuple[int, ...]]
) -> list[float]:
    """Return `score_ids` of many sequences of one source, those of one length in one call."""
    totals: dict[tuple[int, ...], float] = {}
    for length in {len(ids) for ids in sequences}:
        same = [ids for ids in sequences if len(ids) == length]
        target = torch.tensor(same)
        target_in = torch.cat([torch.full_like(target[:, :1], BOS), target[:, :-1]], dim=1)
        logits = model(source.expand(len(same), -1), is_real.expand(len(same), -1), target_in)
        of_ids = logits.log_softmax(-1).gather(2, target[..., None]).sum((1, 2))
        totals |= dict(zip(same, of_ids.tolist(), strict=True))
    return [totals[ids] for ids in sequences]


def _prepared(subject: Subject) -> tuple[Any, Any, Any]:
    batch = collate(subject.examples, list(range(len(subject.examples))))
    decoder = subject.model.decoder
    memory = decoder.prepare(subject.model.encoder(batch.source, batch.source_is_real))
    return batch, memory, decoder.initial_state(memory, len(batch.rows))


def _first_inputs(subject: Subject) -> tuple[Tensor, Tensor, Tensor]:
    batch = collate(subject.examples, [0])
    return batch.source, batch.source_is_real, batch.target_in


def _limits(subject: Subject, rows: int) -> Tensor:
    return torch.full((rows,), subject.max_length)


def _search(subject: Subject, memory: Any, beam_size: int, n_best: int = 1) -> list[list[Hypothesis]]:
    limits = _limits(subject, len(subject.examples))
    return beam(
        subject.model.decoder, memory, limits, beam_size=beam_size, n_best=n_best, rules=[forbid(NEVER_GENERATED)]
    )


def _largest(difference: Tensor) -> float:
    largest = float(difference.abs().max()) if difference.numel() else 0.0
    return largest if math.isfinite(largest) else math.inf  # max() would pass over a NaN


def _tree_differences(a: Any, b: Any) -> list[float]:
    found: list[float] = [0.0]

    def compare(x: Tensor, y: Tensor) -> Tensor:
        found.append(_largest(x.double() - y.double()))
        return x

    map_tensors(compare, a, b)
    return found
