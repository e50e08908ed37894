"""`verify` names in plain words whatever fault is planted in the code of a run, under the law that it breaks and no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from seqline.data.tokenizer import EOS, Tokenizer
from seqline.decoding import Sampling, sampling
from seqline.evaluation import verify_search
from seqline.generator import Generator
from seqline.labeller import Labeller
from seqline.models.attentive_decoder import FeedState, InputFeedingDecoder
from seqline.models.tagger import Tagger
from seqline.parts.embeddings import Embedding
from seqline.parts.heads import VocabularyHead
from seqline.parts.positions import AddPositions, positions_from
from seqline.parts.self_attention import SelfAttention
from seqline.run_folder import load_run
from seqline.translator import Translator
from seqline.verifying.checks import NOT_CHECKED, TITLES
from seqline.verifying.subjects import CASES
from seqline.verifying.verification import Verification, verify

from ..untrained_run import SENTENCES

Patch = pytest.MonkeyPatch


def failed(found: Verification) -> dict[str, str]:
    """Return the failures by law."""
    return {check.law: check.failure for check in found.failures}


def wrap(monkeypatch: Patch, owner: Any, name: str, change: Callable[..., Any]) -> None:
    """Let `change(original, *arguments)` stand for a function or a method."""
    original = getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *args, **kwargs: change(original, *args, **kwargs))


# Faults that are planted in the code: name of the law, recipe, what plants it, words of the sentence.


def ignore_padding(p: Patch) -> None:
    wrap(p, SelfAttention, "forward", lambda forward, self, x, is_real: forward(self, x, torch.ones_like(is_real)))


def mix_rows(p: Patch) -> None:
    wrap(p, VocabularyHead, "forward", lambda f, self, t: f(self, t) + 0.1 * f(self, t).mean(0, keepdim=True))


def look_ahead(p: Patch) -> None:
    def change(forward: Any, self: Any, ids: Tensor) -> Tensor:
        x = forward(self, ids)
        return torch.cat([x[:, :-1] + 0.5 * x[:, 1:], x[:, -1:]], dim=1)

    wrap(p, Embedding, "forward", change)


def advance_positions_twice(p: Patch) -> None:
    def change(_: Any, self: Any, x: Tensor, before: Tensor, mask: Tensor | None = None) -> Any:
        is_real = torch.ones(x.shape[:2], dtype=torch.bool) if mask is None else mask
        return self.scheme(x, positions_from(before, is_real), is_real), before + is_real.sum(1) + 1

    wrap(p, AddPositions, "forward", change)


def count_padding(p: Patch) -> None:
    def change(_: Any, self: Any, x: Tensor, before: Tensor, mask: Tensor | None = None) -> Any:
        is_real = torch.ones(x.shape[:2], dtype=torch.bool) if mask is None else mask
        return self.scheme(x, positions_from(before, is_real), is_real), before + x.shape[1]

    wrap(p, AddPositions, "forward", change)


def write_into_the_state(p: Patch) -> None:
    def change(forward: Any, self: Any, ids: Tensor, given: FeedState, memory: Any, mask: Any = None) -> Any:
        result = forward(self, ids, given, memory, mask)
        given.feed.add_(0.1)
        return result

    wrap(p, InputFeedingDecoder, "forward", change)


def keep_something_from_call_to_call(p: Patch) -> None:
    def change(forward: Any, self: Any, t: Tensor) -> Tensor:
        self.calls = getattr(self, "calls", 0) + 1
        return forward(self, t) * (1 + 0.01 * self.calls)

    wrap(p, VocabularyHead, "forward", change)


def leave_dropout_on(p: Patch) -> None:
    wrap(p, Embedding, "forward", lambda f, self, ids: nn.functional.dropout(f(self, ids), 0.2, training=True))


def divide_by_zero(p: Patch) -> None:
    wrap(p, VocabularyHead, "forward", lambda f, self, t: f(self, t) / 0)


def feed_another_row(p: Patch) -> None:
    def change(select: Any, tree: Any, rows: Tensor) -> Any:
        found = select(tree, rows)
        return found._replace(feed=found.feed.roll(1, 0)) if isinstance(found, FeedState) else found

    for module in ("seqline.evaluation.verify_decoder", "seqline.decoding.beam"):
        wrap(p, import_module(module), "select", change)


def score_at_another_temperature(p: Patch) -> None:
    wrap(
        p, import_module("seqline.decoding.beam"), "allowed_log_probs", lambda f, logits, *rest: f(1.1 * logits, *rest)
    )


def take_the_second_best(p: Patch) -> None:
    def change(allowed: Any, *arguments: Any) -> Tensor:
        log_probs = allowed(*arguments)
        return log_probs.scatter(1, log_probs.argmax(1, keepdim=True), float("-inf"))

    wrap(p, import_module("seqline.decoding.greedy"), "allowed_log_probs", change)


def stop_early_in_a_batch(p: Patch) -> None:
    def change(beam: Any, decoder: Any, memory: Any, limits: Tensor, how: Any, **more: Any) -> Any:
        is_early = len(limits) > 1 and (how.size, how.n_best) == (verify_search.WIDE, 1)
        return beam(decoder, memory, limits.clamp(max=1) if is_early else limits, how, **more)

    wrap(p, verify_search, "beam", change)


def lose_results(p: Patch) -> None:
    def change(beam: Any, decoder: Any, memory: Any, limits: Tensor, how: Any, **more: Any) -> Any:
        found = beam(decoder, memory, limits, how, **more)
        return [results[:-1] for results in found] if how.size > 8 else found

    wrap(p, verify_search, "beam", change)


def draw_by_the_place_in_the_batch(p: Patch) -> None:
    wrap(p, sampling, "_uniform", lambda f, seed, step, chances: f(seed, step, np.arange(len(chances))))


def compute_coarsely(p: Patch) -> None:
    def change(forward: Any, self: Any, t: Tensor) -> Tensor:
        return forward(self, t) * (1 + 1e-3 * len(t) * (t.dtype == torch.float32))

    wrap(p, VocabularyHead, "forward", change)


def lower_case(p: Patch) -> None:
    wrap(p, Tokenizer, "decode", lambda decode, self, ids: decode(self, ids).lower())


def read_marks_in_text(p: Patch) -> None:
    wrap(p, Tokenizer, "encode", lambda f, self, text: [EOS if "</s>" in text else i for i in f(self, text)])


def put_back_in_the_wrong_order(p: Patch) -> None:
    def change(translate: Any, self: Any, texts: Any, *, batch_rows: int | None = None, **more: Any) -> Any:
        found = translate(self, texts, batch_rows=batch_rows, **more)
        return found if batch_rows == 1 else found[::-1]

    wrap(p, Translator, "translate", change)


def label_in_the_wrong_order(p: Patch) -> None:
    for name in ("tag", "classify"):
        wrap(p, Labeller, name, lambda f, self, texts, batch_rows=None: f(self, texts)[:: 1 if batch_rows else -1])


def draw_by_the_number_of_samples(p: Patch) -> None:
    def draw(generate: Any, self: Generator, text: str, num_samples: int, sampling: Sampling, **more: Any) -> Any:
        return generate(self, text, sampling=replace(sampling, seed=num_samples), **more) * 3

    wrap(p, Generator, "generate", draw)


def write_into_the_ids(p: Patch) -> None:
    def change(forward: Any, self: Any, ids: Tensor, is_real: Tensor) -> Tensor:
        logits = forward(self, ids, is_real)
        ids.fill_(EOS + 1)
        return logits

    wrap(p, Tagger, "forward", change)


FAULTS: list[tuple[str, str, str, Callable[[Patch], None], str]] = [
    ("round trip text", "tagging", "lstm", lower_case, "comes back as 'the old dog hears the new cat in paris'"),
    ("special text", "tagging", "lstm", read_marks_in_text, "has the ids [3]"),
    ("finite", "translation", "cho", divide_by_zero, "no finite numbers"),
    ("finite", "tagging", "lstm", divide_by_zero, "no finite numbers"),
    ("dropout", "translation", "cho", leave_dropout_on, "dropout or another random part is still on"),
    ("dropout", "classification", "lstm", leave_dropout_on, "dropout or another random part is still on"),
    ("pure", "translation", "luong", write_into_the_state, "the state or memory that a step was given"),
    ("pure", "translation", "transformer", keep_something_from_call_to_call, "a repeated call"),
    ("pure", "tagging", "transformer", write_into_the_ids, "what it was given (ids, parameters)"),
    ("padding", "translation", "transformer", ignore_padding, "the model reads padding"),
    ("padding", "tagging", "transformer", ignore_padding, "the model reads padding"),
    ("batch", "translation", "cho", mix_rows, "rows of a batch mix"),
    ("batch", "classification", "lstm", mix_rows, "rows of a batch mix"),
    ("causal", "translation", "luong", look_ahead, "the decoder looks ahead"),
    ("causal", "language_model", "gru", look_ahead, "the decoder looks ahead"),
    ("cache", "translation", "transformer", advance_positions_twice, "what is kept from step to step is wrong"),
    ("prompt", "language_model", "transformer", count_padding, "padding enters the state"),
    ("select", "translation", "luong", feed_another_row, "a part of the state stays behind"),
    ("rescore", "translation", "cho", score_at_another_temperature, "scores of outputs are wrong"),
    ("greedy", "translation", "cho", take_the_second_best, "one of the two searches is wrong"),
    ("search", "translation", "cho", stop_early_in_a_batch, "alone than in a batch"),
    ("exhaustive", "translation", "cho", lose_results, "the search loses outputs"),
    ("sample", "language_model", "gru", draw_by_the_place_in_the_batch, "drawn outputs cannot be repeated"),
    ("float32", "translation", "cho", compute_coarsely, "computes too coarsely"),
    ("float32", "tagging", "lstm", compute_coarsely, "computes too coarsely"),
    ("outputs", "translation", "cho", put_back_in_the_wrong_order, "gets another output alone"),
    ("outputs", "tagging", "lstm", label_in_the_wrong_order, "gets another output alone"),
    ("outputs", "language_model", "gru", draw_by_the_number_of_samples, "gets another output alone"),
]


@pytest.mark.parametrize(
    ("law", "task", "name", "plant", "words"),
    FAULTS,
    ids=[f"{fault[0]}-{fault[1]}-{fault[3].__name__}" for fault in FAULTS],
)
def test_a_planted_fault_is_named(
    runs: Any, monkeypatch: Patch, law: str, task: str, name: str, plant: Callable[[Patch], None], words: str
) -> None:
    loaded = load_run(runs(task, name))
    plant(monkeypatch)
    found = verify(loaded, SENTENCES)
    assert not found.holds
    assert law in failed(found), failed(found)
    assert words in failed(found)[law]
    # What would fail because of it is not judged; a tokenizer of both sides fails for both.
    assert {other.split()[0] for other in failed(found)} == {law.split()[0]}, failed(found)


def test_no_law_is_one_that_cannot_fail() -> None:
    titles = {TITLES.get(law, law) for case in CASES.values() for law in case.laws}
    assert titles <= {law for law, *_ in FAULTS}


def test_a_model_in_training_mode_is_named(runs: Any) -> None:
    for task, name in (("translation", "transformer"), ("language_model", "lstm"), ("classification", "bilstm")):
        loaded = load_run(runs(task, name))
        loaded.model.train()
        found = verify(loaded, SENTENCES)
        assert set(failed(found)) == {"dropout"}
        assert "is in training mode" in failed(found)["dropout"]
        assert next(check.number for check in found.checks if check.status == NOT_CHECKED) == "see dropout"
        assert all(module.training for module in loaded.model.modules())


def test_a_table_of_another_size_is_named(runs: Any) -> None:
    loaded = load_run(runs("translation", "luong"))
    loaded.model.encoder.embedding.table = nn.Embedding(99, 8)  # pyright: ignore[reportAttributeAccessIssue]
    assert "99 rows" in failed(verify(loaded, SENTENCES))["sizes"]


def test_an_error_inside_a_law_is_a_failure(runs: Any, monkeypatch: Patch) -> None:
    monkeypatch.setattr(verify_search, "beam", lambda *_, **__: {}["lost"])
    found = failed(verify(load_run(runs("translation", "luong")), SENTENCES))
    assert "the check ended in an error, KeyError" in found["pure"]
