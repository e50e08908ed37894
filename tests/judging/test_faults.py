"""What is said of outputs that went wrong: one line a fault, nothing where all is well."""

from __future__ import annotations

import json

import pytest

from seqline.judging.faults import diversity_of, faults_of

from ..small_judged import REFERENCES, SOURCES, lines

NONE = (False,) * 5


def test_clean_outputs_have_no_faults() -> None:
    found = faults_of(lines(), REFERENCES, NONE, NONE, NONE)
    assert found.lines == []
    assert found.num_cut == 0


def test_every_fault_has_its_line() -> None:
    texts = ["", SOURCES[1], "nobody saw the <unk> boat", "qqq qqq xxx", "the old woman reads a thick book"]
    first, second = (True, False, False, False, False), (False, False, False, True, True)
    found = faults_of(lines(), texts, first, second, first)
    assert found.lines == [
        "1 output did not end by itself and was cut at the length limit",
        "1 source is longer than the model reads: it saw the beginning only",
        "1 output is empty, its source and reference are not",
        "2 outputs go round in circles",
        "1 output repeats its source where the reference does not",
        "<unk> rate = 5.26 % of the words, in 1 output",
        "hallucination rate = 40.00 % of the outputs: 2 detached (sentence chrF2 below 10), "
        "0 oscillating (repeats what the source does not)",
    ]
    shown = found.as_json(range(1, 6))
    assert shown["lines"] == {
        "cut": [1], "truncated": [1], "empty": [1], "loop": [4, 5],
        "unknown": [3], "copied": [2], "oscillating": [], "detached": [2, 4],
    }  # fmt: skip
    assert (shown["num_loop"], shown["num_empty"], shown["num_copied"]) == (2, 1, 1)
    assert shown["unknown_words"] == {"part": 1, "whole": 19}
    json.dumps(shown, allow_nan=False)


def test_what_the_reference_copies_too_is_no_fault() -> None:
    found = faults_of(lines(["Ana 7", "x y"], ["Ana 7", "a b"]), ["Ana 7", "x y"], NONE[:2], NONE[:2], NONE[:2])
    assert found.copied.rows == (1,)


def test_a_blank_output_of_a_blank_source_or_reference_is_no_fault() -> None:
    found = faults_of(lines(["", "a", "b"], ["x", "a", ""]), ["", " ", ""], NONE[:3], NONE[:3], NONE[:3])
    assert found.empty.rows == (1,)


def test_a_dialogue_model_that_says_one_thing_is_seen() -> None:
    found = diversity_of(["i am not sure", "i am not sure", "see you", "i am not sure"])
    assert found.lines == [
        "distinct-1 = 0.4286 (6 of 14)",
        "distinct-2 = 0.4000 (4 of 10)",
        "commonest output = 0.7500 (3 of 4): i am not sure",
        "repetition rate = 0.0000 (0 of 4)",
    ]
    assert found.as_json()["commonest"] == {"text": "i am not sure", "share": 0.75, "part": 3, "whole": 4}
    assert found.as_json()["distinct_1"]["share"] == pytest.approx(6 / 14)
