"""Pairs are read, split and counted without shifting, repairing or losing one silently."""

from __future__ import annotations

import gzip
import io
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.text import (
    Pair,
    PairSet,
    Tally,
    drop_blank,
    hold_out,
    normalize_whitespace,
    read_data,
    read_pairs,
    read_set,
    require_pairs,
)
from seqline.errors import UserError

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\t"), max_size=12)
texts |= st.sampled_from(
    ["", " ", "\u2028", "a\u2029b", "\x85", "a\x0bb\x0cc\x1cd\x1ee", "a\rb", "\ufeff", "e\u0301", "👩\u200d🚀"]
)
# A `\r` at the end of a line belongs to the line end, and so does a byte order mark to the start of the file.
sides = texts.filter(lambda text: not text.endswith("\r") and not text.startswith("\ufeff"))


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(UserError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def both(pairs: PairSet) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in pairs.pairs]


def make(count: int, start: int = 0) -> list[Pair]:
    return [Pair(f"source {i}", f"target {i}", i + 1) for i in range(start, start + count)]


@given(st.lists(st.tuples(sides, sides), max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_pairs_out_are_pairs_in_for_every_form(pairs: list[tuple[str, str]], end: str, is_gzip: bool) -> None:
    pack = gzip.compress if is_gzip else bytes
    suffix = ".gz" if is_gzip else ""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        forms = {
            "a.tsv": "".join(f"{source}\t{target}{end}" for source, target in pairs),
            "a.jsonl": "".join(json.dumps({"target": t, "n": 1, "source": s}) + end for s, t in pairs),
            "a.src": "".join(source + end for source, _ in pairs),
            "a.tgt": "".join(target + end for _, target in pairs),
        }
        for file, text in forms.items():
            (folder / (file + suffix)).write_bytes(pack(text.encode()))
        for spec in ("a.tsv", "a.jsonl"):
            found = read_pairs(f"{folder / spec}{suffix}")
            assert both(found) == pairs
            assert [pair.line for pair in found.pairs] == list(range(1, len(pairs) + 1))
        found = read_pairs(f"{folder}/a.src{suffix},{folder}/a.tgt{suffix}")
        assert both(found) == pairs


@given(
    st.binary(max_size=60) | st.text('\t\n\r {}":,ab\\u\0', max_size=40).map(str.encode),
    st.sampled_from(["a.tsv", "a.jsonl"]),
)
def test_any_bytes_give_pairs_or_one_line_with_the_file(data: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        try:
            found: PairSet | str = read_pairs(str(path))
        except UserError as error:
            found = str(error)
    if isinstance(found, str):
        assert found.startswith(f"{path}")
        assert "\n" not in found
    else:
        assert len(found.pairs) == data.count(b"\n") + (not data.endswith(b"\n") and data not in (b"", b"\xef\xbb\xbf"))


@pytest.mark.parametrize(
    ("data", "place", "message"),
    [
        (b"a\tb\nc d\n", 2, "expected source TAB target, got 1 column (no tab); put exactly one tab"),
        (b"a\tb\tc\n", 1, "expected source TAB target, got 3 columns;"),
        (b"a\tb\n  \n", 2, "expected source TAB target, got 1 column"),
        (
            b'"a\tb"\tc\n',
            1,
            "expected source TAB target, got 3 columns; put exactly one tab in each line; there are no q",
        ),
        (b"a\tb\nc\xff\td\n", 2, "not UTF-8"),
        (b"a\tb\0\n", 1, "NUL character"),
    ],
)
def test_tsv_faults_are_named_with_their_line(tmp_path: Path, data: bytes, place: int, message: str) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(data)
    assert refusal(lambda: read_pairs(str(path))).startswith(f"{path}:{place}: {message}")


def test_blank_sides_and_empty_lines_stay_pairs(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"a\t\n\n\tb\n\t\n")
    assert read_pairs(str(path)).pairs == [Pair("a", "", 1), Pair("", "", 2), Pair("", "b", 3), Pair("", "", 4)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"", "blank line in JSON lines"),
        (b"{", "no JSON: "),
        (b"[1, 2]", "expected a JSON object, got a list"),
        (b"null", "expected a JSON object, got null"),
        (b'{"source": "a"}', "no key 'target'; its keys: 'source'; name them with --keys"),
        (b'{"source": "a", "target": 1}', "expected text under 'target', got a number"),
        (b'{"source": null, "target": "b"}', "expected text under 'source', got null"),
        (b'{"source": "a", "target": "b", "source": "c"}', "key 'source' twice in one object"),
        (b'{"source": "a", "target": "b", "x": {"y": 1, "y": 1}}', "key 'y' twice in one object"),
        (b'{"source": "a", "target": "b", "x": NaN}', "NaN is no JSON"),
        (b'{"source": "a", "target": "b", "x": -Infinity}', "-Infinity is no JSON"),
        (b'{"source": "a", "target": "b", "x": 1e999}', "a number too large to hold"),
        (b'{"source": "a", "target": "b", "x": ' + b"9" * 5000 + b"}", "a number with too many digits"),
        (b'{"source": "a", "target": "b", "x": ' + b"[" * 30_000, "JSON nested too deeply"),
        (b'{"source": "\\ud800", "target": "b"}', "half a surrogate pair under 'source'"),
        (b'{"source": "a", "target": "\\u0000"}', "NUL character under 'target'"),
        (b'{"source": "a", "target": "b"} x', "no JSON: Extra data"),
    ],
)
def test_json_faults_are_named_with_their_line(tmp_path: Path, line: bytes, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"source": "a", "target": "b"}\n' + line + b"\n")
    assert refusal(lambda: read_pairs(str(path))).startswith(f"{path}:2: {message}")


def test_json_keys_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"source": "no", "q": "a", "r": "b"}\n')
    assert read_pairs(str(path), ("r", "q")).pairs == [Pair("b", "a", 1)]


@pytest.mark.parametrize(
    ("sources", "targets", "numbers", "longer", "extra"),
    [
        (b"a\nb\nc\nd\n", b"A\nB\nC\n", "4 lines in {s} but 3 in {t}", "s", "4"),
        (b"a\n", b"A\nB", "1 lines in {s} but 2 in {t}", "t", "2"),
        (b"a\nb", b"A\nB\n\n", "2 lines in {s} but 3 in {t}", "t", "3"),
        (b"", b"A\n" * 100_000, "0 lines in {s} but 100,000 in {t}", "t", "1"),
    ],
)
def test_unequal_files_are_refused_with_both_counts(
    tmp_path: Path, sources: bytes, targets: bytes, numbers: str, longer: str, extra: str
) -> None:
    paths = {"s": tmp_path / "s", "t": tmp_path / "t"}
    paths["s"].write_bytes(sources)
    paths["t"].write_bytes(targets)
    message = refusal(lambda: read_pairs(f"{paths['s']},{paths['t']}"))
    assert numbers.format(**paths) + f"; {paths[longer]} is longer: its line {extra} has no partner" in message


def test_a_missing_final_newline_is_no_difference(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"a\nb\n")
    (tmp_path / "t").write_bytes(b"A\nB")
    assert both(read_pairs(f"{tmp_path}/s,{tmp_path}/t")) == [("a", "A"), ("b", "B")]


def test_a_comma_splits_only_where_no_file_has_the_whole_name(tmp_path: Path) -> None:
    for name, data in {"a,b": b"x\ty\n", "a": b"1\n", "b": b"2\n", "c,d": b"3\n"}.items():
        (tmp_path / name).write_bytes(data)
    assert both(read_pairs(f"{tmp_path}/a,b")) == [("x", "y")]
    assert both(read_pairs(f"{tmp_path}/a,{tmp_path}/b")) == [("1", "2")]
    assert both(read_pairs(f"{tmp_path}/c,d,{tmp_path}/a")) == [("3", "1")]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "no data named"),
        ("{d}/none.tsv", "{d}/none.tsv: no such file"),
        ("{d}/a,{d}/none", "{d}/none: no such file"),
        ("{d}/none,{d}/a", "{d}/none: no such file"),
        ("{d}/a,{d}/sub", "{d}/sub: expected a file, this is a folder"),
        ("{d}/sub", "{d}/sub: expected a file, this is a folder"),
        ("-,-", "-,-: both sides cannot come from standard input"),
        ("https://example.org/a.tsv", "https://example.org/a.tsv: no such file; nothing is downloaded"),
        ("{d}/a,file:///etc/passwd", "file:///etc/passwd: no such file; nothing is downloaded"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, spec: str, message: str) -> None:
    (tmp_path / "a").write_bytes(b"a\n")
    (tmp_path / "sub").mkdir()
    assert refusal(lambda: read_pairs(spec.format(d=tmp_path))).startswith(message.format(d=tmp_path))


def test_standard_input_is_tsv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a\tb\nc")))
    assert refusal(lambda: read_pairs("-")).startswith("standard input:2: expected source TAB target")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a\tb\n")))
    assert both(read_pairs("-")) == [("a", "b")]


def fill(folder: Path, **files: str) -> str:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        data = text.encode()
        (folder / name.replace("_", ".")).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    return str(folder)


def test_a_folder_of_files_in_every_form(tmp_path: Path) -> None:
    spec = fill(
        tmp_path,
        train_tsv_gz="a\tb\n",
        dev_jsonl='{"source": "c", "target": "d"}\n',
        test_src="e\n",
        test_tgt_gz="f\n",
        README_md="x",
        train_pharaoh="0-0\n",
    )
    data = read_data(spec)
    assert both(data.train) == [("a", "b")]
    assert data.valid is not None
    assert both(data.valid) == [("c", "d")]
    assert data.test is not None
    assert both(data.test) == [("e", "f")]
    given = read_data(spec, valid=f"{tmp_path}/train.tsv.gz").valid
    assert given is not None
    assert both(given) == [("a", "b")]


def test_a_set_that_is_not_there_is_none(tmp_path: Path) -> None:
    data = read_data(fill(tmp_path, train_tsv="a\tb\n"))
    assert (data.valid, data.test, read_set(str(tmp_path), "test")) == (None, None, None)
    single = read_data(f"{tmp_path}/train.tsv", f"{tmp_path}/train.tsv")
    assert single.valid == single.train


def test_keys_choose_the_languages_and_the_direction(tmp_path: Path) -> None:
    two = fill(tmp_path / "two", train_fr="F\n", train_en="E\n")
    assert both(read_data(two).train) == [("E", "F")]
    assert read_data(two).train.name == f"{two}/train.en,{two}/train.fr"
    assert both(read_data(two, keys=("fr", "en")).train) == [("F", "E")]
    known = fill(tmp_path / "known", train_source="S\n", train_target="T\n")
    assert both(read_data(known).train) == [("S", "T")]
    backward = fill(tmp_path / "backward", train_tgt="T\n", train_src="S\n")
    assert both(read_data(backward).train) == [("S", "T")]
    three = fill(tmp_path / "three", train_cs="C\n", train_de="D\n", train_en="E\n")
    message = refusal(lambda: read_data(three))
    assert message.startswith(f"{three}: more than two files for train: suffixes cs, de, en; say which with data.keys")
    assert both(read_data(three, keys=("en", "cs")).train) == [("E", "C")]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {},
            "no training set in this folder: looked for train.tsv, train.tsv.gz, train.jsonl, train.jsonl.gz, or",
        ),
        ({"train_en": "a\n"}, "no training set in this folder"),
        ({"train_tsv": "a\tb\n", "train_jsonl": ""}, "several files could be the train set: train.tsv, train.jsonl"),
        (
            {"train_tsv": "", "train_a": "", "train_b": ""},
            "several files could be the train set: train.tsv, train.a+train.b",
        ),
        ({"train_tsv": "", "dev_tsv": "", "val_tsv": ""}, "several files could be the valid set: val.tsv, dev.tsv"),
        ({"train_a": "", "train_a_gz": "", "train_b": ""}, "both train.a and train.a.gz are there"),
    ],
)
def test_a_folder_that_is_not_clear_is_refused(tmp_path: Path, files: dict[str, str], message: str) -> None:
    spec = fill(tmp_path, **files)
    assert refusal(lambda: read_data(spec)).startswith(f"{spec}: {message}")


def test_an_empty_set_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"")
    pairs = read_pairs(str(path))
    assert refusal(lambda: require_pairs(pairs)).startswith(f"{path}: no usable pairs")
    assert refusal(lambda: require_pairs(pairs, "--valid")).startswith("--valid: no usable pairs")
    require_pairs(PairSet("x", make(1)))


def test_a_blank_side_drops_both_sides_and_is_counted() -> None:
    sources, targets = ["a b", "", "c d", "e f", " \u00a0", "\u2028"], ["A B", "X Y", "C D", "", "\t", "Z"]
    pairs = PairSet("x", [Pair(s, t, i) for i, (s, t) in enumerate(zip(sources, targets, strict=True), 1)])
    tally = Tally(len(pairs.pairs))
    kept = drop_blank(pairs, tally)
    assert [pair.line for pair in kept.pairs] == [1, 3]
    assert tally.reasons == {"empty source": [2, 6], "empty target": [4], "both empty": [5]}
    assert str(tally) == "kept 2 of 6: 2 empty source (line 2, 6), 1 empty target (line 4), 1 both empty (line 5)"


def test_a_tally_shows_counts_and_the_first_lines() -> None:
    tally = Tally(29_000)
    assert str(tally) == "kept 29,000 of 29,000"
    for line in (12, 40, 77, 80, 81, 82, 83):
        tally.add("empty source", line)
    for line in (501, 502):
        tally.add("target over 256 tokens", line)
    assert tally.kept == 28_991
    assert str(tally) == (
        "kept 28,991 of 29,000: 7 empty source (line 12, 40, 77, ...), 2 target over 256 tokens (line 501, 502)"
    )


@pytest.mark.parametrize(("count", "wanted"), [(20, 10), (499, 10), (550, 11), (5_000, 100), (150_000, 2_000)])
def test_two_percent_are_held_out_within_bounds(count: int, wanted: int) -> None:
    pairs = make(count)
    train, valid = hold_out(PairSet("x", pairs), 1)
    assert len(valid.pairs) == wanted
    assert len(train.pairs) == count - wanted
    assert sorted(train.pairs + valid.pairs, key=lambda pair: pair.line) == pairs
    assert [pair.line for pair in train.pairs] == sorted(pair.line for pair in train.pairs)
    assert [pair.line for pair in valid.pairs] == sorted(pair.line for pair in valid.pairs)


def test_the_seed_decides_what_is_held_out_for_good() -> None:
    pairs = make(600)
    train, valid = hold_out(PairSet("x", pairs), 1)
    again = hold_out(PairSet("x", pairs), 1)
    assert (train, valid) == again
    assert valid != hold_out(PairSet("x", pairs), 2)[1]
    backwards = hold_out(PairSet("x", pairs[::-1]), 1)[1]
    assert set(backwards.pairs) == set(valid.pairs)
    assert [pair.line for pair in valid.pairs] == [18, 64, 268, 273, 296, 352, 356, 375, 377, 493, 494, 509]


@given(st.lists(st.integers(0, 30), min_size=20, max_size=200), st.integers(0, 5))
def test_no_held_out_pair_is_left_in_training(numbers: list[int], seed: int) -> None:
    pairs = [Pair(f"s{number}", "t", line) for line, number in enumerate(numbers, 1)]
    try:
        train, valid = hold_out(PairSet("x", pairs), seed)
    except UserError as error:
        assert "too few pairs" in error.what  # noqa: PT017 (either outcome is right)
        return
    assert not set(both(train)) & set(both(valid))
    assert 10 <= len(valid.pairs) <= max(10, len(pairs) // 50)
    assert len(train.pairs) >= 10
    assert len(train.pairs) + len(valid.pairs) == len(pairs)


@pytest.mark.parametrize("pairs", [[], make(1), make(5), make(19), [Pair("a", "b", 1)] * 500])
def test_too_few_pairs_ask_for_a_validation_set(pairs: list[Pair]) -> None:
    message = refusal(lambda: hold_out(PairSet("x.tsv", pairs), 1))
    assert message.startswith(f"x.tsv: too few pairs to hold out a validation set: {len(pairs)} pairs")
    assert message.endswith("give one with --valid (data.valid)")


@given(texts)
def test_white_space_is_normalized_once(text: str) -> None:
    normal = normalize_whitespace(text)
    assert normal == normal.strip()
    assert "  " not in normal
    assert all(character == " " or not character.isspace() for character in normal)
    assert "".join(normal.split()) == "".join(text.split())
    assert normalize_whitespace(normal) == normal


def test_white_space_between_words_becomes_one_space() -> None:
    assert normalize_whitespace(" a\u00a0\u2009b\u2028c \t\n") == "a b c"
