"""How improbable each line of a text is under a language model, by the protocols of `seqline evaluate`.

A stream is scored whole, then the nats of its pieces are added up line by line: no piece crosses the end of a line, so that
each line has its own pieces and characters. The sums over all lines are the numbers of `seqline evaluate`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from seqline.data.batch import TextBatch, as_stream, collate_lines, collate_spans
from seqline.data.loader import plan_in_order
from seqline.data.plain import Text, stream_lines
from seqline.data.stream import Span, consecutive, overlapping
from seqline.evaluation.metrics import Array
from seqline.evaluation.significance import mean_statistics
from seqline.language import context_of, is_carried
from seqline.language_report import BATCH_TOKENS
from seqline.run_folder import Run
from seqline.shapes import Tensor


@torch.no_grad()
def line_sums(run: Run, lines: Sequence[str]) -> Array:
    """Score lines, each from nothing, end marks included.

    Returns:
        [N 2], nats and characters of each line.
    """
    model, encoded = run.model, run.tokenizers.source.encode_batch(list(lines))
    nats: Array = np.zeros(len(lines))
    for rows in plan_in_order([len(ids) + 1 for ids in encoded], BATCH_TOKENS):
        batch = collate_lines(encoded, rows).to(_device(run))
        logits, _ = model(batch.inputs, model.initial_state(None, len(rows)))  # pyright: ignore[reportCallIssue]
        nats[rows] = (_nats(logits, batch) * batch.is_real).sum(dim=1).cpu().numpy()
    return mean_statistics(nats, [len(line) for line in lines])


def stream_sums(run: Run, text: Text) -> Array:
    """Score a stream: the state carried through it where the model was trained so, else in windows that overlap by half.

    Returns:
        [N 2], nats and characters of each line, its end included.
    """
    tokenizer = run.tokenizers.source
    lines = tokenizer.encode_batch(stream_lines(text.text, tokenizer.kind))
    nats = _stream_nats(run, as_stream([i for line in lines for i in line]))
    pieces = np.array([len(line) for line in lines], dtype=np.int64)
    ends = np.cumsum(pieces)
    totals = np.concatenate([[0.0], np.cumsum(nats)])
    raw = text.text.split("\n")
    characters = [len(line) + (number < len(raw) - 1) for number, line in enumerate(raw)]
    return mean_statistics(totals[ends] - totals[ends - pieces], characters)


@torch.no_grad()
def _stream_nats(run: Run, stream: Tensor) -> Array:
    """Return minus the log-probability of every id of a stream, [N]."""
    model, context, count = run.model, context_of(run.config), len(stream) - 1
    found = np.zeros(count)
    if is_carried(run.config):
        state = model.initial_state(None, 1)  # pyright: ignore[reportCallIssue]
        for span in consecutive(count, context):
            batch = collate_spans(stream, [span], [0]).to(_device(run))
            logits, state = model(batch.inputs, state, None, batch.mask)
            found[span.start : span.end] = _nats(logits, batch)[0].cpu().numpy()
        return found
    windows, rows = overlapping(count, context), max(1, BATCH_TOKENS // context)
    for begin in range(0, len(windows), rows):
        _score_windows(run, stream, windows[begin : begin + rows], found)
    return found


def _score_windows(run: Run, stream: Tensor, windows: Sequence[tuple[Span, int]], found: Array) -> None:
    """Fill in the nats of what some windows predict, each from an empty state."""
    batch = collate_spans(stream, [span for span, _ in windows], range(len(windows))).to(_device(run))
    logits, _ = run.model(batch.inputs, run.model.initial_state(None, len(windows)))  # pyright: ignore[reportCallIssue]
    for (span, skipped), nats in zip(windows, _nats(logits, batch).cpu().numpy(), strict=True):
        found[span.start + skipped : span.end] = nats[skipped : span.end - span.start]


def _nats(logits: Tensor, batch: TextBatch) -> Tensor:
    """Return minus the log-probability of each target, [B T] float64."""
    log_probabilities = logits.double().log_softmax(dim=-1)
    return -log_probabilities.gather(-1, batch.targets[..., None])[..., 0]


def _device(run: Run) -> torch.device:
    return next(run.model.parameters()).device
