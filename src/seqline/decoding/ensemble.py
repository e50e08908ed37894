"""An ensemble: several decoders that share a target vocabulary, searched as one.

    log p(y | prefix) = log( 1/M  sum_m p_m(y | prefix) )

Each member has its own memory and its own state; those of the ensemble are tuples of them, so that every search works on an
ensemble as on one model. The mean is taken of the probabilities, not of their logarithms: a token is likely where some members
find it likely.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from seqline.errors import UserError
from seqline.state import Decoder


class Ensemble:
    """A decoder made of decoders.

    Args:
        decoders: M members in eval mode, on one device, with the same ids for the same tokens. One alone gives its own
            logits, bit for bit.

    Raises:
        UserError: no member.
    """

    def __init__(self, decoders: Sequence[Decoder]) -> None:
        self.decoders = tuple(decoders)
        if not self.decoders:
            raise UserError("expected at least one model, got none", where="ensemble", fix="name a run")

    def prepare(self, encoded: Any) -> tuple[Any, ...]:
        """Return the memories of the members, a tuple.

        Args:
            encoded: one `Encoded` a member: the same sources as its own encoder reads them; None: no member has a source.

        Raises:
            ValueError: not one a member.
        """
        sources = [None] * len(self.decoders) if encoded is None else list(encoded)
        if len(sources) != len(self.decoders):
            raise ValueError(f"an ensemble of {len(self.decoders)} needs as many encoded sources, one a member")
        return tuple(decoder.prepare(source) for decoder, source in zip(self.decoders, sources, strict=True))

    def initial_state(self, memory: tuple[Any, ...] | None, batch_size: int) -> tuple[Any, ...]:
        """Return the states of the members, a tuple."""
        return tuple(
            decoder.initial_state(own, batch_size)
            for decoder, own in zip(self.decoders, self._each(memory), strict=True)
        )

    def __call__(
        self, ids: Tensor, state: tuple[Any, ...], memory: tuple[Any, ...] | None, mask: Tensor | None = None
    ) -> tuple[Tensor, tuple[Any, ...]]:
        """Map ids [B T] to the log of the mean probabilities [B T V] (one member: its logits), and the next states.

        Raises:
            UserError: members with vocabularies of different sizes.
        """
        members = zip(self.decoders, state, self._each(memory), strict=True)
        logits, states = zip(*(decoder(ids, own, its, mask) for decoder, own, its in members), strict=True)
        sizes = [member.shape[-1] for member in logits]
        if len(set(sizes)) > 1:
            raise UserError(
                f"the models must share one target vocabulary, got sizes {', '.join(map(str, sizes))}",
                where="ensemble",
                fix="name runs that were trained with the same target tokenizer",
            )
        return _mean(logits), states

    def _each(self, memory: tuple[Any, ...] | None) -> tuple[Any, ...]:
        """Return the memory of each member; None, as language models have it, is that of all."""
        return (None,) * len(self.decoders) if memory is None else memory


def _mean(logits: Sequence[Tensor]) -> Tensor:
    """Return the log of the mean of the distributions that M logits [B T V] stand for, at least float32."""
    if len(logits) == 1:
        return logits[0]
    dtype = torch.float32
    for member in logits:
        dtype = torch.promote_types(dtype, member.dtype)
    log_probs = torch.stack([torch.log_softmax(member, dim=-1, dtype=dtype) for member in logits])
    return log_probs.logsumexp(dim=0) - math.log(len(logits))
