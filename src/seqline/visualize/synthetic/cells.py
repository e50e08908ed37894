"""Three recurrent cells in a few lines of numpy, so that made-up states obey the equations that views print."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray


class Run(NamedTuple):
    """What a cell did: h, c [T D], gates and terms by name [T D], the start h0, c0 [D]; None where the cell has none."""

    h: Array
    h0: Array
    c: Array | None = None
    c0: Array | None = None
    gates: dict[str, Array] | None = None
    terms: dict[str, Array] | None = None


def run_cell(kind: str, x: Array, width: int, rng: np.random.Generator, start: Run | None = None) -> Run:
    """Run a cell with fresh weights over x [T I].

    Args:
        kind: `rnn`, `lstm` or `gru`.
        x: The inputs.
        width: D, the number of units.
        rng: Draws the weights.
        start: Its last states are the first ones here; None: zeros.
    """
    num = {"rnn": 1, "lstm": 4, "gru": 3}[kind]
    w = rng.normal(0, 1.1 / np.sqrt(x.shape[1]), (num, width, x.shape[1]))
    u = rng.normal(0, 0.9 / np.sqrt(width), (num, width, width))
    b = rng.normal(0, 0.2, (num, width))
    h = start.h[-1] if start is not None else np.zeros(width)
    if kind == "lstm":
        c = start.c[-1] if start is not None and start.c is not None else np.zeros(width)
        return _lstm(x, (w, u, b), h, c)
    return (_rnn if kind == "rnn" else _gru)(x, (w, u, b), h)


def _rnn(x: Array, weights: tuple[Array, Array, Array], h0: Array) -> Run:
    w, u, b = weights
    h, rows, wx, uh = h0, [], [], []
    for row in x:
        wx.append(w[0] @ row + b[0])
        uh.append(u[0] @ h)
        h = np.tanh(wx[-1] + uh[-1])
        rows.append(h)
    return Run(np.array(rows), h0, terms={"wx": np.array(wx), "uh": np.array(uh)})


def _lstm(x: Array, weights: tuple[Array, Array, Array], h0: Array, c0: Array) -> Run:
    w, u, b = weights
    h, c = h0, c0
    rows: list[tuple[Array, ...]] = []
    for row in x:
        a = w @ row + u @ h + b
        i, f, g, o = _sigmoid(a[0]), _sigmoid(a[1] + 1), np.tanh(a[2]), _sigmoid(a[3])
        c = f * c + i * g
        h = o * np.tanh(c)
        rows.append((h, c, i, f, g, o))
    h_all, c_all, *gates = (np.array(column) for column in zip(*rows, strict=True))
    return Run(h_all, h0, c_all, c0, dict(zip("ifgo", gates, strict=True)))


def _gru(x: Array, weights: tuple[Array, Array, Array], h0: Array) -> Run:
    w, u, b = weights
    h = h0
    rows: list[tuple[Array, ...]] = []
    for row in x:
        a, back = w @ row + b, u @ h
        r, z = _sigmoid(a[0] + back[0]), _sigmoid(a[1] + back[1])
        n = np.tanh(a[2] + r * back[2])
        h = (1 - z) * n + z * h
        rows.append((h, r, z, n))
    h_all, *gates = (np.array(column) for column in zip(*rows, strict=True))
    return Run(h_all, h0, gates=dict(zip("rzn", gates, strict=True)))


def encoder_block(directions: list[Run]) -> dict[str, Any]:
    """Return the block `encoder` of one layer: forward, then backward with its rows in the order of the text."""
    runs = [directions[0], *(_turned(run) for run in directions[1:])]
    return _block([np.stack([_get(run, name) for run in runs])[None] for name in _NAMES], runs[0])


def decoder_block(run: Run) -> dict[str, Any]:
    """Return the states of the block `decoder` of one layer."""
    return _block([_get(run, name)[None] for name in _NAMES], run)


_NAMES = ("h", "h0", "c", "c0", "i", "f", "g", "o", "r", "z", "n", "wx", "uh")


def _get(run: Run, name: str) -> Array:
    if (len(name) == 1 and name not in "hc") or name in ("wx", "uh"):
        return ((run.gates or {}) | (run.terms or {})).get(name, np.zeros(0))
    value = getattr(run, name)
    return np.zeros(0) if value is None else value


def _block(values: list[Array], run: Run) -> dict[str, Any]:
    named = dict(zip(_NAMES, values, strict=True))
    block: dict[str, Any] = {"h": named["h"], "h0": named["h0"]}
    if run.c is not None:
        block |= {"c": named["c"], "c0": named["c0"]}
    for group in ("gates", "terms"):
        if getattr(run, group):
            block[group] = {name: named[name] for name in getattr(run, group)}
    return block


def _turned(run: Run) -> Run:
    def flip(part: dict[str, Array] | None) -> dict[str, Array] | None:
        return {name: value[::-1] for name, value in part.items()} if part else None

    c = None if run.c is None else run.c[::-1]
    return Run(run.h[::-1], run.h0, c, run.c0, flip(run.gates), flip(run.terms))


def _sigmoid(a: Array) -> Array:
    return 1 / (1 + np.exp(-a))
