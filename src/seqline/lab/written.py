"""The lab as Markdown: a page for each experiment, and one with every verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seqline.comparing.table import escape
from seqline.errors import counted
from seqline.lab.results import FAILED, Result, count_states, judged
from seqline.machine import said

MISSING = "–"
FAILED_SIGN = "–"
SIGNS = {"held": "✓", "not held": "✗", "undecided": "?"}
SEEN_SIGN = "*"
SEEN = "The rule was written or changed after numbers of this experiment had been seen: it wants fresh seeds to count as a test."


def number(value: Any) -> str:
    """Return a cell as it is read: whole numbers in groups, others to four digits, a dash for nothing."""
    if value is None:
        return MISSING
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def scale_said(scale: Mapping[str, Any]) -> str:
    """Return at what scale a lab was run, one sentence without its full stop."""
    size = "a quick lab: small models, few examples" if scale["quick"] else "a full lab"
    data = "the built-in toy pair" if scale["data_sha256"] is None else "the user's own corpus in place of the toy pair"
    own = f", {scale['data_steps']:,} steps of training" if scale["data_steps"] else ""
    limit = f", no training longer than {scale['most_steps']:,} steps" if scale["most_steps"] else ""
    return f"{size}; {data}{own}{limit}"


def totals(found: Sequence[Result]) -> str:
    """Return how many claims held."""
    states, failed = count_states(found), sum(result["state"] == FAILED for result in found)
    parts = [f"{count} {state}" for state, count in states.items()]
    more = f"; {failed} of {len(found)} experiments failed" if failed else ""
    return f"{sum(states.values())} claims: {', '.join(parts)}{more}"


def seeds_said(result: Result) -> str:
    """Return what an experiment was made with."""
    settings = result["settings"]
    made = [counted(settings[name], name[:-1]) for name in ("seeds", "threads") if name in settings]
    time = f"{result['seconds']:.0f} s beside the training of the zoo"
    return f"{', '.join([*made, time])}; {said(result['machine'])}, torch {result['torch']}"


def sizes(result: Result) -> tuple[tuple[str, ...], list[list[str]]]:
    """Return a table of the models: how large each is and how long it learned."""
    rows = [
        [str(value) if isinstance(value, str) else f"{value:,}" for value in one.values()] for one in result["trained"]
    ]
    return ("model of the zoo", "parameters", "updates", "target tokens"), rows


def overview(found: Sequence[Result], scale: Mapping[str, Any]) -> str:
    """Return every claim with its verdict."""
    parts = ["# The claims of the history, measured again", "", f"{totals(found)}. This was {scale_said(scale)}.", ""]
    parts += _table(("experiment", "claim", "verdict", "the numbers"), _rows(found))
    if any(claim["is_seen"] for result in found for claim in result["claims"]):
        parts += ["", f"{escape(SEEN_SIGN)} {SEEN}"]
    made = dict.fromkeys(
        f"{command(result, scale)}: {said(result['machine'])}, torch {result['torch']}, seqline {result['version']}"
        for result in found
    )
    return "\n".join([*parts, "", *(f"- {escape(line)}" for line in made), ""])


def command(result: Result, scale: Mapping[str, Any]) -> str:
    """Return what was asked for where an experiment was made."""
    settings = result["settings"]
    parts = ["--quick"] if scale["quick"] else []
    parts += ["--data DATA"] if scale["data_sha256"] else []
    parts += [f"--steps {scale['data_steps']}"] if scale["data_steps"] else []
    parts += [f"--{name} {settings[name]}" for name in ("seeds", "threads") if name in settings]
    return " ".join(["seqline lab NAME --out DIR", *parts])


def _rows(found: Sequence[Result]) -> Iterable[list[str]]:
    for result in found:
        name = f"[{result['name']}]({result['name']}/{result['name']}.md)"
        if result["state"] == FAILED:
            yield [name, "", f"{FAILED_SIGN} failed", escape(result["reason"])]
            continue
        for claim, verdict in judged(result):
            if verdict is not None:
                sign = f" {escape(SEEN_SIGN)}" if claim["is_seen"] else ""
                yield [name, escape(claim["text"]), _badge(verdict["state"]) + sign, escape(verdict["said"])]


def _badge(state: str) -> str:
    return f"{SIGNS[state]} {state}"


def report_lines(found: Sequence[Result]) -> list[str]:
    """Return what a terminal shows: under the name of each experiment its verdicts."""
    lines = []
    for result in found:
        lines += ["", result["name"]]
        lines += [f"  failed: {result['reason']}"] if result["state"] == FAILED else []
        lines += [f"  {_badge(v['state']):<11}  {v['said']}" for _, v in judged(result) if v is not None]
    return [*lines[1:], "", totals(found)]


def experiment_page(result: Result) -> str:
    """Return one experiment: claims with verdicts, pictures, tables."""
    parts = [f"# {result['title']}", "", result["question"], ""]
    if result["state"] == FAILED:
        parts += [f"The measurement failed: {escape(result['reason'])}", ""]
    for claim, verdict in judged(result):
        parts += _claim(claim, verdict)
    for picture in result["pictures"]:
        parts += [f"![{_inside(picture['caption'])}]({picture['name']}.svg)", "", f"*{escape(picture['caption'])}*", ""]
    for table in result["tables"]:
        cells = [[escape(number(cell)) for cell in row] for row in table["rows"]]
        parts += [f"**{escape(table['title'])}**", "", *_table([escape(name) for name in table["columns"]], cells), ""]
    parts += [f"- {escape(note)}" for note in result["notes"]]
    parts += [""] if result["notes"] else []
    head, rows = sizes(result)
    parts += [*_table(head, [[f"`{name}`", *rest] for name, *rest in rows]), ""] if rows else []
    parts += [
        f"{seeds_said(result)}. All numbers: [result.json](result.json). seqline {result['version']}.",
        "",
    ]
    return "\n".join(parts)


def _claim(claim: Mapping[str, Any], verdict: Mapping[str, Any] | None) -> list[str]:
    parts = [f"> {escape(claim['text'])}", ">", f"> — {escape(claim['source'])}", ""]
    if verdict is None:
        return parts
    decisive = ", ".join(f"{name} = {number(value)}" for name, value in verdict["numbers"].items())
    return [
        *parts,
        f"**{_badge(verdict['state'])}**: {escape(verdict['said'])}",
        "",
        f"- The rule: {escape(verdict['rule'])}",
        *([f"- {SEEN}"] if claim["is_seen"] else []),
        f"- The numbers: {escape(decisive)}",
        "",
    ]


def _inside(text: str) -> str:
    return escape(text).replace("[", "\\[").replace("]", "\\]")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_line(head), "|" + " --- |" * len(head), *(_line(row) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
