"""Made-up recurrent models: encoder-decoders with and without attention, one and two directions, and a tagger."""

from __future__ import annotations

from typing import Any

import numpy as np

from seqline.visualize.blocks import AXES
from seqline.visualize.synthetic.cells import decoder_block, encoder_block, run_cell
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

WIDTH = 8
ROWS_A = [
    [0.55, 0.20, 0.15, 0.10],
    [0.86, 0.05, 0.06, 0.03],
    [0.10, 0.20, 0.10, 0.60],
    [0.05, 0.10, 0.15, 0.70],
    [0.25, 0.25, 0.25, 0.25],
]
_LAYERS = {"rnn": "SimpleCell", "lstm": "LSTMCell", "gru": "GRUCell"}


def encoder_decoder(
    name: str,
    cell: str,
    texts: tuple[dict[str, Any], dict[str, Any]],
    *,
    weights: np.ndarray | None = None,
    directions: int = 1,
    seed: int = 0,
    temperature: float = 1.0,
) -> dict[str, Any]:
    """Return a whole trace of a recurrent encoder-decoder.

    Args:
        name: The trace's id and architecture.
        cell: `rnn`, `lstm` or `gru`.
        texts: Source and target.
        weights: [T S] where each output reads; None: the decoder starts from the last state and reads nothing more.
        directions: 1 or 2.
        seed: Of all numbers.
        temperature: Of the decoding.
    """
    source, target = texts
    rng = np.random.default_rng(seed)
    num_source, num_target = len(source["tokens"]), len(target["tokens"])
    x, y = rng.normal(0, 1, (num_source, WIDTH)), rng.normal(0, 1, (num_target, WIDTH))
    runs = [run_cell(cell, x, WIDTH, rng)]
    if directions == 2:
        runs.append(run_cell(cell, x[::-1], WIDTH, rng))
    encoder = encoder_block(runs)
    states = np.concatenate(list(encoder["h"][0]), axis=-1)
    context = weights @ states if weights is not None else np.repeat(runs[0].h[-1:], num_target, axis=0)
    fed = np.concatenate([y, context], 1) if weights is not None else y
    run = run_cell(cell, fed, WIDTH, rng, start=runs[-1])
    mix = rng.normal(0, 0.4, (WIDTH + context.shape[1], WIDTH))
    z = np.tanh(np.concatenate([run.h, context], 1) @ mix)
    num_read = _num_read(source)
    steps = decoder_steps(target, z, num_read + 1, rng, temperature)
    choices: dict[str, Any] = {"layer": _LAYERS[cell], "num_directions": directions}
    choices["encoder"] = "both directions" if directions == 2 else "one direction"
    if weights is not None:
        choices |= {"reads_memory": "before_cell", "score": "additive", "bridge": "Tanh"}
    blocks: dict[str, Any] = {
        "decode": decode(temperature=temperature),
        "target": target,
        "schedule": schedule(num_source, num_target, directions, num_read, is_attentive=weights is not None),
        "encoder": encoder,
        "decoder": decoder_block(run) | {"context": context, "z": z, "steps": steps},
        "embeddings": {"source": x, "target": y, "scale": None},
    }
    if weights is not None:
        blocks["attention"] = [cross(weights, rng)]
    return document(name, model(name, width=WIDTH, layers=(1, 1), **choices), "translation", source, **blocks)


def cross(weights: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """Return the attention block of one head [T S]; its scores are logarithms of the weights, each row moved a little."""
    scores = np.log(weights) + rng.normal(0, 0.5, (len(weights), 1))
    return {
        "name": "cross",
        "kind": "cross",
        "axes": AXES,
        "query": "target.out",
        "query_in": "target.in",
        "key": "source",
        "mask_kind": "none",
        "mask": None,
        "scores": scores[None, None],
        "weights": weights[None, None],
        "row_sum_maxerr": float(np.abs(weights.sum(-1) - 1).max()),
        "reduced": None,
    }


def schedule(
    num_source: int, num_target: int, directions: int, num_read: int, *, is_attentive: bool
) -> list[dict[str, Any]]:
    """Return S + T steps; an end mark of the source is read together with the last word."""
    steps: list[list[dict[str, Any]]] = [[] for _ in range(num_read)]
    for order, name in enumerate(("forward", "backward")[:directions]):
        for k in range(num_source):
            pos, before = (k, k - 1) if order == 0 else (num_source - 1 - k, num_source - k)
            last = f"h.enc.{name}:{before}" if k else f"h.enc.{name}:init"
            t = k if order == 0 else max(0, k - (num_source - num_read))
            steps[min(t, num_read - 1)].append(
                event("encoder", pos, [f"x:{pos}", last], [f"h.enc.{name}:{pos}"], layer=0, dir=name)
            )
    memory = [f"h.enc.{name}:{s}" for name in ("forward", "backward")[:directions] for s in range(num_source)]
    end = f"h.enc.backward:{0}" if directions == 2 else f"h.enc.forward:{num_source - 1}"
    for n in range(num_target):
        state = f"h.dec:{n - 1}" if n else "h.dec:init"
        events = [] if n else [event("bridge", None, [end], ["h.dec:init"])]
        reads = [f"y:{n - 1}" if n else "y:init", state]
        if is_attentive:
            events.append(event("attention", n, [state, *memory], [f"ctx:{n}"], layer=0))
            reads.append(f"ctx:{n}")
        events.append(event("decoder", n, reads, [f"h.dec:{n}", f"y:{n}"], layer=0))
        steps.append(events)
    return numbered(steps)


def fixture_a() -> dict[str, Any]:
    """Return fixture A: 比萨 从 烤箱 出来 becomes "the pizza came out", with attention."""
    texts = (
        block(["比萨", "从", "烤箱", "出来"], "zh"),
        target_block(["the", "pizza", "came", "out", EOS], "en", "the pizza came out"),
    )
    trace = encoder_decoder("bahdanau", "gru", texts, weights=np.array(ROWS_A), directions=2, seed=1)
    return trace | {"gradients": gradients(4, 0.82, seed=1)}


ENGLISH = ["the", "pizza", "came", "out", "of", "the", "oven", "and", "it", "smelled", "good"]
FRENCH = ["la", "pizza", "sortit", "du", "four", "et", "elle", "sentait", "bon", EOS]


def fixture_rnn(cell: str) -> dict[str, Any]:
    """Return an encoder-decoder without attention on eleven English words."""
    name = {"rnn": "simple-rnn", "lstm": "lstm", "gru": "gru"}[cell]
    texts = (block(ENGLISH, "en"), target_block(FRENCH, "fr"))
    trace = encoder_decoder(name, cell, texts, seed=2)
    return trace | {"gradients": gradients(11, {"rnn": 0.1, "lstm": 0.9, "gru": 0.85}[cell], seed=2)}


def fixture_bilstm() -> dict[str, Any]:
    """Return a tagger that reads eleven English words in both directions."""
    tags = ["DET", "NOUN", "VERB", "ADV", "ADP", "DET", "NOUN", "CONJ", "PRON", "VERB", "ADJ"]
    source, rng = block(ENGLISH, "en"), np.random.default_rng(3)
    size = len(ENGLISH)
    x = rng.normal(0, 1, (size, WIDTH))
    runs = [run_cell("lstm", x, WIDTH, rng), run_cell("lstm", x[::-1], WIDTH, rng)]
    steps = schedule(size, 0, 2, size, is_attentive=False)
    joined = [f"h.enc.{way}:{s}" for way in ("forward", "backward") for s in range(size)]
    steps[-1]["events"].append(event("output", None, joined, [f"y:{s}" for s in range(size)]))
    choices = {"encoder": "both directions", "bridge": "-", "num_directions": 2}
    return document(
        "bilstm",
        model("bilstm", width=WIDTH, layers=(1, 0), **choices),
        "tagging",
        source,
        target=block(tags, "en", bos=None, reference=None),
        schedule=steps,
        encoder=encoder_block(runs),
        embeddings={"source": x, "target": None, "scale": None},
    )


def fixture_d() -> dict[str, Any]:
    """Return fixture D: Arabic, read from right to left, becomes English."""
    texts = (
        block(["خرجت", "البيتزا", "من", "الفرن", EOS], "ar"),
        target_block(["the", "pizza", "came", "out", "of", "the", "oven", EOS], "en"),
    )
    best = [1, 1, 0, 0, 2, 3, 3, 4]
    weights = np.full((8, 5), 0.06)
    weights[np.arange(8), best] = 0.76
    return encoder_decoder("bahdanau", "gru", texts, weights=weights, directions=2, seed=4)


def gradients(size: int, factor: float, seed: int) -> dict[str, Any]:
    """Return norms that shrink by a factor for each step away from the loss; what underflows is 0."""
    rng = np.random.default_rng(seed)
    norms = factor ** np.arange(size - 1, -1, -1) * rng.uniform(0.8, 1.2, size)
    norms[norms < 1e-10] = 0.0
    return {"of": "loss of the last output", "norm_h": norms, "norm_c": None, "clip": 1.0, "spectral_radius": factor}


def _num_read(source: dict[str, Any]) -> int:
    """Count the steps that reading takes: an end mark has none of its own."""
    tokens = source["tokens"]
    return max(1, len(tokens) - int(tokens[-1]["special"] == "eos"))
