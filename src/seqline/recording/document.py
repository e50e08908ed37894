"""From blocks to a trace: what all tasks share when a document is put together."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from seqline.recording import checks
from seqline.recording.facts import Origin, meta_of, model_of
from seqline.recording.frames import to_array
from seqline.recording.output import Describe, choice
from seqline.recording.replay import Replay, cache_sizes
from seqline.shapes import Tensor
from seqline.visualize.schema import MINOR, SCHEMA
from seqline.visualize.trace import Trace
from seqline.watch import LIMIT_MB


@dataclass(frozen=True)
class Options:
    """How to record. timing: with times. seed: noted in the trace. limit_mb: the most that is recorded."""

    timing: bool = True
    seed: int = 0
    limit_mb: float = LIMIT_MB


class Stopwatch:
    """Measures a whole recording."""

    def __init__(self) -> None:
        self._start = time.perf_counter()

    def milliseconds(self) -> float:
        """Return the time since it was made."""
        return (time.perf_counter() - self._start) * 1000


def decode_block(
    mode: str,
    max_len: int,
    stopped_by: str,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> dict[str, Any]:
    """Return the block `decode`."""
    sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    return {"mode": mode, **sampling, "max_len": max_len, "stopped_by": stopped_by}


def steps_of(
    logits: Sequence[Tensor],
    tokens: Sequence[tuple[str, str, int]],
    first_t: int,
    temperature: float,
    describe: Describe,
    costs: Sequence[dict[str, Any]] = (),
) -> list[dict[str, Any]]:
    """Return the block `decoder.steps`.

    Args:
        logits: [V] of each step.
        tokens: of each step the piece fed, the piece that came out, and its id.
        first_t: the step of the schedule at which the first token comes out.
        temperature: of the decoding.
        describe: an id to a candidate.
        costs: `cache` and `ms` of each step.
    """
    steps = []
    for n, (row, (fed, out, token)) in enumerate(zip(logits, tokens, strict=True)):
        found = choice(to_array(row), token, temperature, describe)
        steps.append({"t": first_t + n, "in": fed, "out": out, **found, **(costs[n] if costs else {})})
    return steps


def step_costs(replay: Replay) -> list[dict[str, Any]]:
    """Return what each decoder step keeps and how long it took."""
    sizes = cache_sizes(replay.plain.states)
    if not replay.times:
        return [{"cache": size, "ms": None} for size in sizes]
    return [{"cache": size, "ms": times} for size, times in zip(sizes, replay.times, strict=True)]


def step_times(replay: Replay) -> list[float | None]:
    """Return the milliseconds of each decoder step."""
    return [times["total"] for times in replay.times]


def replay_checks(replay: Replay, has_gates: bool, has_attention: bool) -> list[dict[str, Any]]:
    """Return the checks that compare the two walks of a replay."""
    found = [checks.path(checks.difference(replay.watched.logits, replay.plain.logits), has_attention)]
    if has_gates:
        states = checks.difference(replay.watched.states, replay.plain.states)
        encoded = checks.difference([replay.watched.encoded], [replay.plain.encoded])
        found.insert(0, checks.parity(max(states, encoded)))
    return found


def has_gates(document: Mapping[str, Any]) -> bool:
    """Tell whether either side shows the inside of a cell."""
    return any((document.get(side) or {}).get(name) for side in ("encoder", "decoder") for name in ("gates", "terms"))


def finished(
    model: nn.Module,
    origin: Origin,
    options: Options,
    blocks: dict[str, Any],
    found: Sequence[dict[str, Any]],
    watch: Stopwatch,
) -> Trace:
    """Add meta, model and checks to the blocks of a task and return the trace, checked.

    Args:
        model: what was recorded.
        origin: where it comes from.
        options: of the recording.
        blocks: all others; `layers` and `width` among them are told to the block `model`.
        found: the checks that the task made itself.
        watch: started with the recording.
    """
    layers, width = blocks.pop("layers"), blocks.pop("width")
    about = {"task": blocks["task"], "source": blocks["source"]["text"], "target": blocks["target"]["text"]}
    document = {
        "schema": SCHEMA,
        "minor": MINOR,
        "meta": meta_of(model, origin, options.seed, about | {"decode": str(blocks.get("decode"))}),
        "model": model_of(model, origin, layers, width),
        **{name: block for name, block in blocks.items() if block is not None},
    }
    is_bell = document["model"]["window"] == "local-p"
    trace = Trace(document)
    document = trace.document  # its arrays are numpy's
    document["checks"] = [
        checks.rows_sum(document.get("attention") or [], is_bell),
        *found,
        checks.shapes(document),
        checks.packing(document),
    ]
    if options.timing:
        document["meta"]["ms_total"] = watch.milliseconds()
    trace.check()
    return trace
