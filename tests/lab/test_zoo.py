"""The zoo: equal wishes are one model, settings reach the run, corpora are made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from seqline.comparing.plan import Plan, Planned
from seqline.comparing.training import Ended
from seqline.config import load_config
from seqline.errors import UserError
from seqline.lab import corpora, pair
from seqline.lab.experiment import Wanted
from seqline.lab.held_out import read_test
from seqline.lab.laboratory import Lab
from seqline.lab.zoo import config_of, name_of, run_folder
from seqline.run import train
from seqline.run_folder import load_run, read_manifest
from seqline.translator import Translator

from ..comparing.small import InProcess, letters, never
from .small_lab import SETTINGS, make_letters, small_lab, wanted


def test_equal_wishes_are_one_model_whatever_the_order_of_their_settings(tmp_path: Path) -> None:
    begun: list[str] = []

    def start(plan: Plan, run: Planned, is_resumed: bool) -> InProcess:
        begun.append(run.name)
        return InProcess(plan, run, is_resumed)

    lab = small_lab(tmp_path / "lab", start=start)
    same = wanted(settings=tuple(reversed(SETTINGS)))
    assert same == wanted()
    assert lab.train([wanted(), same, wanted(2)]) == {}
    assert begun == [name_of(lab, wanted()), name_of(lab, wanted(2))]
    assert small_lab(tmp_path / "lab", start=never).run(same).name == begun[0]


def test_a_model_is_trained_as_it_was_wished(tmp_path: Path) -> None:
    lab = small_lab(tmp_path / "lab")
    run = lab.run(wanted(3))
    config = load_run(run).config
    assert (config.training.max_steps, config.training.seed, config.training.patience) == (2, 3, 0)
    assert (config.model.architecture, config.model.settings["hidden_size"]) == ("encoder-decoder", 8)
    assert Translator.load(run).translate(["a b"])


def test_every_wish_changes_the_name_and_the_name_says_the_data_the_architecture_and_the_seed(tmp_path: Path) -> None:
    lab = small_lab(tmp_path / "lab")
    others = [
        wanted(2),
        wanted(quick_steps=3),
        wanted(arch="luong"),
        wanted(settings=(*SETTINGS, ("model.dropout", 0.1))),
        wanted(task="tagging"),
        wanted(data="more"),
    ]
    names = {name_of(lab, each) for each in (wanted(), *others)}
    assert len(names) == 7
    assert all(name.startswith(("letters-", "more-")) for name in names)
    assert name_of(lab, wanted(2)).startswith("letters-encoder-decoder-")
    assert name_of(lab, wanted(2)).endswith("-seed2")
    assert name_of(lab, wanted(steps=5)) == name_of(lab, wanted())  # of the whole lab, and this is the quick one


def test_the_scale_gives_steps_seeds_and_choices(tmp_path: Path) -> None:
    quick, full = small_lab(tmp_path), small_lab(tmp_path, is_quick=False)
    assert (quick.steps(wanted()), full.steps(wanted())) == (2, 4)
    assert (list(quick.seed_numbers()), list(full.seed_numbers())) == ([1], [1, 2, 3])
    assert list(small_lab(tmp_path, seeds=2).seed_numbers()) == [1, 2]
    assert (quick.pick("all", "few"), full.pick("all", "few")) == ("few", "all")
    assert small_lab(tmp_path, is_quick=False, most_steps=3).steps(wanted()) == 3


def test_a_warm_up_is_no_longer_than_the_training(tmp_path: Path) -> None:
    config = config_of(small_lab(tmp_path), wanted(settings=(("training.warmup_steps", 50),)))
    assert config.training.warmup_steps == 2


def test_a_corpus_is_made_once_and_whole(tmp_path: Path) -> None:
    made: list[Path] = []

    def flat(folder: Path, _lab: Lab) -> None:
        made.append(folder)
        make_letters(folder, _lab)

    def broken(folder: Path, _lab: Lab) -> None:
        make_letters(folder, _lab)
        raise UserError("no more letters")

    lab = small_lab(tmp_path / "lab", corpora={"letters": flat, "broken": broken})
    assert lab.corpus("letters") == lab.corpus("letters") == tmp_path / "lab" / "data" / "letters"
    assert len(made) == 1
    assert sorted(path.name for path in lab.corpus("letters").iterdir()) == ["test.tsv", "train.tsv", "valid.tsv"]
    with pytest.raises(UserError, match="no more letters"):
        lab.corpus("broken")
    assert [path.name for path in (tmp_path / "lab" / "data").iterdir()] == ["letters"]
    with pytest.raises(UserError, match="did you mean 'letters'"):
        lab.corpus("lettres")


def test_the_pair_is_the_toy_pair_or_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "NUM_TOY_PAIRS", 40)
    toy = Lab(tmp_path / "toy", is_quick=True)
    assert toy.toy_name == "pair"
    assert (toy.corpus("pair") / "alignments" / "test.pharaoh").is_file()
    mine = Lab(tmp_path / "mine", is_quick=True, data=letters(tmp_path / "data"))
    assert mine.toy_name == "toy"
    assert (mine.corpus("pair") / "test.tsv").read_bytes() == (tmp_path / "data" / "test.tsv").read_bytes()


def test_targets_of_a_script_without_spaces_are_counted_in_characters(tmp_path: Path) -> None:
    data = letters(tmp_path / "data")
    lines = [("a b c", "我喜欢音乐"), ("d e", "你好"), *[("f", "我们一起去公园散步")] * 9]
    (data / "test.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in lines), "utf-8")
    lab = Lab(tmp_path / "lab", data=data)
    assert [target for _, target in read_test(lab, "pair", at_least=3, at_most=6)] == ["我喜欢音乐"]


def test_models_of_the_users_corpus_learn_as_long_as_asked(tmp_path: Path) -> None:
    data = letters(tmp_path / "data")
    for is_quick, default in ((False, pair.USER_STEPS), (True, pair.QUICK_STEPS)):
        asked, unasked = (Lab(tmp_path / "lab", is_quick, data=data, data_steps=steps) for steps in (7, None))
        for make in (pair.attention, pair.transformer):
            assert asked.steps(make(asked, 1)) == 7
            assert unasked.steps(make(unasked, 1)) == default
            assert name_of(asked, make(asked, 1)) != name_of(unasked, make(unasked, 1))
            assert asked.steps(make(asked, 1, is_toy=True)) == unasked.steps(make(unasked, 1, is_toy=True)) > 7


def test_what_cannot_be_trained_is_told(tmp_path: Path) -> None:
    lab = small_lab(tmp_path / "lab")
    bad = wanted(arch="encoder-decode")
    assert "did you mean 'encoder-decoder'" in lab.train([bad, wanted()])[bad]
    with pytest.raises(UserError, match="did you mean"):
        lab.run(bad)
    diverging = Wanted("letters", "encoder-decoder", settings=(*SETTINGS, ("training.learning_rate", 1e30),
                       ("training.clip_norm", 0.0)), quick_steps=4)  # fmt: skip
    with pytest.raises(UserError, match=name_of(lab, diverging)):
        lab.run(diverging)


class Interrupted(InProcess):
    """A training that a signal ends after a step or two."""

    def __init__(self, plan: Plan, planned: Planned, is_resumed: bool) -> None:
        folder = plan.run_folder(planned)

        def has_learned() -> str | None:
            log = folder / "metrics.jsonl"
            return "interrupted" if log.exists() and log.stat().st_size else None

        trained = train(load_config(plan.config_file(planned)), folder, should_stop=has_learned)
        self.ended = Ended(0, {"error": None, "ended": trained.result.reason}, "")


def test_a_training_that_was_interrupted_goes_on(tmp_path: Path) -> None:
    wish = wanted(quick_steps=6)
    first = small_lab(tmp_path / "lab", start=Interrupted)
    assert first.train([wish]) == {wish: "its training was interrupted"}
    begun: list[bool] = []

    def start(plan: Plan, run: Planned, is_resumed: bool) -> InProcess:
        begun.append(is_resumed)
        return InProcess(plan, run, is_resumed)

    lab = small_lab(tmp_path / "lab", start=start)
    assert 0 < read_manifest(run_folder(lab, wish))["steps"] < 6
    assert read_manifest(lab.run(wish))["steps"] == 6
    assert begun == [True]
