"""Readers: what they take from a source, under padding, and where they widen the decoder."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from seqline.models.readers import NeverReads, Reader, ReadsSummary
from seqline.parts.summaries import final_output, mean_output
from seqline.state import Encoded, select

from ..small_models import assert_equal, right_padded

LENGTHS, SOURCE_LENGTH, WIDTH = [4, 1, 6], 8, 5


def make_encoded() -> Encoded:
    is_real = right_padded(LENGTHS, SOURCE_LENGTH)
    outputs = torch.randn(len(LENGTHS), SOURCE_LENGTH, WIDTH, dtype=torch.float64)
    return Encoded(outputs.masked_fill(~is_real[..., None], 1e4), is_real, None)


def make_readers() -> dict[str, Reader]:
    return {
        "never": NeverReads(),
        "final": ReadsSummary(WIDTH, final_output),
        "mean": ReadsSummary(WIDTH, mean_output),
    }


def test_the_final_output_is_at_the_last_real_position() -> None:
    encoded = make_encoded()
    found = final_output(encoded)
    for row, length in enumerate(LENGTHS):
        assert torch.equal(found[row], encoded.outputs[row, length - 1])


def test_the_mean_is_over_the_real_positions() -> None:
    encoded = make_encoded()
    found = mean_output(encoded)
    for row, length in enumerate(LENGTHS):
        assert_equal([found[row]], [encoded.outputs[row, :length].mean(0)])


@pytest.mark.parametrize("summary", [final_output, mean_output])
def test_a_source_without_a_real_entry_is_finite(summary: Callable[[Encoded], Tensor]) -> None:
    outputs = torch.randn(2, 3, WIDTH).requires_grad_()
    found = summary(Encoded(outputs, right_padded([0, 2], 3), None))
    (gradient,) = torch.autograd.grad(found.sum(), [outputs])
    assert torch.isfinite(found).all()
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("kind", make_readers())
def test_a_reader_widens_by_what_it_says(kind: str) -> None:
    reader, encoded = make_readers()[kind], make_encoded()
    memory = reader.prepare(encoded)
    x = torch.randn(3, 2, WIDTH, dtype=torch.float64)
    before = reader.before(x, memory)
    assert before.shape == (3, 2, WIDTH + reader.input_growth)
    assert torch.equal(before[..., :WIDTH], x)
    assert (reader.input_growth > 0) == (kind != "never")


def test_a_summary_is_the_same_at_every_step() -> None:
    reader, encoded = ReadsSummary(WIDTH, mean_output), make_encoded()
    read = reader.before(torch.zeros(3, 4, 2, dtype=torch.float64), reader.prepare(encoded))[..., 2:]
    for step in range(4):
        assert torch.equal(read[:, step], mean_output(encoded))


@pytest.mark.parametrize("kind", make_readers())
def test_a_row_reads_its_own_source(kind: str) -> None:
    reader, encoded = make_readers()[kind], make_encoded()
    h = torch.randn(3, 2, WIDTH, dtype=torch.float64)
    memory = reader.prepare(encoded)
    for row in range(3):
        one = torch.tensor([row])
        alone = select(encoded, one)._replace(final=None)
        trimmed = Encoded(alone.outputs[:, : LENGTHS[row]], alone.is_real[:, : LENGTHS[row]], None)
        assert_equal([reader.before(h, memory)[one]], [reader.before(h[one], reader.prepare(trimmed))])
