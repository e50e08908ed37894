"""The recordings that the page of the tour draws: a few sentences run by the four models, and one training looked back on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from seqline.data.lines import read_lines
from seqline.data.text import read_pairs
from seqline.evaluation.alignment_metrics import parse_gold, score_alignments
from seqline.recording.learning import attention_of, curves, each_snapshot, read_history
from seqline.run_folder import load_run
from seqline.tour.comparing import SENTENCES, long_sentence
from seqline.translator import Translator
from seqline.visualize.trace import Bundle, Trace

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
    loaded = load_run(run)
    pairs = read_pairs(str(run.parent / "data" / "test.tsv")).pairs[:ALIGNED]
    gold_file = str(run.parent / "data" / "alignments" / "test.pharaoh")
    gold = parse_gold(read_lines(gold_file), gold_file)[:ALIGNED]
    snapshots, errors = [], {}
    for step, snapshot in each_snapshot(loaded):
        snapshots.append({"step": step, "weights": attention_of(snapshot.model, trace.document)})
        links = Translator.of(snapshot).align([pair[:2] for pair in pairs])
        errors[step] = score_alignments(links, gold).error_rate
    if not snapshots:
        return trace
    block = curves(read_history(loaded), list(errors))
    metrics = {"alignment error rate": [errors[step] for step in block["steps"].tolist()]}
    return Trace(trace.document | {"training": {**block, "metrics": metrics, "snapshots": snapshots}})
