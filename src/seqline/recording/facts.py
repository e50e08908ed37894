"""What a model is, read off its modules: the seven choices in the words of a trace, its parts and its size."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, cast

import torch
from torch import nn

from seqline.models.attentive_decoder import AttendFirstDecoder, AttentiveDecoder
from seqline.models.blocks import BlockDecoder
from seqline.models.classifier import Classifier
from seqline.models.conv_decoder import ConvDecoder
from seqline.models.decoder import RecurrentDecoder
from seqline.models.encoder import BidirectionalEncoder, ReversingEncoder
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.forecaster import DirectForecaster, SequenceForecaster
from seqline.models.readers import ReadsSummary
from seqline.parts.attention_positions import Alibi, RelativeBias, Rotary
from seqline.parts.cells import Cell
from seqline.parts.convolution import Convolution
from seqline.parts.head_attention import HeadAttention
from seqline.parts.positions import LearnedPositions, Sinusoid
from seqline.parts.scaled_sinusoid import ScaledSinusoid
from seqline.parts.self_attention import MultiHeadAttention
from seqline.parts.ttt import TTT, with_rotary
from seqline.parts.windows import MonotonicWindow, PredictiveWindow
from seqline.run_folder import WEIGHTS, Run

PART_DEPTH = 4
_POSITIONS: dict[type[nn.Module], str] = {
    Sinusoid: "sinusoidal",
    ScaledSinusoid: "sinusoidal",
    LearnedPositions: "learned",
    Rotary: "rotary",
    Alibi: "alibi",
    RelativeBias: "relative",
}


@dataclass(frozen=True)
class Origin:
    """Where a model comes from: its recipe's name, the hash of its weights, how its gradients were clipped in training."""

    arch: str
    weights_sha256: str | None = None
    clip: float | None = None


def origin_of(run: Run | None) -> Origin:
    """Return the origin of a loaded run; without one only the weights can be told."""
    if run is None:
        return Origin("model")
    entry = run.manifest["files"].get(WEIGHTS, {})
    clip = run.config.training.clip_norm or None
    return Origin(run.config.model.architecture, entry.get("sha256"), clip)


def meta_of(model: nn.Module, origin: Origin, seed: int, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the block `meta`; its id is a hash of the model and of `about`, so that the same recording has the same one."""
    parameter = next(model.parameters())
    named = f"{origin.arch} {origin.weights_sha256} {sorted(about.items())}"
    return {
        "id": hashlib.sha256(named.encode()).hexdigest()[:16],
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "toolkit": f"seqline {version('seqline')}",
        "torch": torch.__version__,
        "seed": seed,
        "device": str(parameter.device),
        "dtype": str(parameter.dtype).removeprefix("torch."),
        "ms_total": None,
    }


def model_of(model: nn.Module, origin: Origin, layers: tuple[int, int], width: int) -> dict[str, Any]:
    """Return the block `model`; layers on either side and width are those that were recorded."""
    heads = next((m for m in model.modules() if isinstance(m, MultiHeadAttention | HeadAttention | TTT)), None)
    parts = parts_of(model)
    writer = _writer(model)
    score = _first(lambda part: getattr(part, "score_name", None), writer, model, default="none")
    return {
        "arch": origin.arch,
        "layer": _layer_of(writer),
        "encoder": _encoder_of(model),
        "bridge": _bridge_of(writer),
        "reads_memory": reads_memory(model),
        "score": score,
        "window": "-" if score == "none" else window_name(model),
        "positions": _positions_of(model),
        "num_layers": {"encoder": layers[0], "decoder": layers[1]},
        "num_directions": 2 if any(isinstance(m, BidirectionalEncoder) for m in model.modules()) else 1,
        "num_heads": heads.num_heads if heads else None,
        "width": width,
        "head_width": heads.head_size if heads else None,
        "num_parameters": sum(part["num_parameters"] for part in parts),
        "weights_sha256": origin.weights_sha256,
        "parts": parts,
    }


def _writer(model: nn.Module) -> nn.Module:
    return cast("nn.Module", model.decoder) if isinstance(model, EncoderDecoder | SequenceForecaster) else model


def reads_memory(model: nn.Module) -> str:
    """Say when what was read of the source enters."""
    decoder = _writer(model)
    if isinstance(decoder, AttendFirstDecoder):
        return "before_cell"
    if isinstance(decoder, AttentiveDecoder | Classifier | DirectForecaster):
        return "after_cell"
    if isinstance(decoder, BlockDecoder | ConvDecoder):
        return "in_each_block"
    if isinstance(decoder, RecurrentDecoder):
        return "every_step_same" if isinstance(decoder.reader, ReadsSummary) else "never"
    return "never"


def parts_of(model: nn.Module) -> list[dict[str, Any]]:
    """List the parts with parameters: each parameter once, those of one block's part together."""
    modules = dict(model.named_modules())
    grouped: dict[str, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        owner = name.rpartition(".")[0]
        grouped.setdefault(".".join(owner.split(".")[:PART_DEPTH]), []).append(parameter)
    return [
        {
            "name": name,
            "type": type(modules[name]).__name__,
            "shape": list(max(found, key=lambda p: p.numel()).shape),
            "num_parameters": sum(p.numel() for p in found),
        }
        for name, found in grouped.items()
    ]


def _first(name_of: Callable[[nn.Module], str | None], *wholes: nn.Module, default: str) -> str:
    """Return the name of the first module that has one, of the outermost attention first."""
    found = [
        (name.count("."), order, word)
        for order, whole in enumerate(wholes)
        for name, module in whole.named_modules()
        if (word := name_of(module))
    ]
    return min(found, key=lambda one: (one[1], one[0]))[2] if found else default


def _layer_of(writer: nn.Module) -> str:
    names = [type(m).__name__ for m in writer.modules() if isinstance(m, Cell | TTT)]
    if names:
        return names[-1]
    if any(isinstance(m, MultiHeadAttention) for m in writer.modules()):
        return "causal self-attention" if not hasattr(writer, "encoder") else "full self-attention"
    return "convolution" if any(isinstance(m, Convolution) for m in writer.modules()) else "-"


def _encoder_of(model: nn.Module) -> str:
    encoder = getattr(model, "encoder", None)
    if not isinstance(encoder, nn.Module):
        return "-"
    if isinstance(encoder, BidirectionalEncoder):
        return "both directions"
    if isinstance(encoder, ReversingEncoder):
        return "one direction, source reversed"
    if any(isinstance(m, Cell | TTT) for m in encoder.modules()):
        return "one direction"
    if any(isinstance(m, MultiHeadAttention) for m in encoder.modules()):
        return "full self-attention"
    return "convolution" if any(isinstance(m, Convolution) for m in encoder.modules()) else "embedding"


def _bridge_of(writer: nn.Module) -> str:
    bridge = getattr(writer, "bridge", None)
    return "-" if bridge is None else type(bridge).__name__.removesuffix("Bridge")


def window_name(model: nn.Module) -> str:
    """Name the window of a model's attention to the source: everywhere, local-m or local-p."""
    for module in model.modules():
        if isinstance(module, MonotonicWindow):
            return "local-m"
        if isinstance(module, PredictiveWindow):
            return "local-p"
    return "everywhere"


def _positions_of(model: nn.Module) -> str:
    if any(isinstance(m, TTT) and m.turn is with_rotary for m in model.modules()):
        return "rotary"
    return _first(lambda part: _POSITIONS.get(type(part)), model, default="none")
