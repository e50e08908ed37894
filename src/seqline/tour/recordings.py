"""The recordings that the page of the tour draws: a few sentences run by the four models, and one training looked back on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from seqline import files
from seqline.data.lines import read_lines
from seqline.data.text import read_pairs
from seqline.data.tokenizer import BOS
from seqline.evaluation.alignment_metrics import parse_gold, score_alignments
from seqline.recording.attention import layers_of
from seqline.tour.comparing import SENTENCES, long_sentence
from seqline.training.snapshots import FOLDER, read_snapshots
from seqline.training.weights import load_weights
from seqline.translator import Translator
from seqline.visualize.trace import Bundle, Trace
from seqline.watch import watch

RECURRENT = ("encoder-decoder", "contextual", "luong")
ALIGNED = 100
"""Sentences that are aligned after each snapshot."""

Recordings = dict[str, Trace | Bundle]


def record(folder: Path, translators: Mapping[str, Translator]) -> Recordings:
    """Run the models once more, watched; the search is greedy, so that every step has one word."""
    first, _, feminine, masculine = SENTENCES
    luong, transformer = translators["luong"], translators["transformer"]
    three = [_of(translators[name], feminine) for name in RECURRENT]
    far = [_only(_of(translators[name], long_sentence(folder)), ("gradients",)) for name in RECURRENT]
    aligned = _of(luong, first)
    return {
        "first": aligned,
        "plain": _of(translators["encoder-decoder"], first),
        "three": Bundle([_only(trace, ("encoder", "decoder", "attention")) for trace in three], RECURRENT),
        "pizza": three[-1],
        "far": Bundle(far, RECURRENT),
        "sharpen": _only(learning(folder / "luong", aligned), ("attention", "training")),
        "she": transformer.explain(feminine, beam_size=1),
        "he": _only(_of(transformer, masculine), ("attention",)),
    }


def _of(translator: Translator, text: str) -> Trace:
    return translator.explain(text, beam_size=1, timing=False)


def _only(trace: Trace, kept: Iterable[str]) -> Trace:
    """Return a trace without the large blocks that are not named."""
    large = {"encoder", "attention", "qkv", "gradients", "embeddings", "positions"} - set(kept)
    document = {name: block for name, block in trace.document.items() if name not in large}
    if "decoder" not in kept and "decoder" in document:
        document["decoder"] = {"steps": document["decoder"]["steps"]}
    return Trace(document)


def learning(run: Path, trace: Trace) -> Trace:
    """Return a trace of the run's model with the block `training`: loss, alignment error and attention at each snapshot.

    The sentence of the trace is read again by every snapshot, its final output forced, so that all have the same rows. Loss is
    the mean over the steps since the snapshot before. Without snapshots the trace comes back as it is.
    """
    translator = Translator.load(run)
    source = [token["id"] for token in trace.document["source"]["tokens"]]
    output = [token["id"] for token in trace.document["target"]["tokens"]]
    history = _history(run)
    pairs = read_pairs(str(run.parent / "data" / "test.tsv")).pairs[:ALIGNED]
    gold_file = str(run.parent / "data" / "alignments" / "test.pharaoh")
    gold = parse_gold(read_lines(gold_file), gold_file)[:ALIGNED]
    snapshots, losses, rates, errors, before = [], [], [], [], 0
    for step, weights in read_snapshots(run / FOLDER):
        load_weights(translator.model, weights, str(run / FOLDER))
        snapshots.append({"step": step, "weights": attention_of(translator, source, output)})
        since = [history[k] for k in range(before + 1, step + 1) if k in history]
        losses.append(float(np.mean([loss for loss, _ in since])) if since else 0.0)
        rates.append(since[-1][1] if since else 0.0)
        links = translator.align([pair[:2] for pair in pairs])
        errors.append(score_alignments(links, gold).error_rate)
        before = step
    if not snapshots:
        return trace
    block = {
        "steps": [each["step"] for each in snapshots],
        "loss": losses,
        "lr": rates,
        "metrics": {"alignment error rate": errors},
        "snapshots": snapshots,
    }
    return Trace(trace.document | {"training": block})


@torch.no_grad()
def attention_of(translator: Translator, source: list[int], output: list[int]) -> np.ndarray:
    """Return how a decoder reads its source [L H Q M], the output forced on it."""
    ids, fed = torch.tensor([source]), torch.tensor([[BOS, *output[:-1]]])
    with watch(translator.model) as frames:
        translator.model(ids, torch.ones_like(ids, dtype=torch.bool), fed)
    return np.stack([layer.weights for layer in layers_of(frames, len(source))])


def _history(run: Path) -> dict[int, tuple[float, float]]:
    """Return the loss and the learning rate of each training step."""
    found: dict[int, tuple[float, float]] = {}
    for line in files.read_bytes(run / "metrics.jsonl").decode("utf-8").splitlines():
        event: dict[str, Any] = json.loads(line)
        if event["event"] == "step":
            found[event["step"]] = (event["nats_per_token"], event["learning_rate"])
    return found
