"""A Transformer block is torch's layer (norm after or before, relu or gelu), in values and in all gradients."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from seqline.models.blocks import DecoderBlock, EncoderBlock
from seqline.parts.feed_forward import FeedForward
from seqline.parts.residual import PostNorm, PreNorm, Residual
from seqline.parts.self_attention import CausalSelfAttention, MultiHeadAttention, SelfAttention

from ..small_models import assert_equal, gradients, make_batch, make_model, random_weights, right_padded

WIDTH, NUM_HEADS, INNER_SIZE = 6, 2, 10  # also those of the small model
LENGTHS, LENGTH = [5, 1, 3], 5
SOURCE_LENGTHS, SOURCE_LENGTH = [4, 7, 1], 7

ENCODER_PARTS = {
    "self_attn": "attention.attention",
    "norm1": "around_attention.norm",
    "linear1": "feed_forward.expand",
    "linear2": "feed_forward.contract",
    "norm2": "around_feed_forward.norm",
}
DECODER_PARTS = {
    "self_attn": "mixer.attention",
    "norm1": "around_mixer.norm",
    "multihead_attn": "cross_attention",
    "norm2": "around_cross.norm",
    "linear1": "feed_forward.expand",
    "linear2": "feed_forward.contract",
    "norm3": "around_feed_forward.norm",
}

every_arrangement = pytest.mark.parametrize("is_norm_first", [False, True], ids=["post", "pre"])
every_activation = pytest.mark.parametrize("activation", ["relu", "gelu"])


def make_residual(is_norm_first: bool) -> Residual:
    return (PreNorm if is_norm_first else PostNorm)(nn.LayerNorm(WIDTH), 0.0)


def make_feed_forward(activation: str) -> FeedForward:
    return FeedForward(WIDTH, INNER_SIZE, 0.0, {"relu": nn.ReLU, "gelu": nn.GELU}[activation]())


def attention() -> MultiHeadAttention:
    return MultiHeadAttention(WIDTH, NUM_HEADS)


def in_torchs_order(names: list[str], tensors: dict[str, Tensor], parts: dict[str, str]) -> list[Tensor]:
    """Return our tensors under torch's parameter names: query, key and value stand in one matrix there."""
    found = []
    for name in names:
        part, _, rest = name.partition(".")
        if rest.startswith("in_proj_"):
            kind = rest.removeprefix("in_proj_")
            found.append(torch.cat([tensors[f"{parts[part]}.{p}.{kind}"] for p in ("query", "key", "value")]))
        else:
            found.append(tensors[f"{parts[part]}.{rest.replace('out_proj', 'output')}"])
    return found


def load(ours: nn.Module, theirs: nn.Module, parts: dict[str, str]) -> list[str]:
    names = [name for name, _ in theirs.named_parameters()]
    values = in_torchs_order(names, dict(ours.named_parameters()), parts)
    theirs.load_state_dict(dict(zip(names, values, strict=True)), strict=True)
    return names


def own_gradients(
    ours: nn.Module, names: list[str], parts: dict[str, str], inputs: list[Tensor], y: Tensor
) -> list[Tensor]:
    own = dict(ours.named_parameters())
    found = gradients([*own.values(), *inputs], y)
    split = len(own)
    return [*in_torchs_order(names, dict(zip(own, found[:split], strict=True)), parts), *found[split:]]


def make_input(length: int, mask: Tensor) -> Tensor:
    x = torch.randn(len(LENGTHS), length, WIDTH, dtype=torch.float64)
    x[~mask] = 1e2
    return x.requires_grad_()


@every_arrangement
@every_activation
def test_the_encoder_block_is_torchs(is_norm_first: bool, activation: str) -> None:
    feed_forward = make_feed_forward(activation)
    ours = random_weights(EncoderBlock(SelfAttention(attention()), feed_forward, lambda: make_residual(is_norm_first)))
    theirs = nn.TransformerEncoderLayer(
        WIDTH, NUM_HEADS, INNER_SIZE, 0.0, activation, batch_first=True, norm_first=is_norm_first
    ).double()
    names = load(ours, theirs, ENCODER_PARTS)
    mask = right_padded(LENGTHS, LENGTH)
    x = make_input(LENGTH, mask)
    got, expected = ours(x, mask)[mask], theirs(x, src_key_padding_mask=~mask)[mask]
    assert_equal([got], [expected])
    assert_equal(own_gradients(ours, names, ENCODER_PARTS, [x], got), gradients([*theirs.parameters(), x], expected))


@every_arrangement
@every_activation
def test_the_decoder_block_is_torchs(is_norm_first: bool, activation: str) -> None:
    feed_forward, mixer = make_feed_forward(activation), CausalSelfAttention(attention())
    ours = random_weights(DecoderBlock(mixer, attention(), feed_forward, lambda: make_residual(is_norm_first)))
    theirs = nn.TransformerDecoderLayer(
        WIDTH, NUM_HEADS, INNER_SIZE, 0.0, activation, batch_first=True, norm_first=is_norm_first
    ).double()
    names = load(ours, theirs, DECODER_PARTS)
    mask, source_is_real = right_padded(LENGTHS, LENGTH), right_padded(SOURCE_LENGTHS, SOURCE_LENGTH)
    x, source = make_input(LENGTH, mask), make_input(SOURCE_LENGTH, source_is_real)
    later = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)

    memory = ours.cross_attention.prepare(source, source_is_real)
    got, _ = ours(x, ours.initial_state(len(LENGTHS)), memory, mask)
    expected = theirs(x, source, tgt_mask=later, tgt_key_padding_mask=~mask, memory_key_padding_mask=~source_is_real)

    assert_equal([got[mask]], [expected[mask]])
    assert_equal(
        own_gradients(ours, names, DECODER_PARTS, [x, source], got[mask]),
        gradients([*theirs.parameters(), x, source], expected[mask]),
    )


def with_positions(embedding: Any, ids: Tensor) -> Tensor:
    """Return sqrt(D) E[id] + PE(p) at each p, the sinusoid written out."""
    angles = [[p / 10_000 ** (2 * (i // 2) / WIDTH) for i in range(WIDTH)] for p in range(ids.shape[1])]
    table = [[math.cos(a) if i % 2 else math.sin(a) for i, a in enumerate(row)] for row in angles]
    return embedding.table.weight[ids] * math.sqrt(WIDTH) + torch.tensor(table, dtype=torch.float64)


def test_the_whole_model_is_torchs_layers_behind_positions() -> None:
    model, batch = make_model("transformer"), make_batch()
    encoder: Any = model.encoder
    decoder: Any = model.decoder
    x, padding = with_positions(encoder.embedding, batch.source), ~batch.source_is_real
    for layer in encoder.blocks:
        reference = nn.TransformerEncoderLayer(WIDTH, NUM_HEADS, INNER_SIZE, 0.0, batch_first=True).double()
        load(layer, reference, ENCODER_PARTS)
        x = reference(x, src_key_padding_mask=padding)
    y = with_positions(decoder.embedding, batch.target_in)
    later = torch.ones(y.shape[1], y.shape[1], dtype=torch.bool).triu(1)
    for layer in decoder.blocks:
        reference = nn.TransformerDecoderLayer(WIDTH, NUM_HEADS, INNER_SIZE, 0.0, batch_first=True).double()
        load(layer, reference, DECODER_PARTS)
        y = reference(y, x, tgt_mask=later, memory_key_padding_mask=padding)
    expected = y @ decoder.embedding.table.weight.T + decoder.head.bias

    logits = model(batch.source, batch.source_is_real, batch.target_in)

    assert_equal([logits[batch.target_is_real]], [expected[batch.target_is_real]])
