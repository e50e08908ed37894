"""Says a meaning in Chinese, in simplified characters, one word after a space: modifiers before their noun.

What English must know is always written: a number and classifier for "a", a demonstrative for "this" and "that", a
bare noun for "the" (or for no article where it is eaten or drunk), a mark of the past on the verb or "没" before it.

Alignment rules: "很", "在" and "是" are linked to "is"; "the" to the bare noun; both parts of "在 ... 里" to "in";
"的" after a relative clause to "who" or "that"; "不" and "没" also to "does" and "did"; "说" to the "that" after it.
"""

from __future__ import annotations

from seqline.data.toy.align import Word, words
from seqline.data.toy.lexicon import ADJECTIVE, ADVERB, NAME, NOUN, PLACE
from seqline.data.toy.meanings import Clause, Meaning, Phrase, Place, Segment
from seqline.data.toy.twins import idiom
from seqline.data.toy.verbs import VERB

PRONOUNS = {"i": "我", "we": "我们", "he": "他", "she": "她", "it": "它", "they": "他们", "they_f": "她们"}
POSSESSIVES = {"my": "我 的", "our": "我们 的", "their": "他们 的"}
COUNTS = {"a": "一", "two": "两", "three": "三"}
GROUPS = {"some": "一些", "many": "很多"}
NEGATIONS = {"never": "从不", "no_longer": "不再"}
LINKS = {"and": ", 而且", "but": ", 但是", "because": ", 因为", "that": ""}
OPENERS = {"when": ("当", "的 时候"), "if": ("如果", ""), "while": ("在", "的 同时"), "because": ("因为", "")}


def say(meaning: Meaning) -> list[Word]:
    """Return the Chinese sentence."""
    found: list[Word] = []
    for segment in meaning.segments:
        if segment.link == "that":
            found[-1] = Word(found[-1].text, (*found[-1].keys, (segment, "link")))
        found += _segment(segment)
    return found


def _segment(segment: Segment) -> list[Word]:
    found = words(LINKS[segment.link], (segment, "link")) if segment.link else []
    if segment.opening is not None:
        start, end = OPENERS[segment.opener]
        found += words(start, (segment, "opener")) + _clause(segment.opening)
        found += words(end, (segment, "opener")) + words(",", (segment, "comma"))
        if segment.opener == "because":
            found += words("所以", (segment, "opener"))
    return found + _clause(segment.clause)


def _clause(clause: Clause) -> list[Word]:
    found = [] if clause.gap == "subject" else _phrase(clause.subject)
    if clause.verb == "idiom":
        return found + idiom(clause.predicate, "zh", clause, "m")
    found += words(ADVERB[clause.time]["zh"], (clause, "time")) if clause.time else []
    found += words(ADVERB[clause.adverb]["zh"], (clause, "adverb")) if clause.adverb else []
    if clause.verb == "be":
        return found + _be(clause)
    if clause.verb in ("come_out", "fall", "stay"):
        return found + _twin_verb(clause)
    negation, modal = _negation(clause), []
    if clause.modal:
        modal = words(VERB[clause.modal].chinese, (clause, "modal"), *_finite(clause))
    found += negation + modal
    if clause.place is not None and clause.place.preposition != "goal":
        found += _place(clause.place)
    found += _verb(clause)
    if clause.recipient is not None:
        found += _phrase(clause.recipient)
    if clause.object is not None and clause.gap != "object":
        found += _phrase(clause.object)
    if clause.place is not None and clause.place.preposition == "goal":
        found += _phrase(clause.place.phrase)
    return found


def _finite(clause: Clause) -> tuple[tuple[object, str], ...]:
    """Return the key of the finite verb where no negation carries it."""
    return () if clause.polarity == "not" else ((clause, "finite"),)


def _negation(clause: Clause) -> list[Word]:
    if clause.polarity == "yes":
        return []
    if clause.polarity == "not":
        text = "没" if clause.tense == "past" else "不"
        return words(text, (clause, "not"), (clause, "finite"))
    return words(NEGATIONS[clause.polarity], (clause, "not"))


def _verb(clause: Clause) -> list[Word]:
    verb, lexical = VERB[clause.verb], (clause, "lexical")
    recipient = ((clause.recipient, "to"),) if clause.recipient is not None else ()
    goal = ((clause.place, "preposition"),) if clause.place and clause.place.preposition == "goal" else ()
    keys = (lexical, *recipient, *goal)
    if clause.tense == "past" and clause.polarity != "not":
        return [Word(text, ((clause, "finite"),) if text == "了" else keys) for text in verb.chinese_past.split()]
    finite = () if clause.modal else _finite(clause)
    return words(verb.chinese, *keys, *finite)


def _be(clause: Clause) -> list[Word]:
    finite, predicate = (clause, "finite"), (clause, "predicate")
    be = (finite, (clause, "lexical"))
    denial = words("不", (clause, "not")) if clause.polarity != "yes" else []
    if not clause.predicate and clause.place is not None:
        return denial + _at_place(clause.place, be)
    if clause.predicate in ADJECTIVE:
        text = ADJECTIVE[clause.predicate].chinese_predicate
        parts = text.split()
        if parts[0] == "是":
            return denial + words("是", *be) + words(parts[1], predicate) + words("的", predicate)
        if denial:
            return words("不", (clause, "not"), *be) + words(parts[1], predicate)
        return words("很", *be) + words(parts[1], predicate)
    return denial + words("是", *be) + words(NOUN[clause.predicate].chinese[1], predicate, (clause, "article"))


def _at_place(place: Place, be: tuple[tuple[object, str], ...] = ()) -> list[Word]:
    preposition = (place, "preposition")
    return words("在", preposition, *be) + _phrase(place.phrase) + words(PLACE[place.preposition]["zh"], preposition)


def _place(place: Place) -> list[Word]:
    return _at_place(place)


def _twin_verb(clause: Clause) -> list[Word]:
    lexical, finite, place = (clause, "lexical"), (clause, "finite"), clause.place
    if place is None:
        return words(VERB[clause.verb].chinese_past, lexical, finite)
    preposition = (place, "preposition")
    where = _phrase(place.phrase) + words("上" if place.preposition == "on" else "里", preposition)
    if clause.verb == "come_out":
        return words("从", preposition) + where + words("出来", lexical, finite) + words("了", finite)
    verb, mark = ("掉", "到") if clause.verb == "fall" else ("留", "在")
    return words(verb, lexical, finite) + words(mark, preposition) + words("了", finite) + where


def _determiner(phrase: Phrase) -> list[Word]:
    name, classifier = phrase.determiner, NOUN[phrase.head].chinese[0]
    key = (phrase, "det")
    if name in POSSESSIVES:
        return words(POSSESSIVES[name], key)
    if name in COUNTS:
        return words(f"{COUNTS[name]} {classifier}", key)
    if name in GROUPS:
        return words(GROUPS[name], key)
    if name in ("this", "that"):
        text = "这" if name == "this" else "那"
        return words(text + "些" if phrase.is_plural else f"{text} {classifier}", key)
    return []


def _phrase(phrase: Phrase) -> list[Word]:
    if phrase.parts:
        first, second = phrase.parts
        return _phrase(first) + words("和", (phrase, "and")) + _phrase(second)
    if phrase.is_name:
        return words(NAME[phrase.head]["zh"], (phrase, "head"))
    if phrase.is_pronoun:
        return words(_pronoun(phrase), (phrase, "head"))
    found: list[Word] = []
    if phrase.relative is not None:
        found += _clause(phrase.relative) + words("的", (phrase.relative, "relative"))
    if phrase.place is not None:
        preposition = (phrase.place, "preposition")
        found += _phrase(phrase.place.phrase) + words(PLACE[phrase.place.preposition]["zh"], preposition)
        found += words("的", preposition)
    if phrase.determiner == "owner" and phrase.owner is not None:
        found += _phrase(phrase.owner) + words("的", (phrase, "owner"))
    found += _determiner(phrase)
    order = sorted(phrase.adjectives, key=lambda name: not ADJECTIVE[name].chinese.endswith("的"))
    for name in order:
        found += words(ADJECTIVE[name].chinese, (phrase, name))
    bare = ((phrase, "det"),) if phrase.determiner == "the" else ()
    return found + words(NOUN[phrase.head].chinese[1], (phrase, "head"), *bare)


def _pronoun(phrase: Phrase) -> str:
    """Return the pronoun; "they" is 它们 for things and animals, 她们 where every person is female."""
    root = phrase.antecedent
    if phrase.head == "they" and root is not None:
        if root.is_noun and "person" not in NOUN[root.head].kinds:
            return "它们"
        return "她们" if _is_female(root) else "他们"
    return PRONOUNS[phrase.head]


def _is_female(phrase: Phrase) -> bool:
    if phrase.parts:
        return all(_is_female(part) for part in phrase.parts)
    if phrase.is_noun:
        return NOUN[phrase.head].french_gender == "f"
    return NAME[phrase.head]["gender"] == "f"
