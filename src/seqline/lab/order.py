"""order: does attention put words into another order than the source's?

French puts most adjectives behind their noun and English before it; Chinese puts a whole relative clause before the noun and
English behind it. The gold links of the toy pairs say of every two neighbours in the reference whether their source words stand
in the same order (in place), or how far the reading has to jump back. A pair of neighbours counts as right where the free,
greedy translation has the two words side by side:

    jump(j) = min sources of word j - max sources of word j + 1        where all sources of j + 1 stand before those of j
    accuracy(jump) = pairs of neighbours with that jump that the translation has / all with that jump in the references
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqline.comparing.plots import Axis, Series, lines
from seqline.data.toy import make_corpus, write_corpus
from seqline.data.toy.lexicon import ADJECTIVE, NOUN
from seqline.evaluation.alignment_metrics import GoldLinks, Link
from seqline.evaluation.significance import Array, mean_value
from seqline.lab.drawn_attention import draw, missing_note
from seqline.lab.estimates import SURE, Estimate, difference, share
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, Wanted, decide
from seqline.lab.gold import GoldSplit, read_gold
from seqline.lab.laboratory import Lab
from seqline.lab.pair import attention, encoder_decoder, transformer
from seqline.translator import Translator

CLAUSES, NUM_CLAUSE_PAIRS = "clauses", 12_000
NAMES = ("encoder-decoder", "attention", "transformer")
CLASSES = ("in place", "back 1", "back 2", "back 3-4", "back 5+")
PLACED, SWAPPED = "adjective in place", "adjective swapped"
"""Of an adjective and its noun: petite voiture, little car, and voiture rouge, red car; these are the same kinds of words."""
COLUMNS = (*CLASSES, PLACED, SWAPPED)
FAR = ("back 2", "back 3-4", "back 5+")
ALLOWED, LEARNED = 0.05, 0.3
LEAST_RIGHT = 0.5
SENTENCE = "la chanteuse gentille a une voiture rouge"

CLAIMS = (
    Claim(
        "swap",
        "Soft alignment lets a decoder write adjectives and nouns in another order than the source has them, which one "
        "summary of the source makes harder",
        "Bahdanau, Cho & Bengio 2015 (1409.0473), section 5.2.1",
        is_seen=True,
    ),
    Claim(
        "no-loss",
        "With attention a swapped adjective and noun come out as well as those that stand in the order of the source",
        "Bahdanau, Cho & Bengio 2015 (1409.0473), section 5.2.1: adjectives and nouns are ordered differently, and the "
        "model aligns them correctly",
        is_seen=True,
    ),
    Claim(
        "looks",
        "At a swap the largest weight lies on the right source word",
        "Bahdanau, Cho & Bengio 2015 (1409.0473), section 5.2.1 and figure 3",
    ),
    Claim(
        "clause",
        "Attention also reaches back over whole clauses: far jumps gain from it at least as much as words in place",
        "Bahdanau, Cho & Bengio 2015 (1409.0473), section 5.2.2 (long sentences need no perfect summary)",
    ),
)


class Neighbours(NamedTuple):
    """Two words side by side in a reference. target: the place of the first. kind: one of `CLASSES`."""

    target: int
    kind: str


def neighbours(num_words: int, gold: GoldLinks) -> Iterator[Neighbours]:
    """Yield the neighbours of a reference whose order in the source is clear.

    Args:
        num_words: of the reference.
        gold: its links.
    """
    sources: list[list[int]] = [[] for _ in range(num_words)]
    for i, j in gold.sure:
        sources[j].append(i)
    for j in range(num_words - 1):
        mine, following = sources[j], sources[j + 1]
        if not mine or not following:
            continue
        if min(following) > max(mine):
            yield Neighbours(j, "in place")
        elif max(following) < min(mine):
            yield Neighbours(j, _kind(min(mine) - max(following)))


def _kind(jump: int) -> str:
    return "back 5+" if jump >= 5 else "back 3-4" if jump >= 3 else f"back {jump}"


def statistics(split: GoldSplit, outputs: Sequence[str]) -> Array:
    """Return what each sentence adds, [N columns 2]: neighbours that its translation has, and all of the reference."""
    counts = np.zeros((len(outputs), len(COLUMNS), 2))
    for row, ((_, target), gold, output) in enumerate(zip(split.pairs, split.links, outputs, strict=True)):
        words, written = target.split(), output.split()
        left = Counter(pairwise(written))
        for each in neighbours(len(words), gold):
            two = (words[each.target], words[each.target + 1])
            counts[row, [COLUMNS.index(name) for name in _columns(each, two)]] += (left[two] > 0, 1)
            left[two] -= 1  # a repeated pair counts as often as it was written
    return counts


def _columns(each: Neighbours, words: tuple[str, str]) -> list[str]:
    """Return where neighbours are counted."""
    is_adjective = words[0] in _adjectives() and words[1] in _nouns()
    own = {"in place": PLACED, "back 1": SWAPPED}.get(each.kind) if is_adjective else None
    return [each.kind, own] if own else [each.kind]


@cache
def _adjectives() -> frozenset[str]:
    return frozenset(adjective.english for adjective in ADJECTIVE.values())


@cache
def _nouns() -> frozenset[str]:
    return frozenset(form for noun in NOUN.values() for form in noun.english)


def looks(split: GoldSplit, found: Sequence[Sequence[Link]]) -> Array:
    """Return of each sentence, [N 2]: words of swapped neighbours whose found link is a gold one, and all such words."""
    counts = np.zeros((len(found), 2))
    for row, ((_, target), gold, links) in enumerate(zip(split.pairs, split.links, found, strict=True)):
        wanted = {j for each in neighbours(len(target.split()), gold) if each.kind == "back 1"
                  for j in (each.target, each.target + 1)}  # fmt: skip
        right = {j for i, j in links if (i, j) in gold.sure}
        counts[row] = len(wanted & right), len(wanted)
    return counts


def of_kinds(seeds: Sequence[Array], *kinds: str) -> list[Array]:
    """Return hits and cases [N 2] of some classes together, of each seed."""
    places = [COLUMNS.index(kind) for kind in kinds]
    return [seed[:, places].sum(axis=1) for seed in seeds]


def verdicts(hits: Mapping[str, Sequence[Array]], clause: Mapping[str, Sequence[Array]] | None,
             looked: Sequence[Array]) -> tuple[Verdict, ...]:  # fmt: skip
    """Decide the claims.

    Args:
        hits: French-English, by model the statistics of each seed.
        clause: the same of Chinese-English; None where it was not measured.
        looked: of the attention model, what `looks` gives, of each seed.
    """
    plain, attentive = hits["encoder-decoder"], hits["attention"]
    gain = difference(
        _both(attentive), _both(plain), lambda sums: mean_value(sums[..., :2]) - mean_value(sums[..., 2:])
    )
    learned = share(of_kinds(plain, PLACED)).value
    loss = difference(of_kinds(attentive, SWAPPED), of_kinds(attentive, PLACED))
    right = share(looked)
    found = [
        _swap_verdict(gain, learned),
        _verdict(
            "no-loss",
            loss.is_above(-ALLOWED),
            "swapped - in place",
            "of adjectives and their nouns with attention is above -5 %",
            loss,
        ),
        _verdict("looks", right.is_above(LEAST_RIGHT), "right links", "of words in a swap is above 50 %", right),
    ]
    return (*found, _clause_verdict(clause))


def _both(seeds: Sequence[Array]) -> list[Array]:
    """Return hits and cases of swapped adjectives and their nouns, then of those in place [N 4], of each seed."""
    return [np.concatenate(two, axis=-1) for two in zip(of_kinds(seeds, SWAPPED), of_kinds(seeds, PLACED), strict=True)]


def _swap_verdict(gain: Estimate, learned: float) -> Verdict:
    rule = (
        "g is how much more of adjectives and their nouns comes out right with attention than with the encoder-decoder; held "
        f"where g(swapped) - g(in place) is above 0, not held where it is below, by {SURE}; undecided where the encoder-decoder "
        f"has under {100 * LEARNED:g} % of those in place, for it has not learned what it could lose"
    )
    is_held = gain.is_above(0.0) if learned >= LEARNED else None
    said = f"g(swapped) - g(in place): {gain.said()}; the encoder-decoder has {100 * learned:.1f} % of those in place"
    return Verdict("swap", decide(is_held), rule, {**gain.numbers("gain"), "learned": learned}, said)


def _verdict(claim: str, is_held: bool | None, name: str, rule: str, estimate: Estimate) -> Verdict:
    key = name.replace(" - ", "_minus_").replace(" ", "_")
    full = f"held where the share {name} {rule}, not held where it is below; by {SURE}"
    return Verdict(claim, decide(is_held), full, estimate.numbers(key), f"{name}: {estimate.said()}")


def _clause_verdict(clause: Mapping[str, Sequence[Array]] | None) -> Verdict:
    rule = (
        "held where attention - encoder-decoder on jumps back of 2 and more words (Chinese-English) is above 0 and not "
        f"surely below its gain on words in place, not held where one of the two fails; by {SURE}"
    )
    if clause is None:
        return Verdict(
            "clause", "undecided", rule, {"gain_far": None}, "measured by the whole lab only, not by the quick one"
        )
    far = difference(of_kinds(clause["attention"], *FAR), of_kinds(clause["encoder-decoder"], *FAR))
    near = difference(of_kinds(clause["attention"], "in place"), of_kinds(clause["encoder-decoder"], "in place"))
    is_held = far.is_above(0.0)
    if is_held and far.high < near.low:
        is_held = False
    numbers = {**far.numbers("gain_far"), **near.numbers("gain_in_place")}
    said = f"gain from attention on far jumps: {far.said()}, on words in place: {near.said()}"
    return Verdict("clause", decide(is_held), rule, numbers, said)


def _chinese(folder: Path, _lab: Lab) -> None:
    write_corpus(make_corpus("zh-en", NUM_CLAUSE_PAIRS, seed=1), folder)


CORPORA = {CLAUSES: _chinese}


def wanted(lab: Lab, data: str, seed: int) -> dict[str, Wanted]:
    """Return the models of one seed on a corpus, by name."""
    made = zip(NAMES, (encoder_decoder, attention, transformer), strict=True)
    return {name: replace(make(lab, seed, is_toy=True), data=data) for name, make in made}


def corpora_of(lab: Lab) -> tuple[str, ...]:
    """Return the corpora that are measured, French-English first; the quick lab leaves the clauses out."""
    return lab.pick((lab.toy_name, CLAUSES), (lab.toy_name,))


def models(lab: Lab) -> tuple[Wanted, ...]:
    """Return all models."""
    return tuple(
        each for data in corpora_of(lab) for seed in lab.seed_numbers() for each in wanted(lab, data, seed).values()
    )


class Measured(NamedTuple):
    """What one corpus gave: of each model the statistics of each seed, and of the attention model where it looked."""

    hits: dict[str, list[Array]]
    looked: list[Array]


def measure_corpus(lab: Lab, data: str) -> Measured:
    """Translate the test set of a corpus by all models."""
    split = read_gold(lab.corpus(data), "test").first(lab.pick(500, 300))
    sources = [source for source, _ in split.pairs]
    hits: dict[str, list[Array]] = {name: [] for name in NAMES}
    looked = []
    for seed in lab.seed_numbers():
        for name, each in wanted(lab, data, seed).items():
            lab.check_stop()
            translator = Translator.load(lab.run(each))
            outputs = [found.text for found in translator.translate(sources, beam_size=1)]
            hits[name].append(statistics(split, outputs))
            if name == "attention":
                looked.append(looks(split, translator.align(split.pairs)))
    return Measured(hits, looked)


def table(title: str, hits: Mapping[str, Sequence[Array]]) -> Table:
    """Return accuracy in percent by class and model."""
    rows = []
    for kind in COLUMNS:
        shares = [share(of_kinds(hits[name], kind)) for name in NAMES]
        cases = int(of_kinds(hits[NAMES[0]], kind)[0][:, 1].sum())
        rows.append((kind, cases, *(round(100 * each.value, 1) if cases else None for each in shares)))
    return Table(title, ("order in the source", "neighbours", *(f"{name} (% right)" for name in NAMES)), tuple(rows))


def _plot(name: str, title: str, hits: Mapping[str, Sequence[Array]]) -> Picture:
    series = []
    for style, model in enumerate(NAMES):
        shares = [(n, share(of_kinds(hits[model], kind))) for n, kind in enumerate(CLASSES)]
        series.append(Series(model, style, [(float(n), 100 * each.value) for n, each in shares if each.num_units]))
    x = Axis("how far the reading jumps back (source words)", CLASSES)
    return Picture(name, lines(title, x, Axis("neighbours right (%)"), series), title)


def measure(lab: Lab) -> Finding:
    """Measure both corpora and decide."""
    found = {data: measure_corpus(lab, data) for data in corpora_of(lab)}
    first = found[lab.toy_name]
    clause = found.get(CLAUSES)
    titles = {lab.toy_name: "French to English", CLAUSES: "Chinese to English"}
    pictures = [
        _plot(f"by-jump-{data}", f"Neighbours by jump, {titles[data]}", each.hits) for data, each in found.items()
    ]
    translator = Translator.load(lab.run(wanted(lab, lab.toy_name, 1)["attention"]))
    trace = translator.explain(SENTENCE, beam_size=1, timing=False)
    written = trace.document["target"]["text"]
    pictures += draw("attention", trace, f"Attention while “{SENTENCE}” becomes “{written}”", head="mean")
    return Finding(
        tuple(table(f"Neighbours that come out right, {titles[data]}", each.hits) for data, each in found.items()),
        tuple(pictures),
        verdicts(first.hits, clause.hits if clause else None, first.looked),
        missing_note(),
        {data: _numbers(each) for data, each in found.items()},
    )


def _numbers(measured: Measured) -> dict[str, Any]:
    by_model = {
        name: {kind: share(of_kinds(seeds, kind))._asdict() for kind in COLUMNS}
        for name, seeds in measured.hits.items()
    }
    return {"accuracy": by_model, "right_links_in_swaps": share(measured.looked)._asdict()}


EXPERIMENT = Experiment(
    name="order",
    title="Another order",
    question="Do adjectives and clauses that stand elsewhere in the other language come out right?",
    claims=CLAIMS,
    models=models,
    learners=("luong",),
    measure=measure,
)
