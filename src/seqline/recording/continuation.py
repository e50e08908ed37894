"""The trace of one continuation, by any language model: recurrent ones take over from the prompt, others read it at t1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from seqline.data.tokenizer import BOS, Tokenizer
from seqline.decoding import AVERAGE, Hypothesis, Rule, Sampling, sample
from seqline.errors import UserError
from seqline.models.language_model import LanguageModel
from seqline.recording import checks, schedule, sides
from seqline.recording.document import (
    Options,
    Stopwatch,
    decode_block,
    finished,
    has_gates,
    replay_checks,
    step_costs,
    step_times,
    steps_of,
)
from seqline.recording.facts import Origin
from seqline.recording.forcing import Force, forced
from seqline.recording.frames import to_array
from seqline.recording.gradients import Loss, gradients_of, log_loss
from seqline.recording.inner import inner_block
from seqline.recording.output import log_probability
from seqline.recording.replay import Replay, Subject, device_of, replay
from seqline.recording.states import lanes_of
from seqline.recording.texts import candidate, source_block, target_block
from seqline.shapes import Tensor
from seqline.visualize.text import special_token
from seqline.visualize.trace import Trace


@dataclass(frozen=True)
class Continuing:
    """A language model and all that its use needs.

    pieces: a prompt to the texts that the tokenizer reads one after another. write: ids to the text that follows a prompt.
    eos_id: what ends a text; None: only the limit does.
    """

    model: LanguageModel
    tokenizer: Tokenizer
    rules: Sequence[Rule]
    eos_id: int | None
    pieces: Callable[[str], list[str]]
    write: Callable[[Sequence[int]], str]
    origin: Origin


def record_continuation(
    subject: Continuing,
    prompt: str,
    ids: Sequence[int],
    max_tokens: int,
    sampling: Sampling,
    force: Force,
    options: Options,
) -> Trace:
    """Go on from a prompt, replay it watched, and return its trace.

    Args:
        subject: the model.
        prompt: as typed.
        ids: of the prompt, with what stands before a text.
        max_tokens: the most pieces.
        sampling: how to draw. Where tokens are forced, all others are the most probable.
        force: tokens at given output steps, counted from 1.
        options: of the recording.

    Raises:
        UserError: a limit below 1, a token to force that is none, or more to record than the limit.
    """
    stopwatch = Stopwatch()
    if max_tokens < 1:
        raise UserError(f"expected at least 1, got {max_tokens}", where="max_tokens")
    chosen = _search(subject, ids, max_tokens, sampling, force)
    output = list(chosen.ids)
    seen = replay(
        subject.model,
        Subject([], ids[:-1], [ids[-1], *output[:-1]]),
        timing=options.timing,
        limit_mb=options.limit_mb,
    )
    temperature = 1.0 if sampling.is_greedy or force.wanted else sampling.temperature
    blocks = _blocks(subject, seen, _prompt(subject, prompt, ids), output, temperature)
    mode = "forced" if force.wanted else "greedy" if sampling.is_greedy else "sample"
    top_k, top_p = (sampling.top_k, sampling.top_p) if mode == "sample" else (None, None)
    stopped = "eos" if chosen.is_finished else "length"
    blocks["decode"] = decode_block(mode, max_tokens, stopped, temperature, top_k, top_p)
    blocks["gradients"] = _gradients(subject, ids, output[0])
    apart = abs(log_probability([to_array(row) for row in seen.watched.logits], output) - chosen.log_probability)
    own = checks.same_output(
        subject.write(output), blocks["target"]["text"], apart, "its log-probability differs from the search's by"
    )
    compared = replay_checks(seen, has_gates(blocks), "attention" in blocks)
    return finished(subject.model, subject.origin, options, blocks, [own, *compared], stopwatch)


def _search(subject: Continuing, ids: Sequence[int], limit: int, sampling: Sampling, force: Force) -> Hypothesis:
    limits = torch.tensor([limit], device=device_of(subject.model))
    if force.wanted:
        wanted = force.ids(subject.tokenizer)
        return forced(subject.model, None, limits, wanted, subject.rules, AVERAGE, prompt=ids, eos_id=subject.eos_id)
    [found] = sample(
        subject.model, None, [ids], limits, sampling=sampling, eos_id=subject.eos_id, rules=list(subject.rules)
    )
    return found


def _prompt(subject: Continuing, prompt: str, ids: Sequence[int]) -> dict[str, Any]:
    """Return the block of the prompt; a blank one is the mark that stands before a text."""
    if prompt:
        return source_block(subject.tokenizer, ids, prompt, subject.pieces(prompt))
    block = source_block(subject.tokenizer, [], "")
    named = [candidate(subject.tokenizer, i) for i in ids]
    marks = [
        special_token(i, found["piece"], "bos" if i == BOS else "sep") for i, found in zip(ids, named, strict=True)
    ]
    return block | {"tokens": marks}


def _blocks(
    subject: Continuing, seen: Replay, source: dict[str, Any], output: list[int], temperature: float
) -> dict[str, Any]:
    """Return all blocks that need no search."""
    model, frames = subject.model, seen.decoding
    num_source, num_target = len(source["tokens"]), len(output)
    first = source["tokens"][-1]
    target = target_block(subject.tokenizer, output, subject.write(output))
    target |= {"bos": {**first, "word": None, "bytes": None}, "reference": None}
    is_recurrent = bool(lanes_of(frames))
    prompt = [*seen.prefix, *seen.steps[0]]
    reading = sides.reading_of(prompt, num_source) if is_recurrent else sides.Reading({}, [], 0)
    states = sides.written_of(frames, num_target)
    kinds = sides.decoder_self(frames, num_source + num_target - 1)
    steps = _schedule(reading, num_source, num_target)
    pieces = [token["piece"] for token in (first, *target["tokens"])]
    fed = list(zip(pieces, pieces[1:], output, strict=False))
    first_t, describe = len(steps) - num_target + 1, partial(candidate, subject.tokenizer)
    vectors = sides.embedded(frames)
    written = {
        "z": sides.head_inputs(frames, num_target),
        "steps": steps_of(seen.watched.logits, fed, first_t, temperature, describe, step_costs(seen)),
    }
    return {
        "task": "language_model",
        "layers": (0, len(states["h"]) if "h" in states else 0),
        "width": int(states["h"].shape[-1]) if "h" in states else vectors.shape[-1],
        "source": source,
        "target": target,
        "schedule": schedule.numbered(steps, step_times(seen)),
        "encoder": reading.states or None,
        "decoder": {**states, **written},
        "embeddings": sides.embeddings_of(model, vectors[:num_source], vectors[-num_target:]),
        "positions": sides.positions_of([], frames),
        "ttt": inner_block(frames, "decoder"),
        **sides.attention_blocks(kinds, sides.SEQUENCE, "everywhere"),
    }


def _schedule(reading: sides.Reading, num_source: int, num_target: int) -> list[list[schedule.Event]]:
    if reading.orders:
        read = schedule.recurrent_reading(reading.orders, num_source)
        return read + schedule.taking_over(num_target, num_source)
    return schedule.parallel_writing(num_target, [], num_source)


def _gradients(subject: Continuing, ids: Sequence[int], first: int) -> dict[str, Any] | None:
    model = subject.model
    prompt = torch.tensor([list(ids)], device=device_of(model))

    def compute(source_is_read: Callable[[], None]) -> Tensor:
        logits, _ = model(prompt, model.initial_state(None, 1))
        source_is_read()
        return log_loss(logits[0, -1:], [first])

    loss = Loss(compute, "-log p of the first produced token, at the last position of the prompt")
    return gradients_of(model, loss, len(ids), clip=subject.origin.clip)
