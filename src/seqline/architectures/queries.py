"""How a recipe without a decoder attends to its features: whose query it is, and how it is compared with them."""

from __future__ import annotations

from typing import Literal

from seqline.parts.scores import AdditiveScore, DotScore, GeneralScore, Score
from seqline.sections import Section


class QuerySettings(Section):
    """query: a learned vector, or the last feature. query_score: how it is compared with the features."""

    query: Literal["learned", "last"] = "learned"
    query_score: Literal["dot", "general", "additive"] = "dot"

    def make_score(self, size: int) -> Score:
        """Return the score part for queries and features of one width."""
        if self.query_score == "dot":
            return DotScore()
        return GeneralScore(size, size) if self.query_score == "general" else AdditiveScore(size, size, size)
