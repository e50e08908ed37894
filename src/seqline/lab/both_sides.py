"""both-sides: what a label needs that stands left of it, right of it, or on both sides.

Every word is a letter, a filler or a question, and a question's label is

    left?   the nearest letter to the left
    right?  the nearest letter to the right
    both?   "same" where these two are one letter, else "other"

A network of one direction has not read the right side. One layer in both directions has read all, but its features are the two
readings side by side, and a label by W [h; h'] + b adds what each of them says:

    score(same) - score(other) = f(left) + g(right),   which is right for at most 3 of the 4 pairs of two letters

So "both?" tells a shallow concatenation of two directions from layers that read both at once: a second layer, self-attention.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from seqline.comparing.plots import Axis, Series, lines
from seqline.data.text import read_pairs
from seqline.evaluation.significance import Array
from seqline.lab.corpora import write_tagged
from seqline.lab.estimates import SURE, Estimate, difference, share
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, Wanted, all_of, decide
from seqline.lab.laboratory import Lab
from seqline.labeller import Labeller

CORPUS = "both-sides"
LETTERS, FILLERS, PLAIN = ("a", "b"), tuple("vwxyz"), "-"
FAMILIES = ("left?", "right?", "both?")
COUNTS = {"train": 3_000, "valid": 100, "test": 400}
SHORTEST, LONGEST = 8, 16
ALLOWED = 0.02
CEILING = 0.75
_COMMON = {"tokenizer.kind": "word", "model.size": "tiny", "model.dropout": 0.0, "training.batch_tokens": 500}
_RNN = {"model.embed_size": 32, "model.hidden_size": 48}
_ATTENTION = {"model.embed_size": 48, "model.inner_size": 96, "training.learning_rate": 0.003}
MODELS: dict[str, tuple[str, Mapping[str, object]]] = {
    "one direction": ("lstm", _RNN),
    "both, one layer": ("bilstm", {**_RNN, "model.num_layers": 1}),
    "both, two layers": ("bilstm", {**_RNN, "model.num_layers": 2}),
    "self-attention": ("transformer", _ATTENTION),
}

CLAIMS = (
    Claim(
        "right",
        "A network that reads both ways labels by what is still to come, which one direction cannot know",
        "Schuster & Paliwal 1997, Bidirectional recurrent neural networks, section I",
    ),
    Claim(
        "better",
        "An LSTM in both directions is right more often than one in a single direction, and loses nothing where one "
        "direction suffices",
        "Graves & Schmidhuber 2005, Framewise phoneme classification with bidirectional LSTM, section 5",
    ),
    Claim(
        "shallow",
        "Two directions put side by side are weaker than layers in which every position reads both sides at once",
        "Devlin et al. 2019 (1810.04805), section 1 and section 5.1",
    ),
    Claim(
        "attention",
        "Self-attention reads both sides at once",
        "Devlin et al. 2019 (1810.04805), section 1; Vaswani et al. 2017 (1706.03762), section 3.2.3",
    ),
)


def sentence(draws: random.Random) -> list[str]:
    """Return the words of one text: letters at both ends, between them letters, fillers and questions."""
    inner = [draws.choice((*FAMILIES, *FAMILIES, *LETTERS, draws.choice(FILLERS)))
             for _ in range(draws.randint(SHORTEST, LONGEST) - 2)]  # fmt: skip
    return [draws.choice(LETTERS), *inner, draws.choice(LETTERS)]


def tags(words: Sequence[str]) -> list[str]:
    """Return the label of every word; what is no question is `PLAIN`."""
    found = []
    for place, word in enumerate(words):
        if word not in FAMILIES:
            found.append(PLAIN)
            continue
        left = next(each for each in reversed(words[:place]) if each in LETTERS)
        right = next(each for each in words[place:] if each in LETTERS)
        both = "same" if left == right else "other"
        found.append({"left?": left, "right?": right, "both?": both}[word])
    return found


def make(folder: Path, _lab: Lab) -> None:
    """Write the corpus."""
    draws = random.Random(1)
    write_tagged(folder, COUNTS, lambda: ((words := sentence(draws)), tags(words)))


CORPORA = {CORPUS: make}


def wanted(name: str, seed: int) -> Wanted:
    """Return one model of one seed."""
    arch, own = MODELS[name]
    return Wanted(CORPUS, arch, "tagging", tuple({**_COMMON, **own}.items()), steps=1000, quick_steps=400, seed=seed)


def models(lab: Lab) -> tuple[Wanted, ...]:
    """Return all models."""
    return tuple(wanted(name, seed) for seed in lab.seed_numbers() for name in MODELS)


def statistics(texts: Sequence[str], expected: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> Array:
    """Return what each text adds, [N families 2]: questions answered right, and all of a family."""
    counts = np.zeros((len(texts), len(FAMILIES), 2))
    for row, (text, true, said) in enumerate(zip(texts, expected, found, strict=True)):
        for word, label, answer in zip(text.split(), true, said, strict=True):
            if word in FAMILIES:
                counts[row, FAMILIES.index(word)] += (label == answer, 1)
    return counts


def of_families(seeds: Sequence[Array], *families: str) -> list[Array]:
    """Return hits and cases [N 2] of some families together, of each seed."""
    return [seed[:, [FAMILIES.index(family) for family in families]].sum(axis=1) for seed in seeds]


def verdicts(hits: Mapping[str, Sequence[Array]]) -> tuple[Verdict, ...]:
    """Decide the claims from the statistics of each model and seed."""

    def gain(mine: str, theirs: str, *families: str) -> Estimate:
        return difference(of_families(hits[mine], *families), of_families(hits[theirs], *families))

    one, shallow, deep, attention = MODELS
    return (
        _verdict("right", gain(shallow, one, "right?"), "right?", shallow, one),
        _better(gain(shallow, one, *FAMILIES), gain(shallow, one, "left?")),
        _verdict("shallow", gain(deep, shallow, "both?"), "both?", deep, shallow),
        _verdict("attention", gain(attention, shallow, "both?"), "both?", attention, shallow),
    )


def _verdict(claim: str, gain: Estimate, family: str, mine: str, theirs: str) -> Verdict:
    rule = (
        f"held where the share of right answers to “{family}” of “{mine}” minus that of “{theirs}” is above 0, "
        f"not held where it is below; by {SURE}"
    )
    said = f"{mine} minus {theirs}, on “{family}”: {gain.said()}"
    return Verdict(claim, decide(gain.is_above(0.0)), rule, gain.numbers("gain"), said)


def _better(gain: Estimate, left: Estimate) -> Verdict:
    rule = (
        "held where the share of right answers to all questions of one layer in both directions minus that of one direction "
        f"is above 0, and on “left?” above {-100 * ALLOWED:g} %; not held where one of the two is below; by {SURE}"
    )
    is_held = all_of((gain.is_above(0.0), left.is_above(-ALLOWED)))
    numbers = {**gain.numbers("gain"), **left.numbers("gain_left")}
    said = f"both directions minus one, on all questions: {gain.said()}, on “left?”: {left.said()}"
    return Verdict("better", decide(is_held), rule, numbers, said)


def measure(lab: Lab) -> Finding:
    """Label the test set by all models and decide."""
    pairs = read_pairs(str(lab.corpus(CORPUS) / "test.tsv")).pairs
    texts, expected = [pair.source for pair in pairs], [pair.target.split() for pair in pairs]
    hits: dict[str, list[Array]] = {name: [] for name in MODELS}
    for seed in lab.seed_numbers():
        for name in MODELS:
            lab.check_stop()
            labeller = Labeller.load(lab.run(wanted(name, seed)))
            hits[name].append(statistics(texts, expected, labeller.tag(texts)))
    shares = {name: {family: share(of_families(hits[name], family)) for family in FAMILIES} for name in MODELS}
    return Finding(
        (_table(shares),),
        (_plot(shares),),
        verdicts(hits),
        (
            f"Chance is 50 %. One layer in both directions cannot answer “both?” better than {100 * CEILING:g} % where the "
            "four pairs of letters are equally frequent: its label adds what each side says.",
        ),
        {"accuracy": {name: {f: each._asdict() for f, each in of.items()} for name, of in shares.items()}},
    )


def _table(shares: Mapping[str, Mapping[str, Estimate]]) -> Table:
    rows = tuple((name, *(round(100 * of[family].value, 1) for family in FAMILIES)) for name, of in shares.items())
    return Table("Right answers by what a label needs (%)", ("model", *FAMILIES), rows)


def _plot(shares: Mapping[str, Mapping[str, Estimate]]) -> Picture:
    series = [
        Series(name, style, [(float(n), 100 * of[family].value) for n, family in enumerate(FAMILIES)])
        for style, (name, of) in enumerate(shares.items())
    ]
    title = "Right answers by what a label needs"
    x = Axis("the label needs what stands on the ...", [family.rstrip("?") for family in FAMILIES])
    return Picture("by-side", lines(title, x, Axis("right answers (%)"), series), title)


EXPERIMENT = Experiment(
    name="both-sides",
    title="Both sides",
    question="What can a label know that depends on words to its left, to its right, or on both?",
    claims=CLAIMS,
    models=models,
    measure=measure,
)
