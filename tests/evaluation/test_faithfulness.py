"""Copies, hallucinations that show in plain text, and `<unk>`."""

from __future__ import annotations

import pytest
from sacrebleu.metrics.chrf import CHRF

from seqline.errors import UserError
from seqline.evaluation.counted import Flags, Ratio
from seqline.evaluation.faithfulness import (
    copied_outputs,
    copied_words,
    detached_outputs,
    oscillating_outputs,
    unknown_outputs,
    unknown_words,
)


def test_a_copy_equals_its_source_but_for_white_space():
    sources = ["Das ist gut .", "Anna", "", "Hallo", "Das"]
    outputs = [" Das  ist gut . ", "Anna", "", "hallo", ""]
    assert copied_outputs(sources, outputs).of == (True, True, False, False, False)


def test_copied_words_are_counted_as_often_as_the_source_has_them():
    assert copied_words(["a b c", "x"], ["a a b d", "y x"]) == Ratio(3, 6)
    assert copied_words(["他不在 Berlin"], ["他在柏林"]) == Ratio(2, 4)
    assert copied_words(["", "a"], ["", ""]).share == 0.0


@pytest.mark.parametrize(
    ("source", "output", "is_flagged"),
    [
        ("ein kleiner Satz", "a small sentence", False),
        ("ein kleiner Satz", "the cat the cat the cat the cat", True),
        ("ein kleiner Satz", "no no no no no no", True),
        ("nein nein nein nein nein nein", "no no no no no no", False),  # the source does it too
        ("ein Satz mit ein paar Wörtern", "one two three four one two three four", False),
        ("ein Satz mit ein paar Wörtern", "one two three four " * 3, True),
        ("kurz", "one two three four one two three four", True),
        ("", "", False),
    ],
)
def test_oscillation_is_one_ngram_too_often_for_the_source(source: str, output: str, is_flagged: bool):
    assert oscillating_outputs([source], [output]) == Flags((is_flagged,))


def test_ngram_and_threshold_of_oscillation_can_be_chosen():
    pair = ["ein Satz"], ["of the house of the cat of the dog"]
    assert oscillating_outputs(*pair, n=2, threshold=2).share == 1.0
    assert oscillating_outputs(*pair, n=2, threshold=3).share == 0.0
    with pytest.raises(ValueError, match="1 or more"):
        oscillating_outputs(*pair, threshold=0)


def test_each_side_has_units_of_its_own():
    assert oscillating_outputs(["他今天不在家。"], ["the cat the cat the cat the cat"]).of == (True,)
    assert oscillating_outputs(["the cat is out"], ["猫猫猫猫猫猫"]).of == (True,)


def test_detached_is_sentence_chrf_below_a_threshold():
    outputs = ["Nothing of this kind", "The cat sleeps.", "", "zzz"]
    references = ["Wir sahen zu", "The cat slept.", "Something", "The dog barks at midnight."]
    assert detached_outputs(outputs, references).of == (True, False, False, True)
    score = CHRF().sentence_score(outputs[1], [references[1]]).score
    assert detached_outputs(outputs, references, threshold=score).of[1] is False
    assert detached_outputs(outputs, references, threshold=score + 1e-9).of[1] is True


def test_unknown_outputs_and_words():
    outputs = ["a <unk> b", "<unk>, <unk><unk>", "plain", "", "< unk >"]
    assert unknown_outputs(outputs).rows == (0, 1)
    assert unknown_words(outputs) == Ratio(3, 9)
    assert unknown_words(["他<unk>在<unk>家"]) == Ratio(2, 5)
    assert unknown_words(["\ue000 <unk>"]) == Ratio(1, 2)  # a private character is no mark
    assert unknown_words([]).share == 0.0


@pytest.mark.parametrize("rule", [copied_outputs, copied_words, oscillating_outputs])
def test_sources_and_outputs_go_in_pairs(rule):
    with pytest.raises(UserError, match="1 sources and 2 outputs"):
        rule(["a"], ["a", "b"])


def test_detached_outputs_need_a_reference_each():
    with pytest.raises(UserError, match="2 hypotheses and 1 references"):
        detached_outputs(["a", "b"], ["a"])
