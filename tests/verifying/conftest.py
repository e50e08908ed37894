"""Untrained runs, made once a module, and outputs that are short enough for tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ..untrained_run import make_untrained_run


@pytest.fixture(autouse=True)
def short_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let outputs end after six pieces."""
    monkeypatch.setattr("seqline.verifying.subjects.MOST_WRITTEN", 6)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Return what gives the folder of an untrained run, made once; nobody may change it."""
    folder = tmp_path_factory.mktemp("runs")

    def get(task: str, name: str) -> Path:
        made = folder / f"{task}-{name}"
        return made if made.exists() else make_untrained_run(made, task, name)

    return get
