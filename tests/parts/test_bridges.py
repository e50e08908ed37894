"""Bridges: a row's first decoder state is a function of that row's source, layer by layer."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqline.parts.bridges import (
    BackwardTanhBridge,
    FinalTanhBridge,
    LastBridge,
    LinearBridge,
    MeanBridge,
    ZeroBridge,
)
from seqline.parts.cells import GRUCell, LSTMCell
from seqline.parts.recurrent import Recurrent, Stack
from seqline.state import Encoded, select, tensors_of

from ..small_models import assert_equal, random_weights, right_padded

LENGTHS, WIDTH, SOURCE_SIZE = [4, 1, 6], 5, 3
LAYERS = {"lstm": [(WIDTH, WIDTH), (WIDTH, WIDTH)], "gru": [(WIDTH,), (WIDTH,)]}


def make_stack(kind: str) -> Stack:
    cell = {"lstm": LSTMCell, "gru": GRUCell}[kind]
    return Stack([Recurrent(cell(2, WIDTH)), Recurrent(cell(WIDTH, WIDTH))], 0.0)


def make_encoded(kind: str) -> Encoded:
    is_real = right_padded(LENGTHS, 8)
    outputs = torch.randn(3, 8, SOURCE_SIZE, dtype=torch.float64).masked_fill(~is_real[..., None], 1e4)
    states = [[torch.randn(3, width, dtype=torch.float64) for width in layer] for layer in LAYERS[kind]]
    return Encoded(outputs, is_real, tuple(tuple(s) if kind == "lstm" else s[0] for s in states))


def make_bridges(kind: str) -> dict[str, nn.Module]:
    initial_state = make_stack(kind).double().initial_state
    bridges: dict[str, nn.Module] = {
        "zeros": ZeroBridge(initial_state),
        "last": LastBridge(),
        "linear": LinearBridge(initial_state),
        "mean": MeanBridge(SOURCE_SIZE, initial_state),
        "final": FinalTanhBridge(SOURCE_SIZE, initial_state),
    }
    return {name: random_weights(bridge) for name, bridge in bridges.items()}


every_bridge = pytest.mark.parametrize("name", ["zeros", "last", "linear", "mean", "final"])
every_kind = pytest.mark.parametrize("kind", LAYERS)


@every_bridge
@every_kind
def test_a_first_state_is_one_the_stack_can_go_on_from(name: str, kind: str) -> None:
    stack, state = make_stack(kind).double(), make_bridges(kind)[name](make_encoded(kind))
    _, after = stack(torch.randn(3, 2, 2, dtype=torch.float64), state)
    expected = [(3, width) for layer in LAYERS[kind] for width in layer]
    assert [tuple(t.shape) for t in tensors_of(state)] == expected == [tuple(t.shape) for t in tensors_of(after)]


@every_bridge
@every_kind
def test_a_row_is_bridged_alone(name: str, kind: str) -> None:
    bridge, encoded = make_bridges(kind)[name], make_encoded(kind)
    together = bridge(encoded)
    for row, length in enumerate(LENGTHS):
        one = torch.tensor([row])
        alone = select(encoded, one)
        alone = Encoded(alone.outputs[:, :length], alone.is_real[:, :length], alone.final)
        assert_equal(tensors_of(select(together, one)), tensors_of(bridge(alone)))


@pytest.mark.parametrize("name", ["zeros", "mean", "final"])
def test_an_encoder_that_carries_nothing_is_enough(name: str) -> None:
    bridge, encoded = make_bridges("lstm")[name], make_encoded("lstm")
    assert_equal(tensors_of(bridge(encoded._replace(final=None))), tensors_of(bridge(encoded)))


@every_kind
def test_zeros_are_zeros(kind: str) -> None:
    assert all(t.count_nonzero() == 0 for t in tensors_of(make_bridges(kind)["zeros"](make_encoded(kind))))


def test_the_last_states_pass_layer_by_layer() -> None:
    encoded = make_encoded("lstm")
    for passed, kept in zip(LastBridge()(encoded), encoded.final, strict=True):
        assert passed[0] is kept[0]
        assert passed[1] is kept[1]


@every_kind
def test_each_state_has_a_linear_map_of_its_own(kind: str) -> None:
    bridge: Any = make_bridges(kind)["linear"]
    encoded = make_encoded(kind)
    maps, states = list(bridge.project), tensors_of(encoded.final)
    assert len(maps) == len(states)
    expected = [
        s.numpy() @ m.weight.detach().numpy().T + m.bias.detach().numpy() for m, s in zip(maps, states, strict=True)
    ]
    assert_equal(tensors_of(bridge(encoded)), [torch.tensor(e) for e in expected])


@every_kind
def test_a_linear_bridge_contains_the_last_one(kind: str) -> None:
    bridge: Any = make_bridges(kind)["linear"]
    with torch.no_grad():
        for project in bridge.project:
            nn.init.eye_(project.weight)
            nn.init.zeros_(project.bias)
    encoded = make_encoded(kind)
    assert_equal(tensors_of(bridge(encoded)), tensors_of(encoded.final))


@pytest.mark.parametrize("name", ["mean", "final"])
@every_kind
def test_a_summary_by_hand(name: str, kind: str) -> None:
    bridge: Any = make_bridges(kind)[name]
    encoded = make_encoded(kind)
    state = tensors_of(bridge(encoded))
    for row, length in enumerate(LENGTHS):
        outputs = encoded.outputs[row, :length].numpy()
        summary = outputs.mean(0) if name == "mean" else outputs[-1]
        for got, project in zip(state, bridge.project, strict=True):
            expected = np.tanh(project.weight.detach().numpy() @ summary + project.bias.detach().numpy())
            np.testing.assert_allclose(got[row].detach().numpy(), expected, atol=1e-12)


def test_a_copied_model_keeps_its_own_bridge() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stack = make_stack("lstm")
            self.bridge = ZeroBridge(self.stack.initial_state)

    copied = deepcopy(Model()).double()
    assert tensors_of(copied.bridge(make_encoded("lstm")))[0].dtype == torch.float64
    assert not [name for name, _ in copied.bridge.named_parameters()]


def test_the_backward_state_of_the_top_layer_by_hand() -> None:
    bridge = random_weights(BackwardTanhBridge(3, 2))
    forward, backward, below = (torch.randn(4, 3, dtype=torch.float64) for _ in range(3))
    nothing: Any = Tensor()
    state = bridge(Encoded(nothing, nothing, ((below, below), (forward, backward))))
    w, b = bridge.project.weight.detach().numpy(), bridge.project.bias.detach().numpy()
    np.testing.assert_allclose(state.detach().numpy(), np.tanh(backward.numpy() @ w.T + b), atol=1e-12)
