"""Translators with random weights over real tokenizers: what they write is nonsense, and every promise must hold for it."""

from __future__ import annotations

from functools import cache
from typing import Any

from seqline.architectures import ARCHITECTURES
from seqline.config import Config
from seqline.data.tokenizer import Tokenizer, train_tokenizer
from seqline.run_folder import Tokenizers
from seqline.tasks import TASKS
from seqline.translator import Translator

from ..small_models import random_weights

CORPUS = ["the cat sees the pizza", "a dog and the cat", "cats see dogs in the oven", "le chat voit un chateau"] * 4
TEXTS = ["the cat", "a dog sees the cat in the oven", "pizza", "le chat voit", "cats and dogs and cats"]
CELLS: dict[str, Any] = {"embed_size": 8, "hidden_size": 8, "num_layers": 1, "dropout": 0.0}
BLOCKS: dict[str, Any] = {"embed_size": 8, "num_heads": 2, "inner_size": 10, "num_layers": 1, "dropout": 0.0}
KINDS = ["word", "char", "unigram", "bpe"]


@cache
def tokenizer(kind: str, vocab_size: int = 320) -> Tokenizer:
    return train_tokenizer(CORPUS, kind, vocab_size if kind in ("unigram", "bpe") else None)


def translator(
    kind: str = "word", arch: str = "luong", *, seed: int = 1, order: str = "left-to-right", **settings: Any
) -> Translator:
    """Return one in float64 whose outputs have at most 8 pieces more than the source."""
    both = Tokenizers(tokenizer(kind), tokenizer(kind))
    recipe = ARCHITECTURES[arch]
    own = TASKS["translation"].settings_of(recipe)(**{**(BLOCKS if "transformer" in arch else CELLS), **settings})
    model = random_weights(TASKS["translation"].build_model(recipe, own, both.vocabulary), seed).double()
    config = Config().replace(
        **{"data.target_order": order, "decoding.max_length_factor": 1.0, "decoding.max_length_extra": 8}
    )
    return Translator(model, both, config.data, config.decoding)  # type: ignore[arg-type]
