"""Positions: where in its row a token stands, as a vector added to its embedding.

Schemes that act inside attention instead are in parts/attention_positions.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import nn

from seqline.errors import UserError
from seqline.shapes import Bool, Float, Int, Tensor
from seqline.watch import show


def positions_from(start: Int[Tensor, " B"], is_real: Bool[Tensor, "B T"]) -> Int[Tensor, "B T"]:
    """Return each entry's position: the number of real entries before it in its row.

    Args:
        start: real entries read before this piece, a row.
        is_real: the piece's mask.
    """
    return start[:, None] + is_real.long().cumsum(1) - is_real.long()


def angles(positions: Int[Tensor, "B T"], width: int) -> Float[Tensor, "B T P"]:
    """Return p / 10000^(2i/D) for i = 0, 1, ... (half the width, rounded up), in float64.

    Any position has a value, so nothing is too long.
    """
    rate = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64, device=positions.device) / width)
    return positions.double()[..., None] * rate


def sinusoid(positions: Int[Tensor, "B T"], width: int, dtype: torch.dtype) -> Float[Tensor, "B T D"]:
    """Return PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos of the same angle.

    Source: Vaswani et al. 2017 (1706.03762), section 3.5.
    """

    def of(p: Tensor) -> Tensor:
        angle = angles(p, width)
        return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)[..., :width].to(dtype)

    return once_each(of, positions)


def once_each(function: Callable[[Tensor], Tensor], positions: Int[Tensor, "B T"]) -> Float[Tensor, "B T *D"]:
    """Return function(positions), computed once for each position of the range where rows share positions."""
    if positions.shape[1] <= 1:
        return function(positions)
    low, high = (int(end) for end in positions.aminmax())
    return function(torch.arange(low, high + 1, device=positions.device)[None])[0][positions - low]


class PositionScheme(nn.Module, ABC):
    """A way to add positions to embeddings; `max_length`: how many there are, None = no end."""

    max_length: int | None = None

    @abstractmethod
    def forward(
        self, x: Float[Tensor, "B T D"], positions: Int[Tensor, "B T"], is_real: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        """Return x with its positions."""


class Sinusoid(PositionScheme):
    """x + PE(p), `sinusoid`; longer at use than in training works."""

    def forward(
        self, x: Float[Tensor, "B T D"], positions: Int[Tensor, "B T"], is_real: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        """Add PE(p)."""
        added = sinusoid(positions, x.shape[-1], x.dtype)
        show("positions", positions=positions, added=added)
        return x + added


class LearnedPositions(PositionScheme):
    """x + P[p], P a table of `max_length` rows; a real token beyond it is refused, never wrapped or clamped.

    Args:
        max_length: rows of P.
        width: D, columns of P, the width of x [B T D].

    Source: Gehring et al. 2017 (1705.03122), section 3.1; P starts from N(0, 0.1^2), section 3.5.
    """

    def __init__(self, max_length: int, width: int) -> None:
        super().__init__()
        self.max_length = max_length
        self.table = nn.Parameter(nn.init.normal_(torch.empty(max_length, width), std=0.1))

    def forward(
        self, x: Float[Tensor, "B T D"], positions: Int[Tensor, "B T"], is_real: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "B T D"]:
        """Add P[p].

        Raises:
            UserError: a real token stands beyond the table.
        """
        max_length = len(self.table)
        longest = int((positions + 1).masked_fill(~is_real, 0).max()) if positions.numel() else 0
        if longest > max_length:
            raise UserError(
                f"a text of at least {longest} tokens, but only {max_length} positions were learned",
                where="model.max_length",
                fix="shorten the text, train with a larger max_length, or train with positions that need no table",
            )
        # What stands behind a row's end has no position of its own and means nothing.
        added = self.table[positions.clamp(max=max_length - 1)]
        show("positions", positions=positions, added=added)
        return x + added


class AddPositions(nn.Module):
    """Positions added to embeddings: a SequenceLayer whose state counts the real tokens each row has read [B]."""

    def __init__(self, scheme: PositionScheme) -> None:
        super().__init__()
        self.scheme = scheme
        self.register_buffer("zero", torch.zeros((), dtype=torch.long), persistent=False)

    def initial_state(self, batch_size: int) -> Int[Tensor, " B"]:
        """Return 0 for every row."""
        return self.zero.new_zeros(batch_size)  # pyright: ignore[reportCallIssue]

    def forward(
        self, x: Float[Tensor, "B T D"], state: Int[Tensor, " B"], mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T D"], Int[Tensor, " B"]]:
        """Add to each real token the number of real ones before it."""
        is_real = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device) if mask is None else mask
        return self.scheme(x, positions_from(state, is_real), is_real), state + is_real.sum(1)
