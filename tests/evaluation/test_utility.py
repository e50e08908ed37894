"""Sentence chrF of all pairs equals sacreBLEU's, one pair at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from seqline.decoding.mbr import mbr
from seqline.evaluation import utility
from seqline.evaluation.utility import chrf_matrix

near = st.text("ab ", max_size=14)
anything = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def one_by_one(texts: list[str]) -> np.ndarray:
    return np.array([[CHRF().sentence_score(h, [r]).score for r in texts] for h in texts]).reshape(len(texts), -1)


@given(st.lists(near | anything | st.sampled_from(["", " ", "le chat dort.", "le chien dort !"]), max_size=6))
def test_every_pair_equals_sacrebleu(texts: list[str]) -> None:
    found = chrf_matrix(texts)
    assert found.shape == (len(texts), len(texts))
    if texts:
        np.testing.assert_allclose(found, one_by_one(texts), rtol=0, atol=1e-9)


def test_sentences_of_a_language() -> None:
    texts = [
        "The cat sat on the mat.",
        "A cat sat on a mat",
        "the dog",
        "Der Hund schläft nicht.",
        "猫が座った。",
        "😀😀😀",
    ]
    np.testing.assert_allclose(chrf_matrix(texts), one_by_one(texts), rtol=0, atol=1e-9)
    assert chrf_matrix(texts)[0, 1] != pytest.approx(chrf_matrix(texts)[1, 0], abs=0.1)  # it is not symmetric


def test_the_blocks_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["abcabcabd", "abcabd", "bcabcab", "dddd", "abcabcabd"]
    whole = chrf_matrix(texts)
    monkeypatch.setattr(utility, "_BLOCK", 3)
    np.testing.assert_array_equal(chrf_matrix(texts), whole)
    np.testing.assert_allclose(whole, one_by_one(texts), rtol=0, atol=1e-9)


def test_minimum_bayes_risk_with_chrf() -> None:
    candidates = ["the cat sleeps", "the cat slept", "a dog barks", "the cat sleeps", "the cats sleep"]
    found = mbr(candidates, chrf_matrix)
    right = {h: np.mean([CHRF().sentence_score(h, [r]).score for r in candidates]) for h in set(candidates)}
    assert {c.text: c.expected_utility for c in found} == pytest.approx(right, abs=1e-9)
    assert found[0].text == "the cat sleeps"
    assert found[-1].text == "a dog barks"
