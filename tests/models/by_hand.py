"""The recurrent recipes once more, a sentence and a number at a time, in plain Python: no tensor, no batch, no mask."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from torch import nn

Vector = list[float]
Step = Callable[[Vector, Vector], Vector]


class ByHand:
    """Reads a model's weights by name and computes one sentence with loops."""

    def __init__(self, model: nn.Module) -> None:
        self.weights: dict[str, Any] = {name: value.tolist() for name, value in model.state_dict().items()}

    def times(self, name: str, x: Vector) -> Vector:
        return [dot(row, x) for row in self.weights[name]]

    def affine(self, name: str, x: Vector) -> Vector:
        return add(self.times(f"{name}.weight", x), self.weights[f"{name}.bias"])

    def embed(self, side: str, word: int) -> Vector:
        return self.weights[f"{side}.embedding.table.weight"][word]

    def simple(self, name: str) -> Step:
        def step(x: Vector, h: Vector) -> Vector:
            return tanh(add(self._inputs(name, x), self._recurrent(name, h)))

        return step

    def gru(self, name: str) -> Step:
        def step(x: Vector, h: Vector) -> Vector:
            width = len(h)
            a, b = self._inputs(name, x), self._recurrent(name, h)
            new = []
            for i in range(width):
                reset = sigmoid(a[i] + b[i])
                update = sigmoid(a[width + i] + b[width + i])
                candidate = math.tanh(a[2 * width + i] + reset * b[2 * width + i])
                new.append((1 - update) * candidate + update * h[i])
            return new

        return step

    def _inputs(self, name: str, x: Vector) -> Vector:
        return add(self.times(f"{name}.weight_ih", x), self.weights[f"{name}.bias_ih"])

    def _recurrent(self, name: str, h: Vector) -> Vector:
        return add(self.times(f"{name}.weight_hh", h), self.weights[f"{name}.bias_hh"])

    def logits(self, t: Vector) -> Vector:
        return self.affine("decoder.head", t)


def run(step: Step, inputs: list[Vector], h: Vector) -> list[Vector]:
    """Return the state after each input."""
    states = []
    for x in inputs:
        h = step(x, h)
        states.append(h)
    return states


def attend(scores: Vector, values: list[Vector]) -> Vector:
    """Return the sum of the values, weighted by the softmax of the scores."""
    total = sum(math.exp(score) for score in scores)
    weights = [math.exp(score) / total for score in scores]
    return [dot(weights, list(column)) for column in zip(*values, strict=True)]


def dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def add(a: Vector, b: Vector) -> Vector:
    return [x + y for x, y in zip(a, b, strict=True)]


def tanh(a: Vector) -> Vector:
    return [math.tanh(x) for x in a]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))
