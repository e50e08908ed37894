"""The recurrent recipes: which part each setting chooses, what settings refuse, parameters counted by hand, who sees what."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Features, Vocabulary
from seqline.models.encoder import ReversingEncoder
from seqline.parts import bridges, cells, linear_cells
from seqline.parts.cells import Cell, LSTMCell
from seqline.parts.embeddings import Embedding
from seqline.parts.recurrent import Recurrent, ResidualLayer, Stack, reverse_real
from seqline.state import tensors_of

from ..small_models import TOLERANCE, assert_equal, jacobian_support, random_weights, right_padded

VOCABULARY = Vocabulary(110, 90, is_shared=False)
W, V = VOCABULARY.source_size, VOCABULARY.target_size
SMALL = {"embed_size": 6, "hidden_size": 8, "num_layers": 2, "dropout": 0.3}
LENGTHS, LENGTH = [4, 1, 7, 6], 9


def settings_of(name: str, **changes: Any) -> Any:
    return ARCHITECTURES[name].settings(**{**ARCHITECTURES[name].sizes["tiny"], **changes})


def features_of(name: str, **settings: Any) -> Features:
    make = ARCHITECTURES[name].features
    assert make is not None
    features = make(ARCHITECTURES[name].settings(**SMALL, **settings), Vocabulary(11, 9, False))
    random_weights(features.encoder)
    return features


def kinds(model: nn.Module, family: type[nn.Module]) -> set[type[nn.Module]]:
    return {type(module) for module in model.modules() if isinstance(module, family)}


CHOSEN_CELLS: list[tuple[str, dict[str, Any], type[Cell]]] = [
    ("simple-rnn", {}, cells.SimpleCell),
    ("simple-rnn", {"activation": "relu"}, cells.SimpleReluCell),
    ("simple-rnn", {"activation": "identity"}, cells.SimpleIdentityCell),
    ("lstm", {}, cells.LSTMCell),
    ("lstm", {"peepholes": True}, cells.PeepholeLSTMCell),
    ("gru", {}, cells.GRUCell),
    ("gru", {"cell": "min-gru"}, linear_cells.MinGRUCell),
    ("birnn", {}, cells.SimpleCell),
    ("birnn", {"cell": "gru"}, cells.GRUCell),
    ("bilstm", {}, cells.LSTMCell),
    ("bilstm", {"peepholes": True}, cells.PeepholeLSTMCell),
    ("encoder-decoder", {}, cells.GRUCell),
    ("encoder-decoder", {"cell": "simple"}, cells.SimpleCell),
    ("encoder-decoder", {"cell": "simple", "activation": "tanh"}, cells.SimpleCell),
    ("encoder-decoder", {"cell": "simple", "activation": "relu"}, cells.SimpleReluCell),
    ("encoder-decoder", {"cell": "simple", "activation": "identity"}, cells.SimpleIdentityCell),
    ("encoder-decoder", {"cell": "lstm"}, cells.LSTMCell),
    ("encoder-decoder", {"cell": "lstm", "peepholes": True}, cells.PeepholeLSTMCell),
    ("encoder-decoder", {"cell": "ssru"}, linear_cells.SSRUCell),
    ("encoder-decoder", {"cell": "min-gru"}, linear_cells.MinGRUCell),
    ("sutskever", {}, cells.LSTMCell),
    ("cho", {}, cells.GRUCell),
    ("ssru", {}, linear_cells.SSRUCell),
]


def models_of(name: str, settings: Any) -> list[nn.Module]:
    recipe = ARCHITECTURES[name]
    made = [make(settings, VOCABULARY) for make in (recipe.build, recipe.language_model, recipe.features) if make]
    return [model.encoder if isinstance(model, Features) else model for model in made]


@pytest.mark.parametrize(("name", "changes", "cell"), CHOSEN_CELLS)
def test_settings_choose_the_cell(name: str, changes: dict[str, Any], cell: type[Cell]) -> None:
    for model in models_of(name, settings_of(name, **changes)):
        assert kinds(model, Cell) == {cell}


@pytest.mark.parametrize("name", ["encoder-decoder", "contextual"])
@pytest.mark.parametrize(
    ("bridge", "part"),
    [
        ("zeros", bridges.ZeroBridge),
        ("last", bridges.LastBridge),
        ("linear", bridges.LinearBridge),
        ("mean", bridges.MeanBridge),
    ],
)
def test_settings_choose_the_bridge(name: str, bridge: str, part: type[nn.Module]) -> None:
    build: Any = ARCHITECTURES[name].build
    assert type(build(settings_of(name, bridge=bridge), VOCABULARY).decoder.bridge) is part
    assert settings_of(name).bridge == "last"


@pytest.mark.parametrize("name", ["simple-rnn", "lstm", "gru", "encoder-decoder", "sutskever"])
def test_residual_joins_the_layers_above_the_first(name: str) -> None:
    settings = settings_of(name, num_layers=3, residual=True)
    stack = settings.stack(5)
    assert [type(layer) for layer in stack.layers] == [Recurrent, ResidualLayer, ResidualLayer]
    assert not kinds(settings_of(name, num_layers=3).stack(5), ResidualLayer)
    assert [layer.dropout.p for layer in stack.layers[1:]] == [settings.dropout] * 2


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("encoder-decoder", {"activation": "relu"}, "activation is for the simple cell; cell is gru"),
        ("encoder-decoder", {"cell": "gru", "peepholes": True}, "peepholes are for the lstm; cell is gru"),
        ("contextual", {"cell": "lstm", "activation": "tanh"}, "activation is for the simple cell; cell is lstm"),
        ("encoder-decoder", {"residual": True}, "num_layers of 2 or more"),
        ("lstm", {"residual": True}, "num_layers of 2 or more"),
        ("simple-rnn", {"activation": "sigmoid"}, "activation"),
        ("lstm", {"activation": "relu"}, "activation"),
        ("gru", {"cell": "lstm"}, "cell"),
        ("gru", {"peepholes": True}, "peepholes"),
        ("birnn", {"cell": "lstm"}, "cell"),
        ("bilstm", {"cell": "lstm"}, "cell"),
        ("encoder-decoder", {"bridge": "first"}, "bridge"),
        ("sutskever", {"bridge": "zeros"}, "bridge"),
        ("cho", {"num_layers": 2}, "num_layers"),
    ],
)
def test_what_does_not_apply_is_refused(name: str, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        settings_of(name, **changes)


def simple(inputs: int, width: int) -> int:
    return width * (inputs + width + 2)


def linear(inputs: int, outputs: int) -> int:
    return outputs * (inputs + 1)


E = H = 96
READOUT = linear(H, E)
ENCODER_DECODER = (W + V) * E + V + 2 * 3 * simple(E, H) + READOUT
COUNTS: list[tuple[str, str, dict[str, Any], int]] = [
    ("simple-rnn", "language_model", {}, V * E + V + simple(E, H) + READOUT),
    ("lstm", "language_model", {}, V * E + V + 4 * simple(E, H) + READOUT),
    ("lstm", "language_model", {"peepholes": True}, V * E + V + 4 * simple(E, H) + 3 * H + READOUT),
    ("gru", "language_model", {"num_layers": 2}, V * E + V + 6 * simple(E, H) + READOUT),
    ("gru", "language_model", {"cell": "min-gru"}, V * E + V + 2 * linear(E, H) + READOUT),
    ("gru", "features", {}, W * E + 3 * simple(E, H)),
    ("birnn", "features", {"num_layers": 2}, W * E + 2 * simple(E, H) + 2 * simple(2 * H, H)),
    ("bilstm", "features", {}, W * E + 8 * simple(E, H)),
    ("encoder-decoder", "build", {"bridge": "linear"}, ENCODER_DECODER + linear(H, H)),
    ("encoder-decoder", "build", {"bridge": "mean"}, ENCODER_DECODER + linear(H, H)),
    (
        "encoder-decoder",
        "build",
        {"cell": "lstm", "bridge": "linear"},
        ENCODER_DECODER + 2 * simple(E, H) + 2 * linear(H, H),
    ),
    ("encoder-decoder", "build", {"cell": "ssru"}, ENCODER_DECODER - 6 * simple(E, H) + 2 * (linear(E, H) + E * H)),
    ("sutskever", "build", {}, ENCODER_DECODER + 2 * simple(E, H)),
    ("cho", "build", {}, ENCODER_DECODER - READOUT + 3 * H * H + linear(H, H) + linear(H + E + H, 2 * E)),
]


@pytest.mark.parametrize(("name", "make", "changes", "expected"), COUNTS)
def test_parameters_are_counted_by_hand(name: str, make: str, changes: dict[str, Any], expected: int) -> None:
    model = getattr(ARCHITECTURES[name], make)(settings_of(name, **changes), VOCABULARY)
    model = model.encoder if isinstance(model, Features) else model
    assert sum(parameter.numel() for parameter in model.parameters()) == expected


@pytest.mark.parametrize(("name", "changes", "cell"), CHOSEN_CELLS)
def test_no_model_has_more_parameters_than_the_settings_say(name: str, changes: dict[str, Any], cell: type) -> None:
    settings = settings_of(name, **changes)
    for model in models_of(name, settings):
        assert sum(p.numel() for p in model.parameters()) <= settings.parameters_at_most(VOCABULARY)


FEATURES: list[tuple[str, dict[str, Any]]] = [
    ("simple-rnn", {"activation": "relu"}),
    ("lstm", {}),
    ("lstm", {"peepholes": True}),
    ("gru", {"cell": "min-gru", "residual": True}),
    ("birnn", {}),
    ("birnn", {"cell": "gru"}),
    ("bilstm", {}),
    ("bilstm", {"peepholes": True}),
]
every_feature_model = pytest.mark.parametrize(("name", "changes"), FEATURES)


@every_feature_model
def test_features_are_those_of_the_row_alone(name: str, changes: dict[str, Any]) -> None:
    features, mask = features_of(name, **changes), right_padded(LENGTHS, LENGTH)
    ids = torch.randint(4, 11, (4, LENGTH))
    encoded = features.encoder(ids, mask)
    assert encoded.outputs.shape == (4, LENGTH, features.size)
    assert torch.equal(encoded.is_real, mask)
    for row, length in enumerate(LENGTHS):
        alone = features.encoder(ids[row : row + 1, :length], mask[row : row + 1, :length])
        assert_equal([encoded.outputs[row : row + 1, :length]], [alone.outputs])
        assert_equal([t[row : row + 1] for t in tensors_of(encoded.final)], tensors_of(alone.final))


@every_feature_model
def test_features_see_the_past_or_both_sides(name: str, changes: dict[str, Any]) -> None:
    encoder: Any = features_of(name, **changes).encoder
    ids = torch.randint(4, 11, (1, 7))
    x = encoder.embedding(ids).detach()

    def from_vectors(vectors: Tensor) -> Tensor:
        encoder.embedding.forward = lambda ids: vectors
        try:
            return encoder(ids, torch.ones(1, 7, dtype=torch.bool)).outputs
        finally:
            del encoder.embedding.forward

    everything = torch.ones(7, 7, dtype=torch.bool)
    expected = everything if name.startswith("bi") else everything.tril()
    assert torch.equal(jacobian_support(from_vectors, x), expected)


def test_a_recipe_makes_the_models_that_it_fits() -> None:
    made = {
        name: [make is not None for make in (recipe.build, recipe.language_model, recipe.features)]
        for name, recipe in ARCHITECTURES.items()
    }
    for name in ("simple-rnn", "lstm", "gru"):
        assert made[name] == [False, True, True]
    for name in ("birnn", "bilstm"):
        assert made[name] == [False, False, True]
    for name in ("encoder-decoder", "contextual", "sutskever", "cho"):
        assert made[name] == [True, False, False]
    assert made["ssru"] == [True, True, True]


def make_reversing() -> Any:
    layers = [Recurrent(LSTMCell(3, 5)), Recurrent(LSTMCell(5, 5))]
    return random_weights(ReversingEncoder(Embedding(11, 3, 0.0), Stack(layers, 0.0)))


def test_the_words_are_read_backwards_and_the_end_mark_last() -> None:
    encoder, mask = make_reversing(), right_padded([5, 1, 3], 6)
    ids = torch.randint(4, 11, (3, 6)).masked_fill(~mask, 0)
    encoded = encoder(ids, mask)
    for row, length in enumerate([5, 1, 3]):
        words = ids[row, : length - 1].flip(0)
        read = torch.cat([words, ids[row, length - 1 : length]])[None]
        outputs, final = encoder.stack(encoder.embedding(read), encoder.stack.initial_state(1))
        # Output j belongs to token j: word j was read at step S - 2 - j, the end mark at the last.
        expected = torch.cat([outputs[0, : length - 1].flip(0), outputs[0, length - 1 :]])
        assert_equal([encoded.outputs[row, :length]], [expected])
        assert_equal([t[row : row + 1] for t in tensors_of(encoded.final)], tensors_of(final))


def test_without_its_end_mark_a_reversed_source_is_the_plain_one_turned_round() -> None:
    encoder, mask = make_reversing(), right_padded([5, 1, 3], 6)
    ids = torch.randint(4, 11, (3, 6))
    words = mask & right_padded([4, 0, 2], 6)
    turned = reverse_real(ids, words)
    outputs, _ = encoder.stack(encoder.embedding(turned), encoder.stack.initial_state(3), mask)
    difference = (reverse_real(outputs, words) - encoder(ids, mask).outputs)[mask]
    assert difference.abs().max() <= TOLERANCE


def test_ssru_is_the_transformer_but_for_the_mixer_and_the_decoders_positions() -> None:
    def shapes(name: str) -> dict[str, tuple[int, ...]]:
        build: Any = ARCHITECTURES[name].build
        model = build(settings_of(name), VOCABULARY)
        return {n: tuple(p.shape) for n, p in model.named_parameters() if ".mixer." not in n}

    assert shapes("ssru") == shapes("transformer")
