"""Grows random meanings of a wanted size, only such meanings as the source language says without ambiguity.

Two conventions make one right target for a source: a pronoun of the third person that stands for a noun stands for
the subject of the clause just before ("it" as an object: for its object); and "he", "she", "they" of nobody named
before stand only in the first clause.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from seqline.data.toy.lexicon import ADJECTIVE, ADVERB, NAME, NOUN
from seqline.data.toy.meanings import PLURAL_DETERMINERS, Clause, Meaning, Phrase, Place, Segment
from seqline.data.toy.profiles import Profile, nouns_of
from seqline.data.toy.verbs import VERB, Verb

T = TypeVar("T")

VOWELS = tuple("aeiouéèêoœh")
NAMES = tuple(NAME)
JOBS = tuple(noun.concept for noun in NOUN.values() if "job" in noun.kinds)


class Grower:
    """Grows meanings with one random stream; the same stream gives the same meanings on every Python."""

    def __init__(self, profile: Profile, rng: random.Random) -> None:
        self.profile, self.rng = profile, rng
        languages = (profile.source, profile.target)
        self.verbs = [verb for verb in VERB.values() if self._is_known(verb, languages)]

    @staticmethod
    def _is_known(verb: Verb, languages: tuple[str, str]) -> bool:
        is_missing = ("es" in languages and verb.spanish is None) or ("zh" in languages and not verb.chinese)
        return not is_missing

    def pick(self, items: Sequence[T]) -> T:
        """Return one of the items, each as likely."""
        return items[int(self.rng.random() * len(items))]

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.rng.random() < probability

    def noun(
        self, kinds: Sequence[str], richness: float, *, is_negated: bool = False, is_light: bool = False
    ) -> Phrase:
        """Return a noun phrase of one of the kinds; `richness` 0 to 1 is how much goes around the noun.

        A light phrase has no place and no relative clause. A negated one has no "a", "some" or "every".
        """
        noun = self.pick(nouns_of(*kinds))
        if noun.kinds & {"dish", "drink"}:
            return Phrase(noun.concept, "mass_negated" if is_negated else "mass")
        is_plural = self.chance(0.35) and not noun.kinds & {"place", "holder", "mark"}
        name = self.pick(self.profile.plural if is_plural else self.profile.singular)
        if is_negated:
            name = {"a": "the", "every": "this", "some": "any"}.get(name, name)
            name = "these" if name == "any" and self.profile.is_chinese else name
        if "free" in noun.kinds and name in ("my", "our", "their"):
            name = "two" if is_plural else "the"  # "mes femmes" are my wives
        phrase = Phrase(noun.concept, {"these": "this", "those": "that"}.get(name, name), is_plural)
        self._decorate(phrase, richness, is_light)
        return phrase

    def _decorate(self, phrase: Phrase, richness: float, is_light: bool) -> None:
        kinds = NOUN[phrase.head].kinds
        if self.chance(richness * 0.75):
            self._add_adjectives(phrase, 2 if self.chance(richness * 0.4) else 1)
        is_owned = bool(kinds & {"thing", "animal", "device", "building"}) and phrase.determiner == "the"
        if is_owned and self.chance(0.15 + richness * 0.2):
            phrase.determiner, phrase.owner = "owner", self._owner()
        elif is_light:
            return
        elif self.chance(richness * 0.35) and kinds & {"thing", "person", "animal", "snack", "furniture"}:
            phrase.place = self.place_of(kinds)
        elif self.chance(richness * 0.5) and not kinds & {"place", "mark", "holder"}:
            self._add_relative(phrase, richness * (0.2 if self.profile.is_chinese else 0.6))

    def _add_adjectives(self, phrase: Phrase, count: int) -> None:
        kinds = NOUN[phrase.head].kinds
        fits = [item for item in ADJECTIVE.values() if item.kinds & kinds]
        if "free" in kinds:  # "une vieille fille" is a spinster
            fits = [item for item in fits if item.concept != "old"]
        if not fits:
            return
        first = self.pick(fits)
        others = [item for item in fits if item.is_before != first.is_before]
        if count == 2 and others:
            phrase.adjectives = (first.concept, self.pick(others).concept)
        else:
            phrase.adjectives = (first.concept,)

    def _owner(self) -> Phrase:
        """Return a name, or a singular noun with a short determiner."""
        if self.chance(0.5):
            return Phrase(self.pick(NAMES))
        noun = self.pick(nouns_of("person"))
        determiners = ("the", "the", "this") if "free" in noun.kinds else ("the", "my", "this")
        return Phrase(noun.concept, self.pick(determiners))

    def place_of(self, kinds: frozenset[str] = frozenset()) -> Place:
        """Return a place; a small thing is also on or under furniture."""
        if kinds & {"thing", "snack"} and self.chance(0.7):
            return Place(self.pick(("on", "on", "behind", "next_to")), self._plain_place(("furniture", "holder")))
        if self.chance(0.5):
            return Place("in", self._plain_place(("place",)))
        return Place(self.pick(("behind", "in_front_of", "near")), self._plain_place(("building", "mark")))

    def _plain_place(self, kinds: tuple[str, ...]) -> Phrase:
        noun = self.pick(nouns_of(*kinds))
        phrase = Phrase(noun.concept, self.pick(("the", "the", "the", "a", "this", "our")))
        if self.chance(0.25):
            self._add_adjectives(phrase, 1)
        return phrase

    def _add_relative(self, phrase: Phrase, richness: float) -> None:
        kinds = NOUN[phrase.head].kinds
        is_subject = bool(kinds & {"person", "animal"}) and self.chance(0.6)
        if is_subject:
            phrase.relative = self.clause(phrase, richness, gap="subject")
            return
        fits = [verb for verb in self.verbs if kinds.intersection(verb.objects) and "to" not in verb.flags]
        if not fits:
            return
        verb = self.pick(fits)
        subject = self.subject(0.0, verb.subject, is_short=True)
        if self._is_ambiguous(verb, subject):
            return
        clause = Clause(subject, verb.concept, self._tense(verb), object=phrase, gap="object")
        if self.chance(0.2):
            self._negate(clause)
        phrase.relative = clause

    def subject(
        self, richness: float, kind: str = "animate", *, is_first: bool = False, is_short: bool = False
    ) -> Phrase:
        """Return a subject: a name, "i", "we", a noun or two of them; `is_first` allows "he" and "she"."""
        draw = self.rng.random()
        if draw < 0.16:
            return Phrase(self.pick(("i", "i", "we")), is_plural=False)
        if draw < 0.24 and is_first:
            return self._free_pronoun()
        if draw < 0.46:
            return Phrase(self.pick(NAMES))
        if draw < 0.54 and not is_short:
            first = self.pick(tuple(NAME))
            second = self.pick([name for name in NAMES if name != first])
            return Phrase(parts=(Phrase(first), Phrase(second)))
        kinds = ("person",) if kind == "person" or self.chance(0.6) else ("animal",)
        return self.noun(kinds, 0.0 if is_short else richness)

    def _free_pronoun(self) -> Phrase:
        heads = ("he", "she", "he", "she", "they", "they_f")
        head = self.pick(heads if self.profile.source != "en" else heads[:4])
        return Phrase(head, is_plural=head.startswith("they"))

    def _tense(self, verb: Verb) -> str:
        return "past" if "state" not in verb.flags and self.chance(0.45) else "present"

    def _negate(self, clause: Clause) -> None:
        if clause.subject.determiner in ("every", "many", "some", "a"):
            return
        if clause.tense == "past" or clause.modal or clause.verb == "be" or self.chance(0.5):
            clause.polarity = "not"
        else:
            clause.polarity = self.pick(("never", "no_longer"))
        if clause.modal == "must" and self.profile.is_chinese:
            clause.modal = "can"

    def _is_ambiguous(self, verb: Verb, subject: Phrase) -> bool:
        """Whether the written form hides the tense: "i read"."""
        return verb.concept == "read" and subject.person != "3s"

    def clause(
        self, subject: Phrase, richness: float, *, is_first: bool = False, gap: str = "", verb: str = ""
    ) -> Clause:
        """Return a clause with this subject; a verb is drawn where none is given."""
        if not verb and self.chance(0.2) and not (gap and self.profile.is_chinese):
            return self._be_clause(subject, gap)
        is_person = not subject.is_noun or "person" in NOUN[subject.head].kinds
        if subject.antecedent is not None:
            head = subject.antecedent
            is_person = not head.is_noun or "person" in NOUN[head.head].kinds
        fits = [item for item in self.verbs if not item.flags & {"that", "modal", "twin"}
                and (is_person or item.subject == "animate") and not self._is_ambiguous(item, subject)]  # fmt: skip
        if self.chance(0.6):
            fits = [item for item in fits if item.objects and item.objects != ("goal",)]
        chosen = VERB[verb] if verb and is_person else self.pick(fits)
        clause = Clause(subject, chosen.concept, self._tense(chosen), gap=gap)
        if is_person and self.chance(0.14) and not gap and "state" not in chosen.flags:
            clause.tense, clause.modal = "present", self.pick(("want", "can", "must"))
        if self.chance(0.22):
            self._negate(clause)
        self._fill(clause, chosen, richness, is_first)
        self._add_circumstances(clause, chosen, richness)
        return clause

    def _be_clause(self, subject: Phrase, gap: str) -> Clause:
        tense = "past" if self.chance(0.3) and not self.profile.is_chinese else "present"
        root = subject.antecedent or subject
        is_person = not root.is_noun or "person" in NOUN[root.head].kinds
        kinds = {"person"} if is_person else {"animal"}
        fits = [item.concept for item in ADJECTIVE.values() if item.kinds & kinds]
        fits = [name for name in fits if name not in root.adjectives]
        can_work = is_person and not gap and not root.is_noun
        clause = Clause(subject, "be", tense, gap=gap)
        clause.predicate = self.pick(JOBS) if can_work and self.chance(0.4) else self.pick(fits)
        if self.chance(0.25):
            self._negate(clause)
        return clause

    def _fill(self, clause: Clause, verb: Verb, richness: float, is_first: bool) -> None:
        """Give the verb its object, recipient or goal."""
        if verb.objects == ("goal",):
            goal = self.pick(nouns_of("goal")).concept
            clause.place = Place("goal", Phrase(goal, self.pick(("the", "the", "this", "our"))))
            return
        if not verb.objects:
            return
        if self.chance(0.3) and ("him" in verb.flags or ("see" in verb.flags and is_first)):
            clause.object = self._object_pronoun(clause)
        if clause.object is None and "person" in verb.objects and self.chance(0.3):
            clause.object = Phrase(self._other_name(clause.subject))
        if clause.object is None:
            is_negated, is_light = clause.polarity != "yes", "to" in verb.flags
            clause.object = self.noun(verb.objects, richness, is_negated=is_negated, is_light=is_light)
        if "to" in verb.flags:
            clause.recipient = self._recipient(clause)

    def _object_pronoun(self, clause: Clause) -> Phrase | None:
        """Return "me", "us", "him", "her" or "them", or None where the source would hide which."""
        if clause.subject.person.startswith("1"):
            head = self.pick(("he", "she", "they"))
        else:
            head = self.pick(("i", "we", "he", "she", "they"))
        is_hidden = VERB[clause.verb].french.infinitive.startswith(VOWELS) and not (
            clause.tense == "past" and not clause.modal
        )
        if self.profile.source == "fr" and head in ("he", "she") and is_hidden:
            return None
        return Phrase(head, is_plural=head == "they")

    def _recipient(self, clause: Clause) -> Phrase:
        if self.chance(0.35):
            head = "they" if clause.subject.person.startswith("1") else self.pick(("i", "we", "they"))
            return Phrase(head, is_plural=head == "they")
        return Phrase(self._other_name(clause.subject)) if self.chance(0.5) else self.noun(("person",), 0.0)

    def _other_name(self, phrase: Phrase) -> str:
        root = phrase.antecedent or phrase
        taken = {root.head, *(part.head for part in root.parts)}
        return self.pick([name for name in NAMES if name not in taken])

    def _add_circumstances(self, clause: Clause, verb: Verb, richness: float) -> None:
        """Add "often", a place and a time, where no long noun phrase comes between them and the verb."""
        last = clause.recipient or clause.object
        is_clear = last is None or not (last.relative or last.place or last.owner)
        is_plain = clause.tense == "present" and clause.polarity == "yes" and not clause.modal
        is_plain = is_plain and "state" not in verb.flags
        if is_plain and self.chance(0.12):
            clause.adverb = self.pick([name for name, row in ADVERB.items() if row["sort"] == "often"])
        if not is_clear:
            return
        if clause.place is None and not verb.flags & {"bare", "state"} and self.chance(0.1 + richness * 0.4):
            clause.place = self.place_of()
        sort = "past" if clause.tense == "past" else "now"
        is_timed = not clause.adverb and clause.polarity in ("yes", "not") and "state" not in verb.flags
        if is_timed and not clause.modal and not clause.gap and self.chance(0.08 + richness * 0.15):
            clause.time = self.pick([name for name, row in ADVERB.items() if row["sort"] == sort])

    def meaning(self, num_segments: int, richness: float) -> Meaning:
        """Return a sentence of this many segments, some with a clause put before."""
        found = Meaning()
        for number in range(num_segments):
            found.segments.append(self._segment(found, number == num_segments - 1, richness))
        return found

    def _segment(self, found: Meaning, is_last: bool, richness: float) -> Segment:
        before = found.segments[-1].clause if found.segments else None
        link = ""
        if before is not None:
            link = "that" if "that" in self._flags(before) else self.pick(("and", "and", "but", "because"))
        if before is not None and link == "and" and self.chance(0.5):
            chained = self._chained(found, before)
            if chained is not None:
                return Segment(chained, link)
        opening, opener = None, ""
        if self.chance(0.15 + 0.1 * richness) and link != "that":
            opener = self.pick(("when", "if", "while") if link else ("when", "if", "while", "because"))
            subject = self._next_subject(found, before, richness)
            before = opening = self.clause(subject, richness, is_first=before is None)
        subject = self._next_subject(found, before, richness)
        if not is_last and self.chance(0.3):
            clause = self._saying(subject)
        elif not is_last and self.chance(0.12):
            clause = self.clause(subject, richness, is_first=before is None, verb=self.pick(("buy", "take")))
        else:
            clause = self.clause(subject, richness, is_first=before is None)
        if opening is not None:
            opener = self._agree_tenses(opener, opening, clause)
        return Segment(clause, link, opener, opening)

    @staticmethod
    def _flags(clause: Clause) -> frozenset[str]:
        return VERB[clause.verb].flags if clause.verb in VERB else frozenset()

    def _saying(self, subject: Phrase) -> Clause:
        root = subject.antecedent or subject
        if root.is_noun and "person" not in NOUN[root.head].kinds:
            subject = Phrase(self.pick(NAMES))
        return Clause(subject, self.pick(("say", "think", "know_that")))

    def _to_present(self, clause: Clause) -> None:
        """Put a clause into the present; "i read" would hide the tense, so that "write" takes its place."""
        if clause.tense == "past" and ADVERB.get(clause.time, {}).get("sort") == "past":
            clause.time = ""
        clause.tense = "present"
        if clause.verb in VERB and self._is_ambiguous(VERB[clause.verb], clause.subject):
            clause.verb = "write"

    def _agree_tenses(self, opener: str, opening: Clause, clause: Clause) -> str:
        """Give both clauses a tense that fits the opener; return the opener, "if" for a "while" that would not fit."""
        if opener == "while" and "be" in (opening.verb, clause.verb):
            opener = "if"
        if opener in ("if", "while") or (opener == "when" and opening.tense != clause.tense):
            self._to_present(opening)
            self._to_present(clause)
        return opener

    def _next_subject(self, found: Meaning, before: Clause | None, richness: float) -> Phrase:
        """Return a new subject, or a pronoun for the subject of the clause before."""
        if before is None:
            return self.subject(richness, is_first=True)
        last = before.subject
        root = last.antecedent or last
        is_third = root.is_name or bool(root.parts) or (root.is_noun and root.is_animate)
        if is_third and root.determiner not in ("every", "a", "some", "many") and self.chance(0.4):
            return self._pronoun_for(found, root)
        subject = self.subject(richness)
        return Phrase(self._other_name(root)) if subject.is_name else subject

    def _pronoun_for(self, found: Meaning, root: Phrase) -> Phrase:
        if root.person == "3p":
            head = "they"
        elif root.is_noun and "animal" in NOUN[root.head].kinds:
            head = "it"
        else:
            gender = NOUN[root.head].french_gender if root.is_noun else NAME[root.head]["gender"]
            head = "she" if gender == "f" else "he"
        pronoun = Phrase(head, is_plural=head == "they", antecedent=root)
        if found.pronoun is None and not root.parts:
            found.pronoun = pronoun
        return pronoun

    def _chained(self, found: Meaning, before: Clause) -> Clause | None:
        """Return "and he eats it" after "paul buys the apple", or None where it does not fit."""
        item, subject = before.object, before.subject
        root = subject.antecedent or subject
        is_fit = "get" in self._flags(before) and item is not None and item.is_noun and before.polarity == "yes"
        is_named = root.is_name or (root.is_noun and root.determiner not in ("every", "a", *PLURAL_DETERMINERS))
        if not is_fit or item is None or not is_named or before.modal or item.determiner in ("mass", "many"):
            return None
        kinds = NOUN[item.head].kinds
        fits = [verb for verb in self.verbs if "it" in verb.flags and kinds.intersection(verb.objects)]
        if not fits:
            return None
        verb, pronoun = self.pick(fits), self._pronoun_for(found, root)
        if self._is_ambiguous(verb, pronoun):
            return None
        clause = Clause(pronoun, verb.concept, before.tense)
        clause.object = Phrase("they" if item.is_plural else "it", is_plural=item.is_plural, antecedent=item)
        found.pronoun = clause.object
        return clause
