"""Sampling from every language model at a real size: a row's tokens and probability are its own, whatever stands beside it.

Every option of every recipe, encoder-decoders too, meets the same law in test_laws.py and test_language_models.py.
"""

from __future__ import annotations

import pytest
import torch

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.data.batch import Example
from seqline.evaluation.verify import LAWS, NoSource, Subject
from seqline.models.encoder_decoder import EncoderDecoder

from ..small_models import TARGET_SIZE, random_weights

TEXTS = [[5, 7, 4], [6], [4, 4, 8, 6, 5, 5, 7, 4, 8, 6, 5], [6, 7]]  # a prompt is the first half of each
LANGUAGE_MODELS = [name for name, recipe in ARCHITECTURES.items() if recipe.language_model is not None]


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_rows_of_a_language_model_are_their_own(name: str) -> None:
    recipe = ARCHITECTURES[name]
    assert recipe.language_model is not None
    layers = {"num_layers": 2} if "num_layers" in recipe.settings.model_fields else {}
    settings = recipe.settings(**{**recipe.sizes["tiny"], **layers})
    model = random_weights(recipe.language_model(settings, Vocabulary(TARGET_SIZE, TARGET_SIZE, True)))
    subject = Subject(EncoderDecoder(NoSource(), model).eval(), [Example([3], text) for text in TEXTS], 9)
    with torch.no_grad():
        finding = LAWS["sample"].check(subject)
    assert finding.holds(LAWS["sample"].tolerance), finding
