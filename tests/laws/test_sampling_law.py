"""Sampling from every architecture: a row's tokens and probability are its own, whatever stands beside it."""

from __future__ import annotations

import pytest
import torch

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.data.tokenizer import BOS, EOS
from seqline.decoding import Sampling, forbid, sample
from seqline.state import Decoder, select

from ..decoding.table_model import teacher_forced
from ..small_models import TARGET_SIZE, VARIANTS, make_batch, make_model, random_weights

PROMPTS = [[BOS, 5, 7], [BOS], [BOS, 4, 4, 8, 6, 5], [BOS, 6]]
LIMITS = [6, 9, 4, 9]
WARM = Sampling(temperature=1.4, top_p=0.95, seed=3)
LANGUAGE_MODELS = [name for name, recipe in ARCHITECTURES.items() if recipe.language_model is not None]


def check_rows_are_their_own(decoder: Decoder, memory: object) -> None:
    def of(rows: list[int]) -> list[tuple[tuple[int, ...], float]]:
        found = sample(
            decoder,
            select(memory, torch.tensor(rows)),
            [PROMPTS[row] for row in rows],
            torch.tensor([LIMITS[row] for row in rows]),
            sampling=WARM,
            row_ids=rows,
            eos_id=EOS,
            rules=[forbid((0, 1, 2))],
        )
        return [(hypothesis.ids, hypothesis.log_probability) for hypothesis in found]

    order = [2, 0, 3, 1]
    together, mixed = of([0, 1, 2, 3]), of(order)
    for row, prompt in enumerate(PROMPTS):
        ((ids, log_probability),) = of([row])
        for other_ids, other in (together[row], mixed[order.index(row)]):
            assert other_ids == ids
            assert other == pytest.approx(log_probability, abs=1e-10)
        alone = select(memory, torch.tensor([row]))
        whole = teacher_forced(decoder, alone, [*prompt[1:], *ids], BOS)
        before = teacher_forced(decoder, alone, prompt[1:], BOS) if len(prompt) > 1 else 0.0
        assert log_probability == pytest.approx(whole - before, abs=1e-10)


@pytest.mark.parametrize("variant", VARIANTS)
def test_rows_of_a_decoder_are_their_own(variant: str) -> None:
    model, batch = make_model(variant), make_batch()
    with torch.no_grad():
        memory = model.decoder.prepare(model.encoder(batch.source, batch.source_is_real))
        check_rows_are_their_own(model.decoder, memory)


@pytest.mark.parametrize("name", LANGUAGE_MODELS)
def test_rows_of_a_language_model_are_their_own(name: str) -> None:
    recipe = ARCHITECTURES[name]
    assert recipe.language_model is not None
    layers = {"num_layers": 2} if "num_layers" in recipe.settings.model_fields else {}
    settings = recipe.settings(**{**recipe.sizes["tiny"], **layers})
    model = random_weights(recipe.language_model(settings, Vocabulary(TARGET_SIZE, TARGET_SIZE, True)))
    with torch.no_grad():
        check_rows_are_their_own(model, None)
