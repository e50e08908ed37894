"""The continuous ranked probability score of a normal and of a Student-t forecast, in closed form, with numpy alone.

    CRPS(F, y) = integral of (F(x) - [y <= x])^2 dx

It has the unit of y, is least in the mean for the true distribution, and is |y - f| for a forecast of the one value f.

*Source*: Gneiting and Raftery 2007, "Strictly Proper Scoring Rules, Prediction, and Estimation", section 4.2; the closed forms:
Jordan, Krüger and Lerch 2019, "Evaluating Probabilistic Forecasts with scoringRules", appendix A.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_erf = np.frompyfunc(math.erf, 1, 1)
_lgamma = np.frompyfunc(math.lgamma, 1, 1)
_MANY_DEGREES = 2e3  # from here on two terms of an expansion are exact to 1e-10
_LARGE = 100.0  # from here on Stirling's series is exact to the last digits
_MOST_TERMS = 500  # of the continued fraction; about sqrt(df) are needed


def gaussian_crps(value: ArrayLike, mean: ArrayLike, deviation: ArrayLike) -> Array:
    """Score normal forecasts: s (w (2 Phi(w) - 1) + 2 phi(w) - 1 / sqrt(pi)), w = (y - mean) / s.

    Args:
        value: [...] what came.
        mean: [...] of the forecast, in the unit of `value`.
        deviation: [...] standard deviation, 0 or more; 0 is a forecast of the one value `mean`.

    Returns:
        [...] 0 or more, in the unit of `value`.

    Raises:
        ValueError: a negative deviation.
    """
    distance, scale, w = _standardised(value, mean, deviation)
    density = np.exp(-(w**2) / 2) / math.sqrt(2 * math.pi)
    score = scale * (w * (2 * _normal_cdf(w) - 1) + 2 * density - 1 / math.sqrt(math.pi))
    return np.where(scale > 0, score, np.abs(distance))


def student_t_crps(value: ArrayLike, df: ArrayLike, location: ArrayLike, scale: ArrayLike) -> Array:
    """Score Student-t forecasts.

        s (w (2 F(w) - 1) + 2 f(w) (df + w^2) / (df - 1) - 2 sqrt(df) / (df - 1) B(1/2, df - 1/2) / B(1/2, df/2)^2)

    with w = (y - location) / s, and f and F the density and the distribution function of t with df degrees of freedom.

    Args:
        value: [...] what came.
        df: [...] degrees of freedom, over 1: with fewer the score is infinite.
        location: [...] of the forecast, in the unit of `value`.
        scale: [...] 0 or more (not the standard deviation); 0 is a forecast of the one value `location`.

    Returns:
        [...] 0 or more, in the unit of `value`.

    Raises:
        ValueError: a negative scale, or df of 1 or less.
    """
    distance, spread, w = _standardised(value, location, scale)
    degrees = np.asarray(df, dtype=np.float64)
    if not (degrees > 1).all():
        raise ValueError("the score of a Student-t forecast is finite only for more than 1 degree of freedom")
    log_density = _log_gamma_step(degrees / 2) - np.log(degrees * math.pi) / 2
    # f(w) (df + w^2) = df exp(log f(0) - (df - 1) / 2 log(1 + w^2 / df)): no product of something huge with 0.
    middle = 2 * degrees / (degrees - 1) * np.exp(log_density - (degrees - 1) / 2 * np.log1p(w**2 / degrees))
    beta_ratio = np.exp(2 * _log_gamma_step(degrees / 2) - _log_gamma_step(degrees - 0.5)) / math.sqrt(math.pi)
    last = 2 * np.sqrt(degrees) / (degrees - 1) * beta_ratio
    score = spread * (w * (2 * student_t_cdf(w, degrees) - 1) + middle - last)
    return np.where(spread > 0, score, np.abs(distance))


def student_t_cdf(x: ArrayLike, df: ArrayLike) -> Array:
    """Return P(T <= x): 1 - I(df/2, 1/2) / 2 at df / (df + x^2) for x > 0, with I the regularised incomplete beta function.

    Args:
        x: [...] finite.
        df: [...] degrees of freedom, over 0.

    Returns:
        [...] between 0 and 1.

    *Source*: NIST Digital Library of Mathematical Functions, 8.17; Abramowitz and Stegun 1964, 26.7.
    """
    at, degrees = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(df, dtype=np.float64))
    capped = np.minimum(degrees, _MANY_DEGREES)
    share = at**2 / (capped + at**2)
    # The fraction converges fast on one side of its middle; on the other, I(a, b) at p is 1 - I(b, a) at 1 - p.
    half = np.full_like(capped, 0.5)
    is_far = share > 1.5 / (capped / 2 + 2.5)
    a, b = np.where(is_far, capped / 2, half), np.where(is_far, half, capped / 2)
    p, rest = np.where(is_far, capped / (capped + at**2), share), np.where(is_far, share, capped / (capped + at**2))
    beta = _incomplete_beta(a, b, p, rest, -_log_gamma_step(capped / 2) + math.log(math.pi) / 2)
    tail = np.where(is_far, beta, 1 - beta) / 2
    exact = np.where(at > 0, 1 - tail, tail)
    return np.where(degrees > _MANY_DEGREES, _near_normal_cdf(at, np.maximum(degrees, _MANY_DEGREES)), exact)


def _standardised(value: ArrayLike, location: ArrayLike, scale: ArrayLike) -> tuple[Array, Array, Array]:
    """Return y - location, the scale, and their quotient, 0 where the scale is 0."""
    spread = np.asarray(scale, dtype=np.float64)
    if not (spread >= 0).all():
        raise ValueError("expected scales of 0 or more")
    distance, spread = np.broadcast_arrays(np.asarray(value, dtype=np.float64) - np.asarray(location), spread)
    return distance, spread, np.divide(distance, spread, out=np.zeros_like(distance), where=spread > 0)


def _normal_cdf(x: Array) -> Array:
    return (1 + np.asarray(_erf(x / math.sqrt(2)), dtype=np.float64)) / 2


def _near_normal_cdf(x: Array, df: Array) -> Array:
    """Return P(T <= x) for many degrees of freedom: the normal distribution and two terms of Fisher's expansion."""
    near = np.clip(x, -20, 20)  # farther out the density is 0, its factors huge
    density = np.exp(-(near**2) / 2) / math.sqrt(2 * math.pi)
    first = (near**3 + near) / (4 * df)
    second = (3 * near**7 - 7 * near**5 - 5 * near**3 - 3 * near) / (96 * df**2)
    return _normal_cdf(x) - density * (first + second)


def _log_gamma_step(z: Array) -> Array:
    """Return log(Gamma(z + 1/2) / Gamma(z)), without the cancellation of two large logarithms."""
    near = np.minimum(z, _LARGE)
    exact = np.asarray(_lgamma(near + 0.5) - _lgamma(near), dtype=np.float64)
    far = np.maximum(z, _LARGE)
    series = np.log(far) / 2 - 1 / (8 * far) + 1 / (192 * far**3) - 1 / (640 * far**5)
    return np.where(z < _LARGE, exact, series)


def _incomplete_beta(a: Array, b: Array, p: Array, rest: Array, log_beta: Array) -> Array:
    """Return the regularised incomplete beta function at p (rest = 1 - p) by its continued fraction.

    *Source*: DLMF 8.17.22; evaluated by Lentz's method, Thompson and Barnett 1986.
    """
    tiny = 1e-300
    d = 1 / _not_zero(1 - (a + b) * p / (a + 1), tiny)
    c, fraction = np.ones_like(p), d
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * p / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * p / ((a + 2 * m) * (a + 2 * m + 1))
        before = fraction
        for term in (even, odd):
            d = 1 / _not_zero(1 + term * d, tiny)
            c = _not_zero(1 + term / c, tiny)
            fraction = fraction * d * c
        if (np.abs(fraction - before) <= 1e-14 * np.abs(fraction)).all():
            break
    log_front = a * _log_share(p, rest, tiny) + b * _log_share(rest, p, tiny) - np.log(a) - log_beta
    return np.where(p > 0, np.exp(log_front) * fraction, 0.0)


def _log_share(p: Array, rest: Array, tiny: float) -> Array:
    """Return log p; near 1 from 1 - p, which holds the digits."""
    return np.where(p > 0.5, np.log1p(-np.minimum(rest, 0.5)), np.log(np.maximum(p, tiny)))


def _not_zero(x: Array, tiny: float) -> Array:
    return np.where(np.abs(x) < tiny, tiny, x)
