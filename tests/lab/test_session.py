"""A whole lab: what is trained, measured, written, taken as it is, and refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from seqline import files, run_lab
from seqline.errors import Stopped, UserError
from seqline.lab.experiment import Claim, Experiment, Finding
from seqline.lab.laboratory import Lab
from seqline.lab.results import read
from seqline.lab.session import run

from ..comparing.small import letters, never
from .small_lab import experiment, finding, small_lab, wanted


def known(*experiments: Experiment) -> dict[str, Experiment]:
    return {each.name: each for each in experiments}


def test_the_folder_holds_every_result_its_drawings_and_the_pages(tmp_path: Path) -> None:
    seen: list[tuple[Path, bool]] = []

    def measure(lab: Lab) -> Finding:
        seen.append((lab.run(wanted()), (lab.run(wanted()) / "manifest.json").exists()))
        return finding(0.25)

    grown = experiment("grown", models=lambda lab: (wanted(), wanted()), measure=measure)
    found = run(["grown", "shrunk"], small_lab(tmp_path / "lab"), known(grown, experiment("shrunk", -1.0)))
    folder = tmp_path / "lab"
    assert [is_there for _, is_there in seen] == [True]
    assert seen[0][0].parent == folder / "zoo" / "runs"
    assert {path.name for path in (folder / "grown").iterdir()} == {"curve.svg", "grown.md", "result.json"}
    assert [result["verdicts"][0]["state"] for result in found.asked] == ["held", "not held"]
    result = json.loads((folder / "grown" / "result.json").read_text(encoding="utf-8"))
    assert result["models"] == [seen[0][0].name]
    assert result["settings"] == {
        "quick": True, "data_sha256": None, "data_steps": None, "most_steps": None, "seeds": 1, "threads": 1
    }  # fmt: skip
    (one,) = result["trained"]
    assert one["name"] == seen[0][0].name
    assert (one["parameters"] > 100, one["steps"], one["target_tokens"] > 5) == (True, 2, True)
    assert set(result["machine"]) == {"system", "machine", "processor", "cores"}
    assert result["torch"] == torch.__version__
    assert result["numbers"] == {"value": 0.25, "list": [1, None]}
    assert result["verdicts"][0]["numbers"] == {"value": 0.25, "models": 1, "unknown": None}
    whole = json.loads((folder / "lab.json").read_text(encoding="utf-8"))
    assert [each["name"] for each in whole["experiments"]] == ["grown", "shrunk"]
    assert whole["experiments"][0] == result
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "1 held, 1 not held, 0 undecided" in page
    assert "1 held, 1 not held, 0 undecided" in (folder / "lab.md").read_text(encoding="utf-8")


def test_what_was_measured_under_the_same_settings_is_taken_as_it_is(tmp_path: Path) -> None:
    calls: list[int] = []

    def measure(lab: Lab) -> Finding:
        calls.append(len(lab.seed_numbers()))
        return finding()

    grown = experiment("grown", models=lambda lab: tuple(wanted(seed) for seed in lab.seed_numbers()), measure=measure)
    said: list[str] = []
    run(["grown"], small_lab(tmp_path / "lab"), known(grown))
    run(["grown"], small_lab(tmp_path / "lab", start=never, say=said.append), known(grown))
    assert calls == [1]
    assert said == ["grown: measured before, taken as it is"]
    run(["grown"], small_lab(tmp_path / "lab", seeds=2, say=said.append), known(grown))
    assert calls == [1, 2]
    assert not any(line.startswith("letters-encoder-decoder") and "seed1: begins" in line for line in said)
    (tmp_path / "lab" / "grown" / "curve.svg").unlink()
    run(["grown"], small_lab(tmp_path / "lab", seeds=2, start=never), known(grown))
    assert calls == [1, 2, 2]


def test_other_threads_are_measured_again_and_are_those_of_the_measurement(tmp_path: Path) -> None:
    before, seen = torch.get_num_threads(), []

    def measure(lab: Lab) -> Finding:
        seen.append(torch.get_num_threads())
        return finding()

    grown = known(experiment("grown", measure=measure))
    for threads in (before + 1, before + 2, before + 2):
        run(["grown"], small_lab(tmp_path / "lab", threads=threads), grown)
    assert seen == [before + 1, before + 2]
    assert torch.get_num_threads() == before


def test_two_labs_do_not_work_in_one_folder(tmp_path: Path) -> None:
    run(["grown"], small_lab(tmp_path / "lab"), known(experiment("grown")))
    with files.alone_in(tmp_path / "lab"), pytest.raises(UserError, match="lab: another seqline works in it"):
        run(["grown"], small_lab(tmp_path / "lab"), known(experiment("grown")))


def test_a_stream_is_no_corpus_of_a_lab(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--data: expected a file or a folder; write what comes in into a file first"):
        run(["grown"], small_lab(tmp_path / "lab", data="-"), known(experiment("grown")))
    assert not (tmp_path / "lab").exists()


def test_a_claim_in_other_words_is_measured_again(tmp_path: Path) -> None:
    run(["grown"], small_lab(tmp_path / "lab"), known(experiment("grown")))
    other = Claim("grows", "It grows in other words", "Nobody (1999), section 1")
    changed = Experiment("grown", "t", "q", (other,), measure=experiment().measure)
    found = run(["grown"], small_lab(tmp_path / "lab"), known(changed))
    assert found.asked[0]["claims"][0]["text"] == "It grows in other words"


def test_another_experiment_of_the_folder_stays_on_the_page(tmp_path: Path) -> None:
    both = known(experiment("first"), experiment("second"))
    run(["second"], small_lab(tmp_path / "lab"), both)
    found = run(["first"], small_lab(tmp_path / "lab"), both)
    assert [result["name"] for result in found.results] == ["first", "second"]
    assert [result["name"] for result in found.asked] == ["first"]
    assert 'id="second"' in found.page.read_text(encoding="utf-8")


def broken(_lab: Lab) -> Finding:
    raise ZeroDivisionError("a planted <fault>")


def without_verdict(_lab: Lab) -> Finding:
    return finding()._replace(verdicts=())


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"measure": broken}, "ZeroDivisionError: a planted <fault>"),
        ({"measure": without_verdict}, "there are verdicts on none"),
        ({"models": broken}, "ZeroDivisionError"),
        ({"models": lambda lab: (wanted(arch_settings=1),)}, "TypeError"),
    ],
)
def test_a_failing_experiment_is_a_row_with_its_reason(tmp_path: Path, more: dict[str, Any], reason: str) -> None:
    bad = experiment("bad", **more)
    found = run(["bad", "good"], small_lab(tmp_path / "lab"), known(bad, experiment("good")))
    assert [result["state"] for result in found.asked] == ["failed", "finished"]
    assert reason in found.failed[0]["reason"]
    assert "failed" in (tmp_path / "lab" / "bad" / "bad.md").read_text(encoding="utf-8")
    assert "1 of 2 experiments failed" in found.page.read_text(encoding="utf-8")
    again = run(["bad"], small_lab(tmp_path / "lab"), known(experiment("bad"), experiment("good")))
    assert again.failed == []


def test_a_model_that_cannot_be_trained_fails_what_wants_it_alone(tmp_path: Path) -> None:
    bad = experiment("bad", models=lambda lab: (wanted(settings=(("model.no_such_setting", 1),)),))
    also = experiment("also", models=lambda lab: (wanted(data="no-corpus"),))
    good = experiment("good", models=lambda lab: (wanted(),))
    found = run(["bad", "also", "good"], small_lab(tmp_path / "lab"), known(bad, also, good))
    assert [result["state"] for result in found.asked] == ["failed", "failed", "finished"]
    assert "no_such_setting" in found.asked[0]["reason"]
    assert "no corpus 'no-corpus'" in found.asked[1]["reason"]


def test_an_experiment_that_cannot_be_imported_is_a_row_too(tmp_path: Path) -> None:
    class Missing(dict[str, Experiment]):
        def __getitem__(self, name: str) -> Experiment:
            raise ModuleNotFoundError(f"no module {name}")

    found = run(["gone"], small_lab(tmp_path / "lab"), Missing(gone=experiment("gone")))
    assert found.failed[0]["reason"] == "ModuleNotFoundError: no module gone"


def test_a_stop_leaves_what_was_measured_and_the_next_call_goes_on(tmp_path: Path) -> None:
    stopped: list[str] = []
    calls: list[str] = []

    def first(_lab: Lab) -> Finding:
        stopped.append("interrupted")
        return finding()

    def second(_lab: Lab) -> Finding:
        calls.append("second")
        return finding()

    both = known(experiment("first", measure=first), experiment("second", measure=second))
    lab = small_lab(tmp_path / "lab", should_stop=lambda: stopped[-1] if stopped else None)
    with pytest.raises(Stopped, match="interrupted"):
        run(["first", "second"], lab, both)
    assert calls == []
    assert read(tmp_path / "lab" / "first") is not None
    assert 'id="first"' in (tmp_path / "lab" / "index.html").read_text(encoding="utf-8")
    said: list[str] = []
    run(["first", "second"], small_lab(tmp_path / "lab", say=said.append), both)
    assert "first: measured before, taken as it is" in said
    assert calls == ["second"]


def test_models_that_have_not_learned_decide_nothing(tmp_path: Path) -> None:
    one = replace(experiment("grown"), models=lambda _: (wanted(),), learners=("encoder-decoder",))
    (result,) = run(["grown"], small_lab(tmp_path / "lab"), known(one)).asked
    assert [verdict["state"] for verdict in result["verdicts"]] == ["undecided"]
    assert "has not learned its pair" in result["verdicts"][0]["said"]
    assert "has a BLEU below 10" in result["verdicts"][0]["rule"]
    (result,) = run(["grown"], small_lab(tmp_path / "other"), known(replace(one, learners=("luong",)))).asked
    assert [verdict["state"] for verdict in result["verdicts"]] == ["held"]


def test_seeds_are_said_where_they_are_asked_for(tmp_path: Path) -> None:
    for has_seeds in (True, False):
        folder = tmp_path / str(has_seeds)
        (result,) = run(["grown"], small_lab(folder), known(replace(experiment("grown"), has_seeds=has_seeds))).asked
        assert ("seeds" in result["settings"], "1 seed, " in (folder / "grown" / "grown.md").read_text("utf-8")) == (
            has_seeds,
        ) * 2


def test_a_stop_inside_a_measurement_is_no_failure(tmp_path: Path) -> None:
    def measure(lab: Lab) -> Finding:
        lab.check_stop()
        return finding()

    asked = iter([None])
    lab = small_lab(tmp_path / "lab", should_stop=lambda: next(asked, "terminated"))
    with pytest.raises(Stopped, match="terminated"):
        run(["grown"], lab, known(experiment("grown", measure=measure)))
    assert not (tmp_path / "lab" / "grown").exists()


@pytest.mark.parametrize("change", [{"is_quick": False}, {"most_steps": 3}])
def test_a_folder_is_not_mixed_with_another_scale(tmp_path: Path, change: dict[str, Any]) -> None:
    run(["grown"], small_lab(tmp_path / "lab"), known(experiment("grown")))
    with pytest.raises(UserError, match="holds a lab with"):
        run(["grown"], small_lab(tmp_path / "lab", **change), known(experiment("grown")))


def test_a_folder_is_not_mixed_with_another_corpus(tmp_path: Path) -> None:
    data = letters(tmp_path / "data")
    run(["grown"], small_lab(tmp_path / "lab", data=data), known(experiment("grown")))
    run(["grown"], small_lab(tmp_path / "lab", data=data), known(experiment("grown")))
    with pytest.raises(UserError, match="data_sha256"):
        run(["grown"], small_lab(tmp_path / "lab"), known(experiment("grown")))


def test_the_pages_say_how_long_models_learned_the_users_corpus(tmp_path: Path) -> None:
    lab = small_lab(tmp_path / "lab", data=letters(tmp_path / "data"), data_steps=3)
    run(["grown"], lab, known(experiment("grown")))
    said = "the user's own corpus in place of the toy pair, 3 steps of training"
    assert said in (tmp_path / "lab" / "lab.md").read_text(encoding="utf-8")
    with pytest.raises(UserError, match="data_steps 3, not 4"):
        run(["grown"], replace(lab, data_steps=4), known(experiment("grown")))


@pytest.mark.parametrize("content", [None, b"{", b"[]"])
def test_a_folder_of_something_else_is_refused_as_it_is(tmp_path: Path, content: bytes | None) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    if content is not None:
        (folder / "scale.json").write_bytes(content)
    before = sorted(folder.iterdir())
    with pytest.raises(UserError, match="holds no lab"):
        run(["grown"], small_lab(folder), known(experiment("grown")))
    assert sorted(folder.iterdir()) == before


def test_a_corpus_that_does_not_read_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="missing"):
        run(["grown"], small_lab(tmp_path / "lab", data=tmp_path / "missing.tsv"), known(experiment("grown")))
    assert list(tmp_path.iterdir()) == []


def test_the_function_refuses_what_the_command_refuses(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'heads'"):
        run_lab("head", tmp_path / "lab")
    with pytest.raises(UserError, match="--jobs"):
        run_lab(["heads"], tmp_path / "lab", jobs=0)
    assert list(tmp_path.iterdir()) == []


def test_two_claims_need_two_verdicts(tmp_path: Path) -> None:
    one = experiment("one")
    two = Experiment("two", "t", "q", (*one.claims, Claim("more", "more", "me")), measure=one.measure)
    found = run(["two"], small_lab(tmp_path / "lab"), known(two))
    assert "the claims are grows, more" in found.failed[0]["reason"]
