"""The numbers on the page that are no figure: the table of the models, BLEU by length, sentences of every length, one step."""

from __future__ import annotations

import html
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from seqline.data.text import PairSet
from seqline.evaluation.text_metrics import bleu_by_length
from seqline.tour.comparing import Compared, Row
from seqline.tour.story import both, rich, word

EDGES = (8, 12, 16, 20, 24, 28, 32)
LENGTHS = range(4, 33)
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 300, 44, 150, 16, 36


def models_table(rows: Sequence[Row]) -> str:
    """Return the comparison of the four models as a table."""
    names = ("model", "bleu", "long", "parameters", "seconds", "speed")
    head = "".join(f'<th scope="col">{word(name)}</th>' for name in names)
    body = "".join(
        f'<tr><th scope="row"><code>{html.escape(row.name)}</code></th><td>{row.bleu:.1f}</td><td>{row.bleu_long:.1f}</td>'
        f"<td>{row.num_parameters:,}</td><td>{row.seconds:.0f}</td><td>{row.tokens_per_second:,.0f}</td></tr>"
        for row in rows
    )
    table = f'<table class="models"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="scroll" tabindex="0">{table}</div>'


def by_length(pairs: PairSet, compared: Compared) -> tuple[list[str], dict[str, list[float | None]]]:
    """Return the names of the length buckets that hold a sentence, and each model's BLEU in them."""
    sources, references = [pair.source for pair in pairs.pairs], [pair.target for pair in pairs.pairs]
    labels: list[str] = []
    scores: dict[str, list[float | None]] = {}
    for name, report in compared.reports.items():
        buckets = bleu_by_length(sources, [t.text for t in report.translations], references, EDGES)
        kept = [bucket for bucket in buckets if bucket.num_sentences]
        labels = [f"{b.shortest}–{b.longest}" if b.longest else f"{b.shortest}+" for b in kept]
        scores[name] = [bucket.bleu for bucket in kept]
    return labels, scores


def length_chart(labels: Sequence[str], scores: dict[str, list[float | None]]) -> str:
    """Return BLEU by length as an SVG: a line a model, told apart by colour, dash and its name at the end."""
    step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(labels) - 1)
    down = _HEIGHT - _TOP - _BOTTOM

    def place(k: int, value: float) -> tuple[float, float]:
        return _LEFT + k * step, _TOP + down * (1 - value / 100)

    parts = [f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="chart-title">'
             '<title id="chart-title">BLEU</title>']  # fmt: skip
    for value in range(0, 101, 25):
        _, y = place(0, value)
        parts.append(f'<line class="rule" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value}</text>')
    for k, label in enumerate(labels):
        parts.append(f'<text x="{place(k, 0)[0]:.1f}" y="{_HEIGHT - 12}" text-anchor="middle">{label}</text>')
    ends: list[float] = []
    for number, (name, values) in enumerate(scores.items()):
        dots = [place(k, value) for k, value in enumerate(values) if value is not None]
        if not dots:
            continue
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
        circles = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in dots)
        ends.append(dots[-1][1])
        parts.append(f'<g class="line-{number}"><polyline points="{points}"/>{circles}')
        parts.append(f'<text x="{dots[-1][0] + 12:.1f}" y="@{number}@">{html.escape(name)}</text></g>')
    drawn = "".join([*parts, "</svg>"])
    for number, y in enumerate(_apart(ends)):
        drawn = drawn.replace(f'"@{number}@"', f'"{y + 4:.1f}"')
    return drawn


def _apart(places: Sequence[float], gap: float = 18.0) -> list[float]:
    """Move labels apart that would overlap, downwards."""
    moved = list(places)
    for before, after in zip(order := sorted(range(len(moved)), key=moved.__getitem__), order[1:], strict=False):
        moved[after] = max(moved[after], moved[before] + gap)
    over = max(moved, default=0.0) - (_HEIGHT - _BOTTOM)
    return [place - max(0.0, over) for place in moved]


def sentences(pairs: PairSet, compared: Compared) -> list[dict[str, Any]]:
    """Return the first test sentence of each length with its translations; words unlike the reference are marked."""
    found = []
    for length in LENGTHS:
        at = next((n for n, pair in enumerate(pairs.pairs) if len(pair.source.split()) == length), None)
        if at is None:
            continue
        pair = pairs.pairs[at]
        outputs = []
        for name, report in compared.reports.items():
            output = report.translations[at].outputs[0]
            words = marked(output.text.split(), pair.target.split())
            outputs.append({"model": name, "words": words, "cut": not output.is_finished})
        found.append({"length": length, "source": pair.source, "reference": pair.target, "outputs": outputs})
    return found


def marked(words: Sequence[str], reference: Sequence[str]) -> list[list[Any]]:
    """Return each word and whether the reference has it at that place."""
    same = set()
    for block in SequenceMatcher(None, words, reference, autojunk=False).get_matching_blocks():
        same.update(range(block.a, block.a + block.size))
    return [[text, n in same] for n, text in enumerate(words)]


def worked_step(document: dict[str, Any]) -> str:
    """Return one step of attention in numbers: scores, weights, C, z, logits."""
    outputs = [token["text"] for token in document["target"]["tokens"]]
    n = outputs.index("student") if "student" in outputs else max(0, len(outputs) - 2)
    step, block = document["decoder"]["steps"][n], document["attention"][-1]
    scores, weights = (np.asarray(block[name])[-1].mean(axis=0)[n] for name in ("scores", "weights"))
    names = [token["text"] for token in document["source"]["tokens"]]
    top = int(weights.argmax())
    rows = [
        ("", *names),
        (word("score"), *(f"{x:.2f}" for x in scores)),
        (word("weight"), *(f"{x:.3f}" for x in weights)),
    ]
    cells = "".join(
        "<tr>" + "".join(_cell(k, r, value, is_top=k == top + 1) for k, value in enumerate(row)) + "</tr>"
        for r, row in enumerate(rows)
    )
    vectors = "".join(
        _vector(name, np.asarray(document["decoder"][key])[n]) for name, key in (("C", "context"), ("z", "z"))
    )
    leaders = "".join(
        f"<tr><th scope='row'>{html.escape(each['text'])}</th><td>{each['logit']:.2f}</td><td>{each['p']:.3f}</td></tr>"
        for each in step["topk"][:4]
    )
    values = {"t": str(step["t"]), "word": outputs[n]}
    head = "".join(f"<th scope='col'>{word(name)}</th>" for name in ("candidate", "logit", "probability"))
    return (
        f'<div class="worked">{both(lambda story: rich(story.page["worked"], values), "h3")}'
        f'<div class="scroll" tabindex="0"><table>{cells}</table></div>{vectors}'
        f'<div class="scroll" tabindex="0"><table><tr>{head}</tr>{leaders}</table></div></div>'
    )


def _cell(k: int, row: int, value: str, *, is_top: bool) -> str:
    tag = "th" if k == 0 or row == 0 else "td"
    text = value if k == 0 else html.escape(value)
    return f"<{tag}{' class=top' if is_top else ''}>{text}</{tag}>"


def _vector(name: str, values: np.ndarray) -> str:
    shown = ", ".join(f"{x:.2f}" for x in values[:4])
    note = both(lambda story: rich(story.page["first_four"], {"width": str(len(values))}))
    return f'<p class="vector"><i>{name}</i> = ({shown}, …) <small>{note}</small></p>'
