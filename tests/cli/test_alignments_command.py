"""`--alignments` of translate and evaluate: columns, fields, figures, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seqline.translator import Translator

from ..small_run import ReversingRun
from .conftest import Refused, Seqline


@pytest.fixture
def gold(reversing_run: ReversingRun, tmp_path: Path) -> Path:
    lengths = [len(source.split()) for source in reversing_run.sources]
    lines = [" ".join(f"{n - 1 - j}-{j}" for j in range(n)) for n in lengths]
    path = tmp_path / "gold.pharaoh"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_columns_and_fields(seqline: Seqline, reversing_run: ReversingRun) -> None:
    sources = ["a b c", "", "d e"]
    made = Translator.load(reversing_run.folder).translate(sources, n_best=2, alignments=True)
    data = "".join(f"{source}\n" for source in sources).encode()
    options = ("-", "--n-best", "2", "--alignments")
    expected = [
        [cell for o in t.outputs for cell in (o.text, " ".join(f"{i}-{j}" for i, j in o.alignment or ()))] for t in made
    ]
    ended = seqline("translate", reversing_run.folder, *options, stdin=data)
    assert (ended.code, ended.stderr) == (0, "")
    assert [line.split("\t") for line in ended.stdout.decode().split("\n")[:-1]] == expected
    assert "-" in expected[0][1]
    assert expected[1] == ["", ""]
    records = [
        json.loads(line) for line in seqline("translate", reversing_run.folder, *options, "--json", stdin=data).lines
    ]
    links = [[[list(link) for link in o.alignment or ()] for o in t.outputs] for t in made]
    assert [[o["alignments"] for o in record["outputs"]] for record in records] == links
    assert [record["alignments"] for record in records] == [row[0] for row in links]
    assert all("alignment" not in o for record in records for o in record["outputs"])


def test_the_error_rate_as_text_and_for_machines(seqline: Seqline, reversing_run: ReversingRun, gold: Path) -> None:
    arguments = ("evaluate", reversing_run.folder, reversing_run.data, "--beam", "1", "--alignments", gold)
    found = json.loads(seqline(*arguments, "--json").stdout)["alignment"]
    both = found["num_found"] + found["num_sure"]
    right = found["num_found_sure"] + found["num_found_possible"]
    assert found["error_rate"] == pytest.approx(1 - right / both)
    assert seqline(*arguments, "--align-layer", "0").lines[-1] == (
        f"alignment error rate = {found['error_rate']:.4f} (precision {found['precision']:.4f}, "
        f"recall {found['recall']:.4f}; {found['num_found']:,} links, {found['num_sure']:,} sure ones in the gold)"
    )
    plain = json.loads(seqline(*arguments[:-2], "--json").stdout)
    assert "alignment" not in plain


def test_what_is_refused(refused: Refused, reversing_run: ReversingRun, gold: Path) -> None:
    run, data = reversing_run.folder, reversing_run.data
    assert "--align-layer: has no meaning without --alignments" in refused("translate", run, "--align-layer", "0")
    assert "--align-head: has no meaning without --alignments" in refused("evaluate", run, data, "--align-head", "0")
    assert "has 1 layer, got layer 4" in refused("translate", run, "--alignments", "--align-layer", "4", stdin=b"a\n")
    gold.write_text("0-0\n")
    assert "1 lines of links for 40 pairs" in refused("evaluate", run, data, "--alignments", gold)
    gold.write_text("0-0\n0_0\n")
    assert f"{gold}:2: expected links such as 0-0" in refused("evaluate", run, data, "--alignments", gold)
    assert "none.pharaoh" in refused("evaluate", run, data, "--alignments", "none.pharaoh")
