"""Windows: which source positions a query may attend to, and by how much the weights there are scaled.

Source: Luong et al. 2015 (1508.04025), section 3.2 (local attention). Positions of the source are counted s = 1 ... S, and S is
the row's own number of real positions: a window is cut at the row's end, whatever the padding.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import nn

from seqline.parts.positions import positions_from
from seqline.shapes import Bool, Float, Int, Tensor
from seqline.watch import show


class View(NamedTuple):
    """What a window lets each query see.

    is_allowed: bool [B T S] (T may be 1, for all queries). factor: [B T S] that scales the weights, or None.
    state: the window's state after these queries.
    """

    is_allowed: Tensor
    factor: Tensor | None
    state: Any


class Window(nn.Module, ABC):
    """Where a query may look; a window that has to know how far the target is carries that as its state."""

    def initial_state(self, is_real: Bool[Tensor, "B S"]) -> Any:
        """Return the state before the first query of each row; None where there is nothing to carry."""
        return None

    @abstractmethod
    def forward(
        self,
        query: Float[Tensor, "B T Q"],
        is_real: Bool[Tensor, "B S"],
        state: Any,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> View:
        """Return what each query may see; False columns of `mask` [B T] change no state."""


class Everywhere(Window):
    """Every real position: global attention; it takes no arguments and carries no state.

    For queries [B T Q] and is_real [B S] it allows is_real as [B 1 S], the same for every query.

    Source: Luong et al. 2015 (1508.04025), section 3.1 (global attention).
    """

    def forward(
        self,
        query: Float[Tensor, "B T Q"],
        is_real: Bool[Tensor, "B S"],
        state: Any,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> View:
        """Allow every real position."""
        return View(is_real[:, None], None, state)


class MonotonicWindow(Window):
    """Positions p_t - D ... p_t + D around p_t = t, the number of the target token (local-m).

    The state is the number of real target tokens each row has read [B].

    Args:
        reach: D, positions to either side.

    Source: Luong et al. 2015 (1508.04025), section 3.2, "monotonic alignment".
    Differs: the paper does not say what happens once t is beyond the source; here p_t stays at the last real position.
    """

    def __init__(self, reach: int) -> None:
        super().__init__()
        self.reach = reach

    def initial_state(self, is_real: Bool[Tensor, "B S"]) -> Int[Tensor, " B"]:
        """Return 0 target tokens for every row."""
        return torch.zeros(len(is_real), dtype=torch.long, device=is_real.device)

    def forward(
        self,
        query: Float[Tensor, "B T Q"],
        is_real: Bool[Tensor, "B S"],
        state: Int[Tensor, " B"],
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> View:
        """Return what lies within D of each query's place."""
        is_read = torch.ones(query.shape[:2], dtype=torch.bool, device=query.device) if mask is None else mask
        center = torch.minimum(positions_from(state, is_read) + 1, is_real.sum(1, keepdim=True))
        distance = (_places(is_real) - center[..., None]).abs()
        show("window", center=center)
        return View((distance <= self.reach) & is_real[:, None], None, state + is_read.sum(1))


class PredictiveWindow(Window):
    """p_t = S sigmoid(v_p . tanh(W_p h_t)); weights near p_t are favoured by exp(-(s - p_t)^2 / (2 sigma^2)) (local-p).

    Only positions with |s - p_t| <= D are seen; sigma = D / 2. The scaled weights are not normalized again, as in the paper:
    they sum to at most 1.

    Args:
        query_size: width of h_t, and of W_p's output.
        reach: D.

    Source: Luong et al. 2015 (1508.04025), section 3.2, "predictive alignment", equations 9 and 10.
    """

    def __init__(self, query_size: int, reach: int) -> None:
        super().__init__()
        self.reach = reach
        self.hidden = nn.Linear(query_size, query_size, bias=False)
        self.place = nn.Parameter(torch.empty(query_size).uniform_(-1, 1) * query_size**-0.5)

    def forward(
        self,
        query: Float[Tensor, "B T Q"],
        is_real: Bool[Tensor, "B S"],
        state: Any,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> View:
        """Return what lies within D of each predicted place, and the bell around it."""
        share = torch.sigmoid(torch.tanh(self.hidden(query)) @ self.place)
        center = is_real.sum(1, keepdim=True) * share
        distance = _places(is_real) - center[..., None]
        factor = torch.exp(-(distance**2) / (2 * (self.reach / 2) ** 2))
        show("window", center=center)
        return View((distance.abs() <= self.reach) & is_real[:, None], factor, state)


def _places(is_real: Bool[Tensor, "B S"]) -> Int[Tensor, "1 1 S"]:
    """Return s = 1 ... S; sources are right-padded, so a column's number is its place in every row."""
    return torch.arange(1, is_real.shape[1] + 1, device=is_real.device)[None, None]
