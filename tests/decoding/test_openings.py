"""A phrase has another form at the very beginning of an output: against brute force over what the tokens spell."""

from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seqline.decoding import AVERAGE, NONE, Beam, Marks, Must, beam
from seqline.decoding.phrases import Phrase, PhraseAutomaton

from .table_model import RandomDecoder, brute_force
from .test_beam import assert_same

PIECES = ["cat", " cat", "s", " c", "at", "</s>"]
EOS = len(PIECES) - 1
STARTS = torch.tensor([piece.startswith((" ", "</s>")) for piece in PIECES])
FORMS: dict[str, tuple[Phrase, Phrase]] = {  # inside, at the beginning
    "cat": ((1,), (0,)),
    "cat cat": ((1, 1), (0, 1)),
    "s": ((3, 2), (2,)),  # stands for a phrase whose form inside is the longer one: " cs", "s"
    "at": ((1, 2), (4, 4, 2)),  # and one whose form at the beginning is: " cats", "atats"
}


def must(*phrases: str) -> Must:
    return Must([[FORMS[phrase][0] for phrase in phrases]], STARTS, dict(FORMS.values()))


def stands(phrase: str, ids: tuple[int, ...]) -> bool:
    """Tell by the tokens alone whether a phrase stands in an output."""
    inside, opening = FORMS[phrase]
    body = tuple(i for i in ids if i != EOS)

    def ends(at: int) -> bool:
        return at == len(body) or bool(STARTS[body[at]])

    found = [k for k in range(len(body)) if body[k : k + len(inside)] == inside and ends(k + len(inside))]
    return bool(found) or (body[: len(opening)] == opening and ends(len(opening)))


@pytest.mark.parametrize("phrase", FORMS)
@pytest.mark.parametrize("penalty", [NONE, AVERAGE], ids=lambda penalty: penalty.name)
def test_a_full_beam_finds_every_output_with_the_phrase(phrase: str, penalty: object) -> None:
    decoder = RandomDecoder(len(PIECES), seed=4)
    every = brute_force(decoder, [1, 2], 3, penalty)  # type: ignore[arg-type]
    right = [h for h in every if stands(phrase, h.ids)]
    assert 0 < len(right) < len(every)
    marks = Marks(decoder.bos_id, EOS)
    size = len(every)
    how = Beam(size, size, penalty)  # type: ignore[arg-type]
    [found] = beam(decoder, decoder.encode([[1, 2]]), torch.tensor([3]), how, must=must(phrase), marks=marks)
    assert_same(found, right)
    assert any(h.ids[: len(FORMS[phrase][1])] == FORMS[phrase][1] for h in right)


def test_what_the_tokens_say_is_what_the_text_says() -> None:
    decoder = RandomDecoder(len(PIECES), seed=4)
    for hypothesis in brute_force(decoder, [1, 2], 3, NONE):
        if 3 in hypothesis.ids:  # " c" and "at" spell a cat that the pieces of the phrase do not
            continue
        text = "".join(PIECES[i] for i in hypothesis.ids if i != EOS)
        assert stands("cat", hypothesis.ids) == bool(re.search(r"(?<!\w)cat(?!\w)", text))


@settings(max_examples=25)
@given(
    st.integers(0, 10**6),
    st.lists(st.sampled_from(list(FORMS)), min_size=1, max_size=2, unique=True),
    st.integers(1, 5),
)
def test_narrow_beams_hold_the_phrases_too(seed: int, phrases: list[str], size: int) -> None:
    decoder = RandomDecoder(len(PIECES), seed)
    marks, memory = Marks(decoder.bos_id, EOS), decoder.encode([[1, 2, 3]])
    [found] = beam(decoder, memory, torch.tensor([9]), Beam(size, size), must=must(*phrases), marks=marks)
    assert len({h.ids for h in found}) == len(found) >= 1
    for hypothesis in found:
        assert all(stands(phrase, hypothesis.ids) for phrase in phrases)


def test_an_opening_counts_at_the_beginning_alone() -> None:
    automaton = PhraseAutomaton([(1,)], STARTS.tolist(), {(1,): (0,)})
    assert automaton.needed(automaton.read([0])) == 0
    assert automaton.needed(automaton.read([0, EOS])) == 0
    assert automaton.needed(automaton.read([0, 2])) == 1  # "cats"
    assert automaton.needed(automaton.read([2, 0])) == 1  # "scat"
    assert automaton.needed(automaton.read([2, 1])) == 0
    assert automaton.advancing(0) == (0, 1)
    assert automaton.advancing(automaton.read([2])) == (1,)
