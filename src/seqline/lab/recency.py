"""recency: does the summary of a source favour what was read last?

Two encoder-decoders of LSTMs, alike but for the order in which they read: from the beginning, or (Sutskever) from the end. The
decoder is led along the true target; a target word is right where it is the most probable. By the gold links of the toy pair
each target word belongs to a place in the source, and so every place has an accuracy.

Target and source run in the same order, and words that come late have more of the target before them. That is the same for
both models; so the two are compared place by place: a summary that favours what was read last is better at the end where it was
read from the beginning, and better at the beginning where it was read from the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from seqline.comparing.plots import Axis, Series, lines
from seqline.evaluation.significance import Array, mean_value
from seqline.lab import pair
from seqline.lab.estimates import SURE, difference
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, Wanted, decide
from seqline.lab.forced import Batch, batch_of, log_probs
from seqline.lab.gold import GoldSplit, read_gold
from seqline.lab.laboratory import Lab
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.translator import Translator

MODELS: dict[str, pair.PairModel] = {"from the beginning": pair.unreversed, "from the end": pair.reversed_source}
PARTS = 5
SHORTEST, LONGEST = 8, 24
ALIKE = ((8, 11), (12, 15), (16, 19), (20, 24))
"""Lengths that count as one, from and to, in source words."""
CLAIMS = (
    Claim(
        "recency",
        "What was read last is remembered best.",
        "Sutskever et al. 2014 (1409.3215), section 3.3: reversing the source brings its first words close to the target's first",
    ),
    Claim(
        "reversing",
        "Reversing the source makes the translation better.",
        "Sutskever et al. 2014 (1409.3215), section 3.3: BLEU 25.9 to 30.6, perplexity 5.8 to 4.7",
    ),
)
LEARNED = 0.3
DOUBT = (
    f"not held where below, by {SURE}; undecided else, and where one of the models has not learned "
    f"{100 * LEARNED:g} % of the words"
)
RULE = (
    "d(part) is the accuracy of the model that reads from the beginning less that of the one that reads from the end, in a fifth "
    f"of the source; held where d(last fifth) - d(first fifth) lies above 0, {DOUBT}"
)
REVERSING_RULE = (
    "held where the accuracy read from the end less that read from the beginning, over all target words, lies above 0, "
    f"{DOUBT}"
)


def models(lab: Lab) -> tuple[Wanted, ...]:
    """Return both, for every seed, of the toy pair: only it has gold links."""
    return tuple(make(lab, seed, is_toy=True) for make in MODELS.values() for seed in lab.seed_numbers())  # pyright: ignore[reportCallIssue]


def hits(model: EncoderDecoder, batch: Batch, gold: GoldSplit) -> tuple[Array, Array]:
    """Return right words and words [N PARTS] by the fifth of the source that a target word is linked to.

    A word linked to several source words counts at each of them in equal shares.
    """
    with torch.inference_mode():
        said = log_probs(model, model.decoder.prepare(batch.encoded), batch).argmax(dim=-1)
    is_right = (said == batch.wanted).numpy()
    right, words = (np.zeros((len(gold.pairs), PARTS)) for _ in range(2))
    for row, ((source, _), links) in enumerate(zip(gold.pairs, gold.links, strict=True)):
        length = len(source.split(" "))
        by_word: dict[int, list[int]] = {}
        for i, j in links.sure:
            by_word.setdefault(j, []).append(i)
        for j, places in by_word.items():
            for i in places:
                part = min(PARTS - 1, i * PARTS // length)
                words[row, part] += 1 / len(places)
                right[row, part] += is_right[row, j] / len(places)
    return right, words


def of_length(gold: GoldSplit, shortest: int, longest: int) -> GoldSplit:
    """Return the pairs whose source has so many words."""
    rows = [row for row, (source, _) in enumerate(gold.pairs) if shortest <= len(source.split(" ")) <= longest]
    return GoldSplit([gold.pairs[row] for row in rows], [gold.links[row] for row in rows], {})


def alike(gold: GoldSplit, right: Mapping[str, Sequence[Array]], words: Array, labels: Sequence[str]) -> Table:
    """Return the accuracies of sources that are nearly equally long: a place is as far from both ends in all of them."""
    lengths = np.array([len(source.split(" ")) for source, _ in gold.pairs])
    rows = []
    for shortest, longest in ALIKE:
        chosen = (lengths >= shortest) & (lengths <= longest)
        for name, seeds in right.items():
            hit, all_words = np.mean(seeds, axis=0)[chosen].sum(axis=0), words[chosen].sum(axis=0)
            shares = [100 * float(a / b) if b else None for a, b in zip(hit, all_words, strict=True)]
            rows.append((f"{shortest}-{longest}", int(chosen.sum()), name, *shares))
    return Table("The same by length of the source (%)", ("words", "sentences", "read", *labels), tuple(rows))


def verdicts(right: Sequence[Sequence[Array]], words: Array) -> tuple[Verdict, ...]:
    """Decide the claims.

    Args:
        right: of both models and each seed, right words [N PARTS].
        words: [N PARTS], all of them.
    """
    forwards, backwards = right
    favour = difference(
        [_ends(seed, words) for seed in forwards],
        [_ends(seed, words) for seed in backwards],
        lambda sums: mean_value(sums[..., 2:]) - mean_value(sums[..., :2]),
    )
    gain = difference([_whole(seed, words) for seed in backwards], [_whole(seed, words) for seed in forwards])
    least = min(float(seed.sum() / words.sum()) for model in right for seed in model)
    is_favoured, is_gain = (each.is_above(0.0) if least >= LEARNED else None for each in (favour, gain))
    told = f"the weakest model has {100 * least:.0f} % of all words right"
    return (
        Verdict("recency", decide(is_favoured), RULE, {**favour.numbers("difference"), "least learned": least},
                f"d(last fifth) - d(first fifth) is {favour.said()}; {told}."),
        Verdict("reversing", decide(is_gain), REVERSING_RULE, {**gain.numbers("gain"), "least learned": least},
                f"Reading from the end gains {gain.said()}; {told}."),
    )  # fmt: skip


def _ends(right: Array, words: Array) -> Array:
    """Return right words and words of the first fifth, then of the last [N 4]."""
    return np.stack([right[:, 0], words[:, 0], right[:, -1], words[:, -1]], axis=-1)


def _whole(right: Array, words: Array) -> Array:
    """Return right words and words of the whole sentence [N 2]."""
    return np.stack([right.sum(axis=1), words.sum(axis=1)], axis=-1)


def measure(lab: Lab) -> Finding:
    """Lead both models along the test targets."""
    gold = of_length(read_gold(lab.corpus(lab.toy_name), "test"), SHORTEST, LONGEST)
    right: list[list[Array]] = []
    words = np.zeros((len(gold.pairs), PARTS))
    for make in MODELS.values():
        right.append([])
        for seed in lab.seed_numbers():
            lab.check_stop()
            translator = Translator.load(lab.run(make(lab, seed, is_toy=True)))  # pyright: ignore[reportCallIssue]
            with torch.inference_mode():
                batch = batch_of(translator, gold.pairs)
            mine, words = hits(translator.members.sides[0].model, batch, gold)
            right[-1].append(mine)
    shares = {
        name: (np.mean(each, axis=0).sum(axis=0) / words.sum(axis=0)).tolist()
        for name, each in zip(MODELS, right, strict=True)
    }
    labels = tuple(f"{20 * part}-{20 * part + 20} %" for part in range(PARTS))
    rows = [(name, *(100 * share for share in each)) for name, each in shares.items()]
    drawn = [
        Series(f"read {name}", style, [(float(part), 100 * share) for part, share in enumerate(each)])
        for style, (name, each) in enumerate(shares.items())
    ]
    svg = lines(
        "Accuracy by source position", Axis("place in the source", labels), Axis("right target words, %"), drawn
    )
    notes = [f"{len(gold.pairs)} test sentences of {SHORTEST} to {LONGEST} source words; {lab.seeds_said()} together."]
    if lab.data is not None:
        notes.append("Measured on the toy pair: a corpus of one's own has no gold links.")
    return Finding(
        (
            Table("Right target words by place in the source (%)", ("read", *labels), tuple(rows)),
            alike(gold, dict(zip(MODELS, right, strict=True)), words, labels),
        ),
        (Picture("accuracy-by-place", svg, "Right target words by the place in the source that they are linked to."),),
        verdicts(right, words),
        tuple(notes),
        {"accuracy": shares, "words": words.sum(axis=0).tolist()},
    )


EXPERIMENT = Experiment(
    name="recency",
    title="What was read last",
    question="Does the summary of a source favour the words that were read last?",
    claims=CLAIMS,
    models=models,
    measure=measure,
)
