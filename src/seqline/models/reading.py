"""Which parts of a decoder attend to the source: asked by what aligns words, records, or sets weights by hand."""

from __future__ import annotations

from torch import nn

from seqline.parts.attention import SourceAttention
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
