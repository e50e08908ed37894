"""The numbers beside the figures: marked words, the chart by length, one step of attention, and which sentence is told."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from seqline.tour import measuring
from seqline.tour.comparing import Row
from seqline.tour.numbers import length_chart, marked, models_table, worked_step
from seqline.visualize.synthetic import fixture
from seqline.visualize.trace import Bundle, Trace


def test_words_unlike_the_reference_are_marked() -> None:
    assert marked(["a", "farmer", "is", "kind"], ["a", "child", "is", "kind"]) == [
        ["a", True],
        ["farmer", False],
        ["is", True],
        ["kind", True],
    ]
    assert marked(["b", "a"], ["a"]) == [["b", False], ["a", True]]
    assert marked([], ["a"]) == []


def test_the_chart_has_a_point_a_bucket_and_labels_apart() -> None:
    drawn = length_chart(["1–8", "9–12", "13+"], {"one": [100.0, 50.0, 0.0], "two": [90.0, None, 1.0]})
    svg = ElementTree.fromstring(drawn)
    assert len(svg.findall("g/circle")) == 5
    places = [float(text.get("y", "")) for text in svg.findall("g/text")]
    assert abs(places[0] - places[1]) >= 18
    assert "@" not in drawn


def test_the_table_of_models_has_a_row_each() -> None:
    drawn = models_table([Row("luong", 94.26, 92.0, 217_087, 42.4, 10_259.3)])
    assert re.findall(r"<td>([^<]*)</td>", drawn) == ["94.3", "92.0", "217,087", "42", "10,259"]


def test_one_step_in_numbers() -> None:
    trace = fixture("A")
    assert isinstance(trace, Trace)
    drawn = worked_step(trace.document)
    assert "t8" not in drawn  # the step before the end mark is t8 of 9: its number stands alone
    assert "<b>8</b>" in drawn
    for weight in np.asarray(trace.document["attention"][-1]["weights"])[-1].mean(axis=0)[3]:
        assert f">{weight:.3f}</td>" in drawn


def test_a_gradient_that_fades_is_told_otherwise_than_one_that_does_not() -> None:
    bundle = fixture("K")
    assert isinstance(bundle, Bundle)

    def told(fixed: list[float], kept: list[float]) -> str:
        one = bundle.traces[0].document
        traces = [Trace(one | {"gradients": one["gradients"] | {"norm_h": np.array(norms)}}) for norms in (fixed, kept)]
        return measuring._gradients(Bundle(traces, ["encoder-decoder", "luong"]))[0].key

    length = len(bundle.traces[0].document["source"]["tokens"])
    assert told([0.1] + [1.0] * (length - 1), [0.9] + [1.0] * (length - 1)) == "attention_reaches"
    assert told([0.9] + [1.0] * (length - 1), [0.1] + [1.0] * (length - 1)) == "attention_reaches_not"


@pytest.mark.parametrize(("first", "last", "key"), [(0.9, 0.1, "sharpens"), (0.9, 0.8, "sharpens_not")])
def test_an_alignment_that_does_not_sharpen_is_said_to(first: float, last: float, key: str) -> None:
    training = {"steps": np.array([8, 800]), "metrics": {"alignment error rate": np.array([first, last])}}
    assert measuring._sharpening({"training": training})[0].key == key
    assert measuring._sharpening({})[0].key == "no_snapshots"


def test_the_rivals_told_are_those_of_the_least_sure_step() -> None:
    def step(out: str, p: float, rival: str) -> dict[str, object]:
        return {"out": out, "chosen_rank": 0, "topk": [{"text": out, "p": p}, {"text": rival, "p": 1 - p}]}

    steps = [step("the", 0.9, "a"), step("cat", 0.8, "dog"), step("the", 0.6, "its")]
    [told] = measuring._confidence({"decoder": {"steps": steps}, "target": {"text": "the cat the"}})
    assert told.values == {"text": "the cat the", "word": "the", "p": "0.60", "rivals": "the (0.60), its (0.40)"}
