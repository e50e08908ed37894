"""What `evaluate` finds: likelihoods against sums by hand, scores against sacrebleu itself."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import sacrebleu
import torch
from sacrebleu.metrics.chrf import CHRF

from seqline.config import Config
from seqline.data.text import PairSet
from seqline.data.tokenizer import BOS, EOS
from seqline.errors import UserError
from seqline.evaluation.alignment_metrics import GoldLinks
from seqline.judging.comparison import Resampling
from seqline.judging.page import page
from seqline.judging.systems import RunSystem
from seqline.report import Wanted, evaluate, likelihood
from seqline.translator import Translator

from .small_run import ReversingRun, letter_pairs, pair_set

RAGGED = pair_set(
    ("a", "a"),
    ("a b c d e f g h a b c d e f g h", "h"),
    ("b", "a b c d e f g h a b c d"),
    ("c d", "d c"),
    ("zebra", "a zebra"),
    ("e f g", "g f e"),
)
BLANK = pair_set(("a b", "b a"), ("", "c"), ("d", ""), ("", ""), (" \t", "e"), ("f", "f"))


@pytest.fixture
def translator(reversing_run: ReversingRun) -> Translator:
    """Return the small run's translator in float64."""
    loaded = Translator.load(reversing_run.folder)
    loaded.model.double()
    return loaded


def with_settings(translator: Translator, **changes: object) -> Translator:
    config = Config().replace(**{key.replace("__", "."): value for key, value in changes.items()})
    return Translator(translator.model, translator.tokenizers, config.data, config.decoding)


def nats_by_hand(translator: Translator, pairs: PairSet) -> tuple[float, int]:
    """Sum minus log p over the target pieces and the end mark, one pair at a time."""
    total, count = 0.0, 0
    for pair in pairs.pairs:
        source = torch.tensor([[*translator.tokenizers.source.encode(pair.source), EOS]])
        target = [*translator.tokenizers.target.encode(pair.target), EOS]
        with torch.no_grad():
            logits = translator.model(source, source >= 0, torch.tensor([[BOS, *target[:-1]]]))[0]
        for row, gold in zip(logits.tolist(), target, strict=True):
            top = max(row)
            total += top + math.log(math.fsum(math.exp(x - top) for x in row)) - row[gold]
            count += 1
    return total, count


@pytest.mark.parametrize("batch_tokens", [1, 20, 4096])
def test_the_likelihood_is_the_sum_by_hand_whatever_the_batch(translator: Translator, batch_tokens: int) -> None:
    total, count = nats_by_hand(translator, RAGGED)
    found = likelihood(with_settings(translator, decoding__batch_tokens=batch_tokens), RAGGED)
    assert found.num_tokens == count == sum(len(pair.target.split()) + 1 for pair in RAGGED.pairs)
    assert found.nats_per_token == pytest.approx(total / count, rel=1e-12)
    assert found.perplexity == pytest.approx(math.exp(total / count), rel=1e-12)
    characters = sum(len(pair.target) for pair in RAGGED.pairs)
    assert found.num_characters == characters
    assert found.nats_per_character == pytest.approx(total / characters, rel=1e-12)
    assert found.num_unknown == 1


def test_the_order_of_pairs_does_not_count(translator: Translator) -> None:
    turned = PairSet("turned", RAGGED.pairs[::-1])
    one, other = likelihood(translator, RAGGED), likelihood(translator, turned)
    assert one.nats_per_token == pytest.approx(other.nats_per_token, rel=1e-12)


def test_the_likelihood_depends_on_every_word_of_the_reference(translator: Translator) -> None:
    values = {
        likelihood(translator, pair_set(("a b c", target))).nats_per_token
        for target in ("c b a", "h b a", "c h a", "c b h", "c b", "c b a a")
    }
    assert len(values) == 6
    assert min(values) == likelihood(translator, pair_set(("a b c", "c b a"))).nats_per_token


def test_pairs_with_a_blank_side_have_no_likelihood(translator: Translator) -> None:
    assert likelihood(translator, BLANK) == likelihood(translator, pair_set(("a b", "b a"), ("f", "f")))
    with pytest.raises(UserError, match="pairs: no usable pairs"):
        likelihood(translator, pair_set(("a", ""), ("", "b")))


def test_an_impossible_reference_gives_a_finite_perplexity(translator: Translator) -> None:
    with torch.no_grad():
        translator.model.get_parameter("decoder.head.bias")[EOS] = -5000.0
    found = likelihood(translator, pair_set(("a", "a")))
    assert found.nats_per_token > 2000
    assert found.perplexity == pytest.approx(math.exp(700))


def test_long_pairs_are_scored_whole(translator: Translator) -> None:
    long = pair_set(("a b " * 300, "b a " * 300))
    assert likelihood(translator, long).num_tokens == 601


def test_bleu_and_chrf_are_sacrebleus_own(translator: Translator, reversing_run: ReversingRun) -> None:
    pairs = pair_set(
        *((source, reference.upper()) for source, reference in reversing_run.test[:20]), *reversing_run.test[20:]
    )
    report = evaluate(translator, pairs, lowercase=True)
    outputs = [translation.text for translation in report.translations]
    references = [[pair.target for pair in pairs.pairs]]
    assert outputs == [t.text for t in translator.translate([pair.source for pair in pairs.pairs])]
    expected = [
        sacrebleu.corpus_bleu(outputs, references).score,
        sacrebleu.corpus_bleu(outputs, references, lowercase=True).score,
        sacrebleu.corpus_chrf(outputs, references).score,
        CHRF(lowercase=True).corpus_score(outputs, references).score,
    ]
    names = ["BLEU", "BLEU", "chrF2", "chrF2", "exact match", "exact match"]
    assert [score.name for score in report.scores] == names
    assert [score.value for score in report.scores[:4]] == pytest.approx(expected, abs=1e-9)
    assert expected[0] < expected[1]
    is_lower = ["case:lc" in score.signature for score in report.scores]
    assert is_lower == [False, True, False, True, False, True]
    equal = sum(output == pair.target for output, pair in zip(outputs, pairs.pairs, strict=True))
    assert report.scores[4].value == pytest.approx(100 * equal / len(outputs))


def test_without_lowercase_the_scores_are_cased_alone(translator: Translator, reversing_run: ReversingRun) -> None:
    report = evaluate(translator, pair_set(*reversing_run.test))
    assert [score.name for score in report.scores] == ["BLEU", "chrF2", "exact match"]
    assert all("case:mixed" in score.signature for score in (report.scores[0], report.scores[2]))
    assert report.scores[0].value > 30.0


def test_references_never_reach_the_search(translator: Translator, reversing_run: ReversingRun) -> None:
    pairs = pair_set(*reversing_run.test)
    blind = PairSet("blind", [pair._replace(target="x") for pair in pairs.pairs])
    seen, unseen = (evaluate(translator, some) for some in (pairs, blind))
    assert [t.text for t in seen.translations] == [t.text for t in unseen.translations]
    assert [t.outputs for t in seen.translations] == [t.outputs for t in unseen.translations]
    assert seen.scores[0].value > unseen.scores[0].value


@pytest.mark.parametrize("lowercase", [False, True])
def test_the_lengths_cover_every_sentence(translator: Translator, lowercase: bool) -> None:
    pairs = PairSet("all", [*letter_pairs(30, seed=3, longest=60), *BLANK.pairs])
    report = evaluate(translator, pairs, beam_size=1, lowercase=lowercase)
    assert report.num_sentences == 36
    assert sum(bucket.num_sentences for bucket in report.by_length) == 36
    assert [bucket.label for bucket in report.by_length] == ["1-10", "11-20", "21-30", "31-40", "41-50", "over 50"]
    lengths = [len(pair.source.split()) for pair in pairs.pairs]
    short, long = report.short_and_long
    assert short.num_sentences == sum(length <= 10 for length in lengths)
    assert long.num_sentences == sum(length > 25 for length in lengths)


def test_blank_sources_count_as_sentences_with_a_blank_output(translator: Translator) -> None:
    report = evaluate(translator, BLANK)
    assert [bool(t.text) for t in report.translations] == [True, False, True, False, False, True]
    assert report.num_sentences == 6
    assert report.likelihood.num_tokens == 5


@pytest.mark.parametrize("beam_size", [1, 2, None])
def test_the_beam_is_what_was_asked_for(
    translator: Translator, reversing_run: ReversingRun, beam_size: int | None
) -> None:
    report = evaluate(translator, pair_set(*reversing_run.test), beam_size=beam_size)
    assert report.beam_size == (beam_size or 5)
    expected = translator.translate(reversing_run.sources, beam_size=beam_size)
    assert [t.text for t in report.translations] == [t.text for t in expected]


def test_batches_change_no_report_and_progress_is_told(translator: Translator, reversing_run: ReversingRun) -> None:
    pairs = pair_set(*reversing_run.test)
    done: list[int] = []
    one = evaluate(translator, pairs, batch_rows=1, on_done=done.append)
    assert sum(done) == 40
    assert one.scores == evaluate(translator, pairs).scores


def test_cut_outputs_are_counted(translator: Translator) -> None:
    short = with_settings(translator, decoding__max_length_factor=0.0, decoding__max_length_extra=2)
    report = evaluate(short, pair_set(("a b c d e", "e d c b a"), ("b c d e f", "f e d c b"), ("", "x")), beam_size=1)
    assert report.num_cut == 2
    assert evaluate(translator, RAGGED, beam_size=1).num_cut == 0


def test_white_space_of_references_is_normalized_where_sources_are(translator: Translator) -> None:
    spaced = with_settings(translator, data__normalize_whitespace=True)
    odd, plain = pair_set((" a  b", "b \u00a0 a ")), pair_set(("a b", "b a"))
    assert evaluate(spaced, odd).scores == evaluate(spaced, plain).scores
    assert likelihood(spaced, odd) == likelihood(spaced, plain)
    assert likelihood(translator, odd).num_characters == 6


def test_text_that_hampers_scores_is_warned_of(translator: Translator) -> None:
    report = evaluate(translator, pair_set(("a", "b @-@ c ."), ("c", "d n't")))
    assert any("look tokenized" in warning for warning in report.warnings)
    assert evaluate(translator, RAGGED).warnings == ()


def test_unsegmented_references_are_scored_by_character(translator: Translator) -> None:
    report = evaluate(translator, pair_set(("a", "我是学生"), ("b", "他吃苹果")))
    assert "tok:zh" in report.scores[0].signature
    assert report.warnings == ()


def test_nothing_to_score_is_refused(translator: Translator) -> None:
    with pytest.raises(UserError, match="empty: no usable pairs"):
        evaluate(translator, PairSet("empty", []))


def test_the_report_as_json_is_complete_and_strict(translator: Translator) -> None:
    report = evaluate(translator, RAGGED, lowercase=True)
    found = json.loads(json.dumps(report.as_json(), allow_nan=False))
    assert set(found) == {
        "run", "data", "version", "search", "num_sentences", "beam_size", "scores", "likelihood", "by_length",
        "short_and_long", "num_cut", "faults", "findings", "warnings", "worst",
    }  # fmt: skip
    assert [set(score) for score in found["scores"]] == [{"name", "value", "signature"}] * 6
    assert set(found["likelihood"]) == {
        "nats_per_token", "perplexity", "nats_per_character", "num_tokens", "num_characters", "num_unknown", "num_left_out",
    }  # fmt: skip
    assert found["likelihood"]["perplexity"] == report.likelihood.perplexity
    assert [bucket["label"] for bucket in found["by_length"]] == [bucket.label for bucket in report.by_length]
    assert found["short_and_long"][0]["longest"] == 10
    assert set(found["worst"][0]) == {"line", "source", "reference", "output", "chrf"}


def test_what_is_asked_for_is_added(translator: Translator) -> None:
    gold = [GoldLinks(frozenset(), frozenset())] * len(RAGGED.pairs)
    wanted = Wanted(("distinct", "ter"), ["a b c"], gold, against=RunSystem(translator), resampling=Resampling(50))
    report = evaluate(translator, RAGGED, beam_size=1, wanted=wanted)
    found = json.loads(json.dumps(report.as_json(), allow_nan=False))
    assert {"against", "diversity", "by_frequency", "alignment"} <= set(found)
    assert [test["name"] for test in found["against"]["tests"]] == [
        "BLEU", "chrF2", "exact match", "TER", "nats per character",
    ]  # fmt: skip
    assert {test["p_randomization"] for test in found["against"]["tests"]} == {1.0}
    assert (report.warnings, found["against"]["gains"], found["against"]["losses"]) == ((), [], [])
    assert report.comparison is not None
    assert report.comparison.likelihood == report.likelihood


def test_another_search_is_another_system_and_said(translator: Translator) -> None:
    other = translator.with_decoding(beam_size=1, length_penalty="none")
    report = evaluate(translator, RAGGED, wanted=Wanted(against=RunSystem(other), resampling=Resampling(50)))
    assert report.warnings == (
        "decoding.beam_size differs: 5 here, 1 in the other run",
        "decoding.length_penalty differs: average here, none in the other run",
    )
    same = evaluate(translator, RAGGED, beam_size=1, wanted=Wanted(against=RunSystem(other), resampling=Resampling(50)))
    assert same.warnings == ("decoding.length_penalty differs: average here, none in the other run",)


def test_an_unknown_metric_is_refused_before_the_search(translator: Translator) -> None:
    done: list[int] = []
    with pytest.raises(UserError, match="unknown metric 'tre'; did you mean 'ter'"):
        evaluate(translator, RAGGED, on_done=done.append, wanted=Wanted(("tre",)))
    assert done == []


def test_the_worst_sentences_have_the_lines_of_the_file(translator: Translator) -> None:
    later = PairSet("later", [pair._replace(line=pair.line + 100) for pair in RAGGED.pairs])
    worst = evaluate(translator, later, beam_size=1).judged.worst
    assert {one.line for one in worst} <= set(range(101, 107))
    assert [one.chrf for one in worst] == sorted(one.chrf for one in worst)


def test_the_page_is_written_in_place_of_an_older_one(translator: Translator, tmp_path: Path) -> None:
    report = evaluate(translator, RAGGED, beam_size=1)
    (tmp_path / "a.html").write_text("old")
    report.save(tmp_path / "a.html")
    document = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert document == page(report.as_json())
    assert "zebra" in document
    with pytest.raises(UserError):
        report.save(tmp_path)
