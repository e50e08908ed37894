"""Sentences to check a run with: chosen, cut, and made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.tokenizer import EOS, UNK, train_tokenizer
from seqline.evaluation.sentences import WORD_COUNTS, own_sentences, shortened, spread

TEXTS = ["the old dog sees a new cat", "in Paris a cat hears the dog", "élan vital, naïve façade"] * 4


def list_of(text: str) -> list[int]:
    return [ord(character) for character in text]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(1, 8))
def test_the_chosen_are_as_different_as_can_be(lengths: list[int], most: int) -> None:
    chosen = spread(lengths, most)
    assert chosen == sorted(set(chosen))
    assert len(chosen) == min(most, len(lengths))
    found = [lengths[i] for i in chosen]
    assert len(set(found)) == min(most, len(set(lengths)))
    assert min(found) == min(lengths)
    assert most == 1 or max(found) == max(lengths)


@given(st.text(max_size=30), st.integers(1, 10))
def test_a_text_is_cut_to_its_beginning(text: str, most: int) -> None:
    cut = shortened(text, list_of, most)
    assert text.startswith(cut)
    assert len(cut) <= most
    assert shortened(text, list_of, len(text)) == text
    assert shortened("ab", lambda t: [0] * 3 * len(t), 2) == ""


@pytest.mark.parametrize("kind", ["word", "char", "bpe", "unigram"])
def test_own_sentences_are_known_and_the_same_every_time(kind: str) -> None:
    tokenizer = train_tokenizer(TEXTS, kind, None)
    made = own_sentences(tokenizer)
    assert made == own_sentences(tokenizer)
    assert made != own_sentences(tokenizer, 2)
    assert [len(text.split()) for text in made] == list(WORD_COUNTS)
    for text in made:
        ids = tokenizer.encode(text)
        assert ids
        assert UNK not in ids
        assert min(ids) > EOS
