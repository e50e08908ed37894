"""vanishing-gradient and exploding-gradient: derivatives against closed forms and small changes, verdicts on planted numbers."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from seqline.architectures.recipe import Vocabulary
from seqline.config import Config
from seqline.data.tokenizer import BOS
from seqline.lab import exploding_gradient as exploding
from seqline.lab import long_dependency as gaps
from seqline.lab import trained_gradients as trained
from seqline.lab import vanishing_gradient as vanishing
from seqline.lab.exploding_gradient import Course
from seqline.lab.gap_texts import Question
from seqline.parts.cells import GRUCell, LSTMCell, SimpleCell, SimpleIdentityCell
from seqline.run_folder import build_model
from seqline.state import map_tensors, tensors_of

from .planted import measured


@pytest.mark.parametrize("w", [0.5, 0.9, 1.0, 1.1])
def test_one_linear_unit_multiplies_by_its_weight(w: float) -> None:
    np.testing.assert_allclose(vanishing.of_one_unit(w, 30), w ** np.arange(1, 31), rtol=1e-12)


def test_a_linear_layer_multiplies_by_powers_of_its_matrix() -> None:
    torch.manual_seed(1)
    cell = SimpleIdentityCell(4, 4)
    found = vanishing.gradients(cell, 5, seed=3)
    draws = torch.Generator().manual_seed(3)
    torch.randn(vanishing.ROWS, 6, 4, generator=draws)  # the inputs, drawn first
    direction = torch.randn(vanishing.ROWS, 4, generator=draws)
    for k in range(1, 6):
        pulled = direction @ torch.matrix_power(cell.weight_hh.detach(), k)
        assert found[k - 1] == pytest.approx(math.sqrt(float(pulled.square().sum()) / vanishing.ROWS), rel=1e-4)


@pytest.mark.parametrize("kind", [SimpleCell, GRUCell, LSTMCell])
def test_every_cell_has_a_gradient_at_every_distance(kind: type) -> None:
    torch.manual_seed(1)
    found = vanishing.gradients(kind(8, 8), 12, seed=1)
    assert found.shape == (12,)
    assert (found > 0).all()


def test_attention_is_one_step_away() -> None:
    torch.manual_seed(1)
    cell = SimpleCell(16, 16)
    plain, attending = (vanishing.gradients(cell, 60, seed=1, attends=attends) for attends in (False, True))
    assert plain[50] < 1e-6 * plain[0]
    assert 0.2 < attending[50] / attending[1:50].mean() < 5


def test_the_factor_of_an_exponential_is_found() -> None:
    found, r2 = vanishing.factor(3.0 * 0.8 ** np.arange(1, 101.0))
    assert found == pytest.approx(0.8)
    assert r2 == pytest.approx(1.0)


def test_verdicts_on_vanishing() -> None:
    k = np.arange(1, 101.0)

    def runs(simple: float, lstm: float, attention: np.ndarray) -> dict[str, np.ndarray]:
        rows = {"simple RNN": simple**k, "GRU": 0.9**k, "LSTM": lstm**k, vanishing.ATTENTION: attention}
        return {name: np.stack([each, each]) for name, each in rows.items()}

    assert [v.state for v in vanishing.verdicts(runs(0.7, 0.9, np.ones(100)))] == ["held", "held", "held"]
    assert [v.state for v in vanishing.verdicts(runs(1.01, 0.9, 0.5**k))] == ["not held", "not held", "not held"]
    good, bad = vanishing.of_one_unit(0.9, 60), vanishing.of_one_unit(0.9, 60) * 1.001
    assert vanishing.power_verdict({0.9: good}).state == "held"
    assert vanishing.power_verdict({0.9: bad}).state == "not held"


@pytest.mark.parametrize("radius", [0.9, 1.1])
def test_linear_units_multiply_by_the_spectral_radius_in_the_end(radius: float) -> None:
    found, r2 = vanishing.factor(vanishing.of_matrix(radius, 1, 100)[50:])
    assert found == pytest.approx(radius, rel=0.03)
    assert r2 > 0.9


def test_verdicts_on_the_spectral_radius() -> None:
    k = np.arange(1, 101.0)
    assert vanishing.radius_verdict({0.9: np.array([0.9**k] * 2), 1.1: np.array([1.1**k] * 2)}).state == "held"
    assert vanishing.radius_verdict({0.9: np.array([0.9**k, 0.8**k])}).state == "undecided"
    assert vanishing.radius_verdict({0.9: np.array([0.7**k, 0.8**k])}).state == "not held"


def test_verdicts_on_trained_models() -> None:
    k = np.arange(1, 50.0)

    def runs(simple: tuple[float, float], lstm: tuple[float, float]) -> dict[str, np.ndarray]:
        return {"simple RNN": np.array([w**k for w in simple]), "LSTM": np.array([w**k for w in lstm])}

    assert vanishing.trained_verdict(runs((0.8, 0.8), (0.99, 0.99))).state == "held"
    assert vanishing.trained_verdict(runs((0.8, 0.8), (0.99, 0.7))).state == "undecided"
    assert vanishing.trained_verdict(runs((0.99, 0.99), (0.99, 0.7))).state == "not held"


def run_of(model: Any, task: str) -> Any:
    """Return what stands for a loaded run, words being numbers."""
    numbers = SimpleNamespace(encode=lambda text: [int(word) for word in text.split()])
    tokenizers = SimpleNamespace(source=numbers, target=numbers)
    return SimpleNamespace(model=model.eval(), tokenizers=tokenizers, config=Config().replace(**{"data.task": task}))


def numbered(length: int) -> Question:
    return Question(" ".join(str(4 + n % 7) for n in range(length)), "11")


@pytest.mark.parametrize("name", ["simple-rnn", "lstm"])
def test_the_gradient_of_a_language_model_is_that_of_small_changes(name: str) -> None:
    torch.manual_seed(1)
    config = Config().replace(**{"data.task": "language_model", "model.architecture": name, "model.embed_size": 6,
                                 "model.hidden_size": 6, "model.num_layers": 1, "model.dropout": 0.0})  # fmt: skip
    run = run_of(build_model(config, Vocabulary(12, 12, True)), "language_model")
    question = numbered(trained.TRAINED + 3)
    found = trained.by_distance(run, [question])
    assert found.shape == (trained.TRAINED - 1,)
    ids, model = [BOS, *run.tokenizers.source.encode(question.text)], run.model
    layers = model.layers
    for back in (1, 5):
        state = layers.initial_state(1)
        y = model.embedding(torch.tensor([ids[:-back]]))
        _, state = layers(y, state, None)
        leaf = tensors_of(state)[-1].detach().requires_grad_()  # h, or c, of which h = o tanh(c) is made
        before = [each.detach() for each in tensors_of(state)]
        state_of = [leaf] if len(before) == 1 else [before[0] / before[1].tanh() * leaf.tanh(), leaf]
        places = iter(state_of)
        state = map_tensors(lambda _, places=places: next(places), state)
        after, _ = layers(model.embedding(torch.tensor([ids[-back:]])), state, None)
        loss = -model.head(after)[0, -1].log_softmax(-1)[11]
        [pulled] = torch.autograd.grad(loss, [leaf])
        assert found[back - 1] == pytest.approx(float(pulled.norm()), rel=1e-3)


def test_a_translator_is_asked_about_its_source() -> None:
    torch.manual_seed(1)
    config = Config().replace(**{"model.architecture": "luong", "model.embed_size": 6, "model.hidden_size": 6,
                                 "model.num_layers": 1, "model.dropout": 0.0, "model.score": "dot"})  # fmt: skip
    run = run_of(build_model(config, Vocabulary(12, 12, True)), "translation")
    found = trained.by_distance(run, [numbered(trained.TRAINED + 3)])
    assert found.shape == (trained.TRAINED - 1,)
    assert (found > 0).all()
    assert 0.1 < found[40] / found[20] < 10  # attention reaches both at once


def test_the_recurrent_matrix_has_the_radius_that_was_asked_for() -> None:
    torch.manual_seed(1)
    weight = exploding.Recall(1.5).layer.cell.weight_hh  # pyright: ignore[reportAttributeAccessIssue]
    assert float(torch.linalg.eigvals(weight.detach()).abs().max()) == pytest.approx(1.5, rel=1e-4)


def test_the_same_seed_begins_alike_with_and_without_clipping() -> None:
    free, clipped = (exploding.train(1, 4, clip) for clip in (0.0, 1e-9))
    assert free.losses[0] == clipped.losses[0]
    assert free.norms[0] == pytest.approx(clipped.norms[0])
    assert clipped.losses != free.losses


def test_what_is_thrown_back() -> None:
    assert Course([1.0, 0.5, math.nan], [1.0, 1.0, 1.0]).is_thrown_back
    assert Course([1.0, 0.5, 1.5], [1.0, 1.0, 1.0]).is_thrown_back
    assert not Course([1.0, 3.0, 0.5], [1.0, 1.0, 1.0]).is_thrown_back
    assert Course([1.0, 0.5], [1.0, math.inf]).is_thrown_back  # its last update was none


def test_a_peak_is_high_over_the_median_after_the_first_updates() -> None:
    first = [900.0] * exploding.FIRST
    assert Course([1.0] * 13, [*first, 2.0, 100.0, 2.0]).peak == 50.0
    assert Course([1.0] * 13, [*first, 2.0, math.inf, 2.0]).peak == math.inf
    assert Course([1.0], [math.inf]).peak == math.inf
    assert Course([1.0] * 13, [*first, 2.0, 400.0, 2.0]).share_high == pytest.approx(1 / 3)


def test_verdicts_on_exploding() -> None:
    calm, wild = Course([1.0, 0.5], [1.0] * 60), Course([1.0, 2.0], [*[1.0] * 59, 190.0])
    assert [v.state for v in exploding.verdicts([wild] * 8, [calm] * 8)] == ["held", "held"]
    assert [v.state for v in exploding.verdicts([calm] * 8, [wild] * 8)] == ["not held", "not held"]
    assert [v.state for v in exploding.verdicts([wild, *[calm] * 7], [calm] * 8)] == ["undecided", "undecided"]
    nothing_to_prevent = exploding.verdicts([calm] * 8, [calm] * 8)
    assert [v.state for v in nothing_to_prevent] == ["not held", "undecided"]
    often = Course([1.0, 0.5], [*[1.0] * 50, *[190.0] * 10])
    assert exploding.verdicts([often] * 8, [calm] * 8)[0].state == "not held"  # high, but not rare


def test_a_whole_experiment_on_vanishing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaps, "QUICK_TEXTS", 60)
    monkeypatch.setattr(gaps, "VALIDATION_TEXTS", 4)
    monkeypatch.setattr(vanishing, "QUICK_RUNS", 2)
    monkeypatch.setattr(trained, "QUICK_QUESTIONS", 2)
    found = measured(vanishing.EXPERIMENT, tmp_path, gaps.CORPORA)
    assert {verdict.claim for verdict in found.verdicts} == {claim.key for claim in vanishing.CLAIMS}
    assert len(found.tables[1].rows) == len(trained.NAMES)
