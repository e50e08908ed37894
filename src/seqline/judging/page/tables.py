"""Numbers as tables of the page, from the report's plain values."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

Found = Mapping[str, Any]
_MISSING = "–"


def shown(text: str) -> str:
    """Escape a text for HTML, inside quotes too; bytes of a file name that are no UTF-8 become U+FFFD."""
    return html.escape(text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose cells are HTML; the first of a row is its heading. It scrolls in a box of its own."""
    titles = "".join(f'<th scope="col">{title}</th>' for title in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>' for first, *rest in rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def number(value: float | None, digits: int = 2) -> str:
    """Return a number with so many digits, or a dash where there is none."""
    return _MISSING if value is None else f"{value:,.{digits}f}"


def scores_table(found: Found) -> str:
    """Return every score, and beside it the other system's with what the tests say, where there is one."""
    against = found.get("against")
    if against is None:
        rows = [[_named(score, found["scores"]), number(score["value"])] for score in found["scores"]]
        return table(["metric", "value"], rows) + signatures(found["scores"])
    head = [
        "metric",
        "verdict",
        "this",
        "other",
        "difference",
        "95&nbsp;% interval",
        "p, bootstrap",
        "p, randomization",
    ]
    tests = against["tests"]
    return table(head, [[_named(test, tests), *_tested(test)] for test in tests]) + signatures(tests)


def _named(score: Found, among: Sequence[Found]) -> str:
    return shown(label(score["name"], score["signature"], [each["name"] for each in among]))


def _tested(test: Found) -> list[str]:
    low, high = test["interval"]
    is_plain, digits = test["verdict"] in ("better", "worse"), digits_of(test["name"])
    verdict = test["verdict"] if is_plain else "no difference shown"
    return [
        f'<span class="{test["verdict"] if is_plain else "even"}">{verdict}</span>',
        number(test["value"], digits),
        number(test["other"], digits),
        f"{test['difference']:+.{digits}f}",
        f"{low:+.{digits}f} … {high:+.{digits}f}",
        number(test["p_bootstrap"], 4),
        number(test["p_randomization"], 4),
    ]


def digits_of(name: str) -> int:
    """Return how many digits behind the point a score is shown with."""
    return 4 if name.startswith("nats") else 2


def label(name: str, signature: str, names: Sequence[str]) -> str:
    """Return the name of a score among others: "lowercased" behind it where it stands twice and case does not count."""
    return f"{name} lowercased" if names.count(name) > 1 and "case:lc" in signature else name


def signatures(scores: Sequence[Found]) -> str:
    """Return what is needed to make each score again."""
    rows = "".join(f"<dt>{_named(score, scores)}</dt><dd>{shown(score['signature'])}</dd>" for score in scores)
    return f'<dl class="signatures">{rows}</dl>'


def likelihood_table(found: Found) -> str:
    """Return how probable the references are to the model, or to both."""
    against = found.get("against") or {}
    both = [part for part in (found.get("likelihood"), against.get("likelihood")) if part]
    if not both:
        return ""
    head = ["likelihood of the references", *(["value"] if len(both) == 1 else ["this", "other"])]
    rows = [
        ["perplexity, per target piece", *(number(part["perplexity"], 3) for part in both)],
        ["nats per target piece", *(number(part["nats_per_token"], 4) for part in both)],
        ["nats per character", *(number(part["nats_per_character"], 4) for part in both)],
        ["target pieces", *(f"{part['num_tokens']:,}" for part in both)],
        ["of them unknown", *(f"{part['num_unknown']:,}" for part in both)],
    ]
    if any(part["num_left_out"] for part in both):
        rows.append(["pairs too long for the model", *(f"{part['num_left_out']:,}" for part in both)])
    return table(head, rows)
