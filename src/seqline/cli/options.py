"""Options that several commands share, and what they do before a command starts its work."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seqline.errors import UserError

if TYPE_CHECKING:
    from seqline.translator import Translator

Device = Annotated[str, typer.Option(help="Where to compute: cpu, cuda, cuda:N, mps.")]
Threads = Annotated[int | None, typer.Option(min=1, max=1024, help="CPU threads; all cores when not given.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
Beam = Annotated[
    int | None, typer.Option("--beam", min=1, max=1024, help="Beam size; 1 is greedy. Default: the run's, 5.")
]
AlignLayer = Annotated[
    int | None, typer.Option(min=0, help="Layer whose attention aligns words, from 0; the last when not given.")
]
AlignHead = Annotated[int | None, typer.Option(min=0, help="Its head, from 0; the mean over the heads when not given.")]

Ensemble = Annotated[
    list[Path] | None,
    typer.Option(
        "--ensemble", metavar="RUN", help="A run that RUN asks too at every step; repeatable. One target vocabulary."
    ),
]
SearchSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="A setting of the search by RUN, such as decoding.length_penalty=gnmt:0.6."
    ),
]

Keys = Annotated[
    str | None,
    typer.Option(metavar="SOURCE,TARGET", help="Names of the two sides in JSON lines, or suffixes in a folder."),
]


def split_keys(keys: str) -> tuple[str, str]:
    """Read the two names of `--keys`."""
    names = tuple(name.strip() for name in keys.split(","))
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise UserError(f"expected two different names with a comma between them, got {keys!r}", where="--keys")
    return names[0], names[1]


def refuse_reading(align_layer: int | None, align_head: int | None, *, is_used: bool) -> None:
    """Refuse a choice of layer or head where nothing is aligned."""
    for name, value in (("--align-layer", align_layer), ("--align-head", align_head)):
        if value is not None and not is_used:
            raise UserError("has no meaning without --alignments", where=name, fix="add --alignments or leave it out")


def option(name: str) -> str:
    """Return an option as it is written, from the name of its argument."""
    return f"--{name.replace('_', '-')}"


@contextmanager
def naming_options(*names: str) -> Iterator[None]:
    """Let errors about arguments of these names speak of the options by which they came: `n_best` is `--n-best` here."""
    try:
        yield
    except UserError as error:
        name = {"beam_size": "beam", "reranker": "rerank"}.get(error.where, error.where)
        where = option(name) if name in names else error.where
        what, fix = (_with_options(text, names) for text in (error.what, error.fix))
        if (what, where, fix) == (error.what, error.where, error.fix):
            raise
        raise UserError(what, where=where, fix=fix) from error


def _with_options(text: str, names: Collection[str]) -> str:
    """Write `sort`, `missing=mask` and `data.skip_short=true`, in backquotes, as --sort, --missing mask and --skip-short."""

    def written(found: re.Match[str]) -> str:
        name, value = found.groups()
        if name not in names:
            return found[0]
        return option(name) if value in (None, "true") else f"{option(name)} {value}"

    return re.sub(r"`(?:data\.)?([a-z_]+)(?:=([^`]*))?`", written, text)


def load_translator(
    run: Path, ensemble: Sequence[Path] | None, settings: Sequence[str] | None, device: str
) -> Translator:
    """Load a run, others that are asked with it at every step, and set how it searches.

    Raises:
        UserError: no such run, another target vocabulary, or a setting that is none of the search.
    """
    from seqline.translator import Translator

    return as_asked(Translator.load(run, device=device), ensemble, settings, device)


def as_asked(
    translator: Translator, ensemble: Sequence[Path] | None, settings: Sequence[str] | None, device: str
) -> Translator:
    """Return a translator that asks other runs too, and searches by other settings.

    Raises:
        UserError: as `load_translator`.
    """
    from seqline.tables import parse_override
    from seqline.translator import Translator

    if ensemble:
        translator = translator.ensemble([Translator.load(other, device=device) for other in ensemble])
    changes: dict[str, Any] = {}
    for setting in settings or ():
        key, value = parse_override(setting, example="decoding.length_penalty=gnmt:0.6")
        section, _, name = key.rpartition(".")
        if section not in ("", "decoding"):
            what = f"only settings of the search change here, not {key}"
            raise UserError(what, where="--set", fix="write for instance decoding.length_penalty=gnmt:0.6")
        changes[name] = value
    return translator.with_decoding(**changes) if changes else translator


def check_utf8(text: str, where: str) -> None:
    """Refuse a text of the command line whose bytes are no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            "is not UTF-8", where=where, fix="set the terminal to UTF-8, or give it as a file by -"
        ) from error


def prepare_torch(device: str, threads: int | None) -> str:
    """Set the number of threads and check that the device is there; return the device."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    try:
        if torch.device(device).type not in ("cpu", "cuda", "mps", "xpu"):
            raise RuntimeError("not a device that holds numbers")
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UserError(f"cannot compute on {device!r} ({reason})", where="--device", fix="use cpu") from error
    return device


def say(line: str) -> None:
    """Print a line for the person, on stderr: results alone go to stdout."""
    print(line, file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """Print one JSON object on stdout, as UTF-8 whatever the locale."""
    write_lines([json.dumps(value, ensure_ascii=False, allow_nan=False)])


def write_lines(lines: list[str]) -> None:
    r"""Write lines to stdout as UTF-8 with `\n`, whatever the locale."""
    write_texts(["".join(f"{line}\n" for line in lines)])


def write_texts(texts: Iterable[str]) -> None:
    """Write texts to stdout as UTF-8, each as soon as it comes."""
    if sys.stdout is None:  # closed by the caller (>&-)
        raise UserError("is closed", where="standard output", fix="give the results somewhere to go")
    sys.stdout.flush()
    for text in texts:
        sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
