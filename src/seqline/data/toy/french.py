"""Says a meaning in French: agreement, clitics, negation around the verb, elision and contraction.

Alignment rules: "ne" and "pas" are both linked to "not"; the two words of the passé composé to the one English verb
(the auxiliary to "did"); the words of the partitive ("de la pizza") to the noun.
"""

from __future__ import annotations

from seqline.data.toy.align import Word, merged, words
from seqline.data.toy.lexicon import ADJECTIVE, ADVERB, JOBS_FRENCH, NAME, NOUN, PLACE
from seqline.data.toy.meanings import Clause, Meaning, Phrase, Place, Segment
from seqline.data.toy.twins import idiom
from seqline.data.toy.verbs import PERSONS, VERB

VOWELS = tuple("aeiouyhéèêàâîôûœ")
ELIDED = {"je": "j'", "le": "l'", "la": "l'", "ne": "n'", "de": "d'", "que": "qu'", "me": "m'"}
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
LIAISON = {"ce": "cet", "ma": "mon"}
SUBJECTS = {"i": "je", "we": "nous"}
CLITICS = {"i": "me", "we": "nous", "he": "le", "she": "la", "they": "les", "they_f": "les"}
DATIVES = {"i": "me", "we": "nous", "they": "leur", "they_f": "leur"}
POSSESSIVES = {"my": ("mon", "ma", "mes"), "our": ("notre", "notre", "nos"), "their": ("leur", "leur", "leurs")}
ARTICLES = {"the": ("le", "la", "les"), "a": ("un", "une", "des"), "this": ("ce", "cette", "ces"),
            "that": ("ce", "cette", "ces"), "every": ("chaque", "chaque", "chaque")}  # fmt: skip
FIXED = {"some": "des", "any": "de", "many": "beaucoup de", "two": "deux", "three": "trois"}
AUXILIARY = {True: ("suis", "est", "sommes", "sont"), False: ("ai", "a", "avons", "ont")}
BE = {"present": ("suis", "est", "sommes", "sont"), "past": ("étais", "était", "étions", "étaient")}
NEGATIONS = {"not": "pas", "never": "jamais", "no_longer": "plus"}
LINKS = {"and": "et", "but": "mais", "because": "parce que", "that": "que", "when": "quand", "if": "si",
         "while": "pendant que"}  # fmt: skip
TWIN_PLACES = {"from": "de", "goal": "à"}


def say(meaning: Meaning) -> list[Word]:
    """Return the French sentence."""
    found: list[Word] = []
    for segment in meaning.segments:
        found += _segment(segment)
    return _contract(_elide(found))


def gender(phrase: Phrase) -> str:
    """Return "m" or "f": of the noun, the name, the antecedent; masculine where one part is masculine."""
    if phrase.antecedent is not None:
        return gender(phrase.antecedent)
    if phrase.parts:
        return "f" if all(gender(part) == "f" for part in phrase.parts) else "m"
    if phrase.is_noun:
        return NOUN[phrase.head].french_gender
    if phrase.is_name:
        return NAME[phrase.head]["gender"]
    return "f" if phrase.head in ("she", "they_f") else "m"


def agree(stem: str, phrase: Phrase) -> str:
    """Return a participle or adjective (masculine singular) in the gender and number of a phrase."""
    form = stem + "e" * (gender(phrase) == "f")
    return form if not phrase.person.endswith("p") or form.endswith(("s", "x")) else form + "s"


def _has_vowel(text: str) -> bool:
    return text.startswith(VOWELS)


def _elide(sentence: list[Word]) -> list[Word]:
    following = [word.text for word in sentence[1:]] + [""]
    found: list[Word] = []
    for word, after in zip(sentence, following, strict=True):
        text = ELIDED.get(word.text, word.text) if _has_vowel(after) else word.text
        found.append(Word("s'" if text == "si" and after in ("il", "ils") else text, word.keys))
    return found


def _contract(sentence: list[Word]) -> list[Word]:
    found: list[Word] = []
    for word in sentence:
        if found and (found[-1].text, word.text) in CONTRACTED:
            found[-1] = merged(CONTRACTED[found[-1].text, word.text], found[-1], word)
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
    subject = [] if clause.gap == "subject" else _phrase(clause.subject)
    return subject + _predicate(clause)


def _pronoun(phrase: Phrase) -> str:
    if phrase.head in SUBJECTS:
        return SUBJECTS[phrase.head]
    return ("elle" if gender(phrase) == "f" else "il") + "s" * phrase.is_plural


def _determiner(phrase: Phrase) -> list[Word]:
    name, keys = phrase.determiner, ((phrase, "det"),)
    form = 2 if phrase.is_plural else int(gender(phrase) == "f")
    if name == "mass":
        return words("de " + ARTICLES["the"][form], (phrase, "head"))
    if name == "mass_negated":
        return words("de", (phrase, "head"))
    if name == "owner":
        return words(ARTICLES["the"][form], (phrase, "owner"))
    if name == "some" and any(ADJECTIVE[adjective].is_before for adjective in phrase.adjectives):
        return words("de", *keys)
    return words(FIXED.get(name) or (ARTICLES.get(name) or POSSESSIVES[name])[form], *keys)


def _adjective(name: str, owner: Phrase, noun: str, *keys: tuple[object, str]) -> list[Word]:
    """Return an adjective that agrees with a phrase; `noun` is the word after it, "" where no noun follows."""
    forms: tuple[str, ...] = ADJECTIVE[name].french
    if gender(owner) == "m" and not owner.person.endswith("p") and len(forms) > 2 and _has_vowel(noun):
        return words(forms[2], *keys)
    form = forms[int(gender(owner) == "f")]
    if owner.person.endswith("p") and not form.endswith(("s", "x")):
        form += "x" if form.endswith("eau") else "s"
    return words(form, *keys)


def _phrase(phrase: Phrase) -> list[Word]:
    if phrase.parts:
        first, second = phrase.parts
        return _phrase(first) + words("et", (phrase, "and")) + _phrase(second)
    if phrase.is_name:
        return words(NAME[phrase.head]["fr"], (phrase, "head"))
    if phrase.is_pronoun:
        return words(_pronoun(phrase), (phrase, "head"))
    found = _noun(phrase)
    if phrase.determiner == "owner" and phrase.owner is not None:
        found += words("de", (phrase, "owner")) + _phrase(phrase.owner)
    if phrase.place is not None:
        found += _place(phrase.place)
    if phrase.relative is not None:
        opener = "qui" if phrase.relative.gap == "subject" else "que"
        found += words(opener, (phrase.relative, "relative")) + _clause(phrase.relative)
    return found


def _noun(phrase: Phrase) -> list[Word]:
    """Return the noun with its determiner and adjectives."""
    noun = NOUN[phrase.head].french[phrase.is_plural]
    core: list[Word] = []
    for name in phrase.adjectives:
        if ADJECTIVE[name].is_before:
            core += _adjective(name, phrase, noun, (phrase, name))
    core += words(noun, (phrase, "head"))
    determiner = _determiner(phrase)
    if len(determiner) == 1 and _has_vowel(core[0].text):
        determiner = [Word(LIAISON.get(determiner[0].text, determiner[0].text), determiner[0].keys)]
    found = determiner + core
    for name in phrase.adjectives:
        if not ADJECTIVE[name].is_before:
            found += _adjective(name, phrase, "", (phrase, name))
    return found


def _place(place: Place) -> list[Word]:
    text = TWIN_PLACES.get(place.preposition) or PLACE[place.preposition]["fr"]
    return words(text, (place, "preposition")) + _phrase(place.phrase)


def _predicate(clause: Clause) -> list[Word]:
    if clause.verb == "idiom":
        return idiom(clause.predicate, "fr", clause, gender(clause.subject))
    found = _verb(clause)
    if clause.verb == "be" and clause.predicate:
        found += _be_predicate(clause)
    if clause.object is not None and clause.gap != "object" and not clause.object.is_pronoun:
        found += _phrase(clause.object)
    if clause.recipient is not None and not clause.recipient.is_pronoun:
        found += words("à", (clause.recipient, "to")) + _phrase(clause.recipient)
    if clause.place is not None:
        found += _place(clause.place)
    return found + (words(ADVERB[clause.time]["fr"], (clause, "time")) if clause.time else [])


def _be_predicate(clause: Clause) -> list[Word]:
    if clause.predicate in ADJECTIVE:
        return _adjective(clause.predicate, clause.subject, "", (clause, "predicate"))
    plain = NOUN[clause.predicate].french[0]
    masculine, feminine = JOBS_FRENCH.get(clause.predicate, (plain, plain))
    form = feminine if gender(clause.subject) == "f" else masculine
    return words(form + "s" * clause.subject.person.endswith("p"), (clause, "predicate"), (clause, "article"))


def _clitics(clause: Clause) -> list[Word]:
    found: list[Word] = []
    if clause.recipient is not None and clause.recipient.is_pronoun:
        found += words(DATIVES[clause.recipient.head], (clause.recipient, "head"))
    if clause.object is not None and clause.object.is_pronoun and clause.gap != "object":
        item = clause.object
        text = CLITICS.get(item.head) or ("la" if gender(item) == "f" else "le")
        found += words(text, (item, "head"))
    return found


def _participle(clause: Clause) -> str:
    """Return the past participle: it agrees with the subject of "être", or with an object before it."""
    french, item = VERB[clause.verb].french, clause.object
    if french.is_etre:
        return agree(french.participle, clause.subject)
    is_object_before = item is not None and (clause.gap == "object" or item.is_pronoun)
    return agree(french.participle, item) if item is not None and is_object_before else french.participle


def _verb(clause: Clause) -> list[Word]:
    finite, lexical, negation = (clause, "finite"), (clause, "lexical"), (clause, "not")
    at = PERSONS.index(clause.subject.person)
    first = words("ne", negation) if clause.polarity != "yes" else []
    second = words(NEGATIONS[clause.polarity], negation) if clause.polarity != "yes" else []
    second += words(ADVERB[clause.adverb]["fr"], (clause, "adverb")) if clause.adverb else []
    if clause.verb == "be":
        return first + words(BE[clause.tense][at], finite, lexical) + second
    french = VERB[clause.verb].french
    if clause.modal:
        form = VERB[clause.modal].french.present[at]
        end = _clitics(clause) + words(french.infinitive, lexical)
        return first + words(form, (clause, "modal"), finite) + second + end
    first += _clitics(clause)
    if clause.tense == "past":
        auxiliary = words(AUXILIARY[french.is_etre][at], finite)
        return first + auxiliary + second + words(_participle(clause), lexical)
    return first + words(french.present[at], finite, lexical) + second
