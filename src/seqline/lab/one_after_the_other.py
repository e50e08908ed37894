"""What a training pass is made of: operations that wait for one another, and what is kept for the way back.

Both are counted in the graph that torch records, so they are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from torch import nn
from torch.autograd.graph import saved_tensors_hooks

from seqline.shapes import Tensor

Model = TypeVar("Model", bound=nn.Module)


def longest_chain(result: Tensor) -> int:
    """Count the operations of the longest chain, from a result back to what it was computed of, each waiting for the next."""
    depth: dict[Any, int] = {None: 0}
    waiting = [result.grad_fn]
    while waiting:
        node = waiting[-1]
        before = [] if node is None else [each for each, _ in node.next_functions]
        missing = [each for each in before if each not in depth]
        if missing:
            waiting += missing
        else:
            depth.setdefault(node, 1 + max((depth[each] for each in before), default=0))
            waiting.pop()
    return depth[result.grad_fn]


def bytes_kept(
    module: nn.Module, forward: Callable[[], Tensor], is_counted: Callable[[Tensor], bool] = lambda _: True
) -> int:
    """Count the bytes of the tensors that a forward pass keeps for its gradient, each memory once, parameters left out."""
    kept: dict[int, int] = {}
    learned = {parameter.untyped_storage().data_ptr() for parameter in module.parameters()}

    def keep(tensor: Tensor) -> Tensor:
        memory = tensor.untyped_storage()
        if memory.data_ptr() not in learned and is_counted(tensor):
            kept[memory.data_ptr()] = memory.nbytes()
        return tensor  # alive until the end, so that no address is used twice

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        result = forward()
        total = sum(kept.values())
    del result
    return total


def step_by_step(model: Model) -> Model:
    """Let a model compute all its steps by their formulas: time loops run, attention keeps its weights; return it."""
    for module in model.modules():
        if hasattr(module, "fused"):
            module.fused = _by_formula(module)  # pyright: ignore[reportAttributeAccessIssue, reportArgumentType]
    return model


def _by_formula(module: nn.Module) -> Callable[..., Any]:
    formula = getattr(module, "formula", None)
    if formula is None:
        return lambda *_: None
    return lambda query, piece, is_allowed, bias: formula(query, [piece], is_allowed, bias)
