"""Pieces and words: every piece belongs to the word that it spells, whatever the tokenizer and the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.spans import output_spans, source_spans
from seqline.data.tokenizer import EOS, UNK, Tokenizer, train_tokenizer
from seqline.data.words import words_of

CORPUS = [f"the cat sees a {noun}, she says" for noun in ("house", "dog", "river", "letter", "catalogue")]
PARTS = [
    "the",
    "cat",
    "catalogue",
    "zoo",
    "é",
    "語",
    "👩‍👩‍👧",
    "▁",
    "\x1f",
    "\uee81",
    "<unk>",
    "Ω",
    " ",
    "  ",
    "\t",
    "\u3000",
    ",",
]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=12).map("".join)


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    made = {kind: train_tokenizer(CORPUS, kind, None) for kind in ("unigram", "bpe", "char", "word")}
    return made | {"no bytes": train_tokenizer(CORPUS, "unigram", None, byte_fallback=False)}


def words(tokenizer: Tokenizer, text: str) -> list[int | None]:
    return words_of(source_spans(tokenizer, text), text)


def written(tokenizer: Tokenizer, ids: list[int]) -> tuple[str, list[int | None]]:
    text, spans = output_spans(tokenizer, ids)
    return text, words_of(spans, text)


def test_words_by_hand(tokenizers: dict[str, Tokenizer]) -> None:
    assert words(tokenizers["word"], " the  zoo cat ") == [0, 1, 2]
    # The space in front of a word belongs to it; white space at the end belongs to none. é is unknown: one id.
    assert words(tokenizers["char"], "a é ca ") == [0, 1, 1, 2, 2, 2, None]
    assert words(tokenizers["char"], "") == []
    assert written(tokenizers["char"], [*tokenizers["char"].encode("a a"), EOS]) == ("a a", [0, 1, 1, None])


def test_the_bytes_of_a_character_belong_to_its_word(tokenizers: dict[str, Tokenizer]) -> None:
    found = words(tokenizers["unigram"], "語語 語")
    assert found in ([0] * 6 + [1] * 4, [0] * 6 + [1] * 3)  # the space may be a piece of its own or a byte


def test_an_unknown_run_begins_its_word(tokenizers: dict[str, Tokenizer]) -> None:
    found = words(tokenizers["no bytes"], "the 語語語 cat Ω")
    assert sorted({w for w in found if w is not None}) == [0, 1, 2, 3]


def test_an_output_spells_its_unknown_piece(tokenizers: dict[str, Tokenizer]) -> None:
    for tokenizer in (tokenizers["word"], tokenizers["no bytes"]):
        text, found = written(tokenizer, [*tokenizer.encode("the"), UNK, *tokenizer.encode("cat")])
        assert "<unk>" in text
        assert found[-1] == len(text.split()) - 1


@given(TEXTS)
@pytest.mark.parametrize("name", ["unigram", "bpe", "char", "word", "no bytes"])
def test_every_word_has_its_pieces_in_order(tokenizers: dict[str, Tokenizer], name: str, text: str) -> None:
    found = words(tokenizers[name], text)
    assert len(found) == len(tokenizers[name].encode(text))
    known = [word for word in found if word is not None]
    assert known == sorted(known)
    assert None not in found[: len(known)]
    if name != "no bytes":  # where one unknown run may cover several words
        assert set(known) == set(range(len(text.split())))


@given(st.data())
@pytest.mark.parametrize("name", ["unigram", "bpe", "char", "word", "no bytes"])
def test_whatever_a_model_writes_is_cut_into_its_own_words(
    tokenizers: dict[str, Tokenizer], name: str, data: st.DataObject
) -> None:
    tokenizer = tokenizers[name]
    text, found = written(tokenizer, data.draw(st.lists(st.integers(0, tokenizer.vocab_size - 1), max_size=20)))
    assert {word for word in found if word is not None} == set(range(len(text.split())))
