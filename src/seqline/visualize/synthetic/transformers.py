"""Made-up Transformers: small ones with every number of every head, and long ones with attention only."""

from __future__ import annotations

from typing import Any

import numpy as np

from seqline.visualize.blocks import AXES
from seqline.visualize.synthetic.skeleton import (
    EOS,
    block,
    decode,
    decoder_steps,
    document,
    event,
    model,
    numbered,
    target_block,
)

_SIDES = {
    "encoder_self": ("source", "source", "source", "none"),
    "decoder_self": ("target.out", "target.in", "target.in", "causal"),
    "cross": ("target.out", "target.in", "source", "none"),
}
_WORDS = (
    "the",
    "river",
    "runs",
    "past",
    "an",
    "old",
    "mill",
    "and",
    "children",
    "play",
    "near",
    "its",
    "stone",
    "bridge",
)


_CHOICES = {
    "layer": "causal self-attention",
    "encoder": "full self-attention",
    "bridge": "-",
    "reads_memory": "in_each_block",
    "score": "scaled_dot",
    "positions": "sinusoidal",
}


def transformer(
    name: str,
    texts: tuple[dict[str, Any], dict[str, Any]],
    *,
    layers: int,
    heads: int,
    head_width: int = 4,
    seed: int = 0,
    look: tuple[int, int] | None = None,
    is_small: bool = True,
) -> dict[str, Any]:
    """Return a whole trace of an encoder-decoder Transformer.

    Args:
        name: The trace's id.
        texts: Source and target.
        layers: On each side.
        heads: In each layer.
        head_width: E.
        seed: Of all numbers.
        look: (query, key) of the source: in the last layer's last head this query reads this key.
        is_small: Also keep queries, keys, values, scores and states.
    """
    source, target = texts
    rng = np.random.default_rng(seed)
    sizes = {"source": len(source["tokens"]), "target.out": len(target["tokens"])}
    width = heads * head_width
    attention, qkv = [], []
    for kind in _SIDES:
        one, several = _attention(kind, sizes, (layers, heads, head_width), rng, look, is_small=is_small)
        attention.append(one)
        qkv += several
    z = np.tanh(rng.normal(0, 1, (sizes["target.out"], width)))
    steps = decoder_steps(target, z, layers + 1, rng)
    for n, step in enumerate(steps):
        step |= _costs(n, sizes["source"], layers, width)
    blocks: dict[str, Any] = {
        "decode": decode(),
        "target": target,
        "schedule": schedule(sizes["source"], sizes["target.out"], layers),
        "decoder": {"z": z, "steps": steps},
        "attention": attention,
        "positions": positions(max(sizes.values()), width),
    }
    if is_small:
        states = rng.normal(0, 1, (layers, 1, sizes["source"], width))
        blocks["encoder"] = {"h": states}
        blocks["decoder"]["h"] = rng.normal(0, 1, (layers, sizes["target.out"], width))
        blocks["decoder"]["context"] = attention[-1]["weights"].mean((0, 1)) @ states[-1, 0]
        blocks["qkv"] = qkv
        x, y = rng.normal(0, 0.5, (sizes["source"], width)), rng.normal(0, 0.5, (sizes["target.out"], width))
        blocks["embeddings"] = {"source": x, "target": y, "scale": float(np.sqrt(width))}
    arch = model("transformer", width=width, layers=(layers, layers), heads=heads, **_CHOICES)
    return document(name, arch, "translation", source, **blocks)


def positions(count: int, width: int) -> dict[str, Any]:
    """Return the sinusoidal table: sine and cosine in turn."""
    angle = np.arange(count)[:, None] / 10000 ** (np.arange(0, width, 2) / width)
    table = np.stack([np.sin(angle), np.cos(angle)], -1).reshape(count, -1)[:, :width]
    return {"table": table, "used": np.arange(count)}


def schedule(num_source: int, num_target: int, layers: int) -> list[dict[str, Any]]:
    """Return a step a layer of the encoder, then a step a produced token."""
    steps = []
    for layer in range(layers):
        before = [f"h.enc.{layer - 1}:{s}" if layer else f"x:{s}" for s in range(num_source)]
        steps.append([event("encoder", None, before, [f"h.enc.{layer}:{s}" for s in range(num_source)], layer=layer)])
    memory = [f"h.enc.{layers - 1}:{s}" for s in range(num_source)]
    for n in range(num_target):
        fed = ["y:init", *(f"y:{k}" for k in range(n))]
        steps.append(
            [
                event("attention", n, [*fed, *memory], [f"ctx:{n}"]),
                event("decoder", n, [*fed, f"ctx:{n}"], [f"h.dec:{n}"]),
                event("output", n, [f"h.dec:{n}"], [f"y:{n}"]),
            ]
        )
    return numbered(steps)


def fixture_c() -> dict[str, Any]:
    """Return fixture C: eleven tokens, two layers of four heads; `it` reads `pizza` in the last head."""
    english = ["▁The", "▁piz", "za", "▁left", "▁the", "▁oven", "▁and", "▁it", "▁was", "▁hot", EOS]
    french = ["▁la", "▁piz", "za", "▁sortit", "▁du", "▁four", "▁et", "▁elle", "▁était", "▁chaude", EOS]
    texts = (block(english, "en"), target_block(french, "fr"))
    return transformer("transformer", texts, layers=2, heads=4, seed=5, look=(7, 1))


def fixture_e() -> dict[str, Any]:
    """Return fixture E: eighty tokens, six layers of eight heads, three kinds."""
    return transformer("transformer-long", _long(80), layers=6, heads=8, seed=6, is_small=False)


def fixture_f() -> dict[str, Any]:
    """Return fixture F before it is reduced: three hundred tokens, three layers of six heads, three kinds."""
    return transformer("transformer-longer", _long(300), layers=3, heads=6, seed=7, is_small=False)


def fixture_permutation() -> dict[str, Any]:
    """Return weights that are a permutation: row r reads column π(r), and there are more columns than rows."""
    texts = (
        block(["uno", "dos", "tres", "cuatro", "cinco", "seis"], "es"),
        target_block(["four", "one", "six", "three"], "en"),
    )
    trace = transformer("permutation", texts, layers=1, heads=1, head_width=8, seed=8)
    weights = np.zeros((1, 1, 4, 6))
    weights[0, 0, np.arange(4), [3, 0, 5, 2]] = 1.0
    attention = trace["attention"][-1]
    attention |= {"weights": weights, "scores": None, "row_sum_maxerr": 0.0}
    return trace | {"attention": [attention], "qkv": None}


def fixture_pe() -> dict[str, Any]:
    """Return a small Transformer with a table of 50 positions of 32 dimensions."""
    texts = (block(["one", "two", "three", EOS], "en"), target_block(["un", "deux", "trois", EOS], "fr"))
    trace = transformer("positions", texts, layers=1, heads=4, head_width=8, seed=9)
    return trace | {"positions": positions(50, 32) | {"used": np.arange(4)}}


def _long(size: int) -> tuple[dict[str, Any], dict[str, Any]]:
    words = [_WORDS[(5 * i + i // 14) % len(_WORDS)] for i in range(size - 1)]
    return block([*words, EOS], "en"), target_block([*reversed(words), EOS], "en")


def _attention(
    kind: str,
    sizes: dict[str, int],
    shape: tuple[int, int, int],
    rng: np.random.Generator,
    look: tuple[int, int] | None,
    *,
    is_small: bool,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    layers, heads, width = shape
    query, query_in, key, mask_kind = _SIDES[kind]
    rows, cols = sizes[query], sizes[key.replace(".in", ".out")]
    q, k, v = (rng.normal(0, 1.3, (layers, heads, n, width)) for n in (rows, cols, cols))
    if look is not None and kind == "encoder_self":
        q[-1, -1, look[0]] *= 6 / np.linalg.norm(q[-1, -1, look[0]])
        k[-1, -1, look[1]] = q[-1, -1, look[0]] / 2
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(width)
    mask = np.tril(np.ones((rows, cols), int)) if mask_kind == "causal" else None
    weights = _softmax(scores if mask is None else np.where(mask, scores, -np.inf))
    one = {
        "name": kind,
        "kind": kind,
        "axes": AXES,
        "query": query,
        "query_in": query_in,
        "key": key,
        "mask_kind": mask_kind,
        "mask": mask,
        "scores": scores if is_small else None,
        "weights": weights,
        "row_sum_maxerr": float(np.abs(weights.sum(-1) - 1).max()),
        "reduced": None,
    }
    places = [(layer, head) for layer in range(layers) for head in range(heads)] if is_small else []
    scale = float(1 / np.sqrt(width))
    names: dict[str, Any] = {"kind": kind, "scale": scale}
    out = weights @ v if is_small else v
    return one, [
        names | {"layer": a, "head": b, "q": q[a, b], "k": k[a, b], "v": v[a, b], "out": out[a, b]} for a, b in places
    ]


def _costs(n: int, num_source: int, layers: int, width: int) -> dict[str, Any]:
    times = {"embed": 0.02, "self": 0.1 + 0.002 * n, "cross": 0.1 + 0.001 * num_source, "ffn": 0.2, "softmax": 0.05}
    total = sum(times.values())
    ms = times | {"total": total, "total_without_cache": total * (1 + 0.4 * n)}
    cache = {"len": n + 1, "bytes": 2 * layers * width * 4 * (n + 1), "reused": n, "window": None}
    return {"cache": cache, "ms": {name: round(value, 4) for name, value in ms.items()}}


def _softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)
