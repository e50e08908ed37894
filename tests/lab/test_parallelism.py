"""Steps that wait for one another: counts, ratios and rules; no time is asserted."""

from __future__ import annotations

from pathlib import Path

import pytest

from seqline.lab import parallelism
from seqline.lab.laboratory import Lab
from seqline.lab.parallelism import (
    FORMULA,
    LOOP,
    PARAMETERS,
    RNNS,
    Measured,
    chains,
    equal_model,
    kept_by,
    make_layers,
    ratios,
    take_turns,
    verdicts,
)
from seqline.lab.peak import added_by_update
from seqline.run import num_parameters

from .planted import measured, states


@pytest.mark.parametrize("name", [*RNNS, "transformer"])
def test_models_have_equal_parameters(name: str) -> None:
    assert num_parameters(equal_model(name)) == pytest.approx(PARAMETERS, rel=0.03)


def test_chains_of_recurrent_models_grow() -> None:
    found = chains()
    assert len(set(found["transformer"].values())) == 1
    for name in RNNS:
        assert found[name][64] > 6 * found[name][8]


def test_attention_by_its_formula_keeps_its_weights() -> None:
    layers = make_layers()
    more = kept_by(layers["attention" + FORMULA], 128) - kept_by(layers["attention"], 128)
    assert more >= 4 * parallelism.HEADS * 128 * 128


def test_the_mask_is_not_counted_and_all_else_is() -> None:
    layer = make_layers()["attention"]
    (short, long) = (kept_by(layer, n) for n in (128, 256))
    assert long == 2 * short > 0


def test_a_step_is_timed_behind_one_of_its_own_kind(tmp_path: Path) -> None:
    told = iter([9.0, 1.0, 9.0, 2.0, 9.0, 3.0, 9.0, 4.0])
    found = take_turns({"a": {1: lambda: next(told)}, "b": {1: lambda: next(told)}}, 2, Lab(tmp_path))
    assert found == {"a": {1: [1.0, 3.0]}, "b": {1: [2.0, 4.0]}}


@pytest.mark.timeout(300)
def test_attention_by_its_formula_raises_the_peak_of_a_process() -> None:
    plain, formula = (added_by_update(name, 1024) for name in ("transformer", "transformer" + FORMULA))
    if plain is None or formula is None:
        pytest.skip("this system does not tell the peak memory of a process")
    assert formula - plain > 2 * parallelism.MIB * 4  # two layers keep weights of 1,024 x 1,024


def test_a_process_that_fails_has_no_peak() -> None:
    assert added_by_update("no model", 64) is None


def test_ratios_are_means_over_lengths_turn_by_turn() -> None:
    costs = {"a": {1: [2.0, 4.0, 6.0], 2: [8.0, 4.0, 6.0]}, "b": {1: [1.0, 1.0, 2.0], 2: [1.0, 1.0, 2.0]}}
    found = ratios(costs, "a", "b", [1, 2])
    assert (found.value, found.low, found.high) == pytest.approx((4.0, 3.5, 4.0))


def seconds(name: str, power: float, factor: float = 1.0, spread: float = 0.0) -> dict[str, dict[int, list[float]]]:
    noise = (1 - spread, 1 - spread, 1.0, 1 + spread, 1 + spread)
    return {name: {n: [factor * n**power * each for each in noise] for n in (16, 64, 512, 1024)}}


def found(*, is_good: bool, spread: float = 0.0) -> Measured:
    factor, powers = (5.0, (1, 2)) if is_good else (0.2, (2, 1))
    factor = 1.0 if spread else factor
    counted = {name: {n: n ** powers[0] if is_good else 7 for n in (8, 64)} for name in RNNS} | {
        "transformer": {8: 5, 64: 5}
    }
    kept = {"attention": {512: 1, 1024: 2}, "attention" + FORMULA: {512: 1, 1024: 4 if is_good else 2}}
    layers: dict[str, dict[int, list[float]]] = {}
    models: dict[str, dict[int, list[float]]] = {}
    for name in RNNS:
        layers |= seconds(name, powers[0] + (0.25 if spread else 0.0), factor, spread)
        models |= seconds(name, 0, factor, spread) | seconds(name + LOOP, 0, factor, spread)
    layers |= seconds("attention", 1.25 if spread else powers[0]) | seconds("attention" + FORMULA, powers[1])
    return Measured(counted, kept, layers, models | seconds("transformer", 0))


def test_claims_hold_fail_and_stay_open() -> None:
    assert set(states(verdicts(found(is_good=True))).values()) == {"held"}
    assert set(states(verdicts(found(is_good=False))).values()) == {"not held"}
    open_ = states(verdicts(found(is_good=True, spread=0.2)))
    assert {open_["faster"], open_["training"]} == {"undecided"}


def test_a_whole_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallelism, "QUICK_LENGTHS", (16,))
    monkeypatch.setattr(parallelism, "QUICK_LAYER_LENGTHS", (16, 64, 128))
    monkeypatch.setattr(parallelism, "LONG", 64)
    monkeypatch.setattr(parallelism, "CHAIN_LENGTHS", (4, 8))
    monkeypatch.setattr(parallelism, "QUICK_TURNS", 1)
    monkeypatch.setattr(
        parallelism, "added_by_update", lambda name, length: None if name == "gru" else length * parallelism.MIB
    )
    done = measured(parallelism.EXPERIMENT, tmp_path, {})
    peaks = {row[0]: row[1:] for row in done.tables[-1].rows}
    assert (peaks["lstm"], peaks["gru"]) == ((64.0, 1024.0), (None, None))
    assert (len(done.tables), len(done.pictures)) == (5, 4)
    monkeypatch.setattr(parallelism, "added_by_update", lambda *_: None)  # as on a system that does not tell
    silent = measured(parallelism.EXPERIMENT, tmp_path, {})
    assert [picture.name for picture in silent.pictures] == ["training-speed", "waiting", "kept"]
