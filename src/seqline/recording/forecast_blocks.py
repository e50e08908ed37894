"""The blocks of a forecast that come from frames: states, attention, contexts, and who ran when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from seqline.models.forecaster import Forecaster
from seqline.recording import schedule, sides
from seqline.recording.attention import MEMORY, Kind, layers_of
from seqline.recording.facts import reads_memory, window_name
from seqline.recording.inner import inner_block
from seqline.watch import Frame

Blocks = dict[str, Any]
_OF_QUERIES = ("scores", "weights", "mask", "query", "context")


def blocks_of(model: Forecaster, frames: Sequence[Frame], texts: tuple[Blocks, Blocks]) -> Blocks:
    """Return all blocks that the frames of one forecast say.

    Args:
        model: what ran.
        frames: in the order in which they were shown.
        texts: the blocks `source` and `target`.
    """
    source, target = texts
    inside, others = _parted(frames)
    reading = sides.reading_of(inside, len(source["tokens"]), model.get_submodule("encoder"))
    write = _written if model.has_decoder else _all_at_once
    num_steps = len(target["tokens"])
    kinds, decoder = write(others, len(source["tokens"]), num_steps)
    steps = _schedule(model, reading, len(source["tokens"]), num_steps)
    own = sides.embedded(inside), sides.embedded(others) if model.has_decoder else None
    num_written = len(decoder["h"]) if "h" in decoder else 0
    return {
        "task": "forecasting",
        "layers": (reading.num_layers, num_written),
        "width": int((decoder if num_written else reading.states)["h"].shape[-1]),
        "source": source,
        "target": target,
        "schedule": schedule.numbered(steps),
        "encoder": reading.states or None,
        "decoder": decoder,
        "embeddings": sides.embeddings_of(model, *own),
        "positions": sides.positions_of(inside, others),
        "ttt": inner_block(inside, "encoder") or inner_block(others, "decoder"),
        **sides.attention_blocks(
            [*sides.encoder_self(inside, len(source["tokens"])), *kinds], sides.TARGET, window_name(model)
        ),
    }


def history_weights(model: Forecaster, frames: Sequence[Frame], num_source: int, num_steps: int) -> np.ndarray | None:
    """Return how each step to come read the steps of the encoder [Z S], the mean of all layers and heads; None: not by attention.

    Args:
        model: what ran.
        frames: those of attention.
        num_source: S.
        num_steps: Z.
    """
    own = [frame for frame in _parted(frames)[1] if not sides.is_mixer(frame)]
    layers = layers_of(own, num_source)
    if not layers:
        return None
    rows = np.stack([layer.weights.mean(axis=0) for layer in layers]).mean(axis=0)
    return rows if model.has_decoder else np.repeat(rows, num_steps, axis=0)


def _parted(frames: Sequence[Frame]) -> tuple[list[Frame], list[Frame]]:
    """Part the frames of the encoder from all others."""
    inside = [frame for frame in frames if frame.path.partition(".")[0] == "encoder"]
    return inside, [frame for frame in frames if frame.path.partition(".")[0] != "encoder"]


def _written(frames: Sequence[Frame], num_source: int, num_steps: int) -> tuple[list[Kind], Blocks]:
    """Return the attention and the block `decoder` of a decoder that writes a step after another."""
    prepared = [frame for frame in frames if frame.part == MEMORY and not sides.is_mixer(frame)]
    kinds = [*sides.decoder_self(frames, num_steps), *sides.cross(prepared, frames, num_source)]
    states = sides.written_of(frames, num_steps)
    more = {
        "context": sides.context_rows(kinds, frames, states, num_steps),
        "z": sides.head_inputs(frames, num_steps),
    }
    return kinds, {**states, **more}


def _all_at_once(frames: Sequence[Frame], num_source: int, num_steps: int) -> tuple[list[Kind], Blocks]:
    """Return the same where one query reads the history for all steps together: each of them has that one row."""
    kinds = [
        kind._replace(layers=[layer._replace(**_repeated(layer, num_steps)) for layer in kind.layers])
        for kind in sides.cross(frames, frames, num_source)
    ]
    heads = [frame for frame in frames if frame.path == "head.steps"]
    more = {
        "context": sides.context_rows(kinds, frames, {}, num_steps),
        "z": np.repeat(sides.head_inputs(heads, 1), num_steps, axis=0),
    }
    return kinds, more


def _repeated(layer: Any, count: int) -> dict[str, np.ndarray]:
    return {name: np.repeat(getattr(layer, name), count, axis=-2) for name in _OF_QUERIES}


def _schedule(model: Forecaster, reading: sides.Reading, num_source: int, num_steps: int) -> list[list[schedule.Event]]:
    memory = schedule.memory_names(num_source, len(reading.orders), reading.num_layers)
    read = (
        schedule.recurrent_reading(reading.orders, schedule.num_reading_steps(num_source, has_end_mark=False))
        if reading.orders
        else schedule.parallel_reading(num_source, reading.num_layers)
    )
    if not model.has_decoder:
        written = [schedule.event("output", None, ["ctx:0"], [f"y:{n}" for n in range(num_steps)])]
        return [*read, [schedule.event("attention", 0, memory, ["ctx:0"], layer=0), *written]]
    when = reads_memory(model)
    if when == "in_each_block":
        steps = schedule.parallel_writing(num_steps, memory)
    else:
        steps = schedule.recurrent_writing(num_steps, memory, _ends(reading, memory, num_source), when)
    return read + (steps if model.reads_itself else _without_feeding(steps))


def _ends(reading: sides.Reading, memory: list[str], num_source: int) -> list[str]:
    """Name what a decoder's first state is made of."""
    if not reading.orders:
        return memory
    if len(reading.orders) > 1:
        return ["h.enc.backward:0"]
    return [f"h.enc.forward:{max(range(num_source), key=reading.orders[0].__getitem__)}"]


def _without_feeding(steps: list[list[schedule.Event]]) -> list[list[schedule.Event]]:
    """Take away what was written before from what is read: the decoder reads no value."""
    return [
        [event | {"reads": [name for name in event["reads"] if not name.startswith("y:")]} for event in events]
        for events in steps
    ]
