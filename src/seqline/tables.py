"""TOML text and `key=value` overrides become plain nested tables, not yet checked against any setting."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from seqline.errors import UserError
from seqline.files import PathLike, open_regular
from seqline.sections import show

MAX_CONFIG_BYTES = 16 * 1024
"""A longer configuration is refused unread; the time that a hostile key `a.a.a...` takes grows with its square."""


def read_tables(path: PathLike) -> dict[str, Any]:
    """Read a TOML file, see `parse_tables`."""
    with open_regular(path) as file:
        return parse_tables(file.read(MAX_CONFIG_BYTES + 1), str(path))


def parse_tables(data: bytes, where: str) -> dict[str, Any]:
    """Parse UTF-8 TOML; a byte order mark at the start is dropped.

    Raises:
        UserError: too large, not UTF-8, no TOML, a key twice, nested too deeply; with `where` and, if known, the line.
    """
    if len(data) > MAX_CONFIG_BYTES:
        raise UserError(f"is larger than {MAX_CONFIG_BYTES:,} bytes", where=where, fix="is this a configuration?")
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"is not UTF-8 (byte {error.start})", where=f"{where}:{line}", fix="save it as UTF-8"
        ) from error
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise UserError("is nested too deeply", where=where, fix="sections have at most three levels") from error
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"\(at line (\d+), ", str(error))
        place = f"{where}:{line[1]}" if line else where
        raise UserError(f"is not TOML: {str(error)[:200]}", where=place, fix="correct the line") from error
    except ValueError as error:  # Python refuses to read a number of more than 4300 digits
        raise UserError("holds a number of thousands of digits", where=where, fix="correct it") from error


def parse_override(override: str, example: str = "training.max_steps=200") -> tuple[str, Any]:
    """Split `section.key=value`; the value is TOML, and what is no TOML value is text.

    Raises:
        UserError: no key, or a value that starts like quoted text, a list or a table and is none.
    """
    key, equals, text = override.partition("=")
    key, text = key.strip(), text.strip()
    if not equals or not re.fullmatch(r"[A-Za-z0-9_.-]{1,200}", key) or not all(key.split(".")):
        raise UserError(f"expected key=value, got {show(override)}", where="--set", fix=f"write for instance {example}")
    try:
        table = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError) as error:
        if text[:1] in ("'", '"', "[", "{"):
            raise UserError(f"no TOML value: {show(text)}", where=f"--set {key}", fix="check the quotes") from error
        return key, text
    value = table["value"]
    # A value with a line end could bring more keys along, and a date is text here: no setting is a date.
    is_one = len(table) == 1 and isinstance(value, bool | int | float | str | list | dict)
    return key, value if is_one else text


def assign(values: dict[str, Any], key: str, value: Any) -> None:
    """Set a dotted key in nested tables, making tables on the way; None removes the key."""
    *keys, last = key.split(".")
    for name in keys:
        inner = values.get(name)
        table: dict[str, Any] = dict(inner) if isinstance(inner, dict) else {}
        values[name] = table
        values = table
    values[last] = value
    if value is None:
        del values[last]
