"""dynamic-weights: weights that depend on what is read, against weights that depend on how far away it is.

A text holds entries, a key with a value ("c3"), each key at most once, and two kinds of questions:

    c?    the value of the entry with this key, wherever it stands: which weight must be large depends on the words
    <2    the value of the entry two places to the left: the weight of one fixed offset

    convolution   y_t = sum over r of W_r x_{t+r}                 W_r is the same for every text; |r| reaches (k - 1) / 2 a layer
    attention     y_t = sum over s of softmax_s(q_t . k_s) v_s    every weight is computed from the words, at any distance

So a convolution should be as good at the fixed offset; at the questions by key it can know nothing beyond its field, and inside
it needs many filters where attention needs one comparison.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from seqline.comparing.plots import Axis, Series, lines
from seqline.data.text import read_pairs
from seqline.evaluation.significance import Array
from seqline.lab.corpora import write_tagged
from seqline.lab.estimates import SURE, Estimate, difference, share
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, Wanted, decide
from seqline.lab.laboratory import Lab
from seqline.labeller import Labeller

CORPUS = "dynamic-weights"
KEYS, VALUES, FILLERS, PLAIN = tuple("abcdefghij"), ("1", "2", "3", "4"), tuple("uvwxyz"), "-"
LEFT, OFFSET = "<2", 2
LENGTH, NUM_ENTRIES, NUM_LEFT = 30, 8, 3
COUNTS = {"train": 4_000, "valid": 60, "test": 400}
KERNEL, LAYERS = 5, 3
FIELD = LAYERS * (KERNEL - 1) // 2
"""So many places to each side a position of the convolution has read."""
DISTANCES = ((1, 3), (4, FIELD), (FIELD + 1, 12), (13, 20), (21, LENGTH))
ALLOWED, LEARNED = 0.02, 0.5
CHANCE = 1 / len(VALUES)
_COMMON = {"tokenizer.kind": "word", "model.size": "tiny", "model.dropout": 0.0, "training.batch_tokens": 700}
MODELS: dict[str, tuple[str, Mapping[str, object]]] = {
    "convolution": ("conv", {"model.embed_size": 64, "model.hidden_size": 64, "model.kernel_size": KERNEL,
                             "model.num_layers": LAYERS}),
    "attention": ("transformer", {"model.embed_size": 64, "model.inner_size": 128, "model.num_layers": 2}),
}  # fmt: skip

CLAIMS = (
    Claim(
        "far",
        "Self-attention joins any two positions in one step; a convolution does not join those beyond its field",
        "Vaswani et al. 2017 (1706.03762), section 4 and table 1",
    ),
    Claim(
        "content",
        "Also where both can see it, what stands at a varying distance is found better by weights that depend on the words",
        "Vaswani et al. 2017 (1706.03762), section 4; Wu et al. 2019 (1901.10430), section 1",
    ),
    Claim(
        "offset",
        "Where what is needed stands at a fixed offset, fixed weights do as well",
        "Gehring et al. 2017 (1705.03122), section 1; Wu et al. 2019 (1901.10430), sections 1 and 7",
    ),
)


class Question(NamedTuple):
    """One question. place: where it stands. entry: where its answer stands. is_by_key: else by offset."""

    place: int
    entry: int
    is_by_key: bool

    @property
    def distance(self) -> int:
        """How many places the answer is away."""
        return abs(self.place - self.entry)


def sentence(draws: random.Random) -> list[str]:
    """Return the words of one text: some entries with a question two places behind them, questions by key, and fillers."""
    words = [draws.choice(FILLERS) for _ in range(LENGTH)]
    keys = draws.sample(KEYS, NUM_ENTRIES)
    free = list(range(LENGTH))
    for key in keys[:NUM_LEFT]:
        place = draws.choice([p for p in free if p + OFFSET in free])
        words[place], words[place + OFFSET] = key + draws.choice(VALUES), LEFT
        free.remove(place)
        free.remove(place + OFFSET)
    draws.shuffle(free)
    for key in keys[NUM_LEFT:]:
        words[free.pop()] = key + draws.choice(VALUES)
    for key in keys:
        words[free.pop()] = f"{key}?"
    return words


def questions(words: Sequence[str]) -> list[Question]:
    """Return the questions of a text."""
    at = {word[0]: place for place, word in enumerate(words) if word[1:] in VALUES}
    found = []
    for place, word in enumerate(words):
        if word == LEFT:
            found.append(Question(place, place - OFFSET, is_by_key=False))
        elif word.endswith("?"):
            found.append(Question(place, at[word[0]], is_by_key=True))
    return found


def tags(words: Sequence[str]) -> list[str]:
    """Return the label of every word: the value asked for; what is no question is `PLAIN`."""
    found = [PLAIN] * len(words)
    for question in questions(words):
        found[question.place] = words[question.entry][1]
    return found


def make(folder: Path, _lab: Lab) -> None:
    """Write the corpus."""
    draws = random.Random(1)
    write_tagged(folder, COUNTS, lambda: ((words := sentence(draws)), tags(words)))


CORPORA = {CORPUS: make}


def wanted(name: str, seed: int) -> Wanted:
    """Return one model of one seed."""
    arch, own = MODELS[name]
    settings = {**_COMMON, **own, "training.learning_rate": 0.003}
    return Wanted(CORPUS, arch, "tagging", tuple(settings.items()), steps=1500, quick_steps=400, seed=seed)


def models(lab: Lab) -> tuple[Wanted, ...]:
    """Return all models."""
    return tuple(wanted(name, seed) for seed in lab.seed_numbers() for name in MODELS)


def statistics(texts: Sequence[str], found: Sequence[Sequence[str]]) -> Array:
    """Return what each text adds, [N 1 + ranges of distance 2]: right answers and all; by offset first, then by key."""
    counts = np.zeros((len(texts), 1 + len(DISTANCES), 2))
    for row, (text, answers) in enumerate(zip(texts, found, strict=True)):
        words = text.split()
        for each in questions(words):
            column = 1 + _range_of(each.distance) if each.is_by_key else 0
            counts[row, column] += (answers[each.place] == words[each.entry][1], 1)
    return counts


def _range_of(distance: int) -> int:
    return next(n for n, (low, high) in enumerate(DISTANCES) if low <= distance <= high)


def part(seeds: Sequence[Array], which: str) -> list[Array]:
    """Return hits and cases [N 2] by seed of the questions by "offset", or by key "inside" the field or "outside" of it."""
    inside = [1 + n for n, (_, high) in enumerate(DISTANCES) if high <= FIELD]
    columns = {"offset": [0], "inside": inside, "outside": [*range(1 + len(inside), 1 + len(DISTANCES))]}[which]
    return [seed[:, columns].sum(axis=1) for seed in seeds]


def verdicts(hits: Mapping[str, Sequence[Array]]) -> tuple[Verdict, ...]:
    """Decide the claims from the statistics of each model and seed."""

    def gain(which: str, mine: str, theirs: str) -> Estimate:
        return difference(part(hits[mine], which), part(hits[theirs], which))

    offset = _verdict("offset", gain("offset", "convolution", "attention"), -ALLOWED, "convolution minus attention",
                      f"to questions by an offset of {OFFSET}")  # fmt: skip
    learned = max(share(part(of, "offset")).value for of in hits.values())
    known = f"{offset.rule}; undecided where neither answers {100 * LEARNED:g} % of them"
    offset = offset._replace(rule=known, numbers={**offset.numbers, "answered": learned})
    return (
        _verdict("far", gain("outside", "attention", "convolution"), 0.0, "attention minus convolution",
                 f"to questions by key {FIELD + 1} and more places away"),
        _verdict("content", gain("inside", "attention", "convolution"), 0.0, "attention minus convolution",
                 f"to questions by key at most {FIELD} places away"),
        offset if learned >= LEARNED else offset._replace(state=decide(None)),
    )  # fmt: skip


def _verdict(claim: str, gain: Estimate, bound: float, what: str, which: str) -> Verdict:
    rule = (
        f"held where the share of right answers {which}, {what}, is above {100 * bound:g} %, not held where it is below; "
        f"by {SURE}"
    )
    said = f"{what}, right answers {which}: {gain.said()}"
    return Verdict(claim, decide(gain.is_above(bound)), rule, gain.numbers("gain"), said)


def measure(lab: Lab) -> Finding:
    """Label the test set by both models and decide."""
    texts = [pair.source for pair in read_pairs(str(lab.corpus(CORPUS) / "test.tsv")).pairs]
    hits: dict[str, list[Array]] = {name: [] for name in MODELS}
    for seed in lab.seed_numbers():
        for name in MODELS:
            lab.check_stop()
            hits[name].append(statistics(texts, Labeller.load(lab.run(wanted(name, seed))).tag(texts)))
    names = [f"offset {OFFSET}", *(f"{low}-{high}" for low, high in DISTANCES)]
    shares = {name: [share([seed[:, n] for seed in seeds]) for n in range(len(names))] for name, seeds in hits.items()}
    return Finding(
        (_table(names, shares),),
        (_plot(names, shares),),
        verdicts(hits),
        (f"Chance is {100 * CHANCE:g} %. {LAYERS} layers of width {KERNEL} have read {FIELD} places to each side.",),
        {"accuracy": {name: {n: each._asdict() for n, each in zip(names, of, strict=True)} for name, of in shares.items()}},
    )  # fmt: skip


def _table(names: Sequence[str], shares: Mapping[str, Sequence[Estimate]]) -> Table:
    rows = tuple((name, *(round(100 * of[n].value, 1) for of in shares.values())) for n, name in enumerate(names))
    columns = ("distance of the answer (words)", *(f"{name} (% right)" for name in shares))
    return Table("Right answers by distance", columns, rows)


def _plot(names: Sequence[str], shares: Mapping[str, Sequence[Estimate]]) -> Picture:
    series = [
        Series(name, style, [(float(n), 100 * each.value) for n, each in enumerate(of)])
        for style, (name, of) in enumerate(shares.items())
    ]
    series.append(Series("chance", 2, [(0.0, 100 * CHANCE), (float(len(names) - 1), 100 * CHANCE)]))
    title = f"Right answers by distance; the convolution has read {FIELD} places to each side"
    x = Axis("fixed offset, then distance of the key (words)", names)
    return Picture("by-distance", lines(title, x, Axis("right answers (%)"), series), title)


EXPERIMENT = Experiment(
    name="dynamic-weights",
    title="Weights that depend on the words",
    question="Does it matter that attention computes its weights from the words, where a convolution has them fixed?",
    claims=CLAIMS,
    models=models,
    measure=measure,
)
