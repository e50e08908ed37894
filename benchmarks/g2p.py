"""Train grapheme-to-phoneme models on SIGMORPHON 2021 (medium), score the test words, and print their table.

    python benchmarks/g2p.py --data SIGMORPHON --out runs/g2p
    python benchmarks/g2p.py --data SIGMORPHON --out runs/g2p --only bahdanau --languages all
    python benchmarks/g2p.py --data SIGMORPHON --out runs/g2p --only bahdanau --ensemble 3

SIGMORPHON is a folder with medium/LANGUAGE_train.tsv, _dev and _test (each also .gz): 8,000, 1,000 and 1,000 words, a word and
its phones with spaces between. Characters in (Korean syllables as their letters), phones as words out. One model a language and
architecture, at most 5 minutes each, one thread, two at a time; the clock fixes the number of steps before training begins; the
best checkpoint is chosen on dev, test is scored once, greedy and with beam 5. --ensemble N: N models of other seeds, their
probabilities averaged. WER: percentage of test words whose phones are not all right.
"""

from __future__ import annotations

import argparse
import gzip
import unicodedata
from pathlib import Path
from typing import Any, NamedTuple

from running import chosen, evaluate, markdown, side_by_side, train

LANGUAGES: tuple[str, ...] = ("dut", "hun", "bul")
MORE_LANGUAGES = ("arm_e", "fre", "geo", "hbs_latn", "jpn_hira", "kor", "vie_hanoi")
DECOMPOSED = ("kor",)  # its 1,089 syllables of training are 67 letters
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
    (
        "neural transducer, ensemble of ten (official baseline), beam 4",
        {"dut": 14.7, "hun": 1.8, "bul": 18.3, "mean": 10.64},
    ),
    ("one Transformer, 7.4M parameters, beam 5", {"dut": 16.9, "hun": 1.9, "bul": 20.1, "mean": 15.05}),
)


class Row(NamedTuple):
    """One model on one language: its manifest, WER by beam, and how many test words were cut at the length limit.

    ensemble: WER of several seeds together, beam 5; None where one was trained.
    """

    info: dict[str, Any]
    greedy: float
    beam: float
    num_cut: int
    ensemble: float | None


def find(data: Path, out: Path, language: str, part: str) -> str:
    """Return the file of a part, plain or gzip; of a language that is to be decomposed a copy in `out`."""
    plain = data / "medium" / f"{language}_{part}.tsv"
    found = plain if plain.exists() else plain.with_name(plain.name + ".gz")
    if language not in DECOMPOSED:
        return str(found)
    copy = out / "data" / plain.name
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        raw = found.read_bytes()
        text = (gzip.decompress(raw) if found.suffix == ".gz" else raw).decode("utf-8")
        rows = [line.split("\t") for line in text.removesuffix("\n").split("\n")]
        lines = [f"{unicodedata.normalize('NFD', word)}\t{phones}\n" for word, phones in rows]
        copy.write_text("".join(lines), encoding="utf-8")
    return str(copy)


def word_error_rate(found: dict[str, Any]) -> float:
    """Return 100 less the exact matches."""
    return 100 - next(score["value"] for score in found["scores"] if score["name"] == "exact match")


def measure(data: Path, out: Path, language: str, name: str, minutes: float, seeds: int) -> Row:
    """Train one model a seed, unless its run is there, and score the first and all together."""
    test, valid = find(data, out, language, "test"), ("--valid", find(data, out, language, "dev"))
    runs, infos = [], []
    for seed in range(1, seeds + 1):
        runs.append(out / (f"{language}-{name}" if seed == 1 else f"{language}-{name}-seed{seed}"))
        settings = (*COMMON, *MODELS[name], f"training.seed={seed}")
        infos.append(train(find(data, out, language, "train"), name, runs[-1], minutes, settings, *valid))
    greedy, beam = (evaluate(runs[0], test, "--beam", size) for size in ("1", "5"))
    others = [option for run in runs[1:] for option in ("--ensemble", str(run))]
    together = word_error_rate(evaluate(runs[0], test, "--beam", "5", *others)) if others else None
    return Row(infos[0], word_error_rate(greedy), word_error_rate(beam), beam["num_cut"], together)


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
        lines.append([f"`{name}`, greedy", *rates([row.greedy for row in found]), *training])
        lines.append([f"`{name}`, beam 5", *rates([row.beam for row in found]), "", "", ""])
        together = [row.ensemble for row in found if row.ensemble is not None]
        if together:
            lines.append([f"`{name}`, all seeds together, beam 5", *rates(together), "", "", ""])
    for title, scores in PUBLISHED:
        shown = [scores.get(language) for language in languages]
        mean = f"{scores['mean']:.2f}" if len(languages) == len(LANGUAGES + MORE_LANGUAGES) else "-"
        lines.append([title, *("-" if value is None else f"{value:.1f}" for value in shown), mean, "-", "-", "-"])
    return markdown(("WER on test, %", *languages, "mean", "parameters", "steps", "minutes"), lines)


def rates(values: list[float]) -> list[str]:
    """Write some rates and their mean."""
    return [*(f"{value:.1f}" for value in values), f"{sum(values) / len(values):.2f}"]


def main() -> None:
    """Train what is missing, score everything, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--only", help="architectures, a,b,c; all by default")
    parser.add_argument("--languages", help="a,b,c, or all ten; dut,hun,bul by default")
    parser.add_argument("--ensemble", type=int, default=1, help="models a language, of other seeds")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    every = [*LANGUAGES, *MORE_LANGUAGES]
    names = chosen(given.only, list(MODELS))
    languages = (
        every if given.languages == "all" else chosen(given.languages, every) if given.languages else [*LANGUAGES]
    )
    both = [(language, name) for language in languages for name in names]
    found = side_by_side(
        lambda one: measure(given.data, given.out, *one, given.minutes, given.ensemble), both, given.jobs
    )
    rows = dict(zip(both, found, strict=True))
    print("\n".join(table(rows, names, languages)))
    for (language, name), row in rows.items():
        print(f"- {language} `{name}`: weights: {row.info['weights']}; {row.num_cut} of beam 5 cut at the length limit")


if __name__ == "__main__":
    main()
