"""The trace of one text that is labelled: a tag for each token, or a class for the whole, with the weights of its one query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from seqline.data.labels import Labels
from seqline.data.tokenizer import Tokenizer
from seqline.errors import UserError
from seqline.models.classifier import Classifier
from seqline.models.encoder import ReversingEncoder
from seqline.recording import checks, schedule, sides
from seqline.recording.document import Options, Stopwatch, finished, has_gates, steps_of
from seqline.recording.facts import Origin, window_name
from seqline.recording.gradients import Loss, gradients_of, log_loss
from seqline.recording.inner import inner_block
from seqline.recording.replay import device_of
from seqline.recording.texts import label, label_block, source_block
from seqline.shapes import Tensor
from seqline.visualize.text import special_token
from seqline.visualize.trace import Trace
from seqline.watch import Frame, watch

QUERY = "query"


@dataclass(frozen=True)
class Labelling:
    """A tagger or a classifier, and its names."""

    model: nn.Module
    tokenizer: Tokenizer
    labels: Labels
    origin: Origin

    @property
    def encoder(self) -> nn.Module:
        """What reads the text."""
        return self.model.get_submodule("encoder")

    @property
    def is_class(self) -> bool:
        """Whether one label stands for the whole text."""
        return isinstance(self.model, Classifier)


def record_labels(subject: Labelling, text: str, read: str, ids: Sequence[int], options: Options) -> Trace:
    """Label a text, once as in use and once watched, and return its trace.

    Args:
        subject: the model.
        text: as typed.
        read: as the tokenizer reads it.
        ids: of the text, with the end mark where the model reads one.
        options: of the recording.

    Raises:
        UserError: a blank text, or more to record than the limit.
    """
    stopwatch = Stopwatch()
    if not text.strip():
        raise UserError("expected a text to label, got a blank one", where="explain", fix="give one text")
    source = torch.tensor([list(ids)], device=device_of(subject.model))
    is_real = torch.ones_like(source, dtype=torch.bool)
    with torch.no_grad():
        plain = subject.model(source, is_real)
        with watch(subject.model, limit_mb=options.limit_mb) as frames:
            watched = subject.model(source, is_real)
    rows = list(watched.reshape(-1, watched.shape[-1]))
    chosen = [int(row.argmax()) for row in plain.reshape(-1, plain.shape[-1])]
    blocks = _blocks(subject, frames, source_block(subject.tokenizer, ids, text, [read]), rows, chosen)
    blocks["gradients"] = _gradients(subject, source, chosen)
    apart = checks.difference([watched], [plain])
    names = " ".join(subject.labels.decode(i) for i in chosen)
    found = [checks.same_output(names, blocks["target"]["text"], apart, "its logits differ from those in use by")]
    if has_gates(blocks):
        found.append(checks.parity(apart))
    found.append(checks.path(apart, "attention" in blocks))
    return finished(subject.model, subject.origin, options, blocks, found, stopwatch)


def _blocks(
    subject: Labelling, frames: list[Frame], source: dict[str, Any], rows: list[Tensor], chosen: list[int]
) -> dict[str, Any]:
    labels, is_class = subject.labels, subject.is_class
    num_source = len(source["tokens"])
    target = label_block([labels.decode(i) for i in chosen], chosen)
    if is_class:
        target["bos"] = special_token(0, QUERY, "sep")
    inside = [frame for frame in frames if frame.path.partition(".")[0] == "encoder"]
    others = [frame for frame in frames if frame.path.partition(".")[0] != "encoder"]
    reading = sides.reading_of(inside, num_source, subject.encoder)
    kinds = sides.encoder_self(inside, num_source)
    kinds += sides.cross(others, others, num_source) if is_class else []
    steps = _schedule(reading, num_source, len(chosen), is_class)
    pieces = [QUERY] if is_class else [token["piece"] for token in source["tokens"]]
    fed = [(piece, labels.decode(i), i) for piece, i in zip(pieces, chosen, strict=True)]

    def describe(number: int) -> dict[str, Any]:
        return label(number, labels.decode(number), labels.decode(number))

    written = {"z": sides.head_inputs(others, len(chosen)), "steps": steps_of(rows, fed, len(steps), 1.0, describe)}
    if is_class:
        written["context"] = sides.context_rows(kinds, others, {}, 1)
    return {
        "task": "classification" if is_class else "tagging",
        "layers": (reading.num_layers, 0),
        "width": int(reading.states["h"].shape[-1]),
        "source": source,
        "target": target,
        "schedule": schedule.numbered(steps),
        "encoder": reading.states,
        "decoder": written,
        "embeddings": sides.embeddings_of(subject.model, sides.embedded(inside), None),
        "positions": sides.positions_of(inside, []),
        "ttt": inner_block(inside, "encoder"),
        **sides.attention_blocks(kinds, sides.TARGET, window_name(subject.model)),
    }


def _schedule(reading: sides.Reading, num_source: int, num_labels: int, is_class: bool) -> list[list[schedule.Event]]:
    """Return the steps of reading; in the last one, or behind it for a class, all labels come out together."""
    memory = schedule.memory_names(num_source, len(reading.orders), reading.num_layers)
    if reading.orders:
        read = schedule.recurrent_reading(reading.orders, schedule.num_reading_steps(num_source, is_class))
    else:
        read = schedule.parallel_reading(num_source, reading.num_layers)
    if is_class:
        attends = schedule.event("attention", 0, memory, ["ctx:0"], layer=0)
        return [*read, [attends, schedule.event("output", 0, ["ctx:0"], ["y:0"])]]
    read[-1].append(schedule.event("output", None, memory, [f"y:{n}" for n in range(num_labels)]))
    return read


def _gradients(subject: Labelling, source: Tensor, chosen: Sequence[int]) -> dict[str, Any] | None:
    model = subject.model

    def compute(source_is_read: Callable[[], None]) -> Tensor:
        logits = model(source, torch.ones_like(source, dtype=torch.bool))
        source_is_read()
        return log_loss(logits.reshape(-1, logits.shape[-1])[-1:], chosen[-1:])

    words = "-log p of the class" if subject.is_class else "-log p of the last tag"
    is_reversed = isinstance(subject.encoder, ReversingEncoder)
    loss = Loss(compute, words)
    return gradients_of(model, loss, source.shape[1], is_reversed=is_reversed, clip=subject.origin.clip)
