"""context-in-weights: does a model go on learning while it reads a long document?

Documents in which people have habits that hold in this document alone (habit_texts.py). Who remembers more of what was read
predicts better, so the loss of a word falls with its position, as far as the state of the model can hold what was read: the
vector of an LSTM, all keys and values of a Transformer, or weights that are trained while reading (TTT).

What can be learned of a document is who is in it and which habits there are, and who has which. The loss is counted at people and
at habits; beside it stands that of an ideal reader, who knows how documents are made and forgets nothing. Verdicts go by habits:
at people not even the ideal reader's loss falls in the later part, for more and more of them could be meant.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from seqline import files
from seqline.comparing.plots import Axis, Series, lines
from seqline.data.batch import collate_lines
from seqline.data.plain import read_plain_set
from seqline.evaluation.significance import Array
from seqline.lab.estimates import SURE, Estimate, difference, share
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, Wanted, decide
from seqline.lab.habit_texts import HABITS, PEOPLE, WORDS_A_SENTENCE, document, ideal_nats
from seqline.lab.laboratory import Lab
from seqline.run_folder import Run, load_run

SENTENCES, QUICK_SENTENCES = 64, 40
DOCUMENTS, QUICK_DOCUMENTS, VALIDATION_DOCUMENTS = 8000, 4000, 20
TEST_DOCUMENTS, QUICK_TEST_DOCUMENTS = 100, 40
DOCUMENTS_AT_ONCE = 10
PARTS = 8
LEAST_FALL = 0.05
"""Nats: a fall of less is none."""
LEARNED, FORGETFUL = 0.5, math.log(len(HABITS))
"""A model that has not come half of the way from who remembers nothing to the ideal reader has not learned to read."""
LSTM, TRANSFORMER, TTT, IDEAL = "LSTM", "Transformer", "TTT", "ideal reader"
SOURCE = "Sun et al. 2024 (2407.04620), section 3 and the figures of perplexity by token index"
CLAIMS = (
    Claim(
        "ttt",
        "A state that is trained while it reads goes on lowering its loss to the end of a long document.",
        SOURCE,
        is_seen=True,
    ),
    Claim("transformer", "So does a Transformer, which keeps everything.", SOURCE, is_seen=True),
    Claim(
        "lstm",
        "A state of fixed size with a simple update, as in an RNN, lowers its loss less over a long document than TTT does.",
        SOURCE,
        is_seen=True,
    ),
)


class Model(NamedTuple):
    """How one of the models is made."""

    arch: str
    steps: int
    quick_steps: int
    settings: Mapping[str, Any]


_COMMON = {
    "tokenizer.kind": "word",
    "model.size": "tiny",
    "model.dropout": 0.0,
    "data.unit": "lines",
    "data.max_tokens": WORDS_A_SENTENCE * SENTENCES,
    "training.label_smoothing": 0.0,
    "training.batch_tokens": 1000,
    "training.validate_sentences": VALIDATION_DOCUMENTS,
}
MODELS: dict[str, Model] = {
    LSTM: Model("lstm", 3000, 1000, {**_COMMON, "training.learning_rate": 0.005, "model.hidden_size": 128}),
    TRANSFORMER: Model("transformer", 3000, 500, {**_COMMON, "training.learning_rate": 0.002}),
    TTT: Model("ttt-linear", 2000, 300, {**_COMMON, "training.learning_rate": 0.003}),
}
_DATA = "habits"


def wanted(name: str, seed: int) -> Wanted:
    """Return one of the models, trained with a seed."""
    model = MODELS[name]
    settings = tuple(model.settings.items())
    return Wanted(_DATA, model.arch, "language_model", settings, model.steps, model.quick_steps, seed)


def models(lab: Lab) -> tuple[Wanted, ...]:
    """Return every model with every seed."""
    return tuple(wanted(name, seed) for name in MODELS for seed in lab.seed_numbers())


def _write(folder: Path, lab: Lab) -> None:
    counts = {
        "train": lab.pick(DOCUMENTS, QUICK_DOCUMENTS),
        "valid": VALIDATION_DOCUMENTS,
        "test": lab.pick(TEST_DOCUMENTS, QUICK_TEST_DOCUMENTS),
    }
    for name, count in counts.items():
        draws = random.Random(f"habits: {name}")
        texts = [document(lab.pick(SENTENCES, QUICK_SENTENCES), draws) for _ in range(count)]
        files.write_text(folder / f"{name}.txt", "".join(f"{text}\n" for text in texts))


CORPORA = {_DATA: _write}


@torch.inference_mode()
def nats_by_position(run: Run, texts: Sequence[str]) -> Array:
    """Return minus the log-probability of every word of texts of one length [N T], each text read from nothing."""
    model: Any = run.model
    ids = run.tokenizers.source.encode_batch(list(texts))
    found = []
    for begin in range(0, len(ids), DOCUMENTS_AT_ONCE):
        batch = collate_lines(ids, range(begin, min(len(ids), begin + DOCUMENTS_AT_ONCE)))
        logits, _ = model(batch.inputs, model.initial_state(None, len(batch.rows)))
        nats = -logits.double().log_softmax(dim=-1).gather(-1, batch.targets[..., None])[..., 0]
        found.append(nats[:, :-1].numpy())  # the end mark is no word
    return np.concatenate(found)


def of_facts(nats: Array, which: Sequence[int] = (0, 1)) -> Array:
    """Return the nats of people (0), habits (1) or the mean of both, by sentence [N sentences], from those of all words [N T]."""
    return nats.reshape(len(nats), -1, WORDS_A_SENTENCE)[:, :, list(which)].mean(axis=-1)


def by_part(nats: Array) -> Array:
    """Return sums and counts [N PARTS 2] of the sentences in each eighth of the documents."""
    parts = np.array_split(nats, PARTS, axis=1)
    return np.stack(
        [np.stack([part.sum(axis=1), np.full(len(part), part.shape[1])], axis=-1) for part in parts], axis=1
    )


def fall(seeds: Sequence[Array]) -> Estimate:
    """Return by how much the loss falls from the half's beginning (third and fourth eighth) to the end (the last two).

    Args:
        seeds: [N PARTS 2] of each seed.
    """
    middle, end = ([seed[:, part : part + 2].sum(axis=1) for seed in seeds] for part in (2, PARTS - 2))
    return difference(middle, end)


def in_all(seeds: Sequence[Array]) -> Estimate:
    """Return by how much the loss falls from the first eighth to the last; arguments as in `fall`."""
    return difference([seed[:, 0] for seed in seeds], [seed[:, -1] for seed in seeds])


def fall_difference(mine: Sequence[Array], theirs: Sequence[Array]) -> Estimate:
    """Return by how much more the first loss falls than the second."""

    def sums(seed: Array) -> Array:
        return np.concatenate([seed[:, 2:4].sum(axis=1), seed[:, -2:].sum(axis=1)], axis=-1)

    def value(found: Array) -> Array:
        count = np.maximum(found[..., [1, 3]], 1.0)
        return found[..., 0] / count[..., 0] - found[..., 2] / count[..., 1]

    return difference([sums(seed) for seed in mine], [sums(seed) for seed in theirs], value)


def judge_fall(claim: str, name: str, found: Estimate, end: float, ideal: float) -> Verdict:
    """Decide whether a model's loss goes on falling in the later part of a document; end, ideal: losses in its last eighth."""
    learned = (FORGETFUL - end) / (FORGETFUL - ideal)
    rule = (
        f"d is the loss of the {name} at habits in the third and fourth eighth of the documents less that in the last "
        f"two eighths; held where {SURE} lie above {LEAST_FALL} nats, not held where all lie below, undecided else, and where "
        f"its loss in the last eighth is nearer to that of who remembers nothing ({FORGETFUL:.2f}) than to the ideal reader's"
    )
    is_held = found.is_above(LEAST_FALL) if learned >= LEARNED else None
    way = f"in the last eighth it has come {100 * learned:.0f} % of the way to the ideal reader"
    said = f"Falls by {found.said('nats', 3)}; {way}."
    return Verdict(
        claim, decide(is_held), rule, {**found.numbers("d"), "loss in the last eighth": end, "ideal": ideal}, said
    )


def judge_less(found: Estimate, learned: Estimate) -> Verdict:
    """Decide whether the LSTM's loss falls less than that of TTT, where the LSTM has learned to use what it read at all."""
    rule = (
        "d is the fall of TTT's loss (as in the claim on TTT) less the LSTM's, l its loss in the first eighth less "
        f"that in the last; held where {SURE} of d lie above 0 and those of l above {LEAST_FALL} nats, not held where those of d "
        "lie below 0, undecided else"
    )
    is_more = found.is_above(0.0)
    said = (
        f"In the later part TTT's loss falls by {found.said('nats', 3)} more than the LSTM's; over the whole document the LSTM's "
        f"falls by {learned.said('nats', 3)}."
    )
    state = decide(is_more if not is_more or learned.is_above(LEAST_FALL) else None)
    return Verdict("lstm", state, rule, {**found.numbers("d"), **learned.numbers("l")}, said)


def verdicts(found: Mapping[str, Sequence[Array]]) -> tuple[Verdict, ...]:
    """Decide from sums and counts [N PARTS 2] of every seed of each model, and of the ideal reader."""
    ends = {name: share([seed[:, -1] for seed in seeds]).value for name, seeds in found.items()}
    return (
        judge_fall("ttt", TTT, fall(found[TTT]), ends[TTT], ends[IDEAL]),
        judge_fall("transformer", TRANSFORMER, fall(found[TRANSFORMER]), ends[TRANSFORMER], ends[IDEAL]),
        judge_less(fall_difference(found[TTT], found[LSTM]), in_all(found[LSTM])),
    )


def measure(lab: Lab) -> Finding:
    """Read the test documents with every model."""
    test = read_plain_set(str(lab.corpus(_DATA)), "test")
    assert test is not None
    texts = test.text.splitlines()
    read: dict[str, list[Array]] = {IDEAL: [np.array([ideal_nats(text.split()) for text in texts])]}
    for name in MODELS:
        runs = (load_run(lab.run(wanted(name, seed))) for seed in lab.seed_numbers())
        read[name] = [nats_by_position(run, texts) for run in runs]
        lab.check_stop()
    found = {name: [by_part(of_facts(nats, (1,))) for nats in seeds] for name, seeds in read.items()}
    losses = {
        of: _losses(read, which) for of, which in {"people": (0,), "habits": (1,), "people and habits": (0, 1)}.items()
    }
    length = len(texts[0].split())
    ends = tuple(str(round(length * part / PARTS)) for part in range(1, PARTS + 1))
    notes = (
        f"{len(texts)} documents of {length} words, {lab.seeds_said()}. Who remembers nothing loses "
        f"{np.log(len(PEOPLE)):.2f} nats at each of {len(PEOPLE)} people and {np.log(len(HABITS)):.2f} at a habit.",
    )
    falls = {name: fall(seeds)._asdict() for name, seeds in found.items() if name != IDEAL}
    return Finding(
        tuple(_table(of, rows, ends) for of, rows in losses.items()),
        tuple(_picture(of, rows, ends) for of, rows in losses.items()),
        verdicts(found),
        notes,
        {"words": length, "nats_by_eighth": losses, "falls": falls},
    )


def _losses(read: Mapping[str, Sequence[Array]], which: Sequence[int]) -> dict[str, list[float]]:
    """Return the loss of each reader in each eighth, all seeds together."""
    found = {}
    for name, seeds in read.items():
        parts = [by_part(of_facts(nats, which)) for nats in seeds]
        found[name] = [share([seed[:, part] for seed in parts]).value for part in range(PARTS)]
    return found


def _table(of: str, losses: Mapping[str, Sequence[float]], ends: Sequence[str]) -> Table:
    rows = tuple((name, *row) for name, row in losses.items())
    return Table(f"Loss at {of} (nats) by position, up to word", ("reader", *ends), rows)


def _picture(of: str, losses: Mapping[str, Sequence[float]], ends: Sequence[str]) -> Picture:
    drawn = [
        Series(name, style, [(float(part), value) for part, value in enumerate(row)])
        for style, (name, row) in enumerate(losses.items())
    ]
    svg = lines(f"Loss at {of} by position", Axis("position, up to word", ends), Axis(f"loss at {of}, nats"), drawn)
    return Picture(f"loss-at-{of.replace(' ', '-')}", svg, f"The loss at {of} by position in the document.")


EXPERIMENT = Experiment(
    name="context-in-weights",
    title="A context in the weights",
    question="Does a model go on learning while it reads a long document?",
    claims=CLAIMS,
    models=models,
    measure=measure,
)
