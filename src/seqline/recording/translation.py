"""The trace of one translation, by any encoder-decoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from seqline.data.text import normalize_whitespace
from seqline.data.tokenizer import BOS, EOS, Tokenizer
from seqline.decoding import AVERAGE, Beam, Hypothesis, Rule, beam, greedy, parse_penalty
from seqline.errors import UserError
from seqline.models.encoder import ReversingEncoder
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.recording import checks, schedule, sides
from seqline.recording.by_hand import ByHand, Rows
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
from seqline.recording.facts import Origin, reads_memory, window_name
from seqline.recording.forcing import Force, forced
from seqline.recording.frames import to_array
from seqline.recording.gradients import Loss, gradients_of, log_loss
from seqline.recording.inner import inner_block
from seqline.recording.output import log_probability
from seqline.recording.replay import Replay, Subject, device_of, replay
from seqline.recording.texts import candidate, source_block, target_block, token_alone
from seqline.recording.tree import beam_block, rows_read, tree_of
from seqline.shapes import Tensor
from seqline.visualize.text import special_token
from seqline.visualize.trace import Trace
from seqline.watch import Frame, watch


@dataclass(frozen=True)
class Translating:
    """A model and all that its search needs.

    penalty: as in `decoding.length_penalty`. limit: the most tokens, from the number of source tokens.
    """

    model: EncoderDecoder
    source: Tokenizer
    target: Tokenizer
    rules: Sequence[Rule]
    penalty: str
    limit: Callable[[int], int]
    origin: Origin
    normalizes: bool = False


@dataclass(frozen=True)
class Found:
    """What the search chose, and how; frames: those of a beam."""

    output: Hypothesis
    mode: str
    stopped_by: str
    frames: list[Frame]


def record_translation(
    subject: Translating, text: str, beam_size: int, force: Force, options: Options, attention_rows: Rows = ()
) -> Trace:
    """Translate a text, replay it watched, and return its trace.

    Args:
        subject: the model.
        text: one source text.
        beam_size: hypotheses kept; 1 is greedy. Where tokens are forced the search is greedy.
        force: tokens at given output steps, counted from 1.
        options: of the recording.
        attention_rows: rows of attention to the source that are set by hand.

    Raises:
        UserError: a blank text, a token to force that is none, a row that is none, or more to record than the limit.
    """
    stopwatch = Stopwatch()
    if not text.strip():
        raise UserError("expected a text to translate, got a blank one", where="explain", fix="give one sentence")
    read = normalize_whitespace(text) if subject.normalizes else text
    ids = [*subject.source.encode(read), EOS]
    limit, memory = subject.limit(len(ids)), _memory(subject.model, ids)
    by_hand = ByHand(subject.model.decoder, attention_rows, len(ids))
    with by_hand.applied():
        found = _search(subject, memory, limit, beam_size, force)
    output = list(found.output.ids)
    seen = replay(
        subject.model,
        Subject(ids, [], [BOS, *output[:-1]]),
        timing=options.timing,
        limit_mb=options.limit_mb,
        by_hand=by_hand,
    )
    blocks = _blocks(subject, seen, source_block(subject.source, ids, text, [read]), output)
    blocks["decode"] = decode_block(found.mode, limit, found.stopped_by)
    with by_hand.applied():
        blocks["gradients"] = _gradients(subject, ids, output)
    if found.mode == "beam":
        penalty = parse_penalty(subject.penalty)
        tree = tree_of(found.frames, beam_size, penalty, partial(token_alone, subject.target))
        with by_hand.applied():
            rows = rows_read(tree, subject.model.decoder, memory, BOS)
        blocks["beam"] = beam_block(tree, found.output, beam_size, subject.penalty, rows)
    apart = abs(log_probability([to_array(row) for row in seen.watched.logits], output) - found.output.log_probability)
    own = checks.same_output(
        subject.target.decode(output),
        blocks["target"]["text"],
        apart,
        "its log-probability differs from the search's by",
    )
    compared = [*replay_checks(seen, has_gates(blocks), "attention" in blocks), *by_hand.checked(blocks)]
    return finished(subject.model, subject.origin, options, blocks, [own, *compared], stopwatch)


@torch.no_grad()
def _memory(model: EncoderDecoder, ids: Sequence[int]) -> Any:
    source = torch.tensor([list(ids)], device=device_of(model))
    return model.decoder.prepare(model.encoder(source, torch.ones_like(source, dtype=torch.bool)))


def _search(subject: Translating, memory: Any, limit: int, beam_size: int, force: Force) -> Found:
    decoder, penalty = subject.model.decoder, parse_penalty(subject.penalty)
    limits = torch.tensor([limit], device=device_of(subject.model))
    rules = list(subject.rules)
    if force.wanted:
        wanted = force.ids(subject.target)
        output = forced(decoder, memory, limits, wanted, rules, AVERAGE)
        is_forced_end = wanted.get(len(output.ids)) == EOS
        stopped = "forced" if is_forced_end else "eos" if output.is_finished else "length"
        return Found(output, "forced", stopped, [])
    if beam_size == 1:
        [output] = greedy(decoder, memory, limits, penalty=penalty, rules=rules)
        return Found(output, "greedy", "eos" if output.is_finished else "length", [])
    with watch(only={"beam"}) as frames:
        [[output]] = beam(decoder, memory, limits, Beam(beam_size, penalty=penalty), rules=rules)
    return Found(output, "beam", "eos" if output.is_finished else "length", frames)


def _blocks(subject: Translating, seen: Replay, source: dict[str, Any], output: list[int]) -> dict[str, Any]:
    """Return all blocks that need no search."""
    model, tokenizer = subject.model, subject.target
    num_source, num_target = len(source["tokens"]), len(output)
    target = target_block(tokenizer, output)
    target |= {"bos": special_token(BOS, tokenizer.pieces([BOS])[0]), "reference": None}
    reading = sides.reading_of(seen.encoder, num_source, model.encoder)
    states = sides.written_of(seen.decoding, num_target)
    kinds = [
        *sides.encoder_self(seen.encoder, num_source),
        *sides.decoder_self(seen.decoding, num_target),
        *sides.cross(seen.prepared, seen.decoding, num_source),
    ]
    steps = _schedule(model, reading, num_source, num_target)
    pieces = [token["piece"] for token in (target["bos"], *target["tokens"])]
    fed = list(zip(pieces, pieces[1:], output, strict=False))
    first_t, describe = len(steps) - num_target + 1, partial(candidate, tokenizer)
    written = {
        "context": sides.context_rows(kinds, seen.decoding, states, num_target),
        "z": sides.head_inputs(seen.decoding, num_target),
        "steps": steps_of(seen.watched.logits, fed, first_t, 1.0, describe, step_costs(seen)),
    }
    own = sides.embedded(seen.encoder), sides.embedded(seen.decoding)
    num_written = len(states["h"]) if "h" in states else 0
    return {
        "task": "translation",
        "layers": (reading.num_layers, num_written),
        "width": int((states or reading.states)["h"].shape[-1]),
        "source": source,
        "target": target,
        "schedule": schedule.numbered(steps, step_times(seen)),
        "encoder": reading.states or None,
        "decoder": {**states, **written},
        "embeddings": sides.embeddings_of(model, *own),
        "positions": sides.positions_of(seen.encoder, seen.decoding),
        "ttt": inner_block(seen.encoder, "encoder") or inner_block(seen.decoding, "decoder"),
        **sides.attention_blocks(kinds, sides.TARGET, window_name(model)),
    }


def _schedule(
    model: EncoderDecoder, reading: sides.Reading, num_source: int, num_target: int
) -> list[list[schedule.Event]]:
    memory = schedule.memory_names(num_source, len(reading.orders), reading.num_layers)
    when = reads_memory(model)
    if reading.orders:
        read = schedule.recurrent_reading(reading.orders, schedule.num_reading_steps(num_source, has_end_mark=True))
    else:
        read = schedule.parallel_reading(num_source, reading.num_layers)
    if when == "in_each_block":
        return read + schedule.parallel_writing(num_target, memory)
    ends = memory if not reading.orders else ["h.enc.backward:0"]
    if len(reading.orders) == 1:
        ends = [f"h.enc.forward:{max(range(num_source), key=reading.orders[0].__getitem__)}"]
    return read + schedule.recurrent_writing(num_target, memory, ends, when)


def _gradients(subject: Translating, ids: Sequence[int], output: Sequence[int]) -> dict[str, Any] | None:
    model = subject.model
    source = torch.tensor([list(ids)], device=device_of(model))
    fed = torch.tensor([[BOS, *output[:-1]]], device=device_of(model))

    def compute(source_is_read: Callable[[], None]) -> Tensor:
        encoded = model.encoder(source, torch.ones_like(source, dtype=torch.bool))
        source_is_read()
        memory = model.decoder.prepare(encoded)
        logits, _ = model.decoder(fed, model.decoder.initial_state(memory, 1), memory)
        return log_loss(logits[0], output)

    return gradients_of(
        model,
        Loss(compute, "-log p of the whole output"),
        len(ids),
        is_reversed=isinstance(model.encoder, ReversingEncoder),
        clip=subject.origin.clip,
    )
