"""Scores of labels against cases worked by hand: accuracy, entities in every scheme, classes without a NaN."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.evaluation.tag_metrics import (
    Entity,
    Share,
    entities_of,
    has_entities,
    score_classes,
    score_tags,
)


@pytest.mark.parametrize(
    ("tags", "entities"),
    [
        ("O O", []),
        ("B-PER I-PER O B-LOC", [("PER", 0, 1), ("LOC", 3, 3)]),
        ("B-PER B-PER I-PER", [("PER", 0, 0), ("PER", 1, 2)]),
        ("I-PER I-PER O I-LOC", [("PER", 0, 1), ("LOC", 3, 3)]),  # IOB1
        ("I-PER B-PER I-PER", [("PER", 0, 0), ("PER", 1, 2)]),  # IOB1: B parts neighbours
        ("I-PER I-LOC", [("PER", 0, 0), ("LOC", 1, 1)]),
        ("B-PER I-LOC O", [("PER", 0, 0), ("LOC", 1, 1)]),  # wrong IOB2: the I begins its own
        ("O I-PER", [("PER", 1, 1)]),
        ("B-PER O I-PER", [("PER", 0, 0), ("PER", 2, 2)]),
        ("S-PER B-PER I-PER E-PER S-PER", [("PER", 0, 0), ("PER", 1, 3), ("PER", 4, 4)]),  # IOBES
        ("B-PER E-PER I-PER", [("PER", 0, 1), ("PER", 2, 2)]),
        ("S-PER I-PER E-PER", [("PER", 0, 0), ("PER", 1, 2)]),
        ("B-PER I-PER L-PER U-LOC", [("PER", 0, 2), ("LOC", 3, 3)]),  # BILOU
        ("B-PER M-PER E-PER", [("PER", 0, 2)]),  # BMES
        ("B-A-B I-A-B", [("A-B", 0, 1)]),  # the type is all that follows the first hyphen
        ("B I B- X-PER b-PER", []),
        ("", []),
    ],
)
def test_entities_of_a_row(tags: str, entities: list[Entity]) -> None:
    assert entities_of(tags.split()) == entities


def test_a_corpus_worked_by_hand() -> None:
    reference = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-ORG", "I-ORG", "O"], ["B-PER"]]
    predicted = [["B-PER", "I-PER", "O", "B-ORG"], ["O", "B-ORG", "O", "O"], ["B-PER"]]
    score = score_tags(predicted, reference)
    assert (score.num_right, score.num_tokens, score.accuracy) == (7, 9, 7 / 9)
    # Found: PER 0-1, ORG 3 | ORG 1 | PER 0. True: PER 0-1, LOC 3 | ORG 1-2 | PER 0. Right: both PER.
    assert score.entities == Share(num_right=2, num_found=4, num_true=4)
    assert score.by_type == {"LOC": Share(0, 0, 1), "ORG": Share(0, 2, 1), "PER": Share(2, 2, 2)}
    assert list(score.by_type) == ["LOC", "ORG", "PER"]
    loc, org, per = score.by_type.values()
    assert (loc.precision, loc.recall, loc.f1) == (0.0, 0.0, 0.0)
    assert (org.precision, org.recall, org.f1) == (0.0, 0.0, 0.0)
    assert (per.precision, per.recall, per.f1) == (1.0, 1.0, 1.0)


def test_precision_recall_and_f1() -> None:
    share = Share(num_right=2, num_found=5, num_true=8)
    assert (share.precision, share.recall) == (2 / 5, 2 / 8)
    assert share.f1 == pytest.approx(2 / (5 / 2 + 8 / 2), abs=1e-15)
    assert Share(0, 0, 0).f1 == 0.0


def test_an_entity_never_runs_on_into_the_next_row() -> None:
    score = score_tags([["B-X"], ["I-X"]], [["B-X"], ["I-X"]])
    assert score.entities == Share(2, 2, 2)


def test_equal_places_in_other_rows_are_other_entities() -> None:
    score = score_tags([["B-X"], ["O"]], [["O"], ["B-X"]])
    assert score.entities == Share(0, 1, 1)


def test_part_of_speech_tags_have_no_entities() -> None:
    score = score_tags([["DET", "NOUN"], ["VERB"]], [["DET", "VERB"], ["VERB"]])
    assert (score.num_right, score.num_tokens, score.entities, score.by_type) == (2, 3, None, {})
    assert not has_entities(["NOUN", "O", "B", "S-PER", "B-"])
    assert has_entities(["O", "I-PER"])


def test_entities_that_are_only_predicted_are_none_in_the_reference() -> None:
    assert score_tags([["B-X"]], [["O"]]).entities is None


def test_no_rows_score_nothing() -> None:
    score = score_tags([], [])
    assert (score.accuracy, score.entities) == (0.0, None)


def test_rows_must_match() -> None:
    with pytest.raises(ValueError, match="1 rows of tags for 2 references"):
        score_tags([["O"]], [["O"], ["O"]])
    with pytest.raises(ValueError, match="row 1: 1 tags for 2 tokens"):
        score_tags([["O"], ["O"]], [["O"], ["O", "O"]])


rows = st.lists(st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y", "S-X", "E-X"]), max_size=7), max_size=5)


@given(rows)
def test_a_row_is_its_own_reference(tags: list[list[str]]) -> None:
    score = score_tags(tags, tags)
    assert score.num_right == score.num_tokens == sum(map(len, tags))
    if score.entities is not None:
        assert score.entities.num_right == score.entities.num_found == score.entities.num_true > 0
        assert score.entities.f1 == 1.0


@given(rows, rows)
def test_types_add_up_and_entities_cover_their_tokens_once(some: list[list[str]], other: list[list[str]]) -> None:
    for tags in some:
        entities = entities_of(tags)
        covered = [position for _, first, last in entities for position in range(first, last + 1)]
        assert covered == [position for position, tag in enumerate(tags) if tag != "O"]
        assert all(tags[position][2:] == kind for kind, first, last in entities for position in (first, last))
    cut = [(p[: len(r)], r[: len(p)]) for p, r in zip(some, other, strict=False)]
    score = score_tags([p for p, _ in cut], [r for _, r in cut])
    if score.entities is not None:
        sums = [sum(column) for column in zip(*score.by_type.values(), strict=True)]
        assert sums == list(score.entities)


def test_classes_worked_by_hand() -> None:
    reference = ["a", "a", "a", "b", "b", "c"]
    predicted = ["a", "a", "b", "b", "d", "a"]
    score = score_classes(predicted, reference)
    assert (score.num_right, score.num_texts, score.accuracy) == (3, 6, 0.5)
    assert score.by_class == {"a": Share(2, 3, 3), "b": Share(1, 2, 2), "c": Share(0, 0, 1), "d": Share(0, 1, 0)}
    assert list(score.by_class) == ["a", "b", "c", "d"]
    # F1 of a 2/3, of b 1/2, of c 0; d is no class of the reference.
    assert score.macro_f1 == pytest.approx((2 / 3 + 1 / 2 + 0) / 3, abs=1e-15)
    assert score.confusion == {("a", "a"): 2, ("a", "b"): 1, ("b", "b"): 1, ("b", "d"): 1, ("c", "a"): 1}


classes = st.lists(st.sampled_from("abcd"), max_size=12)


@given(classes, classes)
def test_class_scores_are_shares(predicted: list[str], reference: list[str]) -> None:
    length = min(len(predicted), len(reference))
    score = score_classes(predicted[:length], reference[:length])
    assert sum(score.confusion.values()) == score.num_texts == length
    shares = [getattr(s, name) for s in score.by_class.values() for name in ("precision", "recall", "f1")]
    assert all(0 <= share <= 1 for share in [*shares, score.accuracy, score.macro_f1])  # NaN fails, too


def test_counts_of_classes_must_match() -> None:
    with pytest.raises(ValueError, match="1 predictions for 2 references"):
        score_classes(["a"], ["a", "b"])
