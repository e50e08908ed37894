"""Forecasters: an encoder reads the history, and what comes out are the parameters of each step to come, in scaled units.

Three shapes of one thing. All add their network's output to a plain forecast (models/skips.py).

    direct       a feature model and an attention make one vector of the history, a head all H steps at once
    decoding     an encoder-decoder whose decoder reads what is known of the steps to come, all H of them in one call
    recursive    an encoder-decoder whose decoder also reads the point forecast of the step before: its own, in training too,
                 so that a step's parameters are a function of the history alone; it goes on as long as it is asked to

The first parameter of a step is its point forecast.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import nn

from seqline.models.classifier import Query
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.skips import Skip
from seqline.parts.attention import SourceAttention
from seqline.parts.summaries import final_output
from seqline.parts.values import ValueHead
from seqline.shapes import Float, Tensor


class History(NamedTuple):
    """What a forecaster reads, scaled and right-padded.

    steps: [B S I], the numbers of each step of the encoder. is_real: [B S]. recent: [B K F], the last values, gaps filled and
    the end last. num_recent: [B], how many of them there are. future: [B H C], what is known of the steps to come.
    """

    steps: Tensor
    is_real: Tensor
    recent: Tensor
    num_recent: Tensor
    future: Tensor


class Forecaster(nn.Module, ABC):
    """A model from a history to the parameters of each step to come.

    has_decoder: a decoder says the steps one after the other. reads_itself: it reads its forecast of the step before.

    Args:
        skip: the plain forecast.
        is_location: one flag a parameter: whether the plain forecast is added to it.
    """

    has_decoder = reads_itself = False

    def __init__(self, skip: Skip, is_location: Sequence[bool]) -> None:
        super().__init__()
        self.skip = skip
        self.is_location: Tensor
        self.register_buffer("is_location", torch.tensor(is_location), persistent=False)

    @abstractmethod
    def forward(self, history: History) -> Float[Tensor, "B H F P"]:
        """Return the parameters of as many steps as `history.future` holds."""

    def _added(self, base: Float[Tensor, "B H F"], outputs: Float[Tensor, "B H O"]) -> Float[Tensor, "B H F P"]:
        """Add the plain forecast to the network's outputs, which are F times P numbers a step."""
        return outputs.unflatten(-1, (base.shape[-1], -1)) + base[..., None] * self.is_location


class DirectHead(nn.Module):
    """o_h = W_h t + b_h + V tanh(A t + B z_h): every step has its own map, and what is known of it, z_h, enters a shared one.

    Args:
        width: of t [B D].
        num_known: C, numbers in z_h; 0 = the second term is not there.
        horizon: H.
        num_outputs: O, numbers a step.
        hidden_size: width inside the second term.
    """

    def __init__(self, width: int, num_known: int, horizon: int, num_outputs: int, hidden_size: int) -> None:
        super().__init__()
        self.horizon, self.steps = horizon, ValueHead(width, horizon * num_outputs)
        self.known = None
        if num_known:
            self.known, self.shared = nn.Linear(num_known, hidden_size), nn.Linear(width, hidden_size, bias=False)
            self.out = ValueHead(hidden_size, num_outputs)

    def forward(self, t: Float[Tensor, "B D"], known: Float[Tensor, "B H C"]) -> Float[Tensor, "B H O"]:
        """Return the numbers of the first steps, as many as are known."""
        outputs = self.steps(t[:, None])[:, 0].unflatten(-1, (self.horizon, -1))[:, : known.shape[1]]
        if self.known is None:
            return outputs
        return outputs + self.out(torch.tanh(self.shared(t)[:, None] + self.known(known)))


class DirectForecaster(Forecaster):
    """f_s features;  C = sum over s of a_s f_s by attention from a query;  t = [f_S; C];  all steps from t by `DirectHead`.

    Args:
        encoder: the feature model, (steps [B S I], is_real [B S]) to Encoded.
        query: the query model.
        attention: reads the features.
        dropout: share of t set to zero in training.
        head: t and what is known of the steps to their numbers.
        skip: the plain forecast.
        is_location: see `Forecaster`.
    """

    def __init__(
        self,
        encoder: nn.Module,
        query: Query,
        attention: SourceAttention,
        dropout: float,
        head: DirectHead,
        skip: Skip,
        is_location: Sequence[bool],
    ) -> None:
        super().__init__(skip, is_location)
        self.encoder, self.query, self.attention = encoder, query, attention
        self.dropout, self.head = nn.Dropout(dropout), head

    def forward(self, history: History) -> Float[Tensor, "B H F P"]:
        """Forecast every step at once."""
        encoded = self.encoder(history.steps, history.is_real)
        memory = self.attention.prepare(encoded.outputs, encoded.is_real)
        context = self.attention(self.query(encoded)[:, None], memory)[:, 0]
        t = self.dropout(torch.cat([final_output(encoded), context], dim=-1))
        base = self.skip(history.recent, history.num_recent, history.future)
        return self._added(base, self.head(t, history.future))


class SequenceForecaster(Forecaster):
    """An encoder reads the history, a decoder the steps to come.

    Args:
        network: its encoder reads steps [B S I], its decoder the inputs of the steps to come [B H C'].
        skip: the plain forecast.
        is_location: see `Forecaster`.
    """

    has_decoder = True

    def __init__(self, network: EncoderDecoder, skip: Skip, is_location: Sequence[bool]) -> None:
        super().__init__(skip, is_location)
        self.encoder, self.decoder = network.encoder, network.decoder


class DecodingForecaster(SequenceForecaster):
    """The decoder reads [h / H; z_h] of every step h, z_h what is known of it, and no value: one call for all steps.

    Args:
        network: see `SequenceForecaster`.
        skip: the plain forecast.
        is_location: see `Forecaster`.
        horizon: H, the most steps.
    """

    def __init__(self, network: EncoderDecoder, skip: Skip, is_location: Sequence[bool], horizon: int) -> None:
        super().__init__(network, skip, is_location)
        self.horizon = horizon

    def forward(self, history: History) -> Float[Tensor, "B H F P"]:
        """Forecast every step in one call of the decoder."""
        future = history.future
        size, steps = future.shape[:2]
        share = torch.arange(1, steps + 1, device=future.device, dtype=future.dtype) / self.horizon
        inputs = torch.cat([share[None, :, None].expand(size, -1, -1), future], dim=-1)
        memory = self.decoder.prepare(self.encoder(history.steps, history.is_real))
        outputs, _ = self.decoder(inputs, self.decoder.initial_state(memory, size), memory)
        return self._added(self.skip(history.recent, history.num_recent, future), outputs)


class RecursiveForecaster(SequenceForecaster):
    """The decoder reads [y_{h-1}; z_h] at step h, y_{h-1} the point forecast before it, y_0 the last value of the history."""

    reads_itself = True

    def forward(self, history: History) -> Float[Tensor, "B H F P"]:
        """Forecast step by step, each from the forecast before it."""
        memory = self.decoder.prepare(self.encoder(history.steps, history.is_real))
        state = self.decoder.initial_state(memory, len(history.steps))
        base = self.skip(history.recent, history.num_recent, history.future)
        value, found = history.recent[:, -1], []
        for step in range(history.future.shape[1]):
            inputs = torch.cat([value, history.future[:, step]], dim=-1)[:, None]
            outputs, state = self.decoder(inputs, state, memory)
            found.append(self._added(base[:, step : step + 1], outputs))
            value = found[-1][:, 0, :, 0]
        return torch.cat(found, dim=1)
