"""Who runs at t1, t2, ...: what each step reads and writes, by names such as `x:0`, `h.enc.forward:2`, `ctx:0`, `y:0`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Event = dict[str, Any]
WAYS = ("forward", "backward")


def event(
    part: str,
    pos: int | None,
    reads: Sequence[str],
    writes: Sequence[str],
    layer: int | None = None,
    way: str | None = None,
) -> Event:
    """Return one event; `way`: one of WAYS."""
    return {"part": part, "layer": layer, "dir": way, "pos": pos, "reads": list(reads), "writes": list(writes)}


def numbered(steps: Sequence[list[Event]], times: Sequence[float | None] = ()) -> list[dict[str, Any]]:
    """Return a schedule of the events of each t; `times` are the milliseconds of its last steps."""
    padded = [None] * (len(steps) - len(times)) + list(times)
    return [{"t": t, "events": events, "ms": ms} for t, (events, ms) in enumerate(zip(steps, padded, strict=True), 1)]


def num_reading_steps(num_source: int, has_end_mark: bool) -> int:
    """Count the steps that a recurrent encoder takes: an end mark is read together with the last word."""
    return max(1, num_source - int(has_end_mark))


def recurrent_reading(orders: Sequence[Sequence[int]], num_steps: int) -> list[list[Event]]:
    """Return the steps of a recurrent encoder.

    Args:
        orders: for each direction, at which step every source position is read.
        num_steps: one fewer than the positions where the end mark has no step of its own.
    """
    steps: list[list[Event]] = [[] for _ in range(num_steps)]
    for way, order in zip(WAYS, orders, strict=False):
        at = sorted(range(len(order)), key=lambda position: order[position])
        late = len(order) - num_steps
        for k, position in enumerate(at):
            before = f"h.enc.{way}:{at[k - 1]}" if k else f"h.enc.{way}:init"
            # A lane that begins at the end mark reads it with its first word, one that ends there with its last.
            t = max(0, k - late) if way == "backward" else min(k, num_steps - 1)
            reads, writes = [f"x:{position}", before], [f"h.enc.{way}:{position}"]
            steps[t].append(event("encoder", position, reads, writes, layer=0, way=way))
    return steps


def parallel_reading(num_source: int, num_layers: int) -> list[list[Event]]:
    """Return the steps of an encoder that reads all positions at once: one a layer."""
    steps = []
    for layer in range(max(1, num_layers)):
        reads = [f"h.enc.{layer - 1}:{s}" if layer else f"x:{s}" for s in range(num_source)]
        writes = [f"h.enc.{layer}:{s}" for s in range(num_source)]
        steps.append([event("encoder", None, reads, writes, layer=layer)])
    return steps


def memory_names(num_source: int, num_ways: int, num_layers: int) -> list[str]:
    """Name what an encoder leaves behind; `num_ways` 0: nothing was carried along time."""
    if not num_ways:
        return [f"h.enc.{max(1, num_layers) - 1}:{s}" for s in range(num_source)]
    return [f"h.enc.{way}:{s}" for way in WAYS[:num_ways] for s in range(num_source)]


def recurrent_writing(
    num_target: int, memory: Sequence[str], ends: Sequence[str], reads_memory: str
) -> list[list[Event]]:
    """Return the steps of a recurrent decoder.

    Args:
        num_target: produced tokens.
        memory: what its attention reads.
        ends: what its first state is made of; [] where it starts from nothing.
        reads_memory: `never`, `every_step_same`, `before_cell` or `after_cell`.
    """
    steps = []
    for n in range(num_target):
        events = [] if n else [event("bridge", None, ends, ["h.dec:init"])]
        before = f"h.dec:{n - 1}" if n else "h.dec:init"
        fed = [f"y:{n - 1}" if n else "y:init", before]
        if reads_memory == "before_cell":
            events.append(event("attention", n, [before, *memory], [f"ctx:{n}"], layer=0))
            events.append(event("decoder", n, [*fed, f"ctx:{n}"], [f"h.dec:{n}", f"y:{n}"], layer=0))
        elif reads_memory == "after_cell":
            events.append(event("decoder", n, fed, [f"h.dec:{n}"], layer=0))
            events.append(event("attention", n, [f"h.dec:{n}", *memory], [f"ctx:{n}"], layer=0))
            events.append(event("output", n, [f"h.dec:{n}", f"ctx:{n}"], [f"y:{n}"]))
        else:
            same = list(ends) if reads_memory == "every_step_same" else []
            events.append(event("decoder", n, [*fed, *same], [f"h.dec:{n}", f"y:{n}"], layer=0))
        steps.append(events)
    return steps


def parallel_writing(num_target: int, memory: Sequence[str], num_prompt: int = 0) -> list[list[Event]]:
    """Return the steps of a decoder of blocks; the prompt of a language model (`num_prompt` tokens) is read at its first."""
    steps = []
    prompt = [f"x:{s}" for s in range(num_prompt)] or ["y:init"]
    for n in range(num_target):
        fed = [*prompt, *(f"y:{k}" for k in range(n))]
        events = [event("attention", n, [*fed, *memory], [f"ctx:{n}"])] if memory else []
        events.append(event("decoder", n, [*fed, f"ctx:{n}"] if memory else fed, [f"h.dec:{n}"]))
        events.append(event("output", n, [f"h.dec:{n}"], [f"y:{n}"]))
        steps.append(events)
    return steps


def taking_over(num_target: int, num_prompt: int) -> list[list[Event]]:
    """Return the writing steps of a recurrent language model: it goes on from the state behind the prompt."""
    last = f"h.enc.forward:{num_prompt - 1}"
    steps = [[event("bridge", None, [last], ["h.dec:0"]), event("output", 0, ["h.dec:0"], ["y:0"])]]
    for n in range(1, num_target):
        reads, writes = [f"y:{n - 1}", f"h.dec:{n - 1}"], [f"h.dec:{n}", f"y:{n}"]
        steps.append([event("decoder", n, reads, writes, layer=0)])
    return steps[:num_target]
