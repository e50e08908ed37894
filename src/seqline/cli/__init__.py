"""The command line: one file a command, heavy imports inside the commands so that `--help` stays quick."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType

import typer

from seqline.cli import (
    classify,
    compare,
    data,
    demo,
    evaluate,
    explain,
    forecast,
    generate,
    info,
    lab,
    score,
    studio,
    tag,
    train,
    translate,
    verify,
)
from seqline.errors import Stopped, UserError

MOST_SHOWN = 1000  # characters of an error line

app = typer.Typer(
    name="seqline",
    help="The whole line of sequence models, from RNN to Transformer: train on your own text, see inside, compare.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog="Every command takes --help, and --debug for a traceback instead of a one-line error.",
)
COMMANDS = (
    demo.demo,
    train.train,
    translate.translate,
    generate.generate,
    tag.tag,
    classify.classify,
    evaluate.evaluate,
    compare.compare,
    lab.lab,
    score.score,
    explain.explain,
    info.info,
    verify.verify,
    studio.studio,
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(forecast.app, name="forecast")
app.add_typer(data.app, name="data")


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        from importlib.metadata import version as version_of

        typer.echo(f"seqline {version_of('seqline')}")
        raise typer.Exit


class _Terminated(BaseException):
    """SIGTERM came while nothing was there to save."""


def _on_sigterm(_number: int, _frame: FrameType | None) -> None:
    raise _Terminated


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 ok, 2 the user's mistake, 1 our fault, 130 and 143 on signals."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    is_debug = "--debug" in given
    signal.signal(signal.SIGTERM, _on_sigterm)
    sys.exit(_run([argument for argument in given if argument != "--debug"], is_debug))


def _run(arguments: list[str], is_debug: bool) -> int:
    try:
        code = app(arguments, prog_name="seqline", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:
        if is_debug and isinstance(error, Exception):
            traceback.print_exc()
        return _status(error)
    if code == 130 and "train" not in arguments[:2]:  # typer turned Ctrl-C into its exit status; train says so itself
        _complain("interrupted")
    return code if isinstance(code, int) else 0


def _status(error: BaseException) -> int:
    """Say in one line what ended the command, and return its exit status."""
    match error:
        case KeyboardInterrupt() | typer.Abort():
            _complain("interrupted")
            return 130
        case _Terminated():
            _complain("terminated")
            return 143
        case Stopped():
            _complain(error.reason)
            return 143 if error.reason == "terminated" else 130
        case BrokenPipeError() | SystemExit():  # typer turns the first into the second
            # The reader (head, less) has gone; what Python would still flush at exit must go nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return 0
        case UserError() | typer.TyperException():
            # A command without its arguments is answered with its help, which is no error line.
            line = _one_line(error)
            _complain(_message(error) if line.startswith("Usage:") else f"error: {line}")
            return 2
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            _complain(f"error: {_printable(where)}{error.strerror or error}; choose another place or make room")
            return 2
        case _:
            _complain(f"internal error: {type(error).__name__}: {_printable(str(error))}; --debug shows where")
            return 1


def _message(error: Exception) -> str:
    return error.format_message() if hasattr(error, "format_message") else str(error)  # pyright: ignore[reportAttributeAccessIssue]


def _one_line(error: Exception) -> str:
    return _printable(_message(error))


def _printable(text: str) -> str:
    """Escape what would move a terminal's cursor or colour it; a name of thousands of letters is cut."""
    text = " ".join(text.split())
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)
    return shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}..."


def _complain(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
