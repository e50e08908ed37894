"""Recording: who gets the frames, and that they are copies."""

from __future__ import annotations

from threading import Thread

import pytest
import torch

from seqline.watch import Frame, is_watched, show, watch


def test_nobody_watches_by_default() -> None:
    show("cell", h=torch.ones(1))
    assert not is_watched()
    with watch() as frames:
        pass
    assert frames == []


def test_frames_come_in_the_order_of_showing() -> None:
    with watch() as frames:
        assert is_watched()
        for number in range(3):
            show(f"part {number}", first=torch.tensor([number]), second=torch.tensor([-number]))
    assert [frame.part for frame in frames] == ["part 0", "part 1", "part 2"]
    assert isinstance(frames[2], Frame)
    assert {name: value.tolist() for name, value in frames[2].values.items()} == {"first": [2], "second": [-2]}
    assert list(frames[2].values) == ["first", "second"]


def test_nothing_is_added_behind_the_block() -> None:
    with watch() as frames:
        show("inside", h=torch.ones(1))
    show("behind", h=torch.ones(1))
    assert [frame.part for frame in frames] == ["inside"]
    assert not is_watched()


def test_an_error_ends_the_watch() -> None:
    with pytest.raises(KeyError), watch():
        raise KeyError
    assert not is_watched()


def test_frames_hold_detached_copies() -> None:
    h = torch.ones(2, requires_grad=True)
    shown = h * 2
    with watch() as frames:
        show("cell", h=shown)
    with torch.no_grad():
        shown.zero_()
    assert frames[0].values["h"].tolist() == [2.0, 2.0]
    assert not frames[0].values["h"].requires_grad


def test_after_an_inner_watch_the_outer_goes_on() -> None:
    with watch() as outer:
        show("before", h=torch.ones(1))
        with watch() as inner:
            show("inside", h=torch.ones(1))
        show("behind", h=torch.ones(1))
    assert "inside" in [frame.part for frame in inner]
    assert [frame.part for frame in outer if frame.part != "inside"] == ["before", "behind"]


def test_another_thread_is_not_watched() -> None:
    seen: list[bool] = []

    def run() -> None:
        seen.append(is_watched())
        show("elsewhere", h=torch.ones(1))

    with watch() as frames:
        thread = Thread(target=run)
        thread.start()
        thread.join()
    assert seen == [False]
    assert frames == []
