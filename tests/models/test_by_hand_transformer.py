"""The Transformer and what came after it against the equations in NumPy, one position at a time."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.parts.attention_positions import RelativeBias
from seqline.parts.cells import Cell
from seqline.parts.linear_cells import MinGRUCell, SSRUCell
from seqline.parts.recurrent import Recurrent

from ..small_models import TOLERANCE, make_batch, random_weights
from .by_hand import ByHand, Vector, run, sentences, sigmoid
from .test_by_hand import check

WIDTH, HEADS = 8, 2
SIZES = {"embed_size": WIDTH, "num_heads": HEADS, "inner_size": 5, "num_layers": 2, "dropout": 0.3}


def sinusoid(position: int) -> Vector:
    found = np.zeros(WIDTH)
    for i in range(0, WIDTH, 2):
        angle = position / 10000 ** (i / WIDTH)
        found[i], found[i + 1] = np.sin(angle), np.cos(angle)
    return found


def embedded(hand: ByHand, side: str, words: list[int]) -> list[Vector]:
    return [np.sqrt(WIDTH) * x + sinusoid(t) for t, x in enumerate(hand.embed(side, words))]


def rectified(hand: ByHand, name: str, x: Vector) -> Vector:
    return hand.affine(f"{name}.contract", np.maximum(0, hand.affine(f"{name}.expand", x)))


def post_norm(hand: ByHand, name: str, xs: list[Vector], changes: list[Vector]) -> list[Vector]:
    return [hand.layer_norm(f"{name}.norm", x + change) for x, change in zip(xs, changes, strict=True)]


def transformer(hand: ByHand, source: list[int], target: list[int], _: dict[str, Any]) -> list[Vector]:
    x = embedded(hand, "encoder.", source)
    for layer in range(2):
        name = f"encoder.blocks.{layer}"
        x = post_norm(hand, f"{name}.around_attention", x, hand.heads(f"{name}.attention.attention", x, x, HEADS))
        x = post_norm(hand, f"{name}.around_feed_forward", x, [rectified(hand, f"{name}.feed_forward", u) for u in x])
    memory, y = x, embedded(hand, "decoder.", target)
    for layer in range(2):
        name = f"decoder.blocks.{layer}"
        seen = hand.heads(f"{name}.mixer.attention", y, y, HEADS, is_causal=True)
        y = post_norm(hand, f"{name}.around_mixer", y, seen)
        y = post_norm(hand, f"{name}.around_cross", y, hand.heads(f"{name}.cross_attention", y, memory, HEADS))
        y = post_norm(hand, f"{name}.around_feed_forward", y, [rectified(hand, f"{name}.feed_forward", u) for u in y])
    return [hand.affine("decoder.head", z) for z in y]


def test_transformer() -> None:
    check("transformer", SIZES, transformer)


def check_language_model(settings: dict[str, Any], by_hand: Any, name: str = "transformer-pre") -> None:
    """Compare a pre-norm language model's logits with those of `by_hand(ByHand, words)`."""
    recipe = ARCHITECTURES[name]
    assert recipe.language_model is not None
    model = random_weights(recipe.language_model(recipe.settings(**SIZES, **settings), Vocabulary(11, 11, True)))
    batch, hand = make_batch(), ByHand(model)
    logits, _ = model(batch.source, model.initial_state(None, len(batch.source)), None, batch.source_is_real)
    for row, words in enumerate(sentences(batch.source, batch.source_is_real)):
        found = logits[row, : len(words)].detach().numpy()
        assert np.abs(found - np.stack(by_hand(hand, words))).max() <= TOLERANCE


def rms_norm(hand: ByHand, name: str, x: Vector) -> Vector:
    return x / np.sqrt((x**2).mean() + 1e-6) * hand.weights[f"{name}.weight"]


def gated(hand: ByHand, name: str, x: Vector) -> Vector:
    gate, value, out = (hand.weights[f"{name}.{part}.weight"] for part in ("gate", "expand", "contract"))
    return out @ (gate @ x * sigmoid(gate @ x) * (value @ x))


def rotate(x: Vector, position: int) -> Vector:
    """Turn each pair, seen as a complex number, by its angle."""
    turned = (x[0::2] + 1j * x[1::2]) * np.exp(1j * position / 10000 ** (np.arange(0, len(x), 2) / len(x)))
    return np.stack([turned.real, turned.imag], axis=1).ravel()


def modern(hand: ByHand, words: list[int]) -> list[Vector]:
    """Pre-norm, RMSNorm, SwiGLU, rotary positions, one head of keys for both heads of queries."""
    x = [np.sqrt(WIDTH) * e for e in hand.embed("", words)]
    for layer in (1, 2):
        name = f"layers.layers.{layer}"
        normal = [rms_norm(hand, f"{name}.around_mixer.norm", u) for u in x]
        seen = hand.heads(f"{name}.mixer.attention", normal, normal, HEADS, is_causal=True, turn=rotate)
        x = [u + change for u, change in zip(x, seen, strict=True)]
        x = [u + gated(hand, f"{name}.feed_forward", rms_norm(hand, f"{name}.around_feed_forward.norm", u)) for u in x]
    return [hand.affine("head", rms_norm(hand, "layers.layers.3.module", u)) for u in x]


def test_pre_norm_with_rms_swiglu_rotary_and_shared_keys() -> None:
    settings = {"norm": "rms", "feed_forward": "swiglu", "positions": "rotary", "num_key_heads": 1}
    check_language_model(settings, modern)


def pre_norm(hand: ByHand, words: list[int], bias: Any) -> list[Vector]:
    """Pre-norm, LayerNorm, ReLU; bias(layer's name, head, t, s) is added to the score of query t and key s."""
    x = [np.sqrt(WIDTH) * e for e in hand.embed("", words)]
    for layer in (1, 2):
        name = f"layers.layers.{layer}"
        normal = [hand.layer_norm(f"{name}.around_mixer.norm", u) for u in x]
        seen = hand.heads(
            f"{name}.mixer.attention",
            normal,
            normal,
            HEADS,
            is_causal=True,
            bias=partial(bias, name),
        )
        x = [u + change for u, change in zip(x, seen, strict=True)]
        normal = [hand.layer_norm(f"{name}.around_feed_forward.norm", u) for u in x]
        x = [u + rectified(hand, f"{name}.feed_forward", v) for u, v in zip(x, normal, strict=True)]
    return [hand.affine("head", hand.layer_norm("layers.layers.3.module", u)) for u in x]


def with_alibi(hand: ByHand, words: list[int]) -> list[Vector]:
    """A penalty of 2^(-8h/H) a step of distance in head h = 1 ... H."""
    return pre_norm(hand, words, lambda name, head, t, s: -(2.0 ** (-8 * (head + 1) / HEADS)) * (t - s))


def test_pre_norm_with_alibi() -> None:
    check_language_model({"norm": "layer", "feed_forward": "relu", "positions": "alibi"}, with_alibi)


def bucket(distance: int) -> int:
    """Of 32 buckets the first 16 hold one distance each; the others grow by a constant factor towards 128."""
    if distance < 16:
        return distance
    return min(31, 16 + int(16 * np.log(distance / 16) / np.log(128 / 16)))


def with_relative(hand: ByHand, words: list[int]) -> list[Vector]:
    """A learned number for each head and bucket of the distance t - s."""
    tables = {name: table for name, table in hand.weights.items() if name.endswith("positions.table")}
    assert len(tables) == 2, sorted(hand.weights)

    def bias(name: str, head: int, t: int, s: int) -> float:
        (table,) = (table for key, table in tables.items() if key.startswith(f"{name}."))
        return table[head, bucket(t - s)]

    return pre_norm(hand, words, bias)


def test_pre_norm_with_relative_positions() -> None:
    check_language_model({"norm": "layer", "feed_forward": "relu", "positions": "relative"}, with_relative)


def test_far_distances_share_buckets() -> None:
    """The table of starts holds the buckets of every distance."""
    part = RelativeBias(HEADS, is_causal=True)
    distances = torch.arange(-300, 1)
    found = part.of_distance(distances).detach().numpy()
    expected = part.table.detach().numpy()[:, [bucket(-int(d)) for d in distances]]
    assert (found == expected).all()


def check_cell(cell: Cell, by_hand: Any) -> None:
    """Compare a cell's scan over three rows with steps of `by_hand(ByHand) -> step(x, state)`."""
    layer, x = Recurrent(random_weights(cell)), torch.randn(3, 7, 4, dtype=torch.float64)
    found, last = layer(x, torch.full((3, 5), 0.5, dtype=torch.float64))
    for row in range(3):
        states = run(by_hand(ByHand(cell)), list(x[row].numpy()), np.full(5, 0.5))
        expected = [cell.output_of(torch.from_numpy(state)[None])[0].numpy() for state in states]
        assert np.abs(found[row].detach().numpy() - np.stack(expected)).max() <= TOLERANCE
        assert np.abs(last[row].detach().numpy() - states[-1]).max() <= TOLERANCE


def test_ssru() -> None:
    def step_of(hand: ByHand) -> Any:
        def step(x: Vector, c: Vector) -> Vector:
            f = sigmoid(hand.affine("gate", x))
            return f * c + (1 - f) * (hand.weights["candidate.weight"] @ x)

        return step

    check_cell(SSRUCell(4, 5), step_of)


def test_min_gru() -> None:
    def step_of(hand: ByHand) -> Any:
        def step(x: Vector, h: Vector) -> Vector:
            z = sigmoid(hand.affine("gate", x))
            return (1 - z) * h + z * hand.affine("candidate", x)

        return step

    check_cell(MinGRUCell(4, 5), step_of)
