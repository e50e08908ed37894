"""The laws of a tokenizer: texts that come back, also with unknown pieces, and those that do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from seqline.data.tokenizer import EOS, UNK, train_tokenizer
from seqline.evaluation.verify_text import TextSubject, comes_back, round_trip_law, sizes_law, special_law

LINES = ["a cat sees the dog", "the old dog hears"] * 3
WORDS = train_tokenizer(LINES, "word", None)
CHARACTERS = train_tokenizer(LINES, "char", None)
PIECES = train_tokenizer(LINES, "unigram", None)


def spaced(text: str) -> str:
    return " ".join(text.split())


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20))
def test_every_text_comes_back(text: str) -> None:
    for tokenizer, joined in ((WORDS, spaced), (CHARACTERS, str), (PIECES, str)):
        subject = TextSubject(tokenizer.encode, tokenizer.decode, joined, tokenizer.vocab_size, [text])
        assert comes_back(subject, text)
        assert round_trip_law(subject).difference == 0
        assert special_law(subject).difference == 0


@pytest.mark.parametrize(
    ("decoded", "expected"),
    [
        ("a <unk> c", True), ("<unk>", True), ("<unk> b c", True), ("a b <unk>", True), ("a <unk> d", False), ("b <unk>", False),
        ("a b c<unk>", False), ("<unk>a b c", False), ("a<unk><unk>b c", False),
    ],
)  # fmt: skip
def test_an_unknown_piece_stands_for_some_characters(decoded: str, expected: bool) -> None:
    subject = TextSubject(lambda _: [UNK], lambda _: decoded, str, 9, ["a b c"])
    assert comes_back(subject, "a b c") == expected


def test_a_text_that_changes_is_found() -> None:
    subject = TextSubject(PIECES.encode, lambda ids: PIECES.decode(ids).upper(), str, PIECES.vocab_size, ["7", "a dog"])
    found = round_trip_law(subject)
    assert (found.difference, found.row, found.where) == (1.0, 1, "comes back as 'A DOG'")


@pytest.mark.parametrize("bad", [EOS, 9, -1])
def test_an_id_that_no_text_may_have_is_found(bad: int) -> None:
    subject = TextSubject(lambda text: [bad] if "</s>" in text else [5], lambda _: "x", str, 9, ["x"])
    found = special_law(subject)
    assert found.difference == float("inf")
    assert f"has the ids [{bad}]" in found.where


def test_sizes_that_do_not_fit_are_found() -> None:
    model = nn.Sequential(nn.Embedding(7, 2), nn.Embedding(9, 2))
    assert sizes_law(model, (7, 9), 9).difference == 0
    assert "1 has 9 rows, the vocabulary 7 or 8 ids" in sizes_law(model, (7, 8), 8).where
    assert "9 logits for 7 ids" in sizes_law(model, (9, 7), 9).where
