"""Ranges of pieces: into the text as typed, and into the text that ids decode to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.spans import PieceSpan, output_spans, source_spans
from seqline.data.tokenizer import BOS, EOS, PAD, UNK, Tokenizer, train_tokenizer
from seqline.errors import UserError

CORPUS = [f"The {a} sees the {b}, n° {i}." for i, a in enumerate(("cat", "dog", "house")) for b in ("river", "stone")]
NASTY = [
    "</s>",
    "<unk>",
    "<0x41>",
    "▁",
    "▅",
    "\x1f",
    "\uee81",
    "\uee82",
    "\uee81\uee83",
    "\ufffd",
    " ",
    "  ",
    "\u3000",
    "\n",
]
OTHER = ["😀 a  b", "👩‍👩‍👧", "e\u0301", "語", "比萨 出来", "cat", "The", "البيتزا", "\U0010ffff"]
TEXTS = st.lists(
    st.sampled_from([*NASTY, *OTHER]) | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    max_size=8,
).map("".join)


@pytest.fixture(scope="module")
def tokenizers() -> list[Tokenizer]:
    subwords = [
        train_tokenizer(CORPUS, kind, size, byte_fallback=with_bytes)
        for kind in ("unigram", "bpe")
        for size, with_bytes in ((400, True), (80, False))
    ]
    lines = [*CORPUS, "▁ ▅ \x1f \uee81"]
    return [*subwords, train_tokenizer(lines, "char", None), train_tokenizer(lines, "word", None)]


def check_ranges(text: str, spans: list[PieceSpan]) -> None:
    """Check that ranges are in order, do not overlap and leave out white space only."""
    data = text.encode()
    end = 0
    left_out = b""
    for span in spans:
        if span.start is None or span.end is None:
            continue
        assert end <= span.start <= span.end <= len(data)
        left_out += data[end : span.start]
        end = span.end
    left_out += data[end:]
    assert not left_out.decode().strip()


@given(TEXTS)
def test_ranges_cover_the_text_as_typed(tokenizers: list[Tokenizer], text: str) -> None:
    for tokenizer in tokenizers:
        spans = source_spans(tokenizer, text)
        assert [span.id for span in spans] == tokenizer.encode(text)
        assert [span.piece for span in spans] == tokenizer.pieces(tokenizer.encode(text))
        check_ranges(text, spans)


@given(st.lists(st.sampled_from([*OTHER, " ", "\u3000"]), max_size=8).map("".join))
def test_a_range_holds_the_text_of_its_piece(tokenizers: list[Tokenizer], text: str) -> None:
    for tokenizer in tokenizers:
        for span in source_spans(tokenizer, text):
            held = text.encode()[span.start : span.end]
            value = tokenizer.byte_values[span.id]
            if value >= 0:
                assert held == bytes([value])
            elif span.id != UNK:
                assert held.decode() == span.piece.replace("▁", " ")


@given(st.data())
def test_output_ranges_cover_what_is_decoded(tokenizers: list[Tokenizer], data: st.DataObject) -> None:
    for tokenizer in tokenizers:
        ids = data.draw(st.lists(st.integers(0, tokenizer.vocab_size - 1), max_size=12))
        text, spans = output_spans(tokenizer, ids)
        assert text == tokenizer.decode(ids)
        assert [span.id for span in spans] == ids
        assert all((span.start is None) == (span.id in (PAD, BOS, EOS)) for span in spans)
        check_ranges(text, spans)


@given(TEXTS)
def test_what_was_encoded_has_the_same_ranges_when_decoded(tokenizers: list[Tokenizer], text: str) -> None:
    for tokenizer in (tokenizers[0], tokenizers[2]):  # those that give back every text
        spans = source_spans(tokenizer, text)
        assert output_spans(tokenizer, [span.id for span in spans]) == (text, spans)


def test_by_hand(tokenizers: list[Tokenizer]) -> None:
    unigram, no_bytes, _, _, char, word = tokenizers
    spans = source_spans(unigram, "語")
    assert [(s.piece, s.start, s.end) for s in spans] == [("<0xE8>", 0, 1), ("<0xAA>", 1, 2), ("<0x9E>", 2, 3)]
    unknown = [span for span in source_spans(no_bytes, "The 語語 cat") if span.id == UNK]
    assert [(s.start, s.end) for s in unknown] == [(4, 10)]
    assert [(s.start, s.end) for s in source_spans(char, "a▁b")] == [(0, 1), (1, 2), (2, 4), (4, 5)]
    assert [(s.start, s.end) for s in source_spans(word, " cat  語 ")] == [(1, 4), (6, 9)]
    text, spans = output_spans(word, [BOS, *word.encode("The zzz cat"), EOS])
    assert text == "The <unk> cat"
    assert [(s.start, s.end) for s in spans] == [(None, None), (0, 3), (4, 9), (10, 13), (None, None)]


def test_bytes_that_make_no_character_have_an_empty_range(tokenizers: list[Tokenizer]) -> None:
    unigram = tokenizers[0]
    of_byte = {value: i for i, value in enumerate(unigram.byte_values) if value >= 0}
    text, spans = output_spans(unigram, [of_byte[b] for b in b"a\xe8\xaab\xff"])
    assert text == "ab"
    assert [(s.start, s.end) for s in spans] == [(0, 1), (1, 1), (1, 1), (1, 2), (2, 2)]


def test_half_a_surrogate_is_refused(tokenizers: list[Tokenizer]) -> None:
    with pytest.raises(UserError, match="surrogate"):
        source_spans(tokenizers[0], "\ud800")
