"""docs/forecast-laws.md names tests that are there, and every law that `verify` checks."""

from __future__ import annotations

import re
from pathlib import Path

from seqline.verifying.checks import TITLES
from seqline.verifying.forecast_laws import FORECAST_LAWS
from seqline.verifying.of_series import SERVED_LAWS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/forecast-laws.md").read_text(encoding="utf-8")


def test_every_test_that_is_named_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) > 40
    missing = [f"{path}::{name}" for path, name in named if not _has(path, name)]
    assert missing == []


def _has(path: str, name: str) -> bool:
    file = ROOT / path
    return file.is_file() and f"def {name}(" in file.read_text(encoding="utf-8")


def test_every_row_names_a_test_and_every_law_has_a_row() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line and " test |" not in line]
    assert all("`tests/" in row for row in rows)
    checked = {
        name for row in rows if "(`verify`)" in row for name in row.split("|")[1].split("(")[0].strip().split(", ")
    }
    assert checked | {"finite"} == {TITLES.get(name, name) for name in (*FORECAST_LAWS, *SERVED_LAWS)}
