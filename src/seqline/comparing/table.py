"""The comparison as a table: cells of text for Markdown, the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Found = Mapping[str, Any]
MISSING = "–"


class Table(NamedTuple):
    """Cells of text; the first column holds names."""

    head: list[str]
    rows: list[list[str]]


def summary(found: Found) -> Table:
    """Return one row an architecture, the best first, those without a finished run last."""
    measures, unit = found["measures"], speed_unit(found)
    head = ["architecture", *(m["label"] for m in measures), f"against {found['baseline'] or 'the best'}", "seeds", "parameters",
            "steps", "training time", "training tokens/s", unit, "peak memory"]  # fmt: skip
    return Table(head, [_row(found, row) for row in ordered(found)])


def ordered(found: Found) -> list[Found]:
    """Return the architectures, best first."""
    main = found["measures"][0]
    sign = -1 if main["is_higher_better"] else 1
    return sorted(
        found["architectures"],
        key=lambda row: sign * row["scores"][main["key"]]["mean"] if row["num_finished"] else 1e18,
    )


def speed_unit(found: Found) -> str:
    """Return in what the speed of answers is counted."""
    return next((run["speed_unit"] for run in found["runs"] if run["speed_unit"]), "answers/s")


def _row(found: Found, row: Found) -> list[str]:
    failed = f", {row['num_failed']} failed" if row["num_failed"] else ""
    return [
        row["name"],
        *(plus_minus(row["scores"][m["key"]], m["digits"]) for m in found["measures"]),
        verdict(found, row["name"]),
        f"{row['num_finished']}{failed}",
        mean(row["parameters"], "{:,.0f}"),
        mean(row["steps"], "{:,.0f}"),
        duration(row["training_seconds"]),
        mean(row["training_tokens_per_second"], "{:,.0f}"),
        mean(row["answers_per_second"], "{:,.1f}"),
        memory(row["peak_memory_bytes"]),
    ]


def plus_minus(value: Found | None, digits: int) -> str:
    """Return mean ± standard deviation, the latter only of several."""
    if value is None:
        return MISSING
    more = "" if value["sd"] is None else f" ± {value['sd']:.{digits}f}"
    return f"{value['mean']:.{digits}f}{more}"


def mean(value: Found | None, form: str) -> str:
    """Return the mean."""
    return MISSING if value is None else form.format(value["mean"])


def duration(value: Found | None) -> str:
    """Return a time in seconds or minutes."""
    if value is None:
        return MISSING
    seconds = value["mean"]
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def memory(value: Found | None) -> str:
    """Return bytes as 10^6 bytes."""
    return MISSING if value is None else f"{value['mean'] / 1e6:,.0f} MB"


def verdict(found: Found, name: str) -> str:
    """Say what an architecture is, as against the baseline, by the first score."""
    if name == found["baseline"]:
        return "(baseline)"
    tests = found["significance"]["tests"].get(name)
    if not tests:
        return MISSING
    first = tests[0]
    if first["p_bootstrap"] is None:
        return first["verdict"]
    seed = ", one seed" if first["num_seeds"] == 1 else ""
    return f"{first['verdict']} (p {p_value(max(first['p_bootstrap'], first['p_randomization']))}{seed})"


def p_value(value: float) -> str:
    """Return a p-value with as many digits as it deserves."""
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def significance(found: Found) -> Table:
    """Return every test."""
    baseline, labels = found["baseline"], {m["key"]: m for m in found["measures"]}
    head = [
        "architecture",
        "score",
        "value",
        str(baseline),
        "difference",
        "95 % interval",
        "p bootstrap",
        "p randomization",
        "verdict",
    ]
    rows = []
    found_tests = found["significance"]["tests"]
    for name in (row["name"] for row in ordered(found)):
        for test in found_tests.get(name, ()):
            digits = labels[test["key"]]["digits"]
            interval = test["interval"]
            numbers = [f"{test[key]:.{digits}f}" for key in ("value", "baseline")]
            p_values = (test["p_bootstrap"], test["p_randomization"])
            rows.append([
                name, labels[test["key"]]["label"], *numbers, f"{test['difference']:+.{digits}f}",
                f"{interval[0]:+.{digits}f} to {interval[1]:+.{digits}f}" if interval else MISSING,
                *(MISSING if value is None else p_value(value).removeprefix("= ") for value in p_values),
                test["verdict"],
            ])  # fmt: skip
    return Table(head, rows)


def lengths(found: Found) -> Table:
    """Return the first score by length, a column an architecture."""
    shown = [row for row in ordered(found) if row["by_length"]]
    digits = found["measures"][0]["digits"]
    if not shown:
        return Table([], [])
    head = [found["length"]["name"], found["test"]["unit"], *(row["name"] for row in shown)]
    rows = [
        [bucket["label"], f"{bucket['num_examples']:,}",
         *(f"{_mean(row['by_length'][n]['values']):.{digits}f}" for row in shown)]
        for n, bucket in enumerate(shown[0]["by_length"])
    ]  # fmt: skip
    return Table(head, rows)


def seeds(found: Found) -> str:
    """Say what the numbers are means of."""
    numbers = found["seeds"]
    if len(numbers) == 1:
        return f"One run each, seed {numbers[0]}: no spread is known"
    return f"Mean ± standard deviation over the seeds {', '.join(map(str, numbers))}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def runs(found: Found) -> Table:
    """Return one row a run."""
    measures = found["measures"]
    head = ["run", *(m["label"] for m in measures), "steps", "target tokens", "training time", "weights", "ended"]
    rows = []
    for run in found["runs"]:
        scores = run["scores"] or {}
        numbers = [f"{scores[m['key']]:.{m['digits']}f}" if scores else MISSING for m in measures]
        counts = [MISSING if run[key] is None else f"{run[key]:,}" for key in ("steps", "target_tokens")]
        seconds = run["training_seconds"]
        time = MISSING if seconds is None else f"{seconds:.0f} s"
        rows.append([run["name"], *numbers, *counts, time, run["weights"] or MISSING, run["ended"] or "failed"])
    return Table(head, rows)


def failures(found: Found) -> list[str]:
    """Return a line for each run that failed."""
    return [f"{run['name']} failed: {run['reason']}" for run in found["runs"] if run["state"] == "failed"]


def markdown(found: Found) -> str:
    """Return the comparison as Markdown."""
    cells = summary(found)
    parts = [
        f"# {', '.join(row['name'] for row in found['architectures'])}: the same budget of {found['budget']['said']}",
        "",
        *_markdown(cells),
        "",
        f"{seeds(found)}; {found['test']['examples']:,} test "
        f"{found['test']['unit']}; {found['threads']} thread{'' if found['threads'] == 1 else 's'} a run.",
        "",
    ]
    tests = significance(found)
    if tests.rows:
        parts += [*_markdown(tests), "", TOLD_PREFIX + found["significance"]["how"], ""]
    by_length = lengths(found)
    if by_length.rows:
        parts += [
            f"{found['measures'][0]['label']} by {found['length']['name']} in {found['length']['unit']}:",
            "",
            *_markdown(by_length),
            "",
        ]
    parts += [f"- {escape(line)}" for line in (*failures(found), *found["notes"])]
    signatures = "; ".join(f"{m['label']}: {m['signature']}" for m in found["measures"])
    return "\n".join([*parts, "", f"Signatures: {signatures}. seqline {found['version']}, torch {found['versions']['torch']}.",
                      "", f"    {found['command']}", ""])  # fmt: skip


TOLD_PREFIX = "How: "


def _markdown(table: Table) -> list[str]:
    head = "| " + " | ".join(map(escape, table.head)) + " |"
    rule = "| --- |" + " ---: |" * (len(table.head) - 1)
    return [head, rule, *("| " + " | ".join(map(escape, row)) + " |" for row in table.rows)]


def escape(text: str) -> str:
    """Return text as Markdown shows it in one cell."""
    text = " ".join(text.split())
    for sign in ("\\", "|", "`", "*", "_", "<"):
        text = text.replace(sign, f"\\{sign}") if sign in text else text
    return text


def plain(table: Table) -> list[str]:
    """Return aligned lines for a terminal."""
    widths = [max(len(row[n]) for row in (table.head, *table.rows)) for n in range(len(table.head))]
    return [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        ).rstrip()
        for row in (table.head, *table.rows)
    ]
