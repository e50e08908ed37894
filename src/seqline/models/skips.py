"""What a forecast starts from: a plain forecast of the last scaled values, to which a network's output is added."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import nn

from seqline.shapes import Float, Int, Tensor
from seqline.watch import show

MOST_LAGS = 336
"""The most values that a linear forecast sees: two weeks of hours."""
RIDGE, BIAS_RIDGE = 1e-3, 1e-12
"""Shares of the sum of weights: enough that histories of a few windows give a solution, and a bias that is all but free."""
_NO_WEIGHT = 1e-30  # where nothing was observed, all coefficients are 0


class Skip(nn.Module, ABC):
    """(the last K scaled values, how many of them are real, what is known of the H steps to come) -> a forecast of each."""

    def fit(
        self,
        recent: Float[Tensor, "W K F"],
        num_recent: Int[Tensor, " W"],
        future: Float[Tensor, "W H C"],
        target: Float[Tensor, "W H F"],
        weight: Float[Tensor, "W H F"],
    ) -> None:
        """Fit what there is to fit on training windows, `weight` the share of each target point; nothing where nothing is."""

    @abstractmethod
    def forward(
        self, recent: Float[Tensor, "B K F"], num_recent: Int[Tensor, " B"], future: Float[Tensor, "B H C"]
    ) -> Float[Tensor, "B H F"]:
        """Return a forecast of every step; `recent` ends in the last value of the history, its gaps filled."""


class NoSkip(Skip):
    """0, the centre that histories are scaled by: the network's output stands alone."""

    def forward(
        self, recent: Float[Tensor, "B K F"], num_recent: Int[Tensor, " B"], future: Float[Tensor, "B H C"]
    ) -> Float[Tensor, "B H F"]:
        """Return zeros."""
        return recent.new_zeros(len(recent), future.shape[1], recent.shape[2])


class LastSkip(Skip):
    """The last value, at every step."""

    def forward(
        self, recent: Float[Tensor, "B K F"], num_recent: Int[Tensor, " B"], future: Float[Tensor, "B H C"]
    ) -> Float[Tensor, "B H F"]:
        """Repeat the last value."""
        return recent[:, -1:].expand(-1, future.shape[1], -1)


class SeasonSkip(Skip):
    """The value one season before, season after season; the last value where the history is shorter than a season.

    Args:
        season: steps.
    """

    def __init__(self, season: int) -> None:
        super().__init__()
        self.season = season

    def forward(
        self, recent: Float[Tensor, "B K F"], num_recent: Int[Tensor, " B"], future: Float[Tensor, "B H C"]
    ) -> Float[Tensor, "B H F"]:
        """Repeat the last season."""
        steps = torch.arange(future.shape[1], device=recent.device) % self.season
        before = recent[:, (recent.shape[1] - self.season + steps).clamp(min=0)]
        return torch.where((num_recent >= self.season)[:, None, None], before, recent[:, -1:])


class LinearSkip(Skip):
    """last + sum over l of W_hl (recent_l - last) + U_h z_h + v_h last + b_h for each column, z_h what is known of step h.

    A history shorter than K has its last value in front. Differences from the last value mean the same whatever the history
    was scaled by; the last value itself only where all are scaled alike, and v is there only then.

    W, U, v and b are fitted by least squares before the network is trained, and stay: the network learns what they leave.

    Args:
        num_targets: F.
        length: K, values that are seen.
        num_known: C, numbers in z_h.
        horizon: H, the most steps.
        has_level: v is there.

    Source: Zeng et al. 2023 (2205.13504), section 4, NLinear, whose map of the differences this is; the other terms are those of
        a regression on covariates.
    """

    def __init__(self, num_targets: int, length: int, num_known: int, horizon: int, *, has_level: bool) -> None:
        super().__init__()
        self.has_level = has_level
        self.weight = nn.Parameter(torch.zeros(num_targets, horizon, length + has_level), requires_grad=False)
        self.known = nn.Parameter(torch.zeros(num_targets, horizon, num_known), requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(num_targets, horizon), requires_grad=False)

    @torch.no_grad()
    def fit(
        self,
        recent: Float[Tensor, "W K F"],
        num_recent: Int[Tensor, " W"],
        future: Float[Tensor, "W H C"],
        target: Float[Tensor, "W H F"],
        weight: Float[Tensor, "W H F"],
    ) -> None:
        """Minimize sum of weight (target - forecast)^2 + lambda (|W|^2 + |U|^2 + v^2), lambda a share of the sum of weights.

        Steps are fitted one by one, each on the windows in which it was observed. The products of what is seen are those of the
        step before where the weights are, and so are computed and factored once where nothing is missing.
        """
        every, target = self._seen(recent, num_recent).double(), (target - recent[:, -1:]).double()
        sizes = (self.weight.shape[2], self.known.shape[2], 1)
        for column in range(recent.shape[2]):
            seen, last, factor = every[..., column], None, every.new_zeros(0)
            for step in range(target.shape[1]):
                by = weight[:, step, column, None].double()
                if last is None or not torch.equal(by, last):
                    last, factor = by, _factor(seen, by)
                known = torch.cat([future[:, step].double(), torch.ones_like(by)], dim=1)
                found = _solved(seen, known, factor, by, target[:, step, column, None])
                self.weight[column, step], self.known[column, step], self.bias[column, step] = found.split(sizes)

    def _seen(self, recent: Float[Tensor, "B K F"], num_recent: Int[Tensor, " B"]) -> Float[Tensor, "B K_ F"]:
        """Return the values less the last one, 0 in front of the history, and behind them the last value where it counts."""
        position = torch.arange(recent.shape[1], 0, -1, device=recent.device)
        seen = (recent - recent[:, -1:]) * (position <= num_recent[:, None])[..., None]
        return torch.cat([seen, recent[:, -1:]], dim=1) if self.has_level else seen

    def forward(
        self, recent: Float[Tensor, "B K F"], num_recent: Int[Tensor, " B"], future: Float[Tensor, "B H C"]
    ) -> Float[Tensor, "B H F"]:
        """Map the last values, those in front of the history left out, and what is known."""
        steps = future.shape[1]
        own = torch.einsum("bkf,fhk->bhf", self._seen(recent, num_recent), self.weight[:, :steps])
        known = torch.einsum("bhc,fhc->bhf", future, self.known[:, :steps])
        forecast = recent[:, -1:] + own + known + self.bias.T[:steps]
        show("skip", forecast=forecast)
        return forecast


def _factor(seen: Float[Tensor, "W K"], by: Float[Tensor, "W 1"]) -> Float[Tensor, "K K"]:
    """Return the Cholesky factor of sum by seen seen^T + lambda I."""
    penalty = RIDGE * by.sum().clamp(min=_NO_WEIGHT)
    return torch.linalg.cholesky(
        seen.T @ (by * seen) + penalty * torch.eye(seen.shape[1], device=seen.device, dtype=seen.dtype)
    )


def _solved(
    seen: Float[Tensor, "W K"],
    known: Float[Tensor, "W C"],
    factor: Float[Tensor, "K K"],
    by: Float[Tensor, "W 1"],
    target: Float[Tensor, "W 1"],
) -> Float[Tensor, " K+C"]:
    """Return the coefficients of `seen` and `known`, the last of them the bias.

    The normal equations [A B; B^T D] of both, A factored: `known` by the Schur complement D - B^T A^-1 B, `seen` from it.
    """
    mixed, alone = seen.T @ (by * known), seen.T @ (by * target)
    by_mixed, by_alone = torch.cholesky_solve(torch.cat([mixed, alone], dim=1), factor).split(
        [known.shape[1], 1], dim=1
    )
    penalty = torch.full_like(known[0], RIDGE)
    penalty[-1] = BIAS_RIDGE
    own = known.T @ (by * known) + (penalty * by.sum().clamp(min=_NO_WEIGHT)).diag()
    of_known = torch.linalg.solve(own - mixed.T @ by_mixed, known.T @ (by * target) - mixed.T @ by_alone)
    return torch.cat([by_alone - by_mixed @ of_known, of_known])[:, 0]
