"""bottleneck, static-context and recency: measurements on models whose answer is known, and verdicts on planted numbers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.decoding.greedy import greedy
from seqline.evaluation.alignment_metrics import parse_gold
from seqline.lab import bottleneck, exchanged, recency, static_context
from seqline.lab.estimates import Estimate
from seqline.lab.exchanged import STEPS_OF_EXCHANGE, Exchanged, count, followed, shifted
from seqline.lab.forced import Batch, kl, log_probs
from seqline.lab.gold import GoldSplit
from seqline.lab.laboratory import Lab
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.state import Encoded, select

VOCAB = 11


def small(arch: str, **settings: object) -> EncoderDecoder:
    """Return an untrained model of eleven words."""
    torch.manual_seed(1)
    recipe = ARCHITECTURES[arch]
    given = {**recipe.sizes["tiny"], "embed_size": 8, "hidden_size": 8, "dropout": 0.0, **settings}
    assert recipe.build is not None
    return recipe.build(recipe.settings(**given), Vocabulary(VOCAB, VOCAB, is_shared=False)).eval()


def batch(model: EncoderDecoder, rows: int = 4, steps: int = 6) -> Batch:
    """Return random sources of several lengths and targets; the last row ends two steps early."""
    draws = torch.Generator().manual_seed(2)
    ids = torch.randint(4, VOCAB, (rows, 7), generator=draws)
    is_real = torch.arange(7) < torch.tensor([7, 5, 6, 4][:rows])[:, None]
    wanted = torch.randint(4, VOCAB, (rows, steps), generator=draws)
    inputs = torch.cat([torch.full((rows, 1), 2), wanted[:, :-1]], dim=1)
    is_said = torch.ones(rows, steps, dtype=torch.bool)
    is_said[-1, -2:] = False
    with torch.no_grad():
        return Batch(model.encoder(ids, is_real), inputs, wanted, is_said)


def test_kl_is_that_of_torch_and_nothing_of_like_distributions() -> None:
    p, q = (torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(s)).log_softmax(-1) for s in (1, 2))
    wanted = torch.nn.functional.kl_div(q, p, log_target=True, reduction="none").sum(-1)
    torch.testing.assert_close(kl(p, q), wanted)
    assert kl(p, p).abs().max() == 0


def test_one_that_is_never_fed_cannot_read_again() -> None:
    model = small("encoder-decoder")
    found = exchanged.reread(model, batch(model), 6)
    assert np.nanmax(found) == 0
    assert np.isnan(found[-1, -2:]).all()


@pytest.mark.parametrize("arch", ["contextual", "luong"])
def test_one_that_is_fed_reads_again_at_every_step(arch: str) -> None:
    model = small(arch)
    found = exchanged.reread(model, batch(model), 6)
    assert np.nanmin(found) > 0


@pytest.mark.parametrize("arch", ["encoder-decoder", "contextual", "luong"])
def test_the_first_step_is_the_same_read_again_or_swapped_but_for_the_state(arch: str) -> None:
    model = small(arch)
    led = batch(model)
    with torch.no_grad():
        memory = model.decoder.prepare(led.encoded)
        whole = log_probs(model, memory, led)
        state = model.decoder.initial_state(memory, 4)
        first, _ = model.decoder(led.inputs[:, :1], state, memory, led.is_real[:, :1])
    torch.testing.assert_close(whole[:, :1], first.log_softmax(-1))
    swapped = exchanged.swapped(model, led)
    assert np.nanmin(swapped) > 0
    assert np.isnan(swapped[-1, -2:]).all()


def test_the_gradient_is_that_of_a_small_change() -> None:
    model = small("luong").double()
    led = batch(model)
    norms = exchanged.gradient(model, led, 3)
    row, step, eps = 1, 2, 1e-6
    size = led.encoded.outputs[row].numel()
    many = select(
        led, torch.full((2 * size,), row)
    )  # every number of the outputs is moved up in one row, down in another
    moved = many.encoded.outputs.flatten(1) + eps * torch.cat([torch.eye(size), -torch.eye(size)])
    encoded = Encoded(moved.view_as(many.encoded.outputs), many.encoded.is_real, many.encoded.final)
    with torch.no_grad():
        said = log_probs(model, model.decoder.prepare(encoded), many)[:, step, led.wanted[row, step]]
    of_outputs = float(((said[:size] - said[size:]) / (2 * eps)).norm())
    assert 0.1 * norms[row, step] < of_outputs <= norms[row, step] * (1 + 1e-6)  # the rest is that of the last state


def test_an_exchange_leaves_what_was_written_before_and_a_decoder_never_fed() -> None:
    for arch, is_fed in (("encoder-decoder", False), ("luong", True)):
        model = small(arch)
        encoded, limits = batch(model).encoded, torch.full((4,), 9)
        decoder = Exchanged(model.decoder, 4)
        own = greedy(model.decoder, model.decoder.prepare(encoded), limits)
        other = greedy(decoder, decoder.prepare(encoded), limits)
        assert [best.ids[:3] for best in own] == [best.ids[:3] for best in other]
        if not is_fed:
            assert [best.ids for best in own] == [best.ids for best in other]


def test_an_exchange_at_the_first_step_reads_the_other_source_with_the_own_state() -> None:
    model = small("luong")
    led = batch(model)
    decoder = Exchanged(model.decoder, 1)
    with torch.no_grad():
        memory = model.decoder.prepare(led.encoded)
        both = decoder.prepare(led.encoded)
        said, _ = decoder(led.inputs[:, :1], decoder.initial_state(both, 4), both)
        state = model.decoder.initial_state(memory, 4)
        wanted, _ = model.decoder(led.inputs[:, :1], state, shifted(memory, 4))
    torch.testing.assert_close(said, wanted)


def test_only_words_of_one_of_the_two_sources_count() -> None:
    assert count((5, 6, 6, 7, 8), first=(5, 6, 9), second=(5, 7)) == (2, 3)
    assert count((), (5,), (6,)) == (0, 0)


class Copier:
    """A decoder made by hand: it says its source word by word, read anew at every step or remembered from the first state."""

    def __init__(self, *, remembers: bool) -> None:
        self.remembers = remembers

    def prepare(self, encoded: Encoded) -> torch.Tensor:
        return encoded.outputs

    def initial_state(self, memory: torch.Tensor, batch_size: int) -> tuple[torch.Tensor, torch.Tensor]:
        return memory, torch.zeros(batch_size, dtype=torch.long)

    def __call__(
        self, ids: torch.Tensor, state: Any, memory: torch.Tensor, mask: object = None
    ) -> tuple[torch.Tensor, Any]:
        kept, done = state
        words = (kept if self.remembers else memory)[torch.arange(len(done)), done]
        return torch.nn.functional.one_hot(words, VOCAB)[:, None].float(), (kept, done + 1)


@pytest.mark.parametrize("remembers", [True, False])
def test_a_memory_follows_the_first_source_and_a_reader_the_second(remembers: bool) -> None:
    end = 3  # of a sentence
    sources = torch.tensor([[4, 5, 4, 5, 4, 5, 4, 5, 6, end], [7, 8, 7, 8, 7, 8, 7, 8, 6, end]])
    model: Any = SimpleNamespace(decoder=Copier(remembers=remembers))
    found = followed(model, Encoded(sources, torch.ones(2, 10, dtype=torch.bool), None))
    only_one = [8 - (at - 1) for at in STEPS_OF_EXCHANGE]  # from the exchange on; 6 and the end belong to both
    assert found[:, 0, 1].tolist() == only_one
    assert found[:, 0, 0].tolist() == (only_one if remembers else [0] * 3)
    assert found[:, 1].tolist() == found[:, 0].tolist()


def test_fading_is_the_slope_of_the_logarithm_of_the_mean() -> None:
    values = np.exp(-0.3 * np.arange(5)) * np.array([[1.0], [3.0]])
    values[1, 4] = np.nan
    means = np.log(np.nanmean(values, axis=0))
    sums = static_context.by_steps(values).sum(axis=0)
    assert static_context.fading(sums) == pytest.approx(np.polyfit(np.arange(5), means, 1)[0])
    assert static_context.fading(np.stack([sums, sums])).shape == (2,)


@pytest.mark.parametrize(("mine", "theirs", "state"), [(-0.5, -0.1, "held"), (-0.1, -0.5, "not held")])
def test_what_fades_faster_is_found(mine: float, theirs: float, state: str) -> None:
    noise = np.exp(np.random.default_rng(1).normal(0, 0.1, (60, 8)))
    steps = np.arange(8)
    ours, others = [noise * np.exp(mine * steps)], [noise[::-1] * np.exp(theirs * steps)]
    found = static_context.compare_slopes("once", ours, others, ("a", "b"), wants_less=True)
    assert found.state == state
    assert found.numbers["difference"] == pytest.approx(mine - theirs, abs=0.05)
    faint = static_context.compare_slopes("once", [0.01 * ours[0]], others, ("a", "b"), wants_less=True)
    assert faint.state == "undecided"


def test_what_fades_alike_is_undecided() -> None:
    draws = np.random.default_rng(4)
    mine, theirs = ([np.exp(draws.normal(0, 1, (40, 6)) - 0.2 * np.arange(6))] for _ in range(2))
    assert static_context.compare_slopes("once", mine, theirs, ("a", "b"), wants_less=True).state == "undecided"


@pytest.mark.parametrize(("times", "state"), [(3.0, "held"), (1.2, "not held"), (2.0, "undecided")])
def test_verdicts_of_reading_anew(times: float, state: str) -> None:
    draws = np.random.default_rng(4)
    static, other = ([np.exp(draws.normal(0, 0.2, (60, 6)))] for _ in range(2))
    found = static_context.reread_verdict({"weak": [0 * other[0]], "strong": static}, [times * other[0]])
    assert (found.state, found.numbers["strongest static"]) == (state, "strong")


@pytest.mark.parametrize(("own", "state"), [(9, "held"), (1, "not held"), (5, "undecided")])
def test_verdicts_of_following(own: int, state: str) -> None:
    draws = np.random.default_rng(4)

    def seeds(of_ten: int) -> list[np.ndarray]:
        return [np.stack([draws.binomial(10, of_ten / 10, 60), np.full(60, 10)], axis=-1) for _ in range(2)]

    assert static_context.follows_verdict(seeds(own), seeds(2), "a").state == state
    assert static_context.follows_verdict(seeds(9), seeds(8), "a").state == "not held"  # both go on with the first


ENDS = bottleneck.Ends(np.arange(40), np.arange(40, 80), "1-10", "41-50")


def test_the_ends_are_the_outermost_ranges_with_enough_sentences() -> None:
    lengths = [3] * 30 + [15] * 40 + [25] * 29 + [35] * 31 + [60] * 2
    found = bottleneck.ends_of(lengths)
    assert found is not None
    assert (found.short_label, found.long_label, len(found.short), len(found.long)) == ("1-10", "31-40", 30, 31)
    assert bottleneck.ends_of([5] * 100) is None


def test_a_loss_is_the_difference_of_the_two_scores() -> None:
    statistics = np.concatenate([np.full((40, 1), 30.0), np.full((40, 1), 10.0)])
    statistics = np.concatenate([statistics, np.ones((80, 1))], axis=1)
    found = bottleneck.loss(lambda sums: sums[..., 0] / np.maximum(sums[..., 1], 1), [statistics, statistics], ENDS)
    assert found == Estimate(20.0, 20.0, 20.0, (20.0, 20.0), 80)


def test_verdicts_of_a_bottleneck() -> None:
    names = list(bottleneck.MODELS)
    clear, none, unsure = (
        Estimate(value, value - 4, value + 4, (value - 1, value + 1), 80) for value in (20.0, 0.0, 5.0)
    )
    seeds_differ = Estimate(20.0, 15.0, 25.0, (36.0, 4.0), 80)
    short = dict.fromkeys(names, 60.0)

    def states(*losses: Estimate, learned: float = 60.0) -> list[str]:
        found = bottleneck.verdicts(dict(zip(names, losses, strict=True)), dict.fromkeys(short, learned), ENDS)
        return [verdict.state for verdict in found]

    assert states(clear, unsure, none, none) == ["held", "held", "undecided"]
    assert states(none, clear, clear, none) == ["not held", "not held", "held"]
    assert states(seeds_differ, clear, none, none) == ["undecided", "held", "held"]
    assert states(clear, clear, none, none, learned=2.0) == ["undecided"] * 3


def test_a_word_is_right_at_every_place_it_is_linked_to() -> None:

    model = small("luong")
    led = batch(model, rows=1, steps=4)
    with torch.no_grad():
        best = log_probs(model, model.decoder.prepare(led.encoded), led).argmax(-1)
    wanted = best.clone()
    wanted[0, 2] = (best[0, 2] + 1) % VOCAB  # wrong at the third word
    gold = GoldSplit([("a b c d e f g h i j", "w x y z")], parse_gold(["0-0 9-0 4-1 5-2 9-3"], "gold"), {})
    right, words = recency.hits(model, led._replace(wanted=wanted), gold)
    assert words.tolist() == [[0.5, 0, 2, 0, 1.5]]
    assert right.tolist() == [[0.5, 0, 1, 0, 1.5]]


def test_accuracies_by_length_are_of_those_sentences_alone() -> None:
    gold = GoldSplit([("a " * 7 + "a", "x"), ("a " * 9 + "a", "x"), ("a " * 19 + "a", "x")], [], {})
    words = np.array([[1.0] * 5, [3.0] * 5, [2.0] * 5])
    one, other = np.array([[1.0] * 5, [0.0] * 5, [2.0] * 5]), np.array([[0.0] * 5, [1.0] * 5, [0.0] * 5])
    found = recency.alike(gold, {"on": [one, other]}, words, tuple("abcde"))
    assert found.rows == (
        ("8-11", 2, "on", *[25.0] * 5), ("12-15", 0, "on", *[None] * 5), ("16-19", 0, "on", *[None] * 5),
        ("20-24", 1, "on", *[50.0] * 5),
    )  # fmt: skip


def test_verdicts_of_recency() -> None:
    draws = np.random.default_rng(1)
    words = np.full((80, recency.PARTS), 4.0)
    plain = words * 0.5 + draws.normal(0, 0.1, words.shape)
    late = plain.copy()
    late[:, -1] += 1.5
    assert [v.state for v in recency.verdicts([[late] * 2, [plain] * 2], words)] == ["held", "not held"]
    assert [v.state for v in recency.verdicts([[plain] * 2, [late] * 2], words)] == ["not held", "held"]
    assert [v.state for v in recency.verdicts([[late, plain], [plain] * 2], words)] == ["undecided"] * 2
    assert [v.state for v in recency.verdicts([[late / 2] * 2, [plain / 2] * 2], words)] == ["undecided"] * 2


@pytest.mark.parametrize("experiment", [bottleneck.EXPERIMENT, static_context.EXPERIMENT, recency.EXPERIMENT])
def test_every_claim_has_models_to_decide_it(experiment: object, tmp_path: Path) -> None:
    lab = Lab(tmp_path, is_quick=True)
    wanted = experiment.models(lab)  # type: ignore[attr-defined]
    assert len(set(wanted)) == len(wanted)
    own = Lab(tmp_path, is_quick=True, data="mine.tsv")
    assert {each.data for each in experiment.models(own)} <= {"pair", "toy"}  # type: ignore[attr-defined]
