"""Train character language models of one size on Shakespeare for the same time, or on names, and print their table.

    python benchmarks/charlm.py --data CHARLM --out runs/charlm
    python benchmarks/charlm.py --data CHARLM --out runs/charlm --names

CHARLM is a folder with tinyshakespeare.txt.gz (1,115,394 characters) and names.txt (32,033 names). Shakespeare: the first
1,003,854 characters are trained on, the last 111,540 are for validation. Names: shuffled with seed 42; 80, 10 and 10 % for
training, dev and test.

One thread a model, two models at a time. The clock fixes the number of steps before training begins; the best checkpoint is
chosen on the validation part, as the published rows did, and all of that part is then scored. A run that is in --out already
is not trained again.
"""

from __future__ import annotations

import argparse
import gzip
import random
from pathlib import Path
from typing import Any

from running import chosen, evaluate, markdown, side_by_side, train

from seqline import language
from seqline.architectures import ARCHITECTURES
from seqline.budget import with_model
from seqline.config import Config, load_config
from seqline.run import num_parameters
from seqline.run_folder import build_model

TRAIN_CHARACTERS, VALID_CHARACTERS = 1_003_854, 111_540
WIDEST_DEVIATION = 0.05  # of the largest number of parameters from the smallest

COMMON = (
    "model.size=small",
    "data.context=64",
    "training.batch_tokens=512",
    "training.average_decay=0",
    "training.validate_sentences=400",  # windows: the first 25,600 characters of the validation part choose the checkpoint
    "model.embed_size=96",
    "model.dropout=0",
)
BLOCKS = ("model.num_heads=4", "model.num_layers=3")
SHAKESPEARE: dict[str, tuple[str, ...]] = {
    "simple-rnn": ("model.hidden_size=500", "training.learning_rate=0.002"),
    "lstm": ("model.hidden_size=240", "training.learning_rate=0.01"),
    "gru": ("model.hidden_size=280", "training.learning_rate=0.006"),
    "transformer": (*BLOCKS, "model.inner_size=392", "training.learning_rate=0.004"),
    "transformer-pre": (*BLOCKS, "model.inner_size=392", "training.learning_rate=0.006"),
    "ttt-linear": (*BLOCKS, "model.inner_size=384", "training.learning_rate=0.008"),
    "ttt-mlp": (
        "model.num_heads=4",
        "model.num_layers=2",
        "model.inner_size=580",
        "model.inner_batch=32",
        "training.learning_rate=0.007",
    ),
}
NAMES: dict[str, tuple[str, ...]] = {
    "lstm": ("model.embed_size=32", "model.hidden_size=96", "model.num_layers=1", "model.dropout=0.2",
             "training.batch_tokens=1000", "training.learning_rate=0.005"),
    "transformer-pre": ("model.embed_size=48", "model.num_heads=4", "model.inner_size=144", "model.num_layers=3",
                        "model.dropout=0.1", "training.batch_tokens=1000", "training.learning_rate=0.004"),
}  # fmt: skip

PUBLISHED = (
    ("counted 5-grams, Witten-Bell (from the same files)", "1.669"),
    ("nanoGPT, CPU recipe (4 layers, d 128, context 64, 2,000 steps)", "1.88"),
    ("nanoGPT, GPU (6 layers, d 384, context 256, 5,000 steps)", "1.4697"),
)
PUBLISHED_NAMES = (
    ("MLP, 3 characters, 12K parameters", "2.105", "-"),
    ("context 8, 22K parameters", "2.027", "-"),
    ("hierarchical, 76K parameters", "1.993", "-"),
    ("counted 5-grams, Witten-Bell (from the same files)", "2.035", "2.037"),
)


def read(path: Path) -> str:
    """Return a text, plain or gzip, whichever is there."""
    zipped = path.with_name(path.name + ".gz")
    data = path.read_bytes() if path.exists() else gzip.decompress(zipped.read_bytes())
    return data.decode("utf-8")


def write(folder: Path, **texts: str) -> Path:
    """Write the parts of a text."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text, encoding="utf-8", newline="")
    return folder


def cut_shakespeare(data: Path, folder: Path) -> Path:
    """Write the training and the validation part."""
    text = read(data / "tinyshakespeare.txt")
    if len(text) != TRAIN_CHARACTERS + VALID_CHARACTERS:
        raise SystemExit(f"tinyshakespeare.txt has {len(text):,} characters, not 1,115,394")
    return write(folder, train=text[:TRAIN_CHARACTERS], valid=text[TRAIN_CHARACTERS:])


def cut_names(data: Path, folder: Path) -> Path:
    """Write the usual division of the names: the shuffle of `random.Random(42)` is that of `random.seed(42)`."""
    names = read(data / "names.txt").removesuffix("\n").split("\n")
    random.Random(42).shuffle(names)
    first, second = int(0.8 * len(names)), int(0.9 * len(names))
    parts = {"train": names[:first], "valid": names[first:second], "test": names[second:]}
    return write(folder, **{name: "\n".join(part) + "\n" for name, part in parts.items()})


def check_sizes(folder: Path, names: list[str]) -> None:
    """Print how many parameters each model has.

    Raises:
        SystemExit: two of them differ by more than 5 %.
    """
    counts: dict[str, int] = {}
    vocabulary = None
    for name in names:
        given = [*COMMON, *SHAKESPEARE[name], "data.task=language_model", f"model.architecture={name}"]
        config: Config = load_config(None, given).replace(**{"data.train": str(folder), "tokenizer.kind": "char"})
        vocabulary = vocabulary or language.read(config).train_tokenizers(config).vocabulary
        counts[name] = num_parameters(build_model(with_model(config, ARCHITECTURES[name], "small"), vocabulary))
    for name, count in counts.items():
        print(f"{name}: {count:,} parameters")
    least, most = min(counts, key=counts.__getitem__), max(counts, key=counts.__getitem__)
    deviation = counts[most] / counts[least] - 1
    print(f"largest deviation: {most} has {100 * deviation:.1f} % more than {least}\n")
    if deviation > WIDEST_DEVIATION:
        raise SystemExit("that is more than 5 %; change the settings at the top")


def facts_of(info: dict[str, Any]) -> list[str]:
    """Return the columns that say how a model was trained."""
    seconds, tokens = info["training_seconds"], info["target_tokens_seen"]
    return [
        f"{info['num_parameters']:,}",
        f"{info['steps']:,}",
        f"{tokens / 1e6:.2f}M",
        f"{tokens / seconds:,.0f}",
        f"{seconds / 60:.1f}",
    ]


def shakespeare(given: argparse.Namespace) -> None:
    """Train what is missing, score all of the validation part, print the table."""
    folder = cut_shakespeare(given.data, given.out / "shakespeare")
    names = chosen(given.only, list(SHAKESPEARE))
    check_sizes(folder, names)

    def measure(name: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
        run = given.out / name
        settings = (*COMMON, *SHAKESPEARE[name])
        info = train(str(folder), name, run, given.minutes or 6, settings, "--task", "lm")
        return name, info, evaluate(run, str(folder / "valid.txt"))

    rows, protocols = [], []
    for name, info, found in side_by_side(measure, names, given.jobs):
        kept, from_nothing = found["protocols"]
        rows.append(
            [
                f"`{name}`",
                *facts_of(info),
                f"{kept['nats_per_character']:.4f}",
                f"{from_nothing['nats_per_character']:.4f}",
            ]
        )
        protocols.append(f"- `{name}`: {kept['name']}; beside it {from_nothing['name']}; weights: {info['weights']}")
    columns = ("model", "parameters", "steps", "tokens seen", "tokens/s", "minutes")
    rows += [
        [name, *["-"] * 6, value] if "nanoGPT" in name else [name, *["-"] * 5, value, "-"] for name, value in PUBLISHED
    ]
    print("\n".join(markdown((*columns, "nats per character", "windows side by side"), rows)), "\n")
    print("\n".join(protocols))
    print("nanoGPT's figures are estimates from random windows, whose expected value is that of windows side by side.")


def names_task(given: argparse.Namespace) -> None:
    """Train on names, score dev and test, print the table."""
    folder = cut_names(given.data, given.out / "names")
    unit = ("data.unit=lines", "model.size=tiny", "training.validate_sentences=1000000")

    def measure(name: str) -> list[str]:
        run = given.out / f"names-{name}"
        info = train(str(folder), name, run, given.minutes or 3, (*unit, *NAMES[name]), "--task", "lm")
        found = [evaluate(run, str(folder / f"{part}.txt")) for part in ("valid", "test")]
        sizes = ", ".join(f"{part['num_tokens']:,}" for part in found)
        scores = [f"{part['protocols'][0]['nats_per_token']:.4f}" for part in found]
        print(f"{name}: {sizes} predicted characters of dev and test, end marks included; weights: {info['weights']}")
        return [f"`{name}`", *facts_of(info), *scores]

    rows = side_by_side(measure, chosen(given.only, list(NAMES)), given.jobs)
    rows += [[name, *["-"] * 5, dev, test] for name, dev, test in PUBLISHED_NAMES]
    columns = ("model", "parameters", "steps", "tokens seen", "tokens/s", "minutes", "dev", "test")
    print("\n" + "\n".join(markdown(columns, rows)))


def main() -> None:
    """Do one of the two tasks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with tinyshakespeare.txt(.gz) and names.txt")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, help="a model; 6, names 3")
    parser.add_argument("--only", help="a,b,c; all by default")
    parser.add_argument("--names", action="store_true", help="the names in place of Shakespeare")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    (names_task if given.names else shakespeare)(given)


if __name__ == "__main__":
    main()
