"""Every recipe with all that steers a search switched on at once: the laws of a search hold as without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
import torch

from seqline.data.batch import source_batch
from seqline.data.tokenizer import BOS, EOS
from seqline.decoding import Beam, Hypothesis, Must, Rule, beam, forbid, min_length, power
from seqline.decoding.repetition import no_loops, no_repeat_ngram
from seqline.decoding.rules import forced_prefix
from seqline.evaluation.verify import NEVER_GENERATED, Subject, score_ids
from seqline.state import map_tensors, select, tensors_of

from .test_laws import TOLERANCE, TRANSLATORS, VARIANTS, make_subject

MAX_LENGTH, N = 8, 3
PHRASES = [((4, 5), (7,)), (), ((8, 8, 4),), ((5, 6), (6, 5))]
PREFIXES = [[6], [], [4, 8], []]


class Steering(NamedTuple):
    """Some options of a search; `rules` are made for the sentences of a batch."""

    how: Beam
    phrases: bool = False
    prefixes: bool = False
    repetition: bool = False

    def search(self, subject: Subject, memory: Any, rows: Sequence[int]) -> list[list[Hypothesis]]:
        """Search the sentences `rows`, whose memory it is."""
        rules: list[Rule] = [forbid(NEVER_GENERATED), min_length(3, EOS)]
        if self.repetition:
            rules += [no_repeat_ngram(N), no_loops(2)]
        if self.prefixes:
            rules = [forced_prefix([PREFIXES[row] for row in rows], rules)]
        must = Must([PHRASES[row] for row in rows]) if self.phrases else None
        limits = torch.full((len(rows),), MAX_LENGTH)
        return beam(subject.model.decoder, memory, limits, self.how, rules=rules, must=must)


SETS = {
    "groups": Steering(Beam(4, 4, power(0.6), 2, 0.7), phrases=True, prefixes=True, repetition=True),
    "one": Steering(Beam(3, 3), phrases=True, prefixes=True, repetition=True),
}


def holds(ids: Sequence[int], phrase: Sequence[int]) -> bool:
    return any(tuple(ids[i : i + len(phrase)]) == tuple(phrase) for i in range(len(ids)))


@pytest.mark.parametrize(("name", "options"), [*((name, "groups") for name in TRANSLATORS), ("luong", "one")])
@torch.no_grad()
def test_the_laws_of_a_search_hold(name: str, options: str) -> None:
    settings = dict(next(settings for variant, settings in VARIANTS if variant == name))
    subject, steering = make_subject(name, settings, target_size=9, max_length=MAX_LENGTH), SETS[options]
    sources, rows = [example.source for example in subject.examples], range(len(subject.examples))
    source, is_real = source_batch(sources, rows)
    memory = subject.model.decoder.prepare(subject.model.encoder(source, is_real))
    before = map_tensors(torch.clone, memory)
    found = steering.search(subject, memory, rows)

    assert steering.search(subject, memory, rows) == found  # PURE
    assert all(torch.equal(a, b) for a, b in zip(tensors_of(before), tensors_of(memory), strict=True))
    for row, hypotheses in enumerate(found):
        one = torch.tensor([row])
        if row % 2 == 0:  # SEARCH
            (alone,) = steering.search(subject, select(memory, one), [row])
            assert [h.ids for h in alone] == [h.ids for h in hypotheses]
            assert [h.score for h in alone] == pytest.approx([h.score for h in hypotheses], abs=TOLERANCE)
        assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
        assert len({h.ids for h in hypotheses}) == len(hypotheses) > 0
        for h in hypotheses:  # RESCORE
            expected = score_ids(subject.model, source[one], is_real[one], h.ids)
            assert h.log_probability == pytest.approx(expected, abs=TOLERANCE)
            assert h.score == steering.how.penalty.score(h.log_probability, len(h.ids))
            check_obeys(steering, row, h)


def check_obeys(steering: Steering, row: int, h: Hypothesis) -> None:
    assert len(h.ids) >= 4 or not h.is_finished
    assert len(h.ids) <= MAX_LENGTH
    assert not set(h.ids) & set(NEVER_GENERATED)
    assert BOS not in h.ids
    assert (h.ids[-1:] == (EOS,)) == h.is_finished
    if steering.phrases:
        assert all(holds(h.ids, phrase) for phrase in PHRASES[row])
    if steering.prefixes:
        assert list(h.ids[: len(PREFIXES[row])]) == PREFIXES[row]
    if steering.repetition:
        grams = [h.ids[i : i + N] for i in range(len(h.ids) - N + 1)]
        assert len(set(grams)) == len(grams)
