"""`seqline info`: what a run is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seqline.cli.options import Json, print_json, write_lines

if TYPE_CHECKING:
    from seqline.run_folder import Run


def info(run: Annotated[Path, typer.Argument(help="Folder of a run.")], as_json: Json = False) -> None:
    """Print what a run is: architecture, settings, parameters, weights, scores; verifies every file."""
    from seqline.run_folder import load_run
    from seqline.tasks import TASKS

    loaded = load_run(run)
    if TASKS[loaded.config.data.task].is_of_text:
        vocabulary, size = _vocabulary(loaded)
    else:
        vocabulary, size = loaded.series.vocabulary._asdict(), loaded.series.line
    parts = {name: sum(p.numel() for p in module.parameters()) for name, module in loaded.model.named_children()}
    facts = {key: value for key, value in loaded.manifest.items() if key != "files"}
    if as_json:
        settings = loaded.config.model_dump(exclude_none=True)
        print_json({"run": str(run), **facts, "parts": parts, "vocabulary": vocabulary, "config": settings})
        return
    rows = {
        "run": str(run),
        "task": loaded.config.data.task,
        "architecture": f"{facts['architecture']} ({loaded.config.model.size})",
        "model": ", ".join(f"{key} {value}" for key, value in loaded.config.model.settings.items()),
        "parameters": f"{facts['num_parameters']:,} "
        f"({', '.join(f'{name} {count:,}' for name, count in parts.items() if count)}; a shared table counts in each)",
        "tokenizer" if TASKS[loaded.config.data.task].is_of_text else "series": size,
        "weights": facts["weights"],
        "training": f"{facts['steps']:,} steps, {facts['target_tokens_seen']:,} target tokens, "
        f"{facts['training_seconds']:,.0f} s on {facts['threads']} threads; {facts['ended']}",
        "validation": ", ".join(f"{name} {value:.3f}" for name, value in (facts["validation"] or {}).items()),
        "versions": ", ".join(f"{name} {value}" for name, value in facts["versions"].items()),
        "files": f"{len(loaded.manifest['files'])} verified against their SHA-256",
    }
    width = max(map(len, rows))
    write_lines([f"{name:<{width}}  {value}" for name, value in rows.items()])


def _vocabulary(run: Run) -> tuple[dict[str, Any], str]:
    """Return the sizes of the vocabularies, and the same in words."""
    source, target, is_shared = run.tokenizers.vocabulary
    labels, kinds = run.tokenizers.labels, run.tokenizers.source.kind
    if run.config.data.task == "translation":
        kinds = f"{kinds}, {run.tokenizers.target.kind}"
    size = f"{source:,} pieces shared" if is_shared else f"{source:,} source, {target:,} target pieces"
    if labels is not None:
        size = f"{source:,} pieces, {target:,} labels"
    elif run.config.data.task == "language_model":
        size = f"{source:,} pieces"
    facts = {"source_size": source, "target_size": target, "is_shared": is_shared, "kinds": kinds}
    return facts, f"{kinds}; {size}"
