"""bottleneck: does one vector hold a long sentence?

Four models of the same pair: the source as the decoder's first state, as a static context at every step, read by attention, and
the Transformer. Their translations of the same test set are scored by the length of the source, with the same search. A fall
from the shortest to the longest sentences is what a bottleneck looks like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqline.comparing.exam import Marking
from seqline.comparing.exams import TranslationExam
from seqline.comparing.plots import Axis, Series, lines
from seqline.comparing.statistics import EDGES, by_length
from seqline.config import DataConfig
from seqline.evaluation.significance import Array, Value
from seqline.lab import pair
from seqline.lab.estimates import SURE, Estimate, share
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, Wanted, decide
from seqline.lab.held_out import test_set
from seqline.lab.laboratory import Lab
from seqline.run_folder import load_run

MODELS: dict[str, pair.PairModel] = {
    "first state only": pair.encoder_decoder,
    "static context": pair.contextual_final,
    "attention": pair.attention,
    "Transformer": pair.transformer,
}
FIXED, STATIC, ATTENTION = "first state only", "static context", "attention"
LEAST_IN_BUCKET = 30
CLEAR_LOSS = 5.0
LEARNED = 20.0  # BLEU of the shortest sentences: a model below it has not learned what it could lose
CLAIMS = (
    Claim(
        "falls",
        "An encoder-decoder whose source is one vector translates long sentences worse than short ones.",
        "Cho et al. 2014b (1409.1259), section 4.2 and figure 4",
    ),
    Claim(
        "level",
        "With attention the quality does not fall with length.",
        "Bahdanau et al. 2015 (1409.0473), section 5.1 and figure 2",
    ),
    Claim(
        "static",
        "The same vector at every step does not lift the bottleneck: its score falls as well.",
        "Bahdanau et al. 2015 (1409.0473), section 2.1: all that is known of the source passes through one fixed vector",
    ),
)


class Ends(NamedTuple):
    """The rows of the shortest and of the longest sentences, and what they are called."""

    short: NDArray[np.intp]
    long: NDArray[np.intp]
    short_label: str
    long_label: str


def models(lab: Lab) -> tuple[Wanted, ...]:
    """Return the four, for every seed."""
    return tuple(make(lab, seed) for make in MODELS.values() for seed in lab.seed_numbers())


def ends_of(lengths: Sequence[int], least: int = LEAST_IN_BUCKET) -> Ends | None:
    """Return the first and the last range of lengths that holds at least so many sentences; None where they are one."""
    counts = np.maximum(np.asarray(lengths), 1)
    ranges = [(low, high) for low, high in zip((0, *EDGES), (*EDGES, None), strict=True)]
    rows = [np.flatnonzero((counts > low) & (counts <= (high or counts.max()))) for low, high in ranges]
    full = [i for i, each in enumerate(rows) if len(each) >= least]
    if len(full) < 2:
        return None
    labels = [f"{low + 1}-{high}" if high else f"over {low}" for low, high in ranges]
    return Ends(rows[full[0]], rows[full[-1]], labels[full[0]], labels[full[-1]])


def loss(value: Value, seeds: Sequence[Array], ends: Ends) -> Estimate:
    """Return the score of the shortest less that of the longest, sentences drawn anew.

    Args:
        value: sums [... S] -> scores.
        seeds: of each [N S], what each sentence adds.
        ends: the two ranges.
    """
    width = seeds[0].shape[1]
    beside = []
    for each in seeds:
        rows = np.zeros((len(ends.short) + len(ends.long), 2 * width))
        rows[: len(ends.short), :width], rows[len(ends.short) :, width:] = each[ends.short], each[ends.long]
        beside.append(rows)
    return share(beside, lambda sums: value(sums[..., :width]) - value(sums[..., width:]))


def verdicts(losses: Mapping[str, Estimate], short: Mapping[str, float], ends: Ends) -> tuple[Verdict, ...]:
    """Decide the three claims from the losses of the models and their scores on the shortest sentences."""
    name = f"loss is the BLEU of {ends.short_label} words less the BLEU of {ends.long_label} words"
    doubt = f"by {SURE}; undecided else, and where the BLEU of the short ones is below {LEARNED:g}"
    falls = f"{name}; held where it lies above {CLEAR_LOSS:g}, not held where below, {doubt}"
    level = f"{name}; held where it lies below {CLEAR_LOSS:g}, not held where above, {doubt}"

    def verdict(claim: str, model: str, rule: str, *, wants_fall: bool) -> Verdict:
        found, learned = losses[model], short[model]
        is_fall = found.is_above(CLEAR_LOSS) if learned >= LEARNED else None
        state = decide(None if is_fall is None else is_fall is wants_fall)
        numbers = {"BLEU of the short": learned, **found.numbers("loss")}
        return Verdict(
            claim, state, rule, numbers, f"{model}: {learned:.1f} BLEU of the short ones, the loss is {found.said('')}."
        )

    return (
        verdict("falls", FIXED, falls, wants_fall=True),
        verdict("level", ATTENTION, level, wants_fall=False),
        verdict("static", STATIC, falls, wants_fall=True),
    )


def measure(lab: Lab) -> Finding:
    """Translate the test set with every model."""
    exam = TranslationExam(test_set(lab, "pair"), DataConfig(), Marking(("bleu",)))
    score = exam.measures[0]
    by_model: dict[str, list[Array]] = {}
    for name, make in MODELS.items():
        runs = (load_run(lab.run(make(lab, seed))) for seed in lab.seed_numbers())
        by_model[name] = [score.statistics(exam.answer(run)) for run in runs]
        lab.check_stop()
    ends = ends_of(exam.lengths()[0])
    losses = {} if ends is None else {
        name: loss(score.value, seeds, ends) for name, seeds in by_model.items()
    }  # fmt: skip
    buckets = {name: by_length(exam, score, seeds) for name, seeds in by_model.items()}
    labels = [bucket.label for bucket in buckets[FIXED]]
    means = {name: [float(np.mean(bucket.values)) for bucket in each] for name, each in buckets.items()}
    whole = {name: [float(score.value(each.sum(axis=0))) for each in seeds] for name, seeds in by_model.items()}
    counts = [bucket.num_examples for bucket in buckets[FIXED]]
    drawn = [Series(name, style, list(enumerate(map(float, each)))) for style, (name, each) in enumerate(means.items())]
    svg = lines("BLEU by source length", Axis("source words", labels), Axis("BLEU"), drawn)
    rows = [
        (name, float(np.mean(whole[name])), *each, losses[name].value if losses else None)
        for name, each in means.items()
    ]
    rows.append(("sentences", sum(counts), *counts, None))
    note = f"{exam.num_examples:,} test sentences, beam of each run, {score.signature}; mean over {lab.seeds_said()}."
    undecided = () if ends else ("Fewer than two ranges of lengths hold 30 sentences: nothing is decided.",)
    return Finding(
        (Table("BLEU by source length in words", ("model", "all", *labels, "loss, short less long"), tuple(rows)),),
        (Picture("bleu-by-length", svg, "BLEU by the length of the source; the mean of the seeds."),),
        _none(labels, counts)
        if ends is None
        else verdicts(losses, {name: means[name][labels.index(ends.short_label)] for name in means}, ends),
        (note, *undecided),
        {"labels": labels, "sentences": counts, "bleu": means, "all": whole,
         "loss": {name: each._asdict() for name, each in losses.items()}},
    )  # fmt: skip


def _none(labels: Sequence[str], counts: Sequence[int]) -> tuple[Verdict, ...]:
    rule = f"needs two ranges of lengths with {LEAST_IN_BUCKET} sentences"
    numbers = {f"sentences of {label} words": count for label, count in zip(labels, counts, strict=True)}
    return tuple(Verdict(claim.key, decide(None), rule, numbers, "Too few sentences.") for claim in CLAIMS)


EXPERIMENT = Experiment(
    name="bottleneck",
    title="The bottleneck of one vector",
    question="Does translation get worse with length where the source is one vector, and not with attention?",
    claims=CLAIMS,
    models=models,
    measure=measure,
)
