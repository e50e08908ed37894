"""The list of labels: one order for one data set, and a file that is read strictly or refused."""

from __future__ import annotations

import json
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.labels import MOST_FILE_BYTES, MOST_LABEL_BYTES, MOST_LABELS, UNKNOWN_LABEL, Labels
from seqline.errors import UserError

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n"), min_size=1, max_size=6)
names = names.filter(lambda name: name == name.strip())
name_lists = st.lists(names, min_size=2, max_size=9, unique=True)


def refusal(data: bytes) -> str:
    with pytest.raises(UserError) as caught:
        Labels.from_bytes(data, "labels.json")
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("labels.json: ")
    return message


def test_the_most_frequent_comes_first_and_equal_ones_by_their_bytes() -> None:
    labels = Labels.from_counts(["b", "é", "a", "b", "z", "\U0001f600", "\uffff"])
    assert labels.names == ("b", "a", "z", "é", "\uffff", "\U0001f600")
    assert [labels.encode(name) for name in labels.names] == list(range(6))
    assert [labels.decode(i) for i in range(labels.size)] == list(labels.names)
    assert labels.encode("B") == UNKNOWN_LABEL == -1
    for outside in (-1, 6):
        with pytest.raises(ValueError, match=r"must lie in \[0, 6\)"):
            labels.decode(outside)


@given(st.lists(names, max_size=30), st.randoms())
def test_the_order_of_the_data_does_not_matter(occurrences: list[str], random: Random) -> None:
    if len(set(occurrences)) < 2:
        with pytest.raises(UserError, match=r"^a: needs at least 2 different labels"):
            Labels.from_counts(occurrences, where="a")
        return
    labels = Labels.from_counts(occurrences)
    random.shuffle(occurrences)
    assert Labels.from_counts(occurrences).names == labels.names
    counts = Counter(occurrences)
    assert [counts[name] for name in labels.names] == sorted(counts.values(), reverse=True)


def test_one_label_is_nothing_to_learn() -> None:
    with pytest.raises(UserError, match="found only 'x'; check the second column"):
        Labels.from_counts(["x", "x"])
    with pytest.raises(UserError, match="found none"):
        Labels.from_counts([])


def test_too_many_or_too_long_labels_are_refused() -> None:
    most = [str(i) for i in range(MOST_LABELS)]
    assert Labels.from_counts(most).size == MOST_LABELS
    with pytest.raises(UserError, match="10,001 different labels, more than 10,000"):
        Labels.from_counts([*most, "x"])
    assert Labels(["é" * (MOST_LABEL_BYTES // 2), "b"]).size == 2
    with pytest.raises(UserError, match="longer than 1,000 bytes"):
        Labels(["é" * (MOST_LABEL_BYTES // 2) + "e", "b"])


@given(name_lists)
def test_bytes_round_trip(chosen: list[str]) -> None:
    data = Labels(chosen).to_bytes()
    assert Labels.from_bytes(data, "labels.json").names == tuple(chosen)
    assert json.loads(data) == chosen
    assert len(data) <= MOST_FILE_BYTES


def test_the_longest_labels_still_fit_the_file() -> None:
    widest = "\x01" * (MOST_LABEL_BYTES - 2)  # a control character takes six bytes of JSON
    labels = Labels([f"{widest}ab", f"{widest}ba"])
    assert len(labels.to_bytes()) <= MOST_FILE_BYTES * 2 // MOST_LABELS
    assert Labels.from_bytes(labels.to_bytes(), "labels.json").names == labels.names


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no JSON"),
        (b"\xff", "no JSON"),
        (b'\xef\xbb\xbf["a", "b"]', "no JSON"),
        (b'["a", "b"', "no JSON"),
        (b'["a", "b"] x', "no JSON"),
        (b"[" * 100_000, "JSON nested too deeply"),
        (b"1" * 5_000, "no JSON"),
        (b"NaN", "expected a JSON list of text"),
        (b'{"a": 0, "b": 1}', "expected a JSON list of text"),
        (b'["a", 1]', "expected a JSON list of text"),
        (b'["a", ["b"]]', "expected a JSON list of text"),
        (b"null", "expected a JSON list of text"),
        (b'["a"]', "needs at least 2 different labels"),
        (b'["a", "a"]', "label 'a' twice"),
        (b'["a", ""]', "is empty or has white space at its ends"),
        (b'["a", "b "]', "is empty or has white space at its ends"),
        (b'["a", "b\\nc"]', "holds a line end or a NUL"),
        (b'["a", "b\\u0000c"]', "holds a line end or a NUL"),
        (b'["a", "\\ud800"]', "holds half of a surrogate pair"),
    ],
    ids=lambda value: str(value[:20]),
)
def test_other_files_are_refused(data: bytes, message: str) -> None:
    assert message in refusal(data)


def test_a_giant_file_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqline.data.labels.MOST_FILE_BYTES", 10)
    assert Labels.from_bytes(b'["a", "b"]', "labels.json").size == 2
    assert "holds 11 bytes, more than 10; " in refusal(b'["a", "bc"]')


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


@given(st.binary(max_size=40) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_labels_or_refused(data: bytes) -> None:
    try:
        labels = Labels.from_bytes(data, "labels.json")
    except UserError as error:
        message = str(error)
    else:
        message = "labels.json: read"
        assert list(labels.names) == json.loads(data)
    assert message.startswith("labels.json: ")
