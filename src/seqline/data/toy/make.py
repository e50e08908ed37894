"""Makes a toy corpus: sentences of the wanted lengths, twins with held-out noun and idiom, splits without a repeat."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from seqline.data.toy import chinese, english, french, spanish
from seqline.data.toy.align import Word, index_of, links, text_of
from seqline.data.toy.grow import Grower
from seqline.data.toy.lexicon import NOUN
from seqline.data.toy.meanings import Clause, Meaning, Phrase, Place, Segment
from seqline.data.toy.profiles import PROFILES, Profile
from seqline.data.toy.twins import CASES, EDIBLES, HOLDERS, IDIOM_ABOUT, is_held_out
from seqline.errors import UserError, did_you_mean
from seqline.files import new_folder, write_text

PAIRS = ("fr-en", "en-fr", "en-es", "zh-en")
MIN_SIZE, MAX_SIZE = 20, 200_000
MAX_WORDS = 60
HELD_OUT_SIZE = 500
NUM_PRONOUN_TWINS = 100
TWIN_SHARE = 0.045
TRIES = 400

# (share of the sentences, shortest, longest source in words, segments, richness)
BUCKETS = (
    (0.14, 2, 5, (1,), 0.05),
    (0.38, 6, 10, (1, 1, 1, 2), 0.35),
    (0.16, 11, 16, (1, 2, 2), 0.6),
    (0.13, 17, 25, (2, 3), 0.7),
    (0.13, 26, 40, (3, 4, 5), 0.7),
    (0.06, 41, MAX_WORDS, (5, 6, 7), 0.75),
)
SAY: dict[str, Callable[[Meaning], list[Word]]] = {
    "fr": french.say,
    "en": english.say,
    "es": spanish.say,
    "zh": chinese.say,
}

# (verb, preposition, what stands first, what stands second)
FRAMES = (
    ("come_out", "from", EDIBLES, CASES),
    ("come_out", "from", EDIBLES, CASES),
    ("stay", "in", EDIBLES, CASES),
    ("be", "in", EDIBLES, CASES),
    ("be", "on", EDIBLES, HOLDERS),
    ("fall", "on", EDIBLES, HOLDERS),
    ("fall", "on", HOLDERS, EDIBLES),
    ("be", "next_to", EDIBLES, HOLDERS),
    ("be", "next_to", HOLDERS, EDIBLES),
)


class ToyPair(NamedTuple):
    """One sentence pair with its gold links and, where a pronoun stands for a noun, the two source indices."""

    source: str
    target: str
    alignment: tuple[tuple[int, int], ...]
    antecedent: tuple[int, int] | None


@dataclass(frozen=True)
class ToyCorpus:
    """The splits of a toy corpus; `pronoun_test` holds twins whose noun and idiom never meet in the other splits."""

    train: list[ToyPair]
    valid: list[ToyPair]
    test: list[ToyPair]
    pronoun_test: list[ToyPair]


def render(meaning: Meaning, profile: Profile, source: list[Word] | None = None) -> ToyPair:
    """Say a meaning in both languages of a pair, with the gold alignment and antecedent."""
    source = source or SAY[profile.source](meaning)
    target = SAY[profile.target](meaning)
    antecedent = None
    pronoun = meaning.pronoun
    if pronoun is not None and pronoun.antecedent is not None:
        at = (index_of(source, (pronoun, "head")), index_of(source, (pronoun.antecedent, "head")))
        antecedent = at if min(at) >= 0 else None
    return ToyPair(text_of(source), text_of(target), links(source, target), antecedent)


def fixed_pairs(pair: str) -> list[ToyPair]:
    """Return the sentences that every corpus of a pair trains on: "i am a student" and "squatch eats pizza"."""
    student = Clause(Phrase("i"), "be", predicate="student")
    pizza = Clause(Phrase("squatch"), "eat", object=Phrase("pizza", "mass"))
    return [render(Meaning([Segment(clause)]), PROFILES[pair]) for clause in (student, pizza)]


def fixed_twins(pair: str) -> list[ToyPair]:
    """Return "the pizza came out of the oven and it tastes good" and "... it needs repair": in the pronoun test."""
    first = ("come_out", "from", Phrase("pizza", "the"), Phrase("oven", "the"))
    return [render(_twin(*first, "past", about, name), PROFILES[pair])
            for about, name in ((first[2], "tastes_good"), (first[3], "repair"))]  # fmt: skip


def _twin(verb: str, where: str, one: Phrase, other: Phrase, tense: str, about: Phrase, name: str) -> Meaning:
    opening = Clause(one, verb, tense, place=Place(where, other))
    pronoun = Phrase("it", antecedent=about)
    return Meaning([Segment(opening), Segment(Clause(pronoun, "idiom", predicate=name), "and")], pronoun)


def _gender(noun: str, profile: Profile) -> str:
    is_spanish = "es" in (profile.source, profile.target)
    return NOUN[noun].spanish_gender if is_spanish else NOUN[noun].french_gender


def random_twins(grower: Grower, profile: Profile, is_held_out_wanted: bool) -> list[Meaning]:
    """Return two twins that share their first clause, both idioms held out or both not; genders differ."""
    while True:
        verb, where, ones, others = grower.pick(FRAMES)
        one, other = grower.pick(ones), grower.pick(others)
        chosen = []
        for noun in (one, other):
            about = "edible" if noun in EDIBLES else "holder"
            fits = [name for name, kind in IDIOM_ABOUT.items()
                    if kind == about and is_held_out(noun, name) == is_held_out_wanted]  # fmt: skip
            chosen.append(grower.pick(fits) if fits else "")
        is_past = verb != "be" or (not profile.is_chinese and grower.chance(0.5))
        determiners = [grower.pick(("the", "the", "the", "the", "this", "our")) for _ in range(2)]
        speaker = Phrase(grower.pick(("paul", "marie", "tom", "anna", "nina")))
        saying = grower.pick(("say", "think", "know_that")) if grower.chance(0.3) else ""
        if _gender(one, profile) != _gender(other, profile) and all(chosen):
            break
    found = []
    for number, name in enumerate(chosen):
        phrases = (Phrase(one, determiners[0]), Phrase(other, determiners[1]))
        twin = _twin(verb, where, *phrases, "past" if is_past else "present", phrases[number], name)
        if saying and not is_held_out_wanted:
            twin.segments[0].link = "that"
            twin.segments.insert(0, Segment(Clause(speaker, saying)))
        found.append(twin)
    return found


class _Maker:
    """Draws pairs for one split; `seen` holds every source said so far."""

    def __init__(self, pair: str, seed: int, stream: int, seen: set[str]) -> None:
        self.profile, self.seen = PROFILES[pair], seen
        self.rng = random.Random((seed * 1_000 + stream) * 10 + PAIRS.index(pair))
        self.grower = Grower(self.profile, self.rng)

    def _bucket(self) -> int:
        draw = self.rng.random()
        for number, bucket in enumerate(BUCKETS):
            draw -= bucket[0]
            if draw < 0:
                return number
        return 1

    def one(self) -> ToyPair:
        """Return a new pair in a drawn bucket of length, in a longer one where that has run out."""
        if self.rng.random() < TWIN_SHARE:
            for _ in range(TRIES):
                twins = random_twins(self.grower, self.profile, False)
                found = render(self.grower.pick(twins), self.profile)
                if found.source not in self.seen:
                    return self._keep(found)
        for bucket in BUCKETS[self._bucket() :]:
            for _ in range(TRIES):
                found = self._try(*bucket[1:])
                if found is not None:
                    return self._keep(found)
        raise UserError("no new toy sentence is left", where="--size", fix=f"use at most {MAX_SIZE:,}")

    def _try(self, shortest: int, longest: int, segments: tuple[int, ...], richness: float) -> ToyPair | None:
        """Return one new pair, or None where its length does not fit or its source was there before."""
        meaning = self.grower.meaning(self.grower.pick(segments), richness)
        source = SAY[self.profile.source](meaning)
        if not shortest <= len(source) <= longest or text_of(source) in self.seen:
            return None
        found = render(meaning, self.profile, source)
        return found if 2 <= found.target.count(" ") + 1 <= MAX_WORDS else None

    def _keep(self, found: ToyPair) -> ToyPair:
        self.seen.add(found.source)
        return found

    def pronoun_test(self, pair: str) -> list[ToyPair]:
        """Return the fixed twins and random ones, two with the same first clause after each other."""
        found = [self._keep(item) for item in fixed_twins(pair)]
        while len(found) < 2 * NUM_PRONOUN_TWINS:
            twins = [render(item, self.profile) for item in random_twins(self.grower, self.profile, True)]
            if not any(item.source in self.seen for item in twins):
                found += [self._keep(item) for item in twins]
        return found


def check_pair(pair: str) -> Profile:
    """Return the profile of a pair; UserError for a pair that does not exist."""
    if pair not in PROFILES:
        raise UserError(f"no toy pair {pair!r}", where="--pair", fix=did_you_mean(pair, PAIRS))
    return PROFILES[pair]


def sample(pair: str, count: int, seed: int = 1) -> list[ToyPair]:
    """Return pairs as the grammar gives them, of all lengths, repeats and all: to check or look at the grammar."""
    profile = check_pair(pair)
    grower = Grower(profile, random.Random(seed))
    found = []
    while len(found) < count:
        if grower.chance(TWIN_SHARE):
            found += [render(item, profile) for item in random_twins(grower, profile, grower.chance(0.5))]
        _, _, longest, segments, richness = grower.pick(BUCKETS)
        item = render(grower.meaning(grower.pick(segments), richness), profile)
        if item.source.count(" ") < longest:
            found.append(item)
    return found[:count]


def make_corpus(pair: str = "fr-en", size: int = 12_000, seed: int = 1) -> ToyCorpus:
    """Make the corpus of a pair: the same for the same pair, size and seed on every machine.

    Args:
        pair: one of `PAIRS`, source language first.
        size: number of training pairs; valid and test get 500 each, fewer (at least 10) under 12,000.
        seed: any whole number.

    Returns:
        The splits. No source stands twice in them. The test and the validation do not depend on the size, but for
        their number of pairs.

    Raises:
        UserError: an unknown pair, or a size that the grammar cannot fill.
    """
    check_pair(pair)
    if not MIN_SIZE <= size <= MAX_SIZE:
        wanted = f"a number of pairs from {MIN_SIZE} to {MAX_SIZE:,}"
        raise UserError(f"{size:,} pairs", where="--size", fix=f"give {wanted}, the maximum")
    held_out = min(HELD_OUT_SIZE, max(10, size // 24))
    fixed = fixed_pairs(pair)
    seen = {item.source for item in fixed}
    pronouns = _Maker(pair, seed, 3, seen).pronoun_test(pair)
    test_maker, valid_maker, train_maker = (_Maker(pair, seed, stream, seen) for stream in (2, 1, 0))
    test = [test_maker.one() for _ in range(held_out)]
    valid = [valid_maker.one() for _ in range(held_out)]
    train = fixed + [train_maker.one() for _ in range(size - len(fixed))]
    return ToyCorpus(train, valid, test, pronouns)


def write_corpus(corpus: ToyCorpus, folder: str | Path) -> None:
    """Write the splits as TSV, the links as Pharaoh lines and the antecedents, one file a split.

    Args:
        corpus: what `make_corpus` returned.
        folder: a folder to make, complete or absent. It gets train.tsv, valid.tsv, test.tsv and pronouns.tsv; and in
            `alignments/`, for each, a `.pharaoh` file (one line a pair, `i-j` from source to target, counted from 0) and an
            `.antecedents` file (line counted from 1, index of the pronoun, index of its noun, tabs between).

    Raises:
        UserError: the folder exists, or the disk refuses.
    """
    splits = {"train": corpus.train, "valid": corpus.valid, "test": corpus.test, "pronouns": corpus.pronoun_test}
    with new_folder(folder) as place:
        for name, pairs in splits.items():
            _write_split(place, name, pairs)


def _write_split(place: Path, name: str, pairs: list[ToyPair]) -> None:
    write_text(place / f"{name}.tsv", "".join(f"{item.source}\t{item.target}\n" for item in pairs))
    pharaoh = "".join(" ".join(f"{i}-{j}" for i, j in item.alignment) + "\n" for item in pairs)
    write_text(place / "alignments" / f"{name}.pharaoh", pharaoh)
    antecedents = "".join(
        f"{line}\t{item.antecedent[0]}\t{item.antecedent[1]}\n"
        for line, item in enumerate(pairs, start=1)
        if item.antecedent is not None
    )
    write_text(place / "alignments" / f"{name}.antecedents", antecedents)
