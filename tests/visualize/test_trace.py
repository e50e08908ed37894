"""Traces as files: strict when written, forgiving and safe when read, and the same numbers in memory and from disk."""

import gzip
import json
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.errors import UserError
from seqline.visualize import reading
from seqline.visualize.reduced import is_large, reduce
from seqline.visualize.synthetic import fixture
from seqline.visualize.trace import Bundle, Trace, packing_error

TEXT_A = fixture("A").to_json()
BOTH = (TEXT_A.encode(), fixture("C").to_json().encode())


def single(name: str) -> Trace:
    trace = fixture(name)
    assert isinstance(trace, Trace)
    return trace


def changed(name: str, **blocks: Any) -> Trace:
    return Trace(single(name).document | blocks)


def test_a_file_read_twice_gives_equal_arrays_and_the_same_text(tmp_path: Path) -> None:
    for suffix in (".json", ".json.gz"):
        path = tmp_path / f"run{suffix}"
        single("C").write(path)
        one, two = Trace.read(path), Trace.read(path)
        assert isinstance(one, Trace)
        assert one.to_json() == two.to_json() == single("C").to_json()
        assert one.decoded() == single("C").decoded()
    assert (tmp_path / "run.json.gz").read_bytes()[4:8] == b"\0\0\0\0"


def test_decoded_holds_plain_json_only() -> None:
    text = json.dumps(single("H").decoded(), allow_nan=False)
    assert json.loads(text) == single("H").decoded()


def test_reading_needs_no_torch(tmp_path: Path) -> None:
    path = tmp_path / "run.json.gz"
    single("A").write(path)
    code = (
        "import sys; from seqline.visualize.trace import Trace; Trace.read(sys.argv[1]).decoded();"
        "found = {'torch', 'quickjs', 'py_mini_racer', 'resvg_py', 'PIL', 'fontTools'} & set(sys.modules);"
        "sys.exit(str(found) if found else 0)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


def test_a_bundle_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    fixture("K").write(path)
    bundle = Trace.read(path)
    assert isinstance(bundle, Bundle)
    assert bundle.labels == ["simple-rnn", "lstm", "bahdanau", "transformer"]
    assert bundle.decoded() == fixture("K").decoded()
    with pytest.raises(UserError, match="1 to 6"):
        Bundle([], [])
    with pytest.raises(UserError, match="label"):
        Bundle([single("A")], [])


def test_packing_error_is_within_half_precision() -> None:
    assert 0 < packing_error(single("C").document) <= 4.9e-4


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"schema": "trace/2"}, "this file is trace/2, this seqline reads trace/1"),
        ({"schema": "bundle/3"}, "this file is bundle/3, this seqline reads bundle/1"),
        ({"schema": "other"}, "expected a trace"),
        ([1], "expected a trace"),
        ({"schema": "trace/1"}, "minor: is missing"),
        ({"schema": "bundle/1", "traces": [], "labels": []}, "1 to 6 traces"),
        ({"schema": "bundle/1", "traces": [{"schema": "bundle/1"}], "labels": ["x"]}, "holds traces only"),
        ({"schema": "bundle/1", "traces": [{"schema": "trace/2"}], "labels": ["x"]}, "this file is trace/2"),
    ],
)
def test_what_is_no_trace_is_refused(value: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Trace.from_json(json.dumps(value))


def test_unknown_fields_are_ignored_when_read() -> None:
    value = json.loads(TEXT_A)
    value["later"] = {"a": 1}
    value["source"]["tokens"][0]["colour"] = "red"
    value["attention"][0]["extra"] = [1]
    assert Trace.from_json(json.dumps(value)).to_json() == TEXT_A


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ({"later": 1}, "later: unknown field"),
        ({"task": "cooking"}, "task: "),
        ({"minor": "0"}, "minor: "),
        ({"schedule": [{"t": 2, "events": []}]}, r"schedule\[0\]: expected t = 1"),
        ({"checks": [{"id": "x", "text": "y", "ok": True, "value": float("nan")}]}, r"checks\[0\]\.value: holds NaN"),
    ],
)
def test_writing_is_strict(blocks: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        changed("A", **blocks).to_json()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full((1, 1, 4, 4), 0.25), r"attention\[0\]\.weights: expected 5 along Q \(the tokens of target.out\)"),
        (np.full((1, 1, 5, 5), 0.2), r"expected 4 along M \(the tokens of source\)"),
        (np.full((5, 4), 0.25), r"expected axes \[L H Q M\]"),
        (np.full((1, 1, 5, 4), 0.2), r"attention\[0\]\.weights: rows must sum to 1"),
        (np.full((1, 1, 5, 4), np.nan), r"attention\[0\]\.weights: holds NaN"),
        (np.array([1.5, -0.5, 0, 0]) * np.ones((1, 1, 5, 1)), r"expected weights in \[0, 1\]"),
        (None, "either weights or the reduced form"),
    ],
)
def test_attention_that_disagrees_with_its_tokens_is_refused(weights: Any, message: str) -> None:
    block = single("A").document["attention"][0] | {"weights": weights, "scores": None}
    with pytest.raises(UserError, match=message):
        changed("A", attention=[block]).to_json()


def test_a_large_row_error_that_was_recorded_is_honest() -> None:
    block = single("A").document["attention"][0]
    block |= {"weights": np.full((1, 1, 5, 4), 0.2), "row_sum_maxerr": 0.2}
    changed("A", attention=[block]).check()


def test_states_and_steps_must_have_a_row_a_token() -> None:
    document = single("B").document
    with pytest.raises(UserError, match=r"encoder\.h: expected 11 along S"):
        changed("B", encoder={"h": document["encoder"]["h"][:, :, :9]}).to_json()
    with pytest.raises(UserError, match=r"decoder\.steps|decoder"):
        changed("B", decoder=document["decoder"] | {"steps": document["decoder"]["steps"][1:]}).to_json()


def test_from_numpy() -> None:
    rows = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]])
    trace = Trace.from_numpy(rows, ["a", "b"], ["x", "y", "语"])
    back = Trace.from_json(trace.to_json()).document
    np.testing.assert_allclose(back["attention"][0]["weights"], rows[None, None], atol=0)
    assert [token["text"] for token in back["source"]["tokens"]] == ["x", "y", "语"]
    assert [token["text"] for token in back["target"]["tokens"]] == ["a", "b"]
    Trace.from_numpy(np.eye(3), ["b", "c", "d"], ["<s>", "b", "c"], "decoder_self").to_json()
    Trace.from_numpy(np.stack([np.eye(2)] * 4), ["b", "c"], ["b", "c"], "encoder_self").to_json()
    for arguments, message in (
        ((rows.T, ["a", "b"], ["x", "y", "z"]), "Q"),
        ((rows[:, :2] * 0 + 0.5, ["a", "b"], ["x", "y", "z"]), "along M"),
        ((rows * 0.5, ["a", "b"], ["x", "y", "z"]), "sum to 1"),
        ((rows, ["a", "b"], ["x", "y", "z"], "crosss"), "did you mean 'cross'"),
        ((rows[0], ["a"], ["x", "y", "z"]), "weights"),
        ((np.eye(2), ["a", "b"], ["b", "a"], "encoder_self"), "same words"),
        ((np.eye(2), ["a", "b"], ["a", "b"], "decoder_self"), "column"),
    ):
        with pytest.raises(UserError, match=message):
            Trace.from_numpy(*arguments)


def test_the_reduced_form_keeps_what_it_says() -> None:
    trace = single("C")
    small = Trace.from_json(reduce(trace, keep_heads=[(1, 2)]).to_json())
    whole, block = trace.document["attention"][0]["weights"], small.document["attention"][0]
    assert block.get("weights") is None
    assert [1, 2] in block["reduced"]["kept_heads"]
    assert {layer for layer, _ in block["reduced"]["kept_heads"]} == {0, 1}
    np.testing.assert_allclose(block["head_mean"], whole.mean(1), atol=1e-5)
    np.testing.assert_allclose(block["topk_w"], np.sort(whole, -1)[..., ::-1][..., :8], atol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(whole, block["topk_idx"], -1), block["topk_w"], atol=1e-5)
    place = block["reduced"]["kept_heads"].index([1, 2])
    np.testing.assert_allclose(block["kept"][place], whole[1, 2], atol=1e-5)
    with pytest.raises(UserError, match="no head 9"):
        reduce(trace, keep_heads=[(0, 9)])


def test_a_large_trace_is_reduced_when_written_and_its_sidecar_holds_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seqline.visualize.reduced.MAX_VALUES", 900)
    trace = single("C")
    assert is_large(trace.document)
    trace.write(tmp_path / "a.json")
    assert not list(tmp_path.glob("*.npz"))
    trace.write(tmp_path / "b.json.gz", full=True)
    read = Trace.read(tmp_path / "b.json.gz")
    assert isinstance(read, Trace)
    assert read.document["attention"][0]["reduced"]["sidecar"] == "b.npz"
    assert trace.decoded()["attention"][0]["reduced"]["method"] == "head_mean+top8"
    with np.load(tmp_path / "b.npz") as sidecar:
        np.testing.assert_array_equal(sidecar["attention/2/weights"], trace.document["attention"][2]["weights"])


def test_only_json_names_are_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"\.json"):
        single("A").write(tmp_path / "run.html")


def test_a_gzip_bomb_and_an_endless_text_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_JSON_BYTES", 100_000)
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b" " * 10_000_000))
    (tmp_path / "long.json").write_bytes(b" " * 100_001)
    for name in ("bomb.json.gz", "long.json"):
        with pytest.raises(UserError, match=r"100,000 bytes"):
            Trace.read(tmp_path / name)


def test_what_a_small_file_unpacks_to_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    value = single("C").packed()
    name = "attention[0].weights"
    value["tensors"] = {name: value["tensors"][name]}
    for block in value["attention"]:
        block |= {"weights": {"$t": name}, "scores": {"$t": name}}
    monkeypatch.setattr(reading, "MAX_TENSOR_BYTES", 5 * 8 * 2 * 4 * 11 * 11)  # of the six uses of one tensor
    with pytest.raises(UserError, match="holds more than 38,720 bytes"):
        Trace.from_json(json.dumps(value))
    value["tensors"][name] |= {"dtype": "u8", "shape": [10_000, 10_000]}
    with pytest.raises(UserError, match=r"scores: a tensor of shape \[10000, 10000\] is too large"):
        Trace.from_json(json.dumps(value))


@pytest.mark.parametrize(
    ("place", "wrong", "message"),
    [
        (("source", "tokens", 0, "word"), 99, r"source\.tokens\[0\]\.word: expected indexes below"),
        (("target", "words", 1, "tok"), [0, 99], r"target\.words\[1\]\.tok: expected indexes below"),
        (("beam", "nodes", 1, "parent"), 1, r"beam\.nodes\[1\]: expected nodes in order"),
        (("beam", "best"), 99_999, r"beam\.best: expected a node below"),
    ],
)
def test_what_names_something_that_is_not_there_is_refused(place: tuple[Any, ...], wrong: Any, message: str) -> None:
    value = single("G").packed()
    holder: Any = value
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = wrong
    with pytest.raises(UserError, match=message):
        Trace.from_json(json.dumps(value))


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "9" * 5000, '{"schema":"trace/1","minor":NaN}', "", "\ufeff{}", '{"schema": "\ud800"}']
)
def test_hostile_json_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        Trace.from_json(text)


SMALL = json.dumps(json.loads(TEXT_A))


def _values() -> st.SearchStrategy[Any]:
    plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    return plain | st.lists(plain, max_size=3) | st.just({"$t": "x"}) | st.just([[1.0], [2.0, 3.0]])


def _places(node: Any) -> list[tuple[Any, Any]]:
    items = list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
    return [(node, key) for key, _ in items] + [place for _, part in items for place in _places(part)]


def assert_read_or_refused(read: Callable[[], object]) -> None:
    """Check that reading works or raises a UserError that can be printed."""
    message = ""
    try:
        read()
    except UserError as error:
        message = str(error)
    assert "\n" not in message
    message.encode()


@given(st.data())
def test_a_changed_document_is_read_or_refused_in_one_line(data: st.DataObject) -> None:
    value = json.loads(SMALL)
    for _ in range(data.draw(st.integers(1, 3))):
        places = _places(value)
        holder, key = places[data.draw(st.integers(0, len(places) - 1))]
        if data.draw(st.booleans()):
            holder[key] = data.draw(_values())
        elif isinstance(holder, dict):
            del holder[key]
    assert_read_or_refused(lambda: Trace.from_json(json.dumps(value)).to_json())


@given(st.sampled_from(BOTH), st.integers(0, 300_000), st.binary(max_size=4), st.booleans(), st.booleans())
def test_damaged_files_are_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, place: int, noise: bytes, is_gzip: bool, is_cut: bool
) -> None:
    raw = zlib.compress(data, 1, 31) if is_gzip else data
    place %= len(raw)
    raw = raw[:place] + noise + (b"" if is_cut else raw[place + len(noise) :])
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    path.write_bytes(raw)
    assert_read_or_refused(lambda: Trace.read(path))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("y:999999", r"a\.json: schedule\[0\]\.events\[0\]\.reads: expected a name and an index .*; record the trace"),
        ("<b>", "expected a name and an index"),
        ("x:", "expected a name and an index"),
        ("x:99", "x:99 names no token"),
        ("\ud800", "expected a name and an index"),
    ],
)
def test_a_step_that_reads_what_is_not_there_is_refused(name: str, message: str) -> None:
    value = json.loads(TEXT_A)
    value["schedule"][0]["events"][0]["reads"].append(name)
    with pytest.raises(UserError, match=message):
        Trace.from_json(json.dumps(value), "a.json")


def test_half_a_character_is_refused() -> None:
    value = json.loads(TEXT_A)
    value["source"]["text"] = "\ud800"
    with pytest.raises(UserError, match=r"a\.json: source\.text: .* half a character .*; record the trace"):
        Trace.from_json(json.dumps(value), "a.json")
