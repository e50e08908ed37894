"""weight-sharing: what is gained where every step has the same weights?

Three networks read the sentences of `lab.years` and say which year stands in them: one cell for all steps, the same wide enough
to have as many weights as its rival, and the rival: a cell of its own for every step. All make the same updates on the same few
sentences. They are then asked about sentences like those learned, about years at places where those never stood, and about
longer sentences: there a network without sharing has cells for the further steps too, but none of them has learned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from seqline.comparing.plots import Axis, Series, lines
from seqline.evaluation.significance import Array, mean_statistics
from seqline.lab.estimates import SURE, Estimate, difference, share
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, all_of, decide
from seqline.lab.laboratory import Lab
from seqline.lab.years import LONGER, LONGEST, SHORTEST, YEARS, Sets, YearReader, hits, learn, make_sets, tied, untied

HIDDEN, WIDE = 32, 129
"""129: so many that one cell has about the weights of twelve cells of 32."""
NETWORKS: dict[str, Callable[[], YearReader]] = {
    "tied": lambda: tied(HIDDEN),
    "tied, as many weights": lambda: tied(WIDE),
    "a cell a step": lambda: untied(HIDDEN, LONGER),
}
SHARING, RIVAL = ("tied", "tied, as many weights"), "a cell a step"
SENTENCES, TESTED = 400, 400
STEPS, QUICK_STEPS = 600, 400
LEARNED = 0.9
BOOK = "Goodfellow, Bengio & Courville 2016, Deep Learning, section 10"
CLAIMS = (
    Claim(
        "parameters",
        "With one set of weights for all steps the number of parameters does not depend on the length of the sequence.",
        f"{BOOK}.1; Elman 1990, Finding structure in time",
    ),
    Claim(
        "gap",
        "Sharing weights between steps narrows the gap between training and test.",
        f"{BOOK}.1: a single shared model needs far fewer training examples",
    ),
    Claim(
        "places",
        "A network that shares weights recognizes at one place what it learned at another; one with weights for each step must "
        "learn it anew at every place.",
        f"{BOOK}: the year in “I went to Nepal in 2009” and “In 2009, I went to Nepal”",
    ),
    Claim(
        "lengths",
        "Separate weights for each step do not generalize to lengths that were not seen in training; shared ones do.",
        f"{BOOK}, second paragraph",
    ),
)
TESTS = {"learned": "train", "test, alike": "alike", "test, a year at a new place": "places", "test, longer": "longer"}
"""What tables call them: field of `Sets`."""

Answers = Mapping[str, Mapping[str, Sequence[Array]]]
"""Network -> field of `Sets` -> of each seed [N], 1 where the year is right."""


def rule(of: str) -> str:
    """Return the rule that decides for a number."""
    return (
        f"d is {of}; held where d is above 0 against both tied networks, not held where it is below 0 against one of them, "
        f"by {SURE}; undecided else, and where a network has not learned {100 * LEARNED:g} % of its own training sentences"
    )


def gap(answers: Answers, network: str) -> list[Array]:
    """Return of each seed what each sentence adds to the gap [N 4]: hits and cases in training, hits and cases in the test."""
    found = []
    for trained, tested in zip(answers[network]["train"], answers[network]["alike"], strict=True):
        rows = np.zeros((len(trained) + len(tested), 4))
        rows[: len(trained), :2], rows[len(trained) :, 2:] = mean_statistics(trained), mean_statistics(tested)
        found.append(rows)
    return found


def gap_value(sums: Array) -> Array:
    """Return accuracy in training minus accuracy in the test; sums [... 4]."""
    counts = np.maximum(sums[..., 1::2], 1.0)
    return (sums[..., 0::2] / counts) @ np.array([1.0, -1.0])


def accuracy(answers: Answers, network: str, test: str) -> list[Array]:
    """Return hits and cases [N 2] of each seed."""
    return [mean_statistics(each) for each in answers[network][test]]


def verdicts(answers: Answers, counts: Mapping[str, tuple[int, int]]) -> tuple[Verdict, ...]:
    """Decide the claims.

    Args:
        answers: which years were right.
        counts: parameters of each network, made for the lengths that are learned, and for the longer ones.
    """
    rival = gap(answers, RIVAL)
    gaps = {name: difference(rival, gap(answers, name), gap_value) for name in SHARING}
    gains = {
        test: {name: difference(accuracy(answers, name, test), accuracy(answers, RIVAL, test)) for name in SHARING}
        for test in ("places", "longer")
    }
    least = min(float(np.mean(each)) for name in NETWORKS for each in answers[name]["train"])
    of_gap = f"the accuracy in training minus that in the test, of “{RIVAL}” minus the same of a tied network"
    of_gain = f"the accuracy of a tied network on {{}} minus that of “{RIVAL}”"
    return (
        _counted(counts),
        _verdict("gap", of_gap, gaps, least),
        _verdict("places", of_gain.format("years at places where they never stood"), gains["places"], least),
        _verdict("lengths", of_gain.format(f"sentences of {LONGEST + 1} to {LONGER} words"), gains["longer"], least),
    )


def _counted(counts: Mapping[str, tuple[int, int]]) -> Verdict:
    (small, same), (few, many) = counts["tied"], counts[RIVAL]
    numbers = {
        f"tied_{LONGEST}": small,
        f"tied_{LONGER}": same,
        f"cell_a_step_{LONGEST}": few,
        f"cell_a_step_{LONGER}": many,
    }
    said = (
        f"For {LONGEST} and {LONGER} steps: tied {small:,} and {same:,} parameters, a cell a step {few:,} and {many:,}."
    )
    told = "held where the parameters of the tied network are as many for both lengths and those of the other are not"
    return Verdict("parameters", decide(small == same and few < many), told, numbers, said)


def _verdict(claim: str, of: str, found: Mapping[str, Estimate], least: float) -> Verdict:
    is_held = all_of([each.is_above(0.0) for each in found.values()]) if least >= LEARNED else None
    numbers: dict[str, float | int | str | None] = {"least_learned": least}
    for name, each in found.items():
        numbers |= each.numbers("d" if name == "tied" else "d_as_many")
    said = "; ".join(f"against “{name}” d is {each.said()}" for name, each in found.items())
    return Verdict(claim, decide(is_held), rule(of), numbers, f"{said}.")


def measure(lab: Lab) -> Finding:
    """Train the three, and ask them."""
    sets = make_sets(SENTENCES, TESTED, seed=1)
    answers = ask(lab, sets)
    counts = {name: count(name) for name in NETWORKS}
    shares = {name: {test: share(accuracy(answers, name, test)) for test in TESTS.values()} for name in NETWORKS}
    gaps = {name: share(gap(answers, name), gap_value) for name in NETWORKS}
    rows = tuple(
        (name, *(round(100 * shares[name][test].value, 1) for test in TESTS.values()), round(100 * gaps[name].value, 1))
        for name in NETWORKS
    )
    sizes = tuple((name, *counts[name]) for name in NETWORKS)
    notes = (
        f"{SENTENCES} sentences of {SHORTEST} to {LONGEST} words to learn from, {TESTED} in each test; GRU cells, "
        f"{lab.pick(STEPS, QUICK_STEPS)} updates each, {lab.seeds_said()} together. "
        f"Chance is {100 / len(YEARS):g} %.",
        f"The example: “{' '.join(sets.train[0].words)}” is {YEARS[sets.train[0].year]}.",
    )
    return Finding(
        (
            Table("Right years (%)", ("network", *TESTS, "gap, learned less alike"), rows),
            Table("Parameters", ("network", f"for {LONGEST} steps", f"for {LONGER} steps"), sizes),
        ),
        (_by_length(answers, sets),),
        verdicts(answers, counts),
        notes,
        {"accuracy": {name: {test: each._asdict() for test, each in of.items()} for name, of in shares.items()},
         "gap": {name: each._asdict() for name, each in gaps.items()}, "parameters": counts},
    )  # fmt: skip


def ask(lab: Lab, sets: Sets) -> dict[str, dict[str, list[Array]]]:
    """Train every network with every seed and return what it gets right."""
    answers: dict[str, dict[str, list[Array]]] = {name: {test: [] for test in TESTS.values()} for name in NETWORKS}
    for name, make in NETWORKS.items():
        for seed in lab.seed_numbers():
            lab.check_stop()
            model = learn(make, sets.train, lab.pick(STEPS, QUICK_STEPS), seed, lab.should_stop)
            lab.check_stop()
            for test in TESTS.values():
                answers[name][test].append(np.asarray(hits(model, getattr(sets, test)), np.float64))
    return answers


def count(network: str) -> tuple[int, int]:
    """Return the parameters of a network made for the lengths that are learned, and of one for the longer ones."""
    both = (untied(HIDDEN, LONGEST), untied(HIDDEN, LONGER)) if network == RIVAL else (NETWORKS[network](),) * 2
    short, long = (sum(weight.numel() for weight in model.parameters()) for model in both)
    return short, long


def _by_length(answers: Answers, sets: Sets) -> Picture:
    tests = ("alike", "longer")
    lengths = np.array([len(each.words) for test in tests for each in getattr(sets, test)])
    series = []
    for style, name in enumerate(NETWORKS):
        right = np.concatenate([np.mean(answers[name][test], axis=0) for test in tests])
        points = [(float(n), 100 * float(right[lengths == n].mean())) for n in np.unique(lengths)]
        series.append(Series(name, style, points))
    title = f"Right years by length; nothing longer than {LONGEST} words was learned"
    return Picture("by-length", lines(title, Axis("words in the sentence"), Axis("right years (%)"), series), title)


EXPERIMENT = Experiment(
    name="weight-sharing",
    title="The same weights at every step",
    question="What does a network lose that has weights of its own for every step?",
    claims=CLAIMS,
    measure=measure,
)
