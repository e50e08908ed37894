"""Systems that are judged: outputs read from a file, a run that is asked, and what each knows of itself."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from seqline.errors import UserError
from seqline.judging.systems import RunSystem, Search, likelihood, read_outputs
from seqline.translator import Translator

from ..small_run import ReversingRun, pair_set

PAIRS = pair_set(("a", "one"), ("b", "two"), ("c", "three"))


@pytest.fixture(scope="module")
def translator(reversing_run: ReversingRun) -> Translator:
    return Translator.load(reversing_run.folder)


def test_a_file_gives_one_output_a_pair(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("eins\n\nja ja ja ja ja ja ja ja ja ja ja ja ja ja ja ja\n", encoding="utf-8")
    system = read_outputs(str(path), PAIRS)
    found = system.answer(PAIRS, Search())
    assert found.texts[:2] == ("eins", "")
    assert found.is_loop == (False, False, True)
    assert (found.is_cut, found.is_truncated) == ((False,) * 3, (False,) * 3)
    assert (found.name, found.search, system.num_searches) == (str(path), "", 0)
    assert system.likelihood(PAIRS) is None
    assert system.settings(Search()) == {}


def test_a_file_may_be_compressed(tmp_path: Path) -> None:
    (tmp_path / "out.gz").write_bytes(gzip.compress(b"x\ny\nz\n"))
    assert read_outputs(str(tmp_path / "out.gz"), PAIRS).lines == ("x", "y", "z")


@pytest.mark.parametrize(("text", "count"), [("a\nb\n", "2"), ("a\nb\nc\nd", "4"), ("", "0")])
def test_another_number_of_lines_is_refused_with_both_counts(tmp_path: Path, text: str, count: str) -> None:
    path = tmp_path / "out.txt"
    path.write_text(text)
    with pytest.raises(UserError, match=f"^{path}: {count} lines for the 3 pairs of pairs; give one output a line"):
        read_outputs(str(path), PAIRS)


def test_outputs_in_pieces_are_refused_by_the_name_of_their_file(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("on@@ e\ntwo\nthree\n")
    with pytest.raises(UserError, match=f"^{path}: line 1 still carries the subword mark '@@'; join"):
        read_outputs(str(path), PAIRS)


def test_a_run_answers_with_its_translations(translator: Translator, reversing_run: ReversingRun) -> None:
    pairs = pair_set(*reversing_run.test)
    done: list[int] = []
    system = RunSystem(translator)
    found = system.answer(pairs, Search(1, 7, done.append))
    assert list(found.texts) == [t.text for t in translator.translate(reversing_run.sources, beam_size=1)]
    assert (found.name, found.search) == (str(reversing_run.folder), "greedy")
    assert system.answer(pairs, Search()).search == "beam 5"
    assert sum(done) == 40


def test_a_run_knows_what_should_be_equal(translator: Translator) -> None:
    found = RunSystem(translator).settings(Search(3))
    assert found["decoding.beam_size"] == 3
    assert found["data.fingerprint"] == translator.data.fingerprint != ""
    assert "decoding.batch_tokens" not in found


def test_what_each_pair_adds_makes_the_likelihood(translator: Translator) -> None:
    pairs = pair_set(("a b", "b a"), ("", "x"), ("c", ""), ("c d e", "e d c"))
    found = likelihood(translator, pairs)
    nats, characters = found.statistics.T
    assert characters.tolist() == [3, 0, 0, 5]
    assert (nats[[0, 3]] > 0).all()
    assert nats.sum() / characters.sum() == pytest.approx(found.nats_per_character)
    alone = likelihood(translator, pair_set(pairs.pairs[3][:2])).statistics
    assert np.allclose(alone, found.statistics[3:], rtol=1e-4)
    assert found.num_left_out == 0


def test_pairs_beyond_the_positions_of_a_model_are_left_out_and_counted(reversing_run: ReversingRun) -> None:
    translator = Translator.load(reversing_run.folder)
    # As a model with learned positions has it; end marks count.
    translator.members.longest = translator.members.sides[0].longest = 4
    pairs = pair_set(("a b c", "c b a"), ("a b c d", "a"), ("a", "a b c d"), ("d e", "e d"))
    found = likelihood(translator, pairs)
    assert found.statistics[:, 1].tolist() == [5, 0, 0, 3]
    assert (found.num_left_out, found.num_tokens) == (2, 7)
    with pytest.raises(UserError, match="pairs: no usable pairs"):
        likelihood(translator, pair_set(("a b c d", "a")))
