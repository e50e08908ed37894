"""Made-up traces of a beam search, an inner model, a forecast and a training."""

from __future__ import annotations

from typing import Any

import numpy as np

from seqline.visualize.synthetic.recurrent import ROWS_A, fixture_a
from seqline.visualize.synthetic.skeleton import (
    EOS,
    block,
    decode,
    decoder_steps,
    document,
    event,
    model,
    numbered,
    token_id,
)
from seqline.visualize.text import text_block
from seqline.visualize.widths import width_em

BEAM_SIZE = 4
WINDOWS = range(5, 55, 5)
SNAPSHOTS = (0, 20, 40, 60, 80, 100)
_OTHER = ("a", "bread", "went", "from", "hot", "in", "it", "is")


def fixture_g() -> dict[str, Any]:
    """Return fixture G: a beam of 4 whose best path is the sentence of fixture A."""
    trace = fixture_a()
    target, rng = trace["target"], np.random.default_rng(10)
    tokens = target["tokens"]
    nodes: list[dict[str, Any]] = []
    live: list[int | None] = [None]
    best: list[int] = []
    for t, token in enumerate(tokens, 1):
        first = len(nodes)
        for parent in live:
            is_best = parent is None or parent == (best[-1] if best else None)
            options = [token] if is_best else []
            options += [_filler(_OTHER[int(k)]) for k in rng.choice(len(_OTHER), 3 if is_best else 2, replace=False)]
            for option in options:
                logp = -0.3 if is_best and option is token else -float(rng.uniform(1.2, 3.0))
                total = logp + (nodes[parent]["sum"] if parent is not None else 0.0)
                nodes.append(
                    {"id": len(nodes), "parent": parent, "t": t, "token": option, "logp": logp, "sum": total}
                    | {"norm": total / t, "rank": 0, "state": "pruned"}
                )
                if is_best and option is token:
                    best.append(nodes[-1]["id"])
        ranked = sorted(nodes[first:], key=lambda node: -node["sum"])
        for rank, node in enumerate(ranked):
            node["rank"] = rank
            if rank < BEAM_SIZE:
                node["state"] = "done" if node["token"]["special"] == "eos" else "live"
        live = [node["id"] for node in ranked[:BEAM_SIZE] if node["state"] == "live"]
    weights = rng.dirichlet(np.ones(len(trace["source"]["tokens"])), len(nodes))
    weights[best] = np.array(ROWS_A)
    penalty = {"kind": "mean", "alpha": None}
    beam = {"beam_size": BEAM_SIZE, "length_penalty": penalty, "nodes": nodes, "best": best[-1], "attention": weights}
    return trace | {"decode": decode("beam"), "beam": beam}


def fixture_h() -> dict[str, Any]:
    """Return fixture H: an inner model learns from a token at a time; one step is too long and its loss rises."""
    rng = np.random.default_rng(11)
    prompt = ["the", "cat", "saw", "the", "dog", "and", "the"]
    more = ["cat", "saw", "the", "dog", EOS]
    source = block(prompt, "en")
    target = block(more, "en", bos=None, reference=None)
    size, width = len(prompt) + len(more) - 1, 8
    teacher = rng.normal(0, 0.6, (width, width))
    rate = np.full(size, 0.03)
    rate[4] = 0.14  # 1 - 2 eta |k|^2 is below -1
    w, series = np.zeros((width, width)), [np.zeros((width, width))]
    rows = []
    for i in range(size):
        key = rng.normal(0, 1, width)
        key *= np.sqrt(width) / np.linalg.norm(key)
        value = teacher @ key
        before = float(((w @ key - value) ** 2).sum())
        change = -rate[i] * 2 * np.outer(w @ key - value, key)
        w = w + change
        rows.append((before, float(((w @ key - value) ** 2).sum()), np.linalg.norm(w), np.linalg.norm(change)))
        series.append(w)
    before, after, norms, changes = map(np.array, zip(*rows, strict=True))
    inner = {"where": "decoder", "layer": 0, "loss_before": before, "loss_after": after, "eta": rate}
    inner |= {"w_norm": norms, "dw_norm": changes, "w": np.array(series), "w_reduced": None}
    z = np.tanh(rng.normal(0, 1, (len(more), width)))
    steps = decoder_steps(target, z, 1, rng)
    for n, step in enumerate(steps):
        step["in"] = [prompt[-1], *more][n]
    return document(
        "ttt-linear",
        model(
            "ttt-linear", width=width, layers=(0, 1), heads=1, layer="TTT", encoder="-", bridge="-", positions="rotary"
        ),
        "language_model",
        source,
        decode=decode(),
        target=target,
        schedule=_prompted(len(prompt), len(more)),
        decoder={"z": z, "steps": steps},
        ttt=inner,
    )


def fixture_i() -> dict[str, Any]:
    """Return fixture I: a week ahead from 5, 10, ..., 50 days of temperatures."""
    rng = np.random.default_rng(12)
    days, horizon = 60, 7
    curve = 12 + 6 * np.sin(np.arange(days + horizon) * 2 * np.pi / 30) + rng.normal(0, 0.8, days + horizon)
    curve = np.round(curve, 1)
    history, truth = curve[:days], curve[days:]
    windows = []
    for lookback in WINDOWS:
        past = history[-lookback:]
        age = np.arange(lookback - 1, -1, -1)
        ahead = np.arange(1, horizon + 1)[:, None]
        raw = np.exp(-age / 4) + 0.8 * np.exp(-(((age + ahead - 30) / 3) ** 2))
        weights = raw / raw.sum(-1, keepdims=True)
        guess = weights @ past
        error = float(np.abs(guess - truth).mean())
        window = {"lookback": lookback, "pred_y": guess, "q": _interval(guess), "mae": error, "weights": weights}
        windows.append(window | {"gradient": weights})  # a forecast that is a weighted mean
    guess = windows[-1]["pred_y"]
    forecast = {
        "unit": "°C",
        "freq": "D",
        "hist_t": np.arange(days),
        "hist_y": history,
        "pred_y": guess,
        "true_y": truth,
        "q": _interval(guess),
        "windows": windows,
    }
    steps = [[event("encoder", s, [f"x:{s}"], [f"h.enc.forward:{s}"], layer=0, dir="forward")] for s in range(days)]
    steps.append([event("output", None, [f"h.enc.forward:{days - 1}"], [f"y:{z}" for z in range(horizon)])])
    choices: dict[str, Any] = {"reads_memory": "before_cell", "score": "additive"}
    return document(
        "forecaster",
        model("bahdanau", width=8, layers=(1, 1), **choices),
        "forecasting",
        _history(history),
        schedule=numbered(steps),
        forecast=forecast,
    )


def fixture_j() -> dict[str, Any]:
    """Return fixture J: fixture A with the curves of its training, and its weights at six moments."""
    rng = np.random.default_rng(13)
    steps = np.arange(2, 102, 2)
    loss = 4.2 * np.exp(-steps / 30) + 0.4 + rng.normal(0, 0.08, len(steps))
    held_out = 4.2 * np.exp(-steps / 32) + 0.55 + rng.normal(0, 0.04, len(steps))
    rows = np.array(ROWS_A)
    even = np.full_like(rows, 0.25)
    snapshots = []
    for step in SNAPSHOTS:
        share = step / SNAPSHOTS[-1]
        snapshots.append({"step": step, "weights": (share * rows + (1 - share) * even)[None, None]})
    training = {
        "steps": steps,
        "loss": loss,
        "val_loss": held_out,
        "lr": 1e-3 * np.minimum(steps / 20, np.sqrt(20 / steps)),
        "metrics": {"chrF": 60 * (1 - np.exp(-steps / 40)), "exact": np.clip(steps / 140, 0, 1)},
        "snapshots": snapshots,
    }
    return fixture_a() | {"training": training}


def _filler(piece: str) -> dict[str, Any]:
    tokens = text_block(piece, [(token_id(piece), piece, 0, len(piece.encode("utf-8")))])["tokens"]
    return tokens[0] | {"word": None, "bytes": None}


def _interval(guess: np.ndarray) -> dict[str, np.ndarray]:
    wide = 0.9 + 0.15 * np.arange(len(guess))
    return {"0.1": guess - wide, "0.9": guess + wide}


def _history(values: np.ndarray) -> dict[str, Any]:
    """Return the block of history values: a token of id -1 each."""
    words = [f"{value:.1f}" for value in values]
    spans, start = [], 0
    for word in words:
        spans.append((-1, word, start, start + len(word)))
        start += len(word) + 1
    source = text_block(" ".join(words), spans)
    for token, value in zip(source["tokens"], values, strict=True):
        token |= {"value": float(value), "w_em": width_em(token["text"])}
    return source


def _prompted(num_prompt: int, num_more: int) -> list[dict[str, Any]]:
    """Return the schedule of a decoder that reads its prompt at t1."""
    steps = []
    for n in range(num_more):
        reads = [f"x:{s}" for s in range(num_prompt)] if n == 0 else [f"y:{n - 1}"]
        before = f"W:{num_prompt + n - 2}" if n else "W:init"
        after = f"W:{num_prompt + n - 1}"
        steps.append(
            [
                event("decoder", n, [*reads, before], [after, f"h.dec:{n}"], layer=0),
                event("output", n, [f"h.dec:{n}"], [f"y:{n}"]),
            ]
        )
    return numbered(steps)
