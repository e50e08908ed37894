"""Rows set by hand: nothing set changes no bit; a set row's context is the row times the values; what follows changes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from seqline.intervene import Cut, Row, by_hand, is_by_hand, set_rows
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.reading import source_readers
from seqline.parts.attention import Attention, SourceAttention
from seqline.parts.coverage import CoverageAttention
from seqline.parts.head_attention import HeadAttention
from seqline.parts.scores import DotScore
from seqline.parts.self_attention import MultiHeadAttention
from seqline.watch import watch

from .small_models import SOURCE_SIZE, TARGET_SIZE, make_model, random_weights

ROW = (0.0, 0.25, 0.75, 0.0)
ATTENDING = ["luong-fed-dot", "luong-unfed-general", "luong-unfed-local-m", "luong-coverage", "luong-heads", "bahdanau",
             "bahdanau-coverage", "transformer", "transformer-pre-alibi", "ssru", "conv"]  # fmt: skip


def sources() -> list[SourceAttention]:
    return [Attention(DotScore()), CoverageAttention(6, 6, 5), HeadAttention(6, 6, 2)]


@pytest.mark.parametrize("number", range(3))
def test_the_context_of_a_set_row_is_the_row_times_the_values(number: int) -> None:
    part = random_weights(sources()[number])
    outputs, query = torch.randn(1, 4, 6).double(), torch.randn(1, 3, 6).double()
    memory = part.prepare(outputs, torch.ones(1, 4, dtype=torch.bool))
    free = part(query, memory)
    with set_rows({part: [Row(2, ROW)]}):
        forced = part(query, memory)
    context = torch.tensor(ROW).double() @ memory.values
    torch.testing.assert_close(forced[0, 1], context.flatten(), rtol=0, atol=1e-12)
    assert torch.equal(forced[0, 0], free[0, 0])
    if isinstance(part, CoverageAttention):  # what was read before counts, so the third row is another one too
        assert not torch.equal(forced[0, 2], free[0, 2])
    else:
        assert torch.equal(forced[0, 2], free[0, 2])


def test_one_head_alone_is_set_and_the_fused_path_steps_aside() -> None:
    part = random_weights(MultiHeadAttention(6, 2))
    x, query = torch.randn(1, 4, 6).double(), torch.randn(1, 3, 6).double()
    memory = part.prepare(x, torch.ones(1, 4, dtype=torch.bool))
    with set_rows({part: [Row(3, ROW, head=1)]}), watch() as frames:
        part(query, memory)
    with watch() as free:
        part(query, memory)
    weights, before = frames[0].values["weights"], free[0].values["weights"]
    assert weights[0, 1, 2].tolist() == list(ROW)
    weights[0, 1, 2] = before[0, 1, 2]
    assert torch.equal(weights, before)
    with set_rows({part: [Row(3, ROW)]}):
        explicit = part(query, memory)  # unwatched: torch's kernel would not know of the row
    assert not torch.allclose(explicit[0, 2], part(query, memory)[0, 2])


def test_queries_are_counted_over_calls_and_from_each_beginning() -> None:
    part, weights = nn.Linear(1, 1), torch.full((1, 1, 2), 0.5)
    for _ in range(2):
        with set_rows({part: [Row(2, (1.0, 0.0))]}):
            assert is_by_hand(part)
            assert not is_by_hand(nn.Linear(1, 1))
            rows = [by_hand(part, weights) for _ in range(3)]
        assert [row.flatten().tolist() for row in rows] == [[0.5, 0.5], [1.0, 0.0], [0.5, 0.5]]
    assert by_hand(part, weights) is weights
    assert not is_by_hand(part)


def logits_of(model: EncoderDecoder, source: Tensor, fed: Tensor, is_stepwise: bool) -> Tensor:
    memory = model.decoder.prepare(model.encoder(source, torch.ones_like(source, dtype=torch.bool)))
    state = model.decoder.initial_state(memory, 1)
    if not is_stepwise:
        return model.decoder(fed, state, memory)[0]
    found = []
    for column in fed.unbind(1):
        logits, state = model.decoder(column[:, None], state, memory)
        found.append(logits)
    return torch.cat(found, dim=1)


@pytest.mark.parametrize("name", ATTENDING)
def test_a_set_row_changes_its_step_and_what_follows_and_nothing_before_it(name: str) -> None:
    model = make_model(name)
    source = torch.tensor([[4, 7, 5, 1]]) % SOURCE_SIZE
    fed = torch.tensor([[2, 4, 5, 6, 7]]) % TARGET_SIZE
    parts = source_readers(model.decoder)
    assert parts
    rows = {part: [Row(2, ROW)] for part in parts}
    free = logits_of(model, source, fed, is_stepwise=True)
    found = []
    for is_stepwise in (True, False):
        with set_rows(rows):
            found.append(logits_of(model, source, fed, is_stepwise))
    torch.testing.assert_close(found[0], found[1], rtol=0, atol=1e-10)
    torch.testing.assert_close(found[0][0, 0], free[0, 0], rtol=0, atol=1e-10)  # by the formula, not by torch's kernel
    assert not torch.allclose(found[0][0, 1], free[0, 1], rtol=0, atol=1e-9)
    assert torch.equal(free, logits_of(model, source, fed, is_stepwise=True))
    with set_rows({}):
        assert torch.equal(free, logits_of(model, source, fed, is_stepwise=True))


def test_a_gradient_passes_beside_a_set_row() -> None:
    part = random_weights(Attention(DotScore()))
    outputs = torch.randn(1, 4, 6).double().requires_grad_()
    memory = part.prepare(outputs, torch.ones(1, 4, dtype=torch.bool))
    with set_rows({part: [Row(1, ROW)]}):
        part(torch.randn(1, 1, 6).double(), memory).sum().backward()
    assert outputs.grad is not None
    torch.testing.assert_close(outputs.grad[0], torch.tensor(ROW).double()[:, None].expand(4, 6))


def test_a_cut_takes_keys_out_and_scales_the_rest() -> None:
    part = random_weights(MultiHeadAttention(6, 2))
    x, query = torch.randn(2, 4, 6).double(), torch.randn(2, 3, 6).double()
    memory = part.prepare(x, torch.ones(2, 4, dtype=torch.bool))
    with watch() as free:
        part(query, memory)
    with set_rows({part: [Cut(2, (0, 3)), Cut(3, (1,), head=1), Cut(1, (0, 1, 2, 3))]}), watch() as frames:
        part(query, memory)
    before, weights = free[0].values["weights"], frames[0].values["weights"]
    left = before[:, :, 1, 1:3]
    torch.testing.assert_close(weights[:, :, 1, 1:3], left / left.sum(-1, keepdim=True), rtol=0, atol=1e-12)
    assert not weights[:, :, 1, [0, 3]].any()
    assert not weights[:, 1, 2, 1].any()
    assert torch.equal(weights[:, 0, 2], before[:, 0, 2])
    assert not weights[:, :, 0].any()  # nothing is left to read
