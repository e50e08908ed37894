"""Files are read only if regular and written whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seqline import files
from seqline.errors import UserError

CALLS = ["open", "write", "fsync", "replace", "rename"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class Stop(BaseException):
    """Stands for a kill: nothing of the program may count on catching it."""


def fail_at(monkeypatch: pytest.MonkeyPatch, count: int, error: BaseException, is_dead: bool) -> list[str]:
    """Let the call number `count` of the file layer fail; a dead process does nothing afterwards either."""
    done: list[str] = []

    def wrap(name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*arguments: Any, **options: Any) -> Any:
            done.append(name)
            if len(done) == count or (is_dead and len(done) > count):
                raise error
            return real(*arguments, **options)

        return call

    for name in [*CALLS, *(["unlink", "rmdir"] if is_dead else [])]:
        monkeypatch.setattr(os, name, wrap(name))
    return done


def test_outputs_over_inputs_are_refused(tmp_path: Path) -> None:
    folder, file = tmp_path / "run", tmp_path / "a.csv"
    folder.mkdir()
    file.write_text("a")
    (tmp_path / "link.csv").symlink_to(file)
    inside = folder / "x.csv", folder / "deep" / "x.csv", folder
    for taken in (file, tmp_path / "link.csv", folder / ".." / "a.csv", *inside):
        with pytest.raises(UserError, match="would be written over what is read"):
            files.refuse_inputs(taken, folder, str(file), "a sentence", "x" * 5000, "-")
    files.refuse_inputs(tmp_path / "b.csv", folder, file, "a sentence\0")
    files.refuse_inputs(tmp_path / "runs.csv", folder)


def test_read_gives_the_bytes_written(tmp_path: Path) -> None:
    data = bytes(range(256)) * 5
    files.write_bytes(tmp_path / "new" / "a", data)
    assert files.read_bytes(tmp_path / "new" / "a") == data
    assert names(tmp_path / "new") == ["a"]
    assert files.sha256(data) == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("kind", ["missing", "folder", "fifo", "device", "dangling", "loop", "nul", "below a file"])
def test_unreadable_paths_are_refused_with_their_name(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "it"
    wanted = {"missing": "no such file", "folder": "a folder", "fifo": "a pipe", "device": "a device"}
    wanted |= {
        "dangling": "broken link",
        "loop": "cannot be read",
        "nul": "cannot be read",
        "below a file": "cannot be",
    }
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path = Path("/dev/zero")
    elif kind == "dangling":
        path.symlink_to(tmp_path / "nothing")
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "nul":
        path = tmp_path / "a\0b"
    elif kind == "below a file":
        (tmp_path / "file").write_bytes(b"")
        path = tmp_path / "file" / "it"
    with pytest.raises(UserError, match=wanted[kind]) as caught:
        files.read_bytes(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_links_to_regular_files_are_read_and_kept_when_written(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    assert files.read_bytes(tmp_path / "link") == b"old"
    files.write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


@pytest.mark.parametrize("kind", ["folder", "fifo", "device"])
@pytest.mark.parametrize(
    "write", [lambda path: files.write_bytes(path, b"x"), lambda path: files.append_line(path, "x")]
)
def test_only_regular_files_are_written(tmp_path: Path, kind: str, write: Callable[[Path], None]) -> None:
    path = tmp_path / "it"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path = Path("/dev/full")
    with pytest.raises(UserError, match="expected a file"):
        write(path)
    assert os.path.lexists(path)


@pytest.mark.parametrize("is_dead", [False, True])
def test_every_crash_point_of_a_write_leaves_the_old_or_the_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_dead: bool
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with monkeypatch.context() as patch:
        done = fail_at(patch, 10**6, Stop(), False)
        files.write_bytes(path, b"old")
    calls = len(done)
    assert done == ["open", "write", "fsync", "replace", "open", "fsync"]
    for count in range(1, calls + 1):
        with monkeypatch.context() as patch:
            fail_at(patch, count, Stop(), is_dead)
            with pytest.raises(Stop):
                files.write_bytes(path, b"new")
        assert path.read_bytes() == (b"new" if count > 4 else b"old")
        path.write_bytes(b"old")
        if not is_dead:
            assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG])
def test_a_full_or_broken_disk_is_named_with_bytes_needed_and_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    for count in range(1, 5):
        with monkeypatch.context() as patch:
            fail_at(patch, count, OSError(code, os.strerror(code)), False)
            with pytest.raises(UserError) as caught:
                files.write_bytes(path, b"new " * 1000)
        assert str(caught.value).startswith(f"{path}: cannot be written: {os.strerror(code)}; ")
        assert ("4,000 bytes were to be written" in str(caught.value)) == (code != errno.EIO)
        assert ("bytes are free" in str(caught.value)) == (code != errno.EIO)
        assert path.read_bytes() == b"old"
        assert names(tmp_path) == ["a"]


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:7]))
    files.write_bytes(tmp_path / "a", b"0123456789" * 3)
    assert (tmp_path / "a").read_bytes() == b"0123456789" * 3


def test_json_keeps_order_and_characters_and_refuses_nan(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    files.write_json(path, {"z": "é\u2028", "a": [1, 2.5]})
    assert path.read_bytes() == '{\n  "z": "é\u2028",\n  "a": [\n    1,\n    2.5\n  ]\n}\n'.encode()
    assert list(json.loads(path.read_bytes())) == ["z", "a"]
    with pytest.raises(ValueError, match="JSON compliant"):
        files.write_json(path, float("nan"))
    assert list(json.loads(path.read_bytes())) == ["z", "a"]


def test_lines_are_appended_and_a_torn_line_is_ended_first(tmp_path: Path) -> None:
    path = tmp_path / "new" / "log"
    files.append_line(path, "één")
    files.append_line(path, "two")
    assert path.read_bytes() == "één\ntwo\n".encode()
    with open(path, "ab") as file:
        file.write(b'{"torn')
    files.append_line(path, "three")
    assert path.read_bytes() == 'één\ntwo\n{"torn\nthree\n'.encode()
    with pytest.raises(ValueError, match="one line"):
        files.append_line(path, "a\nb")


def test_a_new_folder_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "one"
    with files.new_folder(path) as folder:
        assert folder == tmp_path / "runs" / "one.tmp"
        files.write_text(folder / "in" / "a", "x")
        assert not path.exists()
    assert (path / "in" / "a").read_bytes() == b"x"
    assert names(tmp_path / "runs") == ["one"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, UserError])
def test_a_failed_new_folder_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def fill() -> None:
        with files.new_folder(tmp_path / "x" / "y" / "run") as folder:
            files.write_text(folder / "a", "x")
            raise error("no")

    with pytest.raises(error):
        fill()
    assert names(tmp_path) == []


def test_a_failed_new_folder_keeps_parents_that_were_there(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with pytest.raises(ValueError, match="no"), files.new_folder(tmp_path / "runs" / "one"):
        raise ValueError("no")
    assert names(tmp_path) == ["runs"]


def test_a_new_folder_replaces_a_stale_one_but_never_a_finished_one(tmp_path: Path) -> None:
    (tmp_path / "run.tmp" / "old").mkdir(parents=True)
    with files.new_folder(tmp_path / "run") as folder:
        assert names(folder) == []
    with pytest.raises(UserError, match="exists already"), files.new_folder(tmp_path / "run"):
        pytest.fail("the body must not run")
    assert names(tmp_path) == ["run"]


def test_every_crash_point_of_a_new_folder_leaves_it_whole_or_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill() -> None:
        with files.new_folder(tmp_path / "run") as folder:
            for name in ("a", "b"):
                files.write_bytes(folder / name, b"whole")

    with monkeypatch.context() as patch:
        done = fail_at(patch, 10**6, Stop(), False)
        fill()
        calls = len(done)
    assert calls > 15
    for count in range(1, calls + 1):
        files.remove_folder(tmp_path / "run")
        with monkeypatch.context() as patch:
            fail_at(patch, count, Stop(), True)
            with pytest.raises(Stop):
                fill()
        if (tmp_path / "run").exists():
            assert {name: (tmp_path / "run" / name).read_bytes() for name in names(tmp_path / "run")} == {
                "a": b"whole",
                "b": b"whole",
            }
    files.remove_folder(tmp_path / "run")
    fill()  # whatever the last crash left behind does not stand in the way
    assert names(tmp_path / "run") == ["a", "b"]


def test_one_command_at_a_time_works_in_a_folder(tmp_path: Path) -> None:
    with files.alone_in(tmp_path):
        with pytest.raises(UserError, match="another seqline works in it; wait for it"), files.alone_in(tmp_path):
            pass
        with pytest.raises(UserError, match="another seqline"), files.alone_in(tmp_path):
            pass
    with files.alone_in(tmp_path):
        pass


def test_a_lock_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    held = f"with files.alone_in({str(tmp_path)!r}): print('in', flush=True); time.sleep(60)"
    code = f"import time\nfrom seqline import files\n{held}"
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert other.stdout is not None
    assert other.stdout.readline() == b"in\n"
    with pytest.raises(UserError, match="another seqline"), files.alone_in(tmp_path):
        pass
    other.kill()
    other.communicate()
    with files.alone_in(tmp_path):
        pass


def test_a_log_begins_empty(tmp_path: Path) -> None:
    for words in (b"one\n", b"two\n"):
        with files.new_log(tmp_path / "logs" / "a.log") as log:
            log.write(words)
    assert files.read_bytes(tmp_path / "logs" / "a.log") == b"two\n"


def test_a_removed_folder_loses_its_name_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "step-1"
    (path / "in").mkdir(parents=True)
    (path / "in" / "a").write_bytes(b"x")
    with monkeypatch.context() as patch:
        patch.setattr(files.shutil, "rmtree", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "broken")))
        with pytest.raises(UserError, match="broken"):
            files.remove_folder(path)
    assert names(tmp_path) == ["step-1.tmp"]
    path.mkdir()
    files.remove_folder(path)
    assert names(tmp_path) == []
    files.remove_folder(path)


def test_removing_a_link_keeps_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a").write_bytes(b"x")
    (tmp_path / "link").symlink_to("real")
    files.remove_folder(tmp_path / "link")
    assert names(tmp_path) == ["real"]
    assert names(tmp_path / "real") == ["a"]
