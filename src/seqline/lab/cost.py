"""cost: what does one more token cost, and how much is kept, after a long context?

    RNN          one state of fixed size                                      O(1) a token
    KV cache     a key and a value of every token read; the next reads all    O(n) a token
    TTT          the weights of an inner model, trained while it reads        O(1) a token

Language models of one width with random weights, for time does not depend on them. A context is read in pieces; from the state
behind it, always the same one, 16 tokens (an inner batch of TTT) are decoded one by one, turn after turn, all models behind all
contexts in each turn. The bytes of a state are counted; the seconds are medians, and on a busy machine a growth may stay
undecided.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.comparing.plots import Axis, Series, lines
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, all_of, decide
from seqline.lab.laboratory import Lab
from seqline.lab.timings import SPREAD, Spread, growth, growths, medians
from seqline.models.language_model import LanguageModel
from seqline.shapes import Tensor
from seqline.state import tensors_of

WIDTH, LAYERS, PIECES = 128, 2, 69
_RECURRENT = {"embed_size": WIDTH, "hidden_size": WIDTH, "num_layers": LAYERS, "dropout": 0.0}
_BLOCKS = {"embed_size": WIDTH, "num_heads": 4, "inner_size": 4 * WIDTH, "num_layers": LAYERS, "dropout": 0.0}
MODELS: dict[str, dict[str, Any]] = {
    "lstm": _RECURRENT,
    "gru": _RECURRENT,
    "transformer": _BLOCKS,
    "ttt-linear": _BLOCKS,
    "ttt-mlp": _BLOCKS,
}
RNNS, CACHE, TTT = ("lstm", "gru"), "transformer", ("ttt-linear", "ttt-mlp")
READ_AT_ONCE, DECODED = 64, 16
LENGTHS, QUICK_LENGTHS = tuple(2**power for power in range(6, 14)), (64, 256, 1024, 4096)
TURNS, QUICK_TURNS = 20, 5
LATE = 256
"""From here on the growth of time is measured: before, a step is mostly the calls of its operations."""
STAYS, GROWS = 0.15, 0.5
"""A cost whose exponent is below the first stays, one whose exponent is above the second grows. That of time, a + b n, comes to
1 only where the fixed part a of a step has become small beside what reads the cache."""

CLAIMS = (
    Claim(
        "cache",
        "A Transformer's next token costs time and memory that grow with the context",
        "Vaswani et al. 2017 (1706.03762), section 4 and table 1: n^2 d operations a layer for n tokens, n d for each; "
        "Sun et al. 2024 (2407.04620), section 1",
    ),
    Claim(
        "recurrent",
        "A recurrent network's next token costs the same after any context",
        "Vaswani et al. 2017 (1706.03762), section 4 and table 1: n d^2 operations a layer for n tokens, d^2 for each",
    ),
    Claim(
        "ttt",
        "TTT layers keep a state of fixed size and cost the same time a token, however long the context",
        "Sun et al. 2024 (2407.04620), sections 1 and 2",
    ),
)


class Cost(NamedTuple):
    """What one more token costs behind a context: seconds turn by turn, and bytes of the state."""

    seconds: tuple[float, ...]
    state_bytes: int


def make_model(name: str) -> LanguageModel:
    """Return a model with random weights, ready for use."""
    recipe = ARCHITECTURES[name]
    assert recipe.language_model is not None
    return recipe.language_model(recipe.settings(**MODELS[name]), Vocabulary(PIECES, PIECES, True)).eval()


def state_bytes(state: Any) -> int:
    """Count the bytes of the tensors of a state."""
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors_of(state))


def read(model: LanguageModel, ids: Tensor, state: Any) -> Any:
    """Return the state behind a text [1 T], read on from `state`."""
    for piece in ids.split(READ_AT_ONCE, dim=1):
        _, state = model(piece, state)
    return state


def decode(model: LanguageModel, ids: Tensor, state: Any) -> float:
    """Return the mean seconds of a token, decoded one by one."""
    began = time.perf_counter()
    for token in ids.split(1, dim=1):
        _, state = model(token, state)
    return (time.perf_counter() - began) / ids.shape[1]


@torch.inference_mode()
def measure_costs(
    models: Mapping[str, LanguageModel],
    lengths: Sequence[int],
    turns: int,
    check_stop: Callable[[], None] = lambda: None,
) -> dict[str, dict[int, Cost]]:
    """Measure every model behind every context.

    Args:
        models: by name.
        lengths: tokens read before, ascending.
        turns: how often each is timed; one more, which pays for first use, is not counted.
        check_stop: called before each context of a turn.
    """
    ids = torch.randint(4, PIECES, (1, lengths[-1] + DECODED), generator=torch.Generator().manual_seed(1))
    states: dict[str, dict[int, Any]] = {name: {} for name in models}
    for name, model in models.items():
        state, done = model.initial_state(None, 1), 0
        for length in lengths:
            state, done = read(model, ids[:, done:length], state), length
            states[name][length] = state
    seconds: dict[str, dict[int, list[float]]] = {name: {length: [] for length in lengths} for name in models}
    for turn in range(turns + 1):
        for length in lengths:
            check_stop()
            for name, model in models.items():
                spent = decode(model, ids[:, length : length + DECODED], states[name][length])
                if turn:
                    seconds[name][length].append(spent)
    return {
        name: {length: Cost(tuple(seconds[name][length]), state_bytes(state)) for length, state in of.items()}
        for name, of in states.items()
    }


class Growth(NamedTuple):
    """How time and memory grow with the context, as exponents."""

    seconds: Spread
    state_bytes: float


def growth_of(costs: Mapping[int, Cost]) -> Growth:
    """Return how the costs of a model grow from `LATE` to the longest context."""
    last = max(costs)
    seconds = growths({length: cost.seconds for length, cost in costs.items()}, LATE, last)
    return Growth(seconds, growth({length: float(cost.state_bytes) for length, cost in costs.items()}, LATE, last))


def verdicts(found: Mapping[str, Growth]) -> tuple[Verdict, ...]:
    """Decide the claims from the growth of each model."""
    cache = found[CACHE]
    rule = (
        f"held where time and bytes of the state grow with the context by an exponent above {GROWS:g} (from {LATE} tokens on), "
        f"not held where one is below; of time: {SPREAD}"
    )
    grows = all_of((cache.seconds.is_above(GROWS), cache.state_bytes > GROWS))
    return (
        Verdict("cache", decide(grows), rule, _numbers(CACHE, cache), f"exponents: {_said(CACHE, cache)}"),
        _stays("recurrent", RNNS, found),
        _stays("ttt", TTT, found),
    )


def _stays(claim: str, names: Sequence[str], found: Mapping[str, Growth]) -> Verdict:
    rule = (
        f"held where time and bytes of the state of {' and '.join(names)} grow with the context by an exponent below {STAYS:g} "
        f"(from {LATE} tokens on), not held where one is above; of time: {SPREAD}"
    )
    parts = [part for name in names for part in (found[name].seconds.is_below(STAYS), found[name].state_bytes < STAYS)]
    numbers = {key: value for name in names for key, value in _numbers(name, found[name]).items()}
    said = "; ".join(_said(name, found[name]) for name in names)
    return Verdict(claim, decide(all_of(parts)), rule, numbers, f"exponents: {said}")


def _numbers(name: str, of: Growth) -> dict[str, float | int]:
    return {**of.seconds.numbers(f"{name}_time"), f"{name}_bytes": of.state_bytes}


def _said(name: str, of: Growth) -> str:
    return f"{name} time {of.seconds}, bytes {of.state_bytes:.2f}"


def measure(lab: Lab) -> Finding:
    """Time and count, then decide."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        models = {name: make_model(name) for name in MODELS}
    lengths, turns = lab.pick(LENGTHS, QUICK_LENGTHS), lab.pick(TURNS, QUICK_TURNS)
    found = measure_costs(models, lengths, turns, lab.check_stop)
    grown = {name: growth_of(costs) for name, costs in found.items()}
    micros = {name: _in_micros(costs) for name, costs in found.items()}
    kibis = {name: {length: cost.state_bytes / 1024 for length, cost in of.items()} for name, of in found.items()}
    return Finding(
        (
            _table("Time a token (microseconds, median)", micros, 0),
            _table("State (KiB)", kibis, 1),
        ),
        (
            _plot("time", "Time of one more token", "microseconds", micros),
            _plot("state", "Size of the state", "KiB", kibis),
        ),
        verdicts(grown),
        (
            f"Width {WIDTH}, {LAYERS} layers, batch 1, {torch.get_num_threads()} thread(s); {turns} turns. Times depend on what "
            "else the machine does; the bytes are counted.",
        ),
        {
            "costs": {n: {str(length): c._asdict() for length, c in of.items()} for n, of in found.items()},
            "exponents": {n: _numbers(n, of) for n, of in grown.items()},
        },
    )


def _in_micros(costs: Mapping[int, Cost]) -> dict[int, float]:
    return {length: 1e6 * value for length, value in medians({n: c.seconds for n, c in costs.items()}).items()}


def _table(title: str, values: Mapping[str, Mapping[int, float]], digits: int) -> Table:
    lengths = next(iter(values.values()))
    rows = tuple((name, *(round(each, digits) for each in of.values())) for name, of in values.items())
    return Table(f"{title} by tokens read before", ("model", *(f"{length:,}" for length in lengths)), rows)


def _plot(name: str, title: str, unit: str, values: Mapping[str, Mapping[int, float]]) -> Picture:
    lengths = [f"{length:,}" for length in next(iter(values.values()))]
    series = [Series(each, style, list(enumerate(of.values()))) for style, (each, of) in enumerate(values.items())]
    return Picture(name, lines(title, Axis("tokens read before", lengths), Axis(unit), series), f"{title} ({unit})")


EXPERIMENT = Experiment(
    name="cost",
    title="The cost of one more token",
    question="how do time and memory of a generated token grow with the context: RNN, KV cache, TTT?",
    claims=CLAIMS,
    has_seeds=False,
    measure=measure,
)
