"""A studio over two small runs: one that writes letters backwards, one that is not trained to the end."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..small_run import ReversingRun

pytest.importorskip("starlette", reason="starlette is not installed (extra: studio)")


@pytest.fixture(scope="session")
def folders(reversing_run: ReversingRun, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return two run folders of different names with the same weights."""
    other = tmp_path_factory.mktemp("studio") / "again"
    shutil.copytree(reversing_run.folder, other)
    return [reversing_run.folder, other]


@pytest.fixture
def client(folders: list[Path]) -> Iterator[Any]:
    """Return a client of a fresh studio, as a browser on this machine would be."""
    from starlette.testclient import TestClient

    from seqline.studio.app import create_app
    from seqline.studio.runs import Runs

    app = create_app(Runs(folders), say=lambda line: None)
    with TestClient(app, base_url="http://127.0.0.1:8765", raise_server_exceptions=True) as opened:
        yield opened
    app.state.studio.desk.close()
