"""Where a text may be cut: characters as a reader sees them, scripts, and the words between white space."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise

Segment = Callable[[str], Sequence[tuple[int, int]]]

_JOINER = "\u200d"
_UNSEGMENTED = {"HAN", "HIRAGANA", "KATAKANA", "BOPOMOFO", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "YI"}
_NAMES = {"CJK": "HAN", "KANGXI": "HAN", "IDEOGRAPHIC": "HAN", "HALFWIDTH": "KATAKANA"}
_TAGS = (0xE0020, 0xE007F)


def clusters(text: str) -> list[tuple[int, int]]:
    """Cut a text into user-perceived characters; our own short form of the Unicode rule.

    Marks, joiners, variation selectors and skin tones stay with what they follow, emoji joined by U+200D, pairs of
    regional letters, Hangul letters of a syllable and a line end of two characters stay together.
    """
    cuts = [0]
    num_regional = 0
    for i in range(1, len(text)):
        before, here = text[i - 1], text[i]
        num_regional = num_regional + 1 if _is_regional(before) else 0
        if not _is_joined(before, here, num_regional):
            cuts.append(i)
    return list(pairwise([*cuts, len(text)])) if text else []


def word_ranges(text: str, segment: Segment | None = None) -> list[tuple[int, int]]:
    """Cut a text into words: runs between white space, cut where the script changes.

    Args:
        text: Any text.
        segment: Cuts a run of a script that writes no spaces (Chinese, Japanese, Thai and their like) into words, as
            ranges of characters; what it leaves out, and without it all, becomes a word a user-perceived character.

    Returns:
        Ranges of characters in order; no user-perceived character is cut.
    """
    words = []
    for match in re.finditer(r"\S+", text):
        for start, end, is_unsegmented in _script_runs(match[0]):
            start, end = match.start() + start, match.start() + end
            if is_unsegmented:
                words += _segmented(text, start, end, segment)
            else:
                words.append((start, end))
    return words


def direction(text: str) -> str:
    """Return `ltr`, `rtl` or `neutral`: what the first strong character says."""
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in ("L", "R", "AL"):
            return "ltr" if kind == "L" else "rtl"
    return "neutral"


def readable(text: str) -> str:
    """Return a text that any picture can show: control characters as their symbols, no replacement character."""
    return "".join(map(_shown, text)) if not (text.isascii() and text.isprintable()) else text


def _shown(character: str) -> str:
    code = ord(character)
    if character in "\n\t":
        return character
    if code < 0x20 or code == 0x7F:
        return chr(0x2400 + code) if code < 0x20 else "\u2421"
    if character == "\ufffd" or code & 0xFFFE == 0xFFFE or unicodedata.category(character) in ("Cc", "Cs"):
        return f"<U+{code:04X}>"
    return character


def _script_runs(word: str) -> list[tuple[int, int, bool]]:
    """Return ranges of one script; what has no script of its own (digits, points) stays with what it follows."""
    runs: list[tuple[int, int, str]] = []
    for start, end in clusters(word):
        script = _script(word[start])
        if runs and (not script or not runs[-1][2] or script == runs[-1][2]):
            runs[-1] = (runs[-1][0], end, runs[-1][2] or script)
        else:
            runs.append((start, end, script))
    merged: list[tuple[int, int, bool]] = []
    for start, end, script in runs:  # Japanese mixes its scripts inside a word
        is_unsegmented = script in _UNSEGMENTED
        if merged and is_unsegmented and merged[-1][2]:
            merged[-1] = (merged[-1][0], end, True)
        else:
            merged.append((start, end, is_unsegmented))
    return merged


def _segmented(text: str, start: int, end: int, segment: Segment | None) -> list[tuple[int, int]]:
    cuts = clusters(text[start:end])
    if segment is None:
        return [(start + a, start + b) for a, b in cuts]
    found = [(a, b) for a, b in segment(text[start:end]) if b > a]
    if any(a < 0 or b > end - start for a, b in found) or any(one[1] > two[0] for one, two in pairwise(found)):
        raise ValueError(f"segment must return ranges in order inside the text, got {found[:8]}")
    words: list[tuple[int, int]] = []
    owner = None
    for a, b in cuts:
        index = next((i for i, (low, high) in enumerate(found) if low <= a < high), None)
        if index is not None and index == owner:
            words[-1] = (words[-1][0], start + b)
        else:
            words.append((start + a, start + b))
        owner = index
    return words


@lru_cache(maxsize=65536)
def _script(character: str) -> str:
    """Name the script of a letter by the first word of its name; "" for what belongs to no script."""
    if unicodedata.category(character)[0] not in "LM":
        return ""
    name = unicodedata.name(character, "").split(" ", 1)[0].split("-", 1)[0]
    if name in ("MODIFIER", "COMBINING", "FEMININE", "MASCULINE", "VARIATION"):
        return ""
    if name == "FULLWIDTH":
        return "LATIN"
    return _NAMES.get(name, name)


def _is_joined(before: str, here: str, num_regional: int) -> bool:
    category = unicodedata.category(here)
    if before == "\r" and here == "\n":
        return True
    if unicodedata.category(before) in ("Cc", "Zl", "Zp") or category in ("Cc", "Zl", "Zp"):
        return False
    if category in ("Mn", "Mc", "Me") or here == _JOINER or here == "\u200c" or _is_modifier(here):
        return True
    if before == _JOINER:
        return category == "So"
    if _is_regional(here) and num_regional % 2 == 1:
        return True
    return _joins_hangul(before, here)


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _is_modifier(character: str) -> bool:
    return "\U0001f3fb" <= character <= "\U0001f3ff" or _TAGS[0] <= ord(character) <= _TAGS[1]


def _joins_hangul(before: str, here: str) -> bool:
    one, two = _hangul(before), _hangul(here)
    return (one, two) in {
        ("L", "L"), ("L", "V"), ("L", "LV"), ("L", "LVT"), ("LV", "V"), ("LV", "T"), ("V", "V"), ("V", "T"),
        ("LVT", "T"), ("T", "T"),
    }  # fmt: skip


def _hangul(character: str) -> str:
    code = ord(character)
    if 0x1100 <= code <= 0x115F:
        return "L"
    if 0x1160 <= code <= 0x11A7:
        return "V"
    if 0x11A8 <= code <= 0x11FF:
        return "T"
    if 0xAC00 <= code <= 0xD7A3:
        return "LV" if (code - 0xAC00) % 28 == 0 else "LVT"
    return ""
