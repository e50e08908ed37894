"""Positions inside self-attention: rotary, ALiBi and relative. Each depends on differences of positions only.

A position is the number of real entries before one in its row. In every call the queries are the last T of the S keys (in full
self-attention T = S), so the mask of the keys says where all of them stand, whatever was cached before.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import nn

from seqline.parts.positions import angles, once_each
from seqline.shapes import Bool, Float, Int, Tensor


def positions_of(is_real: Bool[Tensor, "B S"]) -> Int[Tensor, "B S"]:
    """Return the number of real entries before each one."""
    return is_real.long().cumsum(1) - is_real.long()


class AttentionPositions(nn.Module):
    """What positions do to queries, to keys and to scores; this one does nothing."""

    def place(
        self, query: Float[Tensor, "B H T E"], keys: Float[Tensor, "B K T E"], is_real: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B H T E"], Float[Tensor, "B K T E"]]:
        """Return queries and keys that know where they stand; both are those of the last T of the S entries."""
        return query, keys

    def bias(self, num_queries: int, is_real: Bool[Tensor, "B S"]) -> Float[Tensor, "B H T S"] | None:
        """Return what is added to the scores of the last `num_queries` entries, or None for nothing."""
        return None


class Rotary(AttentionPositions):
    """Turn the pair (2i, 2i+1) of every query and key by the angle p / 10000^(2i/E): q_m . k_n depends on m - n only.

    Keys are cached as turned at their own position. Longer at use than in training works.

    Source: Su et al. 2021 (2104.09864), sections 3.2 and 3.4.2.
    """

    def place(
        self, query: Float[Tensor, "B H T E"], keys: Float[Tensor, "B K T E"], is_real: Bool[Tensor, "B S"]
    ) -> tuple[Float[Tensor, "B H T E"], Float[Tensor, "B K T E"]]:
        """Turn both by their positions."""
        turn = rotation(positions_of(is_real)[:, -query.shape[2] :], query.shape[3], query.dtype)
        return rotate(query, turn), rotate(keys, turn)


def rotation(positions: Int[Tensor, "B T"], width: int, dtype: torch.dtype) -> Float[Tensor, "B T P 2"]:
    """Return the cosine and sine of each pair's angle."""

    def of(p: Tensor) -> Tensor:
        angle = angles(p, width)
        return torch.stack([angle.cos(), angle.sin()], dim=-1).to(dtype)

    return once_each(of, positions)


def rotate(x: Float[Tensor, "B H T E"], turn: Float[Tensor, "B T P 2"]) -> Float[Tensor, "B H T E"]:
    """Turn each pair of x by its angle: (a, b) -> (a cos - b sin, a sin + b cos)."""
    cosine, sine = turn[:, None].unbind(-1)
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([a * cosine - b * sine, a * sine + b * cosine], dim=-1).flatten(-2)


class DistanceBias(AttentionPositions, ABC):
    """Add to each score a number that depends on the head and on the distance alone."""

    @abstractmethod
    def of_distance(self, distance: Int[Tensor, " N"]) -> Float[Tensor, "H N"]:
        """Return each head's number at each j - i, the key's position less the query's."""

    def bias(self, num_queries: int, is_real: Bool[Tensor, "B S"]) -> Float[Tensor, "#B H T S"]:
        """Return the numbers of all pairs."""
        if bool(is_real.all()):
            is_real = is_real[:1]  # all rows have the same distances
        positions = positions_of(is_real)
        distance = positions[:, None] - positions[:, -num_queries:, None]
        low, high = (int(end) for end in distance.aminmax())
        table = self.of_distance(torch.arange(low, high + 1, device=is_real.device))
        return table[:, distance - low].transpose(0, 1)


class Alibi(DistanceBias):
    """score(i, j) - m_h |i - j|, the slope m_h falling geometrically from head to head.

    For a number of heads that is a power of two, m_h = 2^(-8h/H), h = 1 ... H; else the slopes of the power below it, then
    every second one of the power above. Longer at use than in training works.

    Source: Press et al. 2022 (2108.12409), section 3.
    Differs: the paper is causal; full self-attention counts the distance to both sides alike.
    """

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.slopes = alibi_slopes(num_heads)

    def of_distance(self, distance: Int[Tensor, " N"]) -> Float[Tensor, "H N"]:
        """Return -m_h |j - i|."""
        slopes = torch.tensor(self.slopes, dtype=torch.float64, device=distance.device)
        return -slopes[:, None] * distance.abs()


def alibi_slopes(num_heads: int) -> list[float]:
    """Return m_1 ... m_H."""
    below = 2 ** int(math.log2(num_heads))
    slopes = [2 ** (-8 * h / below) for h in range(1, below + 1)]
    between = [2 ** (-8 * h / (2 * below)) for h in range(1, 2 * below + 1, 2)]
    return slopes + between[: num_heads - below]


class RelativeBias(DistanceBias):
    """score(i, j) + b_h(bucket(j - i)), b learned; near distances have a bucket each, far ones share buckets.

    Of the buckets of one direction, the first half are the distances 0, 1, 2, ...; the other half grow geometrically, so
    that one bucket more would begin at `max_distance`, and the last takes all that is farther. Longer at use than in
    training works.

    Args:
        num_heads: rows of b.
        is_causal: only keys at or before the query are asked for; else half of the buckets are for those behind it.
        num_buckets: columns of b.
        max_distance: what the growth of the buckets is aimed at; with 32 buckets and 128 the last one begins at 113 where only
            the past is seen, at 91 where both sides are.

    Source: Raffel et al. 2020 (1910.10683), section 2.1.
    Differs: scores are still divided by sqrt(E); each layer has a table of its own, the paper's layers share one.
    """

    def __init__(self, num_heads: int, is_causal: bool, num_buckets: int = 32, max_distance: int = 128) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(num_heads, num_buckets).normal_(std=0.02))
        self.is_causal = is_causal
        self.starts = bucket_starts(num_buckets if is_causal else num_buckets // 2, max_distance)

    def of_distance(self, distance: Int[Tensor, " N"]) -> Float[Tensor, "H N"]:
        """Look up b_h(bucket(j - i))."""
        starts = torch.tensor(self.starts, device=distance.device)
        bucket = torch.bucketize(distance.abs(), starts, right=True)
        behind = distance > 0
        if self.is_causal:
            return self.table[:, bucket.masked_fill(behind, 0)]  # nobody may attend there
        return self.table[:, bucket + behind * (len(self.starts) + 1)]


def bucket_starts(num_buckets: int, max_distance: int) -> list[int]:
    """Return the distance at which each bucket but the first begins: b distances lie below it, so it is bucket b."""
    exact = num_buckets // 2
    ratio = max_distance / exact
    # Whole numbers found in float64 with a little slack, so that no machine's rounding moves a distance to another bucket.
    far = [math.ceil(exact * ratio ** ((b - exact) / (num_buckets - exact)) - 1e-9) for b in range(exact, num_buckets)]
    return [*range(1, exact), *far]
