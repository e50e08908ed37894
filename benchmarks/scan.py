"""Compare models on SCAN (simple and length), by `seqline compare`, and print how many commands each gets right.

    python benchmarks/scan.py --data SCAN --out runs/scan

SCAN is a folder with simple_split and length_split (each file also .gz). Every tenth training line by a fixed shuffle is the
validation set; test is scored once, greedy. Words in, actions as words out; a line is right when its whole sequence is. Three
seeds, the same minutes for every run, one thread each, two at a time. For length: accuracy by number of actions too.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

from running import chosen, markdown, seqline

SPLITS = {"simple": "tasks_{part}_simple.txt", "length": "tasks_{part}_length.txt"}
COMMON = (
    "tokenizer.kind=word",
    "tokenizer.is_shared=false",
    "decoding.beam_size=1",
    "model.size=tiny",
    "training.batch_tokens=1200",
    "training.validate_sentences=300",
)
MODELS: dict[str, tuple[str, ...]] = {
    "encoder-decoder": ("model.cell=lstm", "model.hidden_size=200", "model.embed_size=100", "model.dropout=0.2"),
    "bahdanau": ("model.hidden_size=64", "model.embed_size=64", "model.attention_size=64", "model.dropout=0.3"),
    "luong": ("model.hidden_size=128", "model.embed_size=64", "model.dropout=0.3", "model.score=dot"),
    "transformer": ("model.dropout=0.1", "training.learning_rate=0.002"),
}
PUBLISHED = (("best of Lake & Baroni 2018", "99.8", "20.8"), ("their 2-layer LSTM, no attention", "99.7", "13.8"))
"""Lake & Baroni 2018 (1711.00350): simple as quoted by a re-implementation, length from memory."""


def read(folder: Path, name: str) -> list[tuple[str, str]]:
    """Return the pairs of a file, plain or gzip."""
    plain = folder / name
    text = (
        plain.read_text("utf-8")
        if plain.exists()
        else gzip.decompress(plain.with_name(name + ".gz").read_bytes()).decode("utf-8")
    )
    pairs = []
    for line in text.removesuffix("\n").split("\n"):
        source, target = line.removeprefix("IN: ").split(" OUT: ")
        pairs.append((source, target))
    return pairs


def write(data: Path, split: str, folder: Path) -> None:
    """Write one split as a folder with train, valid and test."""
    lines = read(data / f"{split}_split", SPLITS[split].format(part="train"))
    random.Random(1).shuffle(lines)
    held = len(lines) // 10
    parts = {"valid": lines[:held], "train": lines[held:]}
    parts["test"] = read(data / f"{split}_split", SPLITS[split].format(part="test"))
    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in parts.items():
        text = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (folder / f"{name}.tsv").write_text(text, encoding="utf-8")


def compare(folder: Path, out: Path, names: list[str], minutes: float, seeds: int, jobs: int) -> dict[str, Any]:
    """Compare the models on one split and return what was found."""
    settings = [f"--set={setting}" for setting in COMMON]
    settings += [f"--set={name}:{setting}" for name in names for setting in MODELS[name]]
    seqline("compare", str(folder), "--archs", ",".join(names), "--seeds", str(seeds), "--budget", f"{minutes:g}m",
            "--metrics", "exact,per", "--jobs", str(jobs), "--out", str(out), *settings)  # fmt: skip
    return json.loads((out / "results.json").read_text(encoding="utf-8"))


def by_actions(folder: Path, out: Path, found: dict[str, Any]) -> dict[str, dict[int, list[float]]]:
    """Return the accuracy of each run by the number of actions, by architecture."""
    wanted = [line.split("\t")[1] for line in (folder / "test.tsv").read_text("utf-8").splitlines()]
    shown: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in found["runs"]:
        said = json.loads((out / "scores" / f"{run['name']}.json").read_text("utf-8"))["answers"]["outputs"]
        right: dict[int, list[bool]] = defaultdict(list)
        for hypothesis, reference in zip(said, wanted, strict=True):
            right[len(reference.split())].append(hypothesis == reference)
        for length, hits in right.items():
            shown[run["architecture"]][length].append(100 * sum(hits) / len(hits))
    return shown


def spread(values: dict[str, Any] | None) -> str:
    """Write mean and standard deviation."""
    if values is None:
        return "failed"
    return f"{values['mean']:.1f}" + (f" ± {values['sd']:.1f}" if values["sd"] is not None else "")


def main() -> None:
    """Compare on both splits and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=2.5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", help="architectures, a,b,c; all by default")
    parser.add_argument("--splits", help="simple, length; both by default")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    names, splits = chosen(given.only, list(MODELS)), chosen(given.splits, list(SPLITS))
    rows: dict[str, list[str]] = {name: [f"`{name}`"] for name in names}
    lengths: list[str] = []
    for split in splits:
        folder, out = given.out / "data" / split, given.out / split
        if not folder.exists():
            write(given.data, split, folder)
        found = compare(folder, out, names, given.minutes, given.seeds, given.jobs)
        for row in found["architectures"]:
            rows[row["name"]].append(spread((row["scores"] or {}).get("exact")))
            rows[row["name"]].append(f"{row['parameters']['mean']:,.0f}" if row["parameters"] else "-")
        if split == "length":
            shown = by_actions(folder, out, found)
            counts = sorted({count for each in shown.values() for count in each})
            body = [[f"`{name}`", *(f"{sum(v[c]) / len(v[c]):.1f}" for c in counts)] for name, v in shown.items()]
            lengths = ["", *markdown(("right, %, by actions", *map(str, counts)), body)]
    columns = [column for split in splits for column in (f"{split}, right, %", "parameters")]
    for title, *scores in PUBLISHED:
        by_split = dict(zip(SPLITS, scores, strict=True))
        rows[title] = [title, *(cell for split in splits for cell in (by_split[split], "-"))]
    print("\n".join([*markdown(("model", *columns), rows.values()), *lengths]))


if __name__ == "__main__":
    main()
