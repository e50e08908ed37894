"""From PNG frames to a GIF, a contact sheet or an MP4."""

from __future__ import annotations

import io
import math
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from seqline.errors import UserError
from seqline.files import read_bytes
from seqline.visualize.extras import require

if TYPE_CHECKING:
    from PIL import Image

FPS = 1.25
LAST_SECONDS = 2.5
COLOURS = 48
SHEET_WIDTH = 480
_MONTAGE = 4
_KEPT = COLOURS - 1  # the last index is "as before"


def check_fps(fps: float) -> float:
    """Return frames a second.

    Raises:
        UserError: it is no number above 0 and up to 30.
    """
    if isinstance(fps, bool) or not isinstance(fps, int | float) or not 0 < fps <= 30:
        raise UserError(f"expected a number above 0, up to 30, got {fps!r}", where="fps", fix="2 is easy to follow")
    return float(fps)


def gif(frames: Sequence[bytes], *, fps: float = FPS, comment: str = "") -> bytes:
    """Return a GIF that repeats for ever; the last frame stays for 2.5 seconds.

    All frames share one palette, and pixels that did not change since the frame before are left out.

    Args:
        frames: PNG files of one size.
        fps: Frames a second.
        comment: Text kept in the file.
    """
    images = [_rgb(frame) for frame in frames]
    palette = shared_palette(images)
    first, *rest = [with_palette(image, palette) for image in images]
    pause = round(1000 / check_fps(fps))
    file = io.BytesIO()
    # Given one palette, Pillow writes it once; its `optimize` is what leaves unchanged pixels out, as index `_KEPT`.
    first.save(
        file,
        "GIF",
        save_all=True,
        append_images=rest,
        palette=bytes(palette.getpalette() or [])[: 3 * _KEPT].ljust(3 * COLOURS, b"\0"),
        transparency=_KEPT,
        optimize=True,
        disposal=1,
        duration=[*[pause] * len(rest), round(1000 * LAST_SECONDS)],
        loop=0,
        comment=comment.encode("utf-8"),
    )
    return file.getvalue()


def shared_palette(images: Sequence[Image.Image]) -> Image.Image:
    """Return an image that carries the palette of a montage of up to 4 frames, 47 colours."""
    from PIL import Image

    step = max(1, math.ceil(len(images) / _MONTAGE))
    picked = [images[number] for number in range(0, len(images), step)]
    picked[-1] = images[-1]
    width, height = images[0].size
    montage = Image.new("RGB", (width, height * len(picked)))
    for number, image in enumerate(picked):
        montage.paste(image, (0, number * height))
    palette = montage.quantize(_KEPT, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    palette.putpalette(_exact(np.asarray(palette), np.asarray(montage), palette.getpalette() or []))
    return palette


def _exact(indexes: np.ndarray, colours: np.ndarray, palette: list[int]) -> list[int]:
    """Return the palette with each mean replaced by the colour that it stands for most often, so that grounds stay pure."""
    red, green, blue = (colours[..., channel].astype(np.int64) for channel in range(3))
    pairs = (indexes.astype(np.int64) << 24 | red << 16 | green << 8 | blue).ravel()
    values, counts = np.unique(pairs, return_counts=True)
    exact = list(palette)
    for value in values[np.argsort(counts, kind="stable")].tolist():  # the most frequent one comes last and stays
        at = 3 * (value >> 24)
        exact[at : at + 3] = [value >> 16 & 255, value >> 8 & 255, value & 255]
    return exact


def with_palette(image: Image.Image, palette: Image.Image) -> Image.Image:
    """Return a frame in the colours of the palette, nearest colour each, no dithering."""
    from PIL import Image

    return image.quantize(palette=palette, dither=Image.Dither.NONE)


def contact_sheet(frames: Sequence[bytes]) -> bytes:
    """Return one PNG of all frames in a grid, in reading order, each at most 480 pixels wide."""
    from PIL import Image

    images = [_rgb(frame) for frame in frames]
    width, height = images[0].size
    width, height = min(width, SHEET_WIDTH), round(height * min(width, SHEET_WIDTH) / width)
    columns = min(len(images), max(1, math.ceil(math.sqrt(len(images)))))
    rows = math.ceil(len(images) / columns)
    sheet = Image.new("RGB", (columns * (width + 8) + 8, rows * (height + 8) + 8), "#c9d1de")
    for number, image in enumerate(images):
        place = (8 + number % columns * (width + 8), 8 + number // columns * (height + 8))
        sheet.paste(image.resize((width, height), Image.Resampling.LANCZOS), place)
    file = io.BytesIO()
    sheet.save(file, "PNG")
    return file.getvalue()


def mp4(frames: Sequence[bytes], *, fps: float = FPS, comment: str = "") -> bytes:
    """Return an MP4 (H.264, even size, playable while it loads) with one picture a frame.

    Raises:
        UserError: PyAV is not installed.
    """
    require("av", "video", "an MP4")
    import av

    images = [_rgb(frame) for frame in frames]
    width, height = (size - size % 2 for size in images[0].size)
    rate = Fraction(check_fps(fps)).limit_denominator(1000)
    # The index moves to the front of the file in a second pass, which needs a file that has a name.
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "film.mp4"
        with av.open(str(target), "w", format="mp4", options={"movflags": "faststart"}) as container:
            container.metadata["comment"] = comment
            stream: Any = container.add_stream("libx264", rate=rate)
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            stream.options = {"crf": "18", "threads": "1"}
            for image in images:
                picture = av.VideoFrame.from_image(image.crop((0, 0, width, height)))
                container.mux(stream.encode(picture))
            container.mux(stream.encode())
        return read_bytes(target)


def _rgb(png: bytes) -> Image.Image:
    require("PIL", "pictures", "an animation")
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        return image.convert("RGB")
