"""What a model reads of its source: which parts of a decoder attend to it, and how much of a text its positions reach."""

from __future__ import annotations

from torch import nn

from seqline.parts.attention import SourceAttention
from seqline.parts.positions import PositionScheme
from seqline.parts.scores import Score
from seqline.parts.self_attention import MultiHeadAttention

MIXER = "mixer"
"""The name under which a block holds what mixes the target's own positions."""


def is_in_mixer(path: str) -> bool:
    """Tell whether a module with that dotted name, or one inside it, mixes the target's own positions."""
    return MIXER in path.split(".")


def source_readers(decoder: nn.Module) -> list[nn.Module]:
    """Return what reads the source in a decoder, the lowest layer first; [] where nothing attends to it."""
    return [
        module
        for name, module in decoder.named_modules()
        if isinstance(module, SourceAttention | MultiHeadAttention) and not is_in_mixer(name)
    ]


def longest_source(encoder: nn.Module, decoder: nn.Module) -> int | None:
    """Return how many pieces of a source can be read, the end mark included; None: as many as there are."""
    of_scores = [module.max_source_length for module in decoder.modules() if isinstance(module, Score)]
    return min((length for length in [*_tables(encoder), *of_scores] if length is not None), default=None)


def longest_target(decoder: nn.Module) -> int | None:
    """Return how many pieces a decoder can write, the end mark included; None: as many as are asked for."""
    return min((length for length in _tables(decoder) if length is not None), default=None)


def _tables(module: nn.Module) -> list[int | None]:
    return [part.max_length for part in module.modules() if isinstance(part, PositionScheme)]
