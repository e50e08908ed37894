"""Traces of a beam and of forced tokens: rows follow the parents, and the tree adds up."""

from __future__ import annotations

import numpy as np
import pytest

from seqline.errors import UserError
from seqline.translator import Translator

from .recorded import TEXT, make_model, record, user_of

ATTENDING = ["luong-fed-dot", "luong-coverage", "bahdanau-heads", "transformer", "conv", "ssru"]


@pytest.mark.parametrize("variant", ATTENDING)
def test_the_rows_of_the_best_path_are_those_of_the_output(variant: str) -> None:
    document = record(variant, "translation", beam_size=4)
    beam = document["beam"]
    nodes, path, node = beam["nodes"], [], beam["best"]
    while node is not None:
        path.append(node)
        node = nodes[node]["parent"]
    path.reverse()
    assert [nodes[n]["token"]["id"] for n in path] == [token["id"] for token in document["target"]["tokens"]]
    cross = next(block for block in document["attention"] if block["kind"] == "cross")
    assert np.abs(beam["attention"][path] - cross["weights"].mean((0, 1))).max() <= 1e-10
    for one in nodes:
        before = 0.0 if one["parent"] is None else nodes[one["parent"]]["sum"]
        assert one["sum"] == pytest.approx(before + one["logp"], abs=1e-9)
    steps = {one["t"] for one in nodes}
    assert all(sum(one["t"] == t and one["state"] == "live" for one in nodes) <= 4 for t in steps)


def test_a_forced_token_comes_out_and_the_rest_follows() -> None:
    translator = user_of(make_model("luong-fed-dot", "translation"), "translation")
    assert isinstance(translator, Translator)
    document = translator.explain(TEXT, force={2: "Paris"}, timing=False).document
    assert document["target"]["tokens"][1]["piece"] == "Paris"
    assert document["decode"]["mode"] == "forced"
    with pytest.raises(UserError, match="is no piece of the vocabulary"):
        translator.explain(TEXT, force={1: "zebra"})
    with pytest.raises(UserError, match="blank"):
        translator.explain("  ")
