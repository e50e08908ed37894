"""The corpora that every experiment may use; one that needs another brings it along in its own file as `CORPORA`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seqline import files
from seqline.comparing.sets import Sets, read_sets
from seqline.config import DataConfig
from seqline.data.toy import make_corpus, write_corpus

if TYPE_CHECKING:
    from seqline.lab.laboratory import Lab, MakeCorpus

TOY_PAIR, NUM_TOY_PAIRS = "fr-en", 12_000
SEED = 1
"""Of what is held out of a user's corpus, and of the toy pair."""


def user_sets(data: str) -> Sets:
    """Read a user's parallel corpus; what is missing of valid and test is held out.

    Args:
        data: TSV, "SRC,TGT", JSONL, or a folder with train, valid and test.

    Raises:
        UserError: nothing that reads as pairs, or too little to hold out.
    """
    return read_sets(data, DataConfig(), "", SEED)


def _pair(folder: Path, lab: Lab) -> None:
    if lab.data is None:
        _toy(folder, lab)
    else:
        user_sets(str(lab.data)).write(folder)


def _toy(folder: Path, _lab: Lab) -> None:
    write_corpus(make_corpus(TOY_PAIR, NUM_TOY_PAIRS, SEED), folder)


def write_tagged(
    folder: Path, counts: Mapping[str, int], draw: Callable[[], tuple[Sequence[str], Sequence[str]]]
) -> None:
    """Write drawn lines of words and their tags; no text stands twice in the corpus.

    Args:
        folder: of the corpus.
        counts: lines of each file.
        draw: returns words and one tag each.
    """
    seen: set[str] = set()
    for name, count in counts.items():
        rows: list[str] = []
        while len(rows) < count:
            words, tags = draw()
            if (text := " ".join(words)) not in seen:
                seen.add(text)
                rows.append(f"{text}\t{' '.join(tags)}\n")
        files.write_text(folder / f"{name}.tsv", "".join(rows))


CORPORA: dict[str, MakeCorpus] = {"pair": _pair, "toy": _toy}
"""pair: the user's corpus, else the toy pair. toy: the toy pair with its gold links, whatever the user gave."""
