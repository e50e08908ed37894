"""How strongly a loss depends on what was read at each step: gradients kept on the unrolled states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from seqline.recording.frames import to_array
from seqline.recording.states import CELLS, lanes_of, source_orders
from seqline.shapes import Tensor
from seqline.watch import Frame, watch

PARTS = (*CELLS, "embedding")


class Loss(NamedTuple):
    """A loss: what computes it (and calls what it is given when the source has been read), and what it is in words."""

    compute: Callable[[Callable[[], None]], Tensor]
    words: str


def gradients_of(
    model: nn.Module, loss: Loss, num_source: int, *, is_reversed: bool = False, clip: float | None = None
) -> dict[str, Any] | None:
    """Return the block `gradients`; no parameter's own gradient is touched.

    Args:
        model: in evaluation mode.
        loss: of one text.
        num_source: positions read.
        is_reversed: words are read from the last to the first.
        clip: the norm to which training clipped gradients.

    Returns:
        The block, or None where nothing can be differentiated.
    """
    marks: list[int] = []
    with torch.enable_grad(), watch(model, only=PARTS, keep_graph=True) as frames:
        value = loss.compute(lambda: marks.append(len(frames)))
    if not value.requires_grad:
        return None
    source = frames[: marks[0]]
    lanes = lanes_of(source)
    block: dict[str, Any] = {"norm_c": None, "clip": clip, "spectral_radius": None}
    if not lanes:
        inputs = next(frame.values["x"] for frame in source if frame.part == "embedding")
        [slope] = torch.autograd.grad(value, [inputs], allow_unused=True, materialize_grads=True)
        norms = np.linalg.norm(to_array(slope)[0].astype(np.float64), axis=-1)
        words = f"{loss.words}, with respect to the embedded input of each position"
        return {**block, "of": words, "norm_h": norms[:num_source]}
    orders = source_orders(num_source, is_reversed)
    tops = [lane[-1] for lane in lanes]
    is_linear = tops[0][0].part == "linear cell"  # there the state is c, and h only leads upwards
    name = "c" if is_linear else "h"
    block["norm_h"] = _norms(value, tops, orders, name)
    if "c" in tops[0][0].values and not is_linear:
        block["norm_c"] = _norms(value, tops, orders, "c")
    block["spectral_radius"] = _spectral_radius(model, tops[0][0].path)
    return {**block, "of": f"{loss.words}, with respect to the top layer's state {name} behind each position"}


def _norms(value: Tensor, tops: Sequence[Sequence[Frame]], orders: Sequence[Sequence[int]], name: str) -> np.ndarray:
    """Return the norm at each source position, both directions together."""
    squares = np.zeros(len(orders[0]))
    for frames, order in zip(tops, orders, strict=False):
        tensors = [frames[k].values[name] for k in order]
        slopes = torch.autograd.grad(value, tensors, retain_graph=True, allow_unused=True, materialize_grads=True)
        squares += np.array([float(slope.double().square().sum()) for slope in slopes])
    return np.sqrt(squares)


def _spectral_radius(model: nn.Module, path: str) -> float | None:
    """Return the largest absolute eigenvalue of a cell's recurrent matrix; None where it has no square one."""
    weight = getattr(model.get_submodule(path), "weight_hh", None)
    if weight is None or weight.shape[0] != weight.shape[1]:
        return None
    return float(np.abs(np.linalg.eigvals(to_array(weight).astype(np.float64))).max())


def log_loss(logits: Tensor, ids: Sequence[int]) -> Tensor:
    """Return minus the log-probability of the ids, one a row of logits [T V]."""
    chosen = torch.tensor(list(ids), device=logits.device)
    return -torch.log_softmax(logits, dim=-1).gather(1, chosen[:, None]).sum()
