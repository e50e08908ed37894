"""The tour behind `seqline demo`: four models on the built-in toy pair, trained, compared and asked to translate."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from seqline import files
from seqline.data.text import read_pairs
from seqline.data.toy import make_corpus, write_corpus
from seqline.errors import UserError
from seqline.report import evaluate
from seqline.run_folder import read_manifest
from seqline.translator import Translation, Translator

Say = Callable[[str], None]

NUM_PAIRS = 12_000
COMMON = ["tokenizer.kind=word", "model.size=tiny", "model.dropout=0.0"]
# One cell, width, learning rate, batch and number of steps for the three RNNs: only their reading of the source differs.
RNN = ["training.learning_rate=0.008", "training.batch_tokens=800"]
MODELS: dict[str, tuple[int, list[str]]] = {
    "encoder-decoder": (800, RNN),
    "contextual": (800, RNN),
    "luong": (800, [*RNN, "model.score=dot", "model.input_feeding=false"]),
    "transformer": (1200, ["training.learning_rate=0.003", "training.batch_tokens=700"]),
}
SLOWEST_FIRST = ("transformer", "luong", "contextual", "encoder-decoder")  # so that two cores end together
SENTENCES = (
    "je suis étudiant",
    "squatch mange de la pizza",
    "la pizza est sortie du four et elle a bon goût",
    "la pizza est sortie du four et il a besoin d' être réparé",
)


@dataclass(frozen=True)
class Row:
    """One line of the comparison; bleu_long: on sources of over 25 words."""

    name: str
    bleu: float
    bleu_long: float
    num_parameters: int
    seconds: float
    tokens_per_second: float


def train_all(folder: Path, say: Say, steps: int | None = None, num_pairs: int = NUM_PAIRS) -> None:
    """Write the corpus and train every model, one thread each, as many at a time as there are cores.

    Raises:
        UserError: the folder exists, or a training failed; what failed is in the message.
    """
    files.refuse_taken(folder, fix="name another --out")
    write_corpus(make_corpus("fr-en", num_pairs, seed=1), folder / "data")
    say(f"{folder / 'data'}: {num_pairs:,} French-English pairs, made by seqline")
    children: list[subprocess.Popen[str]] = []
    pool = ThreadPoolExecutor(max_workers=max(1, min(len(MODELS), os.cpu_count() or 1)))
    try:
        for done in [pool.submit(_train_one, name, folder, steps, say, children) for name in SLOWEST_FIRST]:
            done.result()
    except BaseException:  # a signal or a failure ends the other trainings too
        pool.shutdown(wait=False, cancel_futures=True)
        for child in children:
            child.terminate()
        raise
    pool.shutdown()


def _train_one(name: str, folder: Path, max_steps: int | None, say: Say, children: list[subprocess.Popen[str]]) -> None:
    steps, own = MODELS[name]
    steps = min(steps, max_steps or steps)
    settings = [*COMMON, *own, f"training.max_steps={steps}", f"training.validate_every={max(1, steps // 4)}"]
    command = [sys.executable, "-m", "seqline", "train", str(folder / "data"), "--arch", name]
    command += ["--out", str(folder / name), "--threads", "1", *(f"--set={setting}" for setting in settings)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, text=True, encoding="utf-8"
    )
    children.append(process)
    lines: list[str] = []

    def listen() -> None:
        for line in process.stderr or ():
            lines.append(line.rstrip("\n"))
            say(f"  {name}: {lines[-1]}")

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    code = process.wait()
    listener.join()
    if process.stderr:
        process.stderr.close()
    if code:
        raise UserError(f"training {name} ended with exit status {code}", fix=lines[-1] if lines else "no message")


def compare(folder: Path) -> tuple[list[Row], dict[str, Translator]]:
    """Score every model on the test set, with the run's own beam."""
    pairs = read_pairs(str(folder / "data" / "test.tsv"))
    rows, translators = [], {}
    for name in MODELS:
        translator = translators[name] = Translator.load(folder / name)
        facts = read_manifest(folder / name)
        report = evaluate(translator, pairs)
        _, long = report.short_and_long
        seconds = facts["training_seconds"]
        rows.append(
            Row(
                name,
                report.scores[0].value,
                long.bleu or 0.0,
                facts["num_parameters"],
                seconds,
                facts["target_tokens_seen"] / seconds,
            )
        )
    return rows, translators


def as_table(rows: Sequence[Row]) -> list[str]:
    """Return the comparison as lines of text."""
    lines = [f"{'model':<16}{'BLEU':>7}{'over 25 words':>15}{'parameters':>12}{'seconds':>9}{'tokens/s':>10}"]
    for row in rows:
        lines.append(
            f"{row.name:<16}{row.bleu:>7.1f}{row.bleu_long:>15.1f}{row.num_parameters:>12,}"
            f"{row.seconds:>9.0f}{row.tokens_per_second:>10,.0f}"
        )
    return lines


def long_sentence(folder: Path) -> str:
    """Return the first test sentence of 26 to 32 words."""
    sources = [pair.source for pair in read_pairs(str(folder / "data" / "test.tsv")).pairs]
    return next(source for source in sources if 26 <= len(source.split()) <= 32)


def show_translation(translation: Translation) -> str:
    """Return an output and how it ended."""
    output = translation.outputs[0]
    return f"{output.text} {'<eos>' if output.is_finished else f'... (length limit, {output.max_tokens} pieces)'}"
