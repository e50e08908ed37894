"""The server itself: its address, its warning, its end; and the command that starts it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from seqline.errors import UserError
from seqline.studio.address import bind
from seqline.studio.guard import Guard, is_loopback


@pytest.fixture
def server(folders: list[Path]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command on a free port, and return it with its address."""
    command = [sys.executable, "-m", "seqline", "studio", *map(str, folders), "--port", "0", "--threads", "1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("seqline studio with 2 runs: http://127.0.0.1:"), line
    yield process, line.split("runs: ")[1].split()[0]
    if process.poll() is None:
        process.kill()
    process.wait()
    process.stderr.close()


def test_it_serves_streams_and_ends_quietly_at_ctrl_c(server: tuple[subprocess.Popen[str], str]) -> None:
    process, address = server
    with urllib.request.urlopen(f"{address}api/models") as answer:
        assert len(json.load(answer)["models"]) == 2
    stream = urllib.request.urlopen(f"{address}api/live")
    assert stream.readline() == b"retry: 3000\n"
    events: list[str] = []
    reader = threading.Thread(target=lambda: events.extend(line.decode() for line in stream if line.startswith(b"e")))
    reader.start()
    body = json.dumps({"model": "run", "text": "a b"}).encode()
    asked = urllib.request.Request(f"{address}api/trace", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked) as answer:
        num_steps = len(json.load(answer)["schedule"])
    process.send_signal(signal.SIGINT)  # while the page still listens
    assert process.wait(60) == 0
    assert process.stderr is not None
    assert process.stderr.read() == "stopped\n"
    reader.join(60)
    stream.close()
    assert events == ["event: begin\n", *["event: step\n"] * num_steps, "event: end\n"]


def test_a_port_that_is_taken_is_said(folders: list[Path]) -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"--port: cannot listen at 127.0.0.1 port {port}: .*; choose another port"):
            bind("127.0.0.1", port)
    with pytest.raises(UserError, match=r"cannot listen at 203\.0\.113\.1"):
        bind("203.0.113.1", 0)


def test_names_of_this_machine_count_only_where_it_is_open_to_others() -> None:
    async def nothing(*_: object) -> None: ...

    own, wide, named = (Guard(nothing, host) for host in ("127.0.0.1", "0.0.0.0", "10.0.0.5"))
    assert [guard._is_ours("10.0.0.5:8765") for guard in (own, wide, named)] == [False, True, True]
    assert [guard._is_ours("10.0.0.6:8765") for guard in (own, wide, named)] == [False, True, False]
    assert [guard._is_ours(socket.gethostname()) for guard in (own, wide, named)] == [False, True, False]
    assert [guard._is_ours("evil.example") for guard in (own, wide, named)] == [False, False, False]
    assert [is_loopback(host) for host in ("127.0.0.2", "::1", "localhost", "0.0.0.0", "host")] == [True] * 3 + [
        False
    ] * 2


def test_the_command_says_what_is_missing(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "seqline", "studio"]
        return subprocess.run(command, check=False, cwd=tmp_path, env=environment, capture_output=True, text=True)

    empty = run()
    assert empty.returncode == 2
    assert "no finished run in this folder; name one, or make some: seqline demo" in empty.stderr
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['uvicorn'] = None\n")
    absent = run()
    assert absent.returncode == 2
    assert absent.stderr == (
        'error: the live page needs uvicorn, which is not installed; pip install "seqline[studio]"\n'
    )
