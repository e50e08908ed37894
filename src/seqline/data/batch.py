"""Examples side by side: token lists, padded on the right with 0, as tensors a model reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from seqline.data.labels import UNKNOWN_LABEL
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


class Tagged(NamedTuple):
    """Tokens and their tags as ids, as many of each; no end mark."""

    source: list[int]
    labels: list[int]


class Classed(NamedTuple):
    """A text and its class as ids. `source` ends in eos."""

    source: list[int]
    label: int


class LabelledBatch(NamedTuple):
    """Some labelled examples, padded on the right. True in `source_is_real` = a token, False = padding.

    source: [B S] int64. source_is_real: [B S] bool. labels: [B S] int64 for tags, [B] for classes; `UNKNOWN_LABEL` (-1)
    at padding and where the model has no such label. rows: which example each row is.
    """

    source: Tensor
    source_is_real: Tensor
    labels: Tensor
    rows: list[int]

    def to(self, device: torch.device | str) -> LabelledBatch:
        """Return the batch with its tensors on a device."""
        source, source_is_real, labels = (t.to(device) for t in (self.source, self.source_is_real, self.labels))
        return LabelledBatch(source, source_is_real, labels, self.rows)

    @property
    def has_label(self) -> Tensor:
        """Tell where a label stands that a model can be trained on: bool, the shape of `labels`."""
        return self.labels != UNKNOWN_LABEL


def collate_tagged(examples: Sequence[Tagged], rows: Sequence[int]) -> LabelledBatch:
    """Put the tagged examples at `rows` into one batch, labels [B S].

    Raises:
        ValueError: no rows, or an example with more or fewer labels than tokens.
    """
    chosen = [examples[row] for row in rows]
    unequal = [row for row, example in zip(rows, chosen, strict=True) if len(example.source) != len(example.labels)]
    if unequal:
        raise ValueError(f"example {unequal[0]} has not as many labels as tokens")
    source, source_is_real = _pad([example.source for example in chosen])
    labels, _ = _pad([example.labels for example in chosen], UNKNOWN_LABEL)
    return LabelledBatch(source, source_is_real, labels, list(rows))


def collate_classed(examples: Sequence[Classed], rows: Sequence[int]) -> LabelledBatch:
    """Put the classed examples at `rows` into one batch, labels [B].

    Raises:
        ValueError: no rows.
    """
    source, source_is_real = _pad([examples[row].source for row in rows])
    labels = torch.tensor([examples[row].label for row in rows], dtype=torch.int64)
    return LabelledBatch(source, source_is_real, labels, list(rows))


class TextBatch(NamedTuple):
    """Pieces of text, padded on the right: each id is predicted from those before it. True in `is_real` = an id, False = padding.

    inputs, targets: [B T] int64; inputs are the targets one place later, what came before them in front. is_real: [B T] bool.
    rows: which line or window each row is.
    """

    inputs: Tensor
    targets: Tensor
    is_real: Tensor
    rows: list[int]

    def to(self, device: torch.device | str) -> TextBatch:
        """Return the batch with its tensors on a device."""
        inputs, targets, is_real = (t.to(device) for t in (self.inputs, self.targets, self.is_real))
        return TextBatch(inputs, targets, is_real, self.rows)

    @property
    def mask(self) -> Tensor | None:
        """The mask for a model that carries its state on; None where no row is padded."""
        return None if bool(self.is_real.all()) else self.is_real


def collate_lines(lines: Sequence[list[int]], rows: Sequence[int]) -> TextBatch:
    """Put the lines at `rows` into one batch: bos in front, eos to be predicted behind.

    Raises:
        ValueError: no rows.
    """
    inputs, is_real = _pad([[BOS, *lines[row]] for row in rows])
    targets, _ = _pad([[*lines[row], EOS] for row in rows])
    return TextBatch(inputs, targets, is_real, list(rows))


def collate_spans(stream: Tensor, spans: Sequence[tuple[int, int]], rows: Sequence[int]) -> TextBatch:
    """Put spans of a stream into one batch.

    Args:
        stream: [N + 1] ids, bos in front of the N that are to be predicted; a span counts these.
        spans: (start, end) of each row.
        rows: what to call them.

    Raises:
        ValueError: no spans.
    """
    inputs, is_real = _pad([stream[start:end].tolist() for start, end in spans])
    targets, _ = _pad([stream[start + 1 : end + 1].tolist() for start, end in spans])
    return TextBatch(inputs, targets, is_real, list(rows))


def as_stream(ids: Sequence[int]) -> Tensor:
    """Return ids as the stream that `collate_spans` cuts, bos in front: [N + 1] int64."""
    return torch.tensor([BOS, *ids], dtype=torch.int64)


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


def _pad(sequences: list[list[int]], pad: int = PAD) -> tuple[Tensor, Tensor]:
    """Return ids [B T] and is_real [B T]; the latter from lengths, for id 0 inside a sequence is still a token."""
    if not sequences:
        raise ValueError("a batch needs at least one row")
    lengths = [len(sequence) for sequence in sequences]
    longest = max(lengths)
    ids = torch.tensor([sequence + [pad] * (longest - len(sequence)) for sequence in sequences], dtype=torch.int64)
    is_real = torch.arange(longest) < torch.tensor(lengths)[:, None]
    return ids, is_real
