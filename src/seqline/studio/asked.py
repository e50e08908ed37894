"""What the live page may ask for: bodies of requests, checked field by field before anything is computed."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from seqline.errors import UserError
from seqline.visualize.schema import MAX_BUNDLE

MOST_BYTES = 64 * 1024
MOST_CHARACTERS = 2000
MOST_PIECES = 200
"""Of a text: a longer one would keep everybody else waiting."""
FORMATS = ("svg", "png", "gif", "mp4", "csv", "json", "html", "trace")


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Token(_Asked):
    """A token to force at an output step, counted from 1; in one run or, where none is named, in all."""

    step: int = Field(ge=1, le=10_000)
    id: int = Field(ge=0)
    model: str | None = None


class AttentionRow(_Asked):
    """A row of attention to the source to set at an output step, counted from 1; None: all layers, all heads, all runs."""

    step: int = Field(ge=1, le=10_000)
    weights: list[float] = Field(max_length=MOST_CHARACTERS + 1)
    layer: int | None = None
    head: int | None = None
    model: str | None = None


class Decode(_Asked):
    """How to decode; what a task does not know is of no meaning there."""

    beam_size: int | None = Field(default=None, ge=1, le=64)
    max_tokens: int = Field(default=20, ge=1, le=500)
    temperature: float = Field(default=0.0, ge=0, le=100)
    top_k: int | None = Field(default=None, ge=1)
    top_p: float = Field(default=1.0, gt=0, le=1)
    seed: int = Field(default=0, ge=0)


class Languages(_Asked):
    """The languages of the texts (BCP-47), noted in the trace: browsers choose letter forms and voices by them."""

    source: str | None = Field(default=None, pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")
    target: str | None = Field(default=None, pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$")


class TraceAsked(_Asked):
    """One recording: a text, and one run or several side by side."""

    model: str | list[str]
    text: str = Field(max_length=MOST_CHARACTERS)
    decode: Decode = Field(default_factory=lambda: Decode.model_validate({}))
    force: list[Token] = Field(default=[], max_length=500)
    attention_rows: list[AttentionRow] = Field(default=[], max_length=100)
    lang: Languages = Field(default_factory=lambda: Languages.model_validate({}))

    @property
    def models(self) -> list[str]:
        """The names of the runs, each once."""
        return list(dict.fromkeys([self.model] if isinstance(self.model, str) else self.model))


class ExportAsked(_Asked):
    """A picture of a recording: a view, its state, the kind of file; `member`: one of several recordings alone."""

    trace_id: str = Field(max_length=64)
    view: str = Field(default="timeline", max_length=64)
    state: dict[str, Any] = {}
    format: str = "svg"
    member: int | None = Field(default=None, ge=0, lt=MAX_BUNDLE)


Kind = TypeVar("Kind", bound=_Asked)


def read(kind: type[Kind], body: bytes) -> Kind:
    """Read a body.

    Raises:
        UserError: no JSON, or the first field that is wrong.
    """
    try:
        asked = kind.model_validate_json(body)
        json.loads(body, object_pairs_hook=_each_once)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "body"
        said = first["msg"][:1].lower() + first["msg"][1:]
        raise UserError(said, where=where, fix=_fix(where)) from error
    return asked


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"the name {twice[:40]!a} is given twice", where="body", fix="give each name once")
    return values


def _fix(where: str) -> str:
    return f"at most {MOST_CHARACTERS:,} characters" if where == "text" else ""
