"""One line of JSON lines becomes a pair of texts, by a strict reader: no duplicate keys, no NaN, no half characters."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from seqline.errors import UserError

_TYPE_NAMES = {dict: "an object", list: "a list", bool: "true or false", int: "a number", float: "a number"}


def parse_record(text: str, keys: tuple[str, str], where: str) -> tuple[str, str]:
    """Return the two texts of a JSON object; other keys are allowed and left alone.

    Args:
        text: One line.
        keys: The names of source and target.
        where: `file:line` for errors.

    Raises:
        UserError: no JSON object, a key twice or missing, a value that is no text, NaN, NUL or a lone surrogate.
    """
    try:
        record = _DECODER.decode(text)
    except RecursionError as error:
        raise UserError("JSON nested too deeply", where=where) from error
    except json.JSONDecodeError as error:
        what = f"no JSON: {error.msg} at character {error.pos + 1}" if text.strip() else "blank line in JSON lines"
        raise UserError(what, where=where, fix="one object a line") from error
    except ValueError as error:  # from the hooks below, or a number of thousands of digits
        message = str(error) if isinstance(error, _Refused) else "a number with too many digits"
        raise UserError(message, where=where, fix="correct the line") from error
    if not isinstance(record, dict):
        raise UserError(f"expected a JSON object, got {_kind(record)}", where=where, fix="one object a line")
    return _text(record, keys[0], where), _text(record, keys[1], where)


def _text(record: dict[str, Any], key: str, where: str) -> str:
    if key not in record:
        names = ", ".join(repr(name[:40]) for name in list(record)[:8]) or "none"
        raise UserError(f"no key {key!r}; its keys: {names}", where=where, fix="name them with --keys (data.keys)")
    value = record[key]
    if not isinstance(value, str):
        raise UserError(f"expected text under {key!r}, got {_kind(value)}", where=where, fix="put it in quotes")
    if "\n" in value:
        raise UserError(
            f"line end under {key!r}", where=where, fix="one line is one sentence: put a space in its place"
        )
    if "\0" in value:
        raise UserError(f"NUL character under {key!r}", where=where, fix="remove it")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(f"half a surrogate pair under {key!r}", where=where, fix="write whole characters") from error
    return value


def _kind(value: Any) -> str:
    return "null" if value is None else _TYPE_NAMES.get(type(value), "text")


class _Refused(ValueError):
    """JSON that Python would take and the standard does not, or that says two things at once."""


def _unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(items)
    if len(record) != len(items):
        seen: set[str] = set()
        name = next(key for key, _ in items if key in seen or seen.add(key))
        raise _Refused(f"key {name[:60]!r} twice in one object")
    return record


def _refuse_constant(name: str) -> NoReturn:
    raise _Refused(f"{name} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _Refused("a number too large to hold")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite)
