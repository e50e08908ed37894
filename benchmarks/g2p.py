"""Train grapheme-to-phoneme models on SIGMORPHON 2021 (medium), score the test words, and print their table.

    python benchmarks/g2p.py --data SIGMORPHON --out runs/g2p

SIGMORPHON is a folder with medium/LANGUAGE_train.tsv, _dev and _test (each also .gz): 8,000, 1,000 and 1,000 words, a word and
its phones with spaces between. Characters in, phones as words out. One model a language and architecture, at most 5 minutes
each, one thread, two at a time; the clock fixes the number of steps before training begins; the best checkpoint is chosen on
dev, test is scored once, greedy and with beam 5. WER: percentage of test words whose phones are not all right.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

from running import chosen, evaluate, markdown, side_by_side, train

LANGUAGES: tuple[str, ...] = ("dut", "hun", "bul")
COMMON = (
    "tokenizer.source.kind=char",
    "tokenizer.target.kind=word",
    "model.size=tiny",
    "training.batch_tokens=600",
    "training.validate_sentences=1000",
)
MODELS: dict[str, tuple[str, ...]] = {
    "bahdanau": (
        "model.embed_size=96",
        "model.hidden_size=128",
        "model.attention_size=96",
        "model.dropout=0.3",
        "training.learning_rate=0.003",
    ),
    "luong": (
        "model.window=local-p",
        "model.window_size=4",
        "model.encoder=bidirectional",
        "model.embed_size=96",
        "model.hidden_size=160",
        "model.dropout=0.3",
        "training.learning_rate=0.003",
    ),
    "transformer": (
        "model.embed_size=96",
        "model.num_heads=4",
        "model.inner_size=192",
        "model.num_layers=2",
        "model.dropout=0.1",
        "training.batch_tokens=300",
        "training.learning_rate=0.003",
        "training.average_decay=0.99",
    ),
}
PUBLISHED = (
    ("neural transducer, ensemble of ten (official baseline), beam 4", ("14.7", "1.8", "18.3")),
    ("one Transformer, 7.4M parameters, beam 5", ("16.9", "1.9", "20.1")),
)


class Row(NamedTuple):
    """One model on one language: its manifest, WER by beam, and how many test words were cut at the length limit."""

    info: dict[str, Any]
    greedy: float
    beam: float
    num_cut: int


def find(data: Path, language: str, part: str) -> str:
    """Return the file of a part, plain or gzip."""
    plain = data / "medium" / f"{language}_{part}.tsv"
    return str(plain if plain.exists() else plain.with_name(plain.name + ".gz"))


def word_error_rate(found: dict[str, Any]) -> float:
    """Return 100 less the exact matches."""
    return 100 - next(score["value"] for score in found["scores"] if score["name"] == "exact match")


def measure(data: Path, out: Path, language: str, name: str, minutes: float) -> Row:
    """Train one model, unless its run is there, and score it."""
    run = out / f"{language}-{name}"
    valid = ("--valid", find(data, language, "dev"))
    info = train(find(data, language, "train"), name, run, minutes, (*COMMON, *MODELS[name]), *valid)
    greedy, beam = (evaluate(run, find(data, language, "test"), "--beam", size) for size in ("1", "5"))
    return Row(info, word_error_rate(greedy), word_error_rate(beam), beam["num_cut"])


def table(rows: dict[tuple[str, str], Row], names: list[str], languages: list[str]) -> list[str]:
    """Return WER by model and language, the published rows below."""
    lines = []
    for name in names:
        found = [rows[language, name] for language in languages]
        infos = [row.info for row in found]
        training = [
            " / ".join(f"{info['num_parameters'] / 1e3:,.0f}K" for info in infos),
            " / ".join(f"{info['steps']:,}" for info in infos),
            " / ".join(f"{info['training_seconds'] / 60:.1f}" for info in infos),
        ]
        lines.append([f"`{name}`, greedy", *(f"{row.greedy:.1f}" for row in found), *training])
        lines.append([f"`{name}`, beam 5", *(f"{row.beam:.1f}" for row in found), "", "", ""])
    for title, scores in PUBLISHED:
        by_language = dict(zip(LANGUAGES, scores, strict=True))
        lines.append([title, *(by_language[language] for language in languages), "-", "-", "-"])
    return markdown(("WER on test, %", *languages, "parameters", "steps", "minutes"), lines)


def main() -> None:
    """Train what is missing, score everything, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--only", help="architectures, a,b,c; all by default")
    parser.add_argument("--languages", help="a,b,c; all by default")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    names, languages = chosen(given.only, list(MODELS)), chosen(given.languages, LANGUAGES)
    both = [(language, name) for language in languages for name in names]
    found = side_by_side(lambda one: measure(given.data, given.out, *one, given.minutes), both, given.jobs)
    rows = dict(zip(both, found, strict=True))
    print("\n".join(table(rows, names, languages)))
    for (language, name), row in rows.items():
        print(f"- {language} `{name}`: weights: {row.info['weights']}; {row.num_cut} of beam 5 cut at the length limit")


if __name__ == "__main__":
    main()
