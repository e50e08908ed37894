"""Settings of a run: a TOML file and overrides become one frozen, checked `Config`.

Sections: data, tokenizer, model, training, decoding. Unknown keys, wrong types and values out of range are refused with
the full path of the key. Nothing is interpolated, imported or fetched because a setting says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import tomli_w
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from seqline.errors import did_you_mean
from seqline.files import PathLike
from seqline.sections import KeyFault, Section, is_near, section_fault, show
from seqline.tables import assign, parse_override, parse_tables, read_tables

Kind: TypeAlias = Literal["unigram", "bpe", "char", "word"]
Size: TypeAlias = Literal["auto", "tiny", "small", "base"]
Count: TypeAlias = Annotated[int, Field(ge=1, le=10**12)]
TaskName: TypeAlias = Literal["translation", "language_model", "tagging", "classification", "forecasting"]
VocabSize: TypeAlias = Annotated[int, Field(ge=8, le=1_000_000)]


def _check_device(value: str) -> str:
    if not re.fullmatch(r"cpu|mps|xpu|cuda|cuda:[0-9]{1,3}", value):
        raise ValueError(f"expected cpu, cuda, cuda:N, mps or xpu, got {show(value)}")
    return value


def _check_penalty(value: str) -> str:
    name, _, exponent = value.partition(":")
    is_plain = value in ("none", "average")
    is_number = bool(re.fullmatch(r"[0-9]{1,2}(\.[0-9]{1,9})?", exponent))
    if not is_plain and not (name in ("power", "gnmt") and is_number and float(exponent) <= 10):
        raise ValueError(
            f"expected none, average, power:NUMBER or gnmt:NUMBER with a number up to 10, got {show(value)}"
        )
    return value


def _check_keys(value: tuple[str, str]) -> tuple[str, str]:
    if not all(value) or value[0] == value[1]:
        raise ValueError(f"expected two different names, got {value[0]!r} and {value[1]!r}")
    return value


def _list_to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _full_name(value: Any) -> Any:
    return "language_model" if value == "lm" else value


Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_list_to_tuple)]


class SeriesConfig(Section):
    """What a time series is and how it is read; for the task forecasting only.

    From `target` to `time_format` as in `SeriesOptions` (data/series/). `horizon`: steps to forecast. `lookback`: most points
    of a history. `season`: steps in a season, 1 = none. `holdout`: points kept at the end of each series for validation.
    `skip_short`: leave out, by name, what is too short to learn from. None: chosen from the data, and recorded in the run.
    """

    target: Names = ()
    time: str = ""
    id: str = ""
    known: Names = ()
    past: Names = ()
    static: Names = ()
    zone: str = ""
    frequency: str = ""
    missing: Literal["refuse", "mask", "interpolate"] = "refuse"
    fill: bool = False
    sort: bool = False
    repeated: Literal["refuse", "order", "first", "second"] = "refuse"
    skipped: Literal["refuse", "drop"] = "refuse"
    time_unit: Literal["", "row", "s", "ms", "us", "ns"] = ""
    time_format: str = ""
    horizon: Annotated[int, Field(ge=1, le=100_000)] | None = None
    lookback: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    season: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    holdout: Annotated[int, Field(ge=0, le=10**12)] | None = None
    skip_short: bool = False


class DataConfig(SeriesConfig):
    """What is to be learned, where the text is and how it is read. `max_tokens` counts pieces a side, the end token not counted.

    `target_order` right-to-left: the model writes targets from their end, to rerank what another run finds.

    Language models only: `unit` is stream (one long text, a newline is a symbol) or lines (each line is a text of its own);
    a stream is cut into windows of `context` pieces, and `carry_state` lets each begin in the state the one before it ended in.
    A run records the SHA-256 of its training and validation data as `fingerprint`, and not their path.
    """

    task: Annotated[TaskName, BeforeValidator(_full_name)] = "translation"
    train: str = ""
    valid: str = ""
    keys: Annotated[tuple[str, str], BeforeValidator(_list_to_tuple), AfterValidator(_check_keys)] = (
        "source",
        "target",
    )
    normalize_whitespace: bool = False
    max_tokens: Annotated[int, Field(ge=1, le=65_536)] = 256
    target_order: Literal["left-to-right", "right-to-left"] = "left-to-right"
    unit: Literal["stream", "lines"] | None = None
    context: Annotated[int, Field(ge=1, le=1_048_576)] | None = None
    carry_state: bool | None = None
    fingerprint: str = ""

    @model_validator(mode="after")
    def _check_series(self) -> DataConfig:
        if self.task != "forecasting":
            for key, info in SeriesConfig.model_fields.items():
                if getattr(self, key) != info.default:
                    raise KeyFault(key, f"is for the task forecasting, and this is {self.task}")
            return self
        if self.valid:
            raise KeyFault("valid", "forecasting validates on the end of each series: set data.holdout to its points")
        for key in ("keys", "normalize_whitespace", "max_tokens"):
            if getattr(self, key) != DataConfig.model_fields[key].default:
                raise KeyFault(key, "has no meaning for series, the data of the task forecasting")
        return self

    @model_validator(mode="after")
    def _check_stream(self) -> DataConfig:
        if self.task != "language_model" and self.unit is not None:
            raise KeyFault("unit", f"is for the task language_model, and this is {self.task}")
        if self.task != "language_model" or self.unit == "lines":
            for key in ("context", "carry_state"):
                if getattr(self, key) is not None:
                    raise KeyFault(key, "is for the task language_model with data.unit stream")
        if self.task != "translation" and self.target_order != "left-to-right":
            raise KeyFault("target_order", f"is for the task translation, and this is {self.task}")
        if self.task == "language_model":
            for key in ("keys", "normalize_whitespace"):
                if getattr(self, key) != DataConfig.model_fields[key].default:
                    raise KeyFault(key, "has no meaning for plain text, the data of the task language_model")
            if self.unit != "lines" and self.max_tokens != DataConfig.model_fields["max_tokens"].default:
                raise KeyFault("max_tokens", "has no meaning for a stream, which data.context cuts into windows")
        return self


class SideConfig(Section):
    """The tokenizer of one side where it differs; None: as set for both sides."""

    kind: Kind | None = None
    vocab_size: VocabSize | None = None


class TokenizerConfig(Section):
    """How text is cut into pieces. `kind` and `vocab_size` set both sides; `byte_fallback` acts on unigram and bpe."""

    kind: Kind = "unigram"
    vocab_size: VocabSize | None = None
    byte_fallback: bool = True
    is_shared: bool | None = None
    source: SideConfig = SideConfig()
    target: SideConfig = SideConfig()

    @property
    def source_side(self) -> SideConfig:
        """The source's kind and size after the settings of both sides are filled in."""
        return self._filled(self.source)

    @property
    def target_side(self) -> SideConfig:
        """The target's kind and size after the settings of both sides are filled in."""
        return self._filled(self.target)

    @property
    def has_one_vocabulary(self) -> bool:
        """Whether both sides share one tokenizer: as said by `is_shared`, else when kinds and sizes agree."""
        return self.source_side == self.target_side if self.is_shared is None else self.is_shared

    def _filled(self, side: SideConfig) -> SideConfig:
        return SideConfig(kind=side.kind or self.kind, vocab_size=side.vocab_size or self.vocab_size)

    @model_validator(mode="after")
    def _check_shared(self) -> TokenizerConfig:
        if self.is_shared and self.source_side != self.target_side:
            raise ValueError("is_shared = true needs the same kind and vocab_size in tokenizer.source and .target")
        return self


class ModelConfig(Section):
    """Which recipe and how large; every other key is a setting of the recipe, checked by the recipe's own class.

    An empty `architecture` means that none was named yet.
    """

    model_config = ConfigDict(extra="allow")

    architecture: str = ""
    size: Size = "auto"

    @property
    def settings(self) -> dict[str, Any]:
        """The recipe's own settings: a new dict of the extra keys."""
        return dict(self.model_extra or {})

    @model_validator(mode="after")
    def _check_settings(self) -> ModelConfig:
        for key, value in self.settings.items():
            near = is_near(key, ModelConfig.model_fields)
            if near or not re.fullmatch(r"[a-z][a-z0-9_]{0,63}", key):
                raise KeyFault(key, f"unknown key; {did_you_mean(key, ModelConfig.model_fields)}")
            for part in value if isinstance(value, list | tuple) else [value]:
                if not _is_setting(part):
                    wanted = "expected text, a finite number, true, false or a list of them"
                    raise KeyFault(key, f"{wanted}, got {show(value)}")
        return self


def _is_setting(value: Any) -> bool:
    return isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))


class TrainingConfig(Section):
    """How long and how to train. None: chosen from the data and the machine, and recorded in the run."""

    max_steps: Count | None = None
    max_minutes: Annotated[float, Field(gt=0, le=1e6)] | None = None
    max_epochs: Count | None = None
    batch_tokens: Annotated[int, Field(ge=1, le=10**8)] | None = None
    learning_rate: Annotated[float, Field(gt=0)] | None = None
    warmup_steps: Annotated[int, Field(ge=0, le=10**12)] | None = None
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.1
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    clip_norm: Annotated[float, Field(ge=0)] = 1.0
    clip_value: Annotated[float, Field(ge=0)] = 0.0
    average_decay: Annotated[float, Field(ge=0, lt=1)] = 0.999
    validate_every: Count | None = None
    validate_sentences: Count = 200
    checkpoint_every: Count | None = None
    snapshots: Annotated[int, Field(ge=0, le=1000)] = 0
    patience: Annotated[int, Field(ge=0, le=10**12)] = 10
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    threads: Annotated[int, Field(ge=1, le=1024)] | None = None
    device: Annotated[str, AfterValidator(_check_device)] = "cpu"

    @model_validator(mode="after")
    def _check_warmup(self) -> TrainingConfig:
        if self.max_steps is not None and self.warmup_steps is not None and self.warmup_steps > self.max_steps:
            raise ValueError(
                f"training.warmup_steps ({self.warmup_steps}) is larger than training.max_steps ({self.max_steps})"
            )
        return self


class DecodingConfig(Section):
    """How outputs are searched; lengths are counted in pieces.

    An output has at most `max_length_factor` * source length + `max_length_extra` pieces, its end mark included, and at most
    `max_length` where that is set; at least `min_length`, its end mark not counted. `length_penalty` is none, average,
    power:NUMBER or gnmt:NUMBER. `coverage_penalty` is the strength of the coverage term that ranks what a beam found (models
    with attention). `num_groups` and `diversity`: a beam in groups that avoid what the groups before them chose.
    `no_repeat_ngram` N: no N pieces in a row occur twice; `max_repeats` N: nothing stands more than N times in a row.
    """

    beam_size: Annotated[int, Field(ge=1, le=1024)] = 5
    length_penalty: Annotated[str, AfterValidator(_check_penalty)] = "average"
    coverage_penalty: Annotated[float, Field(ge=0, le=10)] = 0.0
    max_length_factor: Annotated[float, Field(ge=0, le=100)] = 2.0
    max_length_extra: Annotated[int, Field(ge=0, le=65_536)] = 50
    max_length: Annotated[int, Field(ge=1, le=65_536)] | None = None
    min_length: Annotated[int, Field(ge=0, le=65_536)] = 1
    num_groups: Annotated[int, Field(ge=1, le=1024)] = 1
    diversity: Annotated[float, Field(ge=0, le=1000)] = 0.0
    no_repeat_ngram: Annotated[int, Field(ge=1, le=65_536)] | None = None
    max_repeats: Annotated[int, Field(ge=1, le=65_536)] | None = None
    batch_tokens: Annotated[int, Field(ge=1, le=10**8)] = 4096

    @model_validator(mode="after")
    def _check_room(self) -> DecodingConfig:
        if self.max_length_factor == 0 and self.max_length_extra < max(1, self.min_length):
            raise ValueError(
                f"decoding.max_length_extra ({self.max_length_extra}) leaves no room for decoding.min_length "
                f"({self.min_length}) while decoding.max_length_factor is 0"
            )
        if self.max_length is not None and self.max_length <= self.min_length:
            raise KeyFault("max_length", f"leaves no room for decoding.min_length {self.min_length} and the end mark")
        return self

    @model_validator(mode="after")
    def _check_groups(self) -> DecodingConfig:
        if self.beam_size % self.num_groups:
            raise KeyFault("num_groups", f"{self.num_groups} groups do not share {self.beam_size} places evenly")
        if self.diversity and self.num_groups == 1:
            raise KeyFault("diversity", "acts between groups of a beam: set decoding.num_groups to 2 or more")
        return self


class Config(Section):
    """All settings of a run, frozen."""

    data: DataConfig = DataConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    decoding: DecodingConfig = DecodingConfig()

    @model_validator(mode="after")
    def _check_task(self) -> Config:
        """Refuse settings that the task has no use for."""
        if self.data.task == "translation":
            return self
        only, plain = f"is for the task translation, and this is {self.data.task}", TokenizerConfig()
        for key in ("source", "target", "is_shared"):
            if getattr(self.tokenizer, key) != getattr(plain, key):
                raise KeyFault(f"tokenizer.{key}", only)
        for key, value in self.decoding:
            if value != getattr(DecodingConfig(), key):
                raise KeyFault(f"decoding.{key}", only)
        if self.data.task == "tagging" and "kind" in self.tokenizer.model_fields_set and self.tokenizer.kind != "word":
            raise KeyFault("tokenizer.kind", f"tagging needs word, a tag for every token, got {self.tokenizer.kind}")
        return self

    def replace(self, **changes: Any) -> Config:
        """Return a checked copy with some keys changed: `config.replace(**{"training.max_steps": 100})`.

        A value of None gives the key its default back.

        Raises:
            UserError: an unknown key or a value that does not fit.
        """
        values = self.model_dump(exclude_unset=True)  # so that a copy still knows what was given and what is a default
        for key, value in changes.items():
            assign(values, key, value.model_dump() if isinstance(value, BaseModel) else value)
        return _validated(values, lambda key: key)


def load_config(toml_path: PathLike | None, overrides: Sequence[str] = ()) -> Config:
    """Read a TOML file, if any, put the overrides over it and check the whole.

    Args:
        toml_path: The file, or None for the defaults.
        overrides: `section.key=value` each; the value is TOML, and what is no TOML value is text.

    Raises:
        UserError: no such file, no TOML, an unknown key, a wrong type or a value out of range.
    """
    values: dict[str, Any] = {}
    where = ""
    if toml_path is not None:
        where, values = str(toml_path), read_tables(toml_path)
    changed: set[str] = set()
    for override in overrides:
        key, value = parse_override(override)
        changed.add(key)
        assign(values, key, value)

    def place(key: str) -> str:
        ours = any(key == c or key.startswith(c + ".") or c.startswith(key + ".") for c in changed)
        return f"--set {key}" if ours else f"{where}: {key}" if where else key

    return _validated(values, place)


def parse_toml(data: bytes, where: str) -> Config:
    """Check the bytes of a TOML file; `where` names it in errors.

    Raises:
        UserError: see `load_config`.
    """
    return _validated(parse_tables(data, where), lambda key: f"{where}: {key}")


def dump_toml(config: Config) -> str:
    """Return TOML that `parse_toml` reads back into an equal config; settings that are None are left out."""
    return tomli_w.dumps(config.model_dump(exclude_none=True))


def _validated(values: dict[str, Any], place: Callable[[str], str]) -> Config:
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise section_fault(error, Config, place) from error
