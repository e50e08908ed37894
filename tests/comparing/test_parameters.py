"""Equal parameters: widths that give a model the size asked for."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.comparing.parameters import match_parameters, parse_parameters
from seqline.comparing.plan import make_plan
from seqline.comparing.preparing import Preparing
from seqline.comparing.sets import read_sets
from seqline.errors import UserError
from seqline.run import num_parameters
from seqline.run_folder import build_model

from .small import asked, letters


def test_numbers_are_read() -> None:
    assert [parse_parameters(text) for text in ("1M", "2.5M", "800k", "12345")] == [10**6, 2_500_000, 800_000, 12345]


@pytest.mark.parametrize("text", ["", "M", "-1M", "0", "1 million", "0.0000001k"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="--parameters: expected a number of parameters"):
        parse_parameters(text)


@given(st.text(max_size=20))
def test_any_text_is_a_number_or_refused(text: str) -> None:
    with suppress(UserError):
        assert parse_parameters(text) >= 1


def test_one_width_is_found_exactly() -> None:
    def count(changes: dict[str, Any]) -> int:
        return changes.get("model.embed_size", 8) ** 2

    matched = match_parameters(10_000, {"embed_size": 8}, count)
    assert matched.changes == {"model.embed_size": 100}
    assert matched.num_parameters == 10_000


def test_a_width_that_the_recipe_refuses_is_not_taken() -> None:
    def count(changes: dict[str, Any]) -> int:
        if changes["model.embed_size"] > 20:
            raise UserError("too wide")
        return changes["model.embed_size"] ** 2

    assert match_parameters(10_000, {"embed_size": 8}, count) == ({"model.embed_size": 20}, 400)


def test_heads_keep_dividing_the_width() -> None:
    matched = match_parameters(1_000_000, {"embed_size": 96, "num_heads": 4}, lambda c: c["model.embed_size"] ** 2)
    assert matched.changes["model.embed_size"] == 1000


def test_models_have_the_parameters_asked_for(tmp_path: Path) -> None:
    data = letters(tmp_path / "data")
    archs = ("bahdanau", "transformer")
    wanted = asked(archs, parameters=150_000, settings={"model.embed_size": None, "model.dropout": None})
    sets = read_sets(str(data), wanted.base().data, "", 1)
    plan = make_plan(wanted, sets, tmp_path / "out", data)
    for run in plan.runs:
        preparing = Preparing()
        ready = preparing.ready(run.config.replace(**{"data.train": str(data)}))
        found = num_parameters(build_model(ready.config, preparing.tokenizers(ready).vocabulary))
        assert abs(found / 150_000 - 1) <= 0.03, (run.arch, found)
    assert not [note for note in plan.notes if "nearest" in note]


def test_what_cannot_be_matched_is_said(tmp_path: Path) -> None:
    data = letters(tmp_path / "data")
    wanted = asked(("transformer",), parameters=10)
    plan = make_plan(wanted, read_sets(str(data), wanted.base().data, "", 1), tmp_path / "out", data)
    assert any(note.startswith("transformer: the nearest to 10 parameters is ") for note in plan.notes)
