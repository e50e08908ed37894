"""Distinct-n, the commonest output, and outputs that repeat themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.evaluation.counted import Flags, Ratio, any_of
from seqline.evaluation.diversity import commonest_output, distinct, repeating_outputs

SAFE = [*["i am not sure"] * 3, "see you"]


def test_one_thing_said_to_everybody():
    assert distinct(SAFE, 1) == Ratio(6, 14)
    assert distinct(SAFE, 2) == Ratio(4, 10)
    assert [round(distinct(SAFE, n).share, 4) for n in (1, 2)] == [0.4286, 0.4]
    commonest = commonest_output(SAFE)
    assert (commonest.text, commonest.ratio.share) == ("i am not sure", 0.75)


def test_ngrams_do_not_cross_outputs():
    assert distinct(["a b", "b a"], 2) == Ratio(2, 2)
    assert distinct(["a", "b"], 2) == Ratio(0, 0)
    assert distinct(["a", "b"], 2).share == 0.0


def test_characters_are_units_where_no_spaces_are_written():
    assert distinct(["他不在家", "他在"], 1) == Ratio(4, 6)


def test_ngrams_have_a_word_or_more():
    with pytest.raises(ValueError, match="n = 0"):
        distinct(["a"], 0)


def test_commonest_output_leaves_white_space_aside_and_takes_the_first_of_equals():
    assert commonest_output(["b", " a  c", "a c ", "b"]) == ("b", Ratio(2, 4))
    assert commonest_output(["", " ", "x"]) == ("", Ratio(2, 3))
    assert commonest_output([]) == ("", Ratio(0, 0))


@pytest.mark.parametrize(
    ("output", "repeats"),
    [
        ("it was very very very good", False),
        ("it was very very very very good", True),
        ("No no NO no", True),
        ("? ? ? ? ?", True),
        ("more and more and better", False),
        ("so we go and so we go and so we go", False),  # only twice to the end of the phrase, and a bit
        ("so we go and so we go and so we go and", True),
        ("the end . the end . the end . then more", True),
        ("a b a b a b", True),
        ("a b a b a", False),
        ("a b c b a b c b a", False),
        ("", False),
    ],
)
def test_repeats_in_a_row_are_flagged(output: str, repeats: bool):
    assert repeating_outputs([output, "a plain line"]) == Flags((repeats, False))


def test_numbers_in_unsegmented_text_are_no_repetition():
    assert repeating_outputs(["他有1000000元。", "他说他说他说", "好好好好", "他说他不在家。"]).of == (
        False,
        True,
        True,
        False,
    )


@given(st.lists(st.sampled_from("abc"), max_size=4), st.integers(1, 5), st.lists(st.sampled_from("xyz"), max_size=3))
def test_what_is_said_often_enough_is_found_anywhere(phrase: list[str], times: int, around: list[str]):
    found = repeating_outputs([" ".join([*around, *phrase * times, *around])])
    if (len(phrase) > 1 and times >= 3) or (len(phrase) == 1 and times >= 4):
        assert found.rows == (0,)
    if times == 1 and len(set(phrase)) == len(phrase) and len(set(around)) == len(around):
        assert found.rows == ()


def test_flags_and_ratios_are_plain_numbers():
    flags = Flags((True, False, True, False))
    assert (flags.rows, flags.ratio, flags.share) == ((0, 2), Ratio(2, 4), 0.5)
    assert any_of(flags, Flags((False, False, True, True))).of == (True, False, True, True)
    assert Flags(()).share == 0.0
    with pytest.raises(ValueError):
        any_of(flags, Flags((True,)))
