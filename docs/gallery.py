"""Make the pictures of docs/gallery.md from the models that `seqline demo` trained, and a forecaster.

    seqline demo --out runs/demo
    seqline data series --out runs/weather.csv --kind daily --series 2 --length 200
    seqline forecast train runs/weather.csv --target y --horizon 7 --arch bahdanau --lookback 60 --set training.max_steps=60 \\
        --set training.batch_tokens=2000 --out runs/weather
    python docs/gallery.py runs/demo runs/weather runs/weather.csv

Writes docs/pictures/ and docs/gallery.md; nothing is drawn by hand.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from seqline.files import write_text
from seqline.predictor import Predictor
from seqline.recording.forecast_asked import Asked
from seqline.tour.comparing import SENTENCES
from seqline.tour.recordings import Recordings, record
from seqline.tour.training import MODELS
from seqline.translator import Translator
from seqline.visualize.trace import Trace

HERE = Path(__file__).parent
PICTURES = HERE / "pictures"
MOST_BYTES = 1_500_000


class Picture(NamedTuple):
    """One picture: its file, the recording, the view and its state, and what it shows."""

    file: str
    trace: str
    view: str
    state: Mapping[str, Any]
    caption: str


OWN = {"attention": "encoder_self"}
GALLERY = (
    Picture("timeline.gif", "first", "timeline", {}, "`luong`: three words are read, four are written, then the end mark."),
    Picture("embed.png", "first", "embed", {"row": 2}, "A word, its number, its one-hot vector, its row in the table."),
    Picture("lstm.png", "plain", "lstm", {"part": "encoder", "t": 2}, "A gated cell, here a GRU, with its numbers at one step."),
    Picture("context.png", "three", "context", {}, "What the decoder is given: one vector, or a new one at every step."),
    Picture("align.png", "pizza", "align", {}, "Which French word each English word read."),
    Picture("softmax.png", "plain", "softmax", {"t": 7}, "From scores to a word."),
    Picture("train.png", "sharpen", "train", {}, "The alignment of one sentence at ten moments of a training."),
    Picture("grad.png", "far", "grad", {}, "How strongly the loss feels each state, by distance."),
    Picture("pe.png", "she", "pe", {"row": 1}, "Positional encoding."),
    Picture("qkv.png", "she", "qkv", OWN | {"layer": 1, "head": 0, "row": 1, "beat": 5}, "One query in numbers."),
    Picture("heads.png", "she", "heads", OWN | {"level": "word"}, "All heads of the Transformer's encoder."),
    Picture("lines.png", "she", "lines", OWN | {"head": "mean", "row": 7}, "What “elle” reads."),
    Picture("diagram.png", "she", "diagram", {}, "The Transformer that was trained, with its sizes and residuals."),
    Picture("kv.png", "she", "kv", {}, "Keys and values kept so far."),
    Picture("beam.png", "beam", "beam", {}, "Beam search: what was kept and what was dropped."),
    Picture("forecast.png", "weather", "forecast", {"horizon": 3}, "A week ahead, what came true, and what the forecast reads."),
    Picture("lag.png", "weather", "lag", {"horizon": 3}, "How far the forecast moves with each value, by how long ago it was."),
)  # fmt: skip


def recordings_of(demo: Path, forecaster: Path, history: Path) -> Recordings:
    """Run the models of a demo folder on the tour's sentences, one beam search, and one forecast."""
    translators = {name: Translator.load(demo / name) for name in MODELS}
    beam = translators["transformer"].explain(SENTENCES[1], beam_size=4, timing=False)
    return {**record(demo, translators), "beam": beam, "weather": forecast_of(forecaster, history)}


def forecast_of(run: Path, history: Path) -> Trace:
    """Forecast the last week of the first series from what lies before it."""
    return Predictor.load(run).explain(str(history), Asked(series="A", hold_back=7), timing=False)


def draw(traces: Recordings, pictures: Sequence[Picture]) -> None:
    """Draw pictures, and write the page that shows all of them."""
    lines = [
        "# Gallery",
        "",
        "Made by `python docs/gallery.py` from the models that `seqline demo` trains, and a forecaster. The same views, to step",
        "through: `index.html` in the demo's folder, or `seqline studio RUN`. Any one: `seqline explain RUN TEXT --view VIEW`.",
    ]
    for picture in pictures:
        path = PICTURES / picture.file
        traces[picture.trace].save(path, view=picture.view, **picture.state)
        path.with_name(f"{path.stem}-frames.png").unlink(missing_ok=True)  # the sheet beside a GIF
    for picture in GALLERY:
        lines += ["", f"## `{picture.view}`", "", picture.caption, "", f"![{picture.caption}](pictures/{picture.file})"]
    total = sum((PICTURES / picture.file).stat().st_size for picture in GALLERY)
    if total > MOST_BYTES:
        raise SystemExit(f"the pictures hold {total:,} bytes; expected at most {MOST_BYTES:,}")
    write_text(HERE / "gallery.md", "\n".join(lines) + "\n")
    print(f"{len(pictures)} pictures of {len(GALLERY)}, which hold {total:,} bytes")


def main() -> None:
    """Draw everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("demo", type=Path, help="folder that `seqline demo` made")
    parser.add_argument("forecaster", type=Path, help="run that `seqline forecast train` made")
    parser.add_argument("history", type=Path, help="its series")
    asked = parser.parse_args()
    draw(recordings_of(asked.demo, asked.forecaster, asked.history), GALLERY)


if __name__ == "__main__":
    main()
