"""Rules forbid exactly what they say; byte pieces always form whole UTF-8."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqline.decoding import AVERAGE, Beam, Marks, beam, greedy
from seqline.decoding.repetition import no_repeat_ngram
from seqline.decoding.rules import Prefix, Rule, allowed_log_probs, forbid, forced_prefix, min_length, whole_utf8

from .table_model import RandomDecoder, brute_force

NEVER = float("-inf")
EOS, WORD = 3, 4
# ids 0 to 4 are no bytes, then the 256 byte pieces in an order that is not the order of the bytes
BYTES = [(7 * i + 3) % 256 for i in range(256)]
BYTE_VALUES = [-1] * 5 + BYTES
ID_OF_BYTE = {byte: i + 5 for i, byte in enumerate(BYTES)}


def after(tokens: Tensor, left: int = 9) -> Prefix:
    """Return what a rule sees of rows that are sentences of their own."""
    return Prefix(torch.arange(len(tokens)), tokens, torch.full((len(tokens),), left))


def nothing(rows: int) -> Prefix:
    return after(torch.zeros(rows, 0, dtype=torch.long))


def test_forbid_sets_only_its_ids() -> None:
    log_probs = torch.randn(3, 6)
    before = log_probs.clone()
    got = forbid((0, 4))(nothing(3), log_probs)
    assert got.isneginf().nonzero().tolist() == [[row, column] for row in range(3) for column in (0, 4)]
    assert torch.equal(got[:, [1, 2, 3, 5]], before[:, [1, 2, 3, 5]])


@pytest.mark.parametrize("length", [0, 1, 3])
def test_min_length_counts_the_tokens_before_eos(length: int) -> None:
    rule = min_length(length, EOS)
    for t in range(5):
        got = rule(after(torch.full((2, t), WORD)), torch.zeros(2, 6))
        assert got[:, EOS].isneginf().all() == (t < length)
        assert (got[:, [0, 1, 2, 4, 5]] == 0).all()


def test_a_prefix_is_forced_and_other_rules_hold_behind_it() -> None:
    prefixes = [[5, 5, 1], [], [2]]
    rule = forced_prefix(prefixes, [forbid((0, 5)), min_length(4, EOS)])
    sentence = torch.tensor([2, 0, 1, 0])
    for t in range(5):
        values = torch.randn(4, 7)
        before = values.clone()
        got = rule(Prefix(sentence, torch.full((4, t), WORD), torch.full((4,), 9)), values)
        for row, b in enumerate(sentence.tolist()):
            behind = [i for i in range(7) if i not in (0, 5) and (i != EOS or t >= 4)]
            right = [prefixes[b][t]] if t < len(prefixes[b]) else behind
            assert got[row].isfinite().nonzero().flatten().tolist() == right
            assert torch.equal(got[row, right], before[row, right])


@pytest.mark.parametrize("prefix", [[], [1], [1, 1, 2], [0, 3]])
@pytest.mark.parametrize("rules", [[], [no_repeat_ngram(1)]])
def test_a_full_beam_finds_all_sequences_that_begin_so(prefix: list[int], rules: list[Rule]) -> None:
    decoder, source, limit = RandomDecoder(4, 5), [2, 3], 4
    start = tuple(prefix)
    right = [h for h in brute_force(decoder, source, limit, AVERAGE) if h.ids[: len(start)] == start]
    if rules:  # behind the prefix no token stands that stood before
        right = [h for h in right if all(i not in h.ids[:t] for t, i in enumerate(h.ids) if t >= len(start))]
    options: dict[str, Any] = {"rules": [forced_prefix([prefix], rules)], "marks": Marks(bos=4, eos=3)}
    memory, limits = decoder.encode([source]), torch.tensor([limit])
    (found,) = beam(decoder, memory, limits, Beam(256, n_best=256), **options)
    assert [h.ids for h in found] == [h.ids for h in right]
    assert [h.log_probability for h in found] == pytest.approx([h.log_probability for h in right], abs=1e-10)
    (best,) = greedy(decoder, memory, limits, **options)
    ((narrow,),) = beam(decoder, memory, limits, Beam(1), **options)
    assert best.ids == narrow.ids
    assert best.ids[: len(start)] == start


def test_a_prefix_belongs_to_its_sentence_in_any_batch_and_is_cut_at_the_limit() -> None:
    decoder, sources, prefixes = RandomDecoder(5, 2), [[1], [2, 3], [4, 5, 6, 1, 9]], [[2, 2, 0], [], [1]]
    limits, marks = [2, 6, 6], Marks(bos=5, eos=4)

    def found(rows: list[int]) -> list[tuple[int, ...]]:
        rules = [forced_prefix([prefixes[row] for row in rows])]
        memory = decoder.encode([sources[row] for row in rows])
        chosen = torch.tensor([limits[row] for row in rows])
        return [h[0].ids for h in beam(decoder, memory, chosen, Beam(3), rules=rules, marks=marks)]

    together = found([0, 1, 2])
    assert together == [found([row])[0] for row in range(3)] == found([2, 0, 1])[1:] + found([2, 0, 1])[:1]
    assert together[0] == (2, 2)
    assert together[2][0] == 1


def test_log_probs_are_those_of_the_full_softmax() -> None:
    logits = torch.randn(4, 1, 9)
    before = logits.clone()
    got = allowed_log_probs(logits, nothing(4), [forbid((0, 1)), forbid((5,))])
    allowed = [2, 3, 4, 6, 7, 8]
    assert torch.equal(logits, before)  # rules write into a tensor of their own
    assert torch.equal(got[:, allowed], logits[:, 0].log_softmax(-1)[:, allowed])
    assert got[:, [0, 1, 5]].isneginf().all()


def test_low_precision_logits_are_raised_to_float32() -> None:
    logits = torch.randn(2, 1, 50).bfloat16()
    got = allowed_log_probs(logits, nothing(2), [])
    assert got.dtype == torch.float32
    assert torch.allclose(got.exp().sum(1), torch.ones(2), atol=1e-6)
    assert allowed_log_probs(logits.double(), nothing(2), []).dtype == torch.float64


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_broken_logits_are_refused(bad: float) -> None:
    logits = torch.zeros(3, 1, 5)
    logits[1, 0, 2] = bad
    with pytest.raises(FloatingPointError, match="not finite after 4 tokens"):
        allowed_log_probs(logits, after(torch.full((3, 4), WORD)), [])


def allowed_ids(prefixes: list[list[int]]) -> Tensor:
    """Return [N 261], what the rule allows after prefixes of equal length."""
    prefix = torch.tensor(prefixes, dtype=torch.long).reshape(len(prefixes), -1)
    return ~whole_utf8(BYTE_VALUES)(after(prefix), torch.zeros(len(prefixes), len(BYTE_VALUES))).isneginf()


def is_whole(data: bytes) -> bool:
    try:
        data.decode("utf-8", "strict")
    except UnicodeDecodeError:
        return False
    return True


def is_possible(data: bytes) -> bool:
    """Return whether some strict UTF-8 text begins with these bytes.

    Python's incremental decoder is no judge: it holds the first two bytes of a surrogate back. 0x80 or 0xBF is legal
    after every lead byte, so these completions are enough.
    """
    return is_whole(data) or any(is_whole(data + first + b"\x80" * n) for first in (b"\x80", b"\xbf") for n in range(3))


def check_next(prefixes: list[bytes]) -> None:
    """Compare with Python's decoder: the bytes that may follow, and whether anything else may."""
    got = allowed_ids([[ID_OF_BYTE[byte] for byte in prefix] for prefix in prefixes])
    for prefix, allowed in zip(prefixes, got, strict=True):
        right = [byte for byte in range(256) if byte not in (0x00, 0x0A) and is_possible(prefix + bytes([byte]))]
        assert [byte for byte in range(256) if allowed[ID_OF_BYTE[byte]]] == right, prefix
        assert allowed[:5].tolist() == [is_whole(prefix)] * 5, prefix


def test_every_lead_byte_has_the_right_successors() -> None:
    check_next([b""])
    one = [bytes([byte]) for byte in range(256) if byte not in (0x00, 0x0A) and is_possible(bytes([byte]))]
    check_next(one)
    edges = (0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF)
    check_next([p + bytes([edge]) for p in one for edge in edges if p >= b"\xc2" and is_possible(p + bytes([edge]))])


@pytest.mark.parametrize("prefix", ["f09080", "f09fbf", "f18080", "f3bfbf", "f48080", "f48fbf", "e0a080", "ed9f80"])
def test_three_bytes_at_the_edges(prefix: str) -> None:
    check_next([bytes.fromhex(prefix)])


@given(st.text(st.characters(exclude_characters="\0\n", exclude_categories=["Cs"]), max_size=6), st.integers(0, 3))
def test_text_cut_anywhere_has_the_right_successors(text: str, cut: int) -> None:
    data = text.encode()
    check_next([data[: max(0, len(data) - cut)]])


@given(st.integers(0, 2**31), st.floats(0, 12))
def test_random_logits_give_whole_utf8(seed: int, byte_bonus: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    rule = whole_utf8(BYTE_VALUES)
    prefix = torch.zeros(4, 0, dtype=torch.long)
    for _ in range(12):
        logits = torch.randn(4, len(BYTE_VALUES), generator=generator) * 3
        logits[:, 5:] += byte_bonus * (torch.tensor(BYTES) >= 0x80)  # many sequences, also long ones
        log_probs = rule(after(prefix), logits.log_softmax(-1))
        token = log_probs.exp().multinomial(1, generator=generator)
        assert (log_probs.gather(1, token) > NEVER).all()
        prefix = torch.cat([prefix, token], 1)
        may_end = (rule(after(prefix), torch.zeros_like(logits)) > NEVER)[:, EOS]
        for ids, is_end in zip(prefix.tolist(), may_end.tolist(), strict=True):
            runs = b"".join(bytes([BYTE_VALUES[i]]) if i >= 5 else b"_" for i in ids)  # a piece splits byte runs
            assert is_whole(runs) == is_end
            assert is_possible(runs)
            assert not {0x00, 0x0A} & set(runs)


def test_other_pieces_are_forbidden_inside_and_free_outside() -> None:
    inside = [[WORD, ID_OF_BYTE[0xC3]], [WORD, ID_OF_BYTE[0xE2]], [ID_OF_BYTE[0xF0], ID_OF_BYTE[0x9F]]]
    assert not allowed_ids(inside)[:, :5].any()
    outside = [[WORD, WORD], [ID_OF_BYTE[0xC3], ID_OF_BYTE[0xA9]], [WORD, ID_OF_BYTE[0x41]]]
    assert allowed_ids(outside)[:, :5].all()


def test_a_vocabulary_without_bytes_is_untouched() -> None:
    log_probs = torch.randn(2, 9)
    assert torch.equal(whole_utf8([-1] * 9)(after(torch.full((2, 5), 4)), log_probs.clone()), log_probs)


def test_each_row_has_its_own_state() -> None:
    log_probs = torch.randn(4, len(BYTE_VALUES))
    prefix = torch.tensor([[WORD], [ID_OF_BYTE[0xE0]], [ID_OF_BYTE[0x41]], [ID_OF_BYTE[0xC3]]])
    together = whole_utf8(BYTE_VALUES)(after(prefix), log_probs.clone())
    alone = [whole_utf8(BYTE_VALUES)(after(prefix[i : i + 1]), log_probs[i : i + 1].clone()) for i in range(4)]
    assert torch.equal(together, torch.cat(alone))
    assert torch.equal(together[together > NEVER], log_probs[together > NEVER])


def test_only_the_last_three_ids_matter() -> None:
    tail = [ID_OF_BYTE[0xF0], ID_OF_BYTE[0x9F], ID_OF_BYTE[0x98]]
    assert torch.equal(allowed_ids([[WORD] * 9 + tail]), allowed_ids([tail]))
    broken = [ID_OF_BYTE[0xE2], WORD, ID_OF_BYTE[0xC3]]  # made without the rule: read from the last lead byte
    assert torch.equal(allowed_ids([broken]), allowed_ids([[ID_OF_BYTE[0xC3]]]))
