"""Shapes in signatures: `Float[Tensor, "B T D"]` says what a tensor holds; the tests check it, a run does not.

Letters: B batch, T time, S source time, D width, H heads, E head width, V vocabulary, K beams, L layers, F numbers a step.
`Shaped[Tensor, "B T *F"]` holds ids [B T] or numbers [B T F].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, Shaped
else:
    try:
        from jaxtyping import Bool, Float, Int, Shaped
    except ImportError:  # jaxtyping is a tool of the tests, not of the product

        class _Unchecked:
            def __class_getitem__(cls, item: tuple[Any, str]) -> Any:
                return item[0]

        Bool = Float = Int = Shaped = _Unchecked

__all__ = ["Bool", "Float", "Int", "Shaped", "Tensor"]
