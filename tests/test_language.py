"""Language models as something to train and to judge: ids shifted once, sums of every piece, runs that come back."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from seqline import language
from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.config import Config, load_config
from seqline.data.batch import as_stream, collate_lines, collate_spans
from seqline.data.loader import plan_in_order
from seqline.data.plain import encode_stream, lines_of, read_plain
from seqline.data.stream import Span, consecutive, overlapping
from seqline.data.tokenizer import BOS, EOS
from seqline.errors import UserError
from seqline.evaluation.likelihood import Nats, carried_nats, line_nats, window_nats
from seqline.language_report import LanguageReport, evaluate
from seqline.models.language_model import LanguageModel
from seqline.run import Trained, train
from seqline.run_folder import Run, load_run

from .small_models import random_weights
from .small_run import logged, weights
from .small_texts import config_of, quick, write_texts

VOCAB_SIZE, TOLERANCE = 9, 1e-10
SETTINGS: dict[str, dict[str, Any]] = {
    "gru": {"embed_size": 6, "hidden_size": 7, "num_layers": 2, "dropout": 0.3},
    "transformer": {"embed_size": 6, "num_heads": 2, "inner_size": 9, "num_layers": 1, "dropout": 0.3},
}
ids_of_lines = st.lists(st.lists(st.integers(4, VOCAB_SIZE - 1), max_size=5), min_size=1, max_size=5)


@pytest.fixture(params=list(SETTINGS))
def model(request: pytest.FixtureRequest) -> LanguageModel:
    """Return a model with random weights, in float64."""
    recipe = ARCHITECTURES[request.param]
    assert recipe.language_model is not None
    settings = recipe.settings(**SETTINGS[request.param])
    return random_weights(recipe.language_model(settings, Vocabulary(VOCAB_SIZE, VOCAB_SIZE, True)))


@pytest.fixture
def stream() -> Tensor:
    return as_stream(torch.randint(4, VOCAB_SIZE, (23,)).tolist())


def nats_of(model: LanguageModel, ids: list[int]) -> list[float]:
    """Return -log p of every id but the first, alone in its batch and without a pad."""
    if len(ids) < 2:
        return []
    logits, _ = model(torch.tensor([ids[:-1]]), model.initial_state(None, 1))
    return [-row[i].item() for row, i in zip(logits[0].log_softmax(-1), ids[1:], strict=True)]


@given(ids_of_lines)
def test_the_inputs_of_lines_are_the_targets_shifted_once(lines: list[list[int]]) -> None:
    batch = collate_lines(lines, range(len(lines)))
    for b, line in enumerate(lines):
        assert batch.inputs[b][batch.is_real[b]].tolist() == [BOS, *line]
        assert batch.targets[b][batch.is_real[b]].tolist() == [*line, EOS]
    assert batch.rows == list(range(len(lines)))


@given(st.lists(st.integers(4, 99), min_size=1, max_size=30), st.data())
def test_the_inputs_of_spans_are_the_targets_shifted_once(ids: list[int], data: st.DataObject) -> None:
    ends = data.draw(st.lists(st.tuples(*[st.integers(0, len(ids))] * 2), min_size=1, max_size=4))
    spans = [Span(min(pair), max(pair)) for pair in ends]
    batch = collate_spans(as_stream(ids), spans, range(len(spans)))
    for b, (start, end) in enumerate(spans):
        assert batch.targets[b][batch.is_real[b]].tolist() == ids[start:end]
        assert batch.inputs[b][batch.is_real[b]].tolist() == [BOS, *ids][start:end]
    assert (batch.mask is None) == bool(batch.is_real.all())


@torch.no_grad()
def test_one_lane_is_one_long_reading(model: LanguageModel, stream: Tensor) -> None:
    expected = math.fsum(nats_of(model, stream.tolist()))
    for context in (1, 4, 23, 99):
        found = carried_nats(model, stream, context)
        assert found.num_tokens == 23
        assert found.total == pytest.approx(expected, abs=TOLERANCE)


@torch.no_grad()
@pytest.mark.parametrize("num_lanes", [2, 4, 40])
def test_lanes_are_read_from_nothing(model: LanguageModel, stream: Tensor, num_lanes: int) -> None:
    ids = stream.tolist()
    sizes = [23 // num_lanes + (lane < 23 % num_lanes) for lane in range(num_lanes)]
    starts = itertools.accumulate(sizes[:-1], initial=0)
    expected = math.fsum(
        nats
        for start, size in zip(starts, sizes, strict=True)
        for nats in nats_of(model, ids[start : start + size + 1])
    )
    for context in (1, 3, 23):
        found = carried_nats(model, stream, context, num_lanes)
        assert found.total == pytest.approx(expected, abs=TOLERANCE)
        assert found.num_tokens == 23


@torch.no_grad()
def test_windows_count_what_is_predicted_in_them(model: LanguageModel, stream: Tensor) -> None:
    ids = stream.tolist()
    for windows in ([(span, 0) for span in consecutive(23, 5)], overlapping(23, 6)):
        expected = math.fsum(x for (start, end), skip in windows for x in nats_of(model, ids[start : end + 1])[skip:])
        for rows in (1, 2, 7, 99):
            found = window_nats(model, stream, windows, rows)
            assert found.num_tokens == 23
            assert found.total == pytest.approx(expected, abs=TOLERANCE)


@torch.no_grad()
def test_lines_are_scored_with_their_end_in_any_batch(model: LanguageModel) -> None:
    lines = [torch.randint(4, VOCAB_SIZE, (length,)).tolist() for length in (3, 0, 7, 1, 1)]
    expected = math.fsum(x for line in lines for x in nats_of(model, [BOS, *line, EOS]))
    for plans in ([[0], [1], [2], [3], [4]], [[4, 2, 0, 1, 3]], plan_in_order([len(line) + 1 for line in lines], 9)):
        found = line_nats(model, lines, plans)
        assert found.num_tokens == sum(map(len, lines)) + len(lines)
        assert found.total == pytest.approx(expected, abs=TOLERANCE)


def test_a_validation_is_told_in_three_ways() -> None:
    validation = language.as_validation(Nats(6.0, 4))
    assert (validation.loss, validation.score) == (1.5, -1.5)
    assert validation.scores == {"perplexity": math.exp(1.5), "bits": 1.5 / math.log(2)}
    assert math.isfinite(language.as_validation(Nats(4000.0, 4)).scores["perplexity"])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_texts(tmp_path_factory.mktemp("texts"))


CASES = {
    "gru": ("gru",),
    "gru-words": ("gru", "tokenizer.kind=word"),
    "transformer": ("transformer",),
    "transformer-pieces": ("transformer", "tokenizer.kind=bpe", "tokenizer.vocab_size=300"),
    "gru-windows": ("gru", "data.carry_state=false"),
    "lstm-lines": ("lstm", "data.unit=lines", "training.batch_tokens=60"),
    "transformer-lines": ("transformer", "data.unit=lines", "training.batch_tokens=60"),
}


@pytest.fixture(scope="module", params=list(CASES))
def trained(request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return quick("lm", data, tmp_path_factory.mktemp(request.param) / "run", *CASES[request.param])


def test_a_run_comes_back_and_has_the_validation_that_was_logged(trained: Trained, data: Path) -> None:
    run = load_run(trained.folder)
    best = trained.result.best
    assert best is not None
    assert run.manifest["validation"] == {"nats_per_token": best.validation.loss, **best.validation.scores}
    lines = [line for line in logged(trained.folder) if line["event"] == "validation"]
    assert best.validation.loss in [line["nats_per_token"] for line in lines]
    named = dict(run.model.named_parameters())
    assert best.weights.keys() == named.keys()
    assert all(torch.equal(best.weights[name], parameter) for name, parameter in named.items())
    corpus = language.read(run.config.replace(**{"data.train": str(data)}))
    again = corpus.prepare(run.tokenizers, run.config).training_task(run.config).validate(run.model)
    assert again == best.validation


def test_a_run_is_the_same_from_the_same_seed(data: Path, tmp_path: Path) -> None:
    first, again, other = (
        quick("lm", data, tmp_path / name, "gru", f"training.seed={seed}")
        for name, seed in zip("abc", (1, 1, 2), strict=True)
    )
    assert weights(first.folder) == weights(again.folder) != weights(other.folder)


def test_the_loss_of_an_epoch_is_that_of_every_piece_once(trained: Trained, data: Path) -> None:
    """Without carried state a step's loss does not depend on the order: an epoch's sum is the data's."""
    run = load_run(trained.folder)
    config = run.config.replace(**{"data.train": str(data)})
    prepared = language.read(config).prepare(run.tokenizers, config)
    counts = []
    for epoch in (0, 1):
        task = prepared.training_task(config)
        with torch.no_grad():
            sums = [task.compute_loss(run.model, task.make_batch(rows)) for rows in task.plan_epoch(epoch)]
        counts.append(sum(part.num_tokens for part in sums))
        assert math.isfinite(sum(part.negative_log_likelihood.item() for part in sums))
    text = read_plain(str(data / "train.txt"))
    tokenizer = run.tokenizers.source
    if config.data.unit == "stream":
        assert counts == [len(encode_stream(tokenizer, text.text))] * 2
    else:
        lines = [pair.target for pair in lines_of(text).pairs if pair.target.strip()]
        assert counts == [sum(len(tokenizer.encode(line)) + 1 for line in lines)] * 2


def test_a_report_is_the_sum_over_the_text(trained: Trained, data: Path) -> None:
    run, text = load_run(trained.folder), read_plain(str(data / "test.txt"))
    text = text._replace(text=text.text[:90])
    run.model.double()
    report = evaluate(run, text)
    tokenizer, model = run.tokenizers.source, run.model
    assert isinstance(model, LanguageModel)
    with torch.no_grad():
        if run.config.data.unit == "lines":
            kept = [pair.target for pair in lines_of(text).pairs if pair.target.strip()]
            rows = [[BOS, *tokenizer.encode(line), EOS] for line in kept]
            nats, count = [nats_of(model, row) for row in rows], sum(map(len, kept))
        else:
            ids, count = [BOS, *encode_stream(tokenizer, text.text)], len(text.text)
            context = 8
            if run.config.data.carry_state:
                nats = [nats_of(model, ids)]
            else:
                nats = [nats_of(model, ids[a : b + 1])[skip:] for (a, b), skip in overlapping(len(ids) - 1, context)]
            side = [nats_of(model, ids[a : b + 1]) for a, b in consecutive(len(ids) - 1, context)]
            _assert_protocol(report, 1, side, count)
    _assert_protocol(report, 0, nats, count)
    assert (report.num_characters, report.num_unknown) == (count, 0)
    assert len(report.protocols) == (1 if run.config.data.unit == "lines" else 2)


def _assert_protocol(report: LanguageReport, number: int, nats: list[list[float]], num_characters: int) -> None:
    flat, found = [x for row in nats for x in row], report.protocols[number]
    assert report.num_tokens == len(flat)
    assert found.nats_per_token == pytest.approx(math.fsum(flat) / len(flat), abs=TOLERANCE)
    assert found.perplexity == pytest.approx(math.exp(found.nats_per_token), rel=1e-12)
    assert found.nats_per_character == pytest.approx(math.fsum(flat) / num_characters, abs=TOLERANCE)
    assert found.bits_per_character == pytest.approx(found.nats_per_character / math.log(2), rel=1e-12)


def test_what_is_left_open_is_recorded(data: Path, tmp_path: Path) -> None:
    run = quick("lm", data, tmp_path / "run", "gru", "training.max_steps=1")
    config = load_run(run.folder).config
    assert (config.data.task, config.data.unit, config.data.context) == ("language_model", "stream", 8)
    assert (config.data.carry_state, config.tokenizer.kind) == (True, "char")
    asked = Config().replace(**{"data.task": "lm", "data.train": str(data), "model.architecture": "transformer"})
    filled = language.read(asked).fill(asked)
    assert (filled.data.context, filled.data.carry_state, filled.training.batch_tokens) == (256, False, 16 * 256)


def test_a_stream_without_validation_holds_out_its_end(data: Path, tmp_path: Path) -> None:
    text = (data / "train.txt").read_text() * 3
    (tmp_path / "a.txt").write_text(text)
    said: list[str] = []
    quick("lm", tmp_path / "a.txt", tmp_path / "run", "gru", "training.max_steps=1", say=said.append)
    assert said[0].startswith("held out the last ")
    assert any("in windows of 8, the state carried from each to the next; 4 at a time" in line for line in said)


def test_lines_left_out_are_counted(data: Path, tmp_path: Path) -> None:
    said: list[str] = []
    more = ("data.unit=lines", "training.max_steps=1", "data.max_tokens=20", "training.batch_tokens=15")
    quick("lm", data, tmp_path / "run", "gru", *more, say=said.append)
    tallies = [line for line in said if line.startswith("kept ")]
    assert len(tallies) == 1
    for reason in ("10 empty (line 2, 6, 10, ...)", "over 20 tokens", "over 15 batch tokens"):
        assert reason in tallies[0]
    assert any(line.startswith("validation: kept ") for line in said)


@pytest.mark.parametrize(
    ("content", "more", "message"),
    [
        ("a", (), "no text in it"),
        ("\n" * 2000, (), "no text in it"),
        ("\n \n", ("data.unit=lines",), "no line with text in it"),
        ("a\n" * 30, ("data.unit=lines",), "too few pairs to hold out"),
        ("abcdef\n" * 10 + "hijkl\n" * 40, ("data.unit=lines", "data.max_tokens=2"), "hold out|no usable lines"),
        ("ab\n" * 800, ("training.batch_tokens=7",), r"training\.batch_tokens: 7 tokens hold no example"),
    ],
)
def test_bad_texts_are_refused_and_create_nothing(
    tmp_path: Path, content: str, more: tuple[str, ...], message: str
) -> None:
    (tmp_path / "a.txt").write_text(content)
    with pytest.raises(UserError, match=message):
        quick("lm", tmp_path / "a.txt", tmp_path / "run", "gru", *more)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_state_that_grows_is_not_carried(data: Path, tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"data\.carry_state: transformer is trained in windows that each begin from nothing"
    ):
        quick("lm", data, tmp_path / "run", "transformer", "data.carry_state=true")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["data.unit=lines"], r"data\.unit: is for the task language_model, and this is translation"),
        (["data.task=tagging", "data.context=8"], r"data\.context: is for the task language_model"),
        (["data.task=lm", "data.unit=lines", "data.carry_state=true"], r"data\.carry_state: .*data\.unit stream"),
        (["data.task=lm", "data.keys=['a','b']"], r"data\.keys: has no meaning for plain text"),
        (["data.task=lm", "data.normalize_whitespace=true"], r"normalize_whitespace: has no meaning for plain text"),
        (["data.task=lm", "data.max_tokens=9"], r"data\.max_tokens: has no meaning for a stream"),
        (["data.task=lm", "decoding.beam_size=2"], r"decoding\.beam_size: is for the task translation"),
        (["data.task=lm", "tokenizer.source.kind=word"], r"tokenizer\.source: is for the task translation"),
        (["data.task=tagging", "tokenizer.kind=char"], r"tokenizer\.kind: tagging needs word"),
        (["data.task=translate"], r"data\.task: expected"),
    ],
)
def test_settings_without_a_meaning_are_refused(overrides: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_config(None, overrides)


def test_an_alias_is_the_task(data: Path) -> None:
    assert config_of("lm", data, "gru") == config_of("lm", data, "gru", "data.task=language_model")


def test_resuming_with_other_text_is_refused(data: Path, tmp_path: Path) -> None:
    run: Run | Trained = quick("lm", data, tmp_path / "run", "gru", "training.max_steps=2")
    other = write_texts(tmp_path / "other", num_train=31)
    with pytest.raises(UserError, match="is not the corpus this run began with"):
        quick("lm", other, run.folder, "gru", "training.max_steps=3", resume=True)


def test_what_no_table_of_positions_reaches_is_refused_before_a_run_is_made(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a line of letters\n" * 80)
    config = load_config(None, ["data.task=lm", f"data.train={text}", "model.architecture=conv", "data.context=40",
                                "model.embed_size=8", "model.hidden_size=8", "model.num_layers=1",
                                "model.max_length=16", "training.max_steps=2"])  # fmt: skip
    with pytest.raises(UserError, match=r"model\.max_length: .*pieces .* of .*text\.txt"):
        train(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_window_longer_than_the_text_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("a line of letters\n" * 80)
    config = load_config(None, ["data.task=lm", f"data.train={text}", "model.architecture=gru", "data.context=5000"])
    with pytest.raises(UserError, match=r"data\.context: a window of 5,000 pieces, but the text has"):
        train(config, tmp_path / "run")
