"""The location score: by place alone, for any padding, and no further than its table. The others are in tests/parity."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from seqline.errors import UserError
from seqline.parts.attention import Attention
from seqline.parts.scores import LocationScore

from ..small_models import assert_equal, gradients, random_weights, right_padded

QUERY_SIZE, KEY_SIZE, LENGTH, TABLE = 4, 6, 2, 5
LENGTHS = [5, 1, 0]


@pytest.mark.parametrize("width", [5, 9])
def test_attention_by_location_is_its_formula(width: int) -> None:
    attention = random_weights(Attention(LocationScore(QUERY_SIZE, TABLE)))
    query = torch.randn(len(LENGTHS), LENGTH, QUERY_SIZE, dtype=torch.float64)
    is_real = right_padded(LENGTHS, width)
    outputs = torch.randn(len(LENGTHS), width, KEY_SIZE, dtype=torch.float64).masked_fill(~is_real[..., None], 1e4)
    context = attention(query, attention.prepare(outputs, is_real))
    table = attention.get_parameter("score.place.weight").detach().numpy()
    for b, length in enumerate(LENGTHS[:2]):
        scores = query[b].numpy() @ table[:length].T
        shares = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
        expected = shares @ outputs[b, :length].numpy()
        np.testing.assert_allclose(context[b].detach().numpy(), expected, atol=1e-10)
    assert (context[2] == 0).all()
    (gradient,) = gradients(list(attention.parameters()), context)
    assert torch.isfinite(gradient).all()


def test_the_score_does_not_see_the_keys() -> None:
    score = random_weights(LocationScore(QUERY_SIZE, TABLE))
    query, is_real = torch.randn(1, 2, QUERY_SIZE, dtype=torch.float64), torch.ones(1, 3, dtype=torch.bool)
    one, other = (score(query, score.prepare(keys, is_real)) for keys in torch.randn(2, 1, 3, 6, dtype=torch.float64))
    assert one.shape == (1, 2, 3)
    assert_equal([one], [other], tolerance=0.0)


def test_a_source_beyond_the_table_is_refused() -> None:
    score, keys = LocationScore(QUERY_SIZE, TABLE), torch.randn(2, 8, KEY_SIZE)
    score.prepare(keys, right_padded([5, 2], 8))
    with pytest.raises(UserError, match=r"model.location_length: a source of 6 tokens .* 5 positions .*; shorten"):
        score.prepare(keys, right_padded([2, 6], 8))
