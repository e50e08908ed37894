"""What a trace says of one text is what the model does with it in use: fused layers, both directions, and padded batches."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from seqline.data.tokenizer import BOS
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.recording.attention import ATTENTION
from seqline.recording.frames import by_path, to_array
from seqline.recording.sides import is_mixer
from seqline.recording.states import source_orders
from seqline.translator import Translator
from seqline.watch import Frame, watch

from .recorded import make_model, user_of

LONG, SHORT = "the old cat sees a dog", "a new dog"
BATCHED = ["luong-fed-dot", "luong-both-ways-local-p", "luong-coverage", "luong-heads", "bahdanau", "bahdanau-heads"]
BATCHED += ["transformer", "transformer-pre-relative", "ssru", "conv"]
READING = ["encoder-decoder-lstm", "contextual-final", "sutskever", "luong-both-ways-local-p", "bahdanau"]


@cache
def documents(variant: str) -> tuple[EncoderDecoder, list[dict[str, Any]]]:
    """Return a model and what it does with the two texts."""
    model = make_model(variant, "translation")
    user = user_of(model, "translation")
    assert isinstance(model, EncoderDecoder)
    assert isinstance(user, Translator)
    return model, [user.explain(text, beam_size=1, timing=False).document for text in (LONG, SHORT)]


def batch_of(found: list[dict[str, Any]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return source, which of it is real, and what the decoder is fed, of both texts, padded on the right."""
    sources = [[token["id"] for token in document["source"]["tokens"]] for document in found]
    fed = [[BOS, *(token["id"] for token in document["target"]["tokens"][:-1])] for document in found]

    def padded(rows: list[list[int]]) -> torch.Tensor:
        return torch.tensor([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])

    source = padded(sources)
    return source, torch.arange(source.shape[1]) < torch.tensor([[len(row)] for row in sources]), padded(fed)


def kind_of(frame: Frame) -> str:
    return "encoder_self" if frame.path.startswith("encoder.") else "decoder_self" if is_mixer(frame) else "cross"


def in_batch(frames: list[Frame], row: int) -> dict[str, list[np.ndarray]]:
    """Return the weights [H Q M] of one row of a batch, layer after layer of each kind."""
    found: dict[str, list[np.ndarray]] = {}
    for of_module in by_path(frames, *ATTENTION).values():
        weights = [to_array(frame.values["weights"])[row] for frame in of_module]
        heads = [each if each.ndim == 3 else each[None] for each in weights]
        found.setdefault(kind_of(of_module[0]), []).append(np.concatenate(heads, axis=1))
    return found


@pytest.mark.parametrize("variant", BATCHED)
def test_each_row_of_a_padded_batch_is_the_trace_of_its_text(variant: str) -> None:
    model, found = documents(variant)
    source, is_real, fed = batch_of(found)
    with torch.no_grad(), watch(model) as frames:
        model(source, is_real, fed)
    for row, document in enumerate(found):
        assert "<pad>" not in {token["piece"] for side in ("source", "target") for token in document[side]["tokens"]}
        together = in_batch(frames, row)
        blocks = {block["kind"]: block["weights"] for block in document.get("attention") or []}
        assert set(blocks) == set(together)
        for kind, weights in blocks.items():
            own = np.stack(together[kind])
            num_queries, num_keys = weights.shape[2:]
            assert np.abs(own[:, :, :num_queries, :num_keys] - weights).max() <= 1e-10
            assert (own[:, :, :num_queries, num_keys:] == 0).all()


@pytest.mark.parametrize("variant", READING)
def test_states_are_those_of_the_layers_in_use(variant: str) -> None:
    model, found = documents(variant)
    source, is_real, _ = batch_of(found)
    with torch.no_grad():
        encoded = model.encoder(source, is_real).outputs.numpy()
    for row, document in enumerate(found):
        states = document["encoder"]["h"]
        top = np.concatenate(list(states[-1]), axis=-1)
        assert np.abs(encoded[row, : len(top)] - top).max() <= 1e-10


@pytest.mark.parametrize("variant", ["sutskever", "luong-both-ways-local-p", "bahdanau"])
def test_states_obey_the_cells_equations_in_the_order_of_reading(variant: str) -> None:
    _, [document, _] = documents(variant)
    block, length = document["encoder"], len(document["source"]["tokens"])
    num_ways = block["h"].shape[1]
    assert num_ways == (1 if variant == "sutskever" else 2)
    for way, order in zip(range(num_ways), source_orders(length, is_reversed=variant == "sutskever"), strict=False):
        reading = np.argsort(order)
        assert reading.tolist() != list(range(length)) or (variant != "sutskever" and way == 0)
        h = block["h"][:, way, reading]
        gates = {name: values[:, way, reading] for name, values in block["gates"].items()}
        before = np.concatenate([block["h0"][:, way, None], h[:, :-1]], axis=1)
        if "c" in block:
            c = block["c"][:, way, reading]
            c_before = np.concatenate([block["c0"][:, way, None], c[:, :-1]], axis=1)
            assert np.abs(c - (gates["f"] * c_before + gates["i"] * gates["g"])).max() <= 1e-12
            assert np.abs(h - gates["o"] * np.tanh(c)).max() <= 1e-12
        else:
            assert np.abs(h - ((1 - gates["z"]) * gates["n"] + gates["z"] * before)).max() <= 1e-12
