"""Which files of a folder are its training, validation and test set."""

from __future__ import annotations

import os

from seqline.errors import UserError

Keys = tuple[str, str]

SET_NAMES = {"train": ("train", "training"), "valid": ("valid", "validation", "val", "dev"), "test": ("test",)}
"""The sets of a folder, and the file names that count as each."""
FORMS = (".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz")
_SIDE_NAMES = (("source", "target"), ("src", "tgt"), ("src", "trg"), ("in", "out"))
_NO_SIDES = {"tsv", "jsonl", "json", "csv", "txt", "md", "log", "tmp", "pharaoh", "html", "toml"}


def find_set(folder: str, name: str, keys: Keys) -> tuple[str, ...] | None:
    """Return the one file of a set, or its two files, source first; None if the folder has no such set.

    Args:
        folder: A folder that exists.
        name: `train`, `valid` or `test`.
        keys: Source and target suffix; they decide if they are among the suffixes, and must if there are more than two.

    Raises:
        UserError: more than one choice.
    """
    found = [files for base in SET_NAMES[name] for files in _candidates(folder, base, keys)]
    if len(found) > 1:
        names = ", ".join("+".join(map(os.path.basename, files)) for files in found)
        raise UserError(f"several files could be the {name} set: {names}", where=folder, fix="keep one of them")
    return found[0] if found else None


def _candidates(folder: str, base: str, keys: Keys) -> list[tuple[str, ...]]:
    """List what could be the set `base` of a folder: one file, or two that differ in their language suffix."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror}", where=folder) from error
    found: list[tuple[str, ...]] = [(os.path.join(folder, base + form),) for form in FORMS if base + form in names]
    sides: dict[str, str] = {}
    for name in names:
        suffix = name.removeprefix(base + ".").removesuffix(".gz")
        if name.startswith(base + ".") and suffix and "." not in suffix and suffix not in _NO_SIDES:
            if suffix in sides:
                raise UserError(f"both {sides[suffix]} and {name} are there", where=folder, fix="keep one of them")
            sides[suffix] = name
    if len(sides) < 2:
        return found
    source, target = _direction(folder, base, list(sides), keys)
    return [*found, (os.path.join(folder, sides[source]), os.path.join(folder, sides[target]))]


def _direction(folder: str, base: str, suffixes: list[str], keys: Keys) -> Keys:
    """Say which suffix is the source: as `keys` say, by well-known names, else two in the order of their names."""
    for names in (keys, *_SIDE_NAMES):
        if set(names) <= set(suffixes):
            return names
    if len(suffixes) > 2:
        raise UserError(
            f"more than two files for {base}: suffixes {', '.join(suffixes)}",
            where=folder,
            fix=f"say which with data.keys, source first, for instance {suffixes[0]},{suffixes[1]}",
        )
    return suffixes[0], suffixes[1]
