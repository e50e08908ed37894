"""The labels of a run, tags or classes: an ordered list, a label's place in it its id; kept as strict JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from seqline.errors import UserError

UNKNOWN_LABEL = -1
"""The id of a label that the list does not hold: nothing can be trained on it, and evaluation counts it as missed."""
MOST_LABELS = 10_000
MOST_LABEL_BYTES = 1_000
MOST_FILE_BYTES = MOST_LABELS * (6 * MOST_LABEL_BYTES + 4)
"""JSON writes a byte of text as at most 6, and quotes, comma and line end around each label."""


class Labels:
    """An ordered list of different labels. No label is empty, has white space at its ends or a line end inside."""

    def __init__(self, names: Sequence[str], *, where: str = "labels") -> None:
        """Check and keep the list.

        Args:
            names: label i has the id i.
            where: what they came from, for error messages.

        Raises:
            UserError: fewer than 2 or more than 10,000 labels, one of them twice, or one that is no label.
        """
        if len(names) < 2:
            found = f"only {names[0]!r}" if names else "none"
            raise UserError(
                f"needs at least 2 different labels, found {found}",
                where=where,
                fix="check the second column: there is nothing to learn",
            )
        if len(names) > MOST_LABELS:
            what = f"{len(names):,} different labels, more than {MOST_LABELS:,}"
            raise UserError(what, where=where, fix="the second column must hold tags or a class, not free text")
        self.names = tuple(names)
        self._ids: dict[str, int] = {}
        for name in names:
            _check(name, where)
            if name in self._ids:
                raise UserError(f"label {name[:60]!r} twice", where=where, fix="each label stands there once")
            self._ids[name] = len(self._ids)

    @classmethod
    def from_counts(cls, labels: Iterable[str], *, where: str = "labels") -> Labels:
        """Collect the labels of a training set: the most frequent first, equally frequent ones in the order of their bytes.

        Args:
            labels: every occurrence.
            where: the set's name, for error messages.

        Raises:
            UserError: see the class.
        """
        counts = Counter(labels)
        for name in counts:
            _check(name, where)
        return cls(sorted(counts, key=lambda name: (-counts[name], name.encode())), where=where)

    @classmethod
    def from_bytes(cls, data: bytes, where: str) -> Labels:
        """Read what `to_bytes` wrote.

        Raises:
            UserError: no UTF-8, no JSON list of text, or a list that the class refuses.
        """
        fix = "the file is damaged or was not made by seqline; train again or restore it"
        if len(data) > MOST_FILE_BYTES:
            raise UserError(f"holds {len(data):,} bytes, more than {MOST_FILE_BYTES:,}", where=where, fix=fix)
        try:
            names = json.loads(data.decode("utf-8"))
        except RecursionError as error:
            raise UserError("JSON nested too deeply", where=where, fix=fix) from error
        except ValueError as error:  # no UTF-8, no JSON, or a number of thousands of digits
            raise UserError("no JSON", where=where, fix=fix) from error
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise UserError("expected a JSON list of text", where=where, fix=fix)
        return cls(names, where=where)

    @property
    def size(self) -> int:
        """The number of labels."""
        return len(self.names)

    def encode(self, label: str) -> int:
        """Return the label's id, or `UNKNOWN_LABEL`."""
        return self._ids.get(label, UNKNOWN_LABEL)

    def decode(self, label_id: int) -> str:
        """Return the label of an id.

        Raises:
            ValueError: the id lies outside [0, size).
        """
        if not 0 <= label_id < self.size:
            raise ValueError(f"label ids must lie in [0, {self.size}); got {label_id}")
        return self.names[label_id]

    def to_bytes(self) -> bytes:
        """Return the list as JSON in UTF-8, a label a line."""
        return (json.dumps(self.names, ensure_ascii=False, indent=0) + "\n").encode()


def _check(name: str, where: str) -> None:
    """Refuse a label that could not be printed on a line of its own and read back."""
    fault = ""
    if not name or name != name.strip():
        fault = "is empty or has white space at its ends"
    elif "\n" in name or "\0" in name:
        fault = "holds a line end or a NUL"
    elif any("\ud800" <= character <= "\udfff" for character in name):
        fault = "holds half of a surrogate pair"
    elif len(name.encode()) > MOST_LABEL_BYTES:
        fault = f"is longer than {MOST_LABEL_BYTES:,} bytes"
    if fault:
        raise UserError(
            f"label {name[:60]!r} {fault}", where=where, fix="give each text a short label, each token a tag"
        )
