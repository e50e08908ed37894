"""encoder-decoder, contextual and luong without input feeding differ in how the memory is read, and in nothing else."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.models.encoder_decoder import EncoderDecoder

from ..small_models import assert_equal

HIDDEN_SIZE, EMBED_SIZE = 8, 6
SETTINGS = {"embed_size": EMBED_SIZE, "hidden_size": HIDDEN_SIZE, "num_layers": 2, "dropout": 0.3}
READING = ("decoder.reader", "decoder.attention")
CELL_INPUT, READOUT_INPUT = "decoder.stack.layers.0.cell.weight_ih", "decoder.readout.project.weight"
# What each recipe's reading widens, as parameter name and columns.
WIDENED = {
    "contextual": {CELL_INPUT: HIDDEN_SIZE},
    "luong": {READOUT_INPUT: HIDDEN_SIZE},
}


def make(name: str, **settings: Any) -> EncoderDecoder:
    recipe = ARCHITECTURES[name]
    if name == "luong":
        settings["input_feeding"] = False
    return recipe.build(recipe.settings(**SETTINGS, **settings), Vocabulary(11, 9, False))


def module_types(model: EncoderDecoder) -> dict[str, str]:
    return {
        name: f"{type(module).__name__} {getattr(module, 'p', '')}"
        for name, module in model.named_modules()
        if name != "decoder" and not name.startswith(READING) and type(module).__name__ != "Linear"
    }


def shapes(model: EncoderDecoder) -> dict[str, tuple[int, ...]]:
    return {name: tuple(p.shape) for name, p in model.named_parameters() if not name.startswith(READING)}


@pytest.mark.parametrize("cell", ["simple", "lstm", "gru"])
@pytest.mark.parametrize("name", WIDENED)
def test_all_but_the_reading_is_shared(name: str, cell: str) -> None:
    plain, other = make("encoder-decoder", cell=cell), make(name, cell=cell)
    assert module_types(other) == module_types(plain)
    expected = shapes(plain)
    for parameter, growth in WIDENED[name].items():
        rows, columns = expected[parameter]
        expected[parameter] = (rows, columns + growth)
    assert shapes(other) == expected


@pytest.mark.parametrize("name", WIDENED)
def test_with_the_widened_columns_at_zero_all_are_the_plain_model(name: str) -> None:
    plain, other = make("encoder-decoder").double().eval(), make(name).double().eval()
    state = other.state_dict()
    for parameter, value in plain.state_dict().items():
        state[parameter].zero_()
        state[parameter][tuple(slice(size) for size in value.shape)] = value
    source, target = torch.randint(4, 9, (2, 5)), torch.randint(4, 9, (2, 6))
    is_real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    assert_equal([other(source, is_real, target)], [plain(source, is_real, target)])


@pytest.mark.parametrize("name", [*WIDENED, "encoder-decoder"])
def test_each_decoder_layer_starts_where_its_encoder_layer_ended(name: str) -> None:
    model = make(name, cell="lstm").double().eval()
    source, is_real = torch.randint(4, 9, (2, 5)), torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    encoded = model.encoder(source, is_real)
    state = model.decoder.initial_state(model.decoder.prepare(encoded), 2)
    layers = state.layers if name == "luong" else state
    assert len(layers) == 2
    for layer, end in zip(layers, encoded.final, strict=True):
        assert torch.equal(layer[0], end[0])
        assert torch.equal(layer[1], end[1])
        assert not torch.equal(layer[0], layer[1])
