"""Banned text without word spaces: against brute force over what the tokens spell."""

from __future__ import annotations

import pytest
import torch

from seqline.decoding import NONE, Beam, Marks, Spelling, beam, greedy, must_not_spell

from .table_model import RandomDecoder, brute_force
from .test_beam import assert_same

PIECES = [
    b"\xe7\x8c",
    b"\xab",
    "猫".encode(),
    "那只".encode(),
    "只猫".encode(),
    b"",
]  # two bytes of a cat, its last, a cat, ...
EOS = len(PIECES) - 1


@pytest.mark.parametrize("banned", [["猫"], ["只猫"], ["那只猫", "猫猫"], []], ids=" ".join)
def test_a_full_beam_finds_every_output_without_the_text(banned: list[str]) -> None:
    decoder = RandomDecoder(len(PIECES), seed=3)
    every = brute_force(decoder, [1, 2], 4, NONE)

    def holds(ids: tuple[int, ...]) -> bool:
        written = b"".join(PIECES[i] for i in ids)
        return any(text.encode() in written for text in banned)

    right = [h for h in every if not holds(h.ids)]
    assert (len(right) < len(every)) == bool(banned)
    rule = must_not_spell([banned, []], Spelling(PIECES, EOS))
    memory, limits = decoder.encode([[1, 2], [1, 2]]), torch.tensor([4, 4])
    marks, how = Marks(decoder.bos_id, EOS), Beam(len(every), len(every), NONE)
    found, free = beam(decoder, memory, limits, how, rules=[rule], marks=marks)
    assert_same(found, right)
    assert_same(free, every)
    for hypothesis in greedy(decoder, memory, limits, rules=[rule], marks=marks)[:1]:
        assert not holds(hypothesis.ids)
