"""`seqline generate`: a prompt in, the same prompt with its continuation out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seqline.cli.options import (
    Device,
    Json,
    Threads,
    check_utf8,
    naming_options,
    prepare_torch,
    print_json,
    say,
    write_lines,
)

BETWEEN = "-----"


def generate(
    run: Annotated[Path, typer.Argument(help="Folder of a run for a language model.")],
    prompt: Annotated[
        str,
        typer.Argument(
            help="Text to go on from; - is standard input, as it comes (a model of lines: without the last line end)."
        ),
    ] = "",
    max_tokens: Annotated[int, typer.Option(min=1, max=1_000_000, help="The most pieces to generate.")] = 200,
    temperature: Annotated[float, typer.Option(help="Below 1 safer, above 1 bolder; 0 is greedy.")] = 1.0,
    top_k: Annotated[int | None, typer.Option(min=1, help="Draw from the K most probable pieces only.")] = None,
    top_p: Annotated[float, typer.Option(help="Draw from the most probable pieces with this share only.")] = 1.0,
    typical_p: Annotated[float, typer.Option(help="Draw from the most typical pieces with this share only.")] = 1.0,
    seed: Annotated[int, typer.Option(help="The same seed draws the same text.")] = 0,
    num_samples: Annotated[
        int, typer.Option("--samples", min=1, max=10_000, help=f"How many; a line {BETWEEN} stands between them.")
    ] = 1,
    device: Device = "cpu",
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Generate text with a language model; each sample is printed with its prompt and one line end behind it."""
    prepare_torch(device, threads)

    from seqline.data.lines import read_text
    from seqline.decoding import Sampling
    from seqline.generator import Generator

    check_utf8(prompt, "PROMPT")
    generator = Generator.load(run, device=device)
    text = read_text(prompt) if prompt == "-" else prompt
    if prompt == "-" and not generator.is_stream:
        text = text.removesuffix("\n")  # the end of the one line, and no part of it
    if unknown := generator.num_unknown(text):
        say(f"{unknown:,} pieces of the prompt are outside the vocabulary; the model reads <unk> in their place")
    with naming_options("temperature", "top_k", "top_p", "typical_p"):
        sampling = Sampling(temperature, top_k, top_p, seed, typical_p)
    samples = generator.generate(text, max_tokens=max_tokens, sampling=sampling, num_samples=num_samples)
    if as_json:
        rows = [{"text": s.text, "log_probability": s.log_probability, "num_tokens": s.num_tokens} for s in samples]
        print_json({"prompt": text, "samples": rows})
        return
    lines = [line for sample in samples for line in (BETWEEN, f"{text}{sample.text}")]
    write_lines(lines[1:])
