"""Alignment error rate of attention on the built-in French-English pair, and the best single head of a Transformer.

    python benchmarks/alignment.py --out runs/alignment
    python benchmarks/alignment.py --runs FOLDER

The pair comes with gold alignments, all of them sure. Every model reads the references of the held-out sentences, and a target
word is linked to the source word with the largest weight (see seqline.evaluation.alignment). One link a target word cannot reach
the gold where a word has several sources: the first line says how far it can get. A head is chosen on the validation sentences
and scored on the test sentences. The two last columns move every link by one target word: were attention one place late or
early, one of them would be lower than the error rate.

--runs: a folder with data/ (as `seqline data` writes it) and runs named luong, bahdanau and transformer; those that are missing
are left out. Else data and runs are made in --out, one thread each; a run that is there is not trained again.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from running import chosen, markdown, seqline

from seqline.data.toy import make_corpus, write_corpus
from seqline.evaluation.alignment import Reading, attention_size
from seqline.evaluation.alignment_metrics import GoldLinks, Link, score_alignments
from seqline.lab.gold import best_head, moved, one_link_a_word, read_gold
from seqline.tour import COMMON, MODELS, NUM_PAIRS, RNN
from seqline.translator import Translator

STEPS_AND_SETTINGS = {"luong": MODELS["luong"], "bahdanau": (800, RNN), "transformer": MODELS["transformer"]}


def train(name: str, folder: Path) -> None:
    """Train one model as the tour does, unless its run is there."""
    if (folder / name / "manifest.json").exists():
        return
    steps, own = STEPS_AND_SETTINGS[name]
    settings = [*COMMON, *own, f"training.max_steps={steps}", f"training.validate_every={steps // 4}"]
    seqline("train", str(folder / "data"), "--arch", name, "--out", str(folder / name), "--threads", "1",
            *(f"--set={setting}" for setting in settings))  # fmt: skip


def row(name: str, found: Sequence[Sequence[Link]], gold: Sequence[GoldLinks]) -> list[str]:
    """Return one line of the table."""
    score = score_alignments(found, gold)
    others = [score_alignments(moved(found, by), gold).error_rate for by in (-1, 1)]
    shares = [score.error_rate, score.precision, score.recall, *others]
    return [name, *(f"{share:.4f}" for share in shares)]


def rows_of(name: str, run: Path, data: Path) -> list[list[str]]:
    """Return the lines of one run: the mean over the heads of each layer, the last being the default, and the best head."""
    translator = Translator.load(run)
    pairs, gold, _ = read_gold(data, "test")
    num_layers, num_heads = attention_size(translator.model)
    if (num_layers, num_heads) == (1, 1):
        return [row(name, translator.align(pairs), gold)]
    means = [Reading(layer) for layer in range(num_layers)]
    rows = [row(f"{name}, layer {r.layer}, mean of {num_heads} heads", translator.align(pairs, r), gold) for r in means]
    head, score = best_head(translator, read_gold(data, "valid"))
    label = f"{name}, layer {head.layer}, head {head.head} (chosen on valid: {score.error_rate:.4f})"
    return [*rows, row(label, translator.align(pairs, head), gold)]


def main() -> None:
    """Train what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/alignment"))
    parser.add_argument("--runs", type=Path, help="existing runs; nothing is trained")
    parser.add_argument("--models", help=f"of {', '.join(STEPS_AND_SETTINGS)}; all when not given")
    options = parser.parse_args()
    folder = options.runs or options.out
    names = chosen(options.models, list(STEPS_AND_SETTINGS))
    if options.runs is None:
        if not (folder / "data").exists():
            write_corpus(make_corpus("fr-en", NUM_PAIRS, seed=1), folder / "data")
        for name in names:
            train(name, folder)
    names = [name for name in names if (folder / name / "manifest.json").exists()]
    rows = [line for name in names for line in rows_of(name, folder / name, folder / "data")]
    pairs, gold, _ = read_gold(folder / "data", "test")
    least = score_alignments(one_link_a_word(gold), gold).error_rate
    columns = ["model", "AER", "precision", "recall", "AER, one word earlier", "AER, one word later"]
    print(f"{len(pairs):,} test sentences; one link a target word cannot go below {least:.4f}\n")
    print("\n".join(markdown(columns, rows)))


if __name__ == "__main__":
    main()
