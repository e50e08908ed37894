"""Rows are queries and columns are keys: weights set by hand come back where they were set, in every kind of attention."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import nn

from seqline.intervene import Row, set_rows
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.reading import source_readers
from seqline.parts.self_attention import MultiHeadAttention
from seqline.recording import sides
from seqline.recording.attention import Kind
from seqline.recording.by_hand import ByHand
from seqline.recording.replay import Subject, replay

from .recorded import make_model

SOURCE, FED = [5, 6, 7, 8, 4, 9, 3], [2, 5, 6, 7]  # 7 keys, 4 queries
CROSS = ["luong-fed-dot", "luong-unfed-concat", "luong-coverage", "luong-heads", "bahdanau", "bahdanau-heads"]
CROSS += ["transformer", "transformer-pre-relative", "ssru", "conv"]
Matrix = Callable[[int, int], np.ndarray]


class Held:
    """Rows of some modules, in force for each walk of a replay."""

    def __init__(self, rows: dict[nn.Module, list[Row]]) -> None:
        self.rows = rows

    def applied(self) -> AbstractContextManager[None]:
        return set_rows(self.rows)


def permutation(num_queries: int, num_keys: int) -> np.ndarray:
    """Return a matrix in which query q reads key 3 q + 1, all around: its transpose is another one."""
    return np.eye(num_keys)[[(3 * q + 1) % num_keys for q in range(num_queries)]]


def shifted(num_queries: int, num_keys: int) -> np.ndarray:
    """Return a matrix in which query q reads key q + 2, the last ones key 0."""
    return np.eye(num_keys)[[q + 2 if q + 2 < num_keys else 0 for q in range(num_queries)]]


def before(num_queries: int, num_keys: int) -> np.ndarray:
    """Return a causal matrix in which query q reads key q - 1; the first reads itself."""
    return np.eye(num_keys)[[max(0, q - 1) for q in range(num_queries)]]


def first(num_queries: int, num_keys: int) -> np.ndarray:
    """Return a causal matrix in which the even queries read key 0 and the odd ones themselves."""
    return np.eye(num_keys)[[q if q % 2 else 0 for q in range(num_queries)]]


def rows_of(matrix: np.ndarray, is_causal: bool = False) -> list[Row]:
    return [Row(n, tuple(row[:n] if is_causal else row)) for n, row in enumerate(matrix.tolist(), 1)]


def held(model: nn.Module, subject: Subject, parts: Sequence[nn.Module], rows: list[Row]) -> Any:
    by_hand = cast(ByHand, Held(dict.fromkeys(parts, rows)))
    return replay(model, subject, timing=False, limit_mb=64, by_hand=by_hand)


def modules(model: nn.Module, name: str) -> Iterator[MultiHeadAttention]:
    """Yield the attentions of an encoder, or the mixers of a decoder or language model."""
    for path, module in model.named_modules():
        is_own = path.startswith("encoder.") if name == "encoder" else "mixer" in path.split(".")
        if isinstance(module, MultiHeadAttention) and is_own:
            yield module


def check(kinds: Sequence[Kind], kind: str, matrix: np.ndarray, names: tuple[str, str], outputs: Any = None) -> None:
    """Check that each layer and head holds the matrix and that its context is the matrix times the values, or the outputs."""
    blocks = sides.attention_blocks(kinds, sides.TARGET, "everywhere")
    [block] = [block for block in blocks["attention"] if block["kind"] == kind]
    assert (block["query"], block["key"]) == names
    assert block["weights"].shape[2:] == matrix.shape
    assert np.array_equal(block["weights"], np.broadcast_to(matrix, block["weights"].shape))
    [own] = [one for one in kinds if one.kind == kind]
    for number, layer in enumerate(own.layers):
        for head in range(len(layer.weights)):
            values = outputs
            if own.memories:
                shared = own.memories[min(number, len(own.memories) - 1)].values
                values = shared[head * len(shared) // len(layer.weights)]
            assert np.abs(matrix @ values - layer.context[head]).max() <= 1e-12


@pytest.mark.parametrize("matrix", [permutation, shifted])
@pytest.mark.parametrize("variant", CROSS)
def test_cross_attention(variant: str, matrix: Matrix) -> None:
    model = make_model(variant, "translation")
    assert isinstance(model, EncoderDecoder)
    wanted = matrix(len(FED), len(SOURCE))
    parts = source_readers(cast(nn.Module, model.decoder))
    seen = held(model, Subject(SOURCE, [], FED), parts, rows_of(wanted))
    outputs = seen.watched.encoded.outputs[0].numpy()
    check(sides.cross(seen.prepared, seen.decoding, len(SOURCE)), "cross", wanted, ("target.out", "source"), outputs)


@pytest.mark.parametrize("matrix", [permutation, shifted])
@pytest.mark.parametrize("variant", ["transformer", "transformer-pre-alibi"])
def test_self_attention_of_an_encoder(variant: str, matrix: Matrix) -> None:
    model = make_model(variant, "translation")
    wanted = matrix(len(SOURCE), len(SOURCE))
    assert not np.array_equal(wanted, wanted.T)
    parts = list(modules(model, "encoder"))
    assert len(parts) == 2
    seen = held(model, Subject(SOURCE, [], FED), parts, rows_of(wanted))
    check(sides.encoder_self(seen.encoder, len(SOURCE)), "encoder_self", wanted, ("source", "source"))


@pytest.mark.parametrize("matrix", [before, first])
@pytest.mark.parametrize(("variant", "task"), [("transformer", "translation"), ("transformer", "language_model")])
def test_causal_self_attention(variant: str, task: str, matrix: Matrix) -> None:
    model = make_model(variant, task)
    source = SOURCE if task == "translation" else []
    wanted = matrix(len(FED), len(FED))
    seen = held(model, Subject(source, [], FED), list(modules(model, "decoder")), rows_of(wanted, is_causal=True))
    assert torch.equal(torch.tensor(np.triu(wanted, 1)), torch.zeros(4, 4, dtype=torch.float64))
    check(sides.decoder_self(seen.decoding, len(FED)), "decoder_self", wanted, ("target.out", "target.in"))
