"""Write the verses of the English and the Spanish Bible as a corpus with train, valid and test, for curves by source length.

    python benchmarks/bible.py --data BIBLE --out data/bible --longest 50
    seqline lab bottleneck --data data/bible --steps 5000 --seeds 1 --jobs 2 --out lab-bible

BIBLE is a folder with bible.en-es.tsv.gz (book, chapter:verse, English, Spanish) and splits.tsv (book, chapter, split). Training
and validation take the verses of at most --longest English words, test is complete, as in Bahdanau et al. 2015 (1409.0473).
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

NAMES = {"train": "train", "val": "valid", "test": "test"}


def main() -> None:
    """Write the three files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--longest", type=int, default=50, help="English words of a verse of train and valid")
    given = parser.parse_args()
    header, *rows = (given.data / "splits.tsv").read_text("utf-8").removesuffix("\n").split("\n")
    assert header.split("\t")[:3] == ["book", "chapter", "split"]
    parts = {tuple(row.split("\t")[:2]): NAMES[row.split("\t")[2]] for row in rows}
    verses: dict[str, list[str]] = {name: [] for name in NAMES.values()}
    text = gzip.decompress((given.data / "bible.en-es.tsv.gz").read_bytes()).decode("utf-8")
    for line in text.removesuffix("\n").split("\n"):
        book, place, english, spanish = line.split("\t")
        part = parts[book, place.split(":")[0]]
        if part == "test" or len(english.split(" ")) <= given.longest:
            verses[part].append(f"{english}\t{spanish}\n")
    given.out.mkdir(parents=True, exist_ok=True)
    for name, lines in verses.items():
        (given.out / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
        print(f"{name}: {len(lines):,} verses")


if __name__ == "__main__":
    main()
