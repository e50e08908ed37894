"""Whether a trace holds what a view draws; where it does not, the view itself says so in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seqline.errors import UserError
from seqline.visualize.engine import Engine


def absence(engine: Engine, view: str, state: Mapping[str, Any]) -> str | None:
    """Return the view's own sentence where the engine's trace has nothing of it to draw, else None."""
    meta = engine.call(view, "meta", {})
    plain = meta["state"] | {name: state[name] for name in ("lang",) if name in state}
    # Whether an encoder reads in two directions, no field alone says: then it is the table that has no columns.
    if meta["missing"] or not engine.call(view, "table", plain)["columns"]:
        return engine.call(view, "describe", plain)
    return None


def refuse_absent(engine: Engine, view: str, state: Mapping[str, Any]) -> None:
    """Refuse a view that the engine's trace has nothing of.

    Raises:
        UserError: with the view's own sentence.
    """
    sentence = absence(engine, view, state)
    if sentence is not None:
        raise UserError(sentence.rstrip(".。"), where=f"view {view}", fix="choose another view, or all")
