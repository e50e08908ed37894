"""Blocks take any mixer, and a block that is left out changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from seqline.models.blocks import BlockDecoder, BlockEncoder, CausalBlock, DecoderBlock, EncoderBlock
from seqline.parts.cells import GRUCell
from seqline.parts.embeddings import Embedding
from seqline.parts.feed_forward import FeedForward
from seqline.parts.heads import VocabularyHead
from seqline.parts.positions import AddPositions, Sinusoid
from seqline.parts.recurrent import Recurrent
from seqline.parts.residual import LayerDrop, PreNorm
from seqline.parts.self_attention import MultiHeadAttention, SelfAttention
from seqline.state import Encoded

from ..small_models import assert_equal, random_weights, right_padded

WIDTH, NUM_HEADS, BATCH, LENGTH = 6, 2, 3, 5


def make_residual() -> PreNorm:
    return PreNorm(nn.LayerNorm(WIDTH), 0.0)


def make_feed_forward() -> FeedForward:
    return FeedForward(WIDTH, 10, 0.0)


def make_mixer() -> Recurrent:
    return Recurrent(GRUCell(WIDTH, WIDTH))


def causal_block(layer_drop: float = 0.0) -> Any:
    return random_weights(CausalBlock(make_mixer(), make_feed_forward(), make_residual, layer_drop))


def decoder_block(layer_drop: float = 0.0) -> Any:
    cross = MultiHeadAttention(WIDTH, NUM_HEADS)
    return random_weights(DecoderBlock(make_mixer(), cross, make_feed_forward(), make_residual, layer_drop))


def encoder_block(layer_drop: float = 0.0) -> Any:
    attention = SelfAttention(MultiHeadAttention(WIDTH, NUM_HEADS))
    return random_weights(EncoderBlock(attention, make_feed_forward(), make_residual, layer_drop))


def make_input(length: int = LENGTH) -> torch.Tensor:
    return torch.randn(BATCH, length, WIDTH, dtype=torch.float64)


def test_a_causal_block_is_its_parts_in_order() -> None:
    block, x = causal_block(), make_input()
    y, state = block(x, block.initial_state(BATCH))
    change, expected_state = block.mixer(block.around_mixer.norm(x), block.mixer.initial_state(BATCH))
    u = x + change
    assert_equal([y, state], [u + block.feed_forward(block.around_feed_forward.norm(u)), expected_state])


def test_a_decoder_block_reads_the_memory_between_mixer_and_feed_forward() -> None:
    block, x, outputs = decoder_block(), make_input(), make_input(7)
    memory = block.cross_attention.prepare(outputs, right_padded([7, 1, 4], 7))
    y, state = block(x, block.initial_state(BATCH), memory)
    change, expected_state = block.mixer(block.around_mixer.norm(x), block.mixer.initial_state(BATCH))
    u = x + change
    u = u + block.cross_attention(block.around_cross.norm(u), memory)
    assert_equal([y, state], [u + block.feed_forward(block.around_feed_forward.norm(u)), expected_state])


def test_any_mixer_splits_anywhere() -> None:
    block, x, real = causal_block(), make_input(), right_padded([5, 1, 3], LENGTH)
    whole, end = block(x, block.initial_state(BATCH), real)
    for cut in range(1, LENGTH):
        first, state = block(x[:, :cut], block.initial_state(BATCH), real[:, :cut])
        second, state = block(x[:, cut:], state, real[:, cut:])
        assert_equal([torch.cat([first, second], 1)[real], state], [whole[real], end])


@pytest.mark.parametrize("is_training", [True, False])
def test_a_block_that_is_left_out_is_the_identity(is_training: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_training:
        monkeypatch.setattr(torch, "rand", torch.zeros)
    x, real = make_input(), right_padded([5, 1, 3], LENGTH)
    causal, decoder, encoder = (make(0.5).train(is_training) for make in (causal_block, decoder_block, encoder_block))
    start: Any = causal.initial_state(BATCH)
    memory = decoder.cross_attention.prepare(x, real)
    y, state = causal(x, start, real)
    z, decoder_state = decoder(x, start, memory, real)
    w = encoder(x, real)
    for output in (y, z, w):
        assert torch.equal(output, x) == is_training
    for after in (state, decoder_state):
        assert (after is start) == is_training


def test_a_layer_left_out_half_the_time_learns_nothing_then() -> None:
    blocks = [encoder_block(0.5) for _ in range(2)]
    encoder = BlockEncoder(Embedding(9, WIDTH, 0.0), AddPositions(Sinusoid()), blocks, nn.Identity()).double().train()
    ids, real = torch.randint(9, (BATCH, LENGTH)), right_padded([5, 1, 3], LENGTH)
    patterns = set()
    for _ in range(40):
        encoder.zero_grad()
        encoder(ids, real).outputs.square().sum().backward()
        patterns.add(tuple(block.feed_forward.expand.weight.grad is not None for block in blocks))
    assert len(patterns) == 4


def test_the_last_norm_stands_behind_the_blocks() -> None:
    table, before, after = Embedding(9, WIDTH, 0.0), AddPositions(Sinusoid()), nn.LayerNorm(WIDTH)
    ids, real = torch.randint(9, (BATCH, LENGTH)), right_padded([5, 1, 3], LENGTH)
    encoder = random_weights(BlockEncoder(table, before, [encoder_block()], after))
    outputs = encoder(ids, real).outputs
    encoder.after = nn.Identity()
    assert_equal([outputs], [after(encoder(ids, real).outputs)])

    head = VocabularyHead(WIDTH, 9, tied=table.weight)
    decoder = random_weights(BlockDecoder(table, before, [decoder_block()], after, head))
    memory = decoder.prepare(Encoded(outputs, real, None))
    logits, state = decoder(ids, decoder.initial_state(memory, BATCH), memory, real)
    x, num_read = before(table(ids), before.initial_state(BATCH), real)
    block: Any = decoder.blocks[0]
    y, _ = block(x, block.initial_state(BATCH), memory[0], real)
    assert_equal([logits], [head(after(y))])
    assert torch.equal(state.before, num_read)


def test_layer_drop_is_a_part_of_every_block() -> None:
    for block in (causal_block(0.25), decoder_block(0.25), encoder_block(0.25)):
        assert [module.p for module in block.modules() if isinstance(module, LayerDrop)] == [0.25]
