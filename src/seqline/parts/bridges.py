"""Bridges: how the encoder's end becomes the decoder's beginning. A bridge reads its row's source only.

A bridge maps `Encoded` to the first state of the decoder's layers. Two of them, zeros and mean, need no `Encoded.final`, so
they also serve encoders that carry nothing along time (convolutions, plain embeddings).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from seqline.parts.summaries import final_output, mean_output
from seqline.shapes import Float, Tensor
from seqline.state import Encoded, map_tensors


def _widths(state: Any) -> list[int]:
    """Return the widths of a state's tensors [B D], first to last."""
    widths: list[int] = []

    def note(tensor: Tensor) -> Tensor:
        widths.append(tensor.shape[-1])
        return tensor

    map_tensors(note, state)
    return widths


class ZeroBridge(nn.Module):
    """The decoder starts from zeros: the source enters through attention, or not at all.

    Args:
        initial_state: batch size to the zero state of the decoder's layers, such as a stack's own `initial_state`.
    """

    def __init__(self, initial_state: Callable[[int], Any]) -> None:
        super().__init__()
        self.zeros = initial_state

    def forward(self, encoded: Encoded) -> Any:
        """Return zeros, one row a source."""
        return self.zeros(len(encoded.outputs))


class LastBridge(nn.Module):
    """Decoder layer l starts from the state in which encoder layer l ended (h and c both, for an LSTM)."""

    def forward(self, encoded: Encoded) -> Any:
        """Return the encoder's final states, layer by layer."""
        return encoded.final


class LinearBridge(nn.Module):
    """s_l = W_l h_l + b_l: decoder layer l starts from a map of encoder layer l's end; an LSTM's c has a map of its own.

    There is no tanh, so that cell states and rectified states, which tanh would squash, cross as well; with W_l = 1 and
    b_l = 0 it is `LastBridge`.

    Args:
        initial_state: batch size to a state of the decoder's layers; the encoder's final states have the same tree and widths.
    """

    def __init__(self, initial_state: Callable[[int], Any]) -> None:
        super().__init__()
        self.project = nn.ModuleList(nn.Linear(width, width) for width in _widths(initial_state(1)))

    def forward(self, encoded: Encoded) -> Any:
        """Map each layer's final state."""
        projections = iter(self.project)

        def project(tensor: Tensor) -> Tensor:
            return next(projections)(tensor)

        return map_tensors(project, encoded.final)


class _SummaryBridge(nn.Module, ABC):
    """s_l = tanh(W_l c + b_l) with c one vector a source; an LSTM's cell state has a map of its own.

    Args:
        source_size: width of the encoder's outputs.
        initial_state: batch size to a state of the decoder's layers.
    """

    def __init__(self, source_size: int, initial_state: Callable[[int], Any]) -> None:
        super().__init__()
        self.shape = initial_state
        self.project = nn.ModuleList(nn.Linear(source_size, width) for width in _widths(initial_state(1)))

    @abstractmethod
    def summary(self, encoded: Encoded) -> Float[Tensor, "B D"]:
        """Return c."""

    def forward(self, encoded: Encoded) -> Any:
        """Return every layer's state, made of the same summary."""
        summary, projections = self.summary(encoded), iter(self.project)
        return map_tensors(lambda _: torch.tanh(next(projections)(summary)), self.shape(len(summary)))


class MeanBridge(_SummaryBridge):
    """s_l = tanh(W_l c + b_l), c = (1/S) sum over j of h_j, the mean of the encoder's outputs.

    Source: as in many systems after Bahdanau et al. 2015, such as Nematus (Sennrich et al. 2017, 1703.04357), section 2.
    """

    def summary(self, encoded: Encoded) -> Float[Tensor, "B D"]:
        """Return the mean over the real positions."""
        return mean_output(encoded)


class FinalTanhBridge(_SummaryBridge):
    """s_0 = tanh(V c + b), c = h_S, the encoder's output at the last real position.

    Source: Cho et al. 2014 (1406.1078), appendix A.1.
    Differs: the paper has c = tanh(V h_S) and h'_0 = tanh(V' c), two maps; here c is h_S itself and V' the only one, with a bias.
    """

    def summary(self, encoded: Encoded) -> Float[Tensor, "B D"]:
        """Return the output at the last real position."""
        return final_output(encoded)


class BackwardTanhBridge(nn.Module):
    """s_0 = tanh(W_s h_1 + b_s), h_1 the backward encoder's state at the first word.

    Args:
        encoder_size: width of the encoder's backward state h_1 [B encoder_size].
        hidden_size: D, width of the decoder's first state s_0 [B D].

    Source: Bahdanau et al. 2015 (1409.0473), section A.2.2.
    Differs: b_s is not in the paper.
    """

    def __init__(self, encoder_size: int, hidden_size: int) -> None:
        super().__init__()
        self.project = nn.Linear(encoder_size, hidden_size)

    def forward(self, encoded: Encoded) -> Float[Tensor, "B D"]:
        """Take the top layer's (forward, backward) pair of final states and return the decoder cell's first state."""
        _, backward = encoded.final[-1]
        return torch.tanh(self.project(backward))
