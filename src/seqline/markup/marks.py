"""What counts as a mark: tags and placeholders, found in raw text.

| Counts | Kind | Examples |
|---|---|---|
| opening tag, attributes included | open | `<b>` `<a href="x">` `<![CDATA[` |
| closing tag | close | `</b>` `]]>` |
| self-closing tag, HTML element without content, comment, declaration | point | `<x/>` `<br>` `<!-- c -->` `<?xml ... ?>` |
| name or number in braces, without white space | placeholder | `{0}` `{name}` `{name:>8}` `{}` |
| the same behind a sign; double braces | placeholder | `${x}` `#{x}` `%{x}` `{{x}}` `{{ x.y }}` |
| printf's | placeholder | `%s` `%d` `%1$s` `%.2f` `%(name)s` `%@` `%%` |
| web and mail address | placeholder | `https://x.org/a?b=1` `www.x.org` `a@x.org` |

All else is text: `100 %`, `{` alone, `a < b`, `&amp;`, `$1` (which is money), `20 %discount`, `100%sure`, a sentence in braces.
A name in angle brackets is an opening tag whatever it is called (`<file>`); one that nobody closes is a point.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """OPEN and CLOSE may make a pair; POINT is a tag on its own; PLACEHOLDER stands for a word."""

    OPEN = "open"
    CLOSE = "close"
    POINT = "point"
    PLACEHOLDER = "placeholder"


class Mark(NamedTuple):
    """A mark of a text: text[start:end]. name: of a tag, in lower case, which pairs are found by."""

    kind: Kind
    text: str
    start: int
    end: int
    name: str = ""


_NO_CONTENT = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)
_COMMENT = ("<!--", "-->")
_CDATA = "![cdata["

_ATTRIBUTE = r"""[\w:@#*.(\[][^<>"'\s/=]*(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'=<>`]+))?"""
_WEB = r"[!#-&*-;=?-~\u00a1-\u024f]"  # neither brackets, nor quotes, nor what a tag is made of
_CONVERSION = r"[-+#0']*\d*(?:\.\d+)?(?:hh|h|ll|l|q|z|t)?[diouxXeEfFgGcs@]"
_PATTERNS = {
    "cdata": r"<!\[CDATA\[",
    "cdata_end": r"\]\]>",
    "close": r"</(?P<closed>[A-Za-z_][\w:.-]*)\s*>",
    "open": rf"<(?P<opened>[A-Za-z_][\w:.-]*+)(?:\s+{_ATTRIBUTE})*+\s*(?P<slash>/?)>",
    "other": r"<[?!][A-Za-z][^<>]*>",
    "braces": r"\{\{[^{}\n]{1,100}\}\}|[$#%]?\{\w[^{}\s]{0,80}\}|\{\}",
    "named": rf"%\(\w[\w .-]{{0,80}}\){_CONVERSION}",
    "percent": r"%%",
    "numbered": rf"%\d+\${_CONVERSION}",
    # A percent sign behind a digit is one: `100%sure`; so is one with a word behind it where a number stands before it.
    "printf": rf"(?<!\d)%{_CONVERSION}(?![A-Za-z])",
    "joined": r"(?<!\d)(?<!\d\s)%[ds]",
    "web": rf"(?i:\b(?:https?|ftps?|sftp|wss?)://|\bwww\.(?=[a-z0-9]))(?:{_WEB}|\({_WEB}*\))*(?:[\w/#&=%@+*~$}}-]|\({_WEB}*\))",
    "mail": r"(?<![A-Za-z0-9._+-])[A-Za-z0-9._+-]++@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}",
}
_MARK = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in _PATTERNS.items()), re.ASCII)


def find_marks(text: str) -> list[Mark]:
    """Return the marks of a text, from left to right; they do not overlap."""
    marks: list[Mark] = []
    position = 0
    for start, end in _comments(text):
        marks += _marks_between(text, position, start)
        marks.append(Mark(Kind.POINT, text[start:end], start, end))
        position = end
    return [*marks, *_marks_between(text, position, len(text))]


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the comments stand; one that nobody ends is text."""
    opening, closing = _COMMENT
    position = text.find(opening)
    while position >= 0:
        last = text.find(closing, position + len(opening))
        if last < 0:
            return
        end = last + len(closing)
        yield position, end
        position = text.find(opening, end)


def _marks_between(text: str, start: int, end: int) -> Iterator[Mark]:
    for match in _MARK.finditer(text, start, end):
        kind, name = _kind_of(match)
        yield Mark(kind, match.group(), match.start(), match.end(), name)


def _kind_of(match: re.Match[str]) -> tuple[Kind, str]:
    groups = match.groupdict()
    if groups["open"] is not None:
        name = groups["opened"].lower()
        is_alone = groups["slash"] or name in _NO_CONTENT
        return (Kind.POINT if is_alone else Kind.OPEN), name
    if groups["close"] is not None:
        return Kind.CLOSE, groups["closed"].lower()
    if groups["cdata"] is not None:
        return Kind.OPEN, _CDATA
    if groups["cdata_end"] is not None:
        return Kind.CLOSE, _CDATA
    return (Kind.POINT if groups["other"] is not None else Kind.PLACEHOLDER), ""
