"""A model's weights by name: take them, put them back strictly, and average them over training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.nn import Module

from seqline.errors import UserError

Weights = dict[str, Tensor]
OTHER_SETTINGS = "use the settings and the version of seqline that it was trained with"


def weights_of(model: Module) -> Weights:
    """Return the parameters and persistent buffers by name, each tied tensor once, under its first name; not copies."""
    seen: set[int] = set()
    weights: Weights = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            weights[name] = tensor.detach()
    return weights


def load_weights(model: Module, weights: Weights, where: str) -> None:
    """Copy weights into a model; names, shapes and types must agree exactly.

    Raises:
        UserError: names the first tensor that is missing, unknown or of another shape or type, and `where` it is.
    """
    fill_tensors(weights_of(model), weights, where)


@torch.no_grad()
def fill_tensors(wanted: Weights, given: Weights, where: str) -> None:
    """Copy the given tensors into the wanted ones of the same names; see `load_weights`."""
    for name in [*(n for n in wanted if n not in given), *(n for n in given if n not in wanted)]:
        what = f"tensor {name!r} is missing" if name in wanted else f"tensor {name!r} is not one of this model's"
        raise UserError(what, where=where, fix=OTHER_SETTINGS)
    for name, tensor in wanted.items():
        found = given[name]
        if found.shape != tensor.shape or found.dtype != tensor.dtype:
            expected, came = (f"{list(t.shape)} {str(t.dtype).removeprefix('torch.')}" for t in (tensor, found))
            what = f"tensor {name!r} is {came}, expected {expected}"
            raise UserError(what, where=where, fix=OTHER_SETTINGS)
    for name, tensor in wanted.items():
        tensor.copy_(given[name])


class WeightAverage:
    """An exponential moving average of a model's parameters; a tied one is averaged once, buffers are not.

    After step t the average moves by 1 - d towards the weights, d = min(decay, (1 + t) / (10 + t)): early on the
    average forgets fast, so that the first random weights leave it soon.
    """

    def __init__(self, model: Module, decay: float) -> None:
        named = [(name, p) for name, p in model.named_parameters() if p.is_floating_point()]
        self.decay = decay
        self._parameters: list[Tensor] = [p for _, p in named]
        self.weights: dict[str, Tensor] = {name: p.detach().clone() for name, p in named}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after `step`, counted from 1."""
        decay = min(self.decay, (1 + step) / (10 + step))
        values = list(self.weights.values())
        torch._foreach_lerp_(values, self._parameters, 1.0 - decay)  # pyright: ignore[reportPrivateImportUsage]

    @contextmanager
    def swapped_in(self) -> Iterator[None]:
        """Let the model hold the average for a while; the weights come back bit for bit, also after an error."""
        kept = [p.detach().clone() for p in self._parameters]
        try:
            self._fill(list(self.weights.values()))
            yield
        finally:
            self._fill(kept)

    @torch.no_grad()
    def _fill(self, values: list[Tensor]) -> None:
        # Contents are copied and storages kept, so that no view of a weight goes stale.
        torch._foreach_copy_(self._parameters, values)  # pyright: ignore[reportPrivateImportUsage]
