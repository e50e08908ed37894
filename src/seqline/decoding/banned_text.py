"""Banned text without word spaces: an output never holds it, whatever stands around it and however it is cut into pieces."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from seqline.decoding.banned import Spelling
from seqline.decoding.rules import Prefix, Rule

_NEVER = float("-inf")


def must_not_spell(texts: Sequence[Sequence[str]], spelling: Spelling) -> Rule:
    """Make a rule that forbids the token with which an output comes to hold a banned text.

    A text that a forced prefix already holds is let be.

    Args:
        texts: for each sentence of the batch what its output never spells, none of them empty.
        spelling: what the ids write.
    """
    banned = [[text.encode() for text in of_one] for of_one in texts]
    completing = {text: _completing(text, spelling) for of_one in banned for text in of_one}

    def rule(prefix: Prefix, log_probs: Tensor) -> Tensor:
        for row, (b, ids) in enumerate(zip(prefix.sentence.tolist(), prefix.tokens.tolist(), strict=True)):
            written = spelling.write(ids) if banned[b] else b""
            for text in banned[b]:
                for num_written, columns in completing[text].items():
                    if columns and written.endswith(text[:num_written]):
                        log_probs[row, columns] = _NEVER
        return log_probs

    return rule


def _completing(text: bytes, spelling: Spelling) -> dict[int, list[int]]:
    """Return which ids complete a text of which the first k bytes stand there, for every k; k = 0: those that hold it whole."""
    found = {k: [i for i, data in enumerate(spelling.texts) if data.startswith(text[k:])] for k in range(1, len(text))}
    return {0: [i for i, data in enumerate(spelling.texts) if text in data], **found}
