"""What each language pair can say without ambiguity, and the nouns by kind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from seqline.data.toy.lexicon import NOUN, Noun


@cache
def nouns_of(*kinds: str) -> tuple[Noun, ...]:
    """Return the nouns of at least one of the kinds, in the order of the lexicon."""
    return tuple(noun for noun in NOUN.values() if noun.kinds.intersection(kinds))


@dataclass(frozen=True)
class Profile:
    """What a pair can say: its two languages and the determiners of singular and plural nouns."""

    source: str
    target: str
    singular: tuple[str, ...]
    plural: tuple[str, ...]

    @property
    def is_chinese(self) -> bool:
        """Whether the source is Chinese: no tense without a mark, no plural "the"."""
        return self.source == "zh"


_SINGULAR = ("the", "the", "the", "a", "a", "this", "my", "our", "their", "every")
_PLURAL = ("the", "the", "some", "these", "my", "their", "many", "two", "three")
PROFILES = {
    "fr-en": Profile("fr", "en", _SINGULAR, _PLURAL),
    "en-fr": Profile("en", "fr", _SINGULAR, _PLURAL),
    "en-es": Profile("en", "es", (*_SINGULAR, "that"), (*_PLURAL, "those")),
    "zh-en": Profile("zh", "en", ("the", "the", "a", "a", "this", "that", "my", "our", "their"),
                     ("these", "those", "some", "many", "two", "three")),
}  # fmt: skip
