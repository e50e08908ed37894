"""alignment: is attention a word alignment?

Every model reads the true translations, and a word of the target is linked to the source word with the largest weight (see
`evaluation.alignment`). The toy pair knows the true links A* of its sentences, all of them sure:

    AER = 1 - 2 |A and A*| / (|A| + |A*|)

Beside the models stand three that look at no word: the diagonal (word j of J is linked to word round(j (I - 1) / (J - 1)) of I),
one link a word by chance, and the best that one link a word can do. Whether the prediction needs these weights is another
question: the weights of each step are put on other source words by chance, and the most probable next word is looked at again.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch

from seqline.comparing.plots import Axis, Series, lines
from seqline.data.batch import Example, collate
from seqline.evaluation.alignment import Forced, Reading, attention_size
from seqline.evaluation.alignment_metrics import Link, score_alignments
from seqline.evaluation.significance import Array, Value
from seqline.intervene import Row, set_rows
from seqline.lab.drawn_attention import draw, missing_note
from seqline.lab.estimates import SURE, Estimate, above_verdict, difference, share
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, Wanted, decide
from seqline.lab.gold import GoldSplit, best_head, moved, one_link_a_word, read_gold
from seqline.lab.laboratory import Lab
from seqline.lab.pair import attention, rnn, transformer
from seqline.models.reading import source_readers
from seqline.translator import Translator

MODELS = {"bahdanau": "additive", "luong": "dot", "transformer": "heads"}
DIAGONAL, CHANCE, BEST = "diagonal", "chance", "best of one link a word"
SAME = 0.5
SENTENCE = "la chanteuse gentille a une voiture rouge"

CLAIMS = (
    Claim(
        "agrees",
        "The soft alignment agrees with the true one: far better than a diagonal",
        "Bahdanau, Cho & Bengio 2015 (1409.0473), section 5.2.1",
    ),
    Claim(
        "off",
        "Attention is no word alignment: it may be off by a word",
        "Koehn & Knowles 2017 (1706.03872), section 3.5: German-English, most weight one word beside the right one",
    ),
    Claim(
        "heads",
        "Heads do different work: one head of a Transformer aligns better than the mean of its last layer",
        "Vaswani et al. 2017 (1706.03762), section 4",
    ),
    Claim(
        "permuted",
        "Attention is not explanation: with the weights on other words most predictions stay the same",
        "Jain & Wallace 2019 (1902.10186), section 4.2.1",
    ),
)


def diagonal(split: GoldSplit) -> list[list[Link]]:
    """Link word j of J to the source word at the same part of its sentence."""
    found = []
    for source, target in split.pairs:
        num_source, num_target = len(source.split()), len(target.split())
        steepness = (num_source - 1) / max(1, num_target - 1)
        found.append([(int(j * steepness + 0.5), j) for j in range(num_target)])
    return found


def by_chance(split: GoldSplit, seed: int = 1) -> list[list[Link]]:
    """Link every target word to any source word."""
    draws = random.Random(seed)
    return [[(draws.randrange(len(source.split())), j) for j in range(len(target.split()))]
            for source, target in split.pairs]  # fmt: skip


def statistics(found: Sequence[Sequence[Link]], split: GoldSplit) -> Array:
    """Return what each sentence adds to an alignment score, [N 4]: the counts of `AlignmentScore`."""
    return np.array(
        [score_alignments([links], [gold]) for links, gold in zip(found, split.links, strict=True)], dtype=np.float64
    )


def error_rate(sums: Array) -> Array:
    """Return the alignment error rate of counts [... 4], 0 where there is nothing to link."""
    both = sums[..., 0] + sums[..., 1]
    right = (sums[..., 2] + sums[..., 3]) / np.where(both > 0, both, 1.0)
    return np.where(both > 0, 1.0 - right, 0.0)


ERROR_RATE: Value = error_rate


class Aligned(NamedTuple):
    """One model of one seed. layers: the statistics of each layer's mean over heads. earlier, later: links moved by a word.

    head: of the best head, where there are several. head_name: which.
    """

    layers: list[Array]
    earlier: list[Array]
    later: list[Array]
    head: Array | None = None
    head_name: str = ""


def align(translator: Translator, test: GoldSplit, valid: GoldSplit) -> Aligned:
    """Align a test set by one model; its best head is chosen on other sentences."""
    num_layers, num_heads = attention_size(translator.model)
    links = [translator.align(test.pairs, Reading(layer)) for layer in range(num_layers)]
    read, earlier, later = ([statistics(moved(each, by), test) for each in links] for by in (0, -1, 1))
    aligned = Aligned(read, earlier, later)
    if num_heads == 1:
        return aligned
    head, _ = best_head(translator, valid)
    name = f"layer {head.layer}, head {head.head}"
    return aligned._replace(head=statistics(translator.align(test.pairs, head), test), head_name=name)


@torch.no_grad()
def kept_when_permuted(translator: Translator, pairs: Sequence[tuple[str, str]], seed: int = 1) -> Array:
    """Return of each pair, [N 2]: steps whose most probable word stays when the weights of the step are permuted, and all.

    The true translation is fed; every attention to the source gets the same permutation at a step.
    """
    draws, model = random.Random(seed), translator.model
    readers = source_readers(model.decoder)  # pyright: ignore[reportArgumentType]
    counts = []
    for source, target in pairs:
        forced = Forced(source, target, translator.encode(source), translator.tokenizers.target.encode(target))
        weights = translator.aligner().weights([forced])[0]
        rows = [Row(step, tuple(draws.sample(row, len(row)))) for step, row in enumerate(weights.tolist(), 1)]
        batch = collate([Example(forced.source_ids, forced.target_ids)], [0])
        given = batch.source, batch.source_is_real, batch.target_in
        before = model(*given).argmax(-1)
        with set_rows(dict.fromkeys(readers, rows)):
            after = model(*given).argmax(-1)
        counts.append((int((before == after).sum()), before.numel()))
    return np.array(counts, dtype=np.float64)


def verdicts(
    aligned: Mapping[str, Sequence[Aligned]], on_diagonal: Array, kept: Sequence[Array]
) -> tuple[Verdict, ...]:
    """Decide the claims.

    Args:
        aligned: of each model all seeds.
        on_diagonal: statistics of the diagonal.
        kept: what `kept_when_permuted` gives for the model with one attention, of each seed.
    """
    last = {name: [each.layers[-1] for each in seeds] for name, seeds in aligned.items()}
    better = difference([on_diagonal] * len(last["bahdanau"]), last["bahdanau"], ERROR_RATE)
    heads = [each.head for each in aligned["transformer"] if each.head is not None]
    one_head = difference(last["transformer"], heads, ERROR_RATE)
    same = share(kept)
    return (
        above_verdict("agrees", better, 0.0, "AER of the diagonal minus AER of bahdanau"),
        _off_verdict(aligned),
        above_verdict("heads", one_head, 0.0, "AER of the mean of the last layer minus AER of the head that is best on the "
                 "validation set, on the test set"),
        above_verdict("permuted", same, SAME, "the share of steps of luong whose most probable word stays when its weights are "
                 "permuted"),
    )  # fmt: skip


def shifts(aligned: Mapping[str, Sequence[Aligned]]) -> dict[str, Estimate]:
    """Return AER minus AER with all links moved by a word, of each layer and direction; above 0: the links are off by it."""
    found = {}
    for name, seeds in aligned.items():
        for layer in range(len(seeds[0].layers)):
            here = [each.layers[layer] for each in seeds]
            for way, other in (
                ("earlier", [s.earlier[layer] for s in seeds]),
                ("later", [s.later[layer] for s in seeds]),
            ):
                found[f"{name}, layer {layer}, {way}"] = difference(here, other, ERROR_RATE)
    return found


def _off_verdict(aligned: Mapping[str, Sequence[Aligned]]) -> Verdict:
    rule = (
        "held where in some layer of some model the links come nearer to the true ones (AER - AER moved above 0) when all are "
        f"moved by one word of the target, not held where this is below 0 in all of them; by {SURE}"
    )
    found = shifts(aligned)
    most = max(found, key=lambda name: found[name].value)
    states = [each.is_above(0.0) for each in found.values()]
    is_held = True if True in states else None if None in states else False
    numbers = {"where": most, **found[most].numbers("gain")}
    said = f"moving the links gains most, or loses least, in {most}: {found[most].said()}"
    return Verdict("off", decide(is_held), rule, numbers, said)


def wanted(lab: Lab, seed: int) -> dict[str, Wanted]:
    """Return the models of one seed, by name."""
    additive = rnn(lab, seed, "bahdanau", is_toy=True)
    settings = tuple(
        (key, value) for key, value in additive.settings if key != "model.cell"
    )  # its cell is a GRU always
    return {
        "bahdanau": Wanted(
            additive.data, "bahdanau", additive.task, settings, additive.steps, additive.quick_steps, seed
        ),
        "luong": attention(lab, seed, is_toy=True),
        "transformer": transformer(lab, seed, is_toy=True),
    }


def models(lab: Lab) -> tuple[Wanted, ...]:
    """Return all models."""
    return tuple(each for seed in lab.seed_numbers() for each in wanted(lab, seed).values())


def measure(lab: Lab) -> Finding:
    """Align the test set by all models and decide."""
    corpus = lab.corpus(lab.toy_name)
    test = read_gold(corpus, "test").first(lab.pick(500, 200))
    valid = read_gold(corpus, "valid").first(lab.pick(300, 60))
    aligned: dict[str, list[Aligned]] = {name: [] for name in MODELS}
    kept = []
    for seed in lab.seed_numbers():
        for name, each in wanted(lab, seed).items():
            lab.check_stop()
            translator = Translator.load(lab.run(each))
            aligned[name].append(align(translator, test, valid))
            if name == "luong":
                kept.append(kept_when_permuted(translator, test.pairs[: lab.pick(200, 60)]))
    plain = {
        DIAGONAL: statistics(diagonal(test), test),
        CHANCE: statistics(by_chance(test), test),
        BEST: statistics(one_link_a_word(test.links), test),
    }
    translator = Translator.load(lab.run(wanted(lab, 1)["bahdanau"]))
    trace = translator.explain(SENTENCE, beam_size=1, timing=False)
    drawn = draw("attention", trace, f"Attention of bahdanau while it reads “{SENTENCE}”", head="mean")
    rows = error_rates(aligned, plain)
    return Finding(
        (_table(rows),),
        (_plot(aligned, plain), *drawn),
        verdicts(aligned, plain[DIAGONAL], kept),
        missing_note(),
        {
            "error_rates": {name: each._asdict() for name, each in rows.items()},
            "moved_by_a_word": {name: each._asdict() for name, each in shifts(aligned).items()},
            "kept_when_permuted": share(kept)._asdict(),
            "best_heads": [each.head_name for each in aligned["transformer"]],
        },
    )


def error_rates(aligned: Mapping[str, Sequence[Aligned]], plain: Mapping[str, Array]) -> dict[str, Estimate]:
    """Return the AER of every reading of every model, and of those that look at no word."""
    found = {}
    for name, seeds in aligned.items():
        for layer in range(len(seeds[0].layers)):
            label = name if len(seeds[0].layers) == 1 else f"{name}, layer {layer}, mean of heads"
            found[label] = share([each.layers[layer] for each in seeds], ERROR_RATE)
        if heads := [each.head for each in seeds if each.head is not None]:
            found[f"{name}, best head"] = share(heads, ERROR_RATE)
    return found | {name: share([each], ERROR_RATE) for name, each in plain.items()}


def _table(rows: Mapping[str, Estimate]) -> Table:
    cells = tuple(
        (name, round(100 * each.value, 1), f"{100 * each.low:.1f} to {100 * each.high:.1f}")
        for name, each in rows.items()
    )
    return Table("Alignment error rate, lower is better", ("links", "AER (%)", "95 % interval"), cells)


def _plot(aligned: Mapping[str, Sequence[Aligned]], plain: Mapping[str, Array]) -> Picture:
    places = ("one word earlier", "as read", "one word later")
    series = []
    for style, (name, seeds) in enumerate(aligned.items()):
        moves = (
            [each.earlier[-1] for each in seeds],
            [each.layers[-1] for each in seeds],
            [each.later[-1] for each in seeds],
        )
        points = [(float(n), 100 * share(each, ERROR_RATE).value) for n, each in enumerate(moves)]
        series.append(Series(name, style, points))
    for style, name in enumerate((DIAGONAL, CHANCE), len(series)):
        level = 100 * share([plain[name]], ERROR_RATE).value
        series.append(Series(name, style, [(0.0, level), (2.0, level)]))
    title = "Alignment error rate of the last layer, its links as read and moved by one word of the target"
    return Picture("error-rate", lines(title, Axis("links of the target", places), Axis("AER (%)"), series), title)


EXPERIMENT = Experiment(
    name="alignment",
    title="Attention as word alignment",
    question="Are the weights of attention the true links between words, and does a prediction need them?",
    claims=CLAIMS,
    models=models,
    learners=("bahdanau", "luong", "transformer"),
    measure=measure,
)
