"""Traces of a beam and of forced tokens: rows follow the parents, and the tree adds up."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from seqline.data.tokenizer import EOS
from seqline.decoding import Prefix
from seqline.errors import UserError
from seqline.recording.document import Options
from seqline.recording.facts import Origin
from seqline.recording.forcing import Force
from seqline.recording.translation import Translating, record_translation
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


@pytest.mark.parametrize("variant", ATTENDING)
def test_rows_follow_parents_that_change_places(variant: str) -> None:
    """The second step's best continuation is made to come from the second hypothesis, and the other way round."""
    translator = user_of(make_model(variant, "translation"), "translation")
    assert isinstance(translator, Translator)
    leaders: list[int] = []

    def swap(prefix: Prefix, log_probs: torch.Tensor) -> torch.Tensor:
        log_probs[:, : EOS + 1] = -torch.inf
        if prefix.tokens.shape[1] == 0:
            leaders[:] = log_probs[0].topk(2).indices.tolist()
        if prefix.tokens.shape[1] in (1, 2):  # the leader may only go on with its worst token, so that it falls behind
            for row, last in enumerate(prefix.tokens[:, -1].tolist()):
                worst_first = log_probs[row].masked_fill(log_probs[row].isinf(), 1.0).argsort()
                kept = (
                    worst_first[0] if [last] == leaders[:1] and prefix.tokens.shape[1] == 1 else log_probs[row].argmax()
                )
                value = log_probs[row, kept].clone()
                log_probs[row] = -torch.inf
                log_probs[row, kept] = value
        return log_probs

    tokenizer = translator.tokenizers.source
    subject = Translating(translator.model, tokenizer, tokenizer, [swap], "none", lambda n: 5, Origin("x"))
    document = record_translation(subject, TEXT, 2, Force({}), Options(timing=False)).document
    nodes = document["beam"]["nodes"]
    second = [one for one in nodes if one["t"] == 2 and one["state"] == "live"]
    assert [nodes[one["parent"]]["token"]["id"] for one in second] == leaders[::-1]
    path, node = [], document["beam"]["best"]
    while node is not None:
        path.insert(0, node)
        node = nodes[node]["parent"]
    output = [nodes[n]["token"]["id"] for n in path]
    forced = record_translation(subject, TEXT, 1, Force(dict(enumerate(output, 1))), Options(timing=False)).document
    for found in (document, forced):
        assert [token["id"] for token in found["target"]["tokens"]] == output
    rows = next(block for block in forced["attention"] if block["kind"] == "cross")["weights"].mean((0, 1))
    assert np.abs(document["beam"]["attention"][path] - rows).max() <= 1e-10
    one, other = (document["beam"]["attention"][n["id"]] for n in nodes if n["t"] == 3 and n["state"] == "live")
    assert np.abs(one - other).max() > 1e-6  # so that a mixed-up row would be seen
