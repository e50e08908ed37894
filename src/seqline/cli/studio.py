"""`seqline studio`: the live page in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seqline.cli.options import Device, Threads, prepare_torch, say


def studio(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders of runs that read text, of any task; all in this folder, seqline-demo/ and runs/ when not given.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0 takes any free one.")] = 8765,
    host: Annotated[str, typer.Option(help="Address to listen at; another one lets other machines in.")] = "127.0.0.1",
    device: Device = "cpu",
    threads: Threads = None,
) -> None:
    """Open a page where you type a text and step through what the runs do with it, side by side.

    Click another candidate to force it, set a row of attention, and watch the rest change; export what you see.
    """
    from seqline.visualize.extras import require

    for module in ("starlette", "uvicorn"):
        require(module, "studio", "the live page")
    from seqline.studio.address import bind

    with bind(host, port) as bound:
        device = prepare_torch(device, threads)

        from seqline.studio.runs import Runs, find_runs
        from seqline.studio.serve import serve

        serve(Runs(runs or find_runs(Path()), device, say), host, bound, say)
