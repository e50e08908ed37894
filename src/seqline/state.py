"""The state protocol: what a layer, a decoder and a search agree on, and the three tree operations.

A state is a value: any tree of tensors whose first axis is the batch, returned and never kept on a module.
A search may only drop or repeat rows (`select`) and multiply them (`expand`). See docs/state.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple, Protocol

from torch import Tensor


class Encoded(NamedTuple):
    """What an encoder hands to a decoder.

    outputs: [B S D], one vector a source position. is_real: [B S], True = a real token.
    final: one state tree a layer after the last real token, or None (Transformer).
    """

    outputs: Tensor
    is_real: Tensor
    final: Any


class SequenceLayer(Protocol):
    """Any causal layer. Splitting `x` anywhere along time gives the same outputs."""

    def initial_state(self, batch_size: int) -> Any:
        """Return the state of `batch_size` rows that have read nothing."""
        ...

    def __call__(self, x: Tensor, state: Any, mask: Tensor | None = None) -> tuple[Tensor, Any]:
        """Map x [B T D] to y [B T D'] and the next state; a False column of `mask` [B T] changes no state."""
        ...


class Decoder(Protocol):
    """Turns a target prefix into logits while carrying a state; all that a search knows of a model."""

    def prepare(self, encoded: Encoded | None) -> Any:
        """Return the memory of a batch of sources, computed once a source."""
        ...

    def initial_state(self, memory: Any, batch_size: int) -> Any:
        """Return the state of rows that have read nothing; the bridge acts here."""
        ...

    def __call__(self, ids: Tensor, state: Any, memory: Any, mask: Tensor | None = None) -> tuple[Tensor, Any]:
        """Map ids [B T] to logits [B T V] for the next token, and the next state."""
        ...


def map_tensors(function: Callable[..., Tensor], tree: Any, *others: Any) -> Any:
    """Apply `function` to every tensor of a tree (with the tensors at the same place in `others`); keep its shape."""
    if tree is None:
        return None
    if isinstance(tree, Tensor):
        return function(tree, *others)
    if isinstance(tree, dict):
        if any(other.keys() != tree.keys() for other in others):
            raise ValueError(f"trees with different keys: {[sorted(t) for t in (tree, *others)]}")
        return {k: map_tensors(function, v, *(o[k] for o in others)) for k, v in tree.items()}
    if isinstance(tree, (tuple, list)):
        mapped = [map_tensors(function, *same_place) for same_place in zip(tree, *others, strict=True)]
        return type(tree)(*mapped) if hasattr(tree, "_fields") else type(tree)(mapped)
    if is_dataclass(tree) and not isinstance(tree, type):
        names = [f.name for f in fields(tree)]
        return replace(
            tree, **{n: map_tensors(function, getattr(tree, n), *(getattr(o, n) for o in others)) for n in names}
        )
    raise TypeError(f"a state is a tree of tensors; found {type(tree).__name__}")


def tensors_of(tree: Any) -> list[Tensor]:
    """List the tensors of a tree, in the order in which `map_tensors` visits them."""
    found: list[Tensor] = []

    def collect(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    map_tensors(collect, tree)
    return found


def select(tree: Any, rows: Tensor) -> Any:
    """Keep, drop or repeat rows of every tensor: `rows` [N] holds indices into the batch."""
    return map_tensors(lambda t: t.index_select(0, rows), tree)


def expand(tree: Any, beams: int) -> Any:
    """Repeat each row `beams` times, copies side by side: row b becomes rows b*beams ... (b+1)*beams-1."""
    return map_tensors(lambda t: t.repeat_interleave(beams, dim=0), tree)
