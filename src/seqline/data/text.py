"""Pairs of text from a TSV file, two files, JSON lines or a folder of sets; nothing is repaired or lost silently.

Blank lines stay pairs here, so that line numbers and evaluation keep their places; training drops them with
`drop_blank`, which counts what it drops.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import NamedTuple

from seqline.data.folders import FORMS, find_set
from seqline.data.lines import read_lines
from seqline.data.records import parse_record
from seqline.errors import UserError

__all__ = [
    "DataSet",
    "Pair",
    "PairSet",
    "Tally",
    "drop_blank",
    "hold_out",
    "normalize_whitespace",
    "read_data",
    "read_lines",
    "read_pairs",
    "read_set",
    "require_pairs",
]

Keys = tuple[str, str]

MIN_HELD_OUT = 10
MAX_HELD_OUT = 2_000


class Pair(NamedTuple):
    """One source and its target; `line` counts from 1 in the file that they came from."""

    source: str
    target: str
    line: int


@dataclass(frozen=True)
class PairSet:
    """Pairs in the order of their file; `name` says which file or files, source first."""

    name: str
    pairs: list[Pair]


@dataclass(frozen=True)
class DataSet:
    """The sets of one task; None: not given."""

    train: PairSet
    valid: PairSet | None
    test: PairSet | None


@dataclass
class Tally:
    """Counts what is left out of `total` pairs and why, with line numbers; its text is the sentence for the log."""

    total: int
    reasons: dict[str, list[int]] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        """The number of pairs not left out."""
        return self.total - sum(map(len, self.reasons.values()))

    def add(self, reason: str, line: int) -> None:
        """Count the pair of one line as left out; a pair is added at most once."""
        self.reasons.setdefault(reason, []).append(line)

    def __str__(self) -> str:
        parts = []
        for reason, lines in self.reasons.items():
            shown = ", ".join(map(str, lines[:3])) + (", ..." if len(lines) > 3 else "")
            parts.append(f"{len(lines):,} {reason} (line {shown})")
        text = f"kept {self.kept:,} of {self.total:,}"
        return f"{text}: {', '.join(parts)}" if parts else text


def read_pairs(spec: str, keys: Keys = ("source", "target")) -> PairSet:
    """Read one set of pairs.

    Args:
        spec: A TSV file, a `.jsonl` file (each also with `.gz`), `SRC,TGT` for two files, or `-` for TSV on standard
            input. A comma splits only where no file has the whole name.
        keys: The names of source and target in JSON lines.

    Raises:
        UserError: with the file and, where there is one, the line.
    """
    if not spec:
        raise UserError("no data named", fix="give a TSV file, SRC,TGT, a .jsonl file or a folder")
    if spec == "-" or os.path.lexists(spec) or "," not in spec:
        _refuse_address(spec)
        return _read_one(spec, keys)
    splits = [(spec[:i], spec[i + 1 :]) for i, character in enumerate(spec) if character == ","]
    both = [pair for pair in splits if all(name == "-" or os.path.lexists(name) for name in pair)]
    return _read_two(*(both or splits)[0])


def read_set(folder: str, name: str, keys: Keys = ("source", "target")) -> PairSet | None:
    """Read the set `train`, `valid` or `test` of a folder; None if the folder has no such set.

    Raises:
        UserError: two files could be the set; a fault in the files.
    """
    files = find_set(folder, name, keys)
    if files is None:
        return None
    return _read_one(files[0], keys) if len(files) == 1 else _read_two(*files)


def read_data(spec: str, valid: str = "", keys: Keys = ("source", "target")) -> DataSet:
    """Read all sets: `spec` is a folder with train, valid and test, or one set of pairs, which is the training set.

    Args:
        spec: A folder, or what `read_pairs` takes.
        valid: What `read_pairs` takes, or empty; it stands before the folder's own validation set.
        keys: The names in JSON lines; in a folder of two files a set, also their suffixes, source first.

    Raises:
        UserError: with the file and, where there is one, the line; a folder without a training set.
    """
    given = read_pairs(valid, keys) if valid else None
    if not os.path.isdir(spec):
        return DataSet(read_pairs(spec, keys), given, None)
    train = read_set(spec, "train", keys)
    if train is None:
        looked = ", ".join("train" + form for form in FORMS)
        raise UserError(
            f"no training set in this folder: looked for {looked}, or train.X and train.Y",
            where=spec,
            fix="name the file itself, or rename it",
        )
    return DataSet(train, given or read_set(spec, "valid", keys), read_set(spec, "test", keys))


def require_pairs(pairs: PairSet, where: str = "") -> None:
    """Refuse an empty set.

    Raises:
        UserError: there is no pair in it.
    """
    if not pairs.pairs:
        raise UserError("no usable pairs", where=where or pairs.name, fix="each line needs a source and a target")


def hold_out(train: PairSet, seed: int) -> tuple[PairSet, PairSet]:
    """Split off a validation set: 2 %, at least 10 and at most 2,000 pairs; both parts keep the order of the file.

    Which pairs depends on the seed and their text only, not on their order. Equal pairs stay on one side, and pairs
    that occur least are taken first, so that no held-out pair is left in the training part.

    Returns:
        The remaining training set and the validation set.

    Raises:
        UserError: too few different pairs for two sets of at least 10.
    """
    ranks = [_rank(seed, pair) for pair in train.pairs]
    counts = Counter(ranks)
    num_wanted = min(max(MIN_HELD_OUT, len(ranks) // 50), MAX_HELD_OUT)
    held: set[bytes] = set()
    num_held = 0
    for rank in nsmallest(num_wanted, counts, key=lambda rank: (counts[rank], rank)):
        if num_held + counts[rank] <= num_wanted:
            held.add(rank)
            num_held += counts[rank]
    if num_held < MIN_HELD_OUT or len(ranks) - num_held < MIN_HELD_OUT:
        raise UserError(
            f"too few pairs to hold out a validation set: {len(ranks):,} pairs, {len(counts):,} different; "
            f"needs {2 * MIN_HELD_OUT}",
            where=train.name,
            fix="give one with --valid (data.valid)",
        )
    kept = [pair for pair, rank in zip(train.pairs, ranks, strict=True) if rank not in held]
    valid = [pair for pair, rank in zip(train.pairs, ranks, strict=True) if rank in held]
    return PairSet(train.name, kept), PairSet(f"{train.name} (held out)", valid)


def drop_blank(pairs: PairSet, tally: Tally) -> PairSet:
    """Leave out, both sides together, each pair with a side of white space only, and count it in `tally`."""
    kept = []
    for pair in pairs.pairs:
        has_source, has_target = bool(pair.source.strip()), bool(pair.target.strip())
        if has_source and has_target:
            kept.append(pair)
        else:
            tally.add("empty target" if has_source else "empty source" if has_target else "both empty", pair.line)
    return PairSet(pairs.name, kept)


def normalize_whitespace(text: str) -> str:
    """Turn every run of Unicode white space into one space and strip both ends."""
    return " ".join(text.split())


def _read_one(path: str, keys: Keys) -> PairSet:
    lines = read_lines(path)
    if path.lower().removesuffix(".gz").endswith(".jsonl"):
        rows = (parse_record(text, keys, f"{path}:{line}") for line, text in enumerate(lines, 1))
        return PairSet(path, [Pair(source, target, line) for line, (source, target) in enumerate(rows, 1)])
    pairs = []
    for line, text in enumerate(lines, 1):
        columns = text.split("\t") if text else ["", ""]
        if len(columns) != 2:
            count = f"{len(columns)} columns" if len(columns) > 1 else "1 column (no tab)"
            raise UserError(
                f"expected source TAB target, got {count}",
                where=f"{'standard input' if path == '-' else path}:{line}",
                fix="put exactly one tab in each line; there are no quoting rules",
            )
        pairs.append(Pair(columns[0], columns[1], line))
    return PairSet("standard input" if path == "-" else path, pairs)


def _read_two(source: str, target: str) -> PairSet:
    if source == target == "-":
        raise UserError("both sides cannot come from standard input", where="-,-", fix="give one TSV instead")
    for path in (source, target):
        _refuse_address(path)
    sources, targets = read_lines(source), read_lines(target)
    if len(sources) != len(targets):
        longer, first = (source, len(targets) + 1) if len(sources) > len(targets) else (target, len(sources) + 1)
        raise UserError(
            f"{len(sources):,} lines in {source} but {len(targets):,} in {target}; {longer} is longer: "
            f"its line {first:,} has no partner",
            where=f"{source},{target}",
            fix="line n of both files must belong together",
        )
    return PairSet(
        f"{source},{target}", [Pair(*both, n) for n, both in enumerate(zip(sources, targets, strict=True), 1)]
    )


def _refuse_address(path: str) -> None:
    if "://" in path and not os.path.lexists(path):
        raise UserError("no such file", where=path, fix="nothing is downloaded: fetch it first and name the local file")


def _rank(seed: int, pair: Pair) -> bytes:
    # Own hashing: a library generator may change between versions, and hash() changes between processes.
    text = f"{seed}\0{pair.source}\0{pair.target}"  # no text holds a NUL
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()
