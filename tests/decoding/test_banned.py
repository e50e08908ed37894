"""Banned phrases against brute force: of all sequences exactly those are left whose text does not hold the phrase."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqline.data.tokenizer import Tokenizer, train_tokenizer
from seqline.decoding import Beam, Hypothesis, Marks, Prefix, Rule, Sampling, beam, greedy, sample, whole_utf8
from seqline.decoding.banned import Spelling, must_not, writes
from seqline.decoding.rules import forced_prefix
from seqline.errors import UserError
from seqline.state import Encoded

EOS = 0
# Subwords with a comma, a space and the bytes of é and of the no-break space; the last two end words on their own.
SUBWORDS = [
    b"",
    b" ch",
    b"at",
    b" chat",
    b"s",
    b",",
    b" le",
    b" ",
    b"\xc3",
    b"\xa9",
    b"\xc2",
    b"\xa0",
    b"t le",
    b"\xc2\xa0a",
]
WORDS = [b"", b" le", b" chat", b" noir", b" chat,", b" ..."]
CHARACTERS = [b"", b"c", b"a", b"t", b" ", b"."]


def text_of(texts: Sequence[bytes], ids: Sequence[int]) -> str:
    return b"".join(texts[i] for i in ids).decode(errors="ignore")


def holds(text: str, phrases: Sequence[str]) -> bool:
    """Return whether the words of a text hold a phrase, by a regular expression over the text alone."""
    # For a regular expression a mark is no part of a word, and "_" is one.
    text = "".join("x" if unicodedata.category(c)[0] == "M" else c for c in text).replace("_", ".")
    alone = (r"\s+".join(rf"[^\w\s]*{re.escape(word)}[^\w\s]*" for word in phrase.split()) for phrase in phrases)
    return any(re.search(rf"(?<!\S){phrase}(?!\S)", text) for phrase in alone)


class Even:
    """All tokens equally probable, whatever came before."""

    def __init__(self, size: int) -> None:
        self.logits = torch.zeros(size, dtype=torch.float64)

    def prepare(self, encoded: Encoded | None = None) -> None:
        return None

    def initial_state(self, memory: None, batch_size: int) -> None:
        return None

    def __call__(self, ids: Tensor, state: None, memory: None, mask: Tensor | None = None) -> tuple[Tensor, None]:
        return self.logits.expand(*ids.shape, -1), None


def every(size: int, limit: int) -> set[tuple[int, ...]]:
    """Return each sequence that ends in eos or is cut at the limit."""
    ended = {(*ids, EOS) for length in range(limit) for ids in product(range(1, size), repeat=length)}
    return ended | set(product(range(1, size), repeat=limit))


def allowed_next(
    texts: Sequence[bytes], phrases: Sequence[str], live: Sequence[Sequence[int]], left: int, *, is_eager: bool = False
) -> Tensor:
    """Return which ids may follow prefixes of equal length [N V]; characters are whole where texts have bytes of them."""
    tokens = torch.tensor(live, dtype=torch.long).reshape(len(live), -1)
    prefix = Prefix(torch.zeros(len(live), dtype=torch.long), tokens, torch.full((len(live),), left))
    values = [data[0] if len(data) == 1 and data[0] >= 0x80 else -1 for data in texts]
    log_probs = whole_utf8(values)(prefix, torch.zeros(len(live), len(texts)))
    return must_not([phrases], Spelling(texts, EOS), is_eager=is_eager)(prefix, log_probs).isfinite()


def reachable(texts: list[bytes], phrases: list[str], limit: int, *, is_eager: bool = False) -> set[tuple[int, ...]]:
    """Return each sequence that the rule lets through, step by step, and never leads into a dead end."""
    done: set[tuple[int, ...]] = set()
    live: list[tuple[int, ...]] = [()]
    for step in range(limit):
        allowed = allowed_next(texts, phrases, live, limit - step, is_eager=is_eager)
        assert allowed.any(dim=1).all()
        grown = [(*live[row], token) for row, token in allowed.nonzero().tolist()]
        done |= {ids for ids in grown if ids[-1] == EOS}
        live = [ids for ids in grown if ids[-1] != EOS]
    return done | set(live)


def is_possible(texts: Sequence[bytes], ids: Sequence[int]) -> bool:
    """Return whether the bytes form characters, the last of which may be cut off where there is no end."""
    data = b"".join(texts[i] for i in ids)
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(data, final=ids[-1] == EOS)
    except UnicodeDecodeError:
        return False
    return True


FEW = [b"", b" le", b" ch", b"at", b"s", b" chat", b","]
BYTES = [b"", b" chat", b"s", b" ", b"\xc2", b"\xa0", b"\xb5"]  # a lead byte with a space and a letter
LONG = [b"", b" chat", b"s", b"\xe2", b"\x80", b"\xa6"]
SEVERAL = [b"", b" cha", b"t le", b"t", b"\xc2\xa0a", b" chat"]
CASES = [
    (BYTES, ["chat"], 4),
    (BYTES, ["s chat"], 4),
    (LONG, ["chat"], 5),
    (LONG, ["chats", "s"], 5),
    (SEVERAL, ["chat"], 4),
    (SEVERAL, ["chat le"], 4),
    (SEVERAL, ["let", "a cha"], 4),
    (SUBWORDS, ["chat"], 3),
    (SUBWORDS, ["le chat"], 3),
    (SUBWORDS, ["chats", "le le"], 3),
    (SUBWORDS, ["até"], 3),
    (SUBWORDS, ["é", "at,"], 3),
    (SUBWORDS, [",", "a"], 3),
    (SUBWORDS, ["le at"], 3),
    (FEW, ["le chat"], 4),
    (FEW, ["chats", "chat, le"], 4),
    (FEW, ["le le chat"], 4),
    (CHARACTERS, ["cat"], 5),
    (CHARACTERS, ["a c", "tt"], 5),
    (CHARACTERS, ["..", "a."], 5),
]


@pytest.mark.parametrize(("texts", "phrases", "limit"), CASES, ids=[", ".join(case[1]) for case in CASES])
def test_exactly_the_texts_without_the_phrase_are_left(texts: list[bytes], phrases: list[str], limit: int) -> None:
    total = {ids for ids in every(len(texts), limit) if is_possible(texts, ids)}
    right = {ids for ids in total if not holds(text_of(texts, ids), phrases)}
    assert len(right) < len(total)
    found = reachable(texts, phrases, limit)
    assert found <= right
    # Only a banned word that a character in bytes makes another just before the limit is lost.
    for ids in right - found:
        lead = max(place for place, i in enumerate(ids) if texts[i] in (b"\xc2", b"\xc3", b"\xe2"))
        assert limit - lead <= (3 if texts[ids[lead]] == b"\xe2" else 2)
        assert holds(text_of(texts, ids[:lead]), phrases)


@pytest.mark.parametrize(("texts", "phrases", "limit"), CASES, ids=[", ".join(case[1]) for case in CASES])
def test_an_eager_ban_forbids_the_piece_that_completes_the_word(
    texts: list[bytes], phrases: list[str], limit: int
) -> None:
    right = {
        ids
        for ids in every(len(texts), limit)
        if is_possible(texts, ids)
        and not any(holds(text_of(texts, ids[:end]), phrases) for end in range(1, len(ids) + 1))
    }
    assert reachable(texts, phrases, limit, is_eager=True) == right


@pytest.mark.parametrize("phrases", [["chat"], ["le chat"], ["chat,"], ["chat chat", "noir"], ["..."]])
def test_in_a_vocabulary_of_words_no_search_is_led_into_a_dead_end(phrases: list[str]) -> None:
    right = {ids for ids in every(len(WORDS), 4) if not holds(text_of(WORDS, ids), phrases)}
    assert reachable(WORDS, phrases, 4) == right


def test_a_phrase_that_stood_before_forbids_nothing_more() -> None:
    # " chat le": the word that was banned is over. No byte may go on a character that none has begun.
    assert (~allowed_next(SUBWORDS, ["chat"], [[3, 6]], 5)[0]).nonzero().flatten().tolist() == [9, 11]
    assert not allowed_next(SUBWORDS, ["chat"], [[6, 3]], 5)[0, [EOS, 1, 3, 6, 7, 13]].any()


@pytest.mark.parametrize(
    ("text", "word", "right"),
    [
        ("chat", "chat", True),
        ("chat,", "chat", True),
        ("«(chat)…»", "chat", True),
        ("chat😀", "chat", True),
        ("-10%", "10", True),
        ("chats", "chat", False),
        ("Chat", "chat", False),
        ("chat-noir", "chat", False),
        ("l'eau", "eau", False),
        ("कि", "क", False),  # the mark behind belongs to the word
        ("C", "C#", False),
        ("C#,", "C#", True),
        ("C#4", "C#", False),
        ("....", "...", True),
        ("a.aa.a", "a.a", False),
        ("xchat.chat", "chat", False),
    ],
)
def test_what_counts_as_the_word(text: str, word: str, right: bool) -> None:
    assert writes(text, word) == right


def test_every_sentence_has_its_own_phrases() -> None:
    rule = must_not([["le"], [], ["chat"]], Spelling(WORDS, EOS))
    prefix = Prefix(torch.tensor([2, 0, 1, 0]), torch.zeros(4, 0, dtype=torch.long), torch.full((4,), 8))
    values = torch.randn(4, len(WORDS))
    after = rule(prefix, values.clone())
    assert after.isneginf().nonzero().tolist() == [[0, 2], [0, 4], [1, 1], [3, 1]]
    assert torch.equal(after[after.isfinite()], values[after.isfinite()])


def led_by(*ids: int, size: int = len(SUBWORDS)) -> Even:
    """Return a model that wants these tokens above all, in falling order."""
    decoder = Even(size)
    for place, i in enumerate(ids):
        decoder.logits[i] = 20.0 - place
    return decoder


MARKS = Marks(bos=1, eos=EOS)


def test_a_greedy_search_that_has_written_the_word_makes_it_another_unless_it_is_eager() -> None:
    spelling, decoder, limit = Spelling(SUBWORDS, EOS), led_by(3, EOS, 4), torch.tensor([4])
    (plain,) = greedy(decoder, None, limit, marks=MARKS)
    (late,) = greedy(decoder, None, limit, rules=[must_not([["chat"]], spelling)], marks=MARKS)
    (early,) = greedy(decoder, None, limit, rules=[must_not([["chat"]], spelling, is_eager=True)], marks=MARKS)
    assert text_of(SUBWORDS, plain.ids) == " chat" * 4
    assert text_of(SUBWORDS, late.ids).split()[0] == "chats"
    assert early.ids == (EOS,)
    (wide,) = beam(decoder, None, limit, Beam(8), rules=[must_not([["chat"]], spelling)], marks=MARKS)[0]
    assert not holds(text_of(SUBWORDS, wide.ids), ["chat"])


def test_the_cut_at_the_limit_is_judged_too() -> None:
    decoder = led_by(1, 2)
    decoder.logits[EOS] = -30.0
    rule = must_not([["chat"]] * 3, Spelling(SUBWORDS, EOS))
    limits = torch.tensor([2, 3, 5])
    for found in greedy(decoder, None, limits, rules=[rule], marks=MARKS):
        assert not holds(text_of(SUBWORDS, found.ids), ["chat"])
        assert not found.is_finished
    for found in sample(
        Even(3),
        None,
        [[1]] * 60,
        torch.full((60,), 4),
        sampling=Sampling(),
        eos_id=None,
        rules=[must_not([["chat"]] * 60, Spelling(SUBWORDS[:3], 0))],
    ):
        assert not holds(text_of(SUBWORDS, found.ids), ["chat"])


def test_a_forced_prefix_may_hold_the_phrase_but_not_end_it_later() -> None:
    rule = must_not([["le chat"]] * 3, Spelling(WORDS, EOS))
    prefixes = [[1, 2], [1], [1, 2, 1]]
    decoder = led_by(2, 1, size=len(WORDS))
    found = greedy(decoder, None, torch.full((3,), 4), rules=[forced_prefix(prefixes, [rule])], marks=MARKS)
    assert [h.ids[: len(p)] for h, p in zip(found, prefixes, strict=True)] == [tuple(p) for p in prefixes]
    assert found[1].ids == (1, 1, 1, 1)  # "chat" is what the model wants
    assert found[2].ids == (1, 2, 1, 1)


def test_an_open_word_at_the_end_of_a_forced_prefix_becomes_another_where_it_can() -> None:
    decoder, limits = led_by(6, 4), torch.full((2,), 4)
    rules = [must_not([["le chat"]] * 2, Spelling(SUBWORDS, EOS), is_eager=is_eager) for is_eager in (False, True)]
    late, eager = (
        greedy(decoder, None, limits, rules=[forced_prefix([[6, 3], [6, 1]], [rule])], marks=MARKS) for rule in rules
    )
    assert [text_of(SUBWORDS, h.ids) for h in late] == [" le chats le", " le ch le le"]
    assert [text_of(SUBWORDS, h.ids) for h in eager] == [" le chat le le", " le ch le le"]


@given(
    st.sampled_from(["unigram", "bpe", "char", "word"]),
    st.lists(st.sampled_from(["chat", "le chat", "noir", "é", "dort.", "a", "h l"]), min_size=1, max_size=2),
    st.integers(0, 10**6),
    st.booleans(),
)
def test_what_a_tokenizer_writes_never_holds_the_phrase(
    kind: str, phrases: list[str], seed: int, is_eager: bool
) -> None:
    tokenizer, texts = texts_of(kind)
    rules = [whole_utf8(tokenizer.byte_values), must_not([phrases] * 4, Spelling(texts, 3), is_eager=is_eager)]
    for hypothesis in wishful(tokenizer, phrases, seed, rules):
        assert not holds(tokenizer.decode(hypothesis.ids), phrases)


def wishful(tokenizer: Tokenizer, phrases: list[str], seed: int, rules: list[Rule]) -> list[Hypothesis]:
    """Sample from a model that likes the pieces of the phrases."""
    decoder = Even(tokenizer.vocab_size)
    decoder.logits[:3] = float("-inf")
    decoder.logits[[i for i, value in enumerate(tokenizer.byte_values) if value >= 0]] -= 2.0
    for i in set(tokenizer.encode(" ".join(phrases) + " le chat, noir chats")):
        decoder.logits[i] += 5.0
    return sample(decoder, None, [[2]] * 4, torch.full((4,), 9), sampling=Sampling(seed=seed), rules=rules)


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
def test_without_a_ban_it_often_does(kind: str) -> None:
    tokenizer, _ = texts_of(kind)
    found = [h for seed in range(10) for h in wishful(tokenizer, ["é"], seed, [whole_utf8(tokenizer.byte_values)])]
    phrases = ["a", "h", "l"] if kind == "char" else ["le", "chat", "é"]
    assert sum(holds(tokenizer.decode(h.ids), phrases) for h in found) > 2


LINES = [
    "le chat noir dort.",
    "les chats, noirs, dorment",
    "un chat dort, (chat) noir !",
    "café noir, thé vert",
    "chatter dort",
]


@cache
def texts_of(kind: str) -> tuple[Tokenizer, list[bytes]]:
    tokenizer = train_tokenizer(LINES * 3, kind, None)
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    texts = [p.replace("▁", " ").encode() for p in pieces]
    texts = [b" " + t if kind == "word" else t for t in texts]
    values = tokenizer.byte_values
    texts = [bytes([v]) if v >= 0 else t for t, v in zip(texts, values, strict=True)]
    return tokenizer, [b"" if i in (0, 2, 3) else t for i, t in enumerate(texts)]


def test_a_phrase_without_words_is_the_users_mistake() -> None:
    with pytest.raises(UserError, match=r"^must_not: expected one word or more, got ' '; leave it out"):
        must_not([["chat"], [" "]], Spelling(WORDS, EOS))
