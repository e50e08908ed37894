"""BLEU, chrF2 and TER equal the sacreBLEU command to the last digit it prints, signature included, on five files."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from seqline.evaluation.metrics import METRICS, MetricOptions
from seqline.evaluation.text_metrics import Score, ter

WIDTH = 12
TEXT = "the cat saw a red boat near The old Harbour and nobody slept , until it was 7.30 p.m."
EDGES = [
    '"Wait!" she said... (twice)',
    "He paid $1,299.99 - or was it 1.299,99 €?",
    "It's the dogs' bone; isn't it?",
    "  two spaces before, three   inside and two after  ",
    "a\ttab and a no\u00a0break space \u2003",
    "http://example.org/a_b?c=d&e=%20 / 50% & more",
    "well-known, state-of-the-art -- and 3-4 more",
    "&quot;Escaped&quot; &amp; &lt;b&gt;bold&lt;/b&gt;",
    "U.S.A. vs. U.K. No.5, 10:30 a.m.",
    "naïve Ångström – “quoted” ‘single’ … ½ ² №",
    "ﬁne e\u0301 vs é, İstanbul, ß vs SS",
    "? ? ! ! . .",
]
CHINESE = [
    "他今天不在家。",
    "我用 Python 3.12 写代码，你呢？",
    "“好的”，她说：明天见！",
    "北京２０２４年 的 冬天",
    "㐀𠀀生僻字",
    "价格：￥1,299.00",
]


def changed(lines: Sequence[str], seed: int) -> list[str]:
    """Return these lines with some words or characters taken out, said twice, moved or put in capitals."""
    chance = random.Random(seed)
    result = []
    for line in lines:
        units = line.split(" ") if " " in line else list(line)
        kept = [unit for unit in units if chance.random() > 0.1]
        if len(kept) > 3 and chance.random() < 0.5:
            place = chance.randrange(len(kept) - 1)
            kept = [*kept[place:], *kept[:place]]
        kept = [unit.upper() if chance.random() < 0.15 else unit for unit in kept]
        kept += kept[-1:] if chance.random() < 0.2 else []
        result.append((" " if " " in line else "").join(kept))
    return result


def sentences(seed: int, count: int) -> list[str]:
    chance = random.Random(seed)
    return [
        " ".join(chance.choices(TEXT.split(), k=chance.randint(1, 20))) + chance.choice(".!?") for _ in range(count)
    ]


def with_empty(lines: list[str]) -> list[str]:
    return ["" if row % 4 == 1 else "   " if row % 4 == 2 else line for row, line in enumerate(lines)]


PLAIN, EMPTY = sentences(1, 40), sentences(2, 16)
FILES = {
    "plain": (changed(PLAIN, 1), PLAIN, MetricOptions(), []),
    "chinese": (changed(CHINESE, 2), CHINESE, MetricOptions(tokenize="zh"), ["-tok", "zh"]),
    "lowercased": (changed(PLAIN, 3), PLAIN, MetricOptions(lowercase=True), ["-lc", "--chrf-lowercase"]),
    "empty lines": (with_empty(changed(EMPTY, 4)), [*EMPTY[:12], "", "", "", ""], MetricOptions(), []),
    "edges": ([f"{line} " for line in changed(EDGES, 5)], EDGES, MetricOptions(), []),
}


def command_scores(folder: Path, hypotheses: list[str], references: list[str], options: list[str]) -> list[Score]:
    """Run `sacrebleu` on two files, all three metrics at once."""
    for name, lines in (("out.txt", hypotheses), ("ref.txt", references)):
        (folder / name).write_bytes("".join(f"{line}\n" for line in lines).encode())
    files = [str(folder / "ref.txt"), "-i", str(folder / "out.txt")]
    what = ["-m", "bleu", "chrf", "ter", "--width", str(WIDTH), "-f", "json", "--force", *options]
    command = [sys.executable, "-m", "sacrebleu", *files, *what]
    printed = subprocess.run(command, capture_output=True, check=True, text=True, encoding="utf-8").stdout
    return [Score(record["name"], record["score"], record["signature"]) for record in json.loads(printed)]


@pytest.mark.parametrize("name", FILES)
def test_scores_and_signatures_equal_the_command(name: str, tmp_path: Path):
    hypotheses, references, options, arguments = FILES[name]
    expected = command_scores(tmp_path, hypotheses, references, arguments)
    scores = [METRICS[metric].score(hypotheses, references, options) for metric in ("bleu", "chrf", "ter")]
    assert [score._replace(value=float(f"{score.value:.{WIDTH}f}")) for score in scores] == expected
    assert all(0.0 < score.value < 100.0 for score in scores)


def test_ter_that_looks_at_case_equals_the_command(tmp_path: Path):
    hypotheses, references = FILES["plain"][:2]
    (*_, expected) = command_scores(tmp_path, hypotheses, references, ["--ter-case-sensitive"])
    score = ter(hypotheses, references, case_sensitive=True)
    assert (round(score.value, WIDTH), score.signature) == (expected.value, expected.signature)
    assert score.value > ter(hypotheses, references).value
