"""`seqline score`: how probable a run finds given translations, piece by piece."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqline.cli.options import (
    Device,
    Ensemble,
    Keys,
    SearchSettings,
    Threads,
    load_translator,
    prepare_torch,
    say,
    split_keys,
    write_lines,
)

if TYPE_CHECKING:
    from seqline.translating.outputs import Scored


def score(
    run: Annotated[Path, typer.Argument(help="Folder of a run for translation.")],
    data: Annotated[
        str,
        typer.Argument(
            help="TSV, SRC,TGT, JSONL, or a folder, of which the test set is taken; - is TSV on standard input."
        ),
    ] = "-",
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Add `TAB piece=log-probability ...` for every piece.")
    ] = False,
    ensemble: Ensemble = None,
    settings: SearchSettings = None,
    batch_rows: Annotated[int | None, typer.Option("--batch", min=1, help="The most pairs at once.")] = None,
    keys: Keys = None,
    device: Device = "cpu",
    threads: Threads = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a pair.")] = False,
) -> None:
    """Score given targets, the true prefix known at every step: `log-probability TAB score`, a line a pair.

    The log-probability is natural; the score is what a search ranks by, the log-probability under the length penalty.
    """
    prepare_torch(device, threads)

    from seqline.cli.progress import counting
    from seqline.judging.reading import read_scored

    translator = load_translator(run, ensemble, settings, device)
    pairs = read_scored(data, split_keys(keys) if keys else translator.data.keys).pairs
    with counting("scoring", len(pairs)) as on_done:
        found = translator.score([pair[:2] for pair in pairs], batch_rows=batch_rows, on_done=on_done)
    write_lines([_json_line(one) if as_json else _text_line(one, tokens) for one in found])
    if unknown := sum(one.num_unknown for one in found):
        say(f"{unknown:,} target pieces are outside the vocabulary and were scored as <unk>")


def _text_line(one: Scored, with_tokens: bool) -> str:
    cells = [f"{one.log_probability:.4f}", f"{one.score:.4f}"]
    if with_tokens:
        cells.append(" ".join(f"{p}={lp:.4f}" for p, lp in zip(one.pieces, one.log_probabilities, strict=True)))
    return "\t".join(cells)


def _json_line(one: Scored) -> str:
    tokens = [{"piece": p, "log_probability": lp} for p, lp in zip(one.pieces, one.log_probabilities, strict=True)]
    record = {
        "source": one.source,
        "target": one.target,
        "log_probability": one.log_probability,
        "score": one.score,
        "num_unknown": one.num_unknown,
        "tokens": tokens,
    }
    return json.dumps(record, ensure_ascii=False, allow_nan=False)
