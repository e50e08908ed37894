"""What a forecast starts from: a plain forecast of the last scaled values, to which a network's output is added."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import nn

from seqline.shapes import Float, Int, Tensor
from seqline.watch import show

RIDGE = 1e-3


class Skip(nn.Module, ABC):
    """(the last K scaled values, how many of them are real, steps) -> a forecast."""

    def fit(
        self,
        recent: Float[Tensor, "W K F"],
        num_recent: Int[Tensor, " W"],
        target: Float[Tensor, "W H F"],
        weight: Float[Tensor, "W H F"],
    ) -> None:
        """Fit what there is to fit on training windows, `weight` the share of each target point; nothing where nothing is."""

    @abstractmethod
    def forward(
        self, recent: Float[Tensor, "B K F"], num_recent: Int[Tensor, " B"], horizon: int
    ) -> Float[Tensor, "B H F"]:
        """Return a forecast of `horizon` steps; `recent` ends in the last value of the history, its gaps filled."""


class NoSkip(Skip):
    """0, the centre of the history: the network's output stands alone."""

    def forward(
        self, recent: Float[Tensor, "B K F"], num_recent: Int[Tensor, " B"], horizon: int
    ) -> Float[Tensor, "B H F"]:
        """Return zeros."""
        return recent.new_zeros(len(recent), horizon, recent.shape[2])


class LastSkip(Skip):
    """The last value, at every step."""

    def forward(
        self, recent: Float[Tensor, "B K F"], num_recent: Int[Tensor, " B"], horizon: int
    ) -> Float[Tensor, "B H F"]:
        """Repeat the last value."""
        return recent[:, -1:].expand(-1, horizon, -1)


class SeasonSkip(Skip):
    """The value one season before, season after season; the last value where the history is shorter than a season.

    Args:
        season: steps.
    """

    def __init__(self, season: int) -> None:
        super().__init__()
        self.season = season

    def forward(
        self, recent: Float[Tensor, "B K F"], num_recent: Int[Tensor, " B"], horizon: int
    ) -> Float[Tensor, "B H F"]:
        """Repeat the last season."""
        steps = torch.arange(horizon, device=recent.device) % self.season
        before = recent[:, (recent.shape[1] - self.season + steps).clamp(min=0)]
        return torch.where((num_recent >= self.season)[:, None, None], before, recent[:, -1:])


class LinearSkip(Skip):
    """last + sum over l of W_hl (recent_l - last) + b_h for each column; a history shorter than K has its last value in front.

    Differences from the last value mean the same whatever the length of the history that they were scaled by.

    W and b are fitted by least squares before the network is trained, and stay: the network learns what they leave.

    Args:
        num_targets: F.
        length: K, values that are seen.
        horizon: H, the most steps.

    Source: Zeng et al. 2023 (2205.13504), section 4, NLinear.
    """

    def __init__(self, num_targets: int, length: int, horizon: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(num_targets, horizon, length), requires_grad=False)
        self.bias = nn.Parameter(torch.zeros(num_targets, horizon), requires_grad=False)

    @torch.no_grad()
    def fit(
        self,
        recent: Float[Tensor, "W K F"],
        num_recent: Int[Tensor, " W"],
        target: Float[Tensor, "W H F"],
        weight: Float[Tensor, "W H F"],
    ) -> None:
        """Minimize sum of weight (target - forecast)^2 + lambda |W|^2, lambda a share of the sum of weights.

        A window counts by the mean weight of its points.
        """
        seen, target = self._seen(recent, num_recent).double(), target - recent[:, -1:]
        for column in range(recent.shape[2]):
            x = torch.cat([seen[..., column], seen.new_ones(len(seen), 1)], dim=1)
            by = weight[..., column].double().mean(dim=1, keepdim=True)
            by = by / by.mean()
            penalty = RIDGE * len(by) * torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
            penalty[-1, -1] = 1e-9 * penalty[-1, -1]
            found = torch.linalg.solve(x.T @ (by * x) + penalty, x.T @ (by * target[..., column].double()))
            self.weight[column], self.bias[column] = found[:-1].T, found[-1]

    def _seen(self, recent: Float[Tensor, "B K F"], num_recent: Int[Tensor, " B"]) -> Float[Tensor, "B K F"]:
        """Return the values less the last one, 0 in front of the history."""
        position = torch.arange(recent.shape[1], 0, -1, device=recent.device)
        return (recent - recent[:, -1:]) * (position <= num_recent[:, None])[..., None]

    def forward(
        self, recent: Float[Tensor, "B K F"], num_recent: Int[Tensor, " B"], horizon: int
    ) -> Float[Tensor, "B H F"]:
        """Map the last values, those in front of the history left out."""
        seen = self._seen(recent, num_recent)
        forecast = recent[:, -1:] + (torch.einsum("bkf,fhk->bhf", seen, self.weight) + self.bias.T)[:, :horizon]
        show("skip", forecast=forecast)
        return forecast
