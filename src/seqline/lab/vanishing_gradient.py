"""vanishing-gradient: how much of an error reaches a state k steps back?

    simple RNN   d h_T / d h_t = product of diag(1 - h_s^2) W_hh, s = t+1 ... T:  shrinks or grows by about the same factor a step
    LSTM         d c_T / d c_t = product of the forget gates, beside the way through the gates
    GRU          likewise through 1 - z
    attention    a state stands in the weighted sum itself: one step, whatever the distance

First cells as they are at the start of training (their usual initial weights), random inputs; |d r.y / d state_t| with r a random
direction and y what is read at the end: the last output, or with attention the context. Then models that have learned to name a
language 50 words behind its country (trained_gradients.py). And the argument in one number: with a single linear unit the
derivative is w^k exactly, w^50 = 0.005 for w = 0.9 and 117 for w = 1.1; with a matrix, the spectral radius is that w.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from seqline.comparing.plots import Axis, Series, lines
from seqline.lab import trained_gradients
from seqline.lab.experiment import Claim, Experiment, Finding, Picture, Table, Verdict, Wanted, decide
from seqline.lab.laboratory import Lab
from seqline.lab.long_dependency import LSTM, SIMPLE, wanted
from seqline.lab.slopes import slope
from seqline.parts.attention import Attention
from seqline.parts.cells import Cell, GRUCell, LSTMCell, SimpleCell, SimpleIdentityCell
from seqline.parts.scores import DotScore
from seqline.shapes import Tensor
from seqline.state import tensors_of

Array = NDArray[np.float64]

WIDTH, ROWS, FARTHEST = 64, 8, 100
FITTED = 50
RUNS, QUICK_RUNS = 20, 5
ATTENTION = "attention over a simple RNN"
CELLS: dict[str, type[Cell]] = {"simple RNN": SimpleCell, "GRU": GRUCell, "LSTM": LSTMCell, ATTENTION: SimpleCell}
SHOWN, SHOWN_TRAINED = (1, 2, 5, 10, 20, 50, 100), (1, 2, 5, 10, 20, 30, 40, 49)
CLAIMS = (
    Claim(
        "power",
        "Through a linear unit with weight w an error is multiplied by w at every step: it vanishes or explodes as w^k.",
        "Hochreiter 1991; Bengio et al. 1994, section 3",
    ),
    Claim(
        "radius",
        "With a matrix in the place of w it is the spectral radius that decides.",
        "Pascanu et al. 2013 (1211.5063), section 2.1, equations 5 to 7, linear case",
    ),
    Claim(
        "exponential",
        "In a simple RNN the gradient falls exponentially with distance.",
        "Pascanu et al. 2013 (1211.5063), section 2.1, equations 5 to 7",
    ),
    Claim(
        "lstm",
        "The LSTM's cell state carries the gradient farther than a simple RNN does.",
        "Hochreiter & Schmidhuber 1997, section 3; with a forget gate Gers et al. 2000",
    ),
    Claim(
        "attention",
        "With attention every state is one step away: the gradient does not depend on the distance.",
        "Bahdanau et al. 2015 (1409.0473), section 3.1; Vaswani et al. 2017 (1706.03762), table 1, maximum path length O(1)",
    ),
    Claim(
        "trained",
        "In models that have learned, too, the LSTM's cell state keeps the gradient where a simple RNN has lost it.",
        "Hochreiter & Schmidhuber 1997, sections 3 and 4: the constant error carousel",
        is_seen=True,
    ),
)


def gradients(cell: Cell, length: int, seed: int, *, attends: bool = False) -> Array:
    """Return |d r.y / d state| by distance from the end, [length]: number k is the state k steps before the last one.

    Args:
        cell: with its weights.
        length: most steps back.
        seed: of inputs and direction.
        attends: y is the context of attention over all outputs with a drawn query; else y is the last output.
    """
    draws = torch.Generator().manual_seed(seed)
    x = torch.randn(ROWS, length + 1, cell.input_size, generator=draws)
    direction = torch.randn(ROWS, cell.hidden_size, generator=draws)
    state, states, outputs = cell.initial_state(ROWS), [], []
    for step in range(length + 1):
        _, state = cell(x[:, step], state)
        states.append(state)
        outputs.append(cell.output_of(state))
    query = torch.randn(ROWS, 1, cell.hidden_size, generator=draws) / cell.hidden_size**0.5
    y = _context(torch.stack(outputs, dim=1), query) if attends else outputs[-1]
    leaves = [tensor for each in states for tensor in tensors_of(each)]
    pulled = torch.autograd.grad((direction * y).sum(), leaves, allow_unused=True)
    per_state = len(leaves) // len(states)
    norms = [
        math.sqrt(sum(float(grad.square().sum()) for grad in pulled[i : i + per_state] if grad is not None) / ROWS)
        for i in range(0, len(leaves), per_state)
    ]
    return np.array(norms[::-1][1:])


def _context(outputs: Tensor, query: Tensor) -> Tensor:
    attention = Attention(DotScore())
    is_real = torch.ones(outputs.shape[:2], dtype=torch.bool)
    return attention(query, attention.prepare(outputs, is_real))[:, 0]


def of_one_unit(w: float, length: int) -> Array:
    """Return |d h_T / d h_t| of a single linear unit with weight w, by distance."""
    cell = SimpleIdentityCell(1, 1).double()
    with torch.no_grad():
        cell.weight_hh.fill_(w)
    x, h = torch.zeros(1, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64, requires_grad=True)
    states = [h]
    for _ in range(length):
        states.append(cell(x, states[-1])[1])
    pulled = torch.autograd.grad(states[-1].sum(), states[:-1])
    return np.array([abs(float(grad)) for grad in reversed(pulled)])


def factor(norms: Array) -> tuple[float, float]:
    """Return the factor a step of the best exponential over distances 1 to 50, and r^2 of its fit."""
    y = np.log(np.maximum(norms[:FITTED], 1e-300))
    x = np.arange(1.0, len(y) + 1)
    b = slope(x, y)
    left = y - (y.mean() + b * (x - x.mean()))
    spread = float(((y - y.mean()) ** 2).sum())
    return math.exp(b), 1.0 - float((left**2).sum()) / spread if spread > 0 else 0.0


def of_matrix(radius: float, seed: int, length: int) -> Array:
    """Return |d r.h_T / d h_t| of linear units with a random matrix of a spectral radius, by distance, in double precision."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        cell = SimpleIdentityCell(WIDTH, WIDTH).double()
        with torch.no_grad():
            cell.weight_hh.normal_()
            cell.weight_hh.mul_(radius / torch.linalg.eigvals(cell.weight_hh).abs().max())
        pulled, found = torch.randn(1, WIDTH, dtype=torch.float64), []
    for _ in range(length):
        state = torch.zeros(1, WIDTH, dtype=torch.float64, requires_grad=True)
        _, after = cell(torch.zeros(1, WIDTH, dtype=torch.float64), state)
        [pulled] = torch.autograd.grad(after, [state], pulled)
        found.append(float(pulled.norm()))
    return np.array(found)


def radius_verdict(found: Mapping[float, Array]) -> Verdict:
    """Decide from norms [runs 2 FITTED] of each spectral radius: the first half is left to die away."""
    factors = {radius: [factor(norms[FITTED:])[0] for norms in runs] for radius, runs in found.items()}
    worst = [max(abs(each / radius - 1) for each in some) for radius, some in factors.items()]
    least = [min(abs(each / radius - 1) for each in some) for radius, some in factors.items()]
    state = decide(True if max(worst) < 0.02 else False if min(least) > 0.02 else None)
    rule = (
        "an exponential is fitted to distances 51 to 100 in each run; held where in every run its factor a step differs from the "
        "spectral radius by less than 2 %, not held where in none, undecided else"
    )
    numbers = {f"factor at radius {radius:g}": float(np.mean(each)) for radius, each in factors.items()}
    said = "; ".join(f"radius {radius:g}: {float(np.mean(each)):.3f} a step" for radius, each in factors.items())
    return Verdict("radius", state, rule, {**numbers, "largest difference": max(worst)}, f"{said}.")


def trained_verdict(runs: Mapping[str, Array]) -> Verdict:
    """Decide from norms [seeds distances] of trained models."""
    kept = {name: norms[:, -1] / norms[:, 0] for name, norms in runs.items()}
    wins = [bool(b >= 10 * a) for a, b in zip(kept[SIMPLE], kept[LSTM], strict=True)]
    means = {name: float(np.exp(np.log(each).mean())) for name, each in kept.items()}
    factors = ", ".join(f"{name} {_mean([factor(each) for each in norms], 0):.3f}" for name, norms in runs.items())
    return Verdict(
        "trained",
        _all(wins),
        "k is the gradient 49 words back, where the country stands, over that one word back (of c where there is one, else h); "
        "held where with every seed the LSTM's k is at least 10 times the simple RNN's, not held where with none, undecided else",
        {
            **{f"k of the {name}": value for name, value in means.items()},
            **{f"k of the {name}, seed {seed}": float(k) for name, of in kept.items() for seed, k in enumerate(of, 1)},
        },
        f"Of the gradient one word back, 49 words back there is left: simple RNN {means[SIMPLE]:.2g}, LSTM {means[LSTM]:.2g} "
        f"(factors a step: {factors}).",
    )


def power_verdict(found: Mapping[float, Array]) -> Verdict:
    """Decide whether the derivative of one unit is w^k."""
    worst = max(abs(norms[k - 1] / w**k - 1) for w, norms in found.items() for k in range(1, FITTED + 1))
    numbers: dict[str, Any] = {f"{w:g}^50": float(norms[FITTED - 1]) for w, norms in found.items()}
    rule = "held where the derivative that autograd finds equals w^k to a relative 1e-9 for every k up to 50"
    said = "; ".join(f"w = {w:g}: {norms[FITTED - 1]:.3g} after 50 steps" for w, norms in found.items())
    return Verdict("power", decide(bool(worst < 1e-9)), rule, {**numbers, "largest error": float(worst)}, f"{said}.")


def verdicts(runs: Mapping[str, Array]) -> tuple[Verdict, ...]:
    """Decide from norms [runs distances] of each model."""
    fits = {name: [factor(each) for each in norms] for name, norms in runs.items()}
    simple, lstm = fits["simple RNN"], fits["LSTM"]
    falls = [each[0] < 0.99 and each[1] > 0.95 for each in simple]
    wins = [b[0] > a[0] for a, b in zip(simple, lstm, strict=True)]
    far = runs[ATTENTION][:, FITTED - 1] / runs[ATTENTION][:, 1:FITTED].mean(axis=1)
    level = [0.1 < ratio < 10 for ratio in far]
    return (
        Verdict(
            "exponential",
            _all(falls),
            "an exponential is fitted to distances 1 to 50 in each run; held where in every run its factor a step is below 0.99 "
            "and r^2 above 0.95, not held where in none, undecided else",
            {
                "factor": _mean(simple, 0),
                "r2": _mean(simple, 1),
                "greatest factor": max(each[0] for each in simple),
                "least r2": min(each[1] for each in simple),
                "runs": len(simple),
            },
            f"Simple RNN: the gradient is multiplied by {_mean(simple, 0):.3f} a step (r^2 {_mean(simple, 1):.3f}), "
            f"to {_mean(simple, 0) ** FITTED:.1e} after 50.",
        ),
        Verdict(
            "lstm",
            _all(wins),
            "held where in every run the LSTM's factor a step (by h and c together) is above the simple RNN's, not held where in "
            "none, undecided else",
            {
                "simple RNN": _mean(simple, 0),
                "LSTM": _mean(lstm, 0),
                "GRU": _mean(fits["GRU"], 0),
                "least LSTM - simple RNN": min(b[0] - a[0] for a, b in zip(simple, lstm, strict=True)),
            },
            f"Factors a step: simple RNN {_mean(simple, 0):.3f}, GRU {_mean(fits['GRU'], 0):.3f}, LSTM {_mean(lstm, 0):.3f} "
            f"(its forget gates start near sigma(1) = 0.73, so an untrained LSTM forgets too).",
        ),
        Verdict(
            "attention",
            _all(level),
            "r is the gradient at distance 50 over the mean of distances 2 to 50; held where in every run r lies between 0.1 "
            "and 10, not held where in none, undecided else",
            {"r least": float(far.min()), "r greatest": float(far.max())},
            f"With attention the gradient at distance 50 is {far.min():.2f} to {far.max():.2f} of the mean over distances 2 to "
            f"{FITTED}.",
        ),
    )


def _all(told: list[bool]) -> Any:
    return decide(True if all(told) else None if any(told) else False)


def _mean(fits: list[tuple[float, float]], which: int) -> float:
    return float(np.mean([fit[which] for fit in fits]))


def models(lab: Lab) -> tuple[Wanted, ...]:
    """Return the recurrent models of long-dependency, which shares them."""
    return tuple(wanted(name, seed) for name in trained_gradients.NAMES for seed in lab.seed_numbers())


def measure(lab: Lab) -> Finding:
    """Differentiate through cells with their initial weights, and through models that have learned."""
    runs: dict[str, Array] = {}
    for name, kind in CELLS.items():
        found = []
        for seed in range(lab.pick(RUNS, QUICK_RUNS)):
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                cell = kind(WIDTH, WIDTH)
            found.append(gradients(cell, FARTHEST, seed, attends=name == ATTENTION))
        runs[name] = np.array(found)
        lab.check_stop()
    radii = {
        radius: np.array([of_matrix(radius, seed, 2 * FITTED) for seed in range(lab.pick(RUNS, QUICK_RUNS))])
        for radius in (0.9, 1.0, 1.1)
    }
    units = {w: of_one_unit(w, FARTHEST) for w in (0.9, 1.0, 1.1)}
    trained = trained_gradients.measured(lab)
    means = {name: _middle(norms) for name, norms in runs.items()}
    rows = {
        **means,
        **{f"{WIDTH} linear units, spectral radius {radius:g}": _middle(norms) for radius, norms in radii.items()},
        **{f"one linear unit, w = {w:g}": norms for w, norms in units.items()},
    }
    after = {name: _middle(norms) for name, norms in trained.items()}
    return Finding(
        (
            _table("Norm of the gradient by steps back, before training", rows, SHOWN),
            _table("Norm of the gradient by words back, trained models", after, SHOWN_TRAINED),
        ),
        (
            _picture(
                "gradient-by-distance", means, "How much of an error reaches a state k steps back, before training."
            ),
            _picture(
                "gradient-after-training", after, "The same in models that have learned; the country is 49 words back."
            ),
        ),
        (power_verdict(units), radius_verdict(radii), *verdicts(runs), trained_verdict(trained)),
        (
            f"Before training: width {WIDTH}, {lab.pick(RUNS, QUICK_RUNS)} draws of weights and inputs, {ROWS} sequences each; "
            "geometric means.",
            f"Trained: {lab.seeds_said()}; the error is that at the language; geometric means over questions and "
            "seeds. The trained attention RNN is differentiated with respect to all that comes of a state, along the RNN too.",
        ),
        {
            "before training": {name: norms.tolist() for name, norms in rows.items()},
            "trained": {name: norms.tolist() for name, norms in after.items()},
        },
    )


def _middle(norms: Array) -> Array:
    """Return the geometric mean of runs [runs distances]."""
    return np.exp(np.log(np.maximum(norms, 1e-300)).mean(axis=0))


def _table(title: str, rows: Mapping[str, Array], shown: tuple[int, ...]) -> Table:
    cells = tuple((name, *(float(norms[k - 1]) for k in shown)) for name, norms in rows.items())
    return Table(title, ("model", *map(str, shown)), cells)


def _picture(name: str, means: Mapping[str, Array], caption: str) -> Picture:
    drawn = [
        Series(model, style, [(float(k), math.log10(max(norms[k - 1], 1e-40))) for k in range(1, len(norms) + 1, 3)])
        for style, (model, norms) in enumerate(means.items())
    ]
    return Picture(name, lines("Gradient by distance", Axis("steps back"), Axis("log10 of the norm"), drawn), caption)


EXPERIMENT = Experiment(
    name="vanishing-gradient",
    title="The vanishing gradient",
    question="How much of an error reaches a state k steps back?",
    claims=CLAIMS,
    models=models,
    measure=measure,
)
