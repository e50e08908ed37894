"""`seqline demo`: the tour, with a few steps of training only."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seqline import tour
from seqline.errors import UserError
from seqline.run_folder import load_run
from seqline.tour import Row, as_table, show_translation, train_all, training
from seqline.translating.outputs import Output, Translation

from .conftest import Seqline


def test_the_table_is_aligned() -> None:
    rows = [Row("luong", 99.96, 100.0, 1_234_567, 61.4, 12_345.6), Row("encoder-decoder", 3.14, 0.0, 7, 0.2, 9.0)]
    lines = as_table(rows)
    assert lines[0].split() == ["model", "BLEU", "over", "25", "words", "parameters", "seconds", "tokens/s"]
    assert lines[1].split() == ["luong", "100.0", "100.0", "1,234,567", "61", "12,346"]
    assert lines[2].split() == ["encoder-decoder", "3.1", "0.0", "7", "0", "9"]
    assert len({len(line) for line in lines}) == 1


def test_outputs_say_how_they_ended() -> None:
    whole = Translation("a", (Output("b", -1.0, -2.0, 2, 52, True),))
    cut = Translation("a", (Output("b b", -1.0, -2.0, 52, 52, False),))
    assert show_translation(whole) == "b <eos>"
    assert show_translation(cut) == "b b ... (length limit, 52 pieces)"


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="exists already"):
        train_all(tmp_path, print, steps=1, num_pairs=20)
    assert list(tmp_path.iterdir()) == []


def test_the_default_folder_is_the_next_free_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from seqline.cli.demo import _free_folder

    def few(start: int) -> Iterator[int]:
        yield from range(start, 5)
        pytest.fail("every number is tried, until no memory is left")

    monkeypatch.setattr("seqline.cli.demo.count", few, raising=False)
    monkeypatch.chdir(tmp_path)
    assert _free_folder("demo") == Path("demo")
    Path("demo").mkdir()
    Path("demo-2").symlink_to("nowhere")
    assert _free_folder("demo") == Path("demo-3")


def test_after_a_failure_no_other_training_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []

    def train_one(name: str, *_: object) -> None:
        begun.append(name)
        if len(begun) == 1:
            raise UserError("training failed", where=name)
        time.sleep(0.5)

    monkeypatch.setattr(training, "_train_one", train_one)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    with pytest.raises(UserError, match="training failed"):
        train_all(tmp_path / "demo", lambda _: None, steps=1, num_pairs=20)
    assert len(begun) < len(tour.MODELS)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return the folder of a tour that hardly trained, and what was said."""
    folder = tmp_path_factory.mktemp("tour") / "demo"
    said: list[str] = []
    train_all(folder, said.append, steps=3, num_pairs=300)
    return folder, said


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_tour_trains_every_model_on_the_same_data(trained: tuple[Path, list[str]]) -> None:
    folder, said = trained
    assert said[0].startswith(f"{folder / 'data'}: 300 French-English pairs")
    runs = [load_run(folder / name) for name in tour.MODELS]
    assert [run.config.model.architecture for run in runs] == list(tour.MODELS)
    assert {run.manifest["steps"] for run in runs} == {3}
    assert len({run.manifest["data_sha256"] for run in runs}) == 1
    for name in tour.MODELS:
        assert any(line.startswith(f"  {name}: finished at step 3") for line in said)
    assert 26 <= len(tour.long_sentence(folder).split()) <= 32


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_command_tells_the_whole_tour(
    trained: tuple[Path, list[str]], seqline: Seqline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copy(folder: Path, say: Callable[[str], None]) -> None:
        shutil.copytree(trained[0], folder)

    monkeypatch.setattr(tour, "train_all", copy)
    ended = seqline("demo", "--out", tmp_path / "one")
    assert ended.code == 0
    for name in tour.MODELS:
        assert any(line.startswith(f"{name:<16}") for line in ended.lines)
    for sentence in tour.SENTENCES:
        assert sentence in ended.lines
    assert sum(line.startswith("t") and line[1].isdigit() for line in ended.lines if len(line) > 1) >= 4
    assert f"  seqline evaluate {tmp_path / 'one/luong'} {tmp_path / 'one/data'} --by-length" in ended.lines
    page = tmp_path / "one" / "index.html"
    assert ended.lines[-3] == f"The whole line as one page, for any browser, without a network: {page}"
    assert ended.lines[-1].startswith(f"  seqline studio {tmp_path / 'one/luong'} ")
    assert 500_000 < page.stat().st_size < 6_000_000
    ended = seqline("demo", "--out", tmp_path / "two", "--json")
    assert ended.code == 0
    found = json.loads(ended.lines[0])
    assert [row["name"] for row in found["rows"]] == list(tour.MODELS)
    assert list(found["translations"]) == list(tour.MODELS)
    assert all(len(made) == len(tour.SENTENCES) + 1 for made in found["translations"].values())
    assert found["timeline"][0]["t"] == 1
    assert found["page"] == str(tmp_path / "two" / "index.html")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_training_that_fails_ends_the_tour_with_its_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "MODELS", {"luonk": (1, [])})
    monkeypatch.setattr(training, "SLOWEST_FIRST", ("luonk",))
    with pytest.raises(UserError, match=r"training luonk ended with exit status 2; error: .*did you mean 'luong'"):
        train_all(tmp_path / "demo", lambda _: None, steps=1, num_pairs=20)
