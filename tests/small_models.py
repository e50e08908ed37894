"""Small models whose weights hide nothing, and ragged sentences: what the tests of parts and models start from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.data.batch import Batch, Example, collate
from seqline.models.encoder_decoder import EncoderDecoder

Module = TypeVar("Module", bound=nn.Module)

TOLERANCE = 1e-10
SOURCE_SIZE, TARGET_SIZE = 11, 9
LENGTHS = [(3, 4), (1, 1), (8, 7), (5, 2)]  # source and target ids of each example, eos and bos not counted

_STACKED = {"embed_size": 6, "hidden_size": 8, "num_layers": 2, "dropout": 0.3}
_ATTENDING = {"embed_size": 6, "hidden_size": 8, "attention_size": 5, "dropout": 0.3}
_BLOCKS = {"embed_size": 8, "num_heads": 2, "inner_size": 10, "num_layers": 2, "dropout": 0.3}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "encoder-decoder-simple": ("encoder-decoder", {**_STACKED, "cell": "simple"}),
    "encoder-decoder-lstm": ("encoder-decoder", {**_STACKED, "cell": "lstm"}),
    "contextual-final": ("contextual", {**_STACKED, "summary": "final"}),
    "contextual-mean": ("contextual", {**_STACKED, "cell": "lstm", "summary": "mean"}),
    "encoder-decoder-relu": ("encoder-decoder", {**_STACKED, "cell": "simple", "activation": "relu", "bridge": "mean"}),
    "encoder-decoder-peepholes": ("encoder-decoder", {**_STACKED, "cell": "lstm", "peepholes": True}),
    "encoder-decoder-linear": ("encoder-decoder", {**_STACKED, "cell": "lstm", "bridge": "linear"}),
    "encoder-decoder-residual": ("encoder-decoder", {**_STACKED, "cell": "ssru", "residual": True}),
    "encoder-decoder-min-gru": ("encoder-decoder", {**_STACKED, "cell": "min-gru"}),
    "contextual-zeros": ("contextual", {**_STACKED, "bridge": "zeros"}),
    "sutskever": ("sutskever", _STACKED),
    "cho": ("cho", {"embed_size": 6, "hidden_size": 8, "dropout": 0.3}),
    "luong-fed-dot": ("luong", {**_STACKED, "score": "dot"}),
    "luong-fed-lstm": ("luong", {**_STACKED, "cell": "lstm", "score": "general"}),
    "luong-unfed-concat": ("luong", {**_STACKED, "score": "concat", "attention_size": 5, "input_feeding": False}),
    "luong-unfed-general": ("luong", {**_STACKED, "score": "general", "input_feeding": False}),
    "luong-unfed-local-m": ("luong", {**_STACKED, "window": "local-m", "window_size": 2, "input_feeding": False}),
    "luong-both-ways-local-p": ("luong", {**_STACKED, "window": "local-p", "encoder": "bidirectional"}),
    "luong-location": ("luong", {**_STACKED, "score": "location", "location_length": 9, "bridge": "linear"}),
    "luong-coverage": ("luong", {**_STACKED, "score": "concat", "coverage": True, "encoder": "position-embedding"}),
    "luong-heads": ("luong", {**_STACKED, "score": "multi-head", "num_heads": 2, "encoder": "convolution"}),
    "bahdanau": ("bahdanau", {"embed_size": 6, "hidden_size": 8, "attention_size": 5, "dropout": 0.3}),
    "bahdanau-coverage": ("bahdanau", {**_ATTENDING, "coverage": True, "encoder": "recurrent", "window": "local-p"}),
    "bahdanau-heads": ("bahdanau", {**_ATTENDING, "score": "multi-head", "encoder": "embedding"}),
    "transformer": (
        "transformer",
        {"embed_size": 6, "num_heads": 2, "inner_size": 10, "num_layers": 2, "dropout": 0.3},
    ),
    "transformer-pre": ("transformer-pre", {**_BLOCKS, "attention_dropout": 0.2, "layer_drop": 0.2}),
    "transformer-pre-alibi": (
        "transformer-pre",
        {**_BLOCKS, "positions": "alibi", "norm": "rms", "feed_forward": "swiglu", "num_heads": 4, "num_key_heads": 2},
    ),
    "transformer-pre-relative": ("transformer-pre", {**_BLOCKS, "positions": "relative", "num_key_heads": 1}),
    "transformer-pre-learned": (
        "transformer-pre",
        {**_BLOCKS, "positions": "learned", "max_length": 200, "feed_forward": "relu"},
    ),
    "transformer-pre-sinusoidal": ("transformer-pre", {**_BLOCKS, "positions": "sinusoidal", "norm": "rms"}),
    "transformer-pre-none": ("transformer-pre", {**_BLOCKS, "positions": "none", "tie": "none", "layer_drop": 0.5}),
    "ssru": ("ssru", {"embed_size": 6, "num_heads": 2, "inner_size": 10, "num_layers": 2, "dropout": 0.3}),
    "conv": ("conv", {"embed_size": 6, "hidden_size": 8, "num_layers": 2, "kernel_size": 7, "dropout": 0.3}),
    "ttt-linear": (
        "ttt-linear",
        {"embed_size": 8, "num_heads": 2, "inner_size": 10, "num_layers": 2, "inner_batch": 4, "dropout": 0.3},
    ),
    "ttt-mlp": (
        "ttt-mlp",
        {"embed_size": 8, "num_heads": 2, "inner_size": 10, "num_layers": 2, "inner_batch": 3, "dropout": 0.3},
    ),
}


def random_weights(module: Module, seed: int = 1) -> Module:
    """Return the module in float64 and eval mode, every parameter from N(0, 0.3^2): no bias hides by being zero."""
    generator = torch.Generator().manual_seed(seed)
    module.double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * 0.3)
    return module


def make_model(variant: str) -> EncoderDecoder:
    """Return a variant with random weights."""
    name, settings = VARIANTS[variant]
    recipe = ARCHITECTURES[name]
    return random_weights(recipe.build(recipe.settings(**settings), Vocabulary(SOURCE_SIZE, TARGET_SIZE, False)))


def make_batch() -> Batch:
    """Return examples of different lengths, one of length 1."""
    generator = torch.Generator().manual_seed(2)
    examples = [
        Example(
            [*torch.randint(4, SOURCE_SIZE, (source,), generator=generator).tolist(), 3],
            torch.randint(4, TARGET_SIZE, (target,), generator=generator).tolist(),
        )
        for source, target in LENGTHS
    ]
    return collate(examples, range(len(examples)))


def right_padded(lengths: list[int], width: int) -> Tensor:
    """Return a mask [B width] whose rows hold `lengths` real entries, then pads."""
    return torch.arange(width) < torch.tensor(lengths)[:, None]


def gradients(parameters: Sequence[Tensor], *outputs: Tensor, may_be_unused: bool = False) -> list[Tensor]:
    """Return the gradients of a sum of all outputs in which each value has a weight of its own; of the unused, zeros."""
    generator = torch.Generator().manual_seed(3)
    loss = sum((y * torch.randn(y.shape, generator=generator, dtype=y.dtype)).sum() for y in outputs)
    assert isinstance(loss, Tensor)
    return list(torch.autograd.grad(loss, list(parameters), materialize_grads=may_be_unused))


def assert_equal(got: Sequence[Tensor], expected: Sequence[Tensor], tolerance: float = TOLERANCE) -> None:
    """Check two lists of tensors: the same shapes, and finite values at most `tolerance` apart."""
    assert [x.shape for x in got] == [x.shape for x in expected]
    for a, b in zip(got, expected, strict=True):
        assert torch.isfinite(a).all()
        assert a.numel() == 0 or (a - b).detach().abs().max().item() <= tolerance


def jacobian_support(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Return, for x [1 T D] and function(x) [1 T V], which [T_out T_in] pairs have any nonzero derivative.

    Each output is one random combination of its V values: 0 where all derivatives are 0, and almost surely only there.
    """
    x = x.detach().requires_grad_()
    outputs = function(x)[0]
    combined = (outputs * torch.randn(outputs.shape, dtype=outputs.dtype)).sum(-1)
    slopes = [torch.autograd.grad(output, x, retain_graph=True)[0][0] for output in combined]
    return (torch.stack(slopes) != 0).any(-1)
