"""A lab of a second: two made-up experiments on letters, trained in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seqline.comparing.plots import Axis, Series, lines
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, Wanted, decide
from seqline.lab.laboratory import Lab

from ..comparing.small import InProcess, letters

SETTINGS = (
    ("tokenizer.kind", "word"),
    ("model.embed_size", 8),
    ("model.hidden_size", 8),
    ("training.batch_tokens", 60),
    ("training.validate_sentences", 4),
    ("decoding.beam_size", 1),
    ("decoding.max_length_extra", 4),
)


def make_letters(folder: Path, _lab: Lab) -> None:
    """Make a corpus of letters."""
    folder.mkdir(parents=True)
    letters(folder)


def small_lab(folder: Path, **more: Any) -> Lab:
    """Return a quick lab that trains in this process."""
    return Lab(folder, **{"is_quick": True, "corpora": {"letters": make_letters}, "start": InProcess, **more})


def wanted(seed: int = 1, **more: Any) -> Wanted:
    """Return a small model."""
    plain = {"data": "letters", "arch": "encoder-decoder", "settings": SETTINGS, "steps": 4, "quick_steps": 2}
    return Wanted(**{**plain, "seed": seed, **more})


def finding(value: float = 0.5, *, pictures: bool = True) -> Finding:
    """Return a finding whose verdict hangs on one number."""
    drawn = lines("letters", Axis("letters"), Axis("right, %"), [Series("a <b>", 0, [(1.0, 1.0), (2.0, value)])])
    verdict = Verdict(
        "grows",
        decide(None if value == 0 else value > 0),
        "held if the value is above 0, undecided at 0",
        {"value": value, "models": 1, "unknown": None},
        f"the value is {value:g}",
    )
    return Finding(
        (Table("values & more", ("name", "value"), (("a|b <i>", value), ("none", None))),),
        (Picture("curve", drawn, "The value & <its> course"),) if pictures else (),
        (verdict,),
        ("a note <b>",),
        {"value": value, "list": (1, float("nan"))},
    )


CLAIM = Claim("grows", "The value <grows> & grows", "Nobody (1999), section 1")


def experiment(name: str = "growth", value: float = 0.5, **more: Any) -> Experiment:
    """Return an experiment with one claim."""
    return Experiment(name, "Does it grow?", "Does the value grow?", (CLAIM,),
                      **{"measure": lambda lab: finding(value), **more})  # fmt: skip
