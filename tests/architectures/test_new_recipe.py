"""The recipe that docs/state.md writes as an example is a real one: it builds, obeys the laws and learns."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import torch

from seqline.architectures.recipe import Recipe, Vocabulary
from seqline.data.batch import Example
from seqline.evaluation.verify import Subject, check_laws

from ..small_models import TOLERANCE, make_batch, random_weights

PAGE = Path(__file__).parents[2] / "docs" / "state.md"
SETTINGS = {"embed_size": 6, "num_heads": 2, "inner_size": 10, "num_layers": 2, "dropout": 0.1}


def recipe_of_the_page() -> Recipe:
    (source,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    module = ModuleType("recipe_of_the_page")
    exec(compile(source, str(PAGE), "exec"), vars(module))
    return module.RECIPE


def test_it_obeys_the_laws() -> None:
    recipe = recipe_of_the_page()
    model = random_weights(recipe.build(recipe.settings(**SETTINGS), Vocabulary(11, 9, is_shared=False)))
    batch = make_batch()
    examples = [
        Example(source[is_real].tolist(), target[real].tolist()[1:])
        for source, is_real, target, real in zip(
            batch.source, batch.source_is_real, batch.target_in, batch.target_is_real, strict=True
        )
    ]
    for finding in check_laws(Subject(model, examples, max_length=6)):
        assert finding.difference <= TOLERANCE, finding


def test_it_learns() -> None:
    recipe, batch = recipe_of_the_page(), make_batch()
    model = recipe.build(recipe.settings(**{**recipe.sizes["tiny"], "dropout": 0.0}), Vocabulary(11, 9, False))
    losses = []
    for _ in range(6):
        log_probs = model(batch.source, batch.source_is_real, batch.target_in).log_softmax(-1)
        loss = -log_probs.gather(2, batch.target_out[..., None])[batch.target_is_real].mean()
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                assert parameter.grad is not None
                parameter -= 0.1 * parameter.grad
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.3
