"""heads: how many, how different, and how many are needed?

Transformers of one width, cut into 1, 2, 4 or 8 heads: the parameters are the same, only the softmaxes are more and narrower.
They translate the toy pair, their heads are compared with one another and with the true links between words, and single heads
are cut out of a trained model:

    MHAtt(x, q) = sum over h of xi_h Att_h(x, q),      xi_h = 0 for a head that is cut, else 1

How different two heads are is the Jensen-Shannon divergence of their weights, in bits: 0 the same, 1 no word in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import nn

from seqline.comparing.exam import Marking
from seqline.comparing.exams import TranslationExam
from seqline.comparing.plots import Axis, Series, lines
from seqline.config import DataConfig
from seqline.data.batch import Example, collate
from seqline.evaluation.alignment import cross_weights
from seqline.evaluation.significance import Array
from seqline.lab.alignment import ERROR_RATE, Aligned, align
from seqline.lab.estimates import SURE, Estimate, difference, share
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, Wanted, decide
from seqline.lab.forced import batch_of, log_probs
from seqline.lab.gold import read_gold
from seqline.lab.held_out import test_set
from seqline.lab.laboratory import Lab
from seqline.lab.pair import transformer
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.parts.self_attention import MultiHeadAttention
from seqline.run_folder import load_run
from seqline.shapes import Bool, Float, Tensor
from seqline.translator import Translator

NUMBERS = (1, 2, 4, 8)
USUAL = 4
"""The heads of the pair's Transformer, which other experiments have too; its heads are cut."""
HARMLESS, MOST = 0.01, 0.5

CLAIMS = (
    Claim(
        "single",
        "A single head translates worse than several, at equal size",
        "Vaswani et al. 2017 (1706.03762), section 6.2 and table 3, rows (A): 0.9 BLEU",
    ),
    Claim(
        "many",
        "Too many heads translate worse as well",
        "Vaswani et al. 2017 (1706.03762), section 6.2 and table 3, rows (A)",
    ),
    Claim(
        "cut",
        "Most heads can be cut out of a trained model, one at a time, with almost no loss",
        "Michel, Levy & Neubig 2019 (1905.10650), section 3.2",
    ),
    Claim(
        "one",
        "Most attentions of a trained model can do with one head",
        "Michel, Levy & Neubig 2019 (1905.10650), section 3.3",
    ),
)


@contextmanager
def cut(part: MultiHeadAttention, heads: Sequence[int]) -> Iterator[None]:
    """Let some heads of an attention, counted from 0, give nothing inside the block."""

    def without(_module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        context = inputs[0].unflatten(-1, (part.num_heads, part.head_size)).clone()
        context[..., list(heads), :] = 0.0
        return (context.flatten(-2), *inputs[1:])

    hook = part.output.register_forward_pre_hook(without)
    try:
        yield
    finally:
        hook.remove()


def attentions(model: nn.Module) -> dict[str, MultiHeadAttention]:
    """Return every attention of a model by its dotted name."""
    return {name: part for name, part in model.named_modules() if isinstance(part, MultiHeadAttention)}


@torch.no_grad()
def right_words(translator: Translator, pairs: Sequence[tuple[str, str]]) -> Array:
    """Return of each pair, [N 2]: steps whose most probable piece is the true one, the true prefix given, and all."""
    batch = batch_of(translator, pairs)
    model = translator.model
    said = log_probs(model, model.decoder.prepare(batch.encoded), batch).argmax(-1)
    right = (said == batch.wanted) & batch.is_real
    return torch.stack([right.sum(1), batch.is_real.sum(1)], -1).numpy().astype(np.float64)


def divergence(weights: Float[Tensor, "B L H T S"], is_real: Bool[Tensor, "B T"]) -> Float[Tensor, "L H H"]:
    """Return the Jensen-Shannon divergence of every two heads of a layer in bits, the mean over the real target pieces."""
    p, q = weights[:, :, :, None].double(), weights[:, :, None].double()
    middle = (p + q) / 2

    def bits(a: Tensor) -> Tensor:
        return (torch.xlogy(a, a) - torch.xlogy(a, middle)).sum(-1) / np.log(2)

    found = (bits(p.expand_as(middle)) + bits(q.expand_as(middle))) / 2  # [B L H H T]
    kept = is_real[:, None, None, None].expand_as(found)
    return torch.where(kept, found, 0.0).sum((0, -1)) / is_real.sum()


def mean_divergence(model: EncoderDecoder, translator: Translator, pairs: Sequence[tuple[str, str]]) -> float | None:
    """Return the mean divergence of two different heads that read the source, None of a single one."""
    target = translator.tokenizers.target
    batch = collate([Example(translator.encode(a), target.encode(b)) for a, b in pairs], range(len(pairs)))
    found = divergence(cross_weights(model, batch), batch.target_is_real)
    pairs_of_heads = list(combinations(range(found.shape[1]), 2))
    return float(np.mean([found[:, a, b].numpy() for a, b in pairs_of_heads])) if pairs_of_heads else None


class Cuts(NamedTuple):
    """A model's right words [N 2]: whole, and without each head. names: of the heads, attention and number."""

    whole: Array
    without: dict[str, Array]
    alone: dict[str, Array]


def cut_each(translator: Translator, test: Sequence[tuple[str, str]], valid: Sequence[tuple[str, str]]) -> Cuts:
    """Cut every head of a model, one at a time; then leave each attention the one head that is best on other sentences."""
    without: dict[str, Array] = {}
    alone: dict[str, Array] = {}
    for name, part in attentions(translator.model).items():
        heads = range(part.num_heads)
        scores = []
        for head in heads:
            with cut(part, [head]):
                without[f"{name}, head {head}"] = right_words(translator, test)
            with cut(part, [other for other in heads if other != head]):
                scores.append(right_words(translator, valid).sum(0)[0])
        best = int(np.argmax(scores))
        with cut(part, [other for other in heads if other != best]):
            alone[name] = right_words(translator, test)
    return Cuts(right_words(translator, test), without, alone)


def verdicts(
    bleu: Mapping[int, Sequence[Array]], value: Any, without: Sequence[Losses], alone: Sequence[Losses]
) -> tuple[Verdict, ...]:
    """Decide the claims.

    Args:
        bleu: what each sentence adds, by number of heads, of each seed.
        value: sums to BLEU.
        without: what `losses` gives where one head is cut, of each seed.
        alone: where one is left.
    """
    several = f"{USUAL} heads"
    single = difference(bleu[USUAL], bleu[1], value)
    many = difference(bleu[USUAL], bleu[NUMBERS[-1]], value)
    return (
        _bleu_verdict("single", f"BLEU of {several} minus BLEU of 1", single),
        _bleu_verdict("many", f"BLEU of {several} minus BLEU of {NUMBERS[-1]}", many),
        _cut_verdict("cut", "heads that are cut, one at a time", [each for seed in without for each in seed.values()]),
        _cut_verdict("one", "attentions that are left only the head that is best on the validation set",
                     [each for seed in alone for each in seed.values()]),
    )  # fmt: skip


Losses: TypeAlias = Mapping[str, Estimate]


def losses(cuts: Sequence[Cuts], part: str) -> list[Losses]:
    """Return, of each seed, the share of right words of the whole model less that of each cut; part: a field of `Cuts`."""
    return [{name: difference([one.whole], [found]) for name, found in getattr(one, part).items()} for one in cuts]


def _bleu_verdict(claim: str, what: str, gain: Estimate) -> Verdict:
    rule = f"held where {what} is above 0, not held where it is below; by {SURE}"
    return Verdict(claim, decide(gain.is_above(0.0)), rule, gain.numbers("gain"), f"{what}: {gain.said('BLEU', 2)}")


def _cut_verdict(claim: str, what: str, found: Sequence[Estimate]) -> Verdict:
    rule = (
        f"of all {what}, in models of {USUAL} heads: held where more than {100 * MOST:g} % surely lose less than "
        f"{100 * HARMLESS:g} % of right words, not held where at least {100 * (1 - MOST):g} % surely lose more, undecided else; "
        "surely: the 95 % bootstrap interval over the test examples"
    )
    states = [each.is_below(HARMLESS) for each in found]
    harmless, harmful = states.count(True), states.count(False)
    is_held = True if harmless > MOST * len(found) else False if harmful >= (1 - MOST) * len(found) else None
    if not found:
        is_held = None
    worst = max((each.value for each in found), default=0.0)
    numbers = {"cuts": len(found), "harmless": harmless, "harmful": harmful, "largest_loss": worst}
    said = f"of {len(found)} cuts {harmless} surely lose less, {harmful} more; the largest loss is {100 * worst:.1f} %"
    return Verdict(claim, decide(is_held), rule, numbers, said)


def wanted(lab: Lab, number: int, seed: int) -> Wanted:
    """Return the model of so many heads; with the usual ones it is the Transformer of other experiments."""
    return transformer(lab, seed, is_toy=True, **({} if number == USUAL else {"num_heads": number}))


def models(lab: Lab) -> tuple[Wanted, ...]:
    """Return all models."""
    return tuple(wanted(lab, number, seed) for seed in lab.seed_numbers() for number in NUMBERS)


class Found(NamedTuple):
    """Of one number of heads, seed by seed. bleu: what sentences add."""

    bleu: list[Array]
    aligned: list[Aligned]
    divergence: list[float | None]


def measure(lab: Lab) -> Finding:
    """Translate, compare heads, cut them, decide."""
    corpus = lab.corpus(lab.toy_name)
    test, valid = read_gold(corpus, "test"), read_gold(corpus, "valid").first(lab.pick(200, 60))
    exam = TranslationExam(test_set(lab, lab.toy_name), DataConfig(), Marking(("bleu",)))
    score = exam.measures[0]
    found = {number: Found([], [], []) for number in NUMBERS}
    cuts: list[Cuts] = []
    for seed in lab.seed_numbers():
        for number in NUMBERS:
            lab.check_stop()
            run = load_run(lab.run(wanted(lab, number, seed)))
            translator = Translator.of(run)
            found[number].bleu.append(score.statistics(exam.answer(run)))
            found[number].aligned.append(align(translator, test.first(200), valid))
            found[number].divergence.append(mean_divergence(translator.model, translator, test.pairs[:60]))
            if number == USUAL:
                cuts.append(cut_each(translator, test.pairs[: lab.pick(200, 100)], valid.pairs))
    without, alone = losses(cuts, "without"), losses(cuts, "alone")
    return Finding(
        (_table(found, score.value), _cuts_table(cuts)),
        (_plot(found, score.value), _cuts_plot(cuts)),
        verdicts({number: each.bleu for number, each in found.items()}, score.value, without, alone),
        (f"{exam.num_examples:,} test sentences, {len(lab.seed_numbers())} seed(s), {score.signature}.",),
        {
            "bleu": {str(n): share(each.bleu, score.value)._asdict() for n, each in found.items()},
            "divergence": {str(n): each.divergence for n, each in found.items()},
            "best_head_aer": {str(n): _best_aer(each)._asdict() for n, each in found.items()},
            "loss_without": [{name: each._asdict() for name, each in seed.items()} for seed in without],
            "loss_with_one": [{name: each._asdict() for name, each in seed.items()} for seed in alone],
        },
    )


def _best_aer(found: Found) -> Estimate:
    return share([each.layers[-1] if each.head is None else each.head for each in found.aligned], ERROR_RATE)


def _by_name(cuts: Sequence[Cuts], part: str) -> dict[str, float]:
    """Return the share of right words lost by each cut, all seeds together."""
    whole = [each.whole for each in cuts]
    names = getattr(cuts[0], part)
    return {name: difference(whole, [getattr(each, part)[name] for each in cuts]).value for name in names}


def _table(found: Mapping[int, Found], value: Any) -> Table:
    rows = []
    for number, each in found.items():
        bleu, last = share(each.bleu, value), share([a.layers[-1] for a in each.aligned], ERROR_RATE)
        apart = [of for of in each.divergence if of is not None]
        rows.append((number, round(bleu.value, 2), f"{bleu.low:.2f} to {bleu.high:.2f}",
                     round(float(np.mean(apart)), 3) if apart else None,
                     round(100 * last.value, 1), round(100 * _best_aer(each).value, 1)))  # fmt: skip
    columns = ("heads", "BLEU", "95 % interval", "divergence of two heads (bits)",
               "AER, mean of the last layer (%)", "AER, best head (%)")  # fmt: skip
    return Table("Heads at equal width", columns, tuple(rows))


def _cuts_table(cuts: Sequence[Cuts]) -> Table:
    without, alone = _by_name(cuts, "without"), _by_name(cuts, "alone")
    rows = []
    for name in alone:
        heads = [round(100 * loss, 2) for cut_name, loss in without.items() if cut_name.startswith(f"{name}, ")]
        rows.append((name, *heads, round(100 * alone[name], 2)))
    columns = ("attention", *(f"without head {head}" for head in range(USUAL)), "best head alone")
    return Table(f"Right words lost by cutting heads of {USUAL} (%)", columns, tuple(rows))


def _plot(found: Mapping[int, Found], value: Any) -> Picture:
    series = [
        Series(f"seed {seed + 1}", seed, [(float(n), float(value(each.bleu[seed].sum(0))))
                                          for n, each in enumerate(found.values())])
        for seed in range(len(found[USUAL].bleu))
    ]  # fmt: skip
    title = "BLEU by number of heads at equal width"
    return Picture("bleu", lines(title, Axis("heads", [str(n) for n in found]), Axis("BLEU"), series), title)


def _cuts_plot(cuts: Sequence[Cuts]) -> Picture:
    ordered = partial(sorted, reverse=True)
    series = [
        Series(
            label, style, [(float(n), 100 * loss) for n, loss in enumerate(ordered(_by_name(cuts, part).values()), 1)]
        )
        for style, (label, part) in enumerate((("one head cut", "without"), ("one head left", "alone")))
    ]
    title = "Right words lost by each cut, the worst first"
    return Picture("cuts", lines(title, Axis("cut"), Axis("right words lost (%)"), series), title)


EXPERIMENT = Experiment(
    name="heads",
    title="Heads",
    question="how many heads, how different are they, and how many does a trained model need?",
    claims=CLAIMS,
    models=models,
    learners=("transformer",),
    measure=measure,
)
