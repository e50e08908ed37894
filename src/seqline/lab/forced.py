"""A decoder led along given targets: what it would have said at every step, whatever it reads.

The true prefix is given (teacher forcing), so that models are asked the same question at the same step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch.nn.utils.rnn import pad_sequence

from seqline.data.tokenizer import BOS, EOS, PAD
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.shapes import Bool, Float, Int, Tensor
from seqline.state import Encoded
from seqline.translator import Translator


class Batch(NamedTuple):
    """Sources as the encoder left them, and what is to be said of them.

    encoded: of the sources. inputs: [B T] targets from their begin mark on. wanted: [B T] targets with their end mark.
    is_real: [B T].
    """

    encoded: Encoded
    inputs: Int[Tensor, "B T"]
    wanted: Int[Tensor, "B T"]
    is_real: Bool[Tensor, "B T"]


def batch_of(translator: Translator, pairs: Sequence[tuple[str, str]]) -> Batch:
    """Encode pairs of raw text with a translator of one model."""
    side, target = translator.members.sides[0], translator.members.target.tokenizer
    sources = [torch.tensor(side.encode(source)) for source, _ in pairs]
    targets = [[*target.encode(side.as_read(text)), EOS] for _, text in pairs]
    ids = pad_sequence(sources, batch_first=True, padding_value=PAD)
    lengths = torch.tensor([len(source) for source in sources])
    is_real = torch.arange(ids.shape[1]) < lengths[:, None]
    wanted = pad_sequence([torch.tensor(each) for each in targets], batch_first=True, padding_value=PAD)
    begun = [torch.tensor([BOS, *each[:-1]]) for each in targets]
    inputs = pad_sequence(begun, batch_first=True, padding_value=PAD)
    is_said = torch.arange(wanted.shape[1]) < torch.tensor([len(each) for each in targets])[:, None]
    return Batch(side.model.encoder(ids, is_real), inputs, wanted, is_said)


def log_probs(model: EncoderDecoder, memory: Any, batch: Batch) -> Float[Tensor, "B T V"]:
    """Return what a model says at every step when it reads `memory` from beginning to end."""
    state = model.decoder.initial_state(memory, len(batch.inputs))
    logits, _ = model.decoder(batch.inputs, state, memory, batch.is_real)
    return logits.log_softmax(dim=-1)


def kl(p: Float[Tensor, "B T V"], q: Float[Tensor, "B T V"]) -> Float[Tensor, "B T"]:
    """Return KL(p || q) in nats of distributions given as log-probabilities."""
    return (p.exp() * (p - q)).sum(dim=-1)
