"""A Transformer layer is torch's (post-norm, relu), in values and in all gradients."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from seqline.models.decoder import TransformerDecoderLayer
from seqline.models.encoder import TransformerEncoderLayer

from ..small_models import assert_equal, gradients, random_weights, right_padded

WIDTH, NUM_HEADS, INNER_SIZE = 6, 2, 10
LENGTHS, LENGTH = [5, 1, 3], 5
SOURCE_LENGTHS, SOURCE_LENGTH = [4, 7, 1], 7

ENCODER_PARTS = {
    "self_attn": "attention",
    "norm1": "after_attention.norm",
    "linear1": "feed_forward.expand",
    "linear2": "feed_forward.contract",
    "norm2": "after_feed_forward.norm",
}
DECODER_PARTS = {
    "self_attn": "self_attention.attention",
    "norm1": "after_self.norm",
    "multihead_attn": "cross_attention",
    "norm2": "after_cross.norm",
    "linear1": "feed_forward.expand",
    "linear2": "feed_forward.contract",
    "norm3": "after_feed_forward.norm",
}


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


def test_the_encoder_layer_is_torchs() -> None:
    ours = random_weights(TransformerEncoderLayer(WIDTH, NUM_HEADS, INNER_SIZE, 0.0))
    theirs = nn.TransformerEncoderLayer(WIDTH, NUM_HEADS, INNER_SIZE, 0.0, batch_first=True).double()
    names = load(ours, theirs, ENCODER_PARTS)
    mask = right_padded(LENGTHS, LENGTH)
    x = make_input(LENGTH, mask)
    got, expected = ours(x, mask)[mask], theirs(x, src_key_padding_mask=~mask)[mask]
    assert_equal([got], [expected])
    assert_equal(own_gradients(ours, names, ENCODER_PARTS, [x], got), gradients([*theirs.parameters(), x], expected))


def test_the_decoder_layer_is_torchs() -> None:
    ours = random_weights(TransformerDecoderLayer(WIDTH, NUM_HEADS, INNER_SIZE, 0.0))
    theirs = nn.TransformerDecoderLayer(WIDTH, NUM_HEADS, INNER_SIZE, 0.0, batch_first=True).double()
    names = load(ours, theirs, DECODER_PARTS)
    mask, source_is_real = right_padded(LENGTHS, LENGTH), right_padded(SOURCE_LENGTHS, SOURCE_LENGTH)
    x, source = make_input(LENGTH, mask), make_input(SOURCE_LENGTH, source_is_real)
    later = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)

    memory = ours.cross_attention.prepare(source, source_is_real)
    got, _ = ours(x, ours.self_attention.initial_state(len(LENGTHS)), memory, mask)
    expected = theirs(x, source, tgt_mask=later, tgt_key_padding_mask=~mask, memory_key_padding_mask=~source_is_real)

    assert_equal([got[mask]], [expected[mask]])
    assert_equal(
        own_gradients(ours, names, DECODER_PARTS, [x, source], got[mask]),
        gradients([*theirs.parameters(), x, source], expected[mask]),
    )
