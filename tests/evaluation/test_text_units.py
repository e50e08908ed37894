"""Words, characters and n-grams of raw text."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from seqline.evaluation.text_units import letters_only, ngrams, num_common, split_units, splitter, unit_name

CHINESE = ["他今天不在家， 也不在学校。"]


def test_words_are_parted_by_white_space_and_characters_where_there_is_none():
    assert split_units([" The  cat.", ""], like=["a b"]) == ([["The", "cat."], []],)
    assert split_units(["Ab c"], CHINESE, like=CHINESE) == ([["A", "b", "c"]], [list("他今天不在家，也不在学校。")])
    assert split_units(["Ab C"], like=["a b"], lowercase=True) == ([["ab", "c"]],)
    assert (unit_name(["a b"]), unit_name(CHINESE)) == ("words", "characters")
    assert splitter(["他 今天 不 在 家"])("他 今天") == ["他", "今天"]


def test_letters_keep_their_marks():
    assert letters_only("Don't, U.S. 3.14 «É» a_b").split() == ["don", "t", "u", "s", "3", "14", "é", "a", "b"]
    assert letters_only("हिन्दी, भाषा।").split() == ["हिन्दी", "भाषा"]
    assert letters_only("e\u0301!").split() == ["e\u0301"]
    assert letters_only("。，！😀").split() == []


@given(st.text(max_size=30))
def test_letters_only_parts_as_its_characters_say(line: str):
    words = letters_only(line).split()
    assert "".join(c for c in "".join(words) if c.isalnum()) == "".join(c for c in line.lower() if c.isalnum())


@given(st.text("ab ", max_size=12), st.integers(1, 4))
def test_ngrams_are_all_runs(text: str, n: int):
    assert [*ngrams(text, n)] == [tuple(text[i : i + n]) for i in range(len(text) - n + 1)]


@given(st.text("abc", max_size=9), st.text("abc", max_size=9))
def test_common_units_are_counted_as_often_as_both_have_them(ours: str, theirs: str):
    assert num_common(ours, theirs) == sum(min(n, theirs.count(c)) for c, n in Counter(ours).items())
