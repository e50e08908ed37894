"""Says a meaning in Spanish: subject pronouns always dropped, adjectives after the noun, "a" before animate objects.

Alignment rules: a dropped subject pronoun is linked to the finite verb, the "a" before an animate object to its noun,
"any" (which Spanish does not say) to the noun.
"""

from __future__ import annotations

from seqline.data.toy.align import Word, merged, words
from seqline.data.toy.lexicon import ADJECTIVE, ADVERB, JOBS_SPANISH, NAME, NOUN, PLACE
from seqline.data.toy.meanings import Clause, Meaning, Phrase, Place, Segment
from seqline.data.toy.twins import idiom
from seqline.data.toy.verbs import PERSONS, VERB, Spanish

CONTRACTED = {("de", "el"): "del", ("a", "el"): "al"}
CLITICS = {"i": "me", "we": "nos", "he": "lo", "she": "la", "they": "los"}
DATIVES = {"i": "me", "we": "nos", "they": "les"}
ARTICLES = {"the": ("el", "la", "los", "las"), "a": ("un", "una", "", ""), "some": ("", "", "unos", "unas"),
            "this": ("este", "esta", "estos", "estas"), "that": ("ese", "esa", "esos", "esas"),
            "my": ("mi", "mi", "mis", "mis"), "our": ("nuestro", "nuestra", "nuestros", "nuestras"),
            "their": ("su", "su", "sus", "sus"), "every": ("cada", "cada", "cada", "cada"),
            "many": ("", "", "muchos", "muchas")}  # fmt: skip
FIXED = {"any": "", "two": "dos", "three": "tres", "mass": "", "mass_negated": ""}
SER = {"present": ("soy", "es", "somos", "son"), "past": ("era", "era", "éramos", "eran")}
ESTAR = {"present": ("estoy", "está", "estamos", "están"), "past": ("estaba", "estaba", "estábamos", "estaban")}
NEGATIONS = {"not": "no", "never": "nunca", "no_longer": "ya no"}
LINKS = {"and": "y", "but": "pero", "because": "porque", "that": "que", "when": "cuando", "if": "si",
         "while": "mientras"}  # fmt: skip
TWIN_PLACES = {"from": "de", "goal": "a"}


def say(meaning: Meaning) -> list[Word]:
    """Return the Spanish sentence."""
    found: list[Word] = []
    for segment in meaning.segments:
        found += _segment(segment)
    return _contract(found)


def gender(phrase: Phrase) -> str:
    """Return "m" or "f": of the noun, the name, the antecedent; masculine where one part is masculine."""
    if phrase.antecedent is not None:
        return gender(phrase.antecedent)
    if phrase.parts:
        return "f" if all(gender(part) == "f" for part in phrase.parts) else "m"
    if phrase.is_noun:
        return NOUN[phrase.head].spanish_gender
    if phrase.is_name:
        return NAME[phrase.head]["gender"]
    return "f" if phrase.head == "she" else "m"


def _form(phrase: Phrase) -> int:
    return int(gender(phrase) == "f") + 2 * phrase.person.endswith("p")


def _contract(sentence: list[Word]) -> list[Word]:
    found: list[Word] = []
    for word, after in zip(sentence, [*sentence[1:], Word("", ())], strict=True):
        if found and (found[-1].text, word.text) in CONTRACTED:
            found[-1] = merged(CONTRACTED[found[-1].text, word.text], found[-1], word)
        elif word.text == "y" and after.text.startswith(("i", "hi")):
            found.append(Word("e", word.keys))
        else:
            found.append(word)
    return found


def _segment(segment: Segment) -> list[Word]:
    found = words(LINKS[segment.link], (segment, "link")) if segment.link else []
    if segment.opening is not None:
        found += words(LINKS[segment.opener], (segment, "opener"))
        found += _clause(segment.opening) + words(",", (segment, "comma"))
    return found + _clause(segment.clause)


def _clause(clause: Clause) -> list[Word]:
    is_said = clause.gap != "subject" and not clause.subject.is_pronoun
    return (_phrase(clause.subject) if is_said else []) + _predicate(clause)


def _determiner(phrase: Phrase) -> list[Word]:
    name = phrase.determiner
    if name == "owner":
        return words(ARTICLES["the"][_form(phrase)], (phrase, "owner"))
    text = FIXED[name] if name in FIXED else ARTICLES[name][_form(phrase)]
    return words(text, (phrase, "det"))


def _phrase(phrase: Phrase) -> list[Word]:
    if phrase.parts:
        first, second = phrase.parts
        return _phrase(first) + words("y", (phrase, "and")) + _phrase(second)
    if phrase.is_name:
        return words(NAME[phrase.head]["es"], (phrase, "head"))
    bare = ((phrase, "det"),) if phrase.determiner == "any" else ()
    found = _determiner(phrase) + words(NOUN[phrase.head].spanish[phrase.is_plural], (phrase, "head"), *bare)
    for name in sorted(phrase.adjectives, key=lambda name: ADJECTIVE[name].is_before):
        found += words(ADJECTIVE[name].spanish[_form(phrase)], (phrase, name))
    if phrase.determiner == "owner" and phrase.owner is not None:
        found += words("de", (phrase, "owner")) + _phrase(phrase.owner)
    if phrase.place is not None:
        found += _place(phrase.place)
    if phrase.relative is not None:
        found += words("que", (phrase.relative, "relative")) + _clause(phrase.relative)
    return found


def _place(place: Place) -> list[Word]:
    text = TWIN_PLACES.get(place.preposition) or PLACE[place.preposition]["es"]
    return words(text, (place, "preposition")) + _phrase(place.phrase)


def _predicate(clause: Clause) -> list[Word]:
    dropped = ((clause.subject, "head"),) if clause.subject.is_pronoun and clause.gap != "subject" else ()
    if clause.verb == "idiom":
        found = idiom(clause.predicate, "es", clause, gender(clause.subject))
        at = next(i for i, word in enumerate(found) if (clause, "idiom1") in word.keys)
        found[at] = Word(found[at].text, found[at].keys + dropped)
        return found
    found = _verb(clause, dropped)
    if clause.verb == "be" and clause.predicate:
        found += _be_predicate(clause)
    if clause.object is not None and clause.gap != "object" and not clause.object.is_pronoun:
        marker = words("a", (clause.object, "head")) if clause.object.is_animate else []
        found += marker + _phrase(clause.object)
    if clause.recipient is not None and not clause.recipient.is_pronoun:
        found += words("a", (clause.recipient, "to")) + _phrase(clause.recipient)
    if clause.place is not None:
        found += _place(clause.place)
    return found + (words(ADVERB[clause.time]["es"], (clause, "time")) if clause.time else [])


def _be_predicate(clause: Clause) -> list[Word]:
    subject = clause.subject
    if clause.predicate in ADJECTIVE:
        return words(ADJECTIVE[clause.predicate].spanish[_form(subject)], (clause, "predicate"))
    plain = NOUN[clause.predicate].spanish[0]
    form = JOBS_SPANISH.get(clause.predicate, (plain, plain))[int(gender(subject) == "f")]
    if subject.person.endswith("p"):
        form += "es" if form.endswith("r") else "s"
    return words(form, (clause, "predicate"), (clause, "article"))


def _clitics(clause: Clause) -> list[Word]:
    found: list[Word] = []
    if clause.recipient is not None and clause.recipient.is_pronoun:
        found += words(DATIVES[clause.recipient.head], (clause.recipient, "head"))
    if clause.object is not None and clause.object.is_pronoun and clause.gap != "object":
        item = clause.object
        text = CLITICS.get(item.head, "lo") if item.antecedent is None else ("lo", "la", "los", "las")[_form(item)]
        found += words(text, (item, "head"))
    return found


def _infinitive(spanish: Spanish | None) -> str:
    return spanish.infinitive if spanish is not None else ""


def _verb(clause: Clause, dropped: tuple[tuple[object, str], ...]) -> list[Word]:
    finite, lexical, negation = (clause, "finite"), (clause, "lexical"), (clause, "not")
    at = PERSONS.index(clause.subject.person)
    first = words(NEGATIONS[clause.polarity], negation) if clause.polarity != "yes" else []
    first += words(ADVERB[clause.adverb]["es"], (clause, "adverb")) if clause.adverb else []
    if clause.verb == "be":
        is_state = not clause.predicate or (clause.predicate in ADJECTIVE and ADJECTIVE[clause.predicate].is_state)
        form = (ESTAR if is_state else SER)[clause.tense][at]
        return first + words(form, finite, lexical, *dropped)
    first += _clitics(clause)
    if clause.verb == "stay":
        first += words("se", finite, lexical)
    spanish = VERB[clause.modal or clause.verb].spanish
    if spanish is None:
        return first
    form = (spanish.past if clause.tense == "past" else spanish.present)[at]
    if clause.modal:
        end = words(_infinitive(VERB[clause.verb].spanish), lexical)
        return first + words(form, (clause, "modal"), finite, *dropped) + end
    return first + words(form, finite, lexical, *dropped)
