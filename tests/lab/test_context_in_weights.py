"""context-in-weights: the law of the documents, the ideal reader, falls of planted losses, and a whole small experiment."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

from seqline.lab import context_in_weights as context
from seqline.lab.context_in_weights import LSTM, TRANSFORMER, TTT, by_part, fall, nats_by_position
from seqline.lab.habit_texts import HABITS, NEWCOMERS, PEOPLE, document, ideal_nats
from seqline.run_folder import load_run

from .planted import SmallLab, measured, states


def test_everybody_has_one_habit_in_a_document_and_another_in_the_next() -> None:
    draws = random.Random(1)
    found = []
    for _ in range(2):
        words = document(80, draws).split()
        pairs = set(zip(words[::3], words[1::3], strict=True))
        people, habits = (set(side) for side in zip(*pairs, strict=True))
        assert len(pairs) == len(people) == len(habits) > 4
        assert people <= set(PEOPLE)
        assert habits <= set(HABITS)
        assert set(words[2::3]) == {"."}
        found.append(dict(pairs))
    assert found[0] != found[1]
    assert len(set(PEOPLE)) == len(set(HABITS)) == 32


def test_the_ideal_reader_knows_what_was_said() -> None:
    nats = ideal_nats(["Adam", "sings", ".", "Zora", "swims", ".", "Adam", "sings", "."])
    assert nats == pytest.approx(
        [math.log(32), math.log(32), 0.0, math.log(31 * 4 / 3), math.log(31), 0.0, math.log(5), 0.0, 0.0]
    )


def test_all_people_together_are_sure_to_the_ideal_reader() -> None:
    words = document(120, random.Random(2)).split()
    for place in range(0, 360, 30):
        nats = [ideal_nats([*words[:place], person, "sings", "."])[place] for person in PEOPLE]
        assert sum(math.exp(-each) for each in nats) == pytest.approx(1.0)


def test_newcomers_come_as_the_urn_says() -> None:
    draws = random.Random(3)
    found = [len(set(document(40, draws).split()[::3])) for _ in range(400)]
    expected = sum(NEWCOMERS / (n + NEWCOMERS) for n in range(40))
    assert np.mean(found) == pytest.approx(expected, rel=0.05)


def test_people_and_habits_are_counted_and_parts_are_eighths() -> None:
    nats = np.arange(48.0)[None]
    assert context.of_facts(nats, (1,))[0].tolist() == [1 + 3 * n for n in range(16)]
    facts = context.of_facts(nats)
    assert facts[0].tolist() == [0.5 + 3 * n for n in range(16)]
    parts = by_part(facts)
    assert parts.shape == (1, 8, 2)
    assert parts[0, 0].tolist() == [0.5 + 3.5, 2.0]


def losses(by_eighth: list[float], spread: float = 0.02) -> list[np.ndarray]:
    noise = spread * np.linspace(-1, 1, 40)[:, None]
    sums = 10 * (np.array(by_eighth)[None] + noise)
    return [np.stack([sums, np.full_like(sums, 10.0)], axis=-1)]


def test_the_fall_is_that_of_the_later_part() -> None:
    found = fall(losses([9.0, 9.0, 3.0, 2.0, 7.0, 7.0, 1.0, 1.5]))
    assert found.value == pytest.approx(2.5 - 1.25)
    assert context.fall_difference(
        losses([0, 0, 3, 3, 0, 0, 1, 1]), losses([0, 0, 3, 3, 0, 0, 2, 2])
    ).value == pytest.approx(1)


def test_claims_hold_fail_and_stay_open() -> None:
    falls, level = losses([3, 2.5, 2, 1.5, 1, 0.8, 0.5, 0.2]), losses([3.0] * 8)
    slowly, low = losses([3, 2.5, 2.2, 2.0, 2.0, 2.0, 2.0, 2.0]), losses([0.5] * 8)

    def judged(ttt: list[np.ndarray], transformer: list[np.ndarray], lstm: list[np.ndarray]) -> dict[str, str]:
        return states(
            context.verdicts({TTT: ttt, TRANSFORMER: transformer, LSTM: lstm, context.IDEAL: losses([0.1] * 8)})
        )

    assert set(judged(falls, falls, slowly).values()) == {"held"}
    assert judged(falls, falls, level)["lstm"] == "undecided"
    assert set(judged(low, low, falls).values()) == {"not held"}
    wild = [np.where(np.arange(40)[:, None, None] % 2, falls[0], falls[0][:, ::-1])]
    assert set(judged(wild, wild, level).values()) == {"undecided"}
    # Who has not learned to read decides nothing by not falling.
    assert {key: state for key, state in judged(level, level, falls).items() if key != "lstm"} == {
        "ttt": "undecided", "transformer": "undecided",
    }  # fmt: skip


def test_a_whole_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"QUICK_SENTENCES": 16, "QUICK_DOCUMENTS": 20, "QUICK_TEST_DOCUMENTS": 12, "VALIDATION_DOCUMENTS": 2}
    for name, value in small.items():
        monkeypatch.setattr(context, name, value)
    found = measured(context.EXPERIMENT, tmp_path, context.CORPORA)
    assert [row[0] for row in found.tables[0].rows] == [context.IDEAL, LSTM, TRANSFORMER, TTT]
    assert found.numbers["words"] == 48
    lab = SmallLab(tmp_path, is_quick=True, corpora=context.CORPORA, most_steps=2)
    run = load_run(lab.run(context.wanted(LSTM, 1)))
    texts = (tmp_path / "data/habits/test.txt").read_text().splitlines()
    all_at_once, alone = nats_by_position(run, texts), nats_by_position(run, texts[11:])
    assert all_at_once.shape == (12, 48)
    np.testing.assert_allclose(all_at_once[11:], alone, rtol=1e-5)
    words = run.tokenizers.source.encode(texts[0])
    assert len(words) == 48
