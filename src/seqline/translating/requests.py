"""What a user asks of one text: how its translation begins, and what must and must not stand in it.

A file of requests holds a JSON object a line:

    {"text": "je suis étudiant", "prefix": "I", "must": ["student"], "must_not": ["a student"]}
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from seqline.errors import UserError, did_you_mean

PHRASES = ("must", "must_not")
FIELDS = ("text", "prefix", *PHRASES)
LONGEST_SHOWN = 60


@dataclass(frozen=True)
class Request:
    """A source text and the wishes for its translation.

    text: one sentence. prefix: the translation begins so; where a space ends it, the next word is a new one.
    must: phrases that stand in it, as whole words. must_not: phrases that do not.
    """

    text: str
    prefix: str = ""
    must: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in PHRASES:
            if isinstance(getattr(self, name), str):
                raise UserError("expected phrases, got one text", where=name, fix=f"write {name}=(...,)")


def as_request(text: str | Request) -> Request:
    """Return a plain text as a request without wishes.

    Raises:
        UserError: it is neither.
    """
    if not isinstance(text, str | Request):
        raise UserError(
            f"expected a text or a Request, got {type(text).__name__}", where="texts", fix="give one text each"
        )
    return Request(text) if isinstance(text, str) else text


def parse_requests(lines: Sequence[str], where: str) -> list[Request]:
    """Read requests, a JSON object a line; a blank line is a blank text.

    Args:
        lines: of the file.
        where: its name, for messages.

    Raises:
        UserError: a line that is no such object; names file and line.
    """
    return [
        _request(line, f"{where}:{number}") if line.strip() else Request("") for number, line in enumerate(lines, 1)
    ]


def _request(line: str, where: str) -> Request:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "it is nested too deeply, or a number is too long")
        raise UserError(f"expected a JSON object with text, got no JSON ({reason})", where=where) from error
    if not isinstance(found, dict) or "text" not in found:
        raise UserError(f'expected an object such as {{"text": "..."}}, got {_shown(found)}', where=where)
    for name in found:
        if name not in FIELDS:
            raise UserError(f"unknown field {name!r}", where=where, fix=did_you_mean(name, FIELDS))
    values = {name: _text(found.get(name, ""), name, where) for name in ("text", "prefix")}
    phrases = {name: _phrases(found.get(name, []), name, where) for name in PHRASES}
    return Request(values["text"], values["prefix"], phrases["must"], phrases["must_not"])


def _phrases(value: Any, name: str, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise UserError(f"{name}: expected a list of phrases, got {_shown(value)}", where=where)
    return tuple(_text(phrase, name, where) for phrase in value)


def _text(value: Any, name: str, where: str) -> str:
    if not isinstance(value, str):
        raise UserError(f"{name}: expected text, got {_shown(value)}", where=where)
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise UserError(f"{name}: holds half of a surrogate pair, which is no character", where=where)
    if "\0" in value:
        raise UserError(f"{name}: holds a NUL character, which is no text", where=where)
    return value


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."
