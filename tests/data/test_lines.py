r"""Only `\n` ends a line, and bytes that are no text are refused with their place."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import tempfile
import tracemalloc
import zlib
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.data import lines
from seqline.data.lines import MAX_LINE_BYTES, RATIO_FREE_BYTES, read_lines
from seqline.errors import UserError

ODD_ENDS = ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\r"]

awkward = st.lists(
    st.sampled_from(
        [
            b"\n",
            b"\r",
            b"\r\n",
            b"\t",
            b"a",
            b" ",
            b"\xc3\xa9",
            b"\xef\xbb\xbf",
            b"\xff",
            b"\xc3",
            b"\0",
            b"\xed\xa0\x80",
        ]
        + [end.encode() for end in ODD_ENDS]
    ),
    max_size=20,
).map(b"".join)


def read(data: bytes, name: str = "a.txt") -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        return read_lines(str(path))


def refusal(data: bytes) -> str:
    with pytest.raises(UserError) as caught:
        read(data)
    message = str(caught.value)
    assert "\n" not in message
    return message[message.index("a.txt") :]


def plain_definition(data: bytes) -> list[str] | None:
    """Say what the lines are in the plainest way; None: to be refused."""
    pieces = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if pieces[-1] == b"":
        pieces.pop()
    try:
        texts = [piece.decode("utf-8") for piece in pieces]
    except UnicodeDecodeError:
        return None
    if any("\0" in text for text in texts):
        return None
    return [text[:-1] if text.endswith("\r") else text for text in texts]


@given(awkward | st.binary(max_size=40))
def test_lines_are_what_the_plain_definition_says(data: bytes) -> None:
    try:
        found = read(data)
    except UserError as error:
        found = None if "a.txt:" in error.where else [error.where]
    assert found == (None if data.startswith(b"\x1f\x8b") else plain_definition(data))


@given(awkward, st.integers(1, 7))
def test_chunks_of_any_size_give_the_same_lines(data: bytes, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_CHUNK_BYTES", 3 + size)
        for form in (data, gzip.compress(data)):
            try:
                found = read(form)
            except UserError:
                found = None
            assert found == plain_definition(data)


def test_characters_that_other_readers_take_for_line_ends_stay() -> None:
    data = b"\xef\xbb\xbfa\xe2\x80\xa8b\r\nc\xc2\x85d\r\ne\x0cf\r\ng\rh\r\ni\x0bj\x1ck\r\nl m"
    assert read(data) == ["a\u2028b", "c\u0085d", "e\x0cf", "g\rh", "i\x0bj\x1ck", "l m"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"\xef\xbb\xbf", []),
        (b"\n", [""]),
        (b"\n\n", ["", ""]),
        (b"a\r\n", ["a"]),
        (b"a\r\r\n", ["a\r"]),
        (b"a\r", ["a"]),
        (b"a\xef\xbb\xbfb\n\xef\xbb\xbfc", ["a\ufeffb", "\ufeffc"]),
        (b"a b\n\nc\n \t\nd e", ["a b", "", "c", " \t", "d e"]),
        ("A\u030a Å \u202eabc\u200d👩\u200d🚀".encode(), ["A\u030a Å \u202eabc\u200d👩\u200d🚀"]),
    ],
)
def test_single_cases(data: bytes, expected: list[str]) -> None:
    assert read(data) == expected
    assert read(gzip.compress(data)) == expected


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\nb\xff\n", "a.txt:2: not UTF-8: byte 0xff at offset 3;"),
        (b"\xef\xbb\xbfa\n\xc0\xaf\n", "a.txt:2: not UTF-8: byte 0xc0 at offset 5;"),
        (b"\xed\xa0\x80", "a.txt:1: not UTF-8: byte 0xed at offset 0;"),
        (b"ok\n\xc3", "a.txt:2: not UTF-8: byte 0xc3 at offset 3;"),
        ("abc".encode("utf-16"), "a.txt:1: not UTF-8: byte 0xff at offset 0; it looks like UTF-16"),
        (b"a\n\nb\0c\n", "a.txt:3: NUL character at offset 4;"),
        (b"a\0\n\xff", "a.txt:1: NUL character at offset 1;"),
        (b"\xff\n\0", "a.txt:1: not UTF-8"),
        (b"a\n" + b"b" * (MAX_LINE_BYTES + 1), "a.txt:2: line longer than 65,536 bytes"),
        (b"b" * (MAX_LINE_BYTES + 1) + b"\na\n", "a.txt:1: line longer than 65,536 bytes"),
    ],
)
def test_refused_bytes_are_named_with_line_and_offset(data: bytes, message: str) -> None:
    assert refusal(data).startswith(message)
    assert refusal(gzip.compress(data)).startswith(message)


def test_the_place_is_right_far_into_a_file() -> None:
    start = b"0123456789\r\n" * 200_000
    message = refusal(start + b"x\xffy\n")
    assert message.startswith("a.txt:200001: not UTF-8: byte 0xff at offset 2,400,001;")
    assert read(start) == ["0123456789"] * 200_000


def test_the_longest_line_is_read() -> None:
    assert read(b"a" * MAX_LINE_BYTES + b"\nb") == ["a" * MAX_LINE_BYTES, "b"]


def test_a_giant_line_is_refused_without_reading_it_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with open(path, "wb") as file:
        file.write(b"a" * 10)
        file.seek(10**9)  # a hole: the file system stores nothing
        file.write(b"a")
    tracemalloc.start()
    with pytest.raises(UserError, match="line longer"):
        read_lines(str(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def test_a_gzip_bomb_is_refused_and_never_held() -> None:
    compress = zlib.compressobj(9, wbits=31)
    block = (b"a" * 999 + b"\n") * 1000
    data = b"".join(compress.compress(block) for _ in range(100)) + compress.flush()
    assert len(data) * 200 < 100 * len(block)
    tracemalloc.start()
    message = refusal(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert message.startswith("a.txt: gzip grows to more than 200 times its size")
    assert peak < 2 * RATIO_FREE_BYTES


def test_small_files_may_be_compressed_as_well_as_they_can() -> None:
    data = b"ab\n" * 100_000
    assert len(gzip.compress(data)) * 200 < len(data)
    assert len(read(gzip.compress(data))) == 100_000


def test_a_file_over_its_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_FILE_BYTES", 100)
    assert len(read(b"a\n" * 50)) == 50
    assert refusal(b"a\n" * 51) == "a.txt: holds more than 100 bytes; split the file"
    assert refusal(gzip.compress(b"a\n" * 51)) == "a.txt: holds more than 100 bytes; split the file"


def test_gzip_members_are_joined() -> None:
    assert read(gzip.compress(b"a\nb") + gzip.compress(b"") + gzip.compress(b"c\n")) == ["a", "bc"]


def test_damaged_gzip_is_refused() -> None:
    whole = gzip.compress(b"".join(b"%d\n" % i for i in range(1000)))
    for cut in range(2, len(whole), 97):
        assert refusal(whole[:cut]).startswith("a.txt: damaged gzip: ")
    assert refusal(whole[:-1]).startswith("a.txt: damaged gzip: ")
    assert refusal(whole + b"garbage").startswith("a.txt: damaged gzip: ")
    assert refusal(whole[:-6] + b"\0" + whole[-5:]).startswith("a.txt: damaged gzip: ")


@pytest.mark.parametrize("kind", ["folder", "fifo", "device", "dangling", "missing"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.txt"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/zero")
    elif kind == "dangling":
        path.symlink_to("none")
    with pytest.raises(UserError) as caught:
        read_lines(str(path))
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("data", [b"", b"a", b"a\nb\r\n", b"\xef\xbb\xbfa\n"])
@pytest.mark.parametrize("is_gzip", [False, True])
def test_standard_input_is_read_like_a_file(monkeypatch: pytest.MonkeyPatch, data: bytes, is_gzip: bool) -> None:
    source = io.BytesIO(gzip.compress(data) if is_gzip else data)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=source))
    assert read_lines("-") == plain_definition(data)
    assert not source.closed


def test_standard_input_is_named_in_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a\n\xff")))
    with pytest.raises(UserError, match="standard input:2: not UTF-8"):
        read_lines("-")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(UserError, match="no standard input"):
        read_lines("-")


def test_the_locale_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "dữ liệu.txt").write_bytes("xin chào 😀\nb".encode())
    program = (
        "import sys; from seqline.data.lines import read_lines; from seqline.files import write_text;"
        "write_text('out', '|'.join(read_lines(sys.argv[1]) + read_lines('-')))"
    )
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    flags = ["-X", "warn_default_encoding", "-W", "error::EncodingWarning"]
    done = subprocess.run(
        [sys.executable, *flags, "-c", program, "dữ liệu.txt"],
        input="hello 😀\n".encode(),
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "out").read_bytes() == "xin chào 😀|b|hello 😀".encode()
