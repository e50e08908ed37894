"""Feed-forward maps applied to each position alone."""

from __future__ import annotations

import torch
from torch import nn

from seqline.shapes import Float, Tensor
from seqline.watch import show


class FeedForward(nn.Module):
    """FFN(x) = f(x W_1 + b_1) W_2 + b_2, f(u) = max(0, u) or another activation.

    Args:
        width: of x and of the result.
        inner_size: width between the two maps.
        dropout: share of f's values set to zero in training.
        activation: f; None = ReLU.

    Source: Vaswani et al. 2017 (1706.03762), section 3.3, equation 2.
    """

    def __init__(self, width: int, inner_size: int, dropout: float, activation: nn.Module | None = None) -> None:
        super().__init__()
        self.expand = nn.Linear(width, inner_size)
        self.activation = activation or nn.ReLU()
        self.contract = nn.Linear(inner_size, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Map each position alone."""
        return self.contract(self.dropout(self.activation(self.expand(x))))


class GatedFeedForward(nn.Module):
    """FFN(x) = (swish(x W) * x V) W_2, swish(u) = u sigma(u): SwiGLU, without biases.

    A third matrix stands beside the two of `FeedForward`; with two thirds of the inner size the number of weights is the same.

    Args:
        width: of x and of the result.
        inner_size: width between the maps.
        dropout: share of the product's values set to zero in training.

    Source: Shazeer 2020 (2002.05202), equation 6.
    """

    def __init__(self, width: int, inner_size: int, dropout: float) -> None:
        super().__init__()
        self.gate, self.expand = (nn.Linear(width, inner_size, bias=False) for _ in range(2))
        self.contract = nn.Linear(inner_size, width, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Map each position alone."""
        gate = torch.nn.functional.silu(self.gate(x))
        show("gated feed-forward", gate=gate)
        return self.contract(self.dropout(gate * self.expand(x)))


class TanhLayer(nn.Module):
    """z -> tanh(W z + b): the attentional vector.

    Args:
        input_size: I, width of z [... I].
        output_size: O, width of the result [... O].

    Source: Luong et al. 2015 (1508.04025), equation 5.
    Differs: b is not in the paper.
    """

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__()
        self.project = nn.Linear(input_size, output_size)

    def forward(self, z: Float[Tensor, "*shape I"]) -> Float[Tensor, "*shape O"]:
        """Map each vector alone."""
        return torch.tanh(self.project(z))


class Maxout(nn.Module):
    """t_j = max(u_{2j-1}, u_{2j}) with u = W z + b.

    Args:
        input_size: I, width of z [... I].
        output_size: O, width of t [... O]; u is twice as wide.

    Source: Bahdanau et al. 2015 (1409.0473), section A.2.2, the output layer.
    Differs: b is not in the paper.
    """

    def __init__(self, input_size: int, output_size: int) -> None:
        super().__init__()
        self.project = nn.Linear(input_size, 2 * output_size)

    def forward(self, z: Float[Tensor, "*shape I"]) -> Float[Tensor, "*shape O"]:
        """Map each vector alone."""
        return self.project(z).unflatten(-1, (-1, 2)).amax(dim=-1)
