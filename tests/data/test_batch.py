from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.batch import Classed, Example, Tagged, collate, collate_classed, collate_tagged, source_batch

EXAMPLES = [Example([7, 3], [5, 6, 7]), Example([8, 0, 9, 3], []), Example([3], [4]), Example([6, 3], [0, 0])]


def test_rows_are_padded_on_the_right() -> None:
    batch = collate(EXAMPLES, [1, 0, 2])
    assert batch.rows == [1, 0, 2]
    assert batch.source.tolist() == [[8, 0, 9, 3], [7, 3, 0, 0], [3, 0, 0, 0]]
    assert batch.source_is_real.tolist() == [[True] * 4, [True, True, False, False], [True, False, False, False]]
    assert batch.target_in.tolist() == [[2, 0, 0, 0], [2, 5, 6, 7], [2, 4, 0, 0]]
    assert batch.target_out.tolist() == [[3, 0, 0, 0], [5, 6, 7, 3], [4, 3, 0, 0]]
    assert batch.target_is_real.tolist() == [[True, False, False, False], [True] * 4, [True, True, False, False]]
    assert batch.num_target_tokens == 1 + 4 + 2


def test_id_zero_inside_a_sequence_is_a_token() -> None:
    batch = collate(EXAMPLES, [3, 0])
    assert batch.target_is_real.tolist() == [[True, True, True, False], [True] * 4]
    assert batch.num_target_tokens == 3 + 4


def test_types() -> None:
    batch = collate(EXAMPLES, range(4))
    for ids in (batch.source, batch.target_in, batch.target_out):
        assert ids.dtype == torch.int64
    for is_real in (batch.source_is_real, batch.target_is_real):
        assert is_real.dtype == torch.bool
    assert batch.rows == [0, 1, 2, 3]


IDS = st.lists(st.integers(0, 10), max_size=9)


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=6), st.randoms())
def test_each_row_holds_its_example(pairs: list[tuple[list[int], list[int]]], random: Random) -> None:
    examples = [Example([*source, 3], target) for source, target in pairs]
    rows = random.sample(range(len(examples)), len(examples))
    batch = collate(examples, rows)
    for b, row in enumerate(rows):
        source, target = examples[row]
        assert batch.source[b][batch.source_is_real[b]].tolist() == source
        assert batch.target_in[b][batch.target_is_real[b]].tolist() == [2, *target]
        assert batch.target_out[b][batch.target_is_real[b]].tolist() == [*target, 3]
        assert not batch.source[b][~batch.source_is_real[b]].any()
        assert not batch.target_out[b][~batch.target_is_real[b]].any()
    assert batch.source_is_real.any(dim=0).all()  # no column of padding alone
    assert batch.target_is_real.any(dim=0).all()


def test_source_batch_is_the_source_side_of_collate() -> None:
    source, is_real = source_batch([example.source for example in EXAMPLES], [2, 1])
    batch = collate(EXAMPLES, [2, 1])
    assert torch.equal(source, batch.source)
    assert torch.equal(is_real, batch.source_is_real)


def test_empty_source_has_no_real_token() -> None:
    source, is_real = source_batch([[], [5, 3]], [0, 1])
    assert source.tolist() == [[0, 0], [5, 3]]
    assert is_real.tolist() == [[False, False], [True, True]]
    assert source_batch([[]], [0])[0].shape == (1, 0)


def test_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one row"):
        collate(EXAMPLES, [])
    with pytest.raises(ValueError, match="at least one row"):
        source_batch([], [])


def test_every_tensor_moves_to_the_device() -> None:
    batch = collate(EXAMPLES, [0, 1])
    moved = batch.to("meta")
    for before, after in zip(batch[:5], moved[:5], strict=True):
        assert after.device.type == "meta"
        assert (after.shape, after.dtype) == (before.shape, before.dtype)
    assert moved.rows == [0, 1]
    assert torch.equal(batch.to("cpu").source, batch.source)


TAGGED = [Tagged([7, 8], [1, 0]), Tagged([9, 0, 5], [2, -1, 0]), Tagged([6], [1])]


def test_tags_stand_under_their_tokens() -> None:
    batch = collate_tagged(TAGGED, [2, 1, 0])
    assert batch.rows == [2, 1, 0]
    assert batch.source.tolist() == [[6, 0, 0], [9, 0, 5], [7, 8, 0]]
    assert batch.source_is_real.tolist() == [[True, False, False], [True] * 3, [True, True, False]]
    assert batch.labels.tolist() == [[1, -1, -1], [2, -1, 0], [1, 0, -1]]
    assert batch.has_label.tolist() == [[True, False, False], [True, False, True], [True, True, False]]


def test_a_class_stands_beside_its_text() -> None:
    batch = collate_classed([Classed([7, 3], 2), Classed([8, 9, 3], -1)], [1, 0])
    assert batch.source.tolist() == [[8, 9, 3], [7, 3, 0]]
    assert batch.source_is_real.tolist() == [[True] * 3, [True, True, False]]
    assert batch.labels.tolist() == [-1, 2]
    assert batch.has_label.tolist() == [False, True]
    assert batch.rows == [1, 0]


def test_labelled_batches_move_to_the_device() -> None:
    for batch in (collate_tagged(TAGGED, [0, 1]), collate_classed([Classed([7, 3], 2)], [0])):
        moved = batch.to("meta")
        for before, after in zip(batch[:3], moved[:3], strict=True):
            assert after.device.type == "meta"
            assert (after.shape, after.dtype) == (before.shape, before.dtype)
        assert moved.rows == batch.rows


def test_labelled_batches_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="example 1 has not as many labels as tokens"):
        collate_tagged([Tagged([7], [1]), Tagged([7, 8], [1])], [0, 1])
    with pytest.raises(ValueError, match="at least one row"):
        collate_tagged(TAGGED, [])
    with pytest.raises(ValueError, match="at least one row"):
        collate_classed([], [])
