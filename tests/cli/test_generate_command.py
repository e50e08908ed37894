"""`seqline generate`: the prompt and its continuation, every newline as it came."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from seqline.config import Config
from seqline.data.plain import mark_newlines
from seqline.data.tokenizer import train_tokenizer
from seqline.decoding import Sampling
from seqline.generator import Generator
from seqline.run_folder import Tokenizers, build_model, finish_run, start_run

from .conftest import Refused, Seqline


def make_language_run(folder: Path, unit: str) -> Path:
    """Write a finished run of a character language model with random weights."""
    config = Config().replace(
        **{"data.task": "language_model", "data.unit": unit, "tokenizer.kind": "char", "model.architecture": "gru"},
        **{
            "model.size": "tiny",
            "model.embed_size": 8,
            "model.hidden_size": 8,
            "model.num_layers": 1,
            "model.dropout": 0.1,
        },
    )
    tokenizer = train_tokenizer([mark_newlines("to be or not\n")] * 3, "char", None)
    tokenizers = Tokenizers(tokenizer, tokenizer)
    torch.manual_seed(4)
    model = build_model(config, tokenizers.vocabulary)
    start_run(folder, config, tokenizers)
    finish_run(folder, config, tokenizers, dict(model.named_parameters()), {"task": "language_model"})
    return folder


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    """Return a run that knows one long text."""
    return make_language_run(tmp_path / "stream", "stream")


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """Return a run that knows single lines."""
    return make_language_run(tmp_path / "lines", "lines")


def test_the_prompt_comes_first_and_newlines_stay(seqline: Seqline, stream: Path) -> None:
    prompt = "to be\n\nor"
    (expected,) = Generator.load(stream).generate(prompt, max_tokens=60)
    assert "\n" in expected.text
    outcome = seqline("generate", stream, prompt, "--max-tokens", "60")
    assert (outcome.code, outcome.stderr) == (0, "")
    assert outcome.stdout.decode() == f"{prompt}{expected.text}\n"
    assert seqline("generate", stream, "-", "--max-tokens", "60", stdin=prompt.encode()).stdout == outcome.stdout
    (ended,) = Generator.load(stream).generate(f"{prompt}\n", max_tokens=60)
    read = seqline("generate", stream, "-", "--max-tokens", "60", stdin=f"{prompt}\n".encode())
    assert read.stdout.decode() == f"{prompt}\n{ended.text}\n"


def test_options_reach_the_generator(seqline: Seqline, stream: Path) -> None:
    options = ("--temperature", "0.7", "--top-k", "4", "--top-p", "0.9", "--seed", "7", "--samples", "3")
    expected = Generator.load(stream).generate(
        "to", max_tokens=9, num_samples=3, sampling=Sampling(temperature=0.7, seed=7, top_k=4, top_p=0.9)
    )
    assert len({sample.text for sample in expected}) == 3
    outcome = seqline("generate", stream, "to", "--max-tokens", "9", *options)
    assert outcome.stdout.decode() == "-----\n".join(f"to{sample.text}\n" for sample in expected)
    (line,) = seqline("generate", stream, "to", "--max-tokens", "9", *options, "--json").lines
    found = json.loads(line)
    assert found["prompt"] == "to"
    assert [sample["text"] for sample in found["samples"]] == [sample.text for sample in expected]
    assert [sample["num_tokens"] for sample in found["samples"]] == [9] * 3
    assert all(sample["log_probability"] < 0 for sample in found["samples"])


def test_without_a_prompt_a_text_begins(seqline: Seqline, stream: Path, lines: Path) -> None:
    for run in (stream, lines):
        (expected,) = Generator.load(run).generate(max_tokens=20)
        assert seqline("generate", run, "--max-tokens", "20").stdout.decode() == f"{expected.text}\n"


def test_the_end_of_a_line_on_standard_input_is_no_part_of_it(seqline: Seqline, lines: Path) -> None:
    given = seqline("generate", lines, "to", "--max-tokens", "5").stdout
    assert given.startswith(b"to")
    for data in (b"to", b"to\n", b"to\r\n"):
        assert seqline("generate", lines, "-", "--max-tokens", "5", stdin=data).stdout == given


def test_what_cannot_be_is_refused(refused: Refused, stream: Path, lines: Path) -> None:
    assert refused("generate", stream, "--temperature", "-1").startswith(
        "error: --temperature: must be a number from 0 up"
    )
    assert refused("generate", stream, "--top-p", "0").startswith("error: --top-p: must be above 0 and at most 1")
    assert "this model knows single lines" in refused("generate", lines, "-", stdin=b"to\nbe\n")
    assert "use `seqline generate`" in refused("tag", stream)
