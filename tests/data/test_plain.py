"""Plain text comes back as it was: newlines as symbols, files and folders, and what is held out."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.lines import read_text
from seqline.data.plain import (
    NEWLINE,
    Text,
    decode_stream,
    encode_stream,
    hold_out_end,
    lines_of,
    mark_newlines,
    read_plain,
    read_plain_data,
    read_plain_set,
    restore_newlines,
    stream_lines,
)
from seqline.data.tokenizer import UNK, Tokenizer, train_tokenizer
from seqline.errors import UserError

PRIVATE = "\ue90f\ue90e\uee90\uee91\uee92\uee93\ue90b\u2581"
texts = st.text(
    st.one_of(st.sampled_from("ab .\n\n\r" + PRIVATE), st.characters(exclude_categories=["Cs"])), max_size=12
)
known = st.text(st.sampled_from("abc .\n"), max_size=40)
SAMPLE = "a cab. \nb\n\n  abc ba.\nac cab. b.\n" * 20


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    """Return a tokenizer of each kind, trained as a language model trains it."""
    sizes = {"char": None, "word": None, "bpe": 290, "unigram": 290}
    return {kind: train_tokenizer(stream_lines(f"{SAMPLE}\n", kind), kind, size) for kind, size in sizes.items()}


@given(texts)
def test_every_text_comes_back(text: str) -> None:
    marked = mark_newlines(text)
    assert "\n" not in marked
    assert marked.count(NEWLINE) == text.count("\n")
    assert restore_newlines(marked) == text


def test_private_characters_of_a_text_are_no_newlines() -> None:
    for text in (NEWLINE, "\uee90", "\uee90\uee92", "\uee90\uee93", f"\uee90{NEWLINE}\n"):
        assert restore_newlines(mark_newlines(text)) == text
    assert mark_newlines("plain text") == "plain text"


@given(known)
@pytest.mark.parametrize("kind", ["char", "bpe", "unigram"])
def test_a_stream_comes_back(tokenizers: dict[str, Tokenizer], kind: str, text: str) -> None:
    ids = encode_stream(tokenizers[kind], text)
    assert UNK not in ids
    assert decode_stream(tokenizers[kind], ids) == text


@given(known)
def test_a_stream_of_words_keeps_words_and_lines(tokenizers: dict[str, Tokenizer], text: str) -> None:
    text = text.replace(".", "")
    back = decode_stream(tokenizers["word"], encode_stream(tokenizers["word"], text)).replace("<unk>", "?")
    rows = [[w if tokenizers["word"].num_unknown(w) == 0 else "?" for w in line.split()] for line in text.split("\n")]
    assert back == "\n".join(" ".join(row) for row in rows)


@given(st.lists(st.text(st.sampled_from("abc ."), max_size=9), min_size=1, max_size=6))
@pytest.mark.parametrize("kind", ["char", "word", "bpe", "unigram"])
def test_no_piece_crosses_the_end_of_a_line(tokenizers: dict[str, Tokenizer], kind: str, lines: list[str]) -> None:
    tokenizer, whole = tokenizers[kind], []
    for number, line in enumerate(lines, 1):
        whole += encode_stream(tokenizer, line if number == len(lines) else f"{line}\n")
    assert encode_stream(tokenizer, "\n".join(lines)) == whole


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"a", "a"),
        (b"a\n", "a\n"),
        (b"a\r\nb\r\n\r\n", "a\nb\n\n"),
        (b"\xef\xbb\xbfa\nb", "a\nb"),
        (b"\n", "\n"),
    ],
)
def test_the_last_line_end_is_there_if_it_was(tmp_path: Path, data: bytes, text: str) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(data))
    assert read_text(str(tmp_path / "a.txt")) == read_plain(str(tmp_path / "a.txt")).text == text
    assert read_plain(str(tmp_path / "a.txt.gz")) == Text(str(tmp_path / "a.txt.gz"), text)


def test_lines_are_counted_as_in_the_file() -> None:
    assert [pair.target for pair in lines_of(Text("t", "a\n\nb\n")).pairs] == ["a", "", "b"]
    assert [(pair.source, pair.line) for pair in lines_of(Text("t", "a\n\nb")).pairs] == [("", 1), ("", 2), ("", 3)]
    assert lines_of(Text("t", "")).pairs == []
    assert [pair.target for pair in lines_of(Text("t", "\n")).pairs] == [""]


def test_a_folder_has_its_texts_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a\n")
    (tmp_path / "dev.txt.gz").write_bytes(gzip.compress(b"b\n"))
    (tmp_path / "own.txt").write_text("c\n")
    data = read_plain_data(str(tmp_path))
    assert (data.train.text, data.valid and data.valid.text) == ("a\n", "b\n")
    data = read_plain_data(str(tmp_path), str(tmp_path / "own.txt"))
    assert (data.train.text, data.valid and data.valid.text) == ("a\n", "c\n")
    assert read_plain_set(str(tmp_path), "test") is None
    assert read_plain_data(str(tmp_path / "own.txt")) == (Text(str(tmp_path / "own.txt"), "c\n"), None)


def test_a_folder_that_is_not_clear_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no training text in this folder; name it train\.txt"):
        read_plain_data(str(tmp_path))
    for name in ("train.txt", "training.txt.gz"):
        (tmp_path / name).write_text("a\n")
    with pytest.raises(UserError, match=r"several files could be the train text: train\.txt, training\.txt\.gz"):
        read_plain_data(str(tmp_path))
    with pytest.raises(UserError, match="no data named"):
        read_plain("")


@given(st.lists(st.integers(0, 60), min_size=20, max_size=40))
def test_the_end_is_held_out_whole(lengths: list[int]) -> None:
    text = "x" * 1000 + "\n".join("y" * length for length in lengths)
    train, valid = hold_out_end(Text("t", text))
    assert train.text + valid.text == text
    assert 20 <= len(valid.text) <= len(text) // 50
    at_most = text[-(len(text) // 50) : -20]
    assert train.text.endswith("\n") or "\n" not in at_most
    assert (train.name, valid.name) == ("t", "t (its end)")


def test_a_short_stream_is_not_cut() -> None:
    with pytest.raises(UserError, match="too short to hold out a validation text: 999 characters, needs 1,000"):
        hold_out_end(Text("t", "x" * 999))
