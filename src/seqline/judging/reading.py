"""What an evaluation reads: pairs to score, a text to score, another system's outputs, and the text of the training."""

from __future__ import annotations

import os
from pathlib import Path

from seqline.data.plain import Text, read_plain, read_plain_set
from seqline.data.text import PairSet, read_lines, read_pairs, read_set
from seqline.errors import UserError
from seqline.judging.systems import RunSystem, System, read_outputs
from seqline.run_folder import load_run
from seqline.translator import Translator


def read_scored(data: str, keys: tuple[str, str]) -> PairSet:
    """Read the pairs to score: a set, or the test set of a folder.

    Raises:
        UserError: nothing there, or no test set in the folder.
    """
    pairs = read_set(data, "test", keys) if Path(data).is_dir() else read_pairs(data, keys)
    if pairs is None:
        raise UserError("no test set in this folder", where=data, fix="name the file itself")
    return pairs


def read_scored_text(data: str) -> Text:
    """Read the text to score: a file, or the test text of a folder.

    Raises:
        UserError: nothing there, or no test text in the folder.
    """
    text = read_plain_set(data, "test") if Path(data).is_dir() else read_plain(data)
    if text is None:
        raise UserError("no test text in this folder", where=data, fix="name the file itself")
    return text


def read_system(name: str, pairs: PairSet, device: str = "cpu") -> System:
    """Load the run of a folder, or read outputs from a text file, one a line.

    Raises:
        UserError: neither; a run for another task; a file with another number of lines than pairs.
    """
    if os.path.isdir(name):
        return RunSystem(Translator.of(load_run(Path(name), device)))
    return read_outputs(name, pairs)


def read_training(spec: str, keys: tuple[str, str]) -> list[str]:
    """Read the target side of the training text.

    Args:
        spec: pairs in a form that `read_pairs` takes, a folder with a training set, or a text file of target lines. A file
            whose first line that is not blank holds one tab is taken as pairs.
        keys: names of source and target in JSON lines.

    Raises:
        UserError: nothing there; a line without its tab in a file of pairs.
    """
    if os.path.isdir(spec):
        pairs = read_set(spec, "train", keys)
        if pairs is None:
            raise UserError("no training set in this folder", where=spec, fix="name the file itself")
        return [pair.target for pair in pairs.pairs]
    is_one_file = spec == "-" or os.path.lexists(spec) or "," not in spec
    if is_one_file and not spec.lower().removesuffix(".gz").endswith(".jsonl"):
        lines = read_lines(spec)
        if next((line for line in lines if line.strip()), "").count("\t") != 1:
            return lines
        if spec == "-":
            raise UserError(
                "pairs cannot come from standard input here", where=spec, fix="name a file, or give target lines"
            )
    return [pair.target for pair in read_pairs(spec, keys).pairs]
