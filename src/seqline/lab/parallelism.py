"""parallelism: what does a step after the other cost in training?

    layer              operations for n tokens     steps that wait for one another
    recurrent          n d^2                       n
    self-attention     n^2 d                       1

The steps that wait are counted: the longest chain of operations in the graph of a loss, on the readable path, where a time loop
is not hidden inside one kernel. What is kept for the way back is counted too, and what an update adds to the most memory of a
process is read off the system. Training tokens a second and the time of one layer are medians over turns on this machine's CPU,
which has few lanes to fill: a graphics processor gains much more from steps that need not wait.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.comparing.parameters import match_parameters
from seqline.comparing.plots import Axis, Series, lines
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, all_of, decide
from seqline.lab.laboratory import Lab
from seqline.lab.one_after_the_other import bytes_kept, longest_chain, step_by_step
from seqline.lab.peak import added_by_update
from seqline.lab.timings import SPREAD, Spread, growth, growths, medians, spread_of
from seqline.models.language_model import LanguageModel
from seqline.parts.cells import GRUCell, LSTMCell, SimpleCell
from seqline.parts.recurrent import Recurrent
from seqline.parts.self_attention import CausalSelfAttention, MultiHeadAttention
from seqline.run import num_parameters
from seqline.training.loss import smoothed_cross_entropy
from seqline.training.optimizer import build_optimizer

RNNS, ATTENTION = ("simple-rnn", "lstm", "gru"), "transformer"
LOOP, FORMULA = ", time loop", ", formula"
PIECES, PARAMETERS, TOKENS = 64, 100_000, 512
LENGTHS, QUICK_LENGTHS = (16, 32, 64, 128, 256, 512), (16, 64, 256)
CHAIN_LENGTHS = (8, 16, 32, 64)
WIDTH, HEADS = 128, 4
LAYER_LENGTHS, QUICK_LAYER_LENGTHS = (16, 32, 64, 128, 256, 512, 1024, 2048), (16, 64, 512, 1024)
LONG = 512
"""From here on the growth of a layer is measured: four times the width, where n^2 d is the larger part."""
TURNS, QUICK_TURNS = 11, 3
PEAK_LENGTHS, QUICK_PEAK_LENGTHS = (64, 256, 1024, 2048), (64, 1024)
MIB = 2**20

CLAIMS = (
    Claim(
        "steps",
        "A recurrent layer needs O(n) operations one after the other for n tokens, self-attention O(1)",
        "Vaswani et al. 2017 (1706.03762), section 4 and table 1, sequential operations",
    ),
    Claim(
        "square",
        "The work of a self-attention layer grows like n^2, that of a recurrent layer like n",
        "Vaswani et al. 2017 (1706.03762), section 4 and table 1, complexity per layer",
    ),
    Claim(
        "faster",
        "Self-attention layers are faster than recurrent layers where n is smaller than the width d",
        "Vaswani et al. 2017 (1706.03762), section 4",
    ),
    Claim(
        "training",
        "A Transformer trains faster than recurrent models, whose steps cannot run side by side",
        "Vaswani et al. 2017 (1706.03762), abstract and section 1",
    ),
    Claim(
        "memory",
        "Attention that keeps its weights for the way back needs memory like n^2; a kernel that computes them again, like n",
        "Dao et al. 2022 (2205.14135), sections 1 and 3.1, theorem 1",
        is_seen=True,
    ),
)

Costs = Mapping[str, Mapping[int, Sequence[float]]]
"""Name, length -> the seconds of each turn."""


def make_models() -> dict[str, LanguageModel]:
    """Return the language models of equal parameters, each also with all its steps by their formulas."""
    ways = {name: FORMULA if name == ATTENTION else LOOP for name in (*RNNS, ATTENTION)}
    return {each: make_model(each) for name, way in ways.items() for each in (name, name + way)}


def make_model(name: str) -> LanguageModel:
    """Return one of them."""
    plain = name.removesuffix(LOOP).removesuffix(FORMULA)
    model = equal_model(plain)
    return model if name == plain else step_by_step(model)


def equal_model(name: str, parameters: int = PARAMETERS) -> LanguageModel:
    """Return a language model whose widths give it so many parameters, as near as can be."""
    recipe, vocabulary = ARCHITECTURES[name], Vocabulary(PIECES, PIECES, True)
    plain = {**recipe.sizes["tiny"], "num_layers": 2, "dropout": 0.0}

    def build(changes: Mapping[str, Any]) -> LanguageModel:
        changed = {key.removeprefix("model."): value for key, value in changes.items()}
        assert recipe.language_model is not None
        return recipe.language_model(recipe.settings(**{**plain, **changed}), vocabulary)

    def count(changes: dict[str, Any]) -> int:
        with torch.device("meta"):
            return num_parameters(build(changes))

    return build(match_parameters(parameters, plain, count).changes)


def make_layers() -> dict[str, nn.Module]:
    """Return single causal layers of one width."""

    def attention() -> nn.Module:
        return CausalSelfAttention(MultiHeadAttention(WIDTH, HEADS))

    return {
        "simple-rnn": Recurrent(SimpleCell(WIDTH, WIDTH)),
        "lstm": Recurrent(LSTMCell(WIDTH, WIDTH)),
        "gru": Recurrent(GRUCell(WIDTH, WIDTH)),
        "attention": attention(),
        "attention" + FORMULA: step_by_step(attention()),
    }


def train_step(model: LanguageModel, length: int, tokens: int = TOKENS) -> Callable[[], float]:
    """Return what makes one update on so many tokens in rows of a length, and gives its seconds."""
    ids = torch.randint(4, PIECES, (tokens // length, length + 1), generator=torch.Generator().manual_seed(1))
    is_real = torch.ones(ids.shape[0], length, dtype=torch.bool)
    optimizer = build_optimizer(model, 1e-4, 0.0)

    def step() -> float:
        began = time.perf_counter()
        logits, _ = model(ids[:, :-1], model.initial_state(None, len(ids)))
        (smoothed_cross_entropy(logits, ids[:, 1:], is_real, 0.0).loss / tokens).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return time.perf_counter() - began

    return step


def layer_step(layer: nn.Module, length: int) -> Callable[[], float]:
    """Return what runs a layer along one row of a length, there and back, and gives its seconds."""
    x = torch.randn(1, length, WIDTH, generator=torch.Generator().manual_seed(1), requires_grad=True)
    state = layer.initial_state(1)  # pyright: ignore[reportCallIssue]

    def step() -> float:
        began = time.perf_counter()
        layer(x, state)[0].sum().backward()
        return time.perf_counter() - began

    return step


def take_turns(steps: Mapping[str, Mapping[int, Callable[[], float]]], turns: int, lab: Lab) -> Costs:
    """Run every step in each turn, twice: the first time, which pays for first use and for what ran before, is not counted."""
    found: dict[str, dict[int, list[float]]] = {name: {n: [] for n in of} for name, of in steps.items()}
    for _ in range(turns):
        for name, of in steps.items():
            lab.check_stop()
            for length, step in of.items():
                step()
                found[name][length].append(step())
    return found


def ratios(costs: Costs, slow: str, fast: str, lengths: Sequence[int]) -> Spread:
    """Return how many times the seconds of one the other's are: each turn's geometric mean over some lengths."""
    num_turns = len(costs[slow][lengths[0]])
    logs = [[math.log(costs[slow][n][t] / costs[fast][n][t]) for n in lengths] for t in range(num_turns)]
    return spread_of([math.exp(math.fsum(each) / len(each)) for each in logs])


def chains() -> dict[str, dict[int, int]]:
    """Count the longest chain of operations by length of each model, all its steps by their formulas."""
    found = {}
    for name in (*RNNS, ATTENTION):
        model = step_by_step(equal_model(name))
        ids = torch.full((1, CHAIN_LENGTHS[-1]), 4)
        states: Any = model.initial_state
        found[name] = {n: longest_chain(model(ids[:, :n], states(None, 1))[0]) for n in CHAIN_LENGTHS}
    return found


def kept_by(layer: nn.Module, length: int) -> int:
    """Count the bytes that a layer keeps for the way back of one row of a length, but for the mask, which all heads share."""
    x = torch.zeros(1, length, WIDTH, requires_grad=True)
    state = layer.initial_state(1)  # pyright: ignore[reportCallIssue]
    mask = (1, 1, length, length)
    return bytes_kept(layer, lambda: layer(x, state)[0], lambda each: tuple(each.shape) != mask)


def measure_peaks(lengths: Sequence[int], lab: Lab) -> dict[str, dict[int, float | None]]:
    """Return the MiB that an update on one row of a length adds to the peak of a process; None: it is not known."""
    found: dict[str, dict[int, float | None]] = {}
    for name in (*RNNS, ATTENTION, ATTENTION + FORMULA):
        for length in lengths:
            lab.check_stop()
            added = added_by_update(name, length)
            found.setdefault(name, {})[length] = None if added is None else added / MIB
    return found


class Measured(NamedTuple):
    """All that decides. chains, kept: counted, by name and length. layers, models: seconds of each turn."""

    chains: Mapping[str, Mapping[int, int]]
    kept: Mapping[str, Mapping[int, int]]
    layers: Costs
    models: Costs


def verdicts(found: Measured) -> tuple[Verdict, ...]:
    """Decide the claims."""
    return (_steps(found.chains), _square(found.layers), _faster(found.layers), _training(found.models),
            _memory(found.kept))  # fmt: skip


def _steps(chains: Mapping[str, Mapping[int, int]]) -> Verdict:
    rule = (
        f"held where the longest chain of operations grows with the length ({CHAIN_LENGTHS[0]} to {CHAIN_LENGTHS[-1]}) by an "
        "exponent above 0.75 in every recurrent model and below 0.25 in the Transformer, else not held; counted"
    )
    found = {name: growth({n: float(c) for n, c in of.items()}, *_ends(of)) for name, of in chains.items()}
    is_held = all(found[name] > 0.75 for name in RNNS) and found[ATTENTION] < 0.25
    return Verdict("steps", decide(is_held), rule, found, f"exponents: {_listed(found)}")


def _square(layers: Costs) -> Verdict:
    rule = (
        f"held where the seconds of a layer there and back, from {LONG} tokens on, grow with the length by an exponent above 1.5 "
        f"in attention by its formula and below 1.25 in every recurrent layer, not held where one is beyond; {SPREAD}"
    )
    names = (*RNNS, "attention" + FORMULA)
    found = {name: growths(layers[name], LONG, max(layers[name])) for name in names}
    parts = [found[names[-1]].is_above(1.5), *(found[name].is_below(1.25) for name in RNNS)]
    return Verdict("square", decide(all_of(parts)), rule, _numbers(found), f"exponents: {_listed(found)}")


def _faster(layers: Costs) -> Verdict:
    below = [n for n in layers["attention"] if n < WIDTH]
    rule = (
        f"held where every recurrent layer (torch's kernels) takes more than 1 times the seconds of self-attention, as the "
        f"geometric mean over the lengths {', '.join(map(str, below))} below the width {WIDTH}, not held where one takes less; "
        f"{SPREAD}"
    )
    found = {name: ratios(layers, name, "attention", below) for name in RNNS}
    parts = [each.is_above(1.0) for each in found.values()]
    return Verdict("faster", decide(all_of(parts)), rule, _numbers(found), f"times the seconds: {_listed(found)}")


def _training(models: Costs) -> Verdict:
    lengths = list(models[ATTENTION])
    rule = (
        "held where every recurrent language model (torch's kernels) takes more than 1 times the seconds of the Transformer of "
        "equal parameters for an update on equally many tokens, as the geometric mean over all lengths, not held where one "
        f"takes less; {SPREAD}"
    )
    names = (*RNNS, *(name + LOOP for name in RNNS))
    found = {name: ratios(models, name, ATTENTION, lengths) for name in names}
    parts = [found[name].is_above(1.0) for name in RNNS]
    return Verdict("training", decide(all_of(parts)), rule, _numbers(found), f"times the seconds: {_listed(found)}")


def _memory(kept: Mapping[str, Mapping[int, int]]) -> Verdict:
    rule = (
        f"held where the bytes kept for the way back, from {LONG} tokens on, grow with the length by an exponent above 1.5 in "
        "attention by its formula and below 1.25 in attention by torch's kernel, else not held; counted without the causal mask"
    )
    found = {name: growth({n: float(b) for n, b in of.items()}, LONG, max(of)) for name, of in kept.items()}
    is_held = found["attention" + FORMULA] > 1.5 and found["attention"] < 1.25
    return Verdict("memory", decide(is_held), rule, found, f"exponents: {_listed(found)}")


def _ends(of: Mapping[int, Any]) -> tuple[int, int]:
    return min(of), max(of)


def _listed(found: Mapping[str, Spread | float]) -> str:
    said = ((name, f"{each:.2f}" if isinstance(each, float) else str(each)) for name, each in found.items())
    return "; ".join(f"{name} {each}" for name, each in said)


def _numbers(found: Mapping[str, Spread]) -> dict[str, float | int]:
    return {key: value for name, each in found.items() for key, value in each.numbers(name).items()}


def measure(lab: Lab) -> Finding:
    """Count, time, decide."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        models, layers, counted = make_models(), make_layers(), chains()
    sizes = {name: num_parameters(model) for name, model in models.items()}
    lengths, layer_lengths = lab.pick(LENGTHS, QUICK_LENGTHS), lab.pick(LAYER_LENGTHS, QUICK_LAYER_LENGTHS)
    turns = lab.pick(TURNS, QUICK_TURNS)
    found = Measured(
        counted,
        {name: {n: kept_by(layer, n) for n in layer_lengths} for name, layer in layers.items()},
        take_turns({name: {n: layer_step(it, n) for n in layer_lengths} for name, it in layers.items()}, turns, lab),
        take_turns({name: {n: train_step(it, n) for n in lengths} for name, it in models.items()}, turns, lab),
    )
    speeds = {name: {n: TOKENS / s for n, s in medians(of).items()} for name, of in found.models.items()}
    millis = {name: {n: 1e3 * s for n, s in medians(of).items()} for name, of in found.layers.items()}
    peaks = measure_peaks(lab.pick(PEAK_LENGTHS, QUICK_PEAK_LENGTHS), lab)
    kibis = {name: {n: b / 1024 for n, b in of.items()} for name, of in found.kept.items()}
    return Finding(
        (
            _table("Training tokens a second at equal parameters (median)", speeds, 0, sizes),
            _table("Operations that wait for one another, whole model", counted, 0),
            _table(f"Seconds of one layer of width {WIDTH} there and back (milliseconds, median)", millis, 2),
            _table(f"Kept for the way back by one layer of width {WIDTH}, but for the mask (KiB)", kibis, 0),
            _table("What an update on one row adds to the peak memory of a process (MiB)", peaks, 1),
        ),
        (
            _plot("training-speed", "Training speed at equal parameters", "tokens/s", speeds),
            _plot("waiting", "Operations that wait for one another", "operations", counted),
            _plot("kept", f"Kept for the way back by one layer of width {WIDTH}, but for the mask", "KiB", kibis),
            *(
                [_plot("peak", "What an update on one row adds to the peak memory", "MiB", peaks)]
                if any(each is not None for of in peaks.values() for each in of.values())
                else []
            ),
        ),
        verdicts(found),
        (
            f"An update reads {TOKENS} tokens, whatever the length of a row; {torch.get_num_threads()} thread(s), {turns} turns. "
            "Times depend on what else the machine does; chains and bytes are counted.",
            "torch's kernel keeps no weights, but the causal mask that it is given has n^2 numbers, the same for all heads: "
            "it is in the peak memory, and left out where bytes are counted.",
        ),
        {
            "parameters": sizes,
            "peak_mib": _as_json(peaks),
            **{name: _as_json(each) for name, each in found._asdict().items()},
        },
    )


def _as_json(values: Mapping[str, Mapping[int, Any]]) -> dict[str, dict[str, Any]]:
    return {name: {str(n): value for n, value in of.items()} for name, of in values.items()}


def _table(
    title: str, values: Mapping[str, Mapping[int, float | None]], digits: int, sizes: Mapping[str, int] | None = None
) -> Table:
    lengths = [f"{length:,} tokens" for length in next(iter(values.values()))]
    rows = [
        (name, *(None if each is None else round(each, digits) for each in of.values())) for name, of in values.items()
    ]
    if sizes is None:
        return Table(title, ("", *lengths), tuple(rows))
    return Table(title, ("", "parameters", *lengths), tuple((n, sizes[n], *rest) for n, *rest in rows))


def _plot(name: str, title: str, unit: str, values: Mapping[str, Mapping[int, float | None]]) -> Picture:
    lengths = [f"{length:,}" for length in next(iter(values.values()))]
    series = [
        Series(each, style, [(float(x), float(y)) for x, y in enumerate(of.values()) if y is not None])
        for style, (each, of) in enumerate(values.items())
    ]
    return Picture(name, lines(title, Axis("tokens in a row", lengths), Axis(unit), series), f"{title} ({unit})")


EXPERIMENT = Experiment(
    name="parallelism",
    title="Steps that wait for one another",
    question="what does training cost by length: a recurrent network, step after step, or attention to all at once?",
    claims=CLAIMS,
    has_seeds=False,
    measure=measure,
)
