"""Convolutions along time: gated or one a channel; one that looks back only, for decoders, and one that looks both ways.

Source: Gehring et al. 2017 (1705.03122), sections 3.2, 3.4 and 3.5.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import nn

from seqline.parts.recurrent import is_right_padded
from seqline.shapes import Bool, Float, Int, Tensor
from seqline.watch import show

RESIDUAL_SCALE = 0.5**0.5


class Convolution(nn.Module, ABC):
    """A map of windows of k inputs that lie side by side.

    Args:
        width: of inputs and outputs.
        kernel_size: k, the inputs a window holds.
    """

    def __init__(self, width: int, kernel_size: int) -> None:
        super().__init__()
        self.width, self.kernel_size = width, kernel_size

    @abstractmethod
    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T2 D"]:
        """Map T inputs to T - k + 1 outputs."""


class GatedConvolution(Convolution):
    """y_t = a * sigmoid(b), [a; b] = W [x_t; ...; x_{t+k-1}] + c, over the windows that lie inside the input.

    Args:
        width: of inputs and outputs.
        kernel_size: k, the inputs a window holds.
        dropout: share of the inputs set to zero in training; the first weights are smaller where it is larger, so that
            the variance of what passes through stays what it was.
    """

    def __init__(self, width: int, kernel_size: int, dropout: float) -> None:
        super().__init__(width, kernel_size)
        self.weight = nn.Parameter(torch.empty(2 * width, width, kernel_size))
        self.bias = nn.Parameter(torch.zeros(2 * width))
        nn.init.normal_(self.weight, std=(4 * (1 - dropout) / (kernel_size * width)) ** 0.5)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T2 D"]:
        """Map T inputs to T - k + 1 outputs."""
        both = nn.functional.conv1d(self.dropout(x).transpose(1, 2), self.weight, self.bias).transpose(1, 2)
        value, gate = both.chunk(2, dim=-1)
        gate = torch.sigmoid(gate)
        show("gated convolution", value=value, gate=gate)
        return value * gate


class DepthwiseConvolution(Convolution):
    """y_t = silu(sum over i of w_i * x_{t+i} + c): each channel by itself.

    Args:
        width: D, of inputs [B T D] and outputs [B T-k+1 D].
        kernel_size: k, the inputs a window holds.

    Source: Gu & Dao 2023 (2312.00752, Mamba), section 3.4, whose block has a convolution and SiLU before its state.
    Differs: Sun et al. 2024 (2407.04620) take such convolutions over from Mamba for their second backbone; the form of their own
        (the activation, and where it stands) may be another.
    """

    def __init__(self, width: int, kernel_size: int) -> None:
        super().__init__(width, kernel_size)
        self.weight = nn.Parameter(torch.empty(kernel_size, width).normal_(std=kernel_size**-0.5))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T2 D"]:
        """Map T inputs to T - k + 1 outputs."""
        length = x.shape[1] - self.kernel_size + 1
        # A sum of shifted copies: for a few taps faster on a CPU than torch's grouped convolution.
        y = sum((x[:, i : i + length] * tap for i, tap in enumerate(self.weight)), self.bias)
        return nn.functional.silu(y)


class CausalConvolution(nn.Module):
    """A convolution of each position and the k - 1 real ones before it: a SequenceLayer.

    The state is the last k - 1 real inputs of each row [B k-1 D], zeros where the row has read fewer.

    Args:
        convolution: of windows of k inputs that lie inside what it is given.
    """

    def __init__(self, convolution: Convolution) -> None:
        super().__init__()
        self.convolution = convolution

    def initial_state(self, batch_size: int) -> Float[Tensor, "B K D"]:
        """Return the zeros that stand before a row."""
        zeros = next(self.convolution.parameters()).new_zeros
        return zeros(batch_size, self.convolution.kernel_size - 1, self.convolution.width)

    def forward(
        self, x: Float[Tensor, "B T D"], state: Float[Tensor, "B K D"], mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B K D"]]:
        """Read new inputs behind those in the state."""
        if mask is None:
            window = torch.cat([state, x], dim=1)
            return self.convolution(window), window[:, x.shape[1] :]
        if is_right_padded(mask):
            window = torch.cat([state, x], dim=1)
            # A row that read n inputs ends with entries n ... n + k - 2 of its window.
            last = mask.sum(1, keepdim=True) + torch.arange(state.shape[1], device=x.device)
            return self.convolution(window), _take(window, last)
        # Real inputs first, each row in its order; then every output back to where its input stood.
        order = mask.long().argsort(dim=1, descending=True, stable=True)
        y, state = self(_take(x, order), state, mask.gather(1, order))
        return _take(y, order.argsort(dim=1)), state


def _take(x: Float[Tensor, "B T D"], places: Int[Tensor, "B N"]) -> Float[Tensor, "B N D"]:
    return x.gather(1, places[..., None].expand(-1, -1, x.shape[-1]))


class CausalConvolutionBlock(nn.Module):
    """y = (x + conv(x)) * sqrt(0.5), conv a `CausalConvolution` with a gate: a SequenceLayer with its state [B k-1 D].

    Args:
        width: D, of inputs and outputs [B T D].
        kernel_size: k, the inputs a window holds.
        dropout: share of the convolution's inputs set to zero in training.

    Source: Gehring et al. 2017 (1705.03122), sections 3.2 and 3.5.
    """

    def __init__(self, width: int, kernel_size: int, dropout: float) -> None:
        super().__init__()
        self.convolution = CausalConvolution(GatedConvolution(width, kernel_size, dropout))

    def initial_state(self, batch_size: int) -> Float[Tensor, "B K D"]:
        """Return the convolution's initial state."""
        return self.convolution.initial_state(batch_size)

    def forward(
        self, x: Float[Tensor, "B T D"], state: Float[Tensor, "B K D"], mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B K D"]]:
        """Read new inputs behind those in the state."""
        y, state = self.convolution(x, state, mask)
        h = (x + y) * RESIDUAL_SCALE
        show("block", h=h)
        return h, state


class CentredConvolutionBlock(nn.Module):
    """y = (x + conv(x)) * sqrt(0.5), each window centred on its position; whole sequences only.

    Args:
        width: of inputs and outputs.
        kernel_size: inputs a window holds, an odd number.
        dropout: share of the convolution's inputs set to zero in training.
    """

    def __init__(self, width: int, kernel_size: int, dropout: float) -> None:
        super().__init__()
        if kernel_size % 2 == 0:
            raise ValueError(f"a window centred on a position holds an odd number of inputs, not {kernel_size}")
        self.convolution, self.reach = GatedConvolution(width, kernel_size, dropout), kernel_size // 2

    def forward(self, x: Float[Tensor, "B S D"], is_real: Bool[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """Map every position; beyond a row's ends stand zeros, whatever its padding holds."""
        x = x * is_real[..., None]
        around = nn.functional.pad(x, (0, 0, self.reach, self.reach))
        h = (x + self.convolution(around)) * RESIDUAL_SCALE
        show("block", h=h)
        return h
