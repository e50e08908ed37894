"""Requests are read from JSON lines; what is none is one line with file and line number."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.errors import UserError
from seqline.translating.requests import Request, as_request, parse_requests

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def test_a_plain_text_is_a_request_without_wishes() -> None:
    assert as_request("a b") == Request("a b")
    request = Request("a", "b", ("c",), ("d",))
    assert as_request(request) is request


@given(st.builds(Request, TEXT, TEXT, st.lists(TEXT, max_size=3).map(tuple), st.lists(TEXT, max_size=3).map(tuple)))
def test_what_is_written_is_read_back(request_made: Request) -> None:
    assert parse_requests([json.dumps(vars(request_made))], "f") == [request_made]
    assert parse_requests([json.dumps(vars(request_made), ensure_ascii=False)], "f") == [request_made]


def test_blank_lines_are_blank_texts_and_wishes_may_be_left_out() -> None:
    assert parse_requests(['{"text": "a"}', "", " \t", '{"text": ""}'], "f") == [
        Request("a"),
        Request(""),
        Request(""),
        Request(""),
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "got no JSON"),
        ("[" * 100_000, "got no JSON"),
        ('["a"]', "expected an object"),
        ('"a"', "expected an object"),
        ("{}", "expected an object"),
        ('{"text": 3}', "text: expected text, got 3"),
        ('{"text": null}', "text: expected text, got null"),
        ('{"text": "a", "must": "b"}', 'must: expected a list of phrases, got "b"'),
        ('{"text": "a", "must_not": [1]}', "must_not: expected text, got 1"),
        ('{"text": "a", "prefix": ["b"]}', "prefix: expected text"),
        ('{"text": "a", "must_no": []}', "did you mean 'must_not'"),
        ('{"text": "\\ud800"}', "half of a surrogate pair"),
        ('{"text": "a", "must": ["\\udfff"]}', "half of a surrogate pair"),
        ('{"text": "a\\u0000b"}', "NUL"),
        ('{"text": ' + "1" * 5000 + "}", "got no JSON"),
    ],
)
def test_what_is_no_request_is_refused_with_its_line(line: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_requests(['{"text": "a"}', line], "in.jsonl")
    message = str(caught.value)
    assert message.startswith("in.jsonl:2: ")
    assert words in message
    assert "\n" not in message
    assert len(message) < 300


@given(st.one_of(st.text(max_size=60), JSON.map(json.dumps)))
def test_any_line_is_a_request_or_a_user_error(line: str) -> None:
    try:
        found = parse_requests([line], "f")
    except UserError:
        return
    assert len(found) == 1
