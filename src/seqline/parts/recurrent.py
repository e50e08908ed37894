"""The time loop: a cell run along a sequence, stacks of such layers, and both directions.

`unroll` is the only loop over time in the package. `Recurrent` uses it, or the cell's fused path on the same weights when
nobody watches (torch's kernel, or a scan); the two are held equal by tests/parity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from seqline.parts.cells import Cell
from seqline.shapes import Bool, Float, Tensor
from seqline.state import map_tensors
from seqline.watch import is_watched


def keep_where(is_real: Bool[Tensor, " B"], new: Any, old: Any) -> Any:
    """Take the rows of `new` where a row read a real input, else those of `old`."""

    def choose(a: Tensor, b: Tensor) -> Tensor:
        return torch.where(is_real.view(-1, *[1] * (a.dim() - 1)), a, b)

    return map_tensors(choose, new, old)


def unroll(
    step: Callable[[Any, Any], tuple[Any, Any]], x: Any, state: Any, is_real: Bool[Tensor, "B T"] | None
) -> tuple[Any, Any]:
    """Run `step(x_t, state) -> (y_t, state)` along time.

    Args:
        step: one step; x_t and y_t may be trees of tensors.
        x: a tree of tensors [B T ...].
        state: the state before the first step.
        is_real: False columns change no state; None = all real.

    Returns:
        The outputs as one tree of tensors [B T ...], and the state after the last step.
    """
    length = _first_tensor(x).shape[1]
    outputs = []
    for t in range(length):
        y, new = step(map_tensors(lambda tensor, t=t: tensor[:, t], x), state)
        state = new if is_real is None else keep_where(is_real[:, t], new, state)
        outputs.append(y)
    return map_tensors(lambda *ys: torch.stack(ys, dim=1), outputs[0], *outputs[1:]), state


def _first_tensor(tree: Any) -> Tensor:
    while not isinstance(tree, Tensor):
        tree = tree[0]
    return tree


def reverse_real(x: Tensor, is_real: Bool[Tensor, "B T"]) -> Tensor:
    """Reverse each row's real entries in place of one another; pads stay where they are. Its own inverse.

    Args:
        x: [B T ...], right-padded.
        is_real: [B T].
    """
    length = is_real.sum(1, keepdim=True)
    position = torch.arange(x.shape[1], device=x.device).expand(is_real.shape)
    order = torch.where(position < length, length - 1 - position, position)
    return x[torch.arange(len(x), device=x.device)[:, None], order]


def is_right_padded(is_real: Bool[Tensor, "B T"]) -> bool:
    """Tell whether in every row the real entries come first."""
    return not bool((is_real[:, 1:] & ~is_real[:, :-1]).any())


class Recurrent(nn.Module):
    """A cell along time: a causal SequenceLayer."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell

    def initial_state(self, batch_size: int) -> Any:
        """Return the cell's zero state."""
        return self.cell.initial_state(batch_size)

    def forward(
        self, x: Float[Tensor, "B T I"], state: Any, mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T D"], Any]:
        """Map inputs and the state before them to outputs and the state after them."""
        has_holes = mask is not None and not is_right_padded(mask)
        done = None if has_holes or is_watched(self.cell.shown_as) else self.cell.fused(x, state, mask)
        if done is None:
            return unroll(self.cell, x, state, mask)
        outputs, state = done
        # The kernel's order in memory is [T B D]; dropout draws in memory order, and must draw what the loop would.
        return outputs.contiguous(), state


class Stack(nn.Module):
    """Layers one on another, dropout between them; the state is the tuple of the layers' states.

    Args:
        layers: SequenceLayers, lowest first.
        dropout: share of the values between two layers set to zero in training.
    """

    def __init__(self, layers: Sequence[nn.Module], dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.dropout = nn.Dropout(dropout)

    def initial_state(self, batch_size: int) -> tuple[Any, ...]:
        """Return each layer's initial state."""
        return tuple(layer.initial_state(batch_size) for layer in self.layers)  # pyright: ignore[reportCallIssue]

    def forward(
        self, x: Float[Tensor, "B T I"], state: tuple[Any, ...], mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T D"], tuple[Any, ...]]:
        """Run the layers in order; each reads what the one below wrote."""
        after = []
        for depth, (layer, before) in enumerate(zip(self.layers, state, strict=True)):
            x, new = layer(self.dropout(x) if depth else x, before, mask)
            after.append(new)
        return x, tuple(after)


class ResidualLayer(nn.Module):
    """y_t = x_t + f(dropout(x))_t around a SequenceLayer f of equal widths; the state is f's.

    Source: Wu et al. 2016 (1609.08144), section 3.1.
    Differs: the paper leaves the lowest layers plain; a recipe here leaves the lowest one plain, whose width is the embedding's.
    """

    def __init__(self, layer: nn.Module, dropout: float) -> None:
        super().__init__()
        self.layer, self.dropout = layer, nn.Dropout(dropout)

    def initial_state(self, batch_size: int) -> Any:
        """Return the layer's initial state."""
        return self.layer.initial_state(batch_size)  # pyright: ignore[reportCallIssue]

    def forward(
        self, x: Float[Tensor, "B T D"], state: Any, mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T D"], Any]:
        """Add what the layer makes of x to x."""
        change, state = self.layer(self.dropout(x), state, mask)
        return x + change, state


class BesideInput(nn.Module):
    """z_t = [f(x)_t; x_t] around a SequenceLayer f: what comes after sees the input too; the state is f's."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def initial_state(self, batch_size: int) -> Any:
        """Return the layer's initial state."""
        return self.layer.initial_state(batch_size)  # pyright: ignore[reportCallIssue]

    def forward(
        self, x: Float[Tensor, "B T I"], state: Any, mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T Z"], Any]:
        """Put the layer's outputs and its inputs side by side."""
        h, state = self.layer(x, state, mask)
        return torch.cat([h, x], dim=-1), state


class Each(nn.Module):
    """A map of each position alone (a feed-forward map, dropout, a norm) as a SequenceLayer; there is no state."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def initial_state(self, batch_size: int) -> None:
        """Return None: nothing is carried."""
        return

    def forward(
        self, x: Float[Tensor, "B T D"], state: None, mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T D2"], None]:
        """Map each position."""
        return self.module(x), None


class Bidirectional(nn.Module):
    """One layer from the left and one from the right, outputs side by side (Schuster & Paliwal 1997).

    It needs the whole sequence, so it is no SequenceLayer. Each row's real entries are reversed for the second layer:
    its first input is the row's last real one whatever the padding.
    """

    def __init__(self, forwards: Recurrent, backwards: Recurrent) -> None:
        super().__init__()
        self.forwards, self.backwards = forwards, backwards

    def forward(
        self, x: Float[Tensor, "B T I"], is_real: Bool[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T D2"], tuple[Any, Any]]:
        """Return outputs [B T 2D] and the pair (state at the last real entry, state at the first)."""
        left, end = self.forwards(x, self.forwards.initial_state(len(x)), is_real)
        right, start = self.backwards(reverse_real(x, is_real), self.backwards.initial_state(len(x)), is_real)
        return torch.cat([left, reverse_real(right, is_real)], dim=-1), (end, start)
