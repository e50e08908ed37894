"""A view into a file: the suffix says how. No browser, no model."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from seqline.errors import UserError, did_you_mean
from seqline.files import PathLike, new_folder, write_bytes, write_json, write_text
from seqline.visualize.absent import absence, refuse_absent
from seqline.visualize.engine import Engine, SceneError, installed_engines, thread_engine
from seqline.visualize.fonts import Font, load_fonts, missing_glyphs, missing_sentence
from seqline.visualize.link import link, view_names
from seqline.visualize.settings import check_names, check_values, listed
from seqline.visualize.trace import Bundle, Trace, strings_of
from seqline.visualize.video import FPS, check_fps

SUFFIXES = ("svg", "png", "gif", "mp4", "csv", "json", "html")
ALL = "all"
OTHER_NAMES = {"forecast": "series"}
"""Views that people look for by another name."""
_OPTION_SUFFIXES = {
    "fps": ("gif", "mp4"),
    "scale": ("png", "gif", "mp4"),
    "transparent": ("png", "svg"),
    "embed_fonts": ("svg",),
}


@dataclass(frozen=True)
class Report:
    """What an export did.

    Args:
        files: The files written, the one asked for first.
        missing: Characters that no font had; the picture shows nothing in their place.
    """

    files: tuple[Path, ...]
    missing: tuple[str, ...] = ()

    @property
    def warning(self) -> str:
        """One line about missing glyphs, empty when there are none."""
        return missing_sentence(list(self.missing))


class Options(NamedTuple):
    """How a file is written, beside what the view shows."""

    fps: float = FPS
    scale: int = 1
    transparent: bool = False
    embed_fonts: bool = False


def save(
    trace: Trace | Bundle, path: PathLike, view: str = "timeline", state: Mapping[str, Any] | None = None
) -> Report:
    """Write a view of a trace into a file.

    A GIF comes with a sheet of all its frames beside it, `NAME-frames.png`. JSON holds the view's state and numbers; the
    trace itself is written by `Trace.write`.

    Args:
        trace: What was recorded.
        path: Ends in svg, png, gif, mp4, csv, json or html; for the view "all" a new folder.
        view: A view's name, or "all": every view as svg, png and, where it has more than one frame, gif.
        state: The view's state and the options `fps`, `scale` (1 to 4; a word is the state's), `transparent`, `embed_fonts`.

    Raises:
        UserError: unknown view, suffix, state or option; a missing package; a disk that refuses.
    """
    options, rest = check_request(path, view, state or {})
    view = OTHER_NAMES.get(view, view)
    if view == ALL:
        return _save_all(trace, path, rest, options)
    if _suffix(path) == "html":
        if installed_engines():
            engine = thread_engine()
            engine.set_trace(_as_json(trace))
            refuse_absent(engine, view, rest)
        return _save_html(trace, path, view, rest)
    drawing = Drawing(trace, view, rest)
    refuse_absent(drawing.engine, view, rest)
    return _WRITERS[_suffix(path)](drawing, Path(path), options)


def check_view(view: str) -> None:
    """Refuse an unknown view.

    Raises:
        UserError: neither a view's name nor "all".
    """
    if OTHER_NAMES.get(view, view) not in (*view_names(), ALL):
        raise UserError(
            f"no view named {view!r}", where="view", fix=did_you_mean(view, [*view_names(), *OTHER_NAMES, ALL])
        )


def check_request(path: PathLike, view: str, state: Mapping[str, Any]) -> tuple[Options, dict[str, Any]]:
    """Refuse what `save` writes of no trace at all; return how the file is written, and the state of the view.

    Raises:
        UserError: unknown view, suffix, state or option.
    """
    check_view(view)
    view = OTHER_NAMES.get(view, view)
    options, rest = _split(dict(state))
    suffix = _suffix(path)
    if view == ALL:
        if suffix in (*SUFFIXES, "gz"):
            what = f"the view {ALL} makes a folder of files, and this is the name of a file"
            raise UserError(what, where=str(path), fix="leave the suffix out, or choose one view")
    else:
        if suffix not in SUFFIXES:
            raise UserError(f"cannot write {suffix!r} files", where=str(path), fix=did_you_mean(suffix, SUFFIXES))
        for name in options:
            if suffix not in _OPTION_SUFFIXES[name]:
                fix = f"it is for {listed(_OPTION_SUFFIXES[name])}"
                raise UserError(f"a .{suffix} file takes no {name}", where=name, fix=fix)
    check_values(rest)
    # Without an engine a page is still written: it draws with the browser's, and ignores what it does not know.
    if view == ALL or suffix != "html" or installed_engines():
        views = view_names() if view == ALL else (view,)
        known = [thread_engine().call(each, "meta", {})["state"] for each in views]
        check_names(rest, {name for names in known for name in names})
    return Options(**options), rest


def _as_json(trace: Trace | Bundle) -> str:
    return json.dumps(trace.decoded(), ensure_ascii=False, allow_nan=False)


def _suffix(path: PathLike) -> str:
    return Path(path).suffix.lower().lstrip(".")


class Drawing:
    """One view of one trace with a checked state, ready to be drawn by this thread's engine."""

    def __init__(self, trace: Trace | Bundle, view: str, state: Mapping[str, Any]) -> None:
        """Hand the trace to the engine and choose the fonts.

        Raises:
            UserError: an unknown key or value of the state.
        """
        self.engine: Engine = thread_engine()
        self.engine.set_trace(_as_json(trace))
        self.text = strings_of(trace)
        self.use(view, state)

    def use(self, view: str, state: Mapping[str, Any]) -> None:
        """Turn to a view of the same trace."""
        self.view = view
        self.meta = self.engine.call(view, "meta", {})
        self.state = _checked(state, self.meta["state"])
        # Chinese captions are known only when drawn: their characters are those of the scenes.
        more = link() if self.state.get("lang") == "zh" else ""
        self.fonts: list[Font] = load_fonts(self.text + more)
        self.characters = self.text + more
        self.state["font"] = [font.family for font in self.fonts]

    def picture_fonts(self) -> list[Font]:
        """Return the fonts for the rasteriser: the same ones, large files cut down."""
        from seqline.visualize.font_cuts import small_fonts

        return small_fonts(self.fonts, self.characters)

    def ask(self, function: str, frame: int = 0) -> Any:
        """Call a function of the view with the state as it is; see `Engine.call`.

        Raises:
            UserError: the view cannot be drawn with what was set.
        """
        try:
            return self.engine.call(self.view, function, self.state, frame)
        except SceneError as error:
            known = self.meta["state"]
            changed = [f"{k}={str(v)[:40]}" for k, v in self.state.items() if k != "font" and v != known.get(k)]
            if not changed:
                raise
            what = f"the view {self.view} of this trace cannot be drawn with {', '.join(changed)}"
            raise UserError(what, where="state", fix="leave out what does not fit") from error

    def svg(self) -> str:
        """Return the drawing of the state as it is."""
        return self.ask("scene")

    def num_frames(self) -> int:
        """Return how many frames an animation has."""
        return self.ask("frames")

    def frames(self) -> Iterator[str]:
        """Yield the drawing of every frame."""
        for number in range(self.num_frames()):
            yield self.engine.call(self.view, "scene", self.ask("stateAt", number))

    def table(self) -> dict[str, Any]:
        """Return the numbers of the view: columns and rows."""
        return self.ask("table")

    def report(self, files: list[Path], drawn: str) -> Report:
        """Say what was written and which characters of the drawings have no glyph."""
        from seqline.visualize.raster import texts

        return Report(tuple(files), tuple(missing_glyphs(texts(drawn), self.fonts)))


def _split(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Part the options of the file from the state of the view; numbers and null may come as text."""
    values = {name: _number(value) for name, value in state.items()}
    names = [name for name in ("fps", "transparent", "embed_fonts") if name in values]
    if not isinstance(values.get("scale", ""), str):
        names.append("scale")
    options = {name: values.pop(name) for name in names}
    for name in ("transparent", "embed_fonts"):
        if not isinstance(options.get(name, False), bool):
            raise UserError(f"expected true or false, got {options[name]!r}", where=name, fix="leave it out for false")
    if "fps" in options:
        options["fps"] = check_fps(options["fps"])
    return options, values


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value)
    except ValueError:
        return value
    return value if isinstance(parsed, str | list | dict) else parsed


def _checked(state: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    check_names(state, known)
    check_values(state)
    return dict(state)


def _svg(drawing: Drawing, path: Path, options: Options) -> Report:
    drawn = drawing.svg()
    write_text(path, _finished(drawn, options))
    return drawing.report([path], drawn)


def _finished(drawn: str, options: Options) -> str:
    """Apply what only an SVG file can carry: no background, embedded fonts."""
    from seqline.visualize.raster import texts, without_background

    if options.transparent:
        drawn = without_background(drawn)
    if options.embed_fonts:
        from seqline.visualize.extras import require
        from seqline.visualize.page_fonts import page_fonts

        require("brotli", "pictures", "embedding fonts")
        head, rest = drawn.split(">", 1)
        drawn = f"{head}><defs><style>{escape(page_fonts(texts(drawn)).css, quote=False)}</style></defs>{rest}"
    return drawn


def _png(drawing: Drawing, path: Path, options: Options) -> Report:
    from seqline.visualize.raster import png

    drawn = drawing.svg()
    write_bytes(path, png(drawn, drawing.picture_fonts(), scale=options.scale, transparent=options.transparent))
    return drawing.report([path], drawn)


def _moving(drawing: Drawing, path: Path, options: Options) -> tuple[list[str], list[bytes]]:
    from seqline.visualize.raster import png

    if drawing.num_frames() < 2:
        raise UserError(
            f"the view {drawing.view} of this trace has one frame", where=str(path), fix="save a png or an svg"
        )
    drawn = list(drawing.frames())
    fonts = drawing.picture_fonts()
    return drawn, [png(each, fonts, scale=options.scale) for each in drawn]


def _gif(drawing: Drawing, path: Path, options: Options) -> Report:
    from seqline.visualize.raster import description
    from seqline.visualize.video import contact_sheet, gif

    drawn, frames = _moving(drawing, path, options)
    sheet = path.with_name(f"{path.stem}-frames.png")
    write_bytes(path, gif(frames, fps=options.fps, comment=description(drawn[-1])))
    write_bytes(sheet, contact_sheet(frames))
    return drawing.report([path, sheet], "".join(drawn))


def _mp4(drawing: Drawing, path: Path, options: Options) -> Report:
    from seqline.visualize.extras import require
    from seqline.visualize.raster import description
    from seqline.visualize.video import mp4

    require("av", "video", "an MP4")
    drawn, frames = _moving(drawing, path, options)
    write_bytes(path, mp4(frames, fps=options.fps, comment=description(drawn[-1])))
    return drawing.report([path], "".join(drawn))


def _csv(drawing: Drawing, path: Path, options: Options) -> Report:
    table = drawing.table()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table["columns"])
    writer.writerows(["" if value is None else value for value in row] for row in table["rows"])
    write_text(path, text.getvalue())
    return Report((path,))


def _json(drawing: Drawing, path: Path, options: Options) -> Report:
    state = {name: value for name, value in drawing.state.items() if name != "font"}
    value = {"schema": "view/1", "view": drawing.view, "state": state}
    value |= {"describe": drawing.ask("describe"), "table": drawing.table()}
    write_json(path, value)
    return Report((path,))


_Writer = Callable[[Drawing, Path, Options], Report]
_WRITERS: dict[str, _Writer] = {"svg": _svg, "png": _png, "gif": _gif, "mp4": _mp4, "csv": _csv, "json": _json}


def _save_html(trace: Trace | Bundle, path: PathLike, view: str, state: Mapping[str, Any]) -> Report:
    from seqline.visualize.html import page

    write_text(path, page(trace, view=view, state=dict(state)))
    return Report((Path(path),))


def _save_all(trace: Trace | Bundle, path: PathLike, state: Mapping[str, Any], options: Options) -> Report:
    drawing = Drawing(trace, view_names()[0], {})
    missing: dict[str, None] = {}
    names: list[str] = []
    with new_folder(path) as folder:
        shown: list[tuple[str, list[str]]] = []
        absent: list[str] = []
        for view in view_names():
            meta = drawing.engine.call(view, "meta", {})
            drawing.use(view, {name: value for name, value in state.items() if name in meta["state"]})
            sentence = absence(drawing.engine, view, state)
            if sentence is not None:
                absent.append(f"{view}: {sentence}")
                continue
            reports = [_WRITERS[suffix](drawing, folder / f"{view}.{suffix}", options) for suffix in _suffixes(drawing)]
            written = [file.name for report in reports for file in report.files]
            shown.append((view, written))
            names += written
            missing |= dict.fromkeys(character for report in reports for character in report.missing)
        write_text(folder / "index.html", _index(shown, absent))
    return Report(tuple(Path(path) / name for name in ["index.html", *names]), tuple(missing))


def _suffixes(drawing: Drawing) -> list[str]:
    return ["svg", "png", "gif"] if drawing.num_frames() > 1 else ["svg", "png"]


def _index(shown: list[tuple[str, list[str]]], absent: list[str]) -> str:
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>seqline: all views</title>\n',
        "<style>body{font:16px/1.5 sans-serif;margin:2rem auto;max-width:62rem;padding:0 1rem;color:#16202f}",
        "img{max-width:100%;border:1px solid #b9c4d4}a{color:#1b5cb8;margin-right:1rem}</style>\n</head>\n<body>\n",
        "<h1>All views</h1>\n",
    ]
    for view, files in shown:
        links = " ".join(f'<a href="{escape(name)}">{escape(name)}</a>' for name in files)
        parts.append(f'<h2 id="{view}">{view}</h2>\n<p>{links}</p>\n<img src="{view}.png" alt="The view {view}.">\n')
    if absent:
        parts.append(
            "<h2>Not in this trace</h2>\n<ul>\n" + "".join(f"<li>{escape(line)}</li>\n" for line in absent) + "</ul>\n"
        )
    return "".join([*parts, "</body>\n</html>\n"])
