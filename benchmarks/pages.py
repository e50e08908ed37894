"""How large a page of attention is and how soon its first view shows; how large a GIF of a timeline is and how long it takes.

    python benchmarks/pages.py --out FOLDER

The page holds one kind of attention of 12 layers x 12 heads over 80 tokens, random weights (the worst case for size), opened
from the disk in Chromium without a network. The GIF is the timeline of the made-up recording "A", 9 steps. Times are the best
and the median of --times tries, and the processor time of the GIF beside them, which a busy machine does not change.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import time
from pathlib import Path

import numpy as np
from running import markdown

from seqline.files import write_text
from seqline.visualize.export import save
from seqline.visualize.html import page
from seqline.visualize.synthetic import fixture
from seqline.visualize.trace import Bundle, Trace

LAYERS, HEADS, TOKENS = 12, 12, 80


def attention_trace() -> Trace:
    """Return a trace of 12 x 12 heads, 80 words that read 80 words."""
    rng = np.random.default_rng(0)
    scores = np.exp(3 * rng.standard_normal((LAYERS, HEADS, TOKENS, TOKENS)))
    words = [f"word{number}" for number in range(TOKENS)]
    outputs = [f"mot{number}" for number in range(TOKENS)]
    return Trace.from_numpy((scores / scores.sum(-1, keepdims=True)).astype(np.float32), outputs, words, "cross")


def first_view(file: Path, times: int) -> list[float]:
    """Return the seconds from opening a page to its first figure painted, each time in a fresh browser context."""
    from playwright.sync_api import sync_playwright

    seconds = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for _ in range(times):
            context = browser.new_context(offline=True, viewport={"width": 1280, "height": 800})
            view = context.new_page()
            start = time.perf_counter()
            view.goto(f"{file.as_uri()}#v=align", wait_until="commit")
            view.wait_for_selector('body[data-ready="1"]')
            seconds.append(time.perf_counter() - start)
            context.close()
        browser.close()
    return seconds


def gif_times(file: Path, times: int) -> tuple[list[float], list[float]]:
    """Return the seconds and the processor seconds of writing the GIF of 9 steps; the first try loads the packages."""
    trace = fixture("A")
    assert not isinstance(trace, Bundle)
    seconds, processor = [], []
    for _ in range(times):
        start, cpu = time.perf_counter(), time.process_time()
        save(trace, file, "timeline")
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - cpu)
    return seconds, processor


def main() -> None:
    """Write both files and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the page and the GIF")
    parser.add_argument("--times", type=int, default=5, help="tries of each measurement")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    html, gif = asked.out / "heads.html", asked.out / "timeline.gif"
    write_text(html, page(attention_trace(), view="align"))
    seconds, processor = gif_times(gif, asked.times)
    shown = first_view(html, asked.times)
    rows = [
        ["page, 12 x 12 heads x 80 tokens", f"{html.stat().st_size / 1e6:.2f} MB", *_spread(shown), "-"],
        ["GIF, timeline of 9 steps", f"{gif.stat().st_size / 1e3:.0f} kB", *_spread(seconds), f"{min(processor):.2f} s"],
    ]  # fmt: skip
    print("\n".join(markdown(["file", "size", "best", "median", "processor, best"], rows)))


def _spread(seconds: list[float]) -> list[str]:
    return [f"{min(seconds):.2f} s", f"{statistics.median(seconds):.2f} s"]


if __name__ == "__main__":
    main()
