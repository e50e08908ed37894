"""A run whose data is text under the laws: its tokenizers, its model in float64, the precision that is served, what users get."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence

import torch

from seqline.evaluation.sentences import FEW_LINES, Line, Texts, choose
from seqline.evaluation.subject import Finding
from seqline.evaluation.verify_served import MARGIN, SCORE_TOLERANCE, Agreement
from seqline.evaluation.verify_text import TextSubject, round_trip_law, sizes_law, special_law
from seqline.run_folder import Run
from seqline.verifying.checks import FAILED, NOT_CHECKED, OK, Check, Findings, Seen, check_laws, missing_of
from seqline.verifying.subjects import CASES, Case

MOST_LINES, LARGE_MODEL = 8, 20_000_000  # from so many parameters on, few lines
MOST_SHOWN = 60
COARSE = (
    f"{{text}} gets other tokens ({{many}} where the best leads by {MARGIN:g} nats or more) or scores ({{where}}; {{apart}}): in "
    "float64 the laws hold, so a part computes too coarsely in the precision that is served"
)
MIXED_UP = (
    "{text} gets another output alone than together with others ({where}; {many} differ; {apart}), although the laws of the "
    "model hold: outputs are put back in another order, or something is kept between calls; until it is mended, compute one at "
    "a time"
)


def examine(run: Run, texts: Texts | None, findings: Findings) -> Seen:
    """Check a run on sentences.

    Args:
        run: of a task of text.
        texts: the user's sentences, or pairs (source, target) of a translation; None: made of the run's vocabulary.
        findings: where each check is taken down.

    Raises:
        UserError: no sentence in `texts`.
    """
    case = CASES[run.config.data.task](run)
    most = MOST_LINES if sum(p.numel() for p in run.model.parameters()) < LARGE_MODEL else FEW_LINES
    case.make_room(case.own_lines()[0])
    lines, notes = choose(case, texts, most)
    with torch.no_grad():
        _check_text(case, lines, findings)
        subject = case.subject(copy.deepcopy(run.model).double(), lines)
        check_laws(case.laws, subject, findings, _named(lines))
        _check_served(case, lines, findings)
    return Seen(tuple(line.source for line in lines), notes)


def _named(lines: Sequence[Line]) -> Callable[[int | None], str]:
    return lambda row: "a sentence" if row is None else f"the sentence {_quoted(lines[row].source)}"


def _check_text(case: Case, lines: Sequence[Line], findings: Findings) -> None:
    for name, side in case.sides(lines).items():
        count = f"{len(side.texts)} texts"
        found = round_trip_law(side)
        fault = "{where}: the tokenizer loses or changes text, so the model never sees what was written"
        meaning = f"{name} tokens turn back into the text"
        findings.add(_text_check(f"round trip {name}", meaning, found, side, fault, count))
        found = special_law(side)
        fault = "{where}: text can end, pad or begin a sentence by itself; the tokenizer is not one that seqline made"
        findings.add(_text_check(f"special {name}", f"no {name} spells a mark such as </s>", found, side, fault, count))
    vocabulary = case.run.tokenizers.vocabulary
    sizes = (vocabulary.source_size, vocabulary.target_size)
    found = sizes_law(case.run.model, sizes, case.num_logits())
    fault = "{where}: tokenizer and weights belong to different runs"
    number = " and ".join(f"{size:,}" for size in dict.fromkeys(sizes))
    findings.add(_text_check("sizes", "every id has its row in the tables", found, None, fault, number))


def _text_check(law: str, meaning: str, found: Finding, side: TextSubject | None, fault: str, number: str) -> Check:
    if found.difference == 0:
        return Check(law, meaning, OK, number)
    text = "" if side is None or found.row is None else f"{_quoted(side.texts[found.row])} "
    return Check(law, meaning, FAILED, number, failure=text + fault.format(where=found.where))


def _check_served(case: Case, lines: Sequence[Line], findings: Findings) -> None:
    """Check the run's own precision, and what users get."""
    needs = [name for name in ("finite", "fixed", "pure", "batch", "row", "causal", "split") if name in case.laws]
    others = [name for name in ("select", "rescore", "search", "sample") if name in case.laws]
    meaning, missing = "the same tokens in the precision that is served", missing_of(needs, findings)
    if missing:
        findings.add(Check("float32", meaning, NOT_CHECKED, f"see {missing}"))
    else:
        findings.add(_served_check("float32", meaning, COARSE, case.served(lines), lines))
    meaning = f"{case.outputs} do not depend on what is computed with them"
    missing = missing_of([*needs, *others, "float32"], findings)
    if missing:
        findings.add(Check("outputs", meaning, NOT_CHECKED, f"see {missing}"))
        return
    found = case.compare_outputs([line.source for line in lines])
    findings.add(_served_check("outputs", meaning, MIXED_UP, found, lines))


def _served_check(law: str, meaning: str, fault: str, found: Agreement, lines: Sequence[Line]) -> Check:
    close = f", {found.num_close} nearly tied" if found.num_close else ""
    number = f"{found.num_places} equal{close}; {found.difference:.0e}"
    difference = found.difference if math.isfinite(found.difference) else None
    if found.holds:
        return Check(law, meaning, OK, number, difference)
    number = f"{found.num_other} of {found.num_places} differ"
    many = f"{found.num_other} of {found.num_places}"
    apart = f"log-probabilities differ by up to {found.difference:.2g} nats a token ({SCORE_TOLERANCE:g} is rounding)"
    failure = fault.format(text=_named(lines)(found.row), many=many, apart=apart, where=found.where)
    return Check(law, meaning, FAILED, number, difference, failure)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}...")
