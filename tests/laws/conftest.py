"""Which laws every option of every recipe meets on every change, and which only the first option of each."""

from __future__ import annotations

import pytest

EVERYWHERE = ("split", "select", "row")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the other laws on the other options to the slow tests."""
    firsts: dict[str, object] = {}
    for item in items:
        values = getattr(getattr(item, "callspec", None), "params", {})
        if item.name.startswith("test_law_holds[") and "law" in values and "settings" in values:
            first = firsts.setdefault(values["name"], values["settings"])
            if values["law"] not in EVERYWHERE and values["settings"] is not first:
                item.add_marker(pytest.mark.slow)
