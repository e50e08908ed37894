"""Twins: their law and that unseen ones stay unseen; what is cut; planted numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from seqline.data.toy import make_corpus, write_corpus
from seqline.intervene import set_rows
from seqline.lab.coreference import (
    CONTROL,
    CORPUS,
    CUT,
    EXPERIMENT,
    WHOLE,
    batch_of,
    best_head,
    choices,
    cuts,
    looked,
    parts_of,
    preferred,
    verdicts,
    weights_of,
)
from seqline.lab.gold import read_gold
from seqline.lab.laboratory import Lab
from seqline.lab.twins import PRONOUNS, Twin, make, seen_twins, twins_of
from seqline.translator import Translator
from seqline.watch import watch

from ..comparing.small import InProcess
from .planted import SmallLab, hits, measured, states


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> list[Twin]:
    """Return the unseen twins."""
    folder = tmp_path_factory.mktemp("toy") / "data"
    write_corpus(make_corpus("en-fr", 60, seed=1), folder)
    return twins_of(read_gold(folder, "pronouns"))


def test_two_twins_share_their_nouns_and_not_their_pronoun(twins: list[Twin]) -> None:
    assert len(twins) == 200
    first = twins[0]
    assert first.source == "the pizza came out of the oven and it tastes good"
    words = first.source.split()
    assert [words[k] for k in (first.it, first.noun, first.other)] == ["it", "pizza", "oven"]
    assert first.target.split()[first.pronoun] == "elle"
    assert [first.target.split()[j] for j in first.nouns_out] == ["pizza", "four"]
    for one, two in zip(twins[::2], twins[1::2], strict=True):
        assert (one.noun, one.other, one.it) == (two.other, two.noun, two.it)
        assert one.source.split()[: one.it + 1] == two.source.split()[: two.it + 1]
        assert {one.target.split()[one.pronoun], two.target.split()[two.pronoun]} == set(PRONOUNS)


def test_learned_twins_are_new_and_never_of_the_held_out_kind() -> None:
    base = make_corpus("en-fr", 20, seed=1)
    seen = {pair.source for pair in base.pronoun_test}
    found = list(seen_twins(5, 300, set(seen)))
    assert len(found) == 300
    assert len({pair.source for pair in found}) == 300

    assert not seen.intersection(pair.source for pair in found)
    held_out = {("pizza", "tastes good"), ("oven", "needs repair")}
    about = [
        (pair.source.split()[pair.antecedent[1]], pair.source.split(" it ")[1]) for pair in found if pair.antecedent
    ]
    assert not held_out.intersection(about)
    unseen = {(p.source.split()[p.antecedent[1]], p.source.split(" it ")[1]) for p in base.pronoun_test if p.antecedent}
    assert not unseen.intersection(about)


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """Return a Transformer of two steps, which knows the words."""
    lab = SmallLab(
        tmp_path_factory.mktemp("lab"), is_quick=True, corpora={CORPUS: small_twins}, start=InProcess, most_steps=2
    )
    return Translator.load(lab.run(EXPERIMENT.models(lab)[0]))


def small_twins(folder: Path, _lab: Lab) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("seqline.lab.twins.NUM_PAIRS", 60)
        patch.setattr("seqline.lab.twins.NUM_TWINS", 200)
        make(folder, _lab)


def test_what_is_cut_is_not_read(translator: Translator, twins: list[Twin]) -> None:
    twin, parts = twins[0], parts_of(translator)
    batch = batch_of(translator, twin)
    assert (len(parts.encoder), len(parts.cross), len(parts.own)) == (2, 2, 2)
    for name, rows in cuts(parts, twin).items():
        with set_rows(rows), watch(only=("multi-head attention",)) as frames:
            translator.model(batch.source, batch.source_is_real, batch.target_in)
        weights = [frame.values["weights"][0] for frame in frames]
        inside, own, cross = weights[:2], weights[2::2], weights[3::2]
        is_all = name == "all of these"
        assert all(bool(w[:, twin.it, [twin.noun, twin.other]].any()) != (is_all or name == CUT) for w in inside) or (
            name == "encoder: “it” to its noun" and not any(w[:, twin.it, twin.noun].any() for w in inside)
        )
        is_cross = is_all or name == "decoder: pronoun to both nouns"
        assert all(bool(w[:, twin.pronoun, [twin.noun, twin.other]].any()) != is_cross for w in cross)
        fed = [j + 1 for j in twin.nouns_out]
        is_own = is_all or name == "decoder: pronoun to the French nouns"
        assert all(bool(w[:, twin.pronoun, fed].any()) != is_own for w in own)


def test_choices_are_counted_by_two_twins(translator: Translator, twins: list[Twin]) -> None:
    found = choices(translator, twins[:6])
    assert {WHOLE, CUT, CONTROL} <= set(found)
    assert all(each.shape == (3, 2) and (each[:, 1] == 2).all() for each in found.values())
    with torch.no_grad():  # a model that always says elle is right once in two twins
        il, elle = (translator.tokenizers.target.encode(word)[0] for word in PRONOUNS)
        bias = translator.model.decoder.head.bias  # pyright: ignore[reportAttributeAccessIssue]
        before = bias.clone()
        bias[elle], bias[il] = 100.0, -100.0
        assert all(each[:, 0].tolist() == [1, 1, 1] for each in choices(translator, twins[:6]).values())
        bias.copy_(before)


def test_weights_are_those_of_the_words(translator: Translator, twins: list[Twin]) -> None:
    encoder, cross = weights_of(translator, twins[0])
    assert encoder is not None
    size = len(twins[0].source.split()) + 1
    assert encoder.shape == (2, 4, size, size)
    assert cross.shape == (2, 4, len(twins[0].target.split()) + 1, size)
    torch.testing.assert_close(encoder.sum(-1), torch.ones(2, 4, size))
    found = looked(translator, twins[:2])
    assert found.encoder is not None
    assert found.encoder[0][0] == pytest.approx(encoder[:, :, twins[0].it, twins[0].noun].numpy())
    assert found.cross[1][0] == pytest.approx(cross[:, :, twins[0].pronoun, twins[0].other].numpy())


def test_the_head_that_prefers_the_noun_is_found() -> None:
    noun, other = np.zeros((4, 2, 3)), np.full((4, 2, 3), 0.2)
    noun[:3, 1, 2] = 0.5
    assert best_head(noun, other) == (1, 2)
    assert preferred(noun[:, 1, 2], other[:, 1, 2]).tolist() == [[2, 2], [1, 2]]


def test_claims_hold_fail_and_stay_open() -> None:
    good = {WHOLE: [hits(39, 40)], CONTROL: [hits(38, 40)], CUT: [hits(20, 40)]}
    assert set(states(verdicts(good, [hits(38, 40)])).values()) == {"held"}
    bad = {WHOLE: [hits(39, 40)], CONTROL: [hits(38, 40)], CUT: [hits(38, 40)]}
    assert states(verdicts(bad, [hits(3, 40)])) == {"resolved": "held", "looks": "not held", "needed": "not held"}
    worse = {key: [hits(8, 40)] for key in (WHOLE, CONTROL, CUT)}
    found = states(verdicts(worse, [hits(20, 40)]))
    assert found == {"resolved": "not held", "looks": "undecided", "needed": "undecided"}  # nothing could be lost
    same = {key: [hits(20, 40)] for key in (WHOLE, CONTROL, CUT)}
    assert set(states(verdicts(same, [hits(38, 40)])).values()) == {"undecided"}


def test_a_whole_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seqline.lab.coreference.QUICK_SIZES", (6, 4))
    found = measured(EXPERIMENT, tmp_path, {CORPUS: small_twins})
    cut = {row[1] for row in found.tables[0].rows if row[0] == "transformer"}
    assert {"free translation", WHOLE, CUT, CONTROL} <= cut
