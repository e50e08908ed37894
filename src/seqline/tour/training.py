"""The four trainings of the tour: one toy corpus, four models, as many at a time as there are cores."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from seqline import files
from seqline.data.toy import make_corpus, write_corpus
from seqline.errors import UserError

Say = Callable[[str], None]

NUM_PAIRS = 12_000
COMMON = ["tokenizer.kind=word", "model.size=tiny", "model.dropout=0.0"]
# One cell, width, learning rate, batch and number of steps for the three RNNs: only their reading of the source differs.
RNN = ["training.learning_rate=0.008", "training.batch_tokens=800"]
MODELS: dict[str, tuple[int, list[str]]] = {
    "encoder-decoder": (800, RNN),
    "contextual": (800, RNN),
    "luong": (800, [*RNN, "model.score=dot", "model.input_feeding=false", "training.snapshots=10"]),
    "transformer": (1200, ["training.learning_rate=0.003", "training.batch_tokens=700"]),
}
SLOWEST_FIRST = ("transformer", "luong", "contextual", "encoder-decoder")  # so that two cores end together


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
