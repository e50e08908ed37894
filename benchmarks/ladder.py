"""Train the recipes on one corpus for the same time, score them, and print the table of RESULTS.md.

    python benchmarks/ladder.py toy --out runs/toy
    python benchmarks/ladder.py multi30k --data MULTI30K --out runs/multi30k

MULTI30K is a folder with train.de.gz, train.en.gz, val.de, val.en, test_2016_flickr.de and .en (task 1, raw text). One thread a
model, two models at a time. Each row is one `seqline train` and one `seqline evaluate`, printed as they run, so
that a row can be made again alone. A run that is in --out already is scored and not trained again.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

from running import chosen, evaluate, markdown, seqline, side_by_side, train


class Task(NamedTuple):
    """One corpus and how each recipe is trained on it; `folder` is where the data lies."""

    train: str
    valid: str | None
    tests: dict[str, str]
    minutes: float
    common: tuple[str, ...]
    rows: dict[str, tuple[str, ...]]


DOT = ("model.score=dot", "model.input_feeding=false")
RNN = ("model.embed_size=160", "model.hidden_size=256", "model.dropout=0.2")
TASKS = {
    "toy": Task(
        train="{folder}",
        valid=None,
        tests={"test": "{folder}/test.tsv"},
        minutes=4,
        common=("tokenizer.kind=word", "model.dropout=0.0"),
        rows={
            "encoder-decoder": (),
            "contextual": (),
            "bahdanau": (),
            "luong": DOT,
            "transformer": ("training.batch_tokens=700",),
        },
    ),
    "multi30k": Task(
        train="{folder}/train.de.gz,{folder}/train.en.gz",
        valid="{folder}/val.de,{folder}/val.en",
        tests={"test_2016_flickr": "{folder}/test_2016_flickr.de,{folder}/test_2016_flickr.en"},
        minutes=15,
        common=(
            "data.normalize_whitespace=true",
            "tokenizer.vocab_size=3000",
            "training.batch_tokens=1000",
            "training.validate_sentences=300",
        ),
        rows={
            "bahdanau": (*RNN, "training.warmup_steps=185"),
            "luong": (*DOT, *RNN, "training.warmup_steps=400"),
            "encoder-decoder": (*RNN, "training.warmup_steps=382"),
            "contextual": (*RNN, "training.warmup_steps=400"),
            "transformer": (
                "model.embed_size=128",
                "model.inner_size=256",
                "model.num_layers=3",
                "model.dropout=0.1",
                "training.learning_rate=0.003",
                "training.warmup_steps=275",
            ),
        },
    ),
}


COLUMNS = (
    "recipe", "BLEU lowercased", "BLEU cased", "chrF2 lowercased", "chrF2 cased", "source up to 10 words", "over 25 words",
    "perplexity", "nats a character", "parameters", "steps", "tokens/s", "minutes",
)  # fmt: skip


def measure(task: Task, name: str, folder: str, out: Path, minutes: float) -> dict:
    """Train one recipe, unless its run is there, and score it on every test set."""
    run = out / name
    valid = ["--valid", task.valid.format(folder=folder)] if task.valid else []
    facts = train(task.train.format(folder=folder), name, run, minutes, (*task.common, *task.rows[name]), *valid)
    tests = {test: evaluate(run, pairs.format(folder=folder), "--lowercase") for test, pairs in task.tests.items()}
    return {"name": name, "facts": facts, "tests": tests}


def table(measured: list[dict]) -> list[str]:
    """Return the rows as Markdown, and the signatures below."""
    first = measured[0]["tests"]
    lines, signatures = [], {}
    for test in first:
        rows = []
        for row in measured:
            found, facts = row["tests"][test], row["facts"]
            cased, lower, chrf_cased, chrf_lower, _ = found["scores"]
            signatures |= {f"{s['name']}|{s['signature']}": None for s in found["scores"]}
            short, long = (bucket["bleu"] for bucket in found["short_and_long"])
            likelihood, seconds = found["likelihood"], facts["training_seconds"]
            rows.append(
                [
                    f"`{row['name']}`",
                    f"{lower['value']:.2f}",
                    f"{cased['value']:.2f}",
                    f"{chrf_lower['value']:.2f}",
                    f"{chrf_cased['value']:.2f}",
                    f"{short:.1f}",
                    f"{long:.1f}",
                    f"{likelihood['perplexity']:.2f}",
                    f"{likelihood['nats_per_character']:.3f}",
                    f"{facts['num_parameters']:,}",
                    f"{facts['steps']:,}",
                    f"{facts['target_tokens_seen'] / seconds:,.0f}",
                    f"{seconds / 60:.1f}",
                ]
            )
        lines += [f"**{test}**", "", *markdown(COLUMNS, rows), ""]
    return [*lines, "Signatures: " + "; ".join(f"`{signature}`" for signature in signatures) + "."]


def main() -> None:
    """Train what is missing, score everything, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--data", help="folder of the corpus; the toy pair is made in --out when it is not given")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--archs", help="a,b,c; all by default")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    task, folder = TASKS[given.task], given.data
    if folder is None:
        if given.task != "toy":
            parser.error(f"{given.task} needs --data")
        folder = str(given.out / "data")
        if not Path(folder).exists():
            seqline("data", "toy", "--out", folder)
    names = chosen(given.archs, list(task.rows))
    minutes = given.minutes or task.minutes
    measured = side_by_side(lambda name: measure(task, name, folder, given.out, minutes), names, given.jobs)
    print("\n".join(table(measured)))


if __name__ == "__main__":
    main()
