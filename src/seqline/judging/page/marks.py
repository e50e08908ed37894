"""Where two sentences differ: words, or characters of text without word spaces."""

from __future__ import annotations

import html
import re
from difflib import SequenceMatcher

from seqline.evaluation.text_checks import is_unsegmented

MOST_UNITS = 1_000
"""Longer sentences are shown without marks: finding the differences takes the square of the length."""
_WORD = re.compile(r"\S+\s*|\s+")


def pieces(text: str) -> list[str]:
    """Cut a text into words, each with the white space behind it, or into characters; joined they are the text."""
    return list(text) if is_unsegmented([text]) else _WORD.findall(text)


def marked(text: str, other: str) -> list[tuple[str, bool]]:
    """Return the text in stretches, each with whether it differs from what stands in `other` in the same order.

    White space between words is no difference. The stretches joined are the text.
    """
    mine, theirs = pieces(text), pieces(other)
    if max(len(mine), len(theirs)) > MOST_UNITS:
        return [(text, False)]
    words = [piece.strip() for piece in mine]
    matcher = SequenceMatcher(None, words, [piece.strip() for piece in theirs], autojunk=False)
    is_same = [False] * len(mine)
    for block in matcher.get_matching_blocks():
        is_same[block.a : block.a + block.size] = [True] * block.size
    stretches: list[tuple[str, bool]] = []
    for piece, same in zip(mine, is_same, strict=True):
        if stretches and stretches[-1][1] is not same:
            stretches[-1] = (stretches[-1][0] + piece, not same)
        else:
            stretches.append((piece, not same))
    return stretches


def marked_html(text: str, other: str) -> str:
    """Return the text escaped, what `other` lacks inside `<mark>`; white space at its end stays outside."""
    parts = []
    for stretch, differs in marked(text, other):
        body = stretch.rstrip() if differs else ""
        rest = stretch[len(body) :]
        parts.append((f"<mark>{html.escape(body)}</mark>" if body else "") + html.escape(rest))
    return "".join(parts)
