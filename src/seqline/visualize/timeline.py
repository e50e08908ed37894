"""The timeline of one translation: which part ran at t1, t2, ..., what it read and what it wrote."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch

from seqline.data.tokenizer import BOS
from seqline.shapes import Tensor
from seqline.translator import Translator
from seqline.watch import Frame, watch

SHOWN_WEIGHTS = 4


class Moment(NamedTuple):
    """One row: t from 1; the part that ran; what it read and wrote, in words; attention weights a source piece, or ()."""

    t: int
    part: str
    reads: str
    writes: str
    weights: tuple[float, ...]


def timeline(translator: Translator, text: str) -> list[Moment]:
    """Translate `text` greedily and say who ran when.

    The encoder takes a step a source piece (the end mark belongs to the last one), the decoder a step an output piece.

    Args:
        translator: any model; a single attention's weights are shown where the decoder has one.
        text: one source sentence.
    """
    source = translator.encode(text)
    output = translator.search([source], beam_size=1)[0][0]
    device = next(translator.model.parameters()).device
    ids = torch.tensor([source], device=device)
    target_in = torch.tensor([[BOS, *output.ids[:-1]]], device=device)
    with torch.no_grad(), watch() as frames:
        logits = translator.model(ids, torch.ones_like(ids, dtype=torch.bool), target_in)[0]
    states = next(frame.values["outputs"] for frame in frames if frame.part == "encoder")[0]
    source_pieces = translator.tokenizers.source.pieces(source)
    target_pieces = translator.tokenizers.target.pieces([BOS, *output.ids])
    weights = _weights(frames)
    probabilities = logits.softmax(-1).gather(1, torch.tensor(output.ids, device=device)[:, None])[:, 0].tolist()
    moments = _reading(source_pieces, states)
    for n, (fed, written) in enumerate(pairwise(target_pieces)):
        seen = weights[n].tolist() if weights is not None else []
        moments.append(
            Moment(
                t=len(moments) + 1,
                part="decoder",
                reads=f"{fed}{_mixture(seen, source_pieces)}",
                writes=f"{written}  (p = {probabilities[n]:.2f})",
                weights=tuple(seen),
            )
        )
    return moments


def _reading(pieces: list[str], states: Tensor) -> list[Moment]:
    last = len(pieces) - 1
    steps = range(max(1, last))
    moments = []
    for n in steps:
        is_last = n == len(steps) - 1
        reads = f"{pieces[n]}, then {pieces[-1]}" if is_last and last else pieces[n]
        name = f"h_{n + 1}, h_{n + 2}: the memory is complete" if is_last and last else f"h_{n + 1}"
        moments.append(Moment(n + 1, "encoder", reads, f"{name}  (|h| = {states[n].norm():.2f})", ()))
    return moments


def _weights(frames: list[Frame]) -> Tensor | None:
    """Return [T S] of the decoder's attention: one frame of T queries, or T frames of one."""
    found = [frame.values["weights"][0] for frame in frames if frame.part == "attention"]
    return torch.cat(found) if found else None


def _mixture(weights: list[float], pieces: list[str]) -> str:
    if not weights:
        return ""
    top = sorted(range(len(weights)), key=lambda s: -weights[s])[:SHOWN_WEIGHTS]
    shown = [f"{weights[s]:.2f} {pieces[s]}" for s in sorted(top) if weights[s] >= 0.005]
    return f";  C = {' + '.join(shown)}"


def as_table(moments: list[Moment]) -> list[str]:
    """Return the timeline as lines of text with aligned columns."""
    rows = [("", "part", "reads", "writes"), *((f"t{m.t}", m.part, m.reads, m.writes) for m in moments)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
