"""From bytes to a checked document: nothing in a damaged or hostile file is believed before it has been looked at."""

from __future__ import annotations

import json
import re
import zlib
from typing import Any, NoReturn

import numpy as np
from pydantic import ValidationError

from seqline.errors import UserError
from seqline.files import PathLike, open_regular
from seqline.visualize.arrays import ArraySpec, transform
from seqline.visualize.pack import MAX_TENSOR_BYTES, unpack
from seqline.visualize.schema import BUNDLE_SCHEMA, MAX_BUNDLE, SCHEMA, Document

MAX_JSON_BYTES = 512 * 10**6
"""The largest text of a trace, decompressed."""
FIX = "record the trace again or restore the file"
"""What mends a damaged file."""
_WBITS_GZIP = 31
_CHUNK = 1 << 20


def read_documents(path: PathLike) -> tuple[list[dict[str, Any]], list[str] | None]:
    """Read the documents of a file, and the labels if it is a bundle.

    Raises:
        UserError: see `parse_documents`; no regular file, damaged gzip, too large.
    """
    where = str(path)
    with open_regular(path) as file:
        data = file.read(MAX_JSON_BYTES + 1)
    if len(data) > MAX_JSON_BYTES:
        raise UserError(f"is larger than {MAX_JSON_BYTES:,} bytes", where=where, fix="is this a trace?")
    if data[:2] == b"\x1f\x8b":
        data = _decompressed(data, where)
    return parse_documents(data, where)


def parse_documents(text: str | bytes, where: str) -> tuple[list[dict[str, Any]], list[str] | None]:
    """Parse a trace or a bundle; every array becomes a numpy array, unknown fields are dropped.

    Raises:
        UserError: no JSON, no trace, another major version, a missing or wrong field, a damaged tensor.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise UserError("is nested too deeply", where=where, fix="is this a trace?") from error
    except ValueError as error:  # no JSON, no UTF-8, or a number of thousands of digits
        raise UserError(f"is no JSON: {str(error)[:100]}", where=where, fix=FIX) from error
    _check_version(value, where)
    if value["schema"] == SCHEMA:
        return [_document(value, where)], None
    traces, labels = value.get("traces"), value.get("labels")
    is_list = isinstance(traces, list) and isinstance(labels, list) and len(traces) == len(labels)
    if not is_list or not 1 <= len(traces) <= MAX_BUNDLE or not all(isinstance(label, str) for label in labels):
        raise UserError(f"expected 1 to {MAX_BUNDLE} traces and a label each", where=where, fix=FIX)
    for trace in traces:
        _check_version(trace, where)
        if trace["schema"] != SCHEMA:
            raise UserError("a bundle holds traces only", where=where, fix=FIX)
    return [_document(trace, f"{where}: traces[{i}]") for i, trace in enumerate(traces)], labels


def validated(document: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the document if every field is known and of its type.

    Raises:
        UserError: the first fault, with its block.
    """
    try:
        Document.model_validate(document)
    except ValidationError as error:
        raise _fault(error, where) from error
    return document


def compressed(data: bytes) -> bytes:
    """Return gzip bytes that depend on the data only."""
    return zlib.compress(data, 9, _WBITS_GZIP)


def _decompressed(data: bytes, where: str) -> bytes:
    parts, total = [], 0
    try:
        while data:
            stream = zlib.decompressobj(_WBITS_GZIP)
            while data and not stream.eof:
                parts.append(stream.decompress(data, _CHUNK))
                data = stream.unconsumed_tail or stream.unused_data
                total += len(parts[-1])
                if total > MAX_JSON_BYTES:
                    raise UserError(f"holds more than {MAX_JSON_BYTES:,} bytes", where=where, fix="is this a trace?")
            if not stream.eof:
                raise UserError("damaged gzip: it ends too early", where=where, fix=FIX)
    except zlib.error as error:
        raise UserError(f"damaged gzip: {error}", where=where, fix=FIX) from error
    return b"".join(parts)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _check_version(value: Any, where: str) -> None:
    name = value.get("schema") if isinstance(value, dict) else None
    if name in (SCHEMA, BUNDLE_SCHEMA):
        return
    if isinstance(name, str) and re.fullmatch(r"(trace|bundle)/[0-9]{1,9}", name):
        kind = name.partition("/")[0]
        raise UserError(f"this file is {name}, this seqline reads {kind}/1", where=where, fix="install a newer seqline")
    raise UserError('expected a trace: JSON with "schema": "trace/1"', where=where, fix="is this the right file?")


def _document(value: dict[str, Any], where: str) -> dict[str, Any]:
    """Check a parsed trace and unpack its arrays."""
    try:
        Document.model_validate(value)
    except ValidationError as error:
        _drop_unknown(value, error)
        validated(value, where)
    cache: dict[str, np.ndarray] = {}
    left = MAX_TENSOR_BYTES

    def fill(path: str, spec: ArraySpec, entry: Any) -> np.ndarray:
        nonlocal left
        place = f"{where}: {path}"
        if isinstance(entry, dict):
            name = entry["$t"]
            if name not in value["tensors"]:
                raise UserError(f"tensor {name[:60]!a} is missing", where=place, fix=FIX)
            if name not in cache:
                cache[name] = unpack(value["tensors"][name], place)
            array = cache[name]
            left -= array.nbytes  # of every use: whoever draws copies each of them
            if left < 0:
                raise UserError(f"holds more than {MAX_TENSOR_BYTES:,} bytes", where=place, fix=FIX)
        else:
            array = _inline(entry, place)
        return _with_rank(array, spec, place)

    return transform({**value, "tensors": {}}, fill)


def _inline(entry: list[Any], where: str) -> np.ndarray:
    try:
        array = np.asarray(entry)
    except ValueError as error:
        raise UserError("expected rows of equal length", where=where, fix=FIX) from error
    if array.size == 0 and array.dtype.kind == "f":
        return array
    if array.dtype.kind not in "fi" or not np.isfinite(array).all():
        raise UserError("expected nested numbers", where=where, fix=FIX)
    return array


def _with_rank(array: np.ndarray, spec: ArraySpec, where: str) -> np.ndarray:
    rank = len(spec.axes.split())
    if array.size == 0 and array.ndim < rank:  # nested lists of nothing have lost their last axes
        return array.reshape(array.shape + (0,) * (rank - array.ndim))
    return array


def _drop_unknown(value: dict[str, Any], error: ValidationError) -> None:
    for fault in error.errors(include_url=False, include_context=False, include_input=False):
        if fault["type"] == "extra_forbidden":
            *path, last = fault["loc"]
            holder: Any = value
            for key in path:
                holder = holder[key]
            del holder[last]


def _fault(error: ValidationError, where: str) -> UserError:
    fault = error.errors(include_url=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
    place = ascii(place[:120])[1:-1]
    what = {"missing": "is missing", "extra_forbidden": "unknown field"}.get(fault["type"])
    if what is None:
        message = fault["msg"].removeprefix("Value error, ")
        what = f"{message[:120]}, got {ascii(fault['input'])[:60]}"
    return UserError(what, where=f"{where}: {place}" if place else where, fix=FIX)
