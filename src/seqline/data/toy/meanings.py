"""The grammar of meanings: what a toy sentence says, before any language says it.

A node is compared by identity: the words that two languages use for one node carry that node in their keys, and equal
keys are the gold alignment (see `align`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from seqline.data.toy.lexicon import NAME, NOUN

SINGULAR_PRONOUNS = ("i", "he", "she", "it")
PLURAL_DETERMINERS = ("some", "any", "many", "two", "three")
MASS_DETERMINERS = ("mass", "mass_negated")


@dataclass(eq=False)
class Phrase:
    """A noun phrase: a noun with its words, a name, a pronoun, or two of these joined by "and" (`parts`).

    `owner` goes with the determiner "owner" ("the girl 's book"). A pronoun with an `antecedent` takes its gender.
    """

    head: str = ""
    determiner: str = ""
    is_plural: bool = False
    adjectives: tuple[str, ...] = ()
    place: Place | None = None
    relative: Clause | None = None
    owner: Phrase | None = None
    antecedent: Phrase | None = None
    parts: tuple[Phrase, ...] = ()

    @property
    def is_noun(self) -> bool:
        """Whether the head is a noun of the lexicon."""
        return self.head in NOUN

    @property
    def is_name(self) -> bool:
        """Whether the head is a proper name."""
        return self.head in NAME

    @property
    def is_pronoun(self) -> bool:
        """Whether this is a pronoun."""
        return not (self.parts or self.is_noun or self.is_name)

    @property
    def person(self) -> str:
        """The verb form that this phrase takes as a subject: 1s, 3s, 1p or 3p."""
        if self.head in ("i", "we"):
            return "1s" if self.head == "i" else "1p"
        return "3p" if self.is_plural or self.parts else "3s"

    @property
    def is_animate(self) -> bool:
        """Whether this is a person or an animal."""
        if self.antecedent is not None:
            return self.antecedent.is_animate
        return not self.is_noun or bool({"person", "animal"} & NOUN[self.head].kinds)


@dataclass(eq=False)
class Place:
    """A preposition with its noun phrase: "in the park"; "goal" is the "to" of going somewhere, "of" a part."""

    preposition: str
    phrase: Phrase


@dataclass(eq=False)
class Clause:
    """One verb with its roles.

    `verb` is a verb concept or "be" with `predicate` (an adjective or a noun of work) or "idiom" with `predicate` (an
    idiom of `twins`). `polarity` is yes, not, never or no_longer. `gap` says which role a relative clause leaves to
    its head: "subject" or "object"; the head itself stands in that role.
    """

    subject: Phrase
    verb: str
    tense: str = "present"
    polarity: str = "yes"
    modal: str = ""
    object: Phrase | None = None
    recipient: Phrase | None = None
    predicate: str = ""
    place: Place | None = None
    adverb: str = ""
    time: str = ""
    gap: str = ""


@dataclass(eq=False)
class Segment:
    """A clause of a sentence with the word before it.

    `link` is "" (the first), and, but, because, or that; `opening` is a clause put before it with `opener` when, if,
    while or because ("when paul sings , marie dances").
    """

    clause: Clause
    link: str = ""
    opener: str = ""
    opening: Clause | None = None


@dataclass(eq=False)
class Meaning:
    """What a sentence says: its segments in order, and the pronoun whose antecedent is worth testing, if any."""

    segments: list[Segment] = field(default_factory=list)
    pronoun: Phrase | None = None
