"""The blocks that every trace may have, as strict models: texts, model, schedule, states, steps, attention."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

AXES = ["layer", "head", "query", "key"]


def _is_array(value: Any) -> Any:
    if isinstance(value, dict) and list(value) == ["$t"] and isinstance(value["$t"], str):
        return value
    if isinstance(value, list):
        return value
    raise ValueError('expected nested numbers or {"$t": name}')


def _are_axes(value: list[str]) -> list[str]:
    if value != AXES:
        raise ValueError(f"expected the axes {AXES}")
    return value


_REFERENCE = {
    "type": "object",
    "properties": {"$t": {"type": "string"}},
    "required": ["$t"],
    "additionalProperties": False,
}
Array: TypeAlias = Annotated[
    Any, AfterValidator(_is_array), WithJsonSchema({"anyOf": [{"type": "array"}, _REFERENCE], "title": "Array"})
]
Axes: TypeAlias = Annotated[
    list[str], AfterValidator(_are_axes), WithJsonSchema({"type": "array", "const": AXES, "title": "Axes"})
]
Index: TypeAlias = Annotated[int, Field(ge=0)]
Count: TypeAlias = Annotated[int, Field(ge=0)]
Range: TypeAlias = Annotated[list[Index], Field(min_length=2, max_length=2)]
Direction: TypeAlias = Literal["ltr", "rtl", "neutral"]
Layout: TypeAlias = Literal["ltr", "rtl"]


class Block(BaseModel):
    """Every field is known, of its type, and finite."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=())


class Token(Block):
    """One piece of a text."""

    id: int
    piece: str
    text: str
    word: Index | None
    bytes: Range | None
    part: Range | None = None
    special: Literal["bos", "eos", "pad", "unk", "sep", "mask", "lang"] | None
    dir: Direction
    w_em: float
    value: float | None = None


class Word(Block):
    """One word and its tokens, which stand side by side."""

    text: str
    tok: list[Index]
    bytes: Range
    dir: Direction
    w_em: float


class Source(Block):
    """What is read."""

    text: str
    lang: str | None = None
    dir: Layout
    tokens: list[Token]
    words: list[Word]


class Target(Source):
    """What is produced, the end mark included."""

    bos: Token | None = None
    reference: str | None = None


class Meta(Block):
    """Where the trace comes from."""

    id: str
    created: str
    toolkit: str | None = None
    torch: str | None = None
    seed: int
    device: str
    dtype: str
    ms_total: float | None = None


class NumLayers(Block):
    """Layers of either side; 0: there is none."""

    encoder: Count
    decoder: Count


class Part(Block):
    """One part of a model."""

    name: str
    type: str
    shape: list[Count]
    num_parameters: Count


class Model(Block):
    """The model in words and numbers: its seven choices and its size."""

    arch: str
    layer: str
    encoder: str
    bridge: str
    reads_memory: Literal["never", "every_step_same", "before_cell", "after_cell", "in_each_block"]
    score: Literal["none", "additive", "dot", "general", "concat", "location", "scaled_dot"]
    window: str
    positions: Literal["none", "sinusoidal", "learned", "rotary", "alibi", "relative"]
    num_layers: NumLayers
    num_directions: Annotated[int, Field(ge=1, le=2)]
    num_heads: Index | None = None
    width: Count
    head_width: Index | None = None
    num_parameters: Count
    weights_sha256: str | None = None
    parts: list[Part] | None = None


class Decode(Block):
    """How tokens were chosen."""

    mode: Literal["greedy", "beam", "sample", "forced"]
    temperature: Annotated[float, Field(gt=0)]
    top_k: Index | None = None
    top_p: float | None = None
    max_len: Count
    stopped_by: Literal["eos", "length", "forced"]


class Event(Block):
    """One thing that a part does in a step."""

    part: Literal["encoder", "bridge", "attention", "decoder", "output"]
    layer: Index | None = None
    dir: Literal["forward", "backward"] | None = None
    pos: Index | None = None
    reads: list[str]
    writes: list[str]


class Step(Block):
    """What runs together at one t."""

    t: Annotated[int, Field(ge=1)]
    events: list[Event]
    ms: float | None = None


class States(Block):
    """The states of one side."""

    h: Array | None = None
    c: Array | None = None
    h0: Array | None = None
    c0: Array | None = None
    gates: dict[str, Array] | None = None
    terms: dict[str, Array] | None = None


class Candidate(Block):
    """One token that could have been chosen."""

    id: Index
    piece: str
    text: str
    w_em: float
    logit: float
    p: float
    logp: float


class Cache(Block):
    """What a decoder keeps at a step."""

    len: Count
    bytes: Count
    reused: Index | None = None
    window: Index | None = None


class Milliseconds(Block):
    """Times of one decoder step."""

    embed: float | None = None
    self: float | None = None
    cross: float | None = None
    ffn: float | None = None
    softmax: float | None = None
    total: float | None = None
    total_without_cache: float | None = None


class DecoderStep(Block):
    """One choice: what was fed, what came out, and what else could have."""

    t: Annotated[int, Field(ge=1)]
    fed: str = Field(alias="in")
    out: str
    chosen_rank: Index
    topk: Annotated[list[Candidate], Field(min_length=1, max_length=20)]
    rest_p: float
    entropy: float
    temps: list[float]
    rest_lse: list[float]
    cache: Cache | None = None
    ms: Milliseconds | None = None


class Decoder(States):
    """The writing side."""

    context: Array | None = None
    z: Array | None = None
    steps: list[DecoderStep] | None = None


class Embeddings(Block):
    """The vectors that enter, before positions."""

    source: Array
    target: Array | None = None
    scale: float | None = None


class Reduced(Block):
    """How an attention block was made smaller."""

    method: Literal["head_mean+top8"]
    kept_heads: list[Range]
    values_total: Count
    sidecar: str | None = None


class Attention(Block):
    """One kind of attention, all layers and heads."""

    name: str
    kind: Literal["cross", "encoder_self", "decoder_self"]
    axes: Axes
    query: Literal["source", "target.out", "sequence.out"]
    query_in: Literal["source", "target.in", "sequence"]
    key: Literal["source", "target.in", "sequence"]
    mask_kind: Literal["none", "padding", "causal", "window", "padding+causal"]
    mask: Array | None = None
    scores: Array | None = None
    weights: Array | None = None
    row_sum_maxerr: float
    reduced: Reduced | None = None
    head_mean: Array | None = None
    topk_idx: Array | None = None
    topk_w: Array | None = None
    kept: Array | None = None


class QKV(Block):
    """Queries, keys and values of one head."""

    kind: Literal["cross", "encoder_self", "decoder_self"]
    layer: Index
    head: Index
    scale: float
    q: Array
    k: Array
    v: Array
    out: Array


class Positions(Block):
    """The encoding that is added."""

    table: Array
    used: Array
