"""Reading frames: which path showed what, and tensors as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch

from seqline.shapes import Tensor
from seqline.watch import Frame


def to_array(tensor: Tensor) -> np.ndarray:
    """Return a tensor's numbers, those of half precision as float32."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor).numpy()


def by_path(frames: Iterable[Frame], *parts: str) -> dict[str, list[Frame]]:
    """Group the frames of some parts by the module that showed them, in the order in which the modules first ran."""
    found: dict[str, list[Frame]] = {}
    for frame in frames:
        if frame.part in parts:
            found.setdefault(frame.path, []).append(frame)
    return found


def rows_of(frames: Sequence[Frame], name: str) -> np.ndarray:
    """Return one value of all frames, batch 1, as rows [T D]; a frame holds one row [1 D] or several [1 T D]."""
    return np.concatenate([_rows(to_array(frame.values[name])) for frame in frames])


def _rows(array: np.ndarray) -> np.ndarray:
    return array if array.ndim == 2 else array[0]
