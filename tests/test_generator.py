"""Generated text: the same draws from the same seed, whole lines and streams, and nothing that no text holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from seqline.config import DataConfig
from seqline.data.plain import NEWLINE, stream_lines
from seqline.data.tokenizer import BOS, EOS, PAD, UNK, train_tokenizer
from seqline.decoding import Sampling
from seqline.errors import UserError
from seqline.generator import Generator
from seqline.models.language_model import LanguageModel
from seqline.parts.cells import GRUCell
from seqline.parts.embeddings import Embedding
from seqline.parts.heads import VocabularyHead
from seqline.parts.recurrent import Recurrent
from seqline.translator import Translator

from .small_labels import make_labelling_run
from .small_models import random_weights
from .small_texts import quick, sentences, write_texts

TEXT = "\n".join(sentences(12, seed=5)) + "\n"


def make(kind: str, unit: str) -> Generator:
    """Return a generator with random weights, in float64: every piece is about as probable as another."""
    lines = TEXT.splitlines() if unit == "lines" else stream_lines(TEXT, kind)
    tokenizer = train_tokenizer(lines, kind, 290 if kind == "bpe" else None)
    table = Embedding(tokenizer.vocab_size, 6, 0.0)
    model = LanguageModel(table, Recurrent(GRUCell(6, 6)), VocabularyHead(6, tokenizer.vocab_size, tied=table.weight))
    data = DataConfig.model_validate({"task": "language_model", "unit": unit})
    return Generator(random_weights(model), tokenizer, data)


every_kind = pytest.mark.parametrize("kind", ["char", "word", "bpe"])
every_unit = pytest.mark.parametrize("unit", ["stream", "lines"])


@every_kind
@every_unit
def test_a_sample_is_a_function_of_seed_and_number(kind: str, unit: str) -> None:
    generator = make(kind, unit)
    three = generator.generate("the ", max_tokens=12, num_samples=3, sampling=Sampling(seed=4))
    assert generator.generate("the ", max_tokens=12, num_samples=3, sampling=Sampling(seed=4)) == three
    alone = generator.generate("the ", max_tokens=12, sampling=Sampling(seed=4))[0]
    assert (alone.text, alone.num_tokens) == (three[0].text, three[0].num_tokens)
    assert alone.log_probability == pytest.approx(three[0].log_probability, abs=1e-10)
    assert len({sample.text for sample in three}) == 3
    assert generator.generate("the ", max_tokens=12, sampling=Sampling(seed=5))[0].text != alone.text


@every_kind
def test_a_stream_holds_what_a_text_can_hold(kind: str) -> None:
    generator = make(kind, "stream")
    samples = generator.generate(max_tokens=40, num_samples=20)
    assert {(sample.num_tokens, sample.is_finished) for sample in samples} == {(40, False)}
    text = "".join(sample.text for sample in samples)
    assert "\n" in text
    assert NEWLINE not in text
    assert not any(special in text for special in ("<pad>", "<s>", "</s>"))
    if kind != "word":
        assert "<unk>" not in text
    if kind == "bpe":
        text.encode("utf-8")
        assert "\0" not in text


@every_kind
def test_special_pieces_are_never_drawn_in_a_stream(kind: str) -> None:
    generator = make(kind, "stream")
    never = [PAD, BOS, EOS, *([UNK] if kind != "word" else [])]
    with torch.no_grad():
        generator.model.head.bias[never] = 50.0
    drawn: list[int] = []
    decode, generator.decode = generator.decode, lambda ids, prompt="": drawn.extend(ids) or decode(ids, prompt)
    sample = generator.generate(max_tokens=30, sampling=Sampling(seed=1))[0]
    assert len(drawn) == 30
    assert not set(drawn) & set(never)
    assert sample.log_probability < -30 * 40  # it is the model's own, before what is forbidden is left out


@every_kind
def test_lines_end_by_themselves(kind: str) -> None:
    generator = make(kind, "lines")
    with torch.no_grad():
        generator.model.head.bias[EOS] += 3.0
    samples = generator.generate(max_tokens=200, num_samples=8)
    assert all(sample.is_finished for sample in samples)
    assert all("\n" not in sample.text and "</s>" not in sample.text for sample in samples)
    cut = generator.generate(max_tokens=1, num_samples=8, sampling=Sampling(temperature=0))
    assert {(sample.num_tokens, sample.is_finished) for sample in cut} <= {(1, False), (1, True)}


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
def test_a_prompt_is_read_as_the_text_was(kind: str) -> None:
    generator, tokenizer = make(kind, "stream"), make(kind, "stream").tokenizer
    newline = tokenizer.encode(NEWLINE)
    assert generator.encode("") == newline
    assert UNK not in newline
    assert generator.encode("\n") == newline
    assert generator.encode("the cat\n") == [*tokenizer.encode("the cat"), *newline]
    assert generator.encode("Ana\n\nthe") == [*tokenizer.encode("Ana"), *newline * 2, *tokenizer.encode("the")]
    assert make(kind, "lines").encode("the")[0] == BOS
    assert make(kind, "lines").encode("") == [BOS]


def test_a_tokenizer_that_never_saw_a_newline_begins_with_bos() -> None:
    generator = make("char", "stream")
    generator.tokenizer = train_tokenizer(["abc"], "char", None)
    assert generator.encode("") == [BOS]


def test_words_stand_apart_and_lines_have_no_spaces_at_their_ends() -> None:
    generator = make("word", "stream")
    the, cat, end = (generator.tokenizer.encode(word)[0] for word in ("the", "cat", NEWLINE))
    for ids, text in [
        ([the, cat], "the cat"),
        ([the, end, cat], "the\ncat"),
        ([the, end, end, cat], "the\n\ncat"),
        ([end, end, end, the], "\n\n\nthe"),
        ([the, end], "the\n"),
        ([], ""),
    ]:
        assert generator.decode(ids) == text
    assert generator.decode([the], "a cat") == " the"
    assert generator.decode([end, the], "a cat") == "\nthe"
    assert generator.decode([the], "a cat ") == generator.decode([the], "a cat\n") == generator.decode([the]) == "the"
    assert make("char", "stream").decode([], "a cat") == ""
    lines = make("word", "lines")
    assert lines.decode(lines.tokenizer.encode("the cat"), "a") == " the cat"
    assert make("char", "lines").decode(make("char", "lines").tokenizer.encode("s"), "cat") == "s"


def test_a_model_of_lines_takes_no_prompt_of_several() -> None:
    with pytest.raises(UserError, match="prompt: holds a line end, and this model knows single lines"):
        make("char", "lines").generate("the cat\n")


def test_greedy_is_the_most_probable_piece_each_time() -> None:
    generator = make("char", "stream")
    ids = generator.encode("the ")
    with torch.no_grad():
        for _ in range(6):
            logits, _ = generator.model(torch.tensor([ids]), generator.model.initial_state(None, 1))
            logits[..., [PAD, UNK, BOS, EOS]] = -torch.inf
            ids.append(int(logits[0, -1].argmax()))
    ways: list[dict[str, Any]] = [{"temperature": 0.0}, {"top_k": 1}, {"top_p": 1e-9}]
    for how in ways:
        sample = generator.generate("the ", max_tokens=6, sampling=Sampling(**how))[0]
        assert sample.text == generator.decode(ids[4:])


@pytest.mark.parametrize(
    ("how", "message"), [({"temperature": -1.0}, "temperature"), ({"top_k": 0}, "top_k"), ({"top_p": 0.0}, "top_p")]
)
def test_what_cannot_be_drawn_from_is_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        make("char", "stream").generate("the", sampling=Sampling(**how))


def test_a_run_generates_and_other_runs_do_not(tmp_path: Path) -> None:
    run = quick("lm", write_texts(tmp_path / "data"), tmp_path / "run", "gru", "training.max_steps=2")
    generator = Generator.load(run.folder)
    assert generator.run is not None
    assert generator.generate("the", max_tokens=5) == Generator.of(generator.run).generate("the", max_tokens=5)
    with pytest.raises(UserError, match=r"is a run for tagging, expected one for language_model; use `seqline tag`"):
        Generator.load(make_labelling_run(tmp_path / "tagging", "tagging"))
    with pytest.raises(UserError, match=r"is a run for language_model, .* use `seqline generate`"):
        Translator.load(run.folder)
