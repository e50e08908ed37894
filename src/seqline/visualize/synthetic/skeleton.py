"""What every made-up trace has: its texts, the model in words, decoder steps, schedule and checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from seqline.visualize.schema import MINOR, SCHEMA, TEMPERATURES
from seqline.visualize.scripts import readable
from seqline.visualize.text import special_token, text_block
from seqline.visualize.widths import width_em

EOS, BOS = "</s>", "<s>"
_IDS = {"<pad>": 0, "<unk>": 1, BOS: 2, EOS: 3}
_FILLER = ("a", "is", "hot", "bread", "from", "cold", "went", "kitchen", "house", "not", "she", "good", "very", "into")
_TOP = 8


def block(pieces: Sequence[str], lang: str, **more: Any) -> dict[str, Any]:
    """Return a text block of pieces: `▁` begins a word where any piece has it, else each piece is a word."""
    has_marks = any(piece.startswith("▁") for piece in pieces)
    text, spans = "", []
    for piece in pieces:
        if piece in _IDS:
            spans.append((_IDS[piece], piece, None, None))
            continue
        begins = piece.startswith("▁") if has_marks else True
        start = len(text.encode("utf-8"))
        if begins and text:
            text += " "
            start += 0 if has_marks else 1
        text += piece.removeprefix("▁")
        spans.append((token_id(piece), piece, start, len(text.encode("utf-8"))))
    return text_block(text, spans, lang=lang) | more


def target_block(pieces: Sequence[str], lang: str, reference: str | None = None) -> dict[str, Any]:
    """Return the block `target`, begun with `<s>`."""
    return block(pieces, lang, bos=special_token(2, BOS), reference=reference)


def token_id(piece: str) -> int:
    """Return an id of a vocabulary of 8,000 that depends on the piece only."""
    return _IDS.get(piece) if piece in _IDS else 4 + sum((i + 1) * 131 * ord(c) for i, c in enumerate(piece)) % 7996  # type: ignore[return-value]


def document(name: str, arch: dict[str, Any], task: str, source: dict[str, Any], **blocks: Any) -> dict[str, Any]:
    """Return a document of the required blocks and of those given."""
    checks = standard_checks(has_gates="gates" in (blocks.get("encoder") or {}))
    return {
        "schema": SCHEMA,
        "minor": MINOR,
        "meta": {
            "id": name,
            "created": "2026-01-01T00:00:00Z",
            "toolkit": "seqline synthetic",
            "torch": None,
            "seed": 0,
            "device": "cpu",
            "dtype": "float64",
            "ms_total": 12.5,
        },
        "model": arch,
        "task": task,
        "source": source,
        **blocks,
        "checks": checks,
        "tensors": {},
    }


def model(
    arch: str, *, width: int, layers: tuple[int, int], heads: int | None = None, **choices: Any
) -> dict[str, Any]:
    """Return the block `model`; `choices` are those that differ from a recurrent encoder-decoder without attention."""
    shapes = {
        "source_embedding": ("Embedding", [8000, width]),
        "encoder": ("Stack", [max(layers[0], 1), 4, width, 2 * width]),
        "decoder": ("Stack", [max(layers[1], 1), 4, width, 2 * width]),
        "output": ("Linear", [8000, width]),
    }
    parts = [
        {"name": name, "type": kind, "shape": shape, "num_parameters": math.prod(shape)}
        for name, (kind, shape) in shapes.items()
    ]
    plain = {
        "arch": arch,
        "layer": "LSTMCell",
        "encoder": "one direction",
        "bridge": "Last",
        "reads_memory": "never",
        "score": "none",
        "window": "everywhere",
        "positions": "none",
        "num_directions": 1,
    }
    sizes = {
        "num_layers": {"encoder": layers[0], "decoder": layers[1]},
        "num_heads": heads,
        "width": width,
        "head_width": width // heads if heads else None,
        "num_parameters": sum(part["num_parameters"] for part in parts),
        "weights_sha256": "5eed" * 16,
        "parts": parts,
    }
    return plain | sizes | choices


def decode(mode: str = "greedy", temperature: float = 1.0, stopped_by: str = "eos") -> dict[str, Any]:
    """Return the block `decode`."""
    return {
        "mode": mode,
        "temperature": temperature,
        "top_k": None,
        "top_p": None,
        "max_len": 100,
        "stopped_by": stopped_by,
    }


def decoder_steps(
    target: dict[str, Any], z: np.ndarray, first_t: int, rng: np.random.Generator, temperature: float = 1.0
) -> list[dict[str, Any]]:
    """Return a step a produced token: logits from z [T D] over a vocabulary of a few dozen pieces, the token on top."""
    pieces = [token["piece"] for token in target["tokens"]]
    vocabulary = list(dict.fromkeys([*pieces, EOS, *_FILLER]))
    matrix = rng.normal(0, 1.0, (len(vocabulary), z.shape[1]))
    fed = [target["bos"]["piece"] if target.get("bos") else BOS, *pieces]
    steps = []
    for n, piece in enumerate(pieces):
        logits = matrix @ z[n]
        chosen = vocabulary.index(piece)
        logits[chosen] = logits.max() + rng.uniform(0.4, 2.5)
        steps.append({"t": first_t + n, "in": fed[n], "out": piece} | choice(vocabulary, logits, chosen, temperature))
    return steps


def choice(vocabulary: list[str], logits: np.ndarray, chosen: int, temperature: float) -> dict[str, Any]:
    """Return what a decoder step says about a choice among all pieces."""
    order = np.argsort(-logits, kind="stable")
    rank = int(np.flatnonzero(order == chosen)[0])
    top = order[: max(_TOP, rank + 1)]
    scaled = logits / temperature
    logp = scaled - _log_sum(scaled)
    rest = np.setdiff1d(order, top)
    topk = []
    for i in top:
        shown = readable(vocabulary[i].removeprefix("▁"))
        one = {"id": token_id(vocabulary[i]), "piece": vocabulary[i], "text": shown, "w_em": width_em(shown)}
        topk.append(one | {"logit": logits[i], "p": np.exp(logp[i]), "logp": logp[i]})
    return {
        "chosen_rank": rank,
        "topk": topk,
        "rest_p": np.exp(logp[rest]).sum(),
        "entropy": -(np.exp(logp) * logp).sum(),
        "temps": list(TEMPERATURES),
        "rest_lse": [_log_sum(logits[rest] / t) for t in TEMPERATURES],
    }


def standard_checks(*, has_gates: bool) -> list[dict[str, Any]]:
    """Return the checks that every trace carries."""
    checks = [
        ("rows_sum_1", "attention weights of a row sum to 1", 2.2e-16, 1e-5),
        ("output_equal", "the text equals the model's own output", 0.0, 0.0),
        ("shapes_named", "every axis has the size of its tokens", True, None),
        ("attention_path", "attention took the explicit path", "explicit", None),
        ("packing_error", "packing moved no number by more", 2.1e-4, 4.9e-4),
    ]
    if has_gates:
        checks.insert(3, ("gates_parity", "the readable cell equals the fused layer", 3.0e-8, 1e-5))
    return [{"id": i, "text": text, "ok": True, "value": value, "tol": tol} for i, text, value, tol in checks]


def event(part: str, pos: int | None, reads: Sequence[str], writes: Sequence[str], **more: Any) -> dict[str, Any]:
    """Return one event of a schedule; `layer` and `dir` by name."""
    plain = {"part": part, "layer": None, "dir": None, "pos": pos, "reads": list(reads), "writes": list(writes)}
    return plain | more


def numbered(steps: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return a schedule of the events of each t."""
    return [{"t": t, "events": events, "ms": round(0.4 + 0.01 * t, 2)} for t, events in enumerate(steps, 1)]


def _log_sum(values: np.ndarray) -> float:
    top = values.max()
    return float(top + np.log(np.exp(values - top).sum()))
