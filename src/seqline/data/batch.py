"""Examples side by side: token lists, padded on the right with 0, as tensors a model reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from seqline.data.tokenizer import BOS, EOS, PAD


class Example(NamedTuple):
    """One pair as ids. `source` ends in eos; `target` holds neither bos nor eos."""

    source: list[int]
    target: list[int]


class Batch(NamedTuple):
    """Some examples of a data set, padded on the right. True in `is_real` = a token, False = padding.

    source: [B S] int64, each row ends in eos. source_is_real: [B S] bool.
    target_in: [B T] int64, bos + target, what the decoder reads. target_out: [B T] int64, target + eos, what it must
    say. target_is_real: [B T] bool, the same for both. rows: which example each row is.
    """

    source: Tensor
    source_is_real: Tensor
    target_in: Tensor
    target_out: Tensor
    target_is_real: Tensor
    rows: list[int]

    def to(self, device: torch.device | str) -> Batch:
        """Return the batch with its tensors on a device."""
        return Batch(
            source=self.source.to(device),
            source_is_real=self.source_is_real.to(device),
            target_in=self.target_in.to(device),
            target_out=self.target_out.to(device),
            target_is_real=self.target_is_real.to(device),
            rows=self.rows,
        )

    @property
    def num_target_tokens(self) -> int:
        """Count the tokens that the decoder must say, eos included, padding not."""
        return int(self.target_is_real.sum())


def collate(examples: Sequence[Example], rows: Sequence[int]) -> Batch:
    """Put the examples at `rows` into one batch.

    Args:
        examples: the whole data set.
        rows: B indices into it, as `loader.plan_epoch` gives them.

    Returns:
        The batch; row b holds example `rows[b]`, whatever stands beside it.

    Raises:
        ValueError: no rows.
    """
    source, source_is_real = _pad([examples[row].source for row in rows])
    targets = [examples[row].target for row in rows]
    target_in, target_is_real = _pad([[BOS, *target] for target in targets])
    target_out, _ = _pad([[*target, EOS] for target in targets])
    return Batch(source, source_is_real, target_in, target_out, target_is_real, list(rows))


def source_batch(sources: Sequence[list[int]], rows: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Put the sources at `rows` into one batch, for translation without a target.

    Args:
        sources: the ids of every source, each ending in eos.
        rows: B indices into it.

    Returns:
        source [B S] int64, padded on the right with 0, and is_real [B S] bool.

    Raises:
        ValueError: no rows.
    """
    return _pad([sources[row] for row in rows])


def _pad(sequences: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Return ids [B T] and is_real [B T]; the latter from lengths, for id 0 inside a sequence is still a token."""
    if not sequences:
        raise ValueError("a batch needs at least one row")
    lengths = [len(sequence) for sequence in sequences]
    longest = max(lengths)
    ids = torch.tensor([sequence + [PAD] * (longest - len(sequence)) for sequence in sequences], dtype=torch.int64)
    is_real = torch.arange(longest) < torch.tensor(lengths)[:, None]
    return ids, is_real
