"""Arrays as JSON: a short one inline, a long one as the smallest binary form that keeps what its content needs."""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from typing import Any

import numpy as np

from seqline.errors import UserError
from seqline.visualize.arrays import INLINE_BELOW

UNIT = 65535
"""A number in [0, 1] is stored as this many steps."""
UNIT_ERROR = 7.7e-6
"""The largest error of a number in [0, 1]."""
MAX_TENSOR_BYTES = 512 * 10**6
"""The most that the tensors of a file may take, unpacked, at eight bytes a number."""
_DTYPES = {"u16": "<u2", "f16": "<f2", "f32": "<f4", "u8": "<u1", "i32": "<i4"}
_HALF_MAX = 65504.0
_WBITS_GZIP = 31
_LEVEL = 6  # 9 takes three times as long for a hundredth of the size
_SLACK = 1e-5  # float32 sums and products may leave [0, 1] by this


def is_inline(array: np.ndarray) -> bool:
    """Tell whether an array stands in the document itself."""
    return array.size < INLINE_BELOW


def to_lists(array: np.ndarray) -> Any:
    """Return nested lists of plain numbers; a float32 becomes the shortest decimal that is read back as it."""
    if array.dtype == np.float32 and is_inline(array):
        return np.array([float(str(x)) for x in array.ravel()]).reshape(array.shape).tolist()
    return array.astype(int).tolist() if array.dtype == bool else array.tolist()


def pack(array: np.ndarray, content: str, where: str) -> dict[str, Any]:
    """Turn an array into its entry in `tensors`; the same array gives the same text.

    Args:
        array: Finite numbers of any size.
        content: See `ArraySpec`.
        where: What the array is, for errors.

    Raises:
        UserError: a number outside what its content may be.
    """
    name, stored = _stored(array, content, where)
    entry: dict[str, Any] = {"dtype": name, "shape": list(array.shape)}
    if content == "unit":
        entry["q"] = UNIT
    data = zlib.compress(stored.astype(_DTYPES[name]).tobytes(), _LEVEL, _WBITS_GZIP)  # a gzip header of time 0
    return entry | {"enc": "gzip+base64", "data": base64.b64encode(data).decode("ascii")}


def unpack(entry: dict[str, Any], where: str) -> np.ndarray:
    """Undo `pack`: u16 with q gives doubles in [0, 1], f16 and f32 float32, the others whole numbers.

    Nothing is allocated before the shape has been found sane, and never more than the shape asks for.

    Raises:
        UserError: damaged data, or data that disagrees with its shape.
    """
    dtype = np.dtype(_DTYPES[entry["dtype"]])
    shape = entry["shape"]
    num_bytes = math.prod(shape) * dtype.itemsize
    fix = "record the trace again or restore the file"
    if math.prod(shape) * 8 > MAX_TENSOR_BYTES or len(shape) > 8:
        raise UserError(f"a tensor of shape {str(shape)[:60]} is too large", where=where, fix=fix)
    try:
        decompress = zlib.decompressobj(_WBITS_GZIP)
        data = decompress.decompress(base64.b64decode(entry["data"], validate=True), num_bytes + 1)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise UserError("damaged data", where=where, fix=fix) from error
    if len(data) != num_bytes or not decompress.eof:
        what = f"expected {num_bytes:,} bytes for shape {shape}, got {'more' if len(data) > num_bytes else len(data)}"
        raise UserError(what, where=where, fix=fix)
    array = np.frombuffer(data, dtype).reshape(shape)
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise UserError("holds NaN or infinity", where=where, fix=fix)
    if entry.get("q"):
        return array / float(entry["q"])
    return array.astype(np.float32) if dtype.kind == "f" else array.astype(np.int64)


def as_read(array: np.ndarray, content: str, where: str) -> np.ndarray:
    """Return the values that a reader of the file gets."""
    if is_inline(array):
        return np.asarray(to_lists(array), dtype=np.float64 if array.dtype.kind == "f" else np.int64).reshape(
            array.shape
        )
    name, stored = _stored(array, content, where)
    stored = stored.astype(_DTYPES[name])
    if content == "unit":
        return stored / float(UNIT)
    return stored.astype(np.float32) if stored.dtype.kind == "f" else stored.astype(np.int64)


def largest_error(array: np.ndarray, content: str) -> float:
    """Return how far packing moves a number: absolute up to 1, relative above."""
    if not array.size:
        return 0.0
    exact = array.astype(np.float64)
    return float((np.abs(as_read(array, content, "") - exact) / np.maximum(1.0, np.abs(exact))).max())


def _stored(array: np.ndarray, content: str, where: str) -> tuple[str, np.ndarray]:
    """Return the name of the type, and the numbers ready for it."""
    low, high = (float(array.min()), float(array.max())) if array.size else (0.0, 0.0)
    if content == "unit":
        if low < -_SLACK or high > 1 + _SLACK:
            raise UserError(f"expected numbers in [0, 1], got {low:.4g} to {high:.4g}", where=where)
        return "u16", np.rint(array.clip(0, 1).astype(np.float64) * UNIT)
    if content == "mask":
        if not np.isin(array, (0, 1)).all():
            raise UserError("expected a mask of 0 and 1", where=where)
        return "u8", array
    if content == "index":
        if low < -(2**31) or high >= 2**31:
            raise UserError(f"expected indexes, got {low:.4g} to {high:.4g}", where=where)
        return ("u16" if low >= 0 and high <= UNIT else "i32"), array
    largest = max(-low, high)
    if content == "state" and largest <= _HALF_MAX:
        return "f16", array
    if largest > float(np.finfo(np.float32).max):
        raise UserError(f"{largest:.4g} is too large for a trace", where=where)
    return "f32", array
