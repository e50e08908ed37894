"""Texts with tags, placeholders and line ends: their plain lines are translated, then the marks are put back in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import fsum

from seqline.errors import UserError
from seqline.markup import LinePlan, plan
from seqline.translating.outputs import EMPTY, Output, Translation
from seqline.translating.requests import Request

Translate = Callable[[Sequence[Request], Sequence[int]], list[Translation]]


def translate_marked(requests: Sequence[Request], translate: Translate) -> list[Translation]:
    """Translate texts so that every mark of a text, and every line end, stands in each of its outputs.

    Args:
        requests: texts with marks. A prefix is that of the first line, a phrase that must stand is for texts of one line.
        translate: translates plain lines, given with the place of the text each is from; with word alignments where the model
            has them.

    Raises:
        UserError: a phrase that must stand in a text of several lines.
    """
    plans = [plan(request.text) for request in requests]
    places, lines, asked = [], [], []
    for i, (request, each) in enumerate(zip(requests, plans, strict=True)):
        first = next((j for j, line in enumerate(each.lines) if line.needs_model), 0)
        if request.must and len(each.lines) > 1:
            what = f"text {i + 1} has {len(each.lines)} lines, and nothing says in which the phrase should stand"
            raise UserError(what, where="must", fix="give its lines as texts of their own")
        for j, line in enumerate(each.lines):
            if line.needs_model:
                places.append((i, j))
                lines.append(line)
                asked.append(replace(request, text=line.with_placeholders, prefix=request.prefix if j == first else ""))
    restored = dict(zip(places, _restored(lines, asked, [i for i, _ in places], translate), strict=True))
    found = []
    for i, (request, each) in enumerate(zip(requests, plans, strict=True)):
        of_lines = [restored.get((i, j)) or _untouched(line) for j, line in enumerate(each.lines)]
        found.append(_joined(request, of_lines, each.join))
    return found


def _restored(
    lines: Sequence[LinePlan], asked: Sequence[Request], places: Sequence[int], translate: Translate
) -> list[Translation]:
    """Translate lines with their placeholders, those that lost one without, and put the marks back."""
    first = translate(asked, places)
    lost = [k for k, (line, t) in enumerate(zip(lines, first, strict=True)) if not _are_kept(line, t)]
    bare = [replace(asked[k], text=lines[k].without_placeholders) for k in lost]
    without = translate(bare, [places[k] for k in lost])
    again = dict(zip(lost, without, strict=True))
    found = []
    for k, (line, kept) in enumerate(zip(lines, first, strict=True)):
        has_placeholders = k not in again
        translation = again.get(k, kept)
        outputs = [
            replace(o, text=line.restore(o.text, o.alignment or (), has_placeholders=has_placeholders), alignment=None)
            for o in translation.outputs
        ]
        found.append(replace(translation, outputs=tuple(outputs)))
    return found


def _are_kept(line: LinePlan, translation: Translation) -> bool:
    return all(line.is_kept(output.text) for output in translation.outputs)


def _untouched(line: LinePlan) -> Translation:
    text = line.restore("")
    return Translation(text, (replace(EMPTY, text=text),))


def _joined(request: Request, lines: Sequence[Translation], join: Callable[[Sequence[str]], str]) -> Translation:
    """Return the translation of a text from those of its lines: output k is made of the k-th of each, or the last it has."""
    count = max(len(line.outputs) for line in lines)
    outputs = []
    for k in range(count):
        parts = [line.outputs[min(k, len(line.outputs) - 1)] for line in lines]
        outputs.append(_sum(parts, join([part.text for part in parts])))
    tokens, used = (sum(getattr(line, name) for line in lines) for name in ("source_tokens", "source_tokens_used"))
    return Translation(request.text, tuple(outputs), tokens, used)


def _sum(parts: Sequence[Output], text: str) -> Output:
    searched = [part for part in parts if part.num_tokens]
    return Output(
        text,
        score=fsum(part.score for part in searched) / max(1, len(searched)),
        log_probability=fsum(part.log_probability for part in searched),
        num_tokens=sum(part.num_tokens for part in searched),
        max_tokens=sum(part.max_tokens for part in searched),
        is_finished=all(part.is_finished for part in parts),
        repetition=any(part.repetition for part in parts),
        unmet=tuple(
            wish for part in parts for wish in part.unmet
        ),  # asked of the plain lines, before the marks went in
    )
