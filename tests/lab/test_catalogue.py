"""The list of experiments: in the order of history, each with claims, sources, and its own question in the list."""

from __future__ import annotations

import pytest

from seqline.errors import UserError
from seqline.lab import EXPERIMENTS
from seqline.lab.catalogue import QUESTIONS, chosen, corpora


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_every_experiment_is_there_and_states_its_sources(name: str) -> None:
    experiment = EXPERIMENTS[name]
    assert experiment.name == name
    assert experiment.question == QUESTIONS[name]
    assert experiment.title
    keys = [claim.key for claim in experiment.claims]
    assert keys
    assert len(set(keys)) == len(keys)
    assert all(claim.text and any(sign.isdigit() for sign in claim.source) for claim in experiment.claims)


def test_names_come_in_the_order_of_history_and_once() -> None:
    assert chosen("cost, heads,cost,vanishing-gradient") == ("vanishing-gradient", "cost", "heads")
    assert chosen(["heads"]) == ("heads",)
    assert chosen("all") == chosen("heads,all") == tuple(QUESTIONS)


@pytest.mark.parametrize(
    ("names", "message"), [("", "names no"), (" , ", "names no"), ("cots", "did you mean 'cost'"), ("al", "'all'")]
)
def test_a_name_that_is_none_is_refused(names: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        chosen(names)


def test_an_unknown_experiment_is_no_key() -> None:
    assert "heads" in EXPERIMENTS
    assert "hands" not in EXPERIMENTS
    with pytest.raises(KeyError):
        EXPERIMENTS["hands"]


def test_the_corpora_of_the_lab_are_there() -> None:
    assert {"pair", "toy"} <= set(corpora())
