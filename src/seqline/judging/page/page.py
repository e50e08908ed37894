"""The page: its parts in the order in which they are read, all from the plain values that `--json` prints.

Every text of a user is escaped and stands in an element of its own direction (dir=auto); the policy in the head forbids
scripts and requests, should anything ever slip through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files as package_files
from typing import Any

from seqline.judging.page.charts import Group, bars
from seqline.judging.page.marks import marked_html
from seqline.judging.page.tables import Found, likelihood_table, number, scores_table, shown, table

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page(found: Mapping[str, Any]) -> str:
    """Return one HTML document that shows an evaluation.

    Args:
        found: what `Report.as_json` returns.
    """
    style = package_files("seqline.judging.page").joinpath("style.css").read_text(encoding="utf-8")
    title = f"Evaluation of {shown(found['run'])}"
    sections = [
        ("Scores", _scores(found)),
        ("What stands out", _findings(found)),
        ("How varied the outputs are", _diversity(found)),
        ("By source length", _by_length(found)),
        ("By frequency in the training text", _by_frequency(found)),
        ("Worst sentences", _worst(found)),
        ("Most changed sentences", _changed(found)),
    ]
    body = "".join(f"<section><h2>{name}</h2>{content}</section>\n" for name, content in sections if content)
    return "".join([
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        '<meta name="color-scheme" content="light dark">\n',
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n",
        _head(found),
        f"<main>\n{body}</main>\n",
        f"<footer>Made by seqline {shown(found['version'])}. The same numbers are printed with <code>--json</code>.</footer>\n",
        "</body>\n</html>\n",
    ])  # fmt: skip


def _head(found: Found) -> str:
    against = found.get("against")
    lines = [f"{found['num_sentences']:,} sentences of <code>{shown(found['data'])}</code>, {shown(found['search'])}"]
    if against is not None:
        search = f", {shown(against['search'])}" if against["search"] else ""
        lines.append(f"Compared with <code>{shown(against['name'])}</code>{search}: <i>this</i> is the run above, "
                     "<i>other</i> the one it is compared with.")  # fmt: skip
    text = "".join(f'<p class="lead">{line}</p>' for line in lines)
    return f"<header><h1>Evaluation of <code>{shown(found['run'])}</code></h1>{text}</header>\n"


def _scores(found: Found) -> str:
    against = found.get("against")
    told = ""
    if against is not None:
        told = (
            f'<p class="fine">{against["resamples"]:,} resamples, seed {against["seed"]}. The interval is that of the '
            "difference, this minus other. A verdict stands where both tests give p below 0.05; otherwise these sentences "
            "show no difference, which is no proof that there is none.</p>"
        )
    return scores_table(found) + told + likelihood_table(found)


def _findings(found: Found) -> str:
    against = found.get("against")
    content = _said([*found["findings"], *found["warnings"]])
    if against is None:
        return content
    other = _said([*against["findings"], *(line for line in against["warnings"] if line not in found["warnings"])])
    notes = f"<h3>The comparison</h3>{_list(against['notes'])}" if against["notes"] else ""
    return f"<h3>This</h3>{content}<h3>Other</h3>{other}{notes}"


def _diversity(found: Found) -> str:
    if "diversity" not in found:
        return ""
    mine = _list(found["diversity"]["said"])
    return (
        f"<h3>This</h3>{mine}<h3>Other</h3>{_list(found['against']['diversity']['said'])}"
        if "against" in found
        else mine
    )


def _said(lines: Sequence[str]) -> str:
    return (
        _list(lines) if lines else "<p>Nothing: no output is cut, empty, a loop, unknown or a copy of its source.</p>"
    )


def _list(lines: Sequence[str]) -> str:
    return f'<ul class="said">{"".join(f"<li>{shown(line)}</li>" for line in lines)}</ul>'


def _by_length(found: Found) -> str:
    both = [found, *([found["against"]] if "against" in found else [])]
    buckets = list(zip(*(part["by_length"] for part in both), strict=True))
    kept = [each for each in buckets if each[0]["num_sentences"]]
    unit = shown(found["by_length"][0]["unit"])
    head = [unit, "sentences", *_names(len(both), "BLEU"), *_names(len(both), "length ratio")]
    rows = [
        [
            shown(each[0]["label"]),
            f"{each[0]['num_sentences']:,}",
            *(number(bucket["bleu"]) for bucket in each),
            *(number(bucket["length_ratio"], 3) for bucket in each),
        ]
        for each in kept
    ]
    groups = [Group(e[0]["label"], f"n={e[0]['num_sentences']:,}", [b["bleu"] for b in e]) for e in kept]
    told = "Length ratio: tokens of the outputs divided by tokens of the references; below 1, outputs are too short."
    return _beside(f"BLEU by source length in {unit}", groups, table(head, rows), told, len(both))


def _by_frequency(found: Found) -> str:
    if found.get("by_frequency") is None:
        return ""
    both = [found, *([found["against"]] if "against" in found else [])]
    rows = list(zip(*(part["by_frequency"] for part in both), strict=True))
    kept = [each for each in rows if each[0]["num_reference"] or any(part["num_output"] for part in each)]
    head = ["seen in<br>training", "in<br>references", *_names(len(both), "in outputs"), *_names(len(both), "F1")]
    cells = [
        [
            shown(each[0]["label"]),
            f"{each[0]['num_reference']:,}",
            *(f"{part['num_output']:,}" for part in each),
            *(number(part["f1"]) for part in each),
        ]
        for each in kept
    ]
    groups = [Group(e[0]["label"], f"n={e[0]['num_reference']:,}", [part["f1"] for part in e]) for e in kept]
    told = "F1 of the words that stand so often in the training text: 0 is a word that training never showed."
    return _beside("Word F1 by frequency in the training text", groups, table(head, cells), told, len(both))


def _names(number_of: int, name: str) -> list[str]:
    return [name] if number_of == 1 else [f"{name}<br>this", f"{name}<br>other"]


def _beside(title: str, groups: Sequence[Group], numbers: str, told: str, number_of: int) -> str:
    key = '<ul class="key"><li>this</li><li>other</li></ul>' if number_of == 2 else ""
    drawn = f"<div>{bars(title, groups)}{key}</div>" if groups else ""
    return f'<div class="beside">{drawn}<div>{numbers}<p class="fine">{told}</p></div></div>'


def _worst(found: Found) -> str:
    if not found["worst"]:
        return ""
    told = '<p class="fine">By sentence chrF2, lowest first. Marked: where output and reference differ.</p>'
    both = ("reference", "output"), ("output", "reference")
    cards = [
        _sentence(
            one,
            f"chrF2 <b>{number(one['chrf'])}</b>",
            [(name, one[name], marked_html(one[name], one[other])) for name, other in both],
        )
        for one in found["worst"]
    ]
    return told + "".join(cards)


def _changed(found: Found) -> str:
    against = found.get("against")
    if against is None or not (against["gains"] or against["losses"]):
        return ""
    told = '<p class="fine">By the change of sentence chrF2. Marked: what the other output does not have there.</p>'
    parts = [told]
    for name, key in (("Largest gains of this", "gains"), ("Largest losses of this", "losses")):
        cards = [_pair(one) for one in against[key]]
        parts.append(f"<h3>{name}</h3>" + ("".join(cards) or "<p>None.</p>"))
    return "".join(parts)


def _pair(one: Found) -> str:
    mine, theirs = one["output"], one["other"]
    texts = [
        ("reference", one["reference"], shown(one["reference"])),
        ("this", mine, marked_html(mine, theirs)),
        ("other", theirs, marked_html(theirs, mine)),
    ]
    change = f"chrF2 <b>{number(one['chrf'])}</b>, other {number(one['other_chrf'])}: {one['difference']:+.2f}"
    return _sentence(one, change, texts)


def _sentence(one: Found, told: str, texts: Sequence[tuple[str, str, str]]) -> str:
    """Return a sentence as a card; texts: of each its name, itself, and itself as HTML."""
    rows = "".join(_text(*text) for text in [("source", one["source"], shown(one["source"])), *texts])
    return f"<article><h4>line {one['line']:,} · {told}</h4><dl>{rows}</dl></article>"


def _text(name: str, text: str, drawn: str) -> str:
    if not text.strip():
        return f'<dt>{name}</dt><dd class="empty">(empty)</dd>'
    return f'<dt>{name}</dt><dd dir="auto">{drawn}</dd>'
