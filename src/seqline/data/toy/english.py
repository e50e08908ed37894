"""Says a meaning in English.

Alignment rules: "do", "does", "did" and "will" carry what the finite verb carries in the other language; "a" before a
noun of work is linked to that noun; "the" is linked to the bare noun of Chinese; "'s" to the French "de".
"""

from __future__ import annotations

from seqline.data.toy.align import Word, words
from seqline.data.toy.lexicon import ADJECTIVE, ADVERB, NAME, NOUN, PLACE
from seqline.data.toy.meanings import Clause, Meaning, Phrase, Place, Segment
from seqline.data.toy.twins import idiom
from seqline.data.toy.verbs import PERSONS, VERB

OBJECT_PRONOUNS = {"i": "me", "we": "us", "he": "him", "she": "her", "it": "it", "they": "them"}
NO_ARTICLE = ("mass", "mass_negated")
BE = {"present": ("am", "is", "are", "are"), "past": ("was", "was", "were", "were")}
NEGATIONS = {"not": "not", "never": "never", "no_longer": "no longer"}
TWIN_PLACES = {"from": "out of", "goal": "to"}


def say(meaning: Meaning) -> list[Word]:
    """Return the English sentence."""
    found: list[Word] = []
    for segment in meaning.segments:
        found += _segment(segment)
    return _a_or_an(found)


def _a_or_an(sentence: list[Word]) -> list[Word]:
    following = [word.text for word in sentence[1:]] + [""]
    return [Word("an", word.keys) if word.text == "a" and after[:1] in tuple("aeiou") else word
            for word, after in zip(sentence, following, strict=True)]  # fmt: skip


def _segment(segment: Segment) -> list[Word]:
    found = words(segment.link, (segment, "link")) if segment.link else []
    if segment.opening is not None:
        found += words(segment.opener, (segment, "opener"))
        found += _clause(segment.opening) + words(",", (segment, "comma"))
    return found + _clause(segment.clause)


def _clause(clause: Clause) -> list[Word]:
    subject = [] if clause.gap == "subject" else _phrase(clause.subject, is_subject=True)
    return subject + _predicate(clause)


def _determiner(phrase: Phrase) -> list[Word]:
    if phrase.determiner == "owner" and phrase.owner is not None:
        return _phrase(phrase.owner) + words("'s", (phrase, "owner"))
    if phrase.determiner in ("this", "that"):
        plural = {"this": "these", "that": "those"}[phrase.determiner]
        return words(plural if phrase.is_plural else phrase.determiner, (phrase, "det"))
    return words("" if phrase.determiner in NO_ARTICLE else phrase.determiner, (phrase, "det"))


def _phrase(phrase: Phrase, is_subject: bool = False) -> list[Word]:
    if phrase.parts:
        first, second = phrase.parts
        return _phrase(first) + words("and", (phrase, "and")) + _phrase(second)
    if phrase.is_name:
        return words(NAME[phrase.head]["en"], (phrase, "head"))
    if phrase.is_pronoun:
        text = phrase.head.removesuffix("_f")
        return words(text if is_subject else OBJECT_PRONOUNS[text], (phrase, "head"))
    found = _determiner(phrase)
    for name in sorted(phrase.adjectives, key=lambda name: not ADJECTIVE[name].is_before):
        found += words(ADJECTIVE[name].english, (phrase, name))
    found += words(NOUN[phrase.head].english[phrase.is_plural], (phrase, "head"))
    if phrase.place is not None:
        found += _place(phrase.place)
    if phrase.relative is not None:
        is_who = phrase.relative.gap == "subject" and "person" in NOUN[phrase.head].kinds
        found += words("who" if is_who else "that", (phrase.relative, "relative")) + _clause(phrase.relative)
    return found


def _place(place: Place) -> list[Word]:
    text = TWIN_PLACES.get(place.preposition) or PLACE[place.preposition]["en"]
    return words(text, (place, "preposition")) + _phrase(place.phrase)


def _predicate(clause: Clause) -> list[Word]:
    if clause.verb == "idiom":
        return idiom(clause.predicate, "en", clause, "m")
    before, after = _verb(clause)
    found = before + after
    adverb = ADVERB[clause.adverb]["en"] if clause.adverb else ""
    if adverb:
        found = before + words(adverb, (clause, "adverb")) + after
    if clause.verb == "be":
        found += _be_predicate(clause)
    elif VERB[clause.verb].particle:
        found += words(VERB[clause.verb].particle, (clause, "lexical"))
    recipient = clause.recipient
    if recipient is not None and recipient.is_pronoun:
        found += _phrase(recipient)
    if clause.object is not None and clause.gap != "object":
        found += _phrase(clause.object)
    if recipient is not None and not recipient.is_pronoun:
        found += words("to", (recipient, "to")) + _phrase(recipient)
    if clause.place is not None:
        found += _place(clause.place)
    return found + (words(ADVERB[clause.time]["en"], (clause, "time")) if clause.time else [])


def _be_predicate(clause: Clause) -> list[Word]:
    if clause.predicate in ADJECTIVE:
        return words(ADJECTIVE[clause.predicate].english, (clause, "predicate"))
    if not clause.predicate:
        return []
    is_plural = clause.subject.person.endswith("p")
    article = [] if is_plural else words("a", (clause, "article"))
    return article + words(NOUN[clause.predicate].english[is_plural], (clause, "predicate"))


def _verb(clause: Clause) -> tuple[list[Word], list[Word]]:
    """Return the verb words before and after the place of "often"."""
    finite, lexical, negation = (clause, "finite"), (clause, "lexical"), (clause, "not")
    person, polarity = clause.subject.person, clause.polarity
    denial = words(NEGATIONS[polarity], negation) if polarity != "yes" else []
    if clause.verb == "be":
        be = words(BE[clause.tense][PERSONS.index(person)], finite, lexical)
        return be + denial, []
    base, third, past = VERB[clause.verb].english
    if clause.modal in ("can", "must"):
        modal = (clause, "modal")
        if polarity == "not":
            verb = words("cannot", modal, finite, negation) if clause.modal == "can" else words("must", modal, finite)
            return verb + (denial if clause.modal == "must" else []), words(base, lexical)
        return words(clause.modal, modal, finite), words(base, lexical)
    main: list[Word] = words(base, lexical)
    keys = (finite, lexical)
    if clause.modal == "want":
        base, third, past = VERB["want"].english
        main, keys = words("to", lexical) + words(VERB[clause.verb].english[0], lexical), (finite, (clause, "modal"))
    if polarity == "not":
        auxiliary = "did" if clause.tense == "past" else "does" if person == "3s" else "do"
        plain = words(base, *keys[1:]) + main if clause.modal else main
        return words(auxiliary, finite) + denial, plain
    form = past if clause.tense == "past" else third if person == "3s" else base
    return denial, words(form, *keys) + (main if clause.modal else [])
