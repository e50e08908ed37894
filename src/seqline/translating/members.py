"""One model, or several with the same target tokenizer: sources read by each, outputs searched and scored as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from seqline.data.tokenizer import BOS, EOS
from seqline.decoding import Ensemble, Hypothesis, Sampling
from seqline.errors import UserError
from seqline.models.reading import longest_target
from seqline.state import Decoder
from seqline.translating.requests import Request
from seqline.translating.source_side import Source, SourceSide
from seqline.translating.target_side import TargetSide


class Members:
    """Models that are searched as one.

    Args:
        sides: the source side of each, the first one's lengths count.
        target: what all of them write.
    """

    def __init__(self, sides: Sequence[SourceSide], target: TargetSide) -> None:
        self.sides, self.target = tuple(sides), target
        decoders = [side.model.decoder for side in self.sides]
        self.decoder: Decoder = Ensemble(decoders) if len(decoders) > 1 else decoders[0]  # pyright: ignore[reportAttributeAccessIssue]
        lengths = [longest_target(decoder) for decoder in decoders]  # pyright: ignore[reportArgumentType]
        self.longest = min((length for length in lengths if length is not None), default=None)

    @property
    def device(self) -> torch.device:
        """Where the models are."""
        return next(self.sides[0].model.parameters()).device

    def read(self, text: str) -> tuple[Source, ...]:
        """Return a text as each member reads it."""
        return tuple(side.read(text) for side in self.sides)

    def max_length(self, source: tuple[Source, ...]) -> int:
        """Return the most pieces of an output, its end mark included."""
        limit = self.target.max_length(len(source[0].ids))
        return limit if self.longest is None else min(limit, self.longest)

    def limits(self, sources: Sequence[tuple[Source, ...]]) -> Tensor:
        """Return `max_length` of each source [B]."""
        return torch.tensor([self.max_length(source) for source in sources], device=self.device)

    @torch.no_grad()
    def memory(self, sources: Sequence[tuple[Source, ...]]) -> Any:
        """Return what the decoder reads for a batch of sources."""
        memories = [side.prepare([source[place].ids for source in sources]) for place, side in enumerate(self.sides)]
        return tuple(memories) if len(memories) > 1 else memories[0]

    def search(
        self, sources: Sequence[tuple[Source, ...]], requests: Sequence[Request], beam_size: int, n_best: int
    ) -> list[list[Hypothesis]]:
        """Return the best outputs of each source; see `TargetSide.search`."""
        limits, memory = self.limits(sources), self.memory(sources)
        return self.target.search(self.decoder, memory, limits, requests, beam_size=beam_size, n_best=n_best)

    def draw(
        self,
        sources: Sequence[tuple[Source, ...]],
        requests: Sequence[Request],
        sampling: Sampling,
        count: int,
        places: Sequence[int],
    ) -> list[list[Hypothesis]]:
        """Return random outputs of each source; see `TargetSide.draw`."""
        limits, memory = self.limits(sources), self.memory(sources)
        return self.target.draw(self.decoder, memory, limits, requests, sampling=sampling, count=count, places=places)

    @torch.no_grad()
    def forced(self, sources: Sequence[tuple[Source, ...]], targets: Sequence[list[int]]) -> list[Tensor]:
        """Return the logits [T V] of each target, every true prefix given (teacher forcing).

        Args:
            sources: B.
            targets: ids of each, the end mark behind.

        Raises:
            UserError: a target longer than the model has positions for.
        """
        longest = max(map(len, targets))
        if self.longest is not None and longest > self.longest:
            what = f"a target of {longest} pieces, and the model has positions for {self.longest}"
            raise UserError(what, where="score", fix="shorten the target")
        rows = [
            [BOS, *ids[:-1], *[EOS] * (longest - len(ids))] for ids in targets
        ]  # causal: what stands behind is not read
        memory = self.memory(sources)
        logits, _ = self.decoder(
            torch.tensor(rows, device=self.device), self.decoder.initial_state(memory, len(rows)), memory
        )
        return [row[: len(ids)] for row, ids in zip(logits, targets, strict=True)]
