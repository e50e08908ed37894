"""Alignment error rate: counts by hand, and a parser of gold links that says where a line is wrong."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.errors import UserError
from seqline.evaluation.alignment_metrics import (
    AlignmentScore,
    GoldLinks,
    check_gold,
    format_links,
    parse_gold,
    score_alignments,
)

LINKS = st.frozensets(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12)


def gold(line: str) -> GoldLinks:
    return parse_gold([line], "gold")[0]


def test_a_hand_computed_error_rate() -> None:
    # S = {00, 11, 22}, P = S and {23, 31}; A = {00, 11, 23, 30}: |A and S| = 2, |A and P| = 3.
    score = score_alignments([[(0, 0), (1, 1), (2, 3), (3, 0)]], [gold("0-0 1-1 2-2 2?3 3?1")])
    assert score == AlignmentScore(num_found=4, num_sure=3, num_found_sure=2, num_found_possible=3)
    assert score.error_rate == pytest.approx(1 - (2 + 3) / (4 + 3))
    assert score.precision == 3 / 4
    assert score.recall == 2 / 3


def test_counts_are_added_over_the_corpus_and_divided_once() -> None:
    score = score_alignments([[(0, 0)], [(0, 0), (0, 1), (0, 2)]], [gold("0-0 1-1"), gold("0-0")])
    assert score == (4, 3, 2, 2)
    assert score.error_rate == pytest.approx(1 - 4 / 7)  # the mean of the two sentences would be 5 / 12


@pytest.mark.parametrize(
    ("found", "line", "error_rate"),
    [
        ([(0, 0), (1, 1)], "0-0 1-1", 0.0),
        ([(0, 1)], "0-0", 1.0),
        ([(0, 0), (0, 0)], "0-0", 0.0),  # a link counts once
        ([(0, 0), (1, 1)], "0-0 1?1", 0.0),  # a possible link is no error
        ([(0, 0)], "0-0 1?1", 0.0),  # nor is it missed
        ([], "0-0", 1.0),
        ([], "", 0.0),
        ([(0, 0)], "", 1.0),
        ([(0, 0)], "0?0", 0.0),
    ],
)
def test_small_cases(found: list[tuple[int, int]], line: str, error_rate: float) -> None:
    assert score_alignments([found], [gold(line)]).error_rate == error_rate


def test_shares_of_nothing_are_zero() -> None:
    score = score_alignments([[]], [gold("")])
    assert (score.precision, score.recall) == (0.0, 0.0)


def test_other_counts_of_sentences_are_refused() -> None:
    with pytest.raises(ValueError, match="2 alignments for 1"):
        score_alignments([[], []], [gold("")])


def test_the_record_for_machines() -> None:
    assert score_alignments([[(0, 0)]], [gold("0-0 1-0")]).as_json() == {
        "error_rate": pytest.approx(1 / 3),
        "precision": 1.0,
        "recall": 0.5,
        "num_found": 1,
        "num_sure": 2,
        "num_found_sure": 1,
        "num_found_possible": 1,
    }


@given(LINKS, LINKS, LINKS)
def test_the_error_rate_is_a_share_and_zero_only_without_errors(
    found: frozenset[tuple[int, int]], sure: frozenset[tuple[int, int]], more: frozenset[tuple[int, int]]
) -> None:
    score = score_alignments([found], [GoldLinks(sure, sure | more)])
    assert -1e-12 <= score.error_rate <= 1 + 1e-12
    assert (score.error_rate < 1e-9) == (sure <= found <= sure | more)


@given(LINKS)
def test_where_all_links_are_sure_the_error_rate_is_one_minus_f1(sure: frozenset[tuple[int, int]]) -> None:
    found = {(0, 0), (1, 1), (2, 2)}
    score = score_alignments([found], [GoldLinks(sure, sure)])
    right = len(found & sure)
    assert score.error_rate == pytest.approx(1 - 2 * right / (len(found) + len(sure)))


@given(st.lists(st.tuples(LINKS, LINKS), max_size=4), st.sampled_from([" ", "  ", "\t"]))
def test_what_is_written_is_read_back(
    rows: list[tuple[frozenset[tuple[int, int]], frozenset[tuple[int, int]]]], gap: str
) -> None:
    lines = [gap.join([*(f"{i}-{j}" for i, j in sorted(s)), *(f"{i}?{j}" for i, j in p)]) for s, p in rows]
    assert parse_gold(lines, "gold") == [GoldLinks(s, s | p) for s, p in rows]
    assert parse_gold([format_links(s) for s, _ in rows], "gold") == [GoldLinks(s, s) for s, _ in rows]


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
def test_any_line_is_read_or_refused_in_one_line_that_names_it(text: str) -> None:
    if all(re.fullmatch("[0-9]{1,6}[-?][0-9]{1,6}", part) for part in text.split()):
        assert len(parse_gold(["0-0", text], "a/gold.pharaoh")[1].possible) <= len(text.split())
        return
    with pytest.raises(UserError, match=r"^a/gold\.pharaoh:2: expected links such as 0-0") as caught:
        parse_gold(["0-0", text], "a/gold.pharaoh")
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    "line", ["0", "0-", "-0", "0-0-0", "0:0", "a-b", "0 - 0", "-1-0", "0--1", "1.0-2", "٣-0", "0p1"]
)
def test_what_is_no_link(line: str) -> None:
    with pytest.raises(UserError, match=r"^gold:1: expected links .*; write source word, - or \?, target word"):
        gold(line)


def test_gold_of_another_corpus_is_refused() -> None:
    pairs = [("a b", "c"), ("", "d e")]
    check_gold(parse_gold(["0-0 1-0", ""], "g"), pairs, "g")
    with pytest.raises(UserError, match=r"^g: 1 lines of links for 2 pairs of sentences; give one line a pair"):
        check_gold(parse_gold(["0-0"], "g"), pairs, "g")
    with pytest.raises(UserError, match=r"^g:1: a link to source word 2, but that sentence has 2 words"):
        check_gold(parse_gold(["2-0", ""], "g"), pairs, "g")
    with pytest.raises(UserError, match=r"^g:1: a link to target word 1, but that sentence has 1 words"):
        check_gold(parse_gold(["0?1", ""], "g"), pairs, "g")
    with pytest.raises(UserError, match=r"^g:2: a link to source word 0, but that sentence has 0 words"):
        check_gold(parse_gold(["", "0-0"], "g"), pairs, "g")
