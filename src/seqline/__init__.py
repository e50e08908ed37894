"""seqline: the whole line of sequence models, from RNN to Transformer.

The names below are the public ones; each is imported when it is first used, so that `import seqline` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seqline.api import evaluate, evaluate_labels, evaluate_text, explain, train
    from seqline.architectures import ARCHITECTURES
    from seqline.comparing.compare import compare
    from seqline.data.toy import make_corpus
    from seqline.decoding import Sampling
    from seqline.errors import UserError
    from seqline.forecaster import Forecaster
    from seqline.generator import Generator
    from seqline.lab.session import run_lab
    from seqline.label_report import LabelReport
    from seqline.labeller import Labeller
    from seqline.language_report import LanguageReport
    from seqline.report import Report
    from seqline.run import Trained
    from seqline.translating.finding import More
    from seqline.translating.requests import Request
    from seqline.translator import Translation, Translator
    from seqline.verifying.verification import verify

_HOMES = {
    "ARCHITECTURES": "seqline.architectures",
    "Forecaster": "seqline.forecaster",
    "Generator": "seqline.generator",
    "LabelReport": "seqline.label_report",
    "Labeller": "seqline.labeller",
    "LanguageReport": "seqline.language_report",
    "More": "seqline.translating.finding",
    "Report": "seqline.report",
    "Request": "seqline.translating.requests",
    "Sampling": "seqline.decoding",
    "Trained": "seqline.run",
    "Translation": "seqline.translator",
    "Translator": "seqline.translator",
    "UserError": "seqline.errors",
    "compare": "seqline.comparing.compare",
    "evaluate": "seqline.api",
    "evaluate_labels": "seqline.api",
    "evaluate_text": "seqline.api",
    "explain": "seqline.api",
    "make_corpus": "seqline.data.toy",
    "run_lab": "seqline.lab.session",
    "train": "seqline.api",
    "verify": "seqline.verifying.verification",
}
__all__ = [
    "ARCHITECTURES",
    "Forecaster",
    "Generator",
    "LabelReport",
    "Labeller",
    "LanguageReport",
    "More",
    "Report",
    "Request",
    "Sampling",
    "Trained",
    "Translation",
    "Translator",
    "UserError",
    "compare",
    "evaluate",
    "evaluate_labels",
    "evaluate_text",
    "explain",
    "make_corpus",
    "run_lab",
    "train",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'seqline' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
