"""Make the pictures of docs/gallery.md from the models that `seqline demo` trained.

    seqline demo --out runs/demo && python docs/gallery.py runs/demo

Writes docs/pictures/ and docs/gallery.md; nothing is drawn by hand.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from seqline.files import write_text
from seqline.tour.comparing import SENTENCES
from seqline.tour.recordings import Recordings, record
from seqline.tour.training import MODELS
from seqline.translator import Translator

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
)  # fmt: skip


def recordings_of(folder: Path) -> Recordings:
    """Run the models of a demo folder on the tour's sentences, and one beam search."""
    translators = {name: Translator.load(folder / name) for name in MODELS}
    beam = translators["transformer"].explain(SENTENCES[1], beam_size=4, timing=False)
    return {**record(folder, translators), "beam": beam}


def main() -> None:
    """Draw everything, and write the page that shows it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("demo", type=Path, help="folder that `seqline demo` made")
    traces = recordings_of(parser.parse_args().demo)
    lines = [
        "# Gallery",
        "",
        "Made by `python docs/gallery.py FOLDER` from the models that `seqline demo` trains. The same views, to step through:",
        "`index.html` in that folder, or `seqline studio RUN`. Any one: `seqline explain RUN TEXT --view VIEW --out FILE`.",
    ]
    total = 0
    for picture in GALLERY:
        path = PICTURES / picture.file
        traces[picture.trace].save(path, view=picture.view, **picture.state)
        path.with_name(f"{path.stem}-frames.png").unlink(missing_ok=True)  # the sheet beside a GIF
        total += path.stat().st_size
        lines += ["", f"## `{picture.view}`", "", picture.caption, "", f"![{picture.caption}](pictures/{picture.file})"]
    if total > MOST_BYTES:
        raise SystemExit(f"the pictures hold {total:,} bytes; expected at most {MOST_BYTES:,}")
    write_text(HERE / "gallery.md", "\n".join(lines) + "\n")
    print(f"{len(GALLERY)} pictures, {total:,} bytes")


if __name__ == "__main__":
    main()
