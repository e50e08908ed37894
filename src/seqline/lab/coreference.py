"""coreference: which noun is "it", what does "it" look at, and does it need to?

    the pizza came out of the oven and it tastes good     ->  ... et elle a bon goût       (la pizza)
    the pizza came out of the oven and it needs repair    ->  ... et il a besoin d' être réparé       (le four)

French has to choose il or elle, and only the words behind "it" tell which noun is meant. Models learn such twins among other
sentences, and are asked about nouns with words that they never saw together. Chance is 50 %: of two twins one is il and the other
elle, and they are the same up to the pronoun. The true French words before the pronoun are given, and the larger one of p(il) and
p(elle) is the answer.

Then the weights from "it" (in the encoder) and from the place of the pronoun (in the decoder) to its noun and to the other noun
are added up, and cut: these weights are set to 0, in all layers and heads, the others of the row scaled up, and all that follows
is computed as always. Cutting as many articles is the control.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from seqline.comparing.plots import Axis, Series, lines
from seqline.data.batch import Batch, Example, collate
from seqline.evaluation.alignment import cross_weights
from seqline.evaluation.significance import Array
from seqline.intervene import Cut, set_rows
from seqline.lab.drawn_attention import draw, missing_note, of_weights
from seqline.lab.estimates import above_verdict, difference, share
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, Wanted, decide
from seqline.lab.gold import read_gold
from seqline.lab.laboratory import Lab
from seqline.lab.pair import rnn, transformer
from seqline.lab.twins import NUM_CHOSEN, PRONOUNS, Twin, make, twins_of
from seqline.models.reading import MIXER, source_readers
from seqline.parts.self_attention import MultiHeadAttention
from seqline.translator import Translator
from seqline.watch import watch

CORPUS = "twins"
CHANCE = 0.5
CLEARLY_ABOVE, CLEARLY_LOST = 0.55, 0.2
"""A look is one where the noun has more weight in so many twins; a pronoun is lost where so many more are wrong."""
TWINS = "; twins count as one"
IF_RESOLVED = TWINS + "; undecided where the pronouns are not resolved, for then nothing could be seen or lost"
WHOLE_SIZES, QUICK_SIZES = (200, 2 * NUM_CHOSEN), (80, 40)
"""How many unseen twins are asked, and how many others choose the heads."""
MODELS = ("transformer", "bahdanau")

CLAIMS = (
    Claim(
        "resolved",
        "A Transformer finds the noun that a pronoun stands for, also in sentences that it has not seen",
        "Uszkoreit 2017, Transformer: A Novel Neural Network Architecture for Language Understanding (Google Research blog); "
        "Voita et al. 2018 (1805.10163), section 5",
    ),
    Claim(
        "looks",
        "In the encoder a head lets “it” look at the noun that it stands for rather than at the other noun",
        "Uszkoreit 2017 (Google Research blog): “The animal didn't cross the street because it was too tired”",
        is_seen=True,
    ),
    Claim(
        "needed",
        "What “it” looks at in the encoder is what decides: without its weights on the nouns the pronoun is lost",
        "Uszkoreit 2017 (Google Research blog) and Voita et al. 2018 (1805.10163), section 5, as they are often read",
        is_seen=True,
    ),
)


CORPORA = {CORPUS: make}


def wanted(lab: Lab, name: str, seed: int) -> Wanted:
    """Return one model of one seed, with the settings of the pair's models."""
    like = rnn(lab, seed, "bahdanau", is_toy=True) if name == "bahdanau" else transformer(lab, seed, is_toy=True)
    settings = tuple((key, value) for key, value in like.settings if (name, key) != ("bahdanau", "model.cell"))
    return Wanted(CORPUS, name, "translation", settings, steps=1000, quick_steps=300, seed=seed)


def models(lab: Lab) -> tuple[Wanted, ...]:
    """Return all models."""
    return tuple(wanted(lab, name, seed) for seed in lab.seed_numbers() for name in MODELS)


class Parts(NamedTuple):
    """Who attends in a model: to the source in the encoder, to it from the decoder, to the target's own words."""

    encoder: Sequence[nn.Module]
    cross: Sequence[nn.Module]
    own: Sequence[nn.Module]


def parts_of(translator: Translator) -> Parts:
    """List the parts that attend, lowest layer first."""
    decoder: nn.Module = translator.model.decoder  # pyright: ignore[reportAssignmentType]
    own = [module for name, module in decoder.named_modules()
           if isinstance(module, MultiHeadAttention) and MIXER in name.split(".")]  # fmt: skip
    encoder = [module for module in translator.model.encoder.modules() if isinstance(module, MultiHeadAttention)]
    return Parts(encoder, source_readers(decoder), own)


Cuts = Mapping[nn.Module, Sequence[Cut]]


def cuts(parts: Parts, twin: Twin) -> dict[str, Cuts]:
    """Return what is cut under each name; words are pieces here, and target word n is fed at step n + 2."""
    nouns, step = (twin.noun, twin.other), twin.pronoun + 1

    def everywhere(modules: Sequence[nn.Module], cut: Cut) -> Cuts:
        return {module: [cut] for module in modules}

    found: dict[str, Cuts] = {"nothing": {}}
    if parts.encoder:
        found["encoder: “it” to its noun"] = everywhere(parts.encoder, Cut(twin.it + 1, (twin.noun,)))
        found["encoder: “it” to both nouns"] = everywhere(parts.encoder, Cut(twin.it + 1, nouns))
        found["encoder: “it” to both articles"] = everywhere(parts.encoder, Cut(twin.it + 1, twin.articles))
    found["decoder: pronoun to both nouns"] = everywhere(parts.cross, Cut(step, nouns))
    found["decoder: pronoun to both articles"] = everywhere(parts.cross, Cut(step, twin.articles))
    if parts.own:
        written = tuple(
            each for j in twin.nouns_out for each in (j, j + 1)
        )  # the nouns, fed one later, and what is before them
        found["decoder: pronoun to the French nouns"] = everywhere(parts.own, Cut(step, written))
        found["all of these"] = {
            **found["encoder: “it” to both nouns"],
            **found["decoder: pronoun to both nouns"],
            **found["decoder: pronoun to the French nouns"],
        }
    return found


WHOLE, CUT, CONTROL = "nothing", "encoder: “it” to both nouns", "encoder: “it” to both articles"


def batch_of(translator: Translator, twin: Twin) -> Batch:
    """Return one pair as a batch, whose words are its pieces."""
    source, target = translator.encode(twin.source), translator.tokenizers.target.encode(twin.target)
    if (len(source), len(target)) != (len(twin.source.split()) + 1, len(twin.target.split())):
        raise ValueError("a word is no piece of its own")
    return collate([Example(source, target)], [0])


def chooses(translator: Translator, twin: Twin, logits: Tensor) -> bool:
    """Tell whether the right one of il and elle is the more probable one; logits [T V] of the pair."""
    ids = [translator.tokenizers.target.encode(word)[0] for word in PRONOUNS]
    il, elle = logits[twin.pronoun, ids].tolist()
    return PRONOUNS[elle > il] == twin.target.split()[twin.pronoun]


@torch.no_grad()
def choices(translator: Translator, twins: Sequence[Twin]) -> dict[str, Array]:
    """Return hits and cases [N / 2, 2] of each two twins, for everything that is cut."""
    parts, right = parts_of(translator), {}
    for twin in twins:
        batch = batch_of(translator, twin)
        for name, rows in cuts(parts, twin).items():
            with set_rows(rows):
                logits = translator.model(batch.source, batch.source_is_real, batch.target_in)[0]
            right.setdefault(name, []).append(float(chooses(translator, twin, logits)))
    return {name: np.stack([np.reshape(each, (-1, 2)).sum(1), np.full(len(each) // 2, 2.0)], -1)
            for name, each in right.items()}  # fmt: skip


@torch.no_grad()
def weights_of(translator: Translator, twin: Twin) -> tuple[Tensor | None, Tensor]:
    """Return the encoder's weights [L H S S] (None: it does not attend) and those of the source in the decoder [L H T S]."""
    batch, model = batch_of(translator, twin), translator.model
    with watch(model.encoder, only=("multi-head attention",)) as frames:
        model.encoder(batch.source, batch.source_is_real)
    inside = torch.stack([frame.values["weights"][0] for frame in frames]) if frames else None
    return inside, cross_weights(model, batch)[0]


class Looked(NamedTuple):
    """Weights to the noun, to the other noun, of each head [twins L H]; in: encoder from "it", out: decoder from the pronoun."""

    encoder: tuple[Array, Array] | None
    cross: tuple[Array, Array]


def looked(translator: Translator, twins: Sequence[Twin]) -> Looked:
    """Collect what "it" and the pronoun look at."""
    inside: list[tuple[Tensor, Tensor]] = []
    outside: list[tuple[Tensor, Tensor]] = []
    for twin in twins:
        encoder, cross = weights_of(translator, twin)
        if encoder is not None:
            inside.append((encoder[:, :, twin.it, twin.noun], encoder[:, :, twin.it, twin.other]))
        outside.append((cross[:, :, twin.pronoun, twin.noun], cross[:, :, twin.pronoun, twin.other]))

    def both(found: list[tuple[Tensor, Tensor]]) -> tuple[Array, Array]:
        noun, other = (torch.stack(side).double().numpy() for side in zip(*found, strict=True))
        return noun, other

    return Looked(both(inside) if inside else None, both(outside))


def preferred(noun: Array, other: Array) -> Array:
    """Return hits and cases [N / 2, 2] of each two twins: the noun has the larger weight. noun, other: [N]."""
    hits = (noun > other).reshape(-1, 2).sum(1)
    return np.stack([hits, np.full(len(hits), 2)], -1).astype(np.float64)


def best_head(noun: Array, other: Array) -> tuple[int, int]:
    """Return layer and head that prefer the noun most often; weights [N L H]."""
    shares = (noun > other).mean(0)
    layer, head = np.unravel_index(int(shares.argmax()), shares.shape)
    return int(layer), int(head)


def verdicts(answers: Mapping[str, Sequence[Array]], at_noun: Sequence[Array]) -> tuple[Verdict, ...]:
    """Decide the claims.

    Args:
        answers: of the Transformer, what `choices` gives under each name, of each seed.
        at_noun: of its chosen heads, what `preferred` gives, of each seed.
    """
    fall = difference(answers[CONTROL], answers[CUT])
    resolved = above_verdict(
        "resolved",
        share(answers[WHOLE]),
        CHANCE,
        "the share of right pronouns of the Transformer in unseen twins",
        TWINS,
    )
    looks = above_verdict(
        "looks", share(at_noun), CLEARLY_ABOVE, "the share of unseen twins in which the encoder head that does so most in "
        "other twins gives “it” more weight on its noun than on the other noun", IF_RESOLVED
    )  # fmt: skip
    needed = above_verdict(
        "needed", fall, CLEARLY_LOST, "the share of right pronouns of the Transformer with “it” cut from two articles minus "
        "that with “it” cut from both nouns", IF_RESOLVED
    )  # fmt: skip
    if resolved.state != "held":
        looks, needed = (each._replace(state=decide(None)) for each in (looks, needed))
    return resolved, looks, needed


class Collected(NamedTuple):
    """What was measured of one model, of each seed. free: pronouns of greedy translations. heads: chosen in the encoder."""

    answers: dict[str, list[Array]]
    free: list[Array]
    looks: list[Looked]
    at_noun: list[Array]
    heads: list[tuple[int, int]]


def collect(lab: Lab, name: str, twins: Sequence[Twin], others: Sequence[Twin]) -> Collected:
    """Measure one model."""
    found = Collected({}, [], [], [], [])
    for seed in lab.seed_numbers():
        lab.check_stop()
        translator = Translator.load(lab.run(wanted(lab, name, seed)))
        for what, each in choices(translator, twins).items():
            found.answers.setdefault(what, []).append(each)
        found.free.append(free_choices(translator, twins))
        found.looks.append(looked(translator, twins))
        chosen_on = looked(translator, others).encoder
        if chosen_on is not None and (here := found.looks[-1].encoder) is not None:
            layer, head = best_head(*chosen_on)
            found.heads.append((layer, head))
            found.at_noun.append(preferred(here[0][:, layer, head], here[1][:, layer, head]))
    return found


def free_choices(translator: Translator, twins: Sequence[Twin]) -> Array:
    """Return hits and cases [N / 2, 2] of greedy translations: the only pronoun of the output is the right one."""
    outputs = [found.text.split() for found in translator.translate([twin.source for twin in twins], beam_size=1)]
    hits = [
        {word for word in output if word in PRONOUNS} == {twin.target.split()[twin.pronoun]}
        for twin, output in zip(twins, outputs, strict=True)
    ]
    pairs = np.reshape(np.array(hits, dtype=np.float64), (-1, 2)).sum(1)
    return np.stack([pairs, np.full(len(pairs), 2.0)], -1)


def measure(lab: Lab) -> Finding:
    """Ask both models about unseen twins, look at what they look at, cut it, and decide."""
    corpus = lab.corpus(CORPUS)
    num_asked, num_others = lab.pick(WHOLE_SIZES, QUICK_SIZES)
    twins = twins_of(read_gold(corpus, "pronouns").first(num_asked))
    others = twins_of(read_gold(corpus, "valid").first(num_others))
    found = {name: collect(lab, name, twins, others) for name in MODELS}
    main = found["transformer"]
    return Finding(
        (_answers_table(found), _looks_table(found)),
        (_plot(found), *_drawn(lab, twins[0], main.heads[0])),
        verdicts(main.answers, main.at_noun),
        (f"Chance is {100 * CHANCE:g} %.", *missing_note()),
        {name: _numbers(each) for name, each in found.items()},
    )


def _drawn(lab: Lab, twin: Twin, head: tuple[int, int]) -> list[Picture]:
    translator = Translator.load(lab.run(wanted(lab, "transformer", 1)))
    encoder, _ = weights_of(translator, twin)
    if encoder is None:
        return []
    words = twin.source.split()
    rows = encoder[head[0], head[1], : len(words), : len(words)].double().numpy()
    rows = rows / rows.sum(-1, keepdims=True)
    caption = (
        f"Layer {head[0] + 1}, head {head[1] + 1} of the encoder: what each word of “{twin.source}” looks at (the end mark "
        "left out)"
    )
    return draw("it", of_weights(rows, words, words, "encoder_self"), caption)


def _answers_table(found: Mapping[str, Collected]) -> Table:
    rows = [
        (
            name,
            what,
            round(100 * share(seeds).value, 1),
            round(100 * share(seeds).low, 1),
            round(100 * share(seeds).high, 1),
        )
        for name, each in found.items()
        for what, seeds in {"free translation": each.free, **each.answers}.items()
    ]
    columns = ("model", "what is cut", "right pronouns (%)", "from", "to")
    return Table("il or elle in unseen twins", columns, tuple(rows))


def _looks_table(found: Mapping[str, Collected]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for name, each in found.items():
        for where, which in (("encoder, from “it”", 0), ("decoder, from the pronoun", 1)):
            sides = [side for side in (look[which] for look in each.looks) if side is not None]
            if not sides:
                continue
            noun, other = (np.mean([side[k] for side in sides], axis=(0, 1)) for k in (0, 1))
            rows += [
                (
                    name,
                    where,
                    layer + 1,
                    head + 1,
                    round(float(noun[layer, head]), 3),
                    round(float(other[layer, head]), 3),
                )
                for layer in range(noun.shape[0])
                for head in range(noun.shape[1])
            ]
    columns = ("model", "where", "layer", "head", "weight on its noun", "weight on the other noun")
    return Table("What “it” looks at, mean over unseen twins and seeds", columns, tuple(rows))


def _plot(found: Mapping[str, Collected]) -> Picture:
    names = list(found["transformer"].answers)
    series = []
    for style, (name, each) in enumerate(found.items()):
        points = [(float(names.index(what)), 100 * share(seeds).value) for what, seeds in each.answers.items()]
        series.append(Series(name, style, points))
    series.append(Series("chance", len(series), [(0.0, 100 * CHANCE), (len(names) - 1.0, 100 * CHANCE)]))
    title = "Right pronouns by what is cut: " + "; ".join(f"{n} {name}" for n, name in enumerate(names))
    x = Axis("what is cut (numbers in the caption)", [str(n) for n in range(len(names))])
    return Picture("cut", lines(title, x, Axis("right pronouns (%)"), series), title)


def _numbers(found: Collected) -> dict[str, Any]:
    return {
        "right": {what: share(seeds)._asdict() for what, seeds in found.answers.items()},
        "right_in_free_translation": share(found.free)._asdict(),
        "chosen_heads": [list(head) for head in found.heads],
        "weights": [
            {
                where: [side.mean(0).tolist() for side in each]
                for where, each in look._asdict().items()
                if each is not None
            }
            for look in found.looks
        ],
    }


EXPERIMENT = Experiment(
    name="coreference",
    title="What “it” is",
    question="Is the noun that a pronoun stands for found, looked at, and does the answer need that look?",
    claims=CLAIMS,
    models=models,
    measure=measure,
)
