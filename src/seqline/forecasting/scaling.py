"""Instance normalisation of a history: one centre and one guarded scale, used in both directions.

    scaled = (values - centre) / scale          values = scaled * scale + centre

Centre and scale come from the observed points of the history alone, in float64, so nothing that comes later can change them.
The scale is the standard deviation, but never under a floor:

    scale = max(deviation, absolute, relative |magnitude|, 1e-9 |magnitude|, 1e-24)

with magnitude the largest |value| of the history. A history without spread (one point, a constant) so gets a scale that is
small beside its values: whatever a model says, its forecast stays near the constant. `fit_floor` finds the first two terms in
a training span; without them a jump after a constant history is 1e9 scales high, which no training survives.

Above the floor forecasts follow their history: f(a x + b) = a f(x) + b for every a > 0.

*Source*: Kim et al. 2022, "Reversible Instance Normalization for Accurate Time-Series Forecasting against Distribution Shift",
equations 1 to 3, without the learned affine map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_RELATIVE = 1e-9  # of the magnitude: float64 holds seven digits of a spread as small as this
_SMALLEST = 1e-24  # of a history of zeros; 1e12 over it still fits a float32
_LOW, _SHARE = 0.05, 0.1  # a floor is a tenth of what the least spread series, but for one in twenty, spread


class Scale(NamedTuple):
    """centre and scale, [F] of one history or [B 1 F] of a batch; scale is over 0 and finite."""

    centre: Array
    scale: Array


class Floor(NamedTuple):
    """The least scale of each column: `absolute` [F], in its unit, and `relative` [F], a share of the magnitude."""

    absolute: Array
    relative: Array


class _Numbers(Protocol):
    """An array or a tensor."""

    def __add__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...


N = TypeVar("N", bound=_Numbers)


def instance_scale(values: ArrayLike, is_observed: ArrayLike | None = None, *, floor: Floor | None = None) -> Scale:
    """Find centre and scale of one history.

    Args:
        values: [N F], N at least 1; what stands at unobserved points does not matter.
        is_observed: [N F]; None = all.
        floor: of the scale, from `fit_floor`; None = the built-in one alone.

    Returns:
        [F] each. A column without an observed point has centre 0.

    Raises:
        ValueError: another shape, or an observed value that is not finite.
    """
    given = np.asarray(values, dtype=np.float64)
    seen = np.ones(given.shape, bool) if is_observed is None else np.asarray(is_observed, dtype=bool)
    if given.ndim != 2 or not len(given) or seen.shape != given.shape:
        raise ValueError(f"expected a history [N F] of one point or more and its mask, got {given.shape}, {seen.shape}")
    kept = np.where(seen, given, 0.0)
    if not np.isfinite(kept).all():
        raise ValueError("an observed value of the history is not finite")
    columns = np.arange(given.shape[1])
    first = kept[seen.argmax(axis=0), columns]
    count = np.maximum(seen.sum(axis=0), 1)
    # From the first point on, so that the mean of a constant is that constant to the last bit.
    mean = first + np.where(seen, kept - first, 0.0).sum(axis=0) / count
    deviation = np.sqrt((np.where(seen, kept - mean, 0.0) ** 2).sum(axis=0) / count)
    return Scale(mean, np.maximum(deviation, _least(kept, floor)))


def fit_floor(training: Sequence[ArrayLike], masks: Sequence[ArrayLike] | None = None) -> Floor:
    """Find the least scale in training spans: a tenth of the spread of the series that spreads less than 19 of 20.

    Series without spread are left out; where no series has any, both floors are 0.

    Args:
        training: one [N F] a series, its training span and nothing after it.
        masks: one `is_observed` [N F] a series; None = all observed.

    Returns:
        A floor for each column. Relative: the same of deviation / largest |value|.
    """
    seen = [None] * len(training) if masks is None else masks
    absolute, relative = [], []
    for values, mask in zip(training, seen, strict=True):
        given = np.asarray(values, dtype=np.float64)
        observed = np.ones(given.shape, bool) if mask is None else np.asarray(mask, dtype=bool)
        scale, least = instance_scale(given, observed).scale, _least(np.where(observed, given, 0.0), None)
        spread = np.where(scale > least, scale, np.nan)
        absolute.append(spread)
        relative.append(spread / np.maximum(np.abs(np.where(observed, given, 0.0)).max(axis=0), _SMALLEST))
    return Floor(_low(np.stack(absolute)), _low(np.stack(relative)))


def normalise(values: N, scale: Scale) -> N:
    """Return (values - centre) / scale; arrays or tensors, with a scale of the same kind that broadcasts."""
    return (values - scale.centre) / scale.scale


def denormalise(scaled: N, scale: Scale) -> N:
    """Return scaled * scale + centre, the way back of `normalise`."""
    return scaled * scale.scale + scale.centre


def _least(kept: Array, floor: Floor | None) -> Array:
    magnitude = np.abs(kept).max(axis=0)
    least = np.maximum(_RELATIVE * magnitude, _SMALLEST)
    return least if floor is None else np.maximum(least, np.maximum(floor.absolute, floor.relative * magnitude))


def _low(spreads: Array) -> Array:
    """Return a tenth of the 5 % quantile of each column [S F], NaN left out; 0 for a column without any."""
    return np.array([_SHARE * np.quantile(c[~np.isnan(c)], _LOW) if (~np.isnan(c)).any() else 0.0 for c in spreads.T])
