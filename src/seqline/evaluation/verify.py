"""The laws: what must hold for any model, in one table each for what writes and what labels.

tests/laws asks 1e-10 in float64 of every architecture; `seqline verify` asks it of a run, and says in plain words what a failure
means. The equations are in docs/state.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from seqline.data.batch import source_batch
from seqline.evaluation.subject import (
    NEVER_GENERATED,
    Finding,
    LabelSubject,
    NoSource,
    Subject,
    Worst,
    largest,
    prepared,
)
from seqline.evaluation.verify_decoder import (
    batch_law,
    causal_law,
    fixed_law,
    prompt_law,
    pure_law,
    row_law,
    select_law,
    split_law,
)
from seqline.evaluation.verify_labels import label_batch_law, label_fixed_law, label_pure_law, label_row_law
from seqline.evaluation.verify_search import (
    exhaustive_law,
    greedy_law,
    likely_words,
    rescore_law,
    sample_law,
    score_ids,
    search_law,
)

__all__ = [
    "LABEL_LAWS",
    "LAWS",
    "NEVER_GENERATED",
    "TOLERANCE",
    "Finding",
    "LabelSubject",
    "Law",
    "NoSource",
    "Subject",
    "check_laws",
    "exhaustive_law",
    "score_ids",
]

TOLERANCE = 1e-10
"""In float64, times the largest value that is compared once that is above 1; `pure` and `fixed` allow no difference."""
ENUMERATED_WORDS, ENUMERATED_LENGTH, ENUMERATED_ROWS = 4, 3, 2


class Law(NamedTuple):
    """One law and what to say of it.

    check: a subject to a finding. meaning: what holds, in a few words. fault: what it means where it does not, a sentence with
    {text}, the example, {size}, how large the difference is, and {where}. needs: laws without which this one says nothing.
    tolerance: see `TOLERANCE`.
    """

    check: Callable[[Any], Finding]
    meaning: str
    fault: str
    needs: tuple[str, ...] = ()
    tolerance: float = TOLERANCE


def check_laws(subject: Subject) -> list[Finding]:
    """Check every law on the subject; touches neither its weights nor its mode."""
    with torch.no_grad():
        return [law.check(subject) for law in LAWS.values()]


def finite_law(subject: Subject) -> Finding:
    """Every logit is a number."""
    batch, _, _ = prepared(subject)
    worst = Worst("finite")
    for row in range(len(batch.rows)):
        one = batch.source[row : row + 1], batch.source_is_real[row : row + 1], batch.target_in[row : row + 1]
        worst.add(0.0 if largest(subject.model(*one)) < float("inf") else float("inf"), f"row {row}", row)
    return worst.result()


def label_finite_law(subject: LabelSubject) -> Finding:
    """Every logit is a number."""
    worst = Worst("finite")
    for row in range(len(subject.sources)):
        logits = subject.model(*source_batch(subject.sources, [row]))
        worst.add(0.0 if largest(logits) < float("inf") else float("inf"), f"row {row}", row)
    return worst.result()


def enumerated_law(subject: Subject) -> Finding:
    """Run `exhaustive_law` in a vocabulary of any size: few rows, the most probable first words, short outputs."""
    few = Subject(subject.model, subject.examples[:ENUMERATED_ROWS], ENUMERATED_LENGTH)
    return exhaustive_law(few, likely_words(few, ENUMERATED_WORDS))


_MODEL = ("finite", "fixed", "pure")
_STEPS = (*_MODEL, "batch", "causal", "row", "split", "prompt", "select")
_MIXED = "what is computed together changes the outputs"

_FINITE = (
    "every logit is a number",
    "{text} gives logits that are no finite numbers: the weights have exploded, or a part divides by zero; train again with "
    "a lower training.learning_rate",
)
_FIXED = (
    "nothing is random: dropout is off",
    "the model gives {text} other logits when it is called twice ({size}; {where}): dropout or another random part is still "
    "on, so outputs change from call to call, and no other law can be checked",
)
_PURE = (
    "a call changes nothing it was given, and gives the same bits again",
    "{where} differs from what it was before ({size}): a call writes into what it was given or keeps something for the next "
    "call, so an output depends on what was computed before it",
)
_ROW = (
    "padding changes nothing: alone, in any batch, any padding",
    "{text} gets other logits ({size}) when padding or a longer sentence stands beside it in the batch: the model reads "
    f"padding, so {_MIXED}; until it is mended, compute one at a time (--batch 1, where a command takes it)",
)
_BATCH = (
    "neighbours of the same length in a batch change nothing",
    "{text} gets other logits ({size}) when others of the same length stand in its batch, without any padding: rows of a "
    f"batch mix, so {_MIXED}; until it is mended, compute one at a time (--batch 1, where a command takes it)",
)

LAWS: dict[str, Law] = {
    "finite": Law(finite_law, *_FINITE),
    "fixed": Law(fixed_law, *_FIXED, ("finite",), 0.0),
    "pure": Law(pure_law, *_PURE, ("finite", "fixed"), 0.0),
    "batch": Law(batch_law, *_BATCH, _MODEL),
    "causal": Law(
        causal_law,
        "a later token changes no logit before it",
        "with {text}, later target tokens change the logits before them ({size}): the decoder looks ahead, so the losses of its "
        "training say nothing and its own outputs are worse than they",
        _MODEL,
    ),
    "row": Law(row_law, *_ROW, (*_MODEL, "batch", "causal")),
    "split": Law(
        split_law,
        "step by step, or cut anywhere, is one call",
        "with {text}, reading the target in pieces gives other logits than reading it in one call ({size}; {where}): what is "
        "kept from step to step is wrong (a position, a mask, a value), so outputs are not those that it was trained for",
        (*_MODEL, "batch", "causal"),
    ),
    "prompt": Law(
        prompt_law,
        "a prompt read in a padded batch is that prompt alone",
        "{text} as a prompt in a padded batch leaves the model in another state than alone ({size}): padding enters the state, "
        "so continuations of several prompts together are wrong",
        (*_MODEL, "batch", "causal", "split"),
    ),
    "select": Law(
        select_law,
        "rows taken out of a batch go on as before",
        "after its row is taken out of the batch, {text} goes on with other logits ({size}): a part of the state stays behind, "
        "so a beam mixes up its hypotheses; until it is mended, search greedily (--beam 1) and one at a time (--batch 1)",
        (*_MODEL, "batch"),
    ),
    "rescore": Law(
        rescore_law,
        "an output's score is what the model gives that output",
        "an output for {text} has another log-probability in the search than the model gives it when read at once ({size}; "
        "{where}): scores of outputs are wrong, and so is their order",
        _STEPS,
    ),
    "greedy": Law(
        greedy_law,
        "a beam of 1 is greedy search",
        "a beam of 1 and greedy search find different outputs for {text} ({size}): one of the two searches is wrong",
        (*_STEPS, "rescore"),
    ),
    "search": Law(
        search_law,
        "what is found for a text does not depend on its batch",
        "a search finds another output for {text} alone than in a batch ({size}; {where}): the search mixes sentences up; until "
        "it is mended, compute one at a time (--batch 1, where a command takes it)",
        (*_STEPS, "rescore"),
    ),
    "exhaustive": Law(
        enumerated_law,
        "a wide enough beam finds what trying everything finds",
        "for {text}, a beam with room for every output of at most three of a few tokens does not find what trying them all finds "
        "({size}; {where}): the search loses outputs that are better than those it returns",
        (*_STEPS, "rescore"),
    ),
    "sample": Law(
        sample_law,
        "the same seed draws the same, in any batch",
        "with the same seed, {text} is continued otherwise in another batch or with another probability than the model's ("
        "{size}; {where}): drawn outputs cannot be repeated",
        _STEPS,
    ),
}
"""Laws of what writes: an encoder-decoder, or a language model beside `NoSource`."""

LABEL_LAWS: dict[str, Law] = {
    "finite": Law(label_finite_law, *_FINITE),
    "fixed": Law(label_fixed_law, *_FIXED, ("finite",), 0.0),
    "pure": Law(label_pure_law, *_PURE, ("finite", "fixed"), 0.0),
    "batch": Law(label_batch_law, *_BATCH, _MODEL),
    "row": Law(label_row_law, *_ROW, (*_MODEL, "batch")),
}
"""Laws of taggers and classifiers."""
