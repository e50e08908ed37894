"""The runs of the live page: found, named, loaded when first used, and recorded, whatever their task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seqline import files
from seqline.api import OPTIONS, Explaining, explain
from seqline.config import Config, parse_toml
from seqline.errors import UserError, did_you_mean
from seqline.recording.by_hand import AttentionRow
from seqline.run_folder import CONFIG, MANIFEST, Run, load_run, read_manifest
from seqline.studio.asked import MOST_PIECES, TraceAsked
from seqline.tasks import TASKS
from seqline.visualize.schema import MAX_BUNDLE
from seqline.visualize.trace import Bundle, Trace

PLACES = (".", "*", "seqline-demo/*", "runs/*")


@dataclass(frozen=True)
class Entry:
    """One run as the page names it; beam_size: its own."""

    name: str
    arch: str
    task: str
    num_parameters: int
    beam_size: int


def find_runs(folder: Path) -> list[Path]:
    """Return the finished runs at and below a folder, in the places where `demo` and `train` leave them.

    Raises:
        UserError: there is none.
    """
    found = {path.parent for place in PLACES for path in folder.glob(f"{place}/{MANIFEST}")}
    if not found:
        raise UserError("no finished run in this folder", where=str(folder), fix="name one, or make some: seqline demo")
    return sorted(found)


class Runs:
    """All runs of one page by name.

    A run that reads no text is left out, and one line says so.

    Args:
        folders: of finished runs.
        device: where to compute.
        say: takes a line for the person.

    Raises:
        UserError: no run that reads text, or an unfinished or damaged one.
    """

    def __init__(
        self, folders: Iterable[Path], device: str = "cpu", say: Callable[[str], None] = lambda _: None
    ) -> None:
        self.device = device
        self.folders = _named(_of_text([folder.resolve() for folder in folders], say))
        self.entries = [_entry(name, folder) for name, folder in self.folders.items()]
        self._loaded: dict[str, Run] = {}

    def about(self) -> list[dict[str, Any]]:
        """Return what the page shows of each run."""
        return [asdict(entry) for entry in self.entries]

    def check(self, asked: TraceAsked) -> None:
        """Refuse what no recording can be made of, before it waits for its turn.

        Raises:
            UserError: an unknown run, too many, a blank text, or a forced step for a run that was not chosen.
        """
        for name in asked.models:
            if name not in self.folders:
                raise UserError(f"no run named {name[:80]!r}", where="model", fix=did_you_mean(name, self.folders))
        if not 1 <= len(asked.models) <= MAX_BUNDLE:
            raise UserError(f"expected 1 to {MAX_BUNDLE} runs, got {len(asked.models)}", where="model")
        for item in [*asked.force, *asked.attention_rows]:
            if item.model is not None and item.model not in asked.models:
                what = f"the run {item.model[:80]!r} is not among those chosen"
                raise UserError(what, where="force", fix="choose it too, or leave the step out")
        writes = [entry.task == "language_model" for entry in self.entries if entry.name in asked.models]
        if not asked.text.strip() and not all(writes):
            raise UserError("expected a text, got a blank one", where="text", fix="type a sentence")

    def record(self, asked: TraceAsked) -> Trace | Bundle:
        """Record a text with each run asked for; several give a bundle.

        Raises:
            UserError: the run cannot be loaded, or does not take the text or what is to be forced.
        """
        traces = [self._one(name, asked) for name in asked.models]
        return traces[0] if len(traces) == 1 else Bundle(traces, asked.models)

    def _one(self, name: str, asked: TraceAsked) -> Trace:
        run = self._load(name)
        pieces = len(run.tokenizers.source.encode(asked.text))
        if pieces > MOST_PIECES:
            what = f"the run {name} reads this text as {pieces:,} pieces, more than {MOST_PIECES}"
            raise UserError(what, where="text", fix="type a shorter one")
        force: dict[int, int | str] = {item.step: item.id for item in asked.force if item.model in (None, name)}
        rows = [
            AttentionRow(item.step, item.weights, item.layer, item.head)
            for item in asked.attention_rows
            if item.model in (None, name)
        ]
        decode = {key: value for key, value in asked.decode if key in OPTIONS[run.config.data.task]}
        beam_size = decode.pop("beam_size", None)
        more = Explaining(**decode)
        trace = explain(run, asked.text, beam_size=beam_size, force=force, attention_rows=rows, more=more)
        return _with_languages(trace, asked)

    def _load(self, name: str) -> Run:
        if name not in self._loaded:
            self._loaded[name] = load_run(self.folders[name], self.device)
        return self._loaded[name]


def _entry(name: str, folder: Path) -> Entry:
    manifest, config = read_manifest(folder), _config(folder)
    return Entry(
        name,
        config.model.architecture,
        config.data.task,
        int(manifest.get("num_parameters", 0)),
        config.decoding.beam_size,
    )


def _of_text(folders: Sequence[Path], say: Callable[[str], None]) -> list[Path]:
    """Leave out the runs that read no text, and say which."""
    tasks = {folder: TASKS[_config(folder).data.task] for folder in folders}
    kept = [folder for folder, task in tasks.items() if task.is_of_text]
    others = [folder for folder in tasks if folder not in kept]
    if others and not kept:
        what = f"is a run for {tasks[others[0]].name}, and the studio shows runs that read text"
        raise UserError(what, where=str(others[0]), fix="look inside with `seqline explain RUN HISTORY`")
    if others:
        names = ", ".join(str(folder) for folder in others)
        say(f"left out, for the studio shows runs that read text: {names}")
    return kept


def _config(folder: Path) -> Config:
    read_manifest(folder)  # which says what is wrong with a folder that is no run
    return parse_toml(files.read_bytes(folder / CONFIG), str(folder / CONFIG))


def _named(folders: Sequence[Path]) -> dict[str, Path]:
    """Name runs by their folder; two of one name take their parent's along."""
    folders = list(dict.fromkeys(folders))
    names = [folder.name for folder in folders]
    named: dict[str, Path] = {}
    for folder in folders:
        name = folder.name if names.count(folder.name) == 1 else f"{folder.parent.name}/{folder.name}"
        named[name if name not in named else str(folder)] = folder
    return named


def _with_languages(trace: Trace, asked: TraceAsked) -> Trace:
    for side, lang in (("source", asked.lang.source), ("target", asked.lang.target)):
        if lang is not None and trace.document.get(side):
            trace.document[side]["lang"] = lang
    return trace
