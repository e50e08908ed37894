"""The file format `trace/1` as strict models; `python -m seqline.visualize.schema` writes its JSON schema.

Writers obey the models to the letter. Readers drop the fields that they do not know, for the format only grows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from seqline.files import write_text
from seqline.visualize.blocks import (
    QKV,
    Array,
    Attention,
    Block,
    Count,
    Decode,
    Decoder,
    Embeddings,
    Index,
    Meta,
    Model,
    Positions,
    Range,
    Source,
    States,
    Step,
    Target,
    Token,
)

SCHEMA, BUNDLE_SCHEMA = "trace/1", "bundle/1"
MINOR = 0
TEMPERATURES = [0.1, 0.25, 0.5, 0.7, 1.0, 1.5, 2.0]
MAX_BUNDLE = 6
SCHEMA_FILE = Path(__file__).with_name("trace-1.schema.json")


class TTT(Block):
    """An inner model that learns while it reads."""

    where: Literal["encoder", "decoder"]
    layer: Index
    loss_before: Array
    loss_after: Array
    eta: Array
    w_norm: Array
    dw_norm: Array
    w: Array | None = None
    w_reduced: Range | None = None


class Gradients(Block):
    """How strongly the loss depends on each state."""

    of: str
    norm_h: Array
    norm_c: Array | None = None
    clip: float | None = None
    spectral_radius: float | None = None


class LengthPenalty(Block):
    """How the sums of hypotheses are made comparable."""

    kind: Literal["none", "mean", "gnmt"]
    alpha: float | None = None


class BeamNode(Block):
    """One hypothesis, named by its last token."""

    id: Index
    parent: Index | None
    t: Index
    token: Token
    logp: float
    sum: float
    norm: float
    rank: Index
    state: Literal["live", "pruned", "done"]


class Beam(Block):
    """The tree of a beam search."""

    beam_size: Annotated[int, Field(ge=1)]
    length_penalty: LengthPenalty
    nodes: list[BeamNode]
    best: Index
    attention: Array | None = None


class Window(Block):
    """The forecast from one length of history.

    weights: of attention, a row a step to come, a column a step of the encoder. gradient: d pred_y / d hist_y, a row a step to
    come, a column a point of the history.
    """

    lookback: Annotated[int, Field(ge=1)]
    pred_y: Array
    q: dict[str, Array] | None = None
    mae: float | None = None
    weights: Array | None = None
    gradient: Array | None = None


class Forecast(Block):
    """A series, and what comes next.

    times: of the history and of the steps to come, as written in the data. patch: points that a step of the encoder reads, the
    last ones together first; None: 1. observed, true_observed: 0 where a value was missing.
    """

    unit: str
    freq: str | None = None
    series: str | None = None
    times: list[str] | None = None
    patch: Annotated[int, Field(ge=1)] | None = None
    observed: Array | None = None
    true_observed: Array | None = None
    hist_t: Array
    hist_y: Array
    pred_y: Array
    true_y: Array | None = None
    q: dict[str, Array] | None = None
    windows: list[Window]


class Snapshot(Block):
    """The attention of one sentence at one training step."""

    step: Index
    weights: Array


class Training(Block):
    """Curves of a training."""

    steps: Array
    loss: Array
    val_loss: Array | None = None
    lr: Array | None = None
    metrics: dict[str, Array] | None = None
    snapshots: list[Snapshot] | None = None


class Check(Block):
    """One invariant and whether it held."""

    id: str
    text: str
    ok: bool
    value: float | str | bool | None = None
    tol: float | str | None = None


class TensorEntry(Block):
    """One packed array."""

    dtype: Literal["u16", "f16", "f32", "u8", "i32"]
    shape: list[Count]
    q: Annotated[int, Field(ge=1, le=65535)] | None = None
    enc: Literal["gzip+base64"]
    data: str


class Document(Block):
    """A whole trace."""

    schema_name: Literal["trace/1"] = Field(alias="schema")
    minor: Count
    meta: Meta
    model: Model
    task: Literal[
        "translation", "summarization", "dialogue", "language_model", "tagging", "classification", "forecasting"
    ]
    decode: Decode | None = None
    source: Source
    target: Target | None = None
    schedule: list[Step]
    encoder: States | None = None
    decoder: Decoder | None = None
    embeddings: Embeddings | None = None
    attention: list[Attention] | None = None
    qkv: list[QKV] | None = None
    positions: Positions | None = None
    ttt: TTT | None = None
    gradients: Gradients | None = None
    beam: Beam | None = None
    forecast: Forecast | None = None
    training: Training | None = None
    checks: list[Check]
    tensors: dict[str, TensorEntry]


def schema_text() -> str:
    """Return the JSON schema as it is committed."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | Document.model_json_schema(by_alias=True)
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def write_schema() -> None:
    """Write `trace-1.schema.json` beside this file."""
    write_text(SCHEMA_FILE, schema_text())


if __name__ == "__main__":
    write_schema()
