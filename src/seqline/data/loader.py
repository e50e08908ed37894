"""Which examples go together and in what order: plans of batches, as lists of row numbers.

The order of an epoch is a pure function of the lengths, the token budget, the seed and the epoch. It sorts a fixed
64-bit mix of (seed, epoch, index) and asks no library's random generator, so it is the same on every machine and
version; a run that resumes needs one integer, the number of batches done.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Mixed = NDArray[np.uint64]
Lengths = NDArray[np.int64]

BATCHES_PER_POOL = 300
_SHUFFLE_EXAMPLES, _SHUFFLE_BATCHES, _CUT_BANDS, _FIRST_CUT = 1, 2, 3, 4  # each use of chance has its own stream
_BAND = 8  # lengths that differ by less than an eighth may share a band


def plan_epoch(
    source_lengths: Sequence[int], target_lengths: Sequence[int], batch_tokens: int, seed: int, epoch: int
) -> list[list[int]]:
    """Plan the batches of one training epoch.

    Examples are shuffled, dealt into pools of about 300 batches, and sorted inside a pool: by a band of the larger
    side's length, then by the difference of the sides, so that rows of a batch resemble each other on both sides. The
    limits of the bands and the size of a pool's first batch are drawn anew each epoch, so that other examples meet.
    Then the batches are shuffled.

    Args:
        source_lengths: tokens of each source, end token included.
        target_lengths: tokens of each target, end token included.
        batch_tokens: no batch has more than this many rows x longest row (the larger side).
        seed: any integer.
        epoch: any integer; consecutive epochs differ.

    Returns:
        Batches of indices. Every index stands in exactly one batch, except those that `too_long` lists.

    Raises:
        ValueError: the two sides differ in number.
    """
    sources, targets, sizes = _sizes(source_lengths, target_lengths)
    fitting = np.flatnonzero(sizes <= batch_tokens)
    if not len(fitting):
        return []
    order = fitting[np.argsort(mix(seed, epoch, _SHUFFLE_EXAMPLES, fitting), kind="stable")]
    band_of = _bands(int(sizes[fitting].max()), seed, epoch)
    batches: list[list[int]] = []
    num_pools = max(1, int(sizes[fitting].sum()) // (BATCHES_PER_POOL * batch_tokens))
    first_tokens = 1 + mix(seed, epoch, _FIRST_CUT, np.arange(num_pools)) % np.uint64(batch_tokens)
    for pool, first in zip(np.array_split(order, num_pools), first_tokens.tolist(), strict=True):
        # The last key counts most; lexsort is stable, so what is equal keeps its shuffled order.
        pool = pool[np.lexsort((sources[pool] - targets[pool], band_of[sizes[pool]]))]
        fits_in_one = len(pool) * sizes[pool].max() <= batch_tokens
        batches += _cut(pool, sizes[pool], batch_tokens, first=batch_tokens if fits_in_one else first)
    shuffled = np.argsort(mix(seed, epoch, _SHUFFLE_BATCHES, np.arange(len(batches))), kind="stable")
    return [batches[i] for i in shuffled.tolist()]


def plan_in_order(lengths: Sequence[int], batch_tokens: int, max_rows: int | None = None) -> list[list[int]]:
    """Plan batches for evaluation and translation: the longest first, so that padding is small and memory peaks early.

    Args:
        lengths: tokens of each item.
        batch_tokens: no batch has more than this many rows x longest row, except that an item above it stands alone.
        max_rows: no batch has more rows than this; None = no such limit.

    Returns:
        Batches of indices, each index exactly once, equal lengths in their order.
    """
    sizes = np.asarray(lengths, dtype=np.int64)
    order = np.argsort(-sizes, kind="stable")
    return _cut(order, sizes[order], batch_tokens, max_rows=max_rows)


def too_long(source_lengths: Sequence[int], target_lengths: Sequence[int], batch_tokens: int) -> list[int]:
    """List the examples that `plan_epoch` leaves out: one side alone is above the budget.

    Args:
        source_lengths: tokens of each source, end token included.
        target_lengths: tokens of each target, end token included.
        batch_tokens: the budget.

    Returns:
        Their indices, ascending.

    Raises:
        ValueError: the two sides differ in number.
    """
    return np.flatnonzero(_sizes(source_lengths, target_lengths)[2] > batch_tokens).tolist()


def longest_row(
    lengths: Sequence[int], source_lengths: Sequence[int], target_lengths: Sequence[int], batch_tokens: int
) -> int:
    """Return the index of the largest of `lengths` among the examples that fit a batch budget.

    Raises:
        ValueError: none fits.
    """
    fitting = np.flatnonzero(_sizes(source_lengths, target_lengths)[2] <= batch_tokens)
    return int(fitting[np.asarray(lengths)[fitting].argmax()])


def mix(seed: int, epoch: int, stream: int, index: NDArray[np.int64]) -> Mixed:
    """Mix (seed, epoch, stream, index) into 64 bits that look random. The same on every machine, for ever.

    Args:
        seed: any integer (its low 64 bits count).
        epoch: any integer.
        stream: what the chance is for.
        index: [N].

    Returns:
        [N] uint64.

    *Source*: SplitMix64; Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
    """
    key = np.zeros(1, dtype=np.uint64)
    for part in (seed, epoch, stream):
        key = _splitmix64(key ^ np.uint64(part & 0xFFFF_FFFF_FFFF_FFFF))
    return _splitmix64(key ^ index.astype(np.uint64))


def _splitmix64(x: Mixed) -> Mixed:
    """Advance by the golden ratio and finalize; unsigned arrays wrap around without a warning."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _sizes(source_lengths: Sequence[int], target_lengths: Sequence[int]) -> tuple[Lengths, Lengths, Lengths]:
    """Return both sides as arrays, and the larger side of each example."""
    sources, targets = np.asarray(source_lengths, dtype=np.int64), np.asarray(target_lengths, dtype=np.int64)
    if sources.shape != targets.shape:
        raise ValueError(f"expected as many targets as sources, got {len(sources)} sources and {len(targets)} targets")
    return sources, targets, np.maximum(sources, targets)


def _bands(longest: int, seed: int, epoch: int) -> Lengths:
    """Number the lengths 0 ... longest by bands, 1 to length / 8 wide (exact below 16)."""
    drawn = mix(seed, epoch, _CUT_BANDS, np.arange(longest + 1)).tolist()
    bands = np.zeros(longest + 1, dtype=np.int64)
    start = 0
    while start <= longest:
        end = start + 1 + drawn[start] % max(1, start // _BAND)
        bands[start:end] = start
        start = end
    return bands


def _cut(
    order: NDArray[np.intp], sizes: Lengths, batch_tokens: int, *, first: int | None = None, max_rows: int | None = None
) -> list[list[int]]:
    """Cut an order into batches: each takes rows while rows x longest is within the budget (`first`: the first's)."""
    budget = batch_tokens if first is None else first
    most = len(order) if max_rows is None else max_rows
    batches: list[list[int]] = []
    longest = 0
    for index, size in zip(order.tolist(), sizes.tolist(), strict=True):
        longest = max(longest, size)
        if not batches:
            batches.append([])
        elif len(batches[-1]) >= most or (len(batches[-1]) + 1) * longest > budget:
            batches.append([])
            longest, budget = size, batch_tokens
        batches[-1].append(index)
    return batches
