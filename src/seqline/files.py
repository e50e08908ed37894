"""Reading whole files and writing them safely: the only place that opens files for writing.

A file or a folder is complete or absent. Bytes go under a temporary name in the same folder, are synced to the disk and
only then renamed, so that a kill, a full disk or a power cut leaves what was there before.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from filelock import FileLock, Timeout

from seqline.errors import UserError

PathLike: TypeAlias = str | os.PathLike[str]

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe (FIFO)",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_regular(path: PathLike) -> BinaryIO:
    """Open an existing regular file for reading bytes; never waits on a pipe and never touches a device.

    Raises:
        UserError: the file is missing, unreadable, a broken link, a folder, a pipe, a device or a socket.
    """
    try:
        _refuse_special(path, os.stat(path).st_mode)
        # Non-blocking: should a pipe take the file's place since the line above, opening it must not hang.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        file = os.fdopen(descriptor, "rb")
        try:
            _refuse_special(path, os.fstat(descriptor).st_mode)
        except UserError:
            file.close()
            raise
    except (OSError, ValueError) as error:
        raise UserError(_reading_fault(path, error), where=str(path)) from error
    return file


def read_bytes(path: PathLike) -> bytes:
    """Return the content of a regular file.

    Raises:
        UserError: see `open_regular`; also when reading fails half way.
    """
    with open_regular(path) as file:
        try:
            return file.read()
        except OSError as error:
            raise UserError(_reading_fault(path, error), where=str(path)) from error


def write_bytes(path: PathLike, data: bytes) -> None:
    """Write a file so that `path` holds either the old or the new content, whatever happens; missing folders are made.

    A link is followed: the file that it points to is replaced, the link stays.

    Raises:
        UserError: the disk is full, the folder cannot be written, or `path` is not a regular file.
    """
    with _writing(path, len(data)):
        target = _destination(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{os.getpid()}-{secrets.token_hex(4)}.tmp")
        try:
            _write_new(temporary, data)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        _sync_folder(target.parent)


def write_text(path: PathLike, text: str) -> None:
    """Write text as UTF-8, see `write_bytes`; line ends stay as they are."""
    write_bytes(path, text.encode("utf-8"))


def write_json(path: PathLike, value: Any) -> None:
    """Write JSON in the order given, two blanks of indent; NaN and infinity are a ValueError, for they are no JSON."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def append_line(path: PathLike, line: str) -> None:
    """Add one line to a log file and flush it; a half line left by a killed process is ended first.

    Raises:
        ValueError: `line` holds a line end.
        UserError: the file cannot be written.
    """
    if "\n" in line:
        raise ValueError("append_line takes one line without its end")
    data = line.encode("utf-8") + b"\n"
    with _writing(path, len(data)):
        target = _destination(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "ab+") as file:
            if file.seek(0, os.SEEK_END) > 0:
                file.seek(-1, os.SEEK_END)
                data = data if file.read(1) == b"\n" else b"\n" + data
            file.write(data)
            file.flush()


def sha256(data: bytes) -> str:
    """Return the SHA-256 of bytes as 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def refuse_taken(path: PathLike, fix: str = "name another folder or remove this one") -> None:
    """Refuse, before any work, a folder that exists already or that could not be made.

    Raises:
        UserError: as `new_folder` would raise after the work.
    """
    with _writing(path):
        if os.path.lexists(path):
            raise UserError("exists already", where=str(path), fix=fix)
        parent = _existing_parent(Path(path))
        if not parent.is_dir():
            raise UserError(f"cannot be made: {parent} is no folder", where=str(path), fix="choose another place")
        if not os.access(parent, os.W_OK | os.X_OK) or len(os.fsencode(Path(path).name)) > 250:
            raise UserError("cannot be made here", where=str(path), fix="choose another place or a shorter name")


def refuse_inputs(path: PathLike, *inputs: PathLike) -> None:
    """Refuse to write over what is read: one of the inputs, or a file in one that is a folder, such as a run.

    Raises:
        UserError: it would be.
    """
    target = os.path.realpath(path)
    for one in inputs:
        with suppress(OSError, ValueError):  # a text that no file could be named by
            source = os.path.realpath(os.fspath(one))
            if target == source or (os.path.isdir(source) and Path(source) in Path(target).parents):
                raise UserError("would be written over what is read", where=str(path), fix="name another file")


@contextmanager
def new_folder(path: PathLike) -> Iterator[Path]:
    """Make a folder that is complete or absent: fill the yielded `path` + ".tmp"; on a clean exit it gets its name.

    A stale `.tmp` of a killed process is replaced. On any exception the temporary folder is removed, and so are the
    parents that were made for it.

    Raises:
        UserError: `path` exists already, or the disk refuses.
    """
    folder = Path(os.path.abspath(path))  # so that "." and "runs/../x" have a name of their own
    temporary = folder.with_name(folder.name + ".tmp")
    made: list[Path] = []
    with _writing(path):
        if os.path.lexists(folder):
            raise UserError("exists already", where=str(path), fix="name another folder or remove this one")
        made = [parent for parent in folder.parents if not parent.exists()]
        _remove_tree(temporary)
        temporary.mkdir(parents=True)
    try:
        yield temporary
        with _writing(path):
            _sync_tree(temporary)
            os.rename(temporary, folder)
            _sync_folder(folder.parent)
    except BaseException:
        with suppress(OSError):
            _remove_tree(temporary)
            for parent in made:
                parent.rmdir()
        raise


@contextmanager
def alone_in(folder: PathLike) -> Iterator[None]:
    """Keep a second command out of a folder while one works in it. The lock ends with its process, however that ends.

    Raises:
        UserError: another one works there, or the folder cannot be written.
    """
    lock = FileLock(Path(folder) / ".lock", timeout=0)
    with _writing(folder):
        try:
            lock.acquire()
        except Timeout as error:
            fix = "wait for it, or name another"
            raise UserError("another seqline works in it", where=str(folder), fix=fix) from error
    try:
        yield
    finally:
        lock.release()


def new_log(path: PathLike) -> BinaryIO:
    """Return a file for another process to write its words into; an older one of this name is emptied.

    Raises:
        UserError: the file cannot be written.
    """
    with _writing(path):
        target = _destination(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        return open(target, "wb")


def remove_folder(path: PathLike) -> None:
    """Remove a folder and all in it; a missing one is no error. It loses its name first, so no half of it is ever seen.

    Raises:
        UserError: the disk refuses.
    """
    folder = Path(os.path.abspath(path))
    with _writing(path):
        if not os.path.lexists(folder):
            return
        doomed = folder.with_name(folder.name + ".tmp")
        _remove_tree(doomed)
        os.rename(folder, doomed)
        _remove_tree(doomed)


@contextmanager
def _writing(path: PathLike, needed: int = 0) -> Iterator[None]:
    """Turn an OSError into a UserError that names the path and, on a full disk, the bytes needed and free."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        fix = "choose another place"
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            fix = f"{needed:,} bytes were to be written; " if needed else ""
            with suppress(OSError):
                fix += f"{shutil.disk_usage(_existing_parent(Path(path))).free:,} bytes are free; "
            fix += "make room or choose another place"
        raise UserError(f"cannot be written: {reason}", where=str(path), fix=fix) from error


def _existing_parent(path: Path) -> Path:
    return next((parent for parent in path.absolute().parents if parent.exists()), Path("/"))


def _destination(path: PathLike) -> Path:
    """Follow links, so that a write replaces the file and not the link; refuse what is no regular file."""
    target = Path(os.path.realpath(path))
    with suppress(FileNotFoundError):
        _refuse_special(path, os.lstat(target).st_mode)
    return target


def _refuse_special(path: PathLike, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "no regular file")
        raise UserError(f"expected a file, this is {kind}", where=str(path), fix="name a regular file")


def _reading_fault(path: PathLike, error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "is a broken link" if os.path.islink(path) else "no such file"
    if isinstance(error, PermissionError):
        return "cannot be read: permission denied"
    return f"cannot be read: {getattr(error, 'strerror', None) or error}"


def _write_new(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o666)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # Windows cannot open a folder; its renames are journalled
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_tree(folder: Path) -> None:
    for root, _, names in os.walk(folder):
        for name in names:
            descriptor = os.open(Path(root) / name, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        _sync_folder(Path(root))


def _remove_tree(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
