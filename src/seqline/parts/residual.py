"""Residual connections, where the normalization stands in them, and layers left out at random."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import nn

from seqline.shapes import Float, Tensor


class Residual(nn.Module, ABC):
    """A sub-layer f beside a straight path: after(x, f(before(x))).

    Args:
        norm: LayerNorm, RMSNorm or another map of the same width.
        dropout: share of the sub-layer's output set to zero in training.
    """

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm, self.dropout = norm, nn.Dropout(dropout)

    @abstractmethod
    def before(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Return what the sub-layer reads."""

    @abstractmethod
    def after(self, x: Float[Tensor, "B T D"], change: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Join the input x and the sub-layer's output `change`."""

    def forward(self, x: Float[Tensor, "B T D"], sublayer: Callable[[Tensor], Tensor]) -> Float[Tensor, "B T D"]:
        """Run a sub-layer that has no state."""
        return self.after(x, sublayer(self.before(x)))


class PostNorm(Residual):
    """norm(x + dropout(f(x))).

    Source: Vaswani et al. 2017 (1706.03762), sections 3.1 and 5.4.
    """

    def before(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Return x."""
        return x

    def after(self, x: Float[Tensor, "B T D"], change: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Normalize the sum."""
        return self.norm(x + self.dropout(change))


class PreNorm(Residual):
    """x + dropout(f(norm(x))): the straight path is never normalized, so a norm must stand behind the last block.

    Args:
        norm: what the sub-layer f reads x [B T D] through.
        dropout: share of f's outputs set to zero in training.

    Source: Xiong et al. 2020 (2002.04745), section 3.
    """

    def before(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Normalize x."""
        return self.norm(x)

    def after(self, x: Float[Tensor, "B T D"], change: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Add the change."""
        return x + self.dropout(change)


class LayerDrop(nn.Module):
    """In training, each layer is left out with probability p, for the whole batch; in use all are there, unscaled.

    Chance comes from torch's global generator, so a checkpoint that restores it restores this too.

    Args:
        p: probability that a layer is left out, 0 = never.

    Source: Fan et al. 2020 (1909.11556), section 3.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def skips(self) -> bool:
        """Draw whether the layer is left out this time."""
        return self.training and self.p > 0 and bool(torch.rand(()) < self.p)
