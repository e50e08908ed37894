"""What one more token costs: bytes by hand, and the rules."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from seqline.lab import cost
from seqline.lab.cost import Cost, growth_of, make_model, measure_costs, state_bytes, verdicts

from .planted import measured, states


def test_the_bytes_of_a_state_are_those_of_its_numbers() -> None:
    cache, lstm = make_model("transformer"), make_model("lstm")
    with torch.no_grad():
        _, state = cache(torch.full((1, 10), 5), cache.initial_state(None, 1))
    keys_and_values = 2 * 4 * cost.WIDTH * 10 * cost.LAYERS
    assert 0 <= state_bytes(state) - keys_and_values <= 10 * cost.LAYERS + 8  # and a mark for each, and a count
    assert state_bytes(lstm.initial_state(None, 1)) == 2 * 4 * cost.WIDTH * cost.LAYERS


def test_the_cache_grows_and_the_others_stay() -> None:
    models = {name: make_model(name) for name in ("gru", "transformer", "ttt-linear")}
    found = measure_costs(models, (16, 32), turns=2)
    size = {name: [each.state_bytes for each in of.values()] for name, of in found.items()}
    assert size["gru"][0] == size["gru"][1]
    assert size["ttt-linear"][0] == size["ttt-linear"][1]
    assert size["transformer"][1] == pytest.approx(2 * size["transformer"][0], rel=0.01)
    assert all(len(each.seconds) == 2 for of in found.values() for each in of.values())


def planted(time: float, size: float, spread: float = 0.0) -> dict[int, Cost]:
    noise = (-spread, -spread, 0.0, spread, spread)
    return {n: Cost(tuple(n ** (time + each) for each in noise), round(1000 * n**size)) for n in (64, 256, 1024)}


def test_claims_hold_fail_and_stay_open() -> None:
    constant, linear, noisy = planted(0.0, 0.0), planted(1.0, 1.0), planted(0.15, 0.0, 0.1)
    fixed = {name: growth_of(constant) for name in cost.MODELS}
    good = verdicts({**fixed, "transformer": growth_of(linear)})
    assert states(good) == {"cache": "held", "recurrent": "held", "ttt": "held"}
    bad = verdicts({**{name: growth_of(linear) for name in cost.MODELS}, "transformer": growth_of(constant)})
    assert states(bad) == {"cache": "not held", "recurrent": "not held", "ttt": "not held"}
    open_ = verdicts({**fixed, "lstm": growth_of(noisy), "transformer": growth_of(planted(0.5, 1.0, 0.1))})
    assert states(open_) == {"cache": "undecided", "recurrent": "undecided", "ttt": "held"}


def test_a_whole_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "QUICK_LENGTHS", (32, 64))
    monkeypatch.setattr(cost, "LATE", 32)
    monkeypatch.setattr(cost, "DECODED", 2)
    monkeypatch.setattr(cost, "QUICK_TURNS", 1)
    found = measured(cost.EXPERIMENT, tmp_path, {})
    assert len(found.tables[0].rows) == len(cost.MODELS)
