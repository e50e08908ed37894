"""The encoder-decoder: p(y | x) = product over n of p(y_n | y_<n, x), trained by teacher forcing."""

from __future__ import annotations

from torch import nn

from seqline.shapes import Bool, Float, Int, Tensor
from seqline.state import Decoder


class EncoderDecoder(nn.Module):
    """An encoder and a decoder that obeys the protocol in seqline.state.

    Args:
        encoder: (ids [B S], is_real [B S]) to Encoded.
        decoder: a Decoder.
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder: Decoder = decoder  # pyright: ignore[reportAttributeAccessIssue]

    def forward(
        self,
        source: Int[Tensor, "B S"],
        source_is_real: Bool[Tensor, "B S"],
        target_in: Int[Tensor, "B T"],
    ) -> Float[Tensor, "B T V"]:
        """Return the logits of every next target id, the true prefix given (teacher forcing).

        Targets are right-padded; a decoder is causal, so the pads behind a row change nothing before them and need no mask.
        """
        memory = self.decoder.prepare(self.encoder(source, source_is_real))
        logits, _ = self.decoder(target_in, self.decoder.initial_state(memory, len(source)), memory)
        return logits
