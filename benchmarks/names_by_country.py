"""Train classifiers of family names by country, with a learned query and with the last state as query, and print their table.

    python benchmarks/names_by_country.py --data CHARLM --out runs/names-by-country

CHARLM is a folder with names-by-country/*.txt, 18 countries, 20,050 lines of which many repeat. The division is by distinct
name: 70, 10 and 20 % of them, shuffled with seed 1, for training, dev and test; a name that stands under several countries is
in one part only, once for each, so that no model can have all of its lines right. One thread a model, two at a time, at most
1 minute each; the best checkpoint is chosen on dev by accuracy. Balanced accuracy: the plain mean of the recalls of the
countries.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import Any

from running import chosen, evaluate, markdown, side_by_side, train

COMMON = ("tokenizer.kind=char", "model.size=tiny", "training.batch_tokens=800", "training.validate_sentences=2000")
RECURRENT = ("model.embed_size=48", "model.num_layers=1", "model.dropout=0.3", "training.learning_rate=0.004")
BLOCKS = (
    "model.embed_size=64",
    "model.num_heads=4",
    "model.inner_size=128",
    "model.num_layers=2",
    "model.dropout=0.2",
    "training.learning_rate=0.003",
)
MODELS: dict[str, tuple[str, tuple[str, ...]]] = {
    "bilstm-learned": ("bilstm", (*RECURRENT, "model.hidden_size=64", "model.query=learned")),
    "bilstm-last": ("bilstm", (*RECURRENT, "model.hidden_size=64", "model.query=last", "model.query_score=general")),
    "gru-learned": ("gru", (*RECURRENT, "model.hidden_size=96", "model.query=learned")),
    "gru-last": ("gru", (*RECURRENT, "model.hidden_size=96", "model.query=last", "model.query_score=general")),
    "transformer-learned": ("transformer", (*BLOCKS, "model.query=learned")),
}


def cut(data: Path, folder: Path) -> Path:
    """Write train.tsv, valid.tsv and test.tsv: names and countries, divided by distinct name."""
    countries: dict[str, list[str]] = {}
    for path in sorted((data / "names-by-country").glob("*.txt")):
        for name in dict.fromkeys(
            line.strip() for line in path.read_text(encoding="utf-8").split("\n") if line.strip()
        ):
            countries.setdefault(name, []).append(path.stem)
    names = sorted(countries)
    random.Random(1).shuffle(names)
    first, second = int(0.7 * len(names)), int(0.8 * len(names))
    folder.mkdir(parents=True, exist_ok=True)
    for part, some in {"train": names[:first], "valid": names[first:second], "test": names[second:]}.items():
        lines = [f"{name}\t{country}\n" for name in some for country in countries[name]]
        (folder / f"{part}.tsv").write_text("".join(lines), encoding="utf-8", newline="")
        print(f"{part}: {len(some):,} names, {len(lines):,} lines")
    return folder


def balanced_accuracy(found: dict[str, Any]) -> float:
    """Return the mean recall of the classes that the test set has."""
    recalls = [share["recall"] for share in found["by_class"].values() if share["num_true"]]
    return sum(recalls) / len(recalls)


def main() -> None:
    """Train what is missing, score the test names, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with names-by-country/")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--only", help="a,b,c; all by default")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    folder = cut(given.data, given.out / "data")

    def measure(name: str) -> tuple[list[str], dict[str, Any]]:
        arch, settings = MODELS[name]
        run = given.out / name
        info = train(str(folder), arch, run, given.minutes, (*COMMON, *settings), "--task", "classification")
        found = evaluate(run, str(folder))
        scores = [100 * value for value in (balanced_accuracy(found), found["accuracy"], found["macro_f1"])]
        training = [f"{info['num_parameters']:,}", f"{info['steps']:,}", f"{info['training_seconds'] / 60:.1f}"]
        return [f"`{arch}`, {name.rsplit('-')[-1]} query", *(f"{score:.1f}" for score in scores), *training], found

    measured = side_by_side(measure, chosen(given.only, list(MODELS)), given.jobs)
    truth = {name: share["num_true"] for name, share in measured[0][1]["by_class"].items() if share["num_true"]}
    most = max(truth, key=truth.__getitem__)
    constant = [100 / len(truth), 100 * truth[most] / sum(truth.values())]
    rows = [row for row, _ in measured]
    rows.append([f"always {most}", *(f"{score:.1f}" for score in constant), "-", "-", "-", "-"])
    columns = ("model", "balanced accuracy", "accuracy", "macro F1", "parameters", "steps", "minutes")
    print("\n" + "\n".join(markdown(columns, rows)))
    print(
        f"\n{sum(truth.values()):,} test lines of {len(truth)} countries: "
        + ", ".join(f"{k} {v}" for k, v in truth.items())
    )


if __name__ == "__main__":
    main()
