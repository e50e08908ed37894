"""The sets of a comparison: read once, a missing one held out, and written down, so that every run reads the very same."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seqline import files
from seqline.config import DataConfig
from seqline.data.labelled import check_classes, check_tagging
from seqline.data.plain import Text, hold_out_end, lines_of, read_plain, read_plain_data, read_plain_set
from seqline.data.text import PairSet, Tally, drop_blank, hold_out, read_data, read_pairs, require_pairs
from seqline.errors import UserError

FOLDER = "data"
NAMES = ("train", "valid", "test")
_CHECKS: dict[str, Callable[[PairSet, Tally], PairSet]] = {
    "translation": drop_blank,
    "tagging": check_tagging,
    "classification": check_classes,
}


@dataclass(frozen=True)
class Sets:
    """Three sets that hold nothing in common but what the user gave so.

    test: as its task reads it. contents: of each file in the folder, by name.
    notes: what a user should know.
    """

    test: Any
    contents: dict[str, bytes]
    notes: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all sets."""
        return files.sha256(
            b"\0".join(part for name in sorted(self.contents) for part in (name.encode(), self.contents[name]))
        )

    def write(self, folder: Path) -> None:
        """Write the files."""
        for name, content in self.contents.items():
            files.write_bytes(folder / name, content)


def read_sets(data: str, config: DataConfig, test: str, seed: int) -> Sets:
    """Read the three sets; hold out what is missing, the test set first.

    Args:
        data: a file, two files, or a folder with train, and valid and test where they are given.
        config: task, keys and `data.valid`.
        test: the test set, "" = the folder's, else held out of the training set.
        seed: of what is held out.

    Raises:
        UserError: a file that does not read, nothing usable in it, or too little to hold out.
    """
    if config.task != "language_model":
        return _read_pairs(data, config, test, seed)
    return _read_lines(data, config, test, seed) if config.unit == "lines" else _read_stream(data, config, test)


def _read_pairs(data: str, config: DataConfig, test_name: str, seed: int) -> Sets:
    check, found = _CHECKS[config.task], read_data(data, config.valid, config.keys)
    given = {
        "train": found.train,
        "valid": found.valid,
        "test": read_pairs(test_name, config.keys) if test_name else found.test,
    }
    kept = {name: check(pairs, Tally(len(pairs.pairs))) for name, pairs in given.items() if pairs is not None}
    for name, pairs in kept.items():
        require_pairs(pairs, f"{name}: {pairs.name}")
    sets, notes = _held_out({name: pairs for name, pairs in given.items() if pairs is not None}, kept, seed)
    return _written(sets, tuple(notes))


def _held_out(given: dict[str, PairSet], kept: dict[str, PairSet], seed: int) -> tuple[dict[str, PairSet], list[str]]:
    """Add the sets that are not given: test first, then valid, each of pairs that stand in no other set."""
    sets, notes, train = dict(given), [], kept["train"]
    for name in ("test", "valid"):
        if name in sets:
            continue
        other = {pair[:2] for known, pairs in sets.items() if known != "train" for pair in pairs.pairs}
        free = PairSet(train.name, [pair for pair in train.pairs if pair[:2] not in other])
        try:
            _, held = hold_out(free, seed)
        except UserError as error:
            what = f"{len(free.pairs):,} examples are too few to hold out a {name} set"
            raise UserError(what, where=train.name, fix=f"give one with --{name}") from error
        gone = {pair[:2] for pair in held.pairs}
        train = PairSet(train.name, [pair for pair in train.pairs if pair[:2] not in gone])
        sets["train"], sets[name] = train, held
        notes.append(
            f"held out {len(held.pairs):,} of {len(given['train'].pairs):,} examples as the {name} set (seed {seed})"
        )
    seen = {pair[:2] for pair in sets["train"].pairs}
    if count := sum(pair[:2] in seen for pair in kept["test"].pairs) if "test" in kept else 0:
        notes.append(f"{count:,} of the {len(kept['test'].pairs):,} test examples stand in the training set too")
    return sets, notes


def _written(sets: dict[str, PairSet], notes: tuple[str, ...]) -> Sets:
    contents = dict(_pair_file(name, sets[name]) for name in NAMES)
    return Sets(sets["test"], contents, notes)


def _pair_file(name: str, pairs: PairSet) -> tuple[str, bytes]:
    """Return TSV, or JSON lines where a text holds what TSV has no place for."""
    rows = [(pair.source, pair.target) for pair in pairs.pairs]
    is_plain = not any("\t" in text or text[:1] == "\ufeff" or text[-1:] == "\r" for row in rows for text in row)
    if is_plain:
        return f"{name}.tsv", "".join(f"{source}\t{target}\n" for source, target in rows).encode()
    lines = (json.dumps({"source": source, "target": target}, ensure_ascii=False) for source, target in rows)
    return f"{name}.jsonl", "".join(f"{line}\n" for line in lines).encode()


def _texts(data: str, config: DataConfig, test_name: str) -> tuple[Text, Text | None, Text | None]:
    found = read_plain_data(data, config.valid)
    test = read_plain(test_name) if test_name else read_plain_set(data, "test") if Path(data).is_dir() else None
    for text in (*found, test):
        if text is not None and not text.text.strip():
            raise UserError("no text in it", where=text.name, fix="give a text of some lines")
    return found.train, found.valid, test


def _read_stream(data: str, config: DataConfig, test_name: str) -> Sets:
    train, valid, test = _texts(data, config, test_name)
    notes = []
    if test is None:
        train, test = hold_out_end(train)
        notes.append(f"held out the last {len(test.text):,} characters as the test set")
    if valid is None:
        train, valid = hold_out_end(train)
        notes.append(f"held out the last {len(valid.text):,} characters of the rest as the validation set")
    return _text_sets({"train": train, "valid": valid, "test": test}, notes)


def _read_lines(data: str, config: DataConfig, test_name: str, seed: int) -> Sets:
    train, valid, test = _texts(data, config, test_name)
    given = {
        name: lines_of(text) for name, text in (("train", train), ("valid", valid), ("test", test)) if text is not None
    }
    kept = {name: PairSet(lines.name, [p for p in lines.pairs if p.target.strip()]) for name, lines in given.items()}
    sets, notes = _held_out(given, kept, seed)
    texts = {
        name: Text(lines.name, "".join(f"{pair.target}\n" for pair in lines.pairs)) for name, lines in sets.items()
    }
    return _text_sets(texts, notes)


def _text_sets(texts: dict[str, Text], notes: Sequence[str]) -> Sets:
    contents = {f"{name}.txt": texts[name].text.encode() for name in NAMES}
    return Sets(texts["test"], contents, tuple(notes))
