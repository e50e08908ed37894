"""What outputs are judged by: scores as sacrebleu makes them, sentences at the bottom, numbers by hand."""

from __future__ import annotations

import json

import pytest
import sacrebleu

from seqline.errors import UserError
from seqline.evaluation.metrics import METRICS
from seqline.judging.judge import Standards, judge

from ..small_judged import REFERENCES, SOURCES, answers, judged, lines

GOOD = [*REFERENCES[:3], "this is good", ""]


def test_scores_are_those_of_the_metrics_and_come_in_the_order_asked_for() -> None:
    found = judged(GOOD, "one", None, "rougeL", "ter", "ter", "bleu")
    assert [score.name for score in found.scores] == ["BLEU", "chrF2", "exact match", "ROUGE-L", "TER"]
    assert found.scores[0].value == pytest.approx(sacrebleu.corpus_bleu(GOOD, [list(REFERENCES)]).score)
    assert found.scores[2].value == pytest.approx(60.0)
    assert found.scores[4].value == pytest.approx(sacrebleu.corpus_ter(GOOD, [list(REFERENCES)]).score)


@pytest.mark.parametrize("name", METRICS)
def test_the_sums_of_every_metric_make_its_score(name: str) -> None:
    found = judged(GOOD, "one", None, name)
    for one in found.measured:
        assert one.statistics.shape[0] == len(SOURCES)
        assert float(one.metric.value(one.statistics.sum(axis=0))) == pytest.approx(one.score.value)


def test_all_is_every_metric_and_the_variety() -> None:
    found = judged(GOOD, "one", None, "all")
    assert {one.metric.name for one in found.measured} == set(METRICS)
    assert found.diversity is not None
    assert judged(GOOD).diversity is None


def test_lowercased_scores_stand_behind_their_cased_ones_where_they_are_others() -> None:
    texts = [text.upper() for text in REFERENCES]
    found = judge(answers(texts), lines(), Standards(("ter",), lowercase=True))
    shown = [(score.name, "case:lc" in score.signature, round(score.value)) for score in found.scores]
    assert shown[:2] == [("BLEU", False, 0), ("BLEU", True, 100)]
    assert [each for each in shown if each[0] == "TER"] == [("TER", True, 0)]
    assert ("exact match", True, 100) in shown


@pytest.mark.parametrize(("name", "near"), [("rogue1", "rouge1"), ("BLEU", "bleu"), ("distinkt", "distinct")])
def test_an_unknown_metric_is_refused_before_any_work(name: str, near: str) -> None:
    with pytest.raises(UserError, match=f"unknown metric '{name}'; did you mean '{near}'"):
        Standards((name,))


def test_the_worst_sentences_come_first_and_right_ones_never() -> None:
    found = judged(GOOD)
    assert [(one.line, one.output) for one in found.worst] == [(5, ""), (4, "this is good")]
    assert found.worst[0].chrf == 0.0
    assert found.worst[1].chrf == pytest.approx(sacrebleu.sentence_chrf("this is good", ["that is good"]).score)
    assert (found.worst[1].source, found.worst[1].reference) == ("das ist gut", "that is good")
    assert judge(answers(GOOD), lines(), Standards(num_examples=1)).worst == found.worst[:1]
    assert judged(REFERENCES).worst == ()


def test_an_empty_output_of_an_empty_reference_is_right() -> None:
    found = judged(["", "a"], "one", lines(["", "b"], ["", "a"]))
    assert found.worst == ()
    assert found.sentence_chrf.tolist() == [100.0, 100.0]


def test_line_numbers_are_those_of_the_file() -> None:
    against = lines()._replace(numbers=[3, 5, 8, 13, 21])
    found = judge(answers(GOOD), against, Standards())
    assert [one.line for one in found.worst] == [21, 13]
    assert found.as_json()["faults"]["lines"]["empty"] == [21]


def test_words_by_frequency_need_the_training_text() -> None:
    assert judged(GOOD).by_frequency is None
    found = judge(answers(GOOD), lines(), Standards(training=["the little dog", "the dog", "we"]))
    assert found.by_frequency is not None
    by_label = {bucket.label: bucket.words for bucket in found.by_frequency}
    assert by_label["1"].num_true == 2  # little, we
    assert by_label["2-5"].num_true == 4  # the (3 times), dog
    assert by_label["2-5"].num_right == 3
    shown = {bucket["label"]: bucket["f1"] for bucket in found.as_json()["by_frequency"]}
    assert shown["2-5"] == pytest.approx(100 * 2 * 3 / (3 + 4))
    assert shown["over 1000"] is None


def test_unsegmented_text_is_judged_by_character() -> None:
    against = lines(["my cat", "he eats apples"], ["我的猫在家", "他吃苹果"])
    found = judged(["我的猫在家", "他吃梨"], "one", against, "wer")
    assert "tok:zh" in found.scores[0].signature
    assert found.scores[3].value == pytest.approx(100 * 2 / 9)
    assert found.warnings == ()


def test_one_sentence_is_enough() -> None:
    found = judged(["that is good"], "one", lines(["das ist gut"], ["that is good"]), "all")
    assert found.scores[1].value == 100.0
    assert json.loads(json.dumps(found.as_json(), allow_nan=False))["scores"][0]["name"] == "BLEU"


def test_subword_marks_are_refused() -> None:
    with pytest.raises(UserError, match="line 1 still carries the subword mark"):
        judged(["the lit@@ tle dog", *GOOD[1:]])
