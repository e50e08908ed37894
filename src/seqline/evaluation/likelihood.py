"""How probable a text is under a language model: sums over all its pieces, by a stated protocol."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import Module

from seqline.data.batch import TextBatch, collate_lines, collate_spans
from seqline.data.stream import Span, lanes
from seqline.state import select
from seqline.training.loss import smoothed_cross_entropy


class Nats(NamedTuple):
    """Minus the log-probability of a text, and of how many pieces."""

    total: float
    num_tokens: int

    @property
    def per_token(self) -> float:
        """Nats per piece."""
        return self.total / self.num_tokens


@torch.no_grad()
def carried_nats(model: Module, stream: Tensor, context: int, num_lanes: int = 1) -> Nats:
    """Score a stream with the state carried on from its beginning to its end.

    Args:
        model: a language model in evaluation mode.
        stream: [N + 1] ids, see `collate_spans`.
        context: how many ids are read at a time; it changes nothing but the memory used.
        num_lanes: pieces of the stream that are read side by side, each from an empty state; 1 = exact.
    """
    pieces = lanes(len(stream) - 1, num_lanes)
    sums: list[float] = []
    state = model.initial_state(None, len(pieces))  # pyright: ignore[reportCallIssue]
    for begin in range(0, pieces[0].end - pieces[0].start, context):
        spans = [Span(p.start + begin, min(p.end, p.start + begin + context)) for p in pieces]
        spans = [span for span in spans if span.start < span.end]  # longest first, so it is the last rows that leave
        batch = _on_device_of(model, collate_spans(stream, spans, range(len(spans))))
        state = select(state, torch.arange(len(spans), device=batch.inputs.device))
        logits, state = model(batch.inputs, state, None, batch.mask)
        sums.append(_nats(logits, batch, batch.is_real))
    return Nats(math.fsum(sums), len(stream) - 1)


@torch.no_grad()
def window_nats(model: Module, stream: Tensor, windows: Sequence[tuple[Span, int]], rows: int) -> Nats:
    """Score a stream window by window, each from an empty state.

    Args:
        model: a language model in evaluation mode.
        stream: [N + 1] ids, see `collate_spans`.
        windows: each with how many of its first ids are read only and not counted.
        rows: windows at a time.
    """
    sums: list[float] = []
    num_tokens = 0
    for begin in range(0, len(windows), rows):
        chosen = windows[begin : begin + rows]
        batch = _on_device_of(model, collate_spans(stream, [span for span, _ in chosen], range(len(chosen))))
        skipped = torch.tensor([skip for _, skip in chosen], device=batch.inputs.device)
        position = torch.arange(batch.inputs.shape[1], device=batch.inputs.device)
        is_counted = batch.is_real & (position >= skipped[:, None])
        logits, _ = model(batch.inputs, model.initial_state(None, len(chosen)))  # pyright: ignore[reportCallIssue]
        sums.append(_nats(logits, batch, is_counted))
        num_tokens += int(is_counted.sum())
    return Nats(math.fsum(sums), num_tokens)


@torch.no_grad()
def line_nats(model: Module, lines: Sequence[list[int]], plans: Sequence[Sequence[int]]) -> Nats:
    """Score lines, each from an empty state, its end mark included.

    Args:
        model: a language model in evaluation mode.
        lines: ids, without bos and eos.
        plans: batches of indices into them.
    """
    sums: list[float] = []
    for rows in plans:
        batch = _on_device_of(model, collate_lines(lines, rows))
        logits, _ = model(batch.inputs, model.initial_state(None, len(rows)))  # pyright: ignore[reportCallIssue]
        sums.append(_nats(logits, batch, batch.is_real))
    return Nats(math.fsum(sums), sum(len(line) + 1 for line in lines))


def _nats(logits: Tensor, batch: TextBatch, is_counted: Tensor) -> float:
    return smoothed_cross_entropy(logits, batch.targets, is_counted, 0.0).negative_log_likelihood.item()


def _on_device_of(model: Module, batch: TextBatch) -> TextBatch:
    return batch.to(next(model.parameters()).device)
