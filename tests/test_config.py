"""A configuration is accepted as it is written or refused in one line that names the key."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from seqline.config import Config, dump_toml, load_config, parse_toml
from seqline.errors import UserError
from seqline.sections import Section, is_near, validate_section
from seqline.tables import MAX_CONFIG_BYTES


class RecipeSettings(Section):
    hidden_size: Annotated[int, Field(ge=1, le=16_384)] = 256
    num_layers: Annotated[int, Field(ge=1, le=64)] = 2
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    score: str = "additive"


def sections(config: Config = Config()) -> dict[str, dict[str, Any]]:  # noqa: B008 (frozen)
    return config.model_dump()


KEYS = [f"{section}.{key}" for section, values in sections().items() for key in values]


def refusal(toml: str | bytes, where: str = "c.toml") -> str:
    with pytest.raises(UserError) as caught:
        parse_toml(toml if isinstance(toml, bytes) else toml.encode(), where)
    message = str(caught.value)
    assert message.startswith(where)
    assert message.isprintable()
    assert len(message) < 500
    return message


def override_refusal(*overrides: str) -> str:
    with pytest.raises(UserError) as caught:
        load_config(None, overrides)
    assert str(caught.value).startswith("--set")
    return str(caught.value)


# Every valid configuration.

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
counts = st.integers(1, 10**6)
kinds = st.sampled_from(["unigram", "bpe", "char", "word"])
fractions = st.floats(0, 0.999)
positive = st.floats(1e-12, 1e12)
sides = st.fixed_dictionaries({}, optional={"kind": kinds, "vocab_size": st.integers(8, 10**6)})
scalars = st.one_of(
    words, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False)
)
settings = st.dictionaries(
    st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True).filter(
        lambda key: not is_near(key, ["architecture", "size"])
    ),
    scalars | st.lists(scalars, max_size=3),
    max_size=4,
)
valid_values = st.fixed_dictionaries(
    {},
    optional={
        "data": st.fixed_dictionaries(
            {},
            optional={
                "train": words,
                "valid": words,
                "keys": st.lists(words.filter(bool), min_size=2, max_size=2, unique=True),
                "normalize_whitespace": st.booleans(),
                "max_tokens": st.integers(1, 65_536),
            },
        ),
        "tokenizer": st.fixed_dictionaries(
            {},
            optional={
                "kind": kinds,
                "vocab_size": st.integers(8, 10**6),
                "byte_fallback": st.booleans(),
                "is_shared": st.just(False),
                "source": sides,
                "target": sides,
            },
        ),
        "model": st.tuples(
            st.fixed_dictionaries(
                {}, optional={"architecture": words, "size": st.sampled_from(["auto", "tiny", "base"])}
            ),
            settings,
        ).map(lambda both: {**both[1], **both[0]}),
        "training": st.fixed_dictionaries(
            {},
            optional={
                "max_steps": st.integers(10**6, 10**12),
                "max_minutes": st.floats(1e-6, 1e6),
                "max_epochs": counts,
                "batch_tokens": counts,
                "learning_rate": positive | st.just(1e30),
                "warmup_steps": st.integers(0, 10**6),
                "label_smoothing": fractions,
                "weight_decay": st.just(0) | positive,
                "clip_norm": positive,
                "average_decay": fractions,
                "validate_every": counts,
                "validate_sentences": counts,
                "checkpoint_every": counts,
                "patience": counts,
                "seed": st.integers(0, 2**63 - 1),
                "threads": st.integers(1, 64),
                "device": st.sampled_from(["cpu", "cuda", "cuda:3", "mps"]),
            },
        ),
        "decoding": st.fixed_dictionaries(
            {},
            optional={
                "beam_size": st.integers(1, 1024),
                "length_penalty": st.sampled_from(["none", "average", "power:0.5", "gnmt:1"]),
                "max_length_factor": st.floats(0.1, 100),
                "max_length_extra": st.integers(0, 1000),
                "min_length": st.integers(0, 1000),
                "batch_tokens": counts,
            },
        ),
    },
)


@given(valid_values)
def test_what_is_dumped_is_parsed_back(values: dict[str, Any]) -> None:
    config = Config.model_validate(values)
    text = dump_toml(config)
    again = parse_toml(text.encode("utf-8"), "again")
    assert again == config
    assert again.model.settings == config.model.settings
    assert dump_toml(again) == text


@given(st.data())
def test_a_misspelt_key_is_refused_with_the_right_one(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from([key for key in KEYS if not key.startswith("model.")]))
    section, _, key = path.rpartition(".")
    place = data.draw(st.integers(1, len(key) - 2))
    edit = data.draw(st.sampled_from(["drop", "double", "swap"]))
    mutants = {
        "drop": key[:place] + key[place + 1 :],
        "double": key[:place] + key[place] + key[place:],
        "swap": key[:place] + key[place + 1] + key[place] + key[place + 2 :],
    }
    mutant = mutants[edit]
    if mutant in {name.rpartition(".")[2] for name in KEYS}:
        return
    assert refusal(f"[{section}]\n{mutant} = 1") == f"c.toml: {section}.{mutant}: unknown key; did you mean {key!r}?"
    assert override_refusal(f"{section}.{mutant}=1") == f"--set {section}.{mutant}: unknown key; did you mean {key!r}?"


@pytest.mark.parametrize("path", KEYS)
def test_every_key_refuses_a_value_of_another_type(path: str) -> None:
    section, _, key = path.rpartition(".")
    default = sections()[section][key]
    wrong: list[Any] = ["[[1]]", "1979-05-27"] + ([] if isinstance(default, dict) else ["{a = 1}"])
    wrong += ["'1'"] if not isinstance(default, str) else ["1", "1.5", "true"]
    wrong += (
        ["true"] if not isinstance(default, bool) and path not in ("tokenizer.is_shared", "data.carry_state") else []
    )
    for value in wrong:
        message = refusal(f"[{section}]\n{key} = {value}")
        assert re.match(rf"c\.toml: {re.escape(path)}(\.0)?: expected .*, got ", message)


@pytest.mark.parametrize("value", ["-1", "-0.5", "nan", "inf", "-inf", "9" * 30, "9" * 400, "1e999"])
@pytest.mark.parametrize("path", [key for key in KEYS if key.startswith(("training.", "decoding."))])
def test_every_number_refuses_what_is_negative_or_not_finite(path: str, value: str) -> None:
    section, _, key = path.rpartition(".")
    assert refusal(f"[{section}]\n{key} = {value}").startswith(f"c.toml: {path}: expected ")


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[trainng]\n", "trainng: unknown key; did you mean 'training'?"),
        ("max_steps = 3", "max_steps: unknown key; did you mean 'training.max_steps'?"),
        ("[training]\nbeam_size = 3", "training.beam_size: unknown key; did you mean 'decoding.beam_size'?"),
        ("[tokenizer.source]\nkindd = 'bpe'", "tokenizer.source.kindd: unknown key; did you mean 'kind'?"),
        ("training = 1", "training: expected a table, got 1"),
        ("[decoding]\nbeam_size = 'five'", "decoding.beam_size: expected a whole number, got 'five' (text)"),
        ("[decoding]\nbeam_size = 5.0", "decoding.beam_size: expected a whole number, got 5.0"),
        ("[training]\nmax_steps = true", "training.max_steps: expected a whole number, got true"),
        ("[training]\nmax_steps = 0", "training.max_steps: expected a number of at least 1, got 0"),
        ("[training]\nlearning_rate = 0", "training.learning_rate: expected a number above 0.0, got 0"),
        ("[training]\nlearning_rate = nan", "training.learning_rate: expected a finite number, got nan"),
        ("[training]\nlabel_smoothing = 1", "training.label_smoothing: expected a number below 1.0, got 1"),
        ("[tokenizer]\nvocab_size = 1000000000000", "tokenizer.vocab_size: expected a number of at most 1000000, got"),
        ("[tokenizer]\nkind = 'unigrm'", "tokenizer.kind: expected 'unigram', 'bpe', 'char' or 'word', got 'unigrm'"),
        ("[training]\ndevice = 'gpu'", "training.device: expected cpu, cuda, cuda:N, mps or xpu, got 'gpu' (text)"),
        ("[decoding]\nlength_penalty = 'power'", "decoding.length_penalty: expected none, average, power:NUMBER or"),
        ("[data]\nkeys = ['a', 'a']", "data.keys: expected two different names"),
        ("[data]\nkeys = ['a']", "data.keys.1: is missing"),
        ("[data]\nkeys = ['a', 'b', 'c']", "data.keys: expected at most 2 values, got a list of 3"),
        (
            "[training]\nwarmup_steps = 9\nmax_steps = 5",
            "training: training.warmup_steps (9) is larger than training.max_steps (5)",
        ),
        (
            "[tokenizer]\nis_shared = true\nsource = {kind = 'char'}",
            "tokenizer: is_shared = true needs the same kind and vocab_size in tokenizer.source and .target",
        ),
        (
            "[decoding]\nmax_length_factor = 0\nmax_length_extra = 0",
            "decoding: decoding.max_length_extra (0) leaves no",
        ),
        ("[model]\nsiez = 'tiny'", "model.siez: unknown key; did you mean 'size'?"),
        ("[model]\n_target_ = 'os.system'", "model._target_: unknown key"),
        ("[model]\nx = {class = 'os.system'}", "model.x: expected text, a finite number, true, false or a list"),
        ("[model]\nx = nan", "model.x: expected text, a finite number"),
        ("_target_ = 'os.system'", "_target_: unknown key"),
        ("trust_remote_code = true", "trust_remote_code: unknown key"),
        ('"a\\nb\\u001b[31m" = 1', r"'a\nb\x1b[31m': unknown key"),
        ("a = !!python/object", "is not TOML: Invalid value (at line 1, column 5)"),
    ],
)
def test_refusals_say_what_is_wrong(toml: str, message: str) -> None:
    text = refusal(toml)
    assert message in text
    assert toml.startswith("a = ") or text.startswith(f"c.toml: {message}")


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (b"\n\n[data]\ntrain = '\xff'", "c.toml:4: is not UTF-8"),
        (b"[training]\nseed = 1\nseed = 2\n", "c.toml:3: is not TOML: Cannot overwrite a value"),
        (b"x = \n", "c.toml:1: is not TOML"),
        (b"[data]\ntrain = 'a\0'", "c.toml:2: is not TOML"),
        (b"[training]\nseed = " + b"9" * 5000, "c.toml: holds a number of thousands of digits"),
        (b"a = " + b"[" * 10_000, "c.toml: is nested too deeply"),
        (b"a" + b".a" * 8_000 + b" = 1", "c.toml: a: unknown key"),
        (b"model.a" + b".a" * 8_000 + b" = 1", "c.toml: model.a: expected text"),
        (b"#" * (MAX_CONFIG_BYTES + 1), "c.toml: is larger than 16,384 bytes"),
    ],
)
def test_hostile_files_are_refused(toml: bytes, message: str) -> None:
    assert refusal(toml).startswith(message)


@given(st.binary(max_size=60) | st.text("[]{}=.,'\"# \n\\ax1-:", max_size=40).map(str.encode))
def test_any_bytes_give_a_config_or_a_user_error(data: bytes) -> None:
    try:
        result = parse_toml(data, "c.toml")
    except UserError as error:
        result = str(error)
    assert isinstance(result, Config) or (result.startswith("c.toml") and "\n" not in result)


def test_the_empty_config_has_the_documented_defaults() -> None:
    config = load_config(None)
    assert config == parse_toml(b"", "empty") == Config()
    assert (config.tokenizer.kind, config.decoding.beam_size, config.decoding.length_penalty) == (
        "unigram",
        5,
        "average",
    )
    assert config.training.max_steps is None
    assert not config.data.normalize_whitespace


def test_the_byte_order_mark_and_crlf_of_an_editor_are_read() -> None:
    assert parse_toml(b"\xef\xbb\xbf[training]\r\nseed = 7\r\n", "c").training.seed == 7


def test_overrides_stand_above_the_file_and_the_last_one_wins(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_bytes(b"[training]\nmax_steps = 5\nseed = 3\n[model]\narchitecture = 'gru'\nhidden_size = 8\n")
    config = load_config(
        path,
        ["training.max_steps=7", "training.max_steps = 9", "model.dropout=0.25", "tokenizer.source={kind = 'char'}"],
    )
    assert (config.training.max_steps, config.training.seed) == (9, 3)
    assert config.model.settings == {"hidden_size": 8, "dropout": 0.25}
    assert config.tokenizer.source.kind == "char"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a.tsv", "a.tsv"),
        ("", ""),
        ("'12'", "12"),
        ("2024-01-01", "2024-01-01"),
        ("a b=c", "a b=c"),
        ("x,y", "x,y"),
        ("été#1", "été#1"),
        ("~/$HOME/../x", "~/$HOME/../x"),
        ("1\n[model]\nsize='tiny'", "1\n[model]\nsize='tiny'"),
    ],
)
def test_an_override_that_is_no_toml_value_is_text_as_it_stands(text: str, value: str) -> None:
    assert load_config(None, [f"data.train={text}"]).data.train == value.strip()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.max_steps", "--set: expected key=value, got 'training.max_steps' (text)"),
        ("=3", "--set: expected key=value"),
        ("a..b=3", "--set: expected key=value"),
        ("training.max_steps=five", "--set training.max_steps: expected a whole number, got 'five' (text)"),
        ("training.seed='1", "--set training.seed: no TOML value"),
        ("training.seed.x=1", "--set training.seed: expected a whole number, got a table"),
        ("training=5", "--set training: expected a table, got 5"),
        ("seed=1", "--set seed: unknown key; did you mean 'training.seed'?"),
        ("data.train=5", "--set data.train: expected text, got 5; put it in quotes"),
        ("data.train=\udcff", "--set data.train: expected valid Unicode"),
        ("training.warmup_steps=" + "[" * 5000, "--set training.warmup_steps: no TOML value"),
    ],
)
def test_refused_overrides_name_the_option(override: str, message: str) -> None:
    assert override_refusal(override).startswith(message)


def test_a_fault_of_the_file_is_blamed_on_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_bytes(b"[training]\nmax_steps = 'x'\n")
    with pytest.raises(UserError) as caught:
        load_config(path, ["training.seed=2"])
    assert str(caught.value) == f"{path}: training.max_steps: expected a whole number, got 'x' (text)"
    with pytest.raises(UserError, match="no such file"):
        load_config(tmp_path / "none.toml")
    with pytest.raises(UserError, match="a folder"):
        load_config(tmp_path)


def test_a_config_is_frozen_and_replace_gives_a_checked_copy() -> None:
    config = Config().replace(**{"model.architecture": "gru", "model.dropout": 0.5, "training.max_steps": 100})
    with pytest.raises(ValidationError, match="frozen"):
        config.training.max_steps = 5  # pyright: ignore[reportAttributeAccessIssue]
    changed = config.replace(**{"training.max_steps": None, "model.dropout": None, "decoding.beam_size": 2})
    assert (config.training.max_steps, config.decoding.beam_size) == (100, 5)
    assert (changed.training.max_steps, changed.decoding.beam_size) == (None, 2)
    assert (config.model.settings, changed.model.settings) == ({"dropout": 0.5}, {})
    assert changed.replace(training=config.training).training.max_steps == 100
    with pytest.raises(UserError, match=r"training.max_step: unknown key; did you mean 'max_steps'"):
        config.replace(**{"training.max_step": 5})
    with pytest.raises(UserError, match=r"training.max_steps: expected a whole number, got inf"):
        config.replace(**{"training.max_steps": math.inf})


@pytest.mark.parametrize(
    ("toml", "source", "target", "has_one"),
    [
        ("", ("unigram", None), ("unigram", None), True),
        ("kind = 'char'\nvocab_size = 99", ("char", 99), ("char", 99), True),
        ("source = {kind = 'char'}", ("char", None), ("unigram", None), False),
        ("target = {vocab_size = 50}\nvocab_size = 70", ("unigram", 70), ("unigram", 50), False),
        ("is_shared = false", ("unigram", None), ("unigram", None), False),
    ],
)
def test_the_sides_of_the_tokenizer(toml: str, source: Any, target: Any, has_one: bool) -> None:
    tokenizer = parse_toml(f"[tokenizer]\n{toml}".encode(), "c").tokenizer
    assert (tokenizer.source_side.kind, tokenizer.source_side.vocab_size) == source
    assert (tokenizer.target_side.kind, tokenizer.target_side.vocab_size) == target
    assert tokenizer.has_one_vocabulary == has_one


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"droput": 0.1}, "c.toml: model.droput: unknown key; did you mean 'dropout'?"),
        ({"sizee": 0.1}, "c.toml: model.sizee: unknown key; did you mean 'size'?"),
        ({"hidden_size": 10**7}, "c.toml: model.hidden_size: expected a number of at most 16384, got 10000000"),
        ({"hidden_size": "5"}, "c.toml: model.hidden_size: expected a whole number, got '5' (text)"),
        ({"score": "\ud800"}, "c.toml: model.score: expected valid Unicode, got '\\ud800' (text)"),
    ],
)
def test_a_recipe_section_is_refused_in_the_same_words(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        validate_section(RecipeSettings, values, "c.toml: model", also_known=["size", "architecture"])
    assert str(caught.value) == message


def test_a_recipe_section_that_fits_comes_back_as_its_class() -> None:
    settings = validate_section(RecipeSettings, {"dropout": 0, "num_layers": 3}, "c.toml: model")
    assert settings == RecipeSettings(dropout=0.0, num_layers=3)
