"""NaN and infinity: the error that stops a run before they reach the weights, and the search for where they began."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module

from seqline.errors import UserError


class NonFiniteError(UserError):
    """A step brought NaN or infinity. Seen in the loss or a gradient, the update was not made.

    step: counted from 1. rows: the batch, as indices into the training data. tensor: the first non-finite one.
    """

    def __init__(self, step: int, rows: Sequence[int], tensor: str, described_rows: str) -> None:
        self.step, self.rows, self.tensor = step, tuple(rows), tensor
        super().__init__(
            f"NaN or infinity at step {step}, first in {tensor}; the batch is {described_rows}",
            where="training",
            fix="lower training.learning_rate, or look at these rows",
        )


def first_non_finite(
    model: Module, batch: Any, compute_loss: Callable[[Module, Any], Any], random_state: Tensor
) -> str:
    """Name the first tensor of a training step with NaN or infinity, in the order in which the step uses them.

    The order is weights, batch, outputs of modules, loss, gradients. The forward pass is run once more, with the same
    random numbers, to see the modules' outputs. Minus infinity counts only when nothing else is found, as it is how
    forbidden places are marked before a softmax.

    Args:
        model: as it was in the step, with its gradients.
        batch: what `compute_loss` takes.
        compute_loss: run as `compute_loss(model, batch)`; its result has `loss`.
        random_state: of torch's CPU generator, from before the step.
    """
    for name, parameter in model.named_parameters():
        if not _is_finite(parameter):
            return f"weight {name!r}"
    for name, tensor in _tensors(batch, "batch"):
        if not _is_finite(tensor):
            return name
    output = _first_output(model, batch, compute_loss, random_state)
    if output:
        return output
    largest, largest_name = 0.0, ""
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            if not _is_finite(parameter.grad):
                return f"gradient of {name!r}"
            size = parameter.grad.abs().max().item() if parameter.grad.numel() else 0.0
            largest, largest_name = max((largest, largest_name), (size, name))
    return f"the norm of all gradients, the largest being that of {largest_name!r}"


def _first_output(model: Module, batch: Any, compute_loss: Callable[[Module, Any], Any], random_state: Tensor) -> str:
    found: dict[bool, str] = {}  # is it more than minus infinity -> the first module

    def look(name: str, _module: Module, _inputs: Any, outputs: Any) -> None:
        for _, tensor in _tensors(outputs, ""):
            if not _is_finite(tensor):
                is_worse = bool((tensor.isnan() | (tensor == torch.inf)).any())
                found.setdefault(is_worse, f"output of {name!r}" if name else "output of the model")

    hooks = [module.register_forward_hook(partial(look, name)) for name, module in model.named_modules()]
    try:
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(random_state)
            loss = compute_loss(model, batch).loss
    finally:
        for hook in hooks:
            hook.remove()
    if True in found:
        return found[True]
    return found.get(False, "loss") if not _is_finite(loss) else ""


def _is_finite(tensor: Tensor) -> bool:
    return not tensor.is_floating_point() or bool(tensor.isfinite().all())


def _tensors(tree: Any, name: str) -> Iterator[tuple[str, Tensor]]:
    """Walk through tuples, lists, mappings and dataclasses; pass over what is none of these."""
    if isinstance(tree, Tensor):
        yield name, tree
    elif isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from _tensors(value, f"{name}.{key}")
    elif isinstance(tree, (tuple, list)):
        for key, value in zip(getattr(tree, "_fields", range(len(tree))), tree, strict=True):
            yield from _tensors(value, f"{name}.{key}")
    elif is_dataclass(tree) and not isinstance(tree, type):
        for field in fields(tree):
            yield from _tensors(getattr(tree, field.name), f"{name}.{field.name}")
