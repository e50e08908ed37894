"""One recorded run of a model, as a file that needs no model: written, read, and handed to the pictures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seqline.errors import UserError
from seqline.files import PathLike, write_bytes
from seqline.visualize import reading, reduced
from seqline.visualize.arrays import ArraySpec, each_array, transform
from seqline.visualize.checking import check, check_text
from seqline.visualize.from_weights import document_of
from seqline.visualize.pack import as_read, is_inline, largest_error, pack, to_lists
from seqline.visualize.reading import validated
from seqline.visualize.schema import BUNDLE_SCHEMA, MAX_BUNDLE


class Trace:
    """A recorded run: `document` is the trace of the format in which every array is a numpy array."""

    def __init__(self, document: dict[str, Any]) -> None:
        """Take a document over; arrays may come as lists, numbers as numpy's."""
        self.document: dict[str, Any] = transform(document, _as_array)
        self.document.setdefault("tensors", {})

    @staticmethod
    def read(path: PathLike) -> Trace | Bundle:
        """Read a file of one trace or of a bundle, plain or gzip.

        Raises:
            UserError: no such file, damaged, or of another major version.
        """
        return _made(reading.read_documents(path), str(path))

    @staticmethod
    def from_json(text: str | bytes, where: str = "trace") -> Trace | Bundle:
        """Read the text of a trace or of a bundle.

        Raises:
            UserError: no JSON, no trace, or of another major version.
        """
        return _made(reading.parse_documents(text, where), where)

    @classmethod
    def from_numpy(cls, weights: Any, rows: Sequence[str], cols: Sequence[str], kind: str = "cross") -> Trace:
        """Make a trace of attention weights alone, from any library.

        Args:
            weights: [Q M], [H Q M] or [L H Q M]; row q says where output q reads.
            rows: A word a row: what was produced (`encoder_self`: what was read).
            cols: A word a column: what was read.
            kind: `cross`, `encoder_self` or `decoder_self`.

        Raises:
            UserError: another number of words than of rows or columns, rows that do not sum to 1, an unknown kind.
        """
        trace = cls(document_of(np.asarray(weights), list(rows), list(cols), kind))
        trace.check()
        return trace

    def check(self) -> None:
        """Refuse what is no trace: axes that disagree with the tokens, numbers that are none, rows that do not sum to 1.

        Raises:
            UserError: names the block.
        """
        check(self.document)

    def packed(self) -> dict[str, Any]:
        """Return the document of the file: short arrays as lists, long ones packed in `tensors`.

        Raises:
            UserError: see `check`; also a field that is unknown, missing or of a wrong type.
        """
        self.check()
        tensors: dict[str, Any] = {}

        def place(path: str, spec: ArraySpec, value: np.ndarray) -> Any:
            if is_inline(value):
                return to_lists(value)
            tensors[path] = pack(value, spec.content, path)
            return {"$t": path}

        document = transform(reduced.if_large(self.document), place)
        return validated(document | {"tensors": tensors}, "trace")

    def to_json(self) -> str:
        """Return the trace as the text of its file; see `packed`."""
        return _dump(self.packed())

    def write(self, path: PathLike, *, full: bool = False) -> None:
        """Write a `.json` or `.json.gz` file.

        Args:
            path: The file.
            full: Where a large trace is reduced, keep all its weights in an `.npz` file beside it.

        Raises:
            UserError: another suffix, or see `packed`.
        """
        trace = self
        name = Path(path).name
        if full and reduced.is_large(self.document):
            self.check()
            beside = name.removesuffix(".gz").removesuffix(".json") + ".npz"
            reduced.write_all(Path(path).with_name(beside), self.document)
            trace = reduced.reduce(self, sidecar=beside)
        _write(path, trace.to_json())

    def decoded(self) -> dict[str, Any]:
        """Return the document with every array as nested lists, with the very numbers that a reader of the file sees."""

        def place(path: str, spec: ArraySpec, value: np.ndarray) -> Any:
            return as_read(value, spec.content, path).tolist()

        return transform(reduced.if_large(self.document), place) | {"tensors": {}}

    def save(self, path: PathLike, view: str = "timeline", **state: Any) -> Any:
        """Draw a view into a file; its suffix says how: html, svg, png, gif, mp4, csv or json."""
        from seqline.visualize.export import save

        return save(self, path, view, state)

    def _repr_html_(self) -> str:
        from seqline.visualize.html import notebook

        return notebook(self)


class Bundle:
    """One to six traces that are drawn together, each with a label."""

    def __init__(self, traces: Iterable[Trace], labels: Iterable[str]) -> None:
        """Join traces.

        Raises:
            UserError: none, or more than six, or another number of labels.
        """
        self.traces, self.labels = list(traces), [str(label) for label in labels]
        if not 1 <= len(self.traces) <= MAX_BUNDLE or len(self.labels) != len(self.traces):
            what = f"expected 1 to {MAX_BUNDLE} traces and a label each, got {len(self.traces)} and {len(self.labels)}"
            raise UserError(what, where="bundle")

    def check(self) -> None:
        """Check each trace; see `Trace.check`."""
        for trace in self.traces:
            trace.check()

    def packed(self) -> dict[str, Any]:
        """Return the document of the file; see `Trace.packed`."""
        return {"schema": BUNDLE_SCHEMA, "traces": [trace.packed() for trace in self.traces], "labels": self.labels}

    def to_json(self) -> str:
        """Return the bundle as the text of its file."""
        return _dump(self.packed())

    def write(self, path: PathLike) -> None:
        """Write a `.json` or `.json.gz` file."""
        _write(path, self.to_json())

    def decoded(self) -> dict[str, Any]:
        """Return what scenes receive: each trace decoded."""
        return {"schema": BUNDLE_SCHEMA, "traces": [trace.decoded() for trace in self.traces], "labels": self.labels}

    def save(self, path: PathLike, view: str = "timeline", **state: Any) -> Any:
        """Draw a view into a file; see `Trace.save`."""
        from seqline.visualize.export import save

        return save(self, path, view, state)

    def _repr_html_(self) -> str:
        from seqline.visualize.html import notebook

        return notebook(self)


def packing_error(document: dict[str, Any]) -> float:
    """Return how far the numbers of a document move when it is written: absolute up to 1, relative above."""
    return max((largest_error(array, spec.content) for _, spec, array in each_array(document)), default=0.0)


def strings_of(trace: Trace | Bundle) -> str:
    """Return every string of a trace as one: more than a figure's labels, but none of them is missed."""
    waiting: list[Any] = [trace.document] if isinstance(trace, Trace) else [t.document for t in trace.traces]
    found = [] if isinstance(trace, Trace) else list(trace.labels)
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            found.append(node)
        elif isinstance(node, dict):
            waiting.extend(node.values())
        elif isinstance(node, list | tuple):
            waiting.extend(node)
    return "".join(found)


def _as_array(path: str, spec: ArraySpec, value: Any) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise UserError("expected rows of equal length", where=path) from error
    if array.dtype.kind not in "fiub":
        if array.size:
            raise UserError(f"expected numbers, got {array.dtype}", where=path)
        array = array.astype(float)
    rank = len(spec.axes.split())
    if array.size == 0 and array.ndim < rank:  # nested lists of nothing have lost their last axes
        array = array.reshape(array.shape + (0,) * (rank - array.ndim))
    return array


def _made(read: tuple[list[dict[str, Any]], list[str] | None], where: str) -> Trace | Bundle:
    documents, labels = read
    place = where
    try:
        check_text({"labels": labels})
        traces = []
        for index, document in enumerate(documents):
            place = where if labels is None else f"{where}: traces[{index}]"
            traces.append(Trace(document))
            traces[-1].check()
    except UserError as error:
        place = f"{place}: {error.where}" if error.where else place
        raise UserError(error.what, where=place, fix=reading.FIX) from error
    return traces[0] if labels is None else Bundle(traces, labels)


def _dump(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _write(path: PathLike, text: str) -> None:
    name = Path(path).name.lower()
    if not name.endswith((".json", ".json.gz")):
        raise UserError("expected a name that ends in .json or .json.gz", where=str(path))
    data = text.encode("utf-8")
    write_bytes(path, reading.compressed(data) if name.endswith(".gz") else data)
