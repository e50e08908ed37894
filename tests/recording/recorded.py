"""Every variant of every recipe with random weights, wrapped for each task it fits: what the tests of recording start from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import Any

import pytest
import torch
from torch import nn

from seqline.architectures import ARCHITECTURES
from seqline.config import Config
from seqline.data.labels import Labels
from seqline.data.tokenizer import Tokenizer, train_tokenizer
from seqline.generator import Generator
from seqline.labeller import Labeller
from seqline.run_folder import Tokenizers
from seqline.tasks import TASKS
from seqline.translator import Translator

from ..small_models import VARIANTS, random_weights

TEXT, PROMPT = "the old zebra sees", "the old cat"
LABELS = Labels(["O", "B", "I", "N"])
CASES = [
    (variant, task)
    for variant, (arch, settings) in VARIANTS.items()
    for task in TASKS
    if TASKS[task].is_of_text
    if TASKS[task].fits(ARCHITECTURES[arch]) and not (TASKS[task].command in ("tag", "classify") and "tie" in settings)
]
SPECIAL = {"encoder-decoder-lstm", "luong-unfed-local-m", "luong-both-ways-local-p", "luong-coverage", "luong-heads"}
"""Variants that are recorded in a way of their own, beside the first one of each recipe."""


def chosen(
    cases: Sequence[tuple[str, str]] = CASES,
    alike: Callable[[str, str], object] = lambda arch, task: (arch, task),
    special: Collection[str] = SPECIAL,
) -> list[Any]:
    """Return the cases as parameters: all but the first of those that are alike, and the special translations, are slow."""
    seen: set[object] = set()
    marked = []
    for variant, task in cases:
        key = alike(VARIANTS[variant][0], task)
        is_quick = key not in seen or (task == "translation" and variant in special)
        seen.add(key)
        marked.append(pytest.param(variant, task, marks=() if is_quick else pytest.mark.slow))
    return marked


@cache
def tokenizer() -> Tokenizer:
    """Return the tokenizer of a few words; zebra is not among them."""
    return train_tokenizer(["the old cat sees a new dog in Paris"] * 2, "word", None)


def make_model(variant: str, task: str) -> nn.Module:
    """Return a variant for a task with random weights, in float64."""
    arch, settings = VARIANTS[variant]
    labels = LABELS if TASKS[task].command in ("tag", "classify") else None
    vocabulary = Tokenizers(tokenizer(), tokenizer(), labels).vocabulary._replace(is_shared=False)
    own = TASKS[task].settings_of(ARCHITECTURES[arch])(**settings)
    return random_weights(TASKS[task].build_model(ARCHITECTURES[arch], own, vocabulary))


def user_of(model: nn.Module, task: str) -> Translator | Generator | Labeller:
    """Return what uses a model; outputs are short."""
    config = Config()
    data = config.data.model_copy(update={"task": task, "unit": "lines" if task == "language_model" else None})
    decoding = config.decoding.model_copy(update={"max_length_factor": 0.0, "max_length_extra": 4})
    tokenizers = Tokenizers(tokenizer(), tokenizer(), LABELS)
    if task == "translation":
        return Translator(model, tokenizers, data, decoding)  # type: ignore[arg-type]
    if task == "language_model":
        return Generator(model, tokenizer(), data)  # type: ignore[arg-type]
    return Labeller(model, tokenizers, data, decoding)


def record(variant: str, task: str, **options: Any) -> dict[str, Any]:
    """Return the document of one recording."""
    torch.manual_seed(0)
    user = user_of(make_model(variant, task), task)
    options = {"timing": False, **options}
    if isinstance(user, Generator):
        return user.explain(PROMPT, max_tokens=4, **options).document
    if isinstance(user, Translator):
        return user.explain(TEXT, **{"beam_size": 1, **options}).document
    return user.explain(TEXT, **options).document


@cache
def recorded(variant: str, task: str) -> dict[str, Any]:
    """Return the document of the one recording that all tests look at."""
    return record(variant, task)
