"""Word alignments: which source word each word of a target came from, as the attention of the decoder says it.

The target is read once more, the true prefix given, and the weights that the decoder reads its source with are recorded. Row n of
them belongs to the piece that is *produced* at step n, whether the attention runs before the cell (bahdanau) or after it. Then:

    a_ji = mean over the pieces of target word j of (sum over the pieces of source word i of their weights)
    word j is linked to the word i with the largest a_ji

A piece of white space belongs to the word behind it. Weight on the end mark counts as no word: where it is larger than that of
every word, the target word gets no link, and neither does a word whose weights are all 0 (which a window can do). Of equal words
the first is linked. The end mark of the target is no word.

Attention with several layers or heads is averaged: the heads of the last layer where nothing else is asked for. The last, for a
lower layer may look at where the piece stands that was *fed*, which is one place behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from seqline.data.batch import Batch, Example, collate
from seqline.data.loader import plan_in_order
from seqline.data.spans import PieceSpan, output_spans, source_spans
from seqline.data.tokenizer import Tokenizer
from seqline.data.words import words_of
from seqline.errors import UserError
from seqline.evaluation.alignment_metrics import Link
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.reading import is_in_mixer, source_readers
from seqline.watch import Frame, watch

PARTS = ("attention", "multi-head attention")
BATCH_TOKENS = 1024  # scores and weights of every layer and head are kept for a batch
LIMIT_MB = 4000.0


class Reading(NamedTuple):
    """Which attention to read alignments from, counted from 0. layer None: the last. head None: the mean over the heads."""

    layer: int | None = None
    head: int | None = None


class Forced(NamedTuple):
    """A source and a target as text and as ids. source_ids end in the end mark, target_ids do not."""

    source: str
    target: str
    source_ids: list[int]
    target_ids: list[int]


class Aligner:
    """Aligns the words of pairs by a model's attention.

    Args:
        model: in evaluation mode.
        source, target: its tokenizers.
        reading: which layer and head.

    Raises:
        UserError: the model does not attend to its source, or has no such layer or head.
    """

    def __init__(
        self, model: EncoderDecoder, source: Tokenizer, target: Tokenizer, reading: Reading | None = None
    ) -> None:
        self.model, self.source, self.target = model, source, target
        self.reading = _checked(reading or Reading(), *attention_size(model))

    def align(self, pairs: Sequence[Forced], batch_tokens: int = BATCH_TOKENS) -> list[tuple[Link, ...]]:
        """Return the links of each pair, in order of source and target; none where a side is blank."""
        links: list[tuple[Link, ...]] = [() for _ in pairs]
        rows = [n for n, pair in enumerate(pairs) if pair.source.strip() and pair.target.strip()]
        for row, weights in self._read([pairs[n] for n in rows], batch_tokens):
            links[rows[row]] = self._links(pairs[rows[row]], weights)
        return links

    def weights(self, forced: Sequence[Forced], batch_tokens: int = BATCH_TOKENS) -> list[Tensor]:
        """Return the weights [T+1 S] of each pair: what each target piece, and the end mark last, was produced with.

        The S source pieces include the end mark. Of an output that was cut off, which has no end mark, leave out the last row.
        The texts of the pairs do not matter.
        """
        found: list[Tensor] = [torch.empty(0)] * len(forced)
        for row, weights in self._read(forced, batch_tokens):
            found[row] = weights[: len(forced[row].target_ids) + 1, : len(forced[row].source_ids)]
        return found

    def _read(self, pairs: Sequence[Forced], batch_tokens: int) -> Iterator[tuple[int, Tensor]]:
        """Yield the index of each pair and its weights [T S], padding behind both."""
        examples = [Example(pair.source_ids, pair.target_ids) for pair in pairs]
        lengths = [max(len(e.source), len(e.target) + 1) for e in examples]
        for plan in plan_in_order(lengths, batch_tokens):
            weights = cross_weights(self.model, collate(examples, plan))
            weights = weights[:, -1 if self.reading.layer is None else self.reading.layer]
            weights = weights.mean(1) if self.reading.head is None else weights[:, self.reading.head]
            yield from zip(plan, weights.cpu(), strict=True)

    def _links(self, pair: Forced, weights: Tensor) -> tuple[Link, ...]:
        """Link the words of one pair by its weights [T S], padding behind both."""
        words = word_weights(
            weights[: len(pair.target_ids), : len(pair.source_ids)],
            words_of(_spans(self.target, pair.target_ids, pair.target), pair.target),
            words_of(_spans(self.source, pair.source_ids, pair.source), pair.source),
            (len(pair.target.split()), len(pair.source.split())),
        )
        return links_of(words)


def _spans(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> list[PieceSpan]:
    """Return where the pieces stand in a text that was read, its end mark behind, or one that was written."""
    read = source_spans(tokenizer, text)
    num_read = len(read)
    if [span.id for span in read] != list(ids[:num_read]):
        written, spans = output_spans(tokenizer, ids)
        if written != text:
            raise ValueError("the ids spell another text")
        return spans
    return [*read, *(PieceSpan(i, "", None, None) for i in ids[num_read:])]


def attention_size(model: EncoderDecoder) -> tuple[int, int]:
    """Return how many layers of the decoder attend to the source, and with how many heads each.

    Raises:
        UserError: none does.
    """
    decoder: nn.Module = model.decoder  # pyright: ignore[reportAssignmentType]
    readers = source_readers(decoder)
    if not readers:
        raise UserError(
            "the decoder does not attend to its source, so nothing says which word came from which",
            where="alignments",
            fix="use a run with attention, such as luong or transformer",
        )
    return len(readers), int(getattr(readers[0], "num_heads", 1))


@torch.no_grad()
def cross_weights(model: EncoderDecoder, batch: Batch) -> Tensor:
    """Return the weights of the source that each target piece is produced with [B L H T S], and those of the end mark last."""
    batch = batch.to(next(model.parameters()).device)
    decoder: nn.Module = model.decoder  # pyright: ignore[reportAssignmentType]
    memory = model.decoder.prepare(model.encoder(batch.source, batch.source_is_real))
    state = model.decoder.initial_state(memory, len(batch.rows))
    with watch(decoder, only=PARTS, limit_mb=LIMIT_MB) as frames:
        decoder(batch.target_in, state, memory)
    # One frame a layer with T queries, or T frames of one query.
    found = [_in_heads(frame) for frame in frames if not is_in_mixer(frame.path)]
    num_queries = batch.target_in.shape[1]
    return torch.cat(found, dim=2).unflatten(2, (-1, num_queries)).transpose(1, 2)


def word_weights(
    weights: Tensor, target_words: Sequence[int | None], source_words: Sequence[int | None], size: tuple[int, int]
) -> Tensor:
    """Return weights of words [J I+1] from weights of pieces [T S]: summed over the source's, averaged over the target's.

    Args:
        weights: of T target and S source pieces.
        target_words: the word of each target piece; None: left out.
        source_words: the word of each source piece; None: no word, counted in the last column.
        size: J and I, how many words there are.
    """
    num_targets, num_sources = size
    in_source = torch.zeros(len(source_words), num_sources + 1, dtype=weights.dtype)
    for piece, word in enumerate(source_words):
        in_source[piece, num_sources if word is None else word] = 1.0
    of_target = torch.zeros(num_targets, len(target_words), dtype=weights.dtype)
    for piece, word in enumerate(target_words):
        if word is not None:
            of_target[word, piece] = 1.0
    of_target /= of_target.sum(1, keepdim=True).clamp(min=1.0)
    return of_target @ weights @ in_source


def links_of(words: Tensor) -> tuple[Link, ...]:
    """Return the links of word weights [J I+1], of which the last column is no word."""
    best = words[:, :-1].max(dim=1)
    is_linked = (best.values > 0) & (best.values >= words[:, -1])
    found = [
        (i, j) for j, (i, linked) in enumerate(zip(best.indices.tolist(), is_linked.tolist(), strict=True)) if linked
    ]
    return tuple(sorted(found))


def _in_heads(frame: Frame) -> Tensor:
    weights = frame.values["weights"]
    return weights if weights.dim() == 4 else weights[:, None]


def _checked(reading: Reading, num_layers: int, num_heads: int) -> Reading:
    for name, value, size in (("layer", reading.layer, num_layers), ("head", reading.head, num_heads)):
        if value is not None and not 0 <= value < size:
            what = f"the attention to the source has {size} {name}{'s' if size > 1 else ''}, got {name} {value}"
            fix = f"give 0 to {size - 1}, or leave it out" if size > 1 else "give 0, or leave it out"
            raise UserError(what, where=f"align {name}", fix=fix)
    return reading
