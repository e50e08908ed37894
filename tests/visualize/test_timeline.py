"""The timeline of one translation: who ran when, what it read, what it wrote."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from seqline.config import load_config
from seqline.run import train
from seqline.translator import Translator
from seqline.visualize.synthetic import fixture
from seqline.visualize.timeline import Moment, as_table, moments
from seqline.visualize.trace import Trace

from ..small_run import ReversingRun, config_for, write_letters


@pytest.fixture(scope="module")
def translator(reversing_run: ReversingRun) -> Translator:
    return Translator.load(reversing_run.folder)


def timeline(translator: Translator, text: str) -> list[Moment]:
    return moments(translator.explain(text, beam_size=1, timing=False))


def steps_of(rows: list[Moment], part: str) -> list[Moment]:
    return [row for row in rows if row.part == part]


@pytest.mark.parametrize("text", ["a", "a b", "a b c d", "h g f e d c b a"])
def test_moments_are_counted_from_1_the_encoder_first(translator: Translator, text: str) -> None:
    rows = timeline(translator, text)
    assert [row.t for row in rows] == list(range(1, len(rows) + 1))
    parts = [row.part for row in rows]
    assert parts == sorted(parts, key=["encoder", "decoder"].index)


@pytest.mark.parametrize("text", ["a", "a b", "a b c d", "h g f e d c b a"])
def test_the_encoder_reads_the_source_pieces_and_the_end_mark_with_the_last(translator: Translator, text: str) -> None:
    pieces = text.split()
    reading = steps_of(timeline(translator, text), "encoder")
    assert [moment.reads for moment in reading] == [*pieces[:-1], f"{pieces[-1]}, then </s>"]
    for n, moment in enumerate(reading[:-1], 1):
        assert moment.writes.startswith(f"h_{n}  (|h| = ")
    assert reading[-1].writes.startswith(f"h_{len(pieces)}, h_{len(pieces) + 1}: the memory is complete")
    assert all(moment.weights == () for moment in reading)


@pytest.mark.parametrize("text", ["a", "a b c d", "h g f e d c b a"])
def test_the_decoder_writes_the_greedy_output_and_its_end_mark(translator: Translator, text: str) -> None:
    [translation] = translator.translate([text], beam_size=1)
    writing = steps_of(timeline(translator, text), "decoder")
    written = [moment.writes.split("  (p = ")[0] for moment in writing]
    assert written == [*translation.text.split(), "</s>"]
    read = [moment.reads.split(";")[0] for moment in writing]
    assert read == ["<s>", *written[:-1]]


def test_probabilities_multiply_to_that_of_the_output(translator: Translator) -> None:
    [translation] = translator.translate(["a b c"], beam_size=1)
    product = 1.0
    for moment in steps_of(timeline(translator, "a b c"), "decoder"):
        found = re.search(r"p = (\d\.\d\d)\)$", moment.writes)
        assert found
        product *= float(found[1])
    assert product == pytest.approx(2.718281828 ** translation.outputs[0].log_probability, abs=0.03)


def test_every_step_of_the_decoder_has_weights_over_the_source(translator: Translator) -> None:
    for moment in steps_of(timeline(translator, "a b c d"), "decoder"):
        assert len(moment.weights) == 5
        assert sum(moment.weights) == pytest.approx(1.0, abs=1e-6)
        assert min(moment.weights) >= 0.0


def test_the_mixture_names_the_pieces_with_the_largest_weights_in_their_order(translator: Translator) -> None:
    pieces = ["h", "g", "f", "e", "d", "c", "b", "a", "</s>"]
    for moment in steps_of(timeline(translator, "h g f e d c b a"), "decoder"):
        shown = [item.split() for item in moment.reads.split(";  C = ")[1].split(" + ")]
        assert 1 <= len(shown) <= 4
        top = sorted(range(9), key=lambda s: -moment.weights[s])[:4]
        expected = [[f"{moment.weights[s]:.2f}", pieces[s]] for s in sorted(top) if moment.weights[s] >= 0.005]
        assert shown == expected


def test_a_look_inside_changes_no_translation(translator: Translator) -> None:
    before = translator.translate(["a b c d"], beam_size=1)
    timeline(translator, "a b c d")
    assert translator.translate(["a b c d"], beam_size=1) == before


@pytest.mark.parametrize(
    ("arch", "more", "has_weights"),
    [
        ("encoder-decoder", (), False),
        ("contextual", (), False),
        ("luong", ("model.input_feeding=true",), True),
        ("luong", ("model.score=concat", "model.num_layers=2"), True),
        ("bahdanau", (), True),
    ],
)
def test_other_architectures(tmp_path: Path, arch: str, more: tuple[str, ...], has_weights: bool) -> None:
    data = write_letters(tmp_path / "data")
    train(config_for(data, "training.max_steps=2", *more, arch=arch), tmp_path / "run")
    loaded = Translator.load(tmp_path / "run")
    rows = timeline(loaded, "a b c")
    assert len(steps_of(rows, "encoder")) == 3
    [translation] = loaded.translate(["a b c"], beam_size=1)
    writing = steps_of(rows, "decoder")
    assert len(writing) == translation.outputs[0].num_tokens
    for moment in writing:
        assert len(moment.weights) == (4 if has_weights else 0)
        assert not has_weights or sum(moment.weights) == pytest.approx(1.0, abs=1e-6)
        assert (";  C = " in moment.reads) == has_weights


def test_the_transformer_has_a_timeline_too(tmp_path: Path) -> None:
    sizes = ["model.embed_size=8", "model.num_heads=2", "model.inner_size=8", "model.num_layers=1"]
    overrides = ["model.architecture=transformer", "tokenizer.kind=word", "training.max_steps=2", *sizes]
    data = write_letters(tmp_path / "data")
    train(load_config(None, [*overrides, f"data.train={data}"]), tmp_path / "run")
    rows = timeline(Translator.load(tmp_path / "run"), "a b c")
    assert [row.t for row in rows] == list(range(1, len(rows) + 1))
    [layer] = steps_of(rows, "encoder")  # one layer reads all words at once
    assert layer.reads == "a b c </s>"
    assert layer.writes == "layer 1 of all words: the memory is complete"


def test_the_table_is_aligned(translator: Translator) -> None:
    rows = timeline(translator, "a b")
    lines = as_table(rows)
    assert len(lines) == 1 + len(rows)
    assert lines[0].split() == ["part", "reads", "writes"]
    for line, moment in zip(lines[1:], rows, strict=True):
        assert line.startswith(f"t{moment.t} ")
        assert line == line.rstrip()
        assert line[lines[0].index("part") :].startswith(moment.part)
        assert line[lines[0].index("reads") :].startswith(moment.reads)
        assert line[lines[0].index("writes") :] == moment.writes


def test_the_rows_of_a_known_recording() -> None:
    trace = fixture("A")
    assert isinstance(trace, Trace)
    rows = moments(trace)
    assert [row.part for row in rows] == ["encoder"] * 4 + ["decoder"] * 5
    assert rows[5].weights == pytest.approx((0.86, 0.05, 0.06, 0.03))
    assert rows[5].reads.split(";")[0] == "the"
    assert rows[5].writes.startswith("pizza  (p = ")
    assert rows[3].writes.split("  (")[0] == "h_4: the memory is complete"
