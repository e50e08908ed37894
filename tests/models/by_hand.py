"""The line once more in NumPy, a sentence and a position at a time: no batch, no mask, no padding, no fused call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

Vector = NDArray[np.float64]
State = Any
Step = Callable[[Vector, State], State]


class ByHand:
    """Reads a model's weights by name."""

    def __init__(self, model: nn.Module) -> None:
        self.weights: dict[str, Vector] = {
            name: value.detach().double().numpy() for name, value in model.state_dict().items()
        }

    def affine(self, name: str, x: Vector) -> Vector:
        """Return W x + b."""
        return self.weights[f"{name}.weight"] @ x + self.weights[f"{name}.bias"]

    def embed(self, side: str, words: list[int]) -> list[Vector]:
        """Return each word's row of the table: a matrix times a one-hot vector."""
        table = self.weights[f"{side}embedding.table.weight"]
        return [table.T @ one_hot(word, len(table)) for word in words]

    def simple(self, name: str, f: Callable[[Vector], Vector] = np.tanh) -> Step:
        """h_t = f(W x_t + b + U h_{t-1} + b')."""
        return lambda x, h: f(self._inputs(name, x) + self._recurrent(name, h))

    def gru(self, name: str) -> Step:
        """The state is h; gate order reset, update, candidate."""

        def step(x: Vector, h: Vector) -> Vector:
            x_r, x_z, x_n = np.split(self._inputs(name, x), 3)
            h_r, h_z, h_n = np.split(self._recurrent(name, h), 3)
            reset, update = sigmoid(x_r + h_r), sigmoid(x_z + h_z)
            candidate = np.tanh(x_n + reset * h_n)
            return (1 - update) * candidate + update * h

        return step

    def lstm(self, name: str) -> Step:
        """The state is the pair (h, c); gate order input, forget, candidate, output."""

        def step(x: Vector, state: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
            h, c = state
            i, f, g, o = np.split(self._inputs(name, x) + self._recurrent(name, h), 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            return sigmoid(o) * np.tanh(c), c

        return step

    def heads(
        self,
        name: str,
        queries: list[Vector],
        memory: list[Vector],
        num_heads: int,
        is_causal: bool = False,
        turn: Callable[[Vector, int], Vector] = lambda x, position: x,
        bias: Callable[[int, int, int], float] = lambda head, t, s: 0.0,
    ) -> list[Vector]:
        """W^O [head_1; ...; head_H], head = softmax(q . k / sqrt(E) + bias) v; heads may share keys (fewer key heads)."""
        size = len(self.weights[f"{name}.query.bias"]) // num_heads
        query, key, value = (
            [self.affine(f"{name}.{kind}", x).reshape(-1, size) for x in inputs]
            for kind, inputs in (("query", queries), ("key", memory), ("value", memory))
        )
        found = []
        for t in range(len(queries)):
            seen, mixed = range(t + 1 if is_causal else len(memory)), []
            for head in range(num_heads):
                shared = head * len(key[0]) // num_heads
                q = turn(query[t][head], t) / np.sqrt(size)
                scores = [q @ turn(key[s][shared], s) + bias(head, t, s) for s in seen]
                mixed.append(attend(scores, [value[s][shared] for s in seen]))
            found.append(self.affine(f"{name}.output", join(*mixed)))
        return found

    def layer_norm(self, name: str, x: Vector) -> Vector:
        """(x - mean) / sqrt(variance + 1e-5) * gain + shift."""
        normal = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
        return normal * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def _inputs(self, name: str, x: Vector) -> Vector:
        return self.weights[f"{name}.weight_ih"] @ x + self.weights[f"{name}.bias_ih"]

    def _recurrent(self, name: str, h: Vector) -> Vector:
        return self.weights[f"{name}.weight_hh"] @ h + self.weights[f"{name}.bias_hh"]


def run(step: Step, inputs: list[Vector], state: State) -> list[State]:
    """Return the state after each input."""
    states = []
    for x in inputs:
        state = step(x, state)
        states.append(state)
    return states


def both_ways(forwards: Step, backwards: Step, inputs: list[Vector], zero: State) -> tuple[list[State], list[State]]:
    """Return the states of the layer that reads from the left and of the one that reads from the right, by position."""
    return run(forwards, inputs, zero), run(backwards, inputs[::-1], zero)[::-1]


def attend(scores: list[Any], values: list[Vector]) -> Vector:
    """Return the sum of the values, weighted by the softmax of the scores."""
    return np.stack(values).T @ softmax(np.array(scores))


def softmax(x: Vector) -> Vector:
    return np.exp(x - x.max()) / np.exp(x - x.max()).sum()


def sigmoid(x: Vector) -> Vector:
    return 1 / (1 + np.exp(-x))


def one_hot(word: int, size: int) -> Vector:
    return np.eye(size)[word]


def join(*vectors: Vector) -> Vector:
    return np.concatenate(vectors)


def sentences(ids: Tensor, is_real: Tensor) -> list[list[int]]:
    """Return each row's real ids."""
    return [row[real].tolist() for row, real in zip(ids, is_real, strict=True)]
