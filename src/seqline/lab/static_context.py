"""static-context: does the source fade while the decoder writes?

The same cell and size, four ways to the source: never fed (it is the first state, once), its last state at every step, the mean
of its states at every step, attention. Each decoder is led along the true targets (teacher forcing), and asked three things at
every step n:

    swapped     KL(p_n | source  ||  p_n | another source, from the first step on)     what the source matters at all
    re-read     KL(p_n | source  ||  p_n | another source read at step n alone)        what is read now, not remembered
    gradient    |d log p_n(y_n) / d (outputs and last state of the encoder)|           how far a small change gets

And once the decoder writes by itself:

    exchanged   its source is that of another sentence from step n on: of the words that only one of the two sources calls for
                (they stand in the model's own translation of one and not of the other), how many belong to the first?

A source that fades is one whose swapped KL falls with n. What is to be said next may simply need the source less near the end of
a sentence; so a model is compared with attention on the same sentences, which can look again at any time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from seqline.comparing.plots import Axis, Series, lines
from seqline.errors import UserError
from seqline.evaluation.significance import Array, mean_value
from seqline.lab import pair
from seqline.lab.estimates import SURE, difference, share
from seqline.lab.exchanged import STEPS_OF_EXCHANGE, followed, gradient, reread, swapped
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, Wanted, all_of, decide
from seqline.lab.forced import batch_of
from seqline.lab.held_out import read_test
from seqline.lab.laboratory import Lab
from seqline.lab.slopes import slope
from seqline.translator import Translator

MODELS: dict[str, pair.PairModel] = {
    "never fed": pair.encoder_decoder,
    "last state, every step": pair.contextual_final,
    "mean of the states, every step": pair.contextual_mean,
    "attention": pair.attention,
}
STEPS, SENTENCES, QUICK_SENTENCES, FOR_GRADIENTS = 12, 200, 100, 32
CLEARLY, HALF = 2.0, 0.5
CLAIMS = (
    Claim(
        "once",
        "A source that is given once, as the first state, is remembered less and less while the decoder writes.",
        "Bahdanau et al. 2015 (1409.0473), section 1, on a vector of fixed length; Cho et al. 2014b (1409.1259)",
    ),
    Claim(
        "fed",
        "Giving the summary to the decoder at every step keeps the source in sight.",
        "Cho et al. 2014 (1406.1078), section 2.2, equation 3: h_n = f(h_{n-1}, y_{n-1}, c)",
    ),
    Claim(
        "rereads",
        "Attention reads the source anew at every step; what a static context adds after the first step is little beside it.",
        "Bahdanau et al. 2015 (1409.0473), section 3.1: a distinct context vector for each target word",
    ),
    Claim(
        "follows",
        "A decoder whose source is exchanged while it writes goes on with the first one where it is given a summary, and turns "
        "to the new one where it reads by attention.",
        "Cho et al. 2014 (1406.1078), section 2.2, and Bahdanau et al. 2015 (1409.0473), section 3.1: what each decoder reads",
        is_seen=True,
    ),
)
MATTERS = 0.1
SLOPE_RULE = (
    "s is the slope of log swapped KL over steps 1 to {n}; held where s({a}) - s({b}) lies {side} 0, not held on the other side, "
    f"by {SURE}; undecided else, and where another source changes the first word of one of the two by less than {MATTERS:g} nats"
)


def models(lab: Lab) -> tuple[Wanted, ...]:
    """Return the four, for every seed."""
    return tuple(make(lab, seed) for make in MODELS.values() for seed in lab.seed_numbers())


def by_steps(values: Array) -> Array:
    """Return what each sentence adds, [N T] with nan -> [N 2T]: its values, then 1 where it has one."""
    return np.concatenate([np.nan_to_num(values), np.isfinite(values)], axis=-1)


def fading(sums: Array) -> Array:
    """Return the slope of the logarithm of the mean by step, [... 2T] -> [...]: under 0 = it fades."""
    steps = sums.shape[-1] // 2
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.log(sums[..., :steps] / sums[..., steps:])
    places = np.arange(steps, dtype=np.float64)
    return np.apply_along_axis(lambda row: slope(places, row), -1, means)


def compare_slopes(
    claim: str, mine: Sequence[Array], theirs: Sequence[Array], names: tuple[str, str], *, wants_less: bool
) -> Verdict:
    """Decide whether one source fades faster (or slower) than another, over the same sentences.

    Args:
        claim: its key.
        mine, theirs: swapped KL [N T] of each seed.
        names: of the two.
        wants_less: the claim says that `mine` falls faster.
    """
    ours, others = ([by_steps(seed) for seed in each] for each in (mine, theirs))
    found = difference(ours, others, fading)
    least = min(float(np.nanmean(seed[:, 0])) for seed in (*mine, *theirs))
    above = found.is_above(0.0) if least >= MATTERS else None
    rule = SLOPE_RULE.format(n=mine[0].shape[1], a=names[0], b=names[1], side="below" if wants_less else "above")
    slopes = {f"s({name})": share(each, fading).value for name, each in zip(names, (ours, others), strict=True)}
    said = (
        "The logarithm of the source's influence changes a step by "
        + " and by ".join(f"{value:.3f} with {name[2:-1]}" for name, value in slopes.items())
        + f"; the difference is {found.said('', 3)}."
    )
    numbers = {**slopes, **found.numbers("difference"), "least KL of the first word": least}
    return Verdict(claim, decide(None if above is None else above is not wants_less), rule, numbers, said)


def reread_verdict(static: Mapping[str, Sequence[Array]], attention: Sequence[Array]) -> Verdict:
    """Decide whether reading anew matters most with attention: KL of an exchange at one step, from the second step on."""

    def sums(seeds: Sequence[Array]) -> list[Array]:
        of_each = [by_steps(seed[:, 1:]) for seed in seeds]
        return [np.stack(np.split(each, 2, axis=-1)).sum(axis=-1).T for each in of_each]

    strongest = max(static, key=lambda name: share(sums(static[name])).value)
    both = [
        np.concatenate([mine, theirs], axis=-1)
        for mine, theirs in zip(sums(attention), sums(static[strongest]), strict=True)
    ]
    found = share(both, lambda s: mean_value(s[..., :2]) / np.maximum(mean_value(s[..., 2:]), 1e-12))
    rule = (
        "r is the KL that an exchange of the source at one step makes with attention, over that of the static context where it "
        f"makes most, mean of steps 2 on; held where r lies above {CLEARLY:g}, not held where below, by {SURE}; undecided else"
    )
    numbers = {**found.numbers("r"), "strongest static": strongest}
    said = f"With attention it makes {found.said('times')} what it makes with '{strongest}'."
    return Verdict("rereads", decide(found.is_above(CLEARLY)), rule, numbers, said)


def follows_verdict(static: Sequence[Array], attention: Sequence[Array], name: str) -> Verdict:
    """Decide who goes on with the first source; words of the first and of both [N 2] of each seed, all exchanges together."""
    parts = share(static), share(attention)
    is_held = all_of((parts[0].is_above(HALF), parts[1].is_below(HALF)))
    rule = (
        "f is the share of the words that only one of the two sources calls for which belong to the first, after exchanges at "
        f"step {', '.join(map(str, STEPS_OF_EXCHANGE))} together; held where f({name}) lies above {100 * HALF:g} % and "
        f"f(attention) below, not held where one lies on the other side, by {SURE}; undecided else"
    )
    numbers = {**parts[0].numbers(f"f({name})"), **parts[1].numbers("f(attention)")}
    said = f"f({name}) is {parts[0].said()}, f(attention) {parts[1].said()}."
    return Verdict("follows", decide(is_held), rule, numbers, said)


def measure(lab: Lab) -> Finding:
    """Lead all models along the same test sentences, then let them write."""
    pairs = read_test(lab, "pair", at_least=STEPS - 1, at_most=40)[: lab.pick(SENTENCES, QUICK_SENTENCES)]
    target = Translator.load(lab.run(models(lab)[0])).tokenizers.target
    pairs = [pair for pair in pairs if len(target.encode(pair[1])) >= STEPS - 1]  # where characters were counted
    if len(pairs) < 2:
        what = f"fewer than two test sentences of {STEPS - 1} to 40 target words and as many pieces"
        raise UserError(what, where="--data", fix="add some")
    seeds = lab.seed_numbers()
    led: dict[str, dict[str, list[Array]]] = {"swapped": {}, "re-read": {}, "gradient": {}}
    exchanges: dict[str, list[Array]] = {}
    for name, make in MODELS.items():
        runs = [_measure_one(lab.run(make(lab, seed)), pairs) for seed in seeds]
        for what, per_seed in zip(led, zip(*(run[:3] for run in runs), strict=True), strict=True):
            led[what][name] = list(per_seed)
        exchanges[name] = [run[3] for run in runs]
        lab.check_stop()
    kls, again, names = led["swapped"], led["re-read"], list(MODELS)
    together = {name: [each.sum(axis=0) for each in of] for name, of in exchanges.items()}
    verdicts = (
        compare_slopes("once", kls[names[0]], kls["attention"], (names[0], "attention"), wants_less=True),
        compare_slopes("fed", kls[names[1]], kls[names[0]], (names[1], names[0]), wants_less=False),
        reread_verdict({name: again[name] for name in names[:3]}, again["attention"]),
        follows_verdict(together[names[1]], together["attention"], names[1]),
    )
    means = {
        what: {name: np.nanmean(np.mean(each, axis=0), axis=0).tolist() for name, each in of.items()}
        for what, of in led.items()
    }
    first = {
        name: [share([seed[n] for seed in of]).value for n in range(len(STEPS_OF_EXCHANGE))]
        for name, of in exchanges.items()
    }
    note = (
        f"{len(pairs)} test sentences with {STEPS - 1} target words (characters of a script without spaces) or more, the same "
        "for all, each with the source of another one of them "
        f"(gradients: the first {min(FOR_GRADIENTS, len(pairs))}); mean over {lab.seeds_said()}. A decoder "
        "that was never fed cannot re-read and goes on with the first source: its rows of 0 and of 100 % are so by construction."
    )
    return Finding(
        (*_tables(means), _exchange_table(first), pair.learned(lab, MODELS)),
        _pictures(means), verdicts, (note,), {**means, "first": first},
    )  # fmt: skip


def _exchange_table(first: Mapping[str, Sequence[float]]) -> Table:
    columns = ("model", *(f"exchanged at step {n}" for n in STEPS_OF_EXCHANGE))
    rows = tuple((name, *(100 * value for value in values)) for name, values in first.items())
    return Table("Words written after the exchange that belong to the first source (%)", columns, rows)


def _measure_one(run: Any, pairs: Sequence[tuple[str, str]]) -> tuple[Array, Array, Array, Array]:
    translator = Translator.load(run)
    model = translator.members.sides[0].model
    with torch.inference_mode():
        batch = batch_of(translator, pairs)
    few = batch_of(translator, pairs[:FOR_GRADIENTS])
    led = swapped(model, batch)[:, :STEPS], reread(model, batch, STEPS), gradient(model, few, STEPS)
    return *led, followed(model, batch.encoded)


_TITLES = {
    "swapped": ("Another source from the first step on", "KL, nats"),
    "re-read": ("Another source at one step", "KL, nats"),
    "gradient": ("Gradient of the next word's log-probability by the encoder's outputs and last state", "norm"),
}


def _tables(means: Mapping[str, Mapping[str, Sequence[float]]]) -> tuple[Table, ...]:
    columns = ("model", *(f"step {n}" for n in range(1, STEPS + 1)))
    return tuple(
        Table(
            f"{_TITLES[what][0]} ({_TITLES[what][1]})", columns, tuple((name, *values) for name, values in of.items())
        )
        for what, of in means.items()
    )


def _pictures(means: Mapping[str, Mapping[str, Sequence[float]]]) -> tuple[Picture, ...]:
    pictures = []
    for what, of in means.items():
        title, unit = _TITLES[what]
        drawn = [
            Series(name, style, [(float(n), value) for n, value in enumerate(values, 1)])
            for style, (name, values) in enumerate(of.items())
        ]
        svg = lines(title, Axis("decoder step"), Axis(unit), drawn)
        pictures.append(Picture(what.replace("-", ""), svg, f"{title}, by decoder step."))
    return tuple(pictures)


EXPERIMENT = Experiment(
    name="static-context",
    title="A static context",
    question="Does the source fade while the decoder writes, and does feeding it at every step help?",
    claims=CLAIMS,
    models=models,
    learners=("encoder-decoder", "contextual", "luong"),
    measure=measure,
)
