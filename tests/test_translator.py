"""Raw text in, raw text out: neither the batch, nor the order, nor blank neighbours change a translation."""

from __future__ import annotations

import math
import random

import pytest
import torch

from seqline.config import Config
from seqline.data.batch import source_batch
from seqline.data.tokenizer import BOS, EOS, PAD
from seqline.decoding import Beam, Hypothesis, beam, greedy, parse_penalty
from seqline.errors import UserError
from seqline.translating.requests import Request
from seqline.translating.source_side import Source
from seqline.translator import Translator

from .small_run import ReversingRun


@pytest.fixture
def translator(reversing_run: ReversingRun) -> Translator:
    """Return the small run's translator in float64, so that no sum depends on the batch in a digit that counts."""
    loaded = Translator.load(reversing_run.folder)
    loaded.model.double()
    return loaded


def search(translator: Translator, texts: list[str], beam_size: int) -> list[list[Hypothesis]]:
    members = translator.members
    return members.search([members.read(text) for text in texts], [Request(text) for text in texts], beam_size, 1)


def with_decoding(translator: Translator, **changes: object) -> Translator:
    config = Config().replace(**{f"decoding.{key}": value for key, value in changes.items()})
    return Translator(translator.model, translator.tokenizers, translator.data, config.decoding)


def test_loading_gives_the_runs_own_settings_and_a_model_that_does_not_train(reversing_run: ReversingRun) -> None:
    translator = Translator.load(str(reversing_run.folder))
    assert translator.run is not None
    assert translator.run.folder == reversing_run.folder
    assert translator.decoding == translator.run.config.decoding
    assert not any(module.training for module in translator.model.modules())
    with pytest.raises(UserError, match="no such run folder"):
        Translator.load(reversing_run.folder / "none")


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("batch_rows", [1, 3, 64, None])
def test_batches_and_order_change_nothing(translator: Translator, beam_size: int, batch_rows: int | None) -> None:
    sources = [
        "a",
        "b c",
        "d e f g h",
        "a a a",
        *(" ".join("abcdefgh"[(i * n) % 8] for i in range(n)) for n in (2, 7, 20)),
    ]
    alone = [search(translator, [source], beam_size)[0][0] for source in sources]
    order = list(range(len(sources)))
    for shuffled in (order, order[::-1], random.Random(1).sample(order, len(order))):
        outputs = translator.translate([sources[i] for i in shuffled], beam_size=beam_size, batch_rows=batch_rows)
        assert [t.source for t in outputs] == [sources[i] for i in shuffled]
        for i, translation in zip(shuffled, outputs, strict=True):
            assert translation.text == translator.tokenizers.target.decode(alone[i].ids)
            assert translation.outputs[0].log_probability == pytest.approx(alone[i].log_probability, abs=1e-10)
            assert translation.outputs[0].num_tokens == len(alone[i].ids)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_in_single_precision_the_texts_are_the_same_too(reversing_run: ReversingRun, beam_size: int) -> None:
    translator = Translator.load(reversing_run.folder)
    sources = reversing_run.sources
    texts = [
        [t.text for t in translator.translate(sources, beam_size=beam_size, batch_rows=rows)] for rows in (1, 3, 64)
    ]
    assert texts[0] == texts[1] == texts[2]
    assert len(set(texts[0])) > len(sources) // 2


def test_a_beam_of_one_is_greedy(translator: Translator) -> None:
    texts = ["a b c", "d", "h g f e d c b a"]
    sources = [translator.encode(text) for text in texts]
    model, rules = translator.model, translator.members.target.rules
    memory = model.decoder.prepare(model.encoder(*source_batch(sources, range(3))))
    limits = torch.tensor([translator.max_length(len(source)) for source in sources])
    searched = beam(model.decoder, memory, limits, Beam(1), rules=rules)
    assert search(translator, texts, beam_size=1) == searched
    assert greedy(model.decoder, memory, limits, rules=rules) == [found for [found] in searched]


def test_a_larger_beam_never_scores_less_than_greedy_without_a_penalty(
    translator: Translator, reversing_run: ReversingRun
) -> None:
    plain = with_decoding(translator, length_penalty="none")
    greedy_ones = plain.translate(reversing_run.sources, beam_size=1)
    beams = plain.translate(reversing_run.sources, beam_size=8)
    found = [(b.outputs[0].score, g.outputs[0].score) for b, g in zip(beams, greedy_ones, strict=True)]
    assert sum(b >= g - 1e-9 for b, g in found) >= 0.9 * len(found)  # a beam may lose the greedy path, but rarely
    assert any(b > g + 1e-3 for b, g in found)


def test_the_log_probability_is_the_models_own(translator: Translator) -> None:
    for output in translator.translate(["a b c"], beam_size=4, n_best=4)[0].outputs:
        target = [*translator.tokenizers.target.encode(output.text), EOS]
        source = torch.tensor([translator.encode("a b c")])
        logits = translator.model(
            source, torch.ones_like(source, dtype=torch.bool), torch.tensor([[BOS, *target[:-1]]])
        )
        steps = logits[0].log_softmax(-1)[range(len(target)), target]
        assert output.log_probability == pytest.approx(steps.sum().item(), abs=1e-10)
        assert output.score == pytest.approx(output.log_probability / len(target), abs=1e-10)
        assert output.num_tokens == len(target)


def test_n_best_outputs_are_distinct_and_fall(translator: Translator) -> None:
    for translation in translator.translate(["a b c", "d"], beam_size=5, n_best=5):
        assert len(translation.outputs) == 5
        assert translation.text == translation.outputs[0].text
        scores = [output.score for output in translation.outputs]
        assert scores == sorted(scores, reverse=True)
        assert len({output.text for output in translation.outputs}) == 5
    best = translator.translate(["a b c", "d"], beam_size=5)
    assert [t.outputs for t in best] == [
        t.outputs[:1] for t in translator.translate(["a b c", "d"], beam_size=5, n_best=5)
    ]


def test_blank_texts_are_not_searched(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = translator.translate(["", "a b", " \t", "\u3000", "c"])
    assert [t.text for t in whole] == ["", whole[1].text, "", "", whole[4].text]
    assert [t.source for t in whole] == ["", "a b", " \t", "\u3000", "c"]
    assert whole[0].outputs[0].is_finished
    assert whole[1].text == translator.translate(["a b"])[0].text != ""
    monkeypatch.setattr(translator.members, "search", None)
    assert translator.translate([]) == []
    assert [t.text for t in translator.translate(["", " "], n_best=3, beam_size=3)] == ["", ""]


def test_every_text_is_counted_as_done_once(translator: Translator) -> None:
    done: list[int] = []
    translator.translate(["a", "", "b c", "d e f", " "], batch_rows=2, on_done=done.append)
    assert sum(done) == 5
    assert max(done) == 2
    assert 0 not in done


def test_the_token_budget_of_a_search_counts_its_beams(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    small = with_decoding(translator, batch_tokens=24)
    sizes: list[tuple[int, int]] = []
    search_them = small.members.search

    def spy(sources: list[tuple[Source, ...]], requests: list[Request], beam_size: int, n_best: int):
        sizes.append((len(sources), max(len(source[0].ids) for source in sources)))
        return search_them(sources, requests, beam_size, n_best)

    monkeypatch.setattr(small.members, "search", spy)
    texts = ["a b c"] * 7 + ["a b c d e f g h a b c d e"]
    small.translate(texts, beam_size=2)
    assert sizes == [(1, 14), (3, 4), (3, 4), (1, 4)]  # 12 tokens a batch; a longer sentence goes alone
    sizes.clear()
    small.translate(texts[:7], beam_size=1)
    assert sizes == [(6, 4), (1, 4)]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_outputs_stop_at_the_limit_and_say_so(translator: Translator, beam_size: int) -> None:
    short = with_decoding(translator, max_length_factor=0.0, max_length_extra=2)
    for translation in short.translate(["a b c d e", "a"], beam_size=beam_size, n_best=beam_size):
        for output in translation.outputs:
            assert output.max_tokens == 2
            assert output.num_tokens <= 2
            assert output.is_finished == (len(output.text.split()) < output.num_tokens)
    assert not short.translate(["a b c d e"], beam_size=1)[0].outputs[0].is_finished


def test_the_limit_grows_with_the_source(translator: Translator) -> None:
    assert translator.max_length(1) == 52
    assert translator.max_length(101) == 252
    own = with_decoding(translator, max_length_factor=0.5, max_length_extra=1, min_length=7)
    assert own.max_length(1) == 8  # room for the least length and the end mark
    assert own.max_length(100) == 51


def test_a_least_length_is_kept(translator: Translator) -> None:
    for beam_size in (1, 3):
        outputs = with_decoding(translator, min_length=9).translate(["a b", "c"], beam_size=beam_size)
        assert all(len(t.text.split()) >= 9 for t in outputs)


def test_the_length_penalty_is_the_runs_own(translator: Translator) -> None:
    for name in ("none", "average", "power:0.5", "gnmt:1"):
        penalty = parse_penalty(name)
        for translation in with_decoding(translator, length_penalty=name).translate(["a b c"], beam_size=3, n_best=3):
            for output in translation.outputs:
                assert output.score == pytest.approx(penalty.score(output.log_probability, output.num_tokens))


def test_pads_and_begin_marks_are_never_written(translator: Translator) -> None:
    with torch.no_grad():
        bias = dict(translator.model.named_parameters())["decoder.head.bias"]
        bias[[PAD, BOS]] += 100.0
    for beam_size in (1, 3):
        for [found, *_] in search(translator, ["a b"], beam_size):
            assert not {PAD, BOS} & set(found.ids)
            assert math.isfinite(found.log_probability)


def test_white_space_of_sources_is_normalized_only_when_asked(translator: Translator) -> None:
    text = "  a\u00a0\tb "
    data = translator.data.model_copy(update={"normalize_whitespace": True})
    spaced = Translator(translator.model, translator.tokenizers, data, translator.decoding)
    assert spaced.encode(text) == spaced.encode("a b")
    assert spaced.translate([text])[0].source == text
    assert spaced.translate([text])[0].outputs == spaced.translate(["a b"])[0].outputs


def test_unknown_words_are_translated_too(translator: Translator) -> None:
    ids = translator.encode("a zebra")
    assert ids[1:] == [1, EOS]
    assert translator.translate(["a zebra"])[0].outputs[0].is_finished
