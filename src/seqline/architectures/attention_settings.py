"""Settings of the recipes whose decoder attends: where it looks, with how many heads, whether it remembers where it looked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

from pydantic import Field, model_validator

from seqline.architectures.recipe import Ends, Settings, Width
from seqline.parts.attention import Attention, SourceAttention
from seqline.parts.coverage import CoverageAttention
from seqline.parts.head_attention import HeadAttention
from seqline.parts.scores import Score
from seqline.parts.windows import Everywhere, MonotonicWindow, PredictiveWindow, Window
from seqline.sections import KeyFault

WINDOW_SIZE, NUM_HEADS = 10, 4


class AttentionSettings(Settings, ABC):
    """What an attention decoder may choose beside its score.

    window: the source positions a query sees: everywhere, local-m (around the target position) or local-p (around a predicted
        place). window_size: positions to either side (10 when not given). num_heads: of the score multi-head (4 when not given).
    coverage: how much of each position has been read enters the score. attention_dropout: share of the weights set to zero.
    """

    hidden_size: int = Width
    window: Literal["everywhere", "local-m", "local-p"] = "everywhere"
    window_size: int | None = Field(default=None, ge=1, le=1024)
    num_heads: int | None = Field(default=None, ge=1, le=8192)
    coverage: bool = False
    attention_dropout: float = Field(default=0.0, ge=0.0, lt=1.0)

    @property
    @abstractmethod
    def is_multi_head(self) -> bool:
        """Tell whether the score is that of several heads."""

    @model_validator(mode="after")
    def _check_attention(self) -> AttentionSettings:
        if self.window_size is not None and self.window == "everywhere":
            raise KeyFault(
                "window_size", "window_size has no meaning with window everywhere; set window to local-m or local-p"
            )
        if not self.is_multi_head:
            if self.num_heads is not None:
                raise KeyFault("num_heads", "num_heads has no meaning with this score; set score to multi-head")
            return self
        if self.coverage:
            raise KeyFault("coverage", "coverage enters the additive score only, which multi-head is not")
        heads = self.num_heads or NUM_HEADS
        if self.hidden_size % heads:
            raise KeyFault("num_heads", f"hidden_size {self.hidden_size} is not divisible by num_heads {heads}")
        return self

    def parameters_at_most(self, vocab: Ends) -> int:
        """Return a rough upper bound: that of any recipe, and 16 more square matrices a layer and once for the choices here."""
        values = self.model_dump()
        widest = max(value for name, value in values.items() if name.endswith("_size") and value)
        extra = 16 * widest**2 * (1 + values.get("num_layers", 1))
        return super().parameters_at_most(vocab) + extra

    def make_window(self) -> Window:
        """Return the window part."""
        reach = self.window_size or WINDOW_SIZE
        if self.window == "local-m":
            return MonotonicWindow(reach)
        return PredictiveWindow(self.hidden_size, reach) if self.window == "local-p" else Everywhere()

    def make_heads(self, key_size: int) -> SourceAttention:
        """Return attention with several heads."""
        return HeadAttention(
            self.hidden_size, key_size, self.num_heads or NUM_HEADS, self.make_window(), self.attention_dropout
        )

    def make_coverage(self, key_size: int, attention_size: int, score_name: str) -> SourceAttention:
        """Return additive attention with coverage; score_name: additive or concat."""
        dropout = self.attention_dropout
        return CoverageAttention(self.hidden_size, key_size, attention_size, self.make_window(), dropout, score_name)

    def make_plain(self, score: Score) -> SourceAttention:
        """Return attention with a score of one query and one key."""
        return Attention(score, self.make_window(), self.attention_dropout)

    def context_size(self, key_size: int) -> int:
        """Return the width of a context: that of the values, which heads project to the query's."""
        return self.hidden_size if self.is_multi_head else key_size
