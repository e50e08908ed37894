"""Scores equal the sacreBLEU command's; text that no score should be made of is refused or warned of."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqline.errors import UserError
from seqline.evaluation.text_checks import choose_tokenizer, is_unsegmented, looks_tokenized, text_warnings
from seqline.evaluation.text_metrics import (
    bleu,
    bleu_by_length,
    chrf,
    exact_match,
    short_and_long,
    source_lengths,
)

REFERENCES = ["The little cat doesn't sleep.", "We left at noon, as planned.", "Nobody saw the red boat."]
HYPOTHESES = ["The small cat doesn't sleep.", "We left at noon, as planned.", "Nobody saw a red boat."]
SUBWORDS = ["The sm@@ all cat does n&apos;t sleep .", "We left at noon , as plan@@ ned .", "Nobody saw a red boat ."]
CHINESE = ["他今天不在家。"]
JAPANESE = ["彼は今日家にいません。", "これはペンです。"]
THAI = ["วันนี้เขาไม่อยู่บ้าน", "ฉันชอบกินข้าวผัด และดื่มน้ำ"]


def command_scores(folder: Path, hypotheses: list[str], references: list[str], *options: str) -> list[dict[str, str]]:
    """Run `sacrebleu` on two files; return its records, BLEU then chrF2."""
    (folder / "out.txt").write_text("\n".join(hypotheses) + "\n", encoding="utf-8")
    (folder / "ref.txt").write_text("\n".join(references) + "\n", encoding="utf-8")
    files = [str(folder / "ref.txt"), "-i", str(folder / "out.txt"), "-m", "bleu", "chrf", "-w", "6", "-f", "json"]
    command = [sys.executable, "-m", "sacrebleu", *files, *options]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True, encoding="utf-8").stdout)


def noisy_corpus(seed: int, num_lines: int = 150) -> tuple[list[str], list[str]]:
    """Return hypotheses and references: mixed case, punctuation, numbers, an empty line, a few words changed."""
    chance = random.Random(seed)
    words = [
        "The",
        "cat",
        "Élan",
        "won't",
        "3.14",
        "(maybe)",
        "U.S.",
        "naïve",
        "über-cool",
        "£5",
        "of",
        "and",
        "&",
        "«oui»",
    ]
    references = [
        " ".join(chance.choices(words, k=chance.randint(1, 30))) + chance.choice(".!?") for _ in range(num_lines)
    ]
    hypotheses = [
        " ".join(chance.choice(words) if chance.random() < 0.2 else word for word in line.split())
        for line in references
    ]
    hypotheses[0], hypotheses[1] = "", hypotheses[1].lower()
    return hypotheses, references


@pytest.mark.parametrize(
    ("hypotheses", "references", "lowercase", "tokenize"),
    [
        pytest.param(HYPOTHESES, REFERENCES, False, "13a", id="three lines"),
        pytest.param(*noisy_corpus(1), False, "13a", id="cased"),
        pytest.param(*noisy_corpus(2), True, "13a", id="lowercased"),
        pytest.param(*noisy_corpus(3), False, "intl", id="intl"),
        pytest.param([CHINESE[0], "他明天在家。"], [CHINESE[0], "她明天也在家。"], False, "zh", id="chinese"),
        pytest.param(["彼は家にいます。", JAPANESE[1]], JAPANESE, False, "char", id="japanese"),
    ],
)
def test_scores_equal_the_sacrebleu_command(
    hypotheses: list[str], references: list[str], lowercase: bool, tokenize: str, tmp_path: Path
):
    options = ["-tok", tokenize, *(["--lowercase", "--chrf-lowercase"] if lowercase else [])]
    expected = command_scores(tmp_path, hypotheses, references, *options)
    scores = [
        bleu(hypotheses, references, lowercase=lowercase, tokenize=tokenize),
        chrf(hypotheses, references, lowercase=lowercase),
    ]
    assert [(s.name, round(s.value, 6), s.signature) for s in scores] == [
        (record["name"], record["score"], record["signature"]) for record in expected
    ]


def test_bleu_of_raw_text_with_its_signature():
    score = bleu(HYPOTHESES, REFERENCES)
    assert str(score).startswith("BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert str(score).endswith(" = 70.09")
    assert str(chrf(HYPOTHESES, REFERENCES)).endswith(" = 78.40")
    assert str(bleu(REFERENCES, REFERENCES)).endswith(" = 100.00")
    assert str(chrf(REFERENCES, REFERENCES)).endswith(" = 100.00")
    assert text_warnings(HYPOTHESES, REFERENCES) == []


@pytest.mark.parametrize("metric", [bleu, chrf])
def test_subword_marks_are_refused_by_line(metric):
    with pytest.raises(UserError, match=r"lines 1 and 2 .*'@@'"):
        metric(SUBWORDS, REFERENCES)
    with pytest.raises(UserError, match=r"line 3 still carries .*'▁'"):
        metric([*HYPOTHESES[:2], "▁Nobody ▁saw"], REFERENCES)
    with pytest.raises(UserError, match=r"lines 1, 2, 3, 4, 5 and 7 more still carry"):
        metric(["cut@@"] * 12, ["cut"] * 12)


def test_at_signs_inside_a_word_are_no_subword_mark():
    line = "mail a@@b.org or @@here or @me today"
    assert bleu([line], [line]).value == pytest.approx(100.0)


def test_tokenized_text_is_scored_with_a_warning():
    tokenized = [line.replace("@@ ", "") for line in SUBWORDS]
    assert str(bleu(tokenized, REFERENCES)).endswith(" = 44.48")
    assert looks_tokenized(tokenized) == [1, 2, 3]
    (warning,) = text_warnings(tokenized, REFERENCES)
    assert "all 3 hypothesis lines look tokenized (lines 1, 2 and 3)" in warning


def test_one_odd_line_in_many_is_no_warning():
    hypotheses = [*["A plain line."] * 19, "An odd line ."]
    assert looks_tokenized(hypotheses) == [20]
    assert text_warnings(hypotheses, ["A plain line."] * 20) == []
    (warning,) = text_warnings(["A line ."] * 2 + ["A plain line."] * 18, ["A plain line."] * 20)
    assert "2 of 20 hypothesis lines" in warning


def test_french_spaces_are_not_taken_for_tokenized():
    assert looks_tokenized(["Il est 7 h 30, Ana !", "Vraiment ? Oui : « vingt » ; c'est tout…"]) == []


def test_references_with_subword_marks_are_warned_of():
    (warning,) = text_warnings(HYPOTHESES, ["The lit@@ tle cat", *REFERENCES[1:]])
    assert "references (line 1)" in warning


def test_chinese_needs_a_tokenizer_that_fits():
    assert str(bleu(CHINESE, CHINESE, tokenize="zh")).endswith(" = 100.00")
    assert str(bleu(CHINESE, CHINESE)).endswith(" = 0.00")
    (warning,) = text_warnings(CHINESE, CHINESE)
    assert "the tokenizer 13a does not fit" in warning
    assert "zh" in warning
    assert text_warnings(CHINESE, CHINESE, tokenize="zh") == []
    assert text_warnings(CHINESE, CHINESE, tokenize="auto") == []


@pytest.mark.parametrize(
    ("lines", "chosen"),
    [
        (REFERENCES, "13a"),
        (CHINESE, "zh"),
        (["我用 Python 写代码。", "今天天气很好，我们去公园吧。"], "zh"),
        (["他 今天 不 在 家 。"], "13a"),
        (JAPANESE, "char"),
        (THAI, "char"),
        (["오늘 그는 집에 없습니다."], "13a"),
        (["He said 你好 to everybody in the room, and nobody answered."], "13a"),
        ([""], "13a"),
    ],
)
def test_auto_takes_the_tokenizer_that_fits(lines: list[str], chosen: str):
    assert choose_tokenizer(lines) == chosen
    assert is_unsegmented(lines) == (chosen != "13a")
    assert f"|tok:{chosen}|" in bleu(lines, lines, tokenize="auto").signature


def test_unknown_tokenizer_names_the_nearest():
    with pytest.raises(UserError, match=r"'13b'.*did you mean '13a'"):
        bleu(HYPOTHESES, REFERENCES, tokenize="13b")


def test_exact_match_is_a_share_in_percent():
    assert exact_match(HYPOTHESES, REFERENCES).value == pytest.approx(100 / 3)
    assert exact_match(["a", "B", "c ", ""], ["a", "b", "c", ""]).value == 50.0


@pytest.mark.parametrize("metric", [bleu, chrf, exact_match])
def test_empty_and_unequal_inputs_are_refused(metric):
    with pytest.raises(UserError, match="nothing to score"):
        metric([], [])
    with pytest.raises(UserError, match="3 hypotheses and 2 references"):
        metric(HYPOTHESES, REFERENCES[:2])


def test_buckets_hold_each_sentence_once_and_score_as_alone():
    hypotheses, references = noisy_corpus(4)
    sources = [" ".join(["w"] * (1 + i % 60)) for i in range(len(references))]
    buckets = bleu_by_length(sources, hypotheses, references)
    assert [b.label for b in buckets] == ["1-10", "11-20", "21-30", "31-40", "41-50", "over 50"]
    assert [b.num_sentences for b in buckets] == [30, 30, 30, 20, 20, 20]
    second = [i for i, source in enumerate(sources) if 11 <= len(source.split()) <= 20]
    assert buckets[1].bleu == bleu([hypotheses[i] for i in second], [references[i] for i in second]).value
    short, long = short_and_long(sources, hypotheses, references)
    assert short == buckets[0]
    assert (long.label, long.num_sentences) == ("over 25", 75)


def test_bucket_ratio_and_empty_buckets():
    buckets = bleu_by_length(["a b", "", "c " * 12], ["x y", "", "x"], ["x y z w", "", "x y"], edges=(10, 20))
    assert [(b.num_sentences, b.length_ratio) for b in buckets] == [(2, 0.5), (1, 0.5), (0, None)]
    assert buckets[2].bleu is None
    (blank, _) = bleu_by_length(["a"], [""], [""], edges=(10,))
    assert (blank.bleu, blank.length_ratio) == (0.0, None)


def test_lengths_are_characters_where_no_spaces_are_written():
    assert source_lengths(["The cat  sleeps.", ""]) == ([3, 0], "words")
    assert source_lengths([*CHINESE, "你好 吗"]) == ([7, 3], "characters")
    (bucket, rest) = bleu_by_length(CHINESE, ["He is out"], ["He is out today"], edges=(7,))
    assert (bucket.unit, bucket.num_sentences, rest.num_sentences) == ("characters", 1, 0)


def test_bucket_inputs_are_checked():
    with pytest.raises(UserError, match="2 sources and 3 hypotheses"):
        bleu_by_length(["a", "b"], HYPOTHESES, REFERENCES)
    with pytest.raises(UserError, match="lines 1 and 2"):
        short_and_long(REFERENCES, SUBWORDS, REFERENCES)
    with pytest.raises(ValueError, match="edges"):
        bleu_by_length(REFERENCES, HYPOTHESES, REFERENCES, edges=(20, 10))


@given(st.lists(st.text(st.characters(exclude_characters="▁@"), max_size=40), min_size=1, max_size=8))
def test_any_text_scores_between_0_and_100(lines: list[str]):
    for tokenize in ("auto", "13a", "zh", "char"):
        assert 0.0 <= bleu(lines, lines[::-1], tokenize=tokenize).value <= 100.0 + 1e-9
    assert 0.0 <= chrf(lines, lines[::-1]).value <= 100.0 + 1e-9
    assert exact_match(lines, lines).value == 100.0
    assert sum(b.num_sentences for b in bleu_by_length(lines, lines, lines)) == len(lines)
    assert all(isinstance(warning, str) for warning in text_warnings(lines, lines[::-1]))
