"""Compare the recipes on Multi30k, German to English or back, by `seqline compare`, and print the table of RESULTS.md.

    python benchmarks/multi30k.py --data MULTI30K --out runs/multi30k
    python benchmarks/multi30k.py --data MULTI30K --out runs/long --long --minutes 75 --seeds 1

MULTI30K is a folder with train.de.gz, train.en.gz, val.de, val.en, test_2016_flickr.de and .en (task 1, raw text). One thread a
model, two models at a time. --long takes the settings for an hour or more.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from running import chosen, markdown, seqline

COMMON = (
    "data.normalize_whitespace=true",
    "tokenizer.vocab_size=3000",
    "training.validate_sentences=300",
    "training.batch_tokens=600",
)
RNN = ("model.embed_size=160", "model.hidden_size=256", "model.dropout=0.2")
FAST = "training.learning_rate=0.004"
UNREAD = (*RNN, "model.dropout=0.1", FAST, "training.batch_tokens=300")  # without attention: more and smaller steps
MODELS: dict[str, tuple[str, ...]] = {
    "luong": (*RNN, "model.score=dot", "model.input_feeding=false"),
    "transformer": (
        "model.embed_size=160",
        "model.inner_size=320",
        "model.num_layers=2",
        "model.dropout=0.1",
        "training.learning_rate=0.003",
        "training.batch_tokens=700",
    ),
    "encoder-decoder": UNREAD,
    "contextual": UNREAD,
    # Its decoder reads before it steps, so goes word by word.
    "bahdanau": (*RNN, "model.hidden_size=192", FAST, "training.batch_tokens=500"),
    "transformer-pre": (
        "model.embed_size=160",
        "model.inner_size=320",
        "model.num_layers=2",
        "model.dropout=0.1",
        "training.learning_rate=0.0025",
        "training.batch_tokens=700",
    ),
    "conv": (
        "model.embed_size=160",
        "model.hidden_size=160",
        "model.num_layers=3",
        "model.dropout=0.1",
        "training.learning_rate=0.003",
        "training.batch_tokens=400",
    ),
    "cho": UNREAD,
    "sutskever": (*UNREAD, "model.num_layers=1"),
}
LONG: dict[str, tuple[str, ...]] = {
    "luong": ("model.embed_size=192", "model.encoder=bidirectional", "model.score=general", "model.dropout=0.3"),
    "transformer-pre": (
        "model.embed_size=192",
        "model.inner_size=384",
        "model.num_layers=2",
        "model.dropout=0.15",
        "training.learning_rate=0.0025",
        "training.batch_tokens=700",
    ),
}
"""For an hour or more. Four minutes of each on val: a Transformer as published had BLEU 17 where the pre-norm one had 21."""
PUBLISHED = {
    "de-en": (
        ("LSTM without attention, 13.9M", "13.76"),
        ("GRU with the context at every step, 14.2M", "20.61"),
        ("bidirectional GRU with attention, 20.5M", "28.30"),
        ("ConvS2S, 37.4M", "34.14"),
        ("Transformer, 9.0M", "36.52"),
    ),
    "en-de": (("attention GRU", "39.00"), ("Transformer-Tiny, 2.6M", "41.02")),
}
"""Lowercased BLEU on test_2016_flickr, of other tokens; de-en greedy (bentrevett/pytorch-seq2seq)."""
SCORES = ("bleu_lowercased", "bleu", "chrf_lowercased", "chrf")
COLUMNS = (
    "recipe", "BLEU lowercased", "BLEU", "chrF2 lowercased", "chrF2", "parameters", "steps", "tokens/s", "minutes",
)  # fmt: skip


def spread(values: dict[str, Any] | None, digits: int = 2, by: float = 1.0) -> str:
    """Write mean and standard deviation of the seeds."""
    if values is None:
        return "-"
    more = f" ± {values['sd'] / by:,.{digits}f}" if values["sd"] else ""
    return f"{values['mean'] / by:,.{digits}f}{more}"


def table(found: dict[str, Any], direction: str) -> list[str]:
    """Return the rows as Markdown, the published ones and the signatures below."""
    rows = []
    for each in found["architectures"]:
        scores = each["scores"] or {}
        rows.append(
            [
                f"`{each['name']}`",
                *(spread(scores.get(key)) for key in SCORES),
                spread(each["parameters"], 0),
                spread(each["steps"], 0),
                spread(each["training_tokens_per_second"], 0),
                spread(each["training_seconds"], 1, 60),
            ]
        )
    rows += [[title, score, *["-"] * (len(COLUMNS) - 2)] for title, score in PUBLISHED[direction]]
    signatures = "; ".join(f"{measure['label']} `{measure['signature']}`" for measure in found["measures"])
    return [*markdown(COLUMNS, rows), "", f"{signatures}."]


def main() -> None:
    """Compare what is asked for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the corpus")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--archs", help="a,b,c; all by default")
    parser.add_argument("--direction", choices=PUBLISHED, default="de-en")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--long", action="store_true", help="larger models, for an hour or more")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    names = chosen(given.archs, list(MODELS)) if not given.long else chosen(given.archs, list(LONG))
    source, target = given.direction.split("-")

    def pair(stem: str, end: str = "") -> str:
        return f"{given.data}/{stem}.{source}{end},{given.data}/{stem}.{target}{end}"

    own = {
        name: dict(s.split("=") for s in (*MODELS.get(name, ()), *(LONG[name] if given.long else ()))) for name in names
    }
    settings = [f"--set={setting}" for setting in COMMON]
    settings += [f"--set={name}:{key}={value}" for name in names for key, value in own[name].items()]
    seqline("compare", pair("train", ".gz"), "--valid", pair("val"), "--test", pair("test_2016_flickr"), "--lowercase",
            "--archs", ",".join(names), "--seeds", str(given.seeds), "--budget", f"{given.minutes:g}m",
            "--jobs", str(given.jobs), "--out", str(given.out), *settings)  # fmt: skip
    found = json.loads((given.out / "results.json").read_text(encoding="utf-8"))
    print("\n".join(table(found, given.direction)))


if __name__ == "__main__":
    main()
