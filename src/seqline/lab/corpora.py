"""The corpora that every experiment may use; one that needs another brings it along in its own file as `CORPORA`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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


CORPORA: dict[str, MakeCorpus] = {"pair": _pair, "toy": _toy}
"""pair: the user's corpus, else the toy pair. toy: the toy pair with its gold links, whatever the user gave."""
