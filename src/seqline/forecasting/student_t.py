"""The distribution function of Student's t, with numpy alone."""

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
