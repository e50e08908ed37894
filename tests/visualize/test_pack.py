"""Packed arrays: within the bounds of each content, the same bytes twice, and nothing allocated for a lie."""

import base64
import gzip
import zlib
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.errors import UserError
from seqline.visualize.pack import UNIT_ERROR, as_read, is_inline, largest_error, pack, to_lists, unpack

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("content", "array", "dtype", "bound"),
    [
        ("unit", RNG.random((9, 80)), "u16", UNIT_ERROR),
        ("state", RNG.normal(0, 0.3, 700).clip(-1, 1), "f16", 2.5e-4),
        ("state", RNG.normal(0, 300, 700), "f16", 4.9e-4),
        ("state", RNG.normal(0, 1e5, 700), "f32", 6e-8),
        ("exact", RNG.normal(0, 1, (30, 20)) * 1e-9, "f32", 6e-8),
        ("index", RNG.integers(0, 65536, 600), "u16", 0),
        ("index", RNG.integers(-5, 100_000, 600), "i32", 0),
        ("mask", RNG.integers(0, 2, (30, 30)), "u8", 0),
    ],
)
def test_round_trip_within_the_bound_of_its_content(content: str, array: np.ndarray, dtype: str, bound: float) -> None:
    entry = pack(array, content, "x")
    back = unpack(entry, "x")
    assert entry["dtype"] == dtype
    assert entry.get("q") == (65535 if content == "unit" else None)
    assert back.shape == array.shape
    scale = np.abs(array) if bound in (4.9e-4, 6e-8) else 1.0
    assert (np.abs(back - array) <= bound * np.maximum(scale, 1e-30) + (3e-8 if bound == 4.9e-4 else 0)).all()
    assert largest_error(array, content) <= max(bound, 1e-12)
    np.testing.assert_array_equal(as_read(array, content, "x"), back)
    assert pack(array, content, "x") == entry


def test_the_bytes_are_gzip_of_time_zero_and_of_little_end_first() -> None:
    entry = pack(np.arange(600), "index", "x")
    data = base64.b64decode(entry["data"])
    assert data[:2] == b"\x1f\x8b"
    assert data[4:8] == b"\0\0\0\0"
    assert gzip.decompress(data)[:6] == bytes([0, 0, 1, 0, 2, 0])


def test_weights_are_divided_in_double() -> None:
    back = unpack(pack(np.full((600,), 1 / 3), "unit", "x"), "x")
    assert back[0] == 21845 / 65535


def test_short_arrays_stay_lists_with_the_shortest_digits() -> None:
    assert is_inline(np.zeros(511))
    assert not is_inline(np.zeros(512))
    assert to_lists(np.float32([[0.1, 2.5]])) == [[0.1, 2.5]]
    assert to_lists(np.array([True, False])) == [1, 0]
    assert as_read(np.float32([0.1]), "state", "x")[0] == 0.1


@pytest.mark.parametrize(
    ("content", "value"),
    [("unit", 1.1), ("unit", -0.1), ("mask", 2), ("index", 2**31), ("exact", 1e39), ("state", 1e39)],
)
def test_numbers_outside_their_content_are_refused(content: str, value: float) -> None:
    with pytest.raises(UserError, match=r"attention\[0\]"):
        pack(np.full(600, value), content, "attention[0].weights")


def test_a_bomb_and_a_lie_are_refused_before_they_are_unpacked() -> None:
    bomb = base64.b64encode(zlib.compress(bytes(30_000_000), 9, 31)).decode()
    good = pack(np.zeros(600), "exact", "x")
    for entry in (
        good | {"data": bomb},
        good | {"shape": [10**9, 10**9]},
        good | {"shape": [601]},
        good | {"shape": [1] * 9},
        good | {"data": good["data"][:-8]},
        good | {"data": "?" * 40},
        good | {"data": "é"},
        good | {"data": base64.b64encode(b"no gzip").decode()},
    ):
        with pytest.raises(UserError, match=r"^here: "):
            unpack(entry, "here")


def test_not_a_number_in_a_tensor_is_refused() -> None:
    data = np.full(600, np.nan, "<f4").tobytes()
    entry = pack(np.zeros(600), "exact", "x") | {"data": base64.b64encode(gzip.compress(data)).decode()}
    with pytest.raises(UserError, match="NaN"):
        unpack(entry, "x")


@given(st.binary(max_size=60), st.integers(0, 800))
def test_damaged_data_is_one_kind_of_error(noise: bytes, place: int) -> None:
    entry = pack(RNG.normal(0, 1, 600), "state", "x")
    data = bytearray(base64.b64decode(entry["data"]))
    data[place : place + len(noise)] = noise
    with suppress(UserError):  # nothing else may be raised; a UserError is one line by its making
        assert unpack(entry | {"data": base64.b64encode(data).decode()}, "x").shape == (600,)
