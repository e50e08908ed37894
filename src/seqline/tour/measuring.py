"""What the tour measures on the machine it runs on: each chapter's findings, as a key of the story and the numbers in it.

Which sentence is told depends on the numbers: where a model does not do what the textbook says, the page says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqline.data.lines import read_lines
from seqline.data.text import read_pairs
from seqline.data.toy.lexicon import NOUN
from seqline.evaluation.alignment_metrics import parse_gold, score_alignments
from seqline.tour.chapters import document_of
from seqline.tour.comparing import Compared, Row
from seqline.tour.inside import changed_by_a_word, nearest, reads_its_noun
from seqline.tour.recordings import Recordings
from seqline.visualize.trace import Bundle, Trace


class Said(NamedTuple):
    """One measured sentence: its key in the story, and the values that it names."""

    key: str
    values: dict[str, str]


Findings = dict[str, list[Said]]


def said(key: str, **values: Any) -> Said:
    """Return a sentence; numbers are written with as many digits as they deserve."""
    return Said(key, {name: _written(value) for name, value in values.items()})


def _written(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def measure(folder: Path, compared: Compared, recordings: Recordings) -> Findings:
    """Measure everything that the page tells."""
    return {
        "start": _timeline(document_of(recordings["first"])),
        "word": _words(compared, document_of(recordings["first"])),
        "position": _places(document_of(recordings["she"])),
        "encoder": _fading(compared, folder),
        "context": _bottleneck(compared, document_of(recordings["plain"])),
        "decoder": _confidence(document_of(recordings["plain"])),
        "again": [*_again(compared), *_gradients(recordings["far"])],
        "length": _lengths(compared),
        "attention": _alignment(folder, compared),
        "sharpen": _sharpening(document_of(recordings["sharpen"])),
        "heads": _heads(document_of(recordings["she"])),
        "transformer": _residual(document_of(recordings["she"])),
        "twins": _twins(folder, compared),
        "cache": _cache(document_of(recordings["she"])),
    }


def _row(compared: Compared, name: str) -> Row:
    return next(row for row in compared.rows if row.name == name)


def _timeline(document: dict[str, Any]) -> list[Said]:
    """Say how many steps the first sentence took, and whether "student" was read from "étudiant"."""
    num_read = len(document["schedule"]) - len(document["decoder"]["steps"])
    found = [said("steps", read=num_read, written=len(document["decoder"]["steps"]), text=document["target"]["text"])]
    weights = document["attention"][-1]["weights"][-1].mean(axis=0)
    sources, outputs = ([t["text"] for t in document[side]["tokens"]] for side in ("source", "target"))
    at = next((n for n, word in enumerate(outputs) if word == "student"), None)
    if at is None:
        return [*found, said("no_student")]
    top = int(np.argmax(weights[at]))
    key = "student_read" if sources[top] == "étudiant" else "student_elsewhere"
    return [*found, said(key, t=num_read + at + 1, word=sources[top], weight=float(weights[at, top]))]


def _words(compared: Compared, document: dict[str, Any]) -> list[Said]:
    translator = compared.translators["luong"]
    nouns = sorted({noun.french[0] for noun in NOUN.values()})
    table, names = nearest(translator)
    others = {name: table.most_like(name, 3) for name in nouns if name in names}
    is_noun = {form for noun in NOUN.values() for form in (*noun.french, *noun.english)}
    kin = sum(near[0][0] in is_noun for near in others.values())
    found = [said("table", rows=len(names), width=int(document["embeddings"]["source"].shape[1]))]
    if "pizza" in others:
        near = ", ".join(f"{name} ({cosine:.2f})" for name, cosine in others["pizza"])
        found.append(said("near", near=near))
    return [*found, said("kin" if 2 * kin > len(others) else "no_kin", kin=kin, nouns=len(others))]


def _places(document: dict[str, Any]) -> list[Said]:
    table = np.asarray(document["positions"]["table"], dtype=np.float64)
    products = table @ table.T
    far = min(len(table) - 1, 8)
    values = {
        "same": float(products[0, 0]),
        "next": float(products[0, 1]),
        "far": float(products[0, far]),
        "places": far,
    }
    return [said("near_places" if products[0, 1] > products[0, far] else "far_places", **values)]


def _fading(compared: Compared, folder: Path) -> list[Said]:
    translator = compared.translators["encoder-decoder"]
    sources = [pair.source for pair in read_pairs(str(folder / "data" / "test.tsv")).pairs]
    first, last, count = changed_by_a_word(translator, [s for s in sources if len(s.split()) >= 20][:40])
    key = "first_word_fades" if first < last else "first_word_stays"
    return [said(key, first=100 * first, last=100 * last, count=count)]


def _bottleneck(compared: Compared, document: dict[str, Any]) -> list[Said]:
    short, long = compared.reports["encoder-decoder"].short_and_long
    values = {"width": int(document["model"]["width"]), "short": short.bleu or 0.0, "long": long.bleu or 0.0}
    return [said("squeezed" if values["long"] < 0.7 * values["short"] else "not_squeezed", **values)]


def _confidence(document: dict[str, Any]) -> list[Said]:
    def sure(step: dict[str, Any]) -> float:
        return float(step["topk"][min(step["chosen_rank"], len(step["topk"]) - 1)]["p"])

    step = min(document["decoder"]["steps"], key=sure)
    rivals = ", ".join(f"{each['text']} ({each['p']:.2f})" for each in step["topk"][:3])
    return [said("least_sure", text=document["target"]["text"], word=step["out"], p=sure(step), rivals=rivals)]


def _again(compared: Compared) -> list[Said]:
    before, after = (_row(compared, name) for name in ("encoder-decoder", "contextual"))
    key = "again_helps" if after.bleu_long > before.bleu_long + 1 else "again_helps_not"
    values = {
        "before": before.bleu,
        "after": after.bleu,
        "before_long": before.bleu_long,
        "after_long": after.bleu_long,
    }
    return [said(key, **values)]


def _lengths(compared: Compared) -> list[Said]:
    fixed, kept = (_row(compared, name) for name in ("encoder-decoder", "luong"))
    values = {"fixed": fixed.bleu_long, "kept": kept.bleu_long, "transformer": _row(compared, "transformer").bleu_long}
    return [said("attention_keeps" if kept.bleu_long > fixed.bleu_long + 5 else "attention_keeps_not", **values)]


def _alignment(folder: Path, compared: Compared) -> list[Said]:
    pairs = read_pairs(str(folder / "data" / "test.tsv")).pairs
    file = str(folder / "data" / "alignments" / "test.pharaoh")
    gold = parse_gold(read_lines(file), file)
    rates = {name: score_alignments(compared.translators[name].align([p[:2] for p in pairs]), gold).error_rate
             for name in ("luong", "transformer")}  # fmt: skip
    key = "aligned" if rates["luong"] < 0.2 else "not_aligned"
    return [said(key, luong=100 * rates["luong"], transformer=100 * rates["transformer"], pairs=len(pairs))]


def _sharpening(document: dict[str, Any]) -> list[Said]:
    training = document.get("training")
    if training is None:
        return [said("no_snapshots")]
    steps = [int(step) for step in training["steps"]]
    errors = [100 * float(error) for error in training["metrics"]["alignment error rate"]]
    half = next((step for step, error in zip(steps, errors, strict=True) if error < errors[0] / 2), None)
    values = {"first": errors[0], "last": errors[-1], "start": steps[0], "end": steps[-1], "half": half or 0}
    return [said("sharpens" if half is not None else "sharpens_not", **values)]


def _gradients(recording: Trace | Bundle) -> list[Said]:
    assert isinstance(recording, Bundle)
    ratios = {}
    for name, trace in zip(recording.labels, recording.traces, strict=True):
        norms = np.asarray(trace.document["gradients"]["norm_h"], dtype=np.float64)
        ratios[name] = float(norms[0] / norms[-1]) if norms[-1] else 0.0
    words = len(recording.traces[0].document["source"]["words"])
    key = "attention_reaches" if ratios["luong"] > ratios["encoder-decoder"] else "attention_reaches_not"
    return [said(key, words=words, fixed=f"{ratios['encoder-decoder']:.2g}", kept=f"{ratios['luong']:.2g}")]


def _heads(document: dict[str, Any]) -> list[Said]:
    block = next(each for each in document["attention"] if each["kind"] == "encoder_self")
    weights = np.asarray(block["weights"], dtype=np.float64)
    entropy = -(weights * np.log(np.maximum(weights, 1e-12))).sum(-1).mean(-1)
    low, high = (np.unravel_index(int(pick(entropy)), entropy.shape) for pick in (np.argmin, np.argmax))
    values = {"layers": weights.shape[0], "heads": weights.shape[1]}
    for name, at in (("sharp", low), ("broad", high)):
        values |= {name: float(np.exp(entropy[at])), f"{name}_layer": int(at[0]) + 1, f"{name}_head": int(at[1]) + 1}
    return [said("spread", **values)]


def _residual(document: dict[str, Any]) -> list[Said]:
    states = np.asarray(document["encoder"]["h"], dtype=np.float64)[:, 0]
    own = states / np.linalg.norm(states, axis=-1, keepdims=True)
    kept = float((own[0] * own[-1]).sum(-1).mean())
    sizes = document["model"]
    layers = sizes["num_layers"]
    values = {"parameters": int(sizes["num_parameters"]), "encoder": layers["encoder"], "decoder": layers["decoder"]}
    return [said("kept_between_layers", kept=kept, heads=int(sizes["num_heads"] or 1), **values)]


def _twins(folder: Path, compared: Compared) -> list[Said]:
    translator = compared.translators["transformer"]
    pairs = read_pairs(str(folder / "data" / "pronouns.tsv")).pairs
    translations = translator.translate([pair.source for pair in pairs])
    right = sum(made.text == pair.target for made, pair in zip(translations, pairs, strict=True))
    found = [said("twins_translated", right=right, pairs=len(pairs))]
    wins, mean = reads_its_noun(translator, [pair.source for pair in pairs])
    if len(wins) < 2:
        return [*found, said("twins_unread")]
    half = len(wins) // 2  # twins stand beside each other and must not be parted
    chosen, scored = wins[:half].mean(axis=0), wins[half:].mean(axis=0)
    layer, head = (int(at) for at in np.unravel_index(int(chosen.argmax()), chosen.shape))
    best = 100 * float(scored[layer, head])
    values = {"best": best, "layer": layer + 1, "head": head + 1, "mean": 100 * float(mean), "count": len(wins)}
    return [*found, said("twins_read" if best >= 65 else "twins_by_chance", **values)]


def _cache(document: dict[str, Any]) -> list[Said]:
    last = document["decoder"]["steps"][-1]
    size = last["cache"]
    found = [said("cache_size", bytes=int(size["bytes"]), len=int(size["len"]))]
    times = last.get("ms") or {}
    if times.get("total") and times.get("total_without_cache"):
        faster = times["total"] < times["total_without_cache"]
        values = {"with_": float(times["total"]), "without": float(times["total_without_cache"])}
        found.append(said("cache_faster" if faster else "cache_slower", **values))
    return found
