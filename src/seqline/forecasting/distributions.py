"""What a model says of a step: a number, a number and quantiles, or a distribution; its loss, and its quantiles.

Parameters are in scaled units [.. P], the first one the point forecast. The loss of a point forecast is measured in the unit of
the series, its training deviation: an error counts the same whatever the spread of the history before it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from seqline.forecasting.history import Array
from seqline.forecasting.student_t import student_t_cdf

LossName: TypeAlias = Literal["squared", "absolute", "huber"]
PointLoss: TypeAlias = Callable[[Tensor], Tensor]
"""errors in units of the series -> losses."""

POINT_LOSSES: dict[LossName, PointLoss] = {
    "squared": lambda error: error**2,
    "absolute": torch.abs,
    "huber": lambda error: F.huber_loss(error, torch.zeros_like(error), reduction="none"),
}
LEVELS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
"""Quantiles that are fitted and scored where nobody asks for others; the intervals of 80 % and 90 % are among them."""
_LEAST_SPREAD = 1e-3  # of the scale of the history
_BISECTIONS = 50
_FARTHEST = 1e6


class Distribution(ABC):
    """One way to say what a step will be.

    is_location: one flag a parameter: whether it lies on the axis of the values, so that a plain forecast is added to it.
    levels: the quantiles it was fitted for; it gives those between the least and the greatest. () = any. None = none.
    """

    is_location: tuple[bool, ...]
    levels: tuple[float, ...] | None = ()

    @abstractmethod
    def loss(self, parameters: Tensor, target: Tensor, unit: Tensor) -> Tensor:
        """Return the loss of every point.

        Args:
            parameters: [B H F P].
            target: [B H F], scaled as the parameters are.
            unit: [B 1 F], the scale of the history in units of the series.
        """

    @abstractmethod
    def quantiles(self, parameters: Array, levels: Sequence[float]) -> Array:
        """Return quantiles [... Q], scaled as the parameters [... P] are; they do not cross."""


class Point(Distribution):
    """A number alone."""

    is_location = (True,)
    levels = None

    def __init__(self, point_loss: PointLoss) -> None:
        self.point_loss = point_loss

    def loss(self, parameters: Tensor, target: Tensor, unit: Tensor) -> Tensor:
        """Return the loss of the number."""
        return self.point_loss((parameters[..., 0] - target) * unit)

    def quantiles(self, parameters: Array, levels: Sequence[float]) -> Array:
        """Refuse: a number has none."""
        raise ValueError("a point forecast has no quantiles")


class Quantiles(Distribution):
    """A number by its own loss, and quantiles by the mean of their pinball losses max(q e, (q - 1) e), e = target - forecast.

    Args:
        levels: ascending, over 0 and under 1.
        point_loss: of the number.

    *Source*: Koenker and Bassett 1978, "Regression Quantiles".
    """

    def __init__(self, levels: Sequence[float], point_loss: PointLoss) -> None:
        self.levels = self.fitted = tuple(levels)
        self.point_loss = point_loss
        self.is_location = (True,) * (1 + len(self.fitted))

    def loss(self, parameters: Tensor, target: Tensor, unit: Tensor) -> Tensor:
        """Return the sum of both losses."""
        error = (target[..., None] - parameters) * unit[..., None]
        level = torch.tensor(self.fitted, device=target.device, dtype=target.dtype)
        off = error[..., 1:]
        pinball = torch.maximum(level * off, (level - 1) * off).mean(dim=-1)
        return self.point_loss(error[..., 0]) + pinball

    def quantiles(self, parameters: Array, levels: Sequence[float]) -> Array:
        """Return the quantiles in order; between two of the model's levels on the line that joins them."""
        known, own = np.sort(parameters[..., 1:], axis=-1), self.fitted
        place = np.interp(levels, own, np.arange(len(own)))
        low = np.floor(place).astype(np.int64)
        high = np.minimum(low + 1, len(own) - 1)
        share = place - low
        return known[..., low] + share * (known[..., high] - known[..., low])


class Gaussian(Distribution):
    """A normal distribution; its loss is -log p of the target in units of the series."""

    is_location = (True, False)

    def loss(self, parameters: Tensor, target: Tensor, unit: Tensor) -> Tensor:
        """Return log s + z^2 / 2 + log(2 pi) / 2."""
        spread = _spread(parameters[..., 1])
        z = (target - parameters[..., 0]) / spread
        return (spread * unit).log() + z**2 / 2 + math.log(2 * math.pi) / 2

    def quantiles(self, parameters: Array, levels: Sequence[float]) -> Array:
        """Return the mean and a share of the deviation."""
        z = torch.special.ndtri(torch.tensor(levels, dtype=torch.float64)).numpy()
        return parameters[..., :1] + _numpy_spread(parameters[..., 1:2]) * z


class StudentT(Distribution):
    """A Student-t distribution with more than 2 degrees of freedom; its loss is -log p of the target in units of the series."""

    is_location = (True, False, False)

    def loss(self, parameters: Tensor, target: Tensor, unit: Tensor) -> Tensor:
        """Return -log p."""
        spread, df = _spread(parameters[..., 1]), 2.0 + F.softplus(parameters[..., 2]) + 1e-2
        z = (target - parameters[..., 0]) / spread
        constant = torch.lgamma(df / 2) - torch.lgamma((df + 1) / 2) + (df * math.pi).log() / 2
        return (spread * unit).log() + constant + (df + 1) / 2 * torch.log1p(z**2 / df)

    def quantiles(self, parameters: Array, levels: Sequence[float]) -> Array:
        """Return location and a share of the scale, found by halving an interval of the distribution function."""
        df = 2.0 + np.logaddexp(0.0, parameters[..., 2:3]) + 1e-2
        level = np.broadcast_to(np.asarray(levels, dtype=np.float64), (*df.shape[:-1], len(levels)))
        # The upper half; the lower one is its mirror. log(1 + z) is halved, for the tails are long.
        upper = np.maximum(level, 1 - level)
        low, high = np.zeros(level.shape), np.full(level.shape, math.log1p(_FARTHEST))
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            is_below = student_t_cdf(np.expm1(middle), df) < upper
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        z = np.expm1((low + high) / 2) * np.where(level < 0.5, -1.0, 1.0)
        return parameters[..., :1] + _numpy_spread(parameters[..., 1:2]) * z


def _spread(raw: Tensor) -> Tensor:
    return F.softplus(raw) + _LEAST_SPREAD


def _numpy_spread(raw: Array) -> Array:
    return np.logaddexp(0.0, raw) + _LEAST_SPREAD
