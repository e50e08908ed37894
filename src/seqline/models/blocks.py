"""Blocks of sub-layers in residual connections, and the encoder and decoder that are stacks of them.

What mixes positions (the mixer) is any SequenceLayer, so the Transformer, the SSRU decoder and TTT share these classes.

Source: Vaswani et al. 2017 (1706.03762), section 3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from torch import nn

from seqline.parts.attention import KeyValues
from seqline.parts.residual import LayerDrop, Residual
from seqline.parts.self_attention import MultiHeadAttention, SelfAttention
from seqline.parts.values import StepEmbedding, StepHead
from seqline.shapes import Bool, Float, Shaped, Tensor
from seqline.state import Encoded
from seqline.watch import show


class CausalBlock(nn.Module):
    """A causal mixer, then a feed-forward map, each in a residual connection: a SequenceLayer.

    Args:
        mixer: a SequenceLayer, such as causal self-attention or an SSRU.
        feed_forward: a map of each position alone.
        make_residual: makes one residual connection.
        layer_drop: probability of leaving the block out in training.
    """

    def __init__(
        self,
        mixer: nn.Module,
        feed_forward: nn.Module,
        make_residual: Callable[[], Residual],
        layer_drop: float = 0.0,
    ) -> None:
        super().__init__()
        self.mixer, self.around_mixer = mixer, make_residual()
        self.feed_forward, self.around_feed_forward = feed_forward, make_residual()
        self.layer_drop = LayerDrop(layer_drop)

    def initial_state(self, batch_size: int) -> Any:
        """Return the mixer's initial state."""
        return self.mixer.initial_state(batch_size)  # pyright: ignore[reportCallIssue]

    def forward(
        self, x: Float[Tensor, "B T D"], state: Any, mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T D"], Any]:
        """Read new positions behind those in the state."""
        if self.layer_drop.skips():
            return x, state
        change, state = self.mixer(self.around_mixer.before(x), state, mask)
        x = self.around_mixer.after(x, change)
        x = self.around_feed_forward(x, self.feed_forward)
        show("block", h=x)
        return x, state


class DecoderBlock(nn.Module):
    """A causal mixer, attention to the source, a feed-forward map, each in a residual connection.

    Args:
        mixer: a SequenceLayer.
        cross_attention: reads the memory, which its `prepare` makes of the encoder's outputs.
        feed_forward: a map of each position alone.
        make_residual: makes one residual connection.
        layer_drop: probability of leaving the block out in training.
    """

    def __init__(
        self,
        mixer: nn.Module,
        cross_attention: MultiHeadAttention,
        feed_forward: nn.Module,
        make_residual: Callable[[], Residual],
        layer_drop: float = 0.0,
    ) -> None:
        super().__init__()
        self.mixer, self.around_mixer = mixer, make_residual()
        self.cross_attention, self.around_cross = cross_attention, make_residual()
        self.feed_forward, self.around_feed_forward = feed_forward, make_residual()
        self.layer_drop = LayerDrop(layer_drop)

    def initial_state(self, batch_size: int) -> Any:
        """Return the mixer's initial state."""
        return self.mixer.initial_state(batch_size)  # pyright: ignore[reportCallIssue]

    def forward(
        self, x: Float[Tensor, "B T D"], state: Any, memory: KeyValues, mask: Bool[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T D"], Any]:
        """Read new positions behind those in the state."""
        if self.layer_drop.skips():
            return x, state
        change, state = self.mixer(self.around_mixer.before(x), state, mask)
        x = self.around_mixer.after(x, change)
        x = self.around_cross(x, lambda query: self.cross_attention(query, memory))
        x = self.around_feed_forward(x, self.feed_forward)
        show("block", h=x)
        return x, state


class EncoderBlock(nn.Module):
    """Full self-attention, then a feed-forward map, each in a residual connection.

    Args:
        attention: self-attention to the whole row.
        feed_forward: a map of each position alone.
        make_residual: makes one residual connection.
        layer_drop: probability of leaving the block out in training.
    """

    def __init__(
        self,
        attention: SelfAttention,
        feed_forward: nn.Module,
        make_residual: Callable[[], Residual],
        layer_drop: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention, self.around_attention = attention, make_residual()
        self.feed_forward, self.around_feed_forward = feed_forward, make_residual()
        self.layer_drop = LayerDrop(layer_drop)

    def forward(self, x: Float[Tensor, "B S D"], is_real: Bool[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        """Let every position read every real one."""
        if self.layer_drop.skips():
            return x
        x = self.around_attention(x, lambda query: self.attention(query, is_real))
        x = self.around_feed_forward(x, self.feed_forward)
        show("block", h=x)
        return x


class BlockEncoder(nn.Module):
    """Embedding, positions and dropout, blocks, last norm; `final` is None, for nothing is carried along time.

    Args:
        embedding: of source ids.
        before: a SequenceLayer between embedding and blocks: positions and dropout.
        blocks: (x [B S D], is_real [B S]) to x, lowest first.
        after: a norm behind the last block, or nn.Identity().
    """

    def __init__(
        self, embedding: StepEmbedding, before: nn.Module, blocks: Sequence[nn.Module], after: nn.Module
    ) -> None:
        super().__init__()
        self.embedding, self.before = embedding, before
        self.blocks, self.after = nn.ModuleList(blocks), after

    def forward(self, ids: Shaped[Tensor, "B S *F"], is_real: Bool[Tensor, "B S"]) -> Encoded:
        """Encode a batch of sources."""
        start = self.before.initial_state(len(ids))  # pyright: ignore[reportCallIssue]
        x, _ = self.before(self.embedding(ids), start, is_real)
        for block in self.blocks:
            x = block(x, is_real)
        x = self.after(x)
        show("encoder", ids=ids, outputs=x)
        return Encoded(x, is_real, None)


class BlockState(NamedTuple):
    """The state of what stands before the blocks (how many real tokens were read), and one state a block."""

    before: Any
    blocks: tuple[Any, ...]


class BlockDecoder(nn.Module):
    """Embedding, positions and dropout, blocks, last norm, head: a Decoder; its memory is one KeyValues a block.

    Args:
        embedding: of target ids.
        before: a SequenceLayer between embedding and blocks: positions and dropout.
        blocks: lowest first.
        after: a norm behind the last block, or nn.Identity().
        head: to logits.
    """

    def __init__(
        self,
        embedding: StepEmbedding,
        before: nn.Module,
        blocks: Sequence[DecoderBlock],
        after: nn.Module,
        head: StepHead,
    ) -> None:
        super().__init__()
        self.embedding, self.before = embedding, before
        self.blocks, self.after, self.head = nn.ModuleList(blocks), after, head

    def _blocks(self) -> Iterator[DecoderBlock]:
        return (cast("DecoderBlock", block) for block in self.blocks)

    def prepare(self, encoded: Encoded) -> tuple[KeyValues, ...]:
        """Project the source into each block's keys and values, once."""
        memory = tuple(block.cross_attention.prepare(encoded.outputs, encoded.is_real) for block in self._blocks())
        for each in memory:
            show("keys and values", keys=each.keys, values=each.values)
        return memory

    def initial_state(self, memory: Any, batch_size: int) -> BlockState:
        """Return the state of rows that have read nothing."""
        before = self.before.initial_state(batch_size)  # pyright: ignore[reportCallIssue]
        return BlockState(before, tuple(block.initial_state(batch_size) for block in self._blocks()))

    def forward(
        self,
        ids: Shaped[Tensor, "B T *F"],
        state: BlockState,
        memory: tuple[KeyValues, ...],
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T V"], BlockState]:
        """Read target ids and return the logits of the next ones."""
        x, before = self.before(self.embedding(ids), state.before, mask)
        after = []
        for block, block_state, keys_values in zip(self._blocks(), state.blocks, memory, strict=True):
            x, block_state = block(x, block_state, keys_values, mask)
            after.append(block_state)
        return self.head(self.after(x)), BlockState(before, tuple(after))
