"""What `seqline explain` asks of a run: a text and how it is decoded, or histories and how they are read and forecast."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from seqline.cli import series_options
from seqline.cli.options import check_utf8
from seqline.cli.series_options import Reading
from seqline.errors import UserError

if TYPE_CHECKING:
    from seqline.recording.forecast_asked import Asked


Text = Annotated[
    str | None,
    typer.Argument(
        help="Text to translate, go on from or label, or a file of histories to forecast; - is standard input. "
        "None for a recorded trace."
    ),
]
View = Annotated[
    str, typer.Option(help="What to draw: timeline, align, softmax, forecast, lag, ...; all makes a folder.")
]
Out = Annotated[
    Path | None,
    typer.Option(help="File to write: html, svg, png, gif, mp4, csv, or json for the trace. Default: a new page."),
]
Force = Annotated[
    list[str] | None, typer.Option(metavar="STEP=WORD", help="What if: this word as output STEP; may be repeated.")
]
State = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="The view's state, such as layer=1.")
]


class Question(NamedTuple):
    """The options under the names of the command's arguments. None: not given."""

    text: str | None
    beam: int | None = None
    force: list[str] | None = None
    series: str | None = None
    target: str | None = None
    horizon: int | None = None
    quantiles: str | None = None
    lengths: str | None = None
    hold_back: int | None = None
    reading: Reading = Reading()

    def given(self) -> dict[str, Any]:
        """Return the options that were given, by their names."""
        own = {name: getattr(self, name) for name in (*OF_TEXTS, *OF_FORECASTS)}
        return {name: value for name, value in own.items() if value not in (None, [])} | self.reading.given()

    def read_text(self) -> str:
        """Return the text, of standard input where it is a dash.

        Raises:
            UserError: it is no UTF-8.
        """
        text = self.text or ""
        if text == "-":
            from seqline.data.lines import read_text

            text = read_text(text).removesuffix("\n")
        check_utf8(text, "TEXT")
        return text

    def forced(self) -> dict[int, int | str] | None:
        """Return the words to force by step.

        Raises:
            UserError: something else than STEP=WORD, or a step twice.
        """
        wanted: dict[int, int | str] = {}
        for one in self.force or []:
            check_utf8(one, "--force")
        for step, word in map(_forced, self.force or []):
            if step in wanted:
                raise UserError(f"step {step} is given twice", where="--force", fix="force one word a step")
            wanted[step] = word
        return wanted or None

    def forecast(self) -> Asked:
        """Return what is asked of a forecaster.

        Raises:
            UserError: quantiles or lengths that are no such numbers.
        """
        from seqline.recording.forecast_asked import Asked

        levels = None if self.quantiles is None else series_options.levels(self.quantiles)
        lengths = series_options.lengths(self.lengths)
        return Asked(self.series, self.target, self.horizon, levels, lengths, self.hold_back or 0)


OF_TEXTS = ("beam", "force")
OF_FORECASTS = ("series", "target", "horizon", "quantiles", "lengths", "hold_back")


def _forced(text: str) -> tuple[int, str]:
    step, equals, word = text.partition("=")
    if not equals or not word or not step.isascii() or not step.isdigit():
        raise UserError(f"expected STEP=WORD, got {text!r}", where="--force", fix="write for instance 2=cat")
    return int(step), word
