"""Tokens and words from byte ranges: characters stay whole, every token has one word, widths are upper bounds."""

import importlib.util
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.visualize import widths
from seqline.visualize.scripts import clusters, direction, readable, word_ranges
from seqline.visualize.text import special_token, text_block, tokens_of

SAMPLES = [
    "pizza ",
    "比萨",
    "出来",
    "e\u0301",
    "👩‍👩‍👧",
    "🇫🇷🇩🇪",
    "ที่นี่",
    "שלום, ",
    "البيتزا",
    "한국어",
    " ",
    "\n",
    "\ufffd",
    "\x00",
    "3.",
]
TEXTS = st.lists(
    st.sampled_from(SAMPLES) | st.text(st.characters(exclude_categories=["Cs"]), max_size=3), max_size=6
).map("".join)


def words_of(text: str, **more: Any) -> list[str]:
    return [text[a:b] for a, b in word_ranges(text, **more)]


def spans_of(text: str, cuts: list[int]) -> list[tuple[int, str, int, int]]:
    data = text.encode()
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [(9, f"piece{n}", a, b) for n, (a, b) in enumerate(pairwise(edges))]


@given(TEXTS, st.lists(st.integers(0, 200), max_size=12))
def test_every_token_has_one_word_and_words_are_runs(text: str, cuts: list[int]) -> None:
    tokens, words = tokens_of(text, spans_of(text, cuts))
    members = [i for word in words for i in word["tok"]]
    assert members == list(range(len(tokens)))
    for index, word in enumerate(words):
        assert all(tokens[i]["word"] == index for i in word["tok"])
        assert word["tok"] == list(range(word["tok"][0], word["tok"][-1] + 1))
        assert word["bytes"][0] < word["bytes"][1]
    for part in [*tokens, *words]:
        assert "\ufffd" not in part["text"]
        assert part["text"]
        assert part["w_em"] >= 0
        assert part["dir"] in ("ltr", "rtl", "neutral")


@given(TEXTS, st.lists(st.integers(0, 200), max_size=12))
def test_no_token_shows_half_a_character(text: str, cuts: list[int]) -> None:
    whole = [readable(text[a:b]) for a, b in clusters(text)]
    for token in tokens_of(text, spans_of(text, cuts))[0]:
        assert any(
            "".join(whole[i:j]) == token["text"] for i in range(len(whole)) for j in range(i + 1, len(whole) + 1)
        )
        number, of = token.get("part", (1, 1))
        assert 1 <= number <= of


@given(TEXTS)
def test_words_cover_all_but_white_space_and_split_no_character(text: str) -> None:
    ranges = word_ranges(text)
    edges = {edge for a, b in clusters(text) for edge in (a, b)}
    covered = {i for a, b in ranges for i in range(a, b)}
    assert all(i in covered for i, character in enumerate(text) if not character.isspace())
    assert all(a in edges or text[a - 1].isspace() for a, _ in ranges)
    assert all(b in edges or text[b].isspace() for _, b in ranges)


def test_words_by_hand() -> None:
    assert words_of("the pizza, came out") == ["the", "pizza,", "came", "out"]
    assert words_of("比萨从OpenAI来") == ["比", "萨", "从", "OpenAI", "来"]
    assert words_of("שלוםabc") == ["שלום", "abc"]
    assert words_of("cafe\u0301 naïve") == ["cafe\u0301", "naïve"]
    assert words_of("ที่นี่") == ["ที่", "นี่"]
    assert words_of("한국어 단어") == ["한국어", "단어"]
    assert words_of("第3章") == ["第", "3", "章"]


def test_a_segmenter_cuts_chinese_and_nothing_else() -> None:
    seen = []

    def segment(text: str) -> list[tuple[int, int]]:
        seen.append(text)
        return [(0, 2)]

    assert words_of("the 比萨来 x", segment=segment) == ["the", "比萨", "来", "x"]
    assert seen == ["比萨来"]
    with pytest.raises(ValueError, match="segment"):
        word_ranges("比萨", lambda text: [(1, 9)])


def test_a_character_of_three_bytes_is_shown_once_whole() -> None:
    tokens, words = tokens_of("语 a", [(5, "<0xE8>", 0, 1), (6, "<0xAF>", 1, 2), (7, "<0xAD>", 2, 3), (8, "▁a", 3, 5)])
    assert [token["text"] for token in tokens] == ["语", "语", "语", "a"]
    assert [token.get("part") for token in tokens] == [[1, 3], [2, 3], [3, 3], None]
    assert [token["bytes"] for token in tokens] == [[0, 1], [1, 2], [2, 3], [4, 5]]
    assert [(word["text"], word["tok"]) for word in words] == [("语", [0, 1, 2]), ("a", [3])]


def test_a_mark_on_its_own_shows_its_letter() -> None:
    tokens, _ = tokens_of("cafe\u0301", [(5, "cafe", 0, 4), (6, "\u0301", 4, 6)])
    assert [token["text"] for token in tokens] == ["cafe\u0301", "e\u0301"]
    assert [token.get("part") for token in tokens] == [None, [2, 2]]


def test_a_piece_over_two_words_joins_them_and_white_space_goes_to_the_next() -> None:
    tokens, words = tokens_of("in a box ", [(4, "in a", 0, 4), (5, "▁", 4, 5), (6, "box", 5, 8), (7, "▁", 8, 9)])
    assert [(word["text"], word["tok"]) for word in words] == [("in a", [0]), ("box", [1, 2, 3])]
    assert [token["text"] for token in tokens] == ["in a", " ", "box", " "]


def test_specials_have_no_word_and_unknown_ones_do() -> None:
    block = text_block("b 語", [(4, "b", 0, 1), (1, "<unk>", 2, 5), (3, "</s>", None, None)], lang="en")
    special = [token["special"] for token in block["tokens"]]
    assert special == [None, "unk", "eos"]
    assert [token["word"] for token in block["tokens"]] == [0, 1, None]
    assert block["tokens"][1]["text"] == "語"
    assert special_token(2, "<s>")["special"] == "bos"


def test_direction_is_that_of_the_first_strong_character() -> None:
    assert direction("12 שלום abc") == "rtl"
    assert direction("(abc שלום") == "ltr"
    assert direction("12 + 3") == "neutral"
    assert text_block("البيتزا", [])["dir"] == "rtl"
    assert text_block("12", [])["dir"] == "ltr"


def test_ranges_out_of_order_are_refused() -> None:
    for spans in ([(4, "b", 2, 3), (4, "a", 0, 1)], [(4, "a", 0, 9)], [(4, "a", 0, 2), (5, "b", 1, 3)]):
        with pytest.raises(ValueError, match="range"):
            tokens_of("abc", spans)


def test_clusters_by_hand() -> None:
    for whole in ("e\u0301", "👩‍👩‍👧", "🇫🇷", "👍🏽", "\r\n", "각", "\u1100\u1161\u11a8", "✍️"):
        assert clusters(whole) == [(0, len(whole))]
    assert clusters("🇫🇷🇩🇪a") == [(0, 2), (2, 4), (4, 5)]
    assert clusters("") == []


def test_widths() -> None:
    assert widths.width_em("") == 0
    assert widths.width_em("语语") == pytest.approx(2.1)
    assert widths.width_em("WW") > widths.width_em("ii") > 0
    assert widths.width_em("e\u0301") == widths.width_em("e")


@pytest.mark.skipif(importlib.util.find_spec("fontTools") is None, reason="needs the extra `pictures`")
def test_the_table_of_widths_is_that_of_the_bundled_font() -> None:
    assert widths.TABLE_FILE.read_text("utf-8") == widths.table_text()
