"""A section of settings: strict, frozen, closed. Its faults become one line that names the key and the nearest one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from seqline.errors import UserError, did_you_mean

_Model = TypeVar("_Model", bound=BaseModel)

_WANTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "finite_number": "a finite number",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "less_than": "a number below {lt}",
    "less_than_equal": "a number of at most {le}",
    "literal_error": "{expected}",
    "too_short": "at least {min_length} values",
    "too_long": "at most {max_length} values",
}


class KeyFault(ValueError):
    """Raised by a validator of a whole section to blame one of its keys."""

    def __init__(self, key: str, what: str) -> None:
        super().__init__(what)
        self.key = key


class Section(BaseModel):
    """What every section of a configuration and every recipe's settings class is built on.

    Unknown keys are refused, types are strict (`"1"` and `true` are no number), numbers are finite.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _check_storable(cls, values: Any) -> Any:
        """Refuse what TOML cannot hold, so that every accepted section can be written down and read back."""
        for key, value in values.items() if isinstance(values, dict) else ():
            for part in value if isinstance(value, list | tuple) else [value]:
                if isinstance(part, str) and not _is_unicode(part):
                    raise KeyFault(key, f"expected valid Unicode, got {show(part)}")
                if isinstance(part, int) and not -(2**63) <= part < 2**63:
                    raise KeyFault(key, f"expected a number of at most 64 bits, got {show(part)}")
        return values


def validate_section(
    model_class: type[_Model], values: Mapping[str, Any], where: str, also_known: Iterable[str] = ()
) -> _Model:
    """Check a table of settings against its class, such as a recipe's own.

    Args:
        model_class: A `Section`, or any pydantic model.
        values: Key to value.
        where: File and section for errors, as "config.toml: model"; the key is added after a dot.
        also_known: Names that live in the same table but in another class; only offered as the nearest name.

    Raises:
        UserError: one line with the full key path, what was expected and what came.
    """
    try:
        return model_class.model_validate(dict(values))
    except ValidationError as error:
        raise section_fault(
            error, model_class, lambda key: f"{where}.{key}" if key and where else key or where, also_known
        ) from error


def section_fault(
    error: ValidationError,
    model_class: type[BaseModel],
    place: Callable[[str], str],
    also_known: Iterable[str] = (),
) -> UserError:
    """Return the first fault that pydantic found as a UserError; `place` turns a dotted key into its `where`."""
    fault = error.errors(include_url=False)[0]
    location, kind, context, value = fault["loc"], fault["type"], fault.get("ctx", {}), fault["input"]
    if isinstance(context.get("error"), KeyFault):
        location = (*location, context["error"].key)
    where = place(".".join(_part(part) for part in location))
    if kind in ("extra_forbidden", "invalid_key"):
        key = str(location[-1])
        return UserError("unknown key", where=where, fix=_nearest(model_class, location[:-1], key, also_known))
    if kind == "value_error":
        return UserError(str(context["error"]), where=where)
    if kind == "missing":
        return UserError("is missing", where=where, fix="give it a value")
    if kind in _WANTED:
        wanted = _WANTED[kind].format(**context)
        fix = ""
        if kind == "literal_error" and isinstance(value, str):
            fix = did_you_mean(value, re.findall(r"'([^']*)'", wanted))
        if kind == "string_type" and not isinstance(value, dict | list):
            fix = "put it in quotes, in a shell in two kinds of them: 'key=\"value\"'"
        return UserError(f"expected {wanted}, got {show(value)}", where=where, fix=fix)
    return UserError(f"{fault['msg']}, got {show(value)}", where=where)


def show(value: Any) -> str:
    """Describe a value in a few printable words: what it is, and its kind where that is the point."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"{value[:60]!r}{'...' if len(value) > 60 else ''} (text)"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**20 else "a number of more than 20 digits"
    return str(value) if isinstance(value, float) else f"a value of type {type(value).__name__}"


def is_near(name: str, known: Iterable[str]) -> bool:
    """Return whether a name is surely a misspelling of a known one: at least three quarters of it agree."""
    return bool(get_close_matches(name, list(known), n=1, cutoff=0.75))


def _part(part: int | str) -> str:
    text = str(part)
    return text if text.isprintable() and len(text) <= 64 else repr(text[:64])


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _nearest(model_class: type[BaseModel], location: tuple[int | str, ...], key: str, also_known: Iterable[str]) -> str:
    """Name the same key in another section if there is one, else the nearest in its own section."""
    elsewhere = [path for path in _paths(model_class) if path.rpartition(".")[2] == key]
    if elsewhere:
        return f"did you mean {' or '.join(map(repr, elsewhere))}?"
    section = model_class
    for part in location:
        section = _subsection(section, str(part)) or section
    return did_you_mean(key, {*section.model_fields, *also_known})


def _paths(model_class: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name in model_class.model_fields:
        yield prefix + name
        inner = _subsection(model_class, name)
        if inner is not None:
            yield from _paths(inner, f"{prefix}{name}.")


def _subsection(model_class: type[BaseModel], name: str) -> type[BaseModel] | None:
    field = model_class.model_fields.get(name)
    annotation = field.annotation if field else None
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
