"""A stream cut into windows: each id once an epoch, lanes that go on where they ended, and plans that are pure."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from seqline.data.stream import Span, Windows, consecutive, lanes, overlapping

lengths, contexts, rows = st.integers(1, 30), st.integers(1, 9), st.integers(1, 7)
windows = st.builds(Windows, lengths, contexts, st.integers(0, 2**63 - 1))
epochs = st.integers(0, 5)


def covered(spans: list[Span]) -> list[int]:
    return [i for span in spans for i in range(*span)]


@given(windows, epochs, rows)
def test_each_id_is_in_one_window_of_an_epoch(cut: Windows, epoch: int, rows: int) -> None:
    for plan in (cut.plan_shuffled(epoch, rows), cut.plan_carried(epoch, rows)):
        spans = [cut.span(index) for batch in plan for index in batch]
        assert sorted(covered(spans)) == list(range(cut.num_ids))
        assert all(0 < span.end - span.start <= cut.context for span in spans)
        assert len(spans) == cut.count(epoch)
        assert all(0 < len(batch) <= rows for batch in plan)


@given(windows, epochs, rows)
def test_only_the_first_and_the_last_window_are_short(cut: Windows, epoch: int, rows: int) -> None:
    spans = sorted(cut.span(index) for batch in cut.plan_shuffled(epoch, rows) for index in batch)
    assert all(span.end - span.start == cut.context for span in spans[1:-1])


@given(windows, epochs, rows)
def test_a_lane_goes_on_where_it_ended(cut: Windows, epoch: int, rows: int) -> None:
    plan = [[cut.span(index) for index in batch] for batch in cut.plan_carried(epoch, rows)]
    for before, after in pairwise(plan):
        assert len(after) <= len(before)  # a lane leaves from behind
        assert all(first.end == second.start for first, second in zip(before, after, strict=False))
    assert plan[0][0].start == 0


@given(windows, epochs, rows)
def test_the_first_batch_alone_begins_a_stream(cut: Windows, epoch: int, rows: int) -> None:
    plan = cut.plan_carried(epoch, rows)
    assert [cut.is_first(batch[0]) for batch in plan] == [True] + [False] * (len(plan) - 1)


@given(windows, rows)
def test_indices_say_all(cut: Windows, rows: int) -> None:
    twin = Windows(*cut)
    seen: dict[int, int] = {}
    for epoch in range(2):
        shuffled, carried = cut.plan_shuffled(epoch, rows), cut.plan_carried(epoch, rows)
        assert (shuffled, carried) == (twin.plan_shuffled(epoch, rows), twin.plan_carried(epoch, rows))
        indices = {index for batch in carried for index in batch}
        assert indices == {index for batch in shuffled for index in batch}
        assert all(seen.setdefault(index, epoch) == epoch for index in indices)  # no two epochs share an index
        assert all(cut.span(index) == twin.span(index) for index in indices)


def test_epochs_are_cut_and_ordered_anew() -> None:
    cut = Windows(1000, 40, 3)
    firsts = {cut.span(cut.plan_carried(epoch, 4)[0][0]) for epoch in range(8)}
    assert len(firsts) > 4
    starts = [[cut.span(i).start for batch in cut.plan_shuffled(epoch, 4) for i in batch] for epoch in range(2)]
    assert starts[0] != starts[1]
    assert starts[0] != sorted(starts[0])
    assert Windows(1000, 40, 4).plan_shuffled(0, 4) != cut.plan_shuffled(0, 4)


def test_the_order_of_the_windows_changes_too() -> None:
    cut = Windows(1000, 40, 3)
    orders = []
    for epoch in range(2):
        plan = [index for batch in cut.plan_shuffled(epoch, 4) for index in batch]
        orders.append([index - min(plan) for index in plan])
    assert [sorted(order) for order in orders] == [list(range(len(order))) for order in orders]
    same = sum(first == second for first, second in zip(*orders, strict=False))
    assert same < len(orders[0]) / 4


def test_the_plan_of_a_seed_is_the_same_for_ever() -> None:
    assert Windows(10, 4, 1).plan_shuffled(0, 2) == [[2, 1], [0, 3]]
    assert [Windows(10, 4, 1).span(i) for i in range(4)] == [(0, 1), (1, 5), (5, 9), (9, 10)]


@given(lengths, contexts)
def test_overlapping_windows_predict_each_id_once_from_half_a_window(num_ids: int, context: int) -> None:
    predicted = []
    for span, num_read in overlapping(num_ids, context):
        assert 0 < span.end - span.start <= context
        assert span.start == 0 or num_read >= context // 2
        predicted += range(span.start + num_read, span.end)
    assert predicted == list(range(num_ids))


@given(lengths, contexts)
def test_windows_side_by_side(num_ids: int, context: int) -> None:
    spans = consecutive(num_ids, context)
    assert covered(spans) == list(range(num_ids))
    assert all(span.end - span.start == context for span in spans[:-1])


@given(lengths, rows)
def test_lanes_cover_a_stream_in_nearly_equal_pieces(num_ids: int, count: int) -> None:
    spans = list(lanes(num_ids, count))
    sizes = [span.end - span.start for span in spans]
    assert covered(spans) == list(range(num_ids))
    assert len(spans) == min(count, num_ids)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] - sizes[-1] <= 1
