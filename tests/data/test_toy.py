"""The toy language pairs: grammar, gold alignments, twins, splits."""

from __future__ import annotations

import hashlib
import random
import statistics
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from seqline.data.toy import PAIRS, ToyCorpus, ToyPair, make_corpus, sample, write_corpus
from seqline.data.toy.grow import Grower
from seqline.data.toy.lexicon import NOUN, PLACE
from seqline.data.toy.make import MAX_SIZE, fixed_pairs, fixed_twins, render
from seqline.data.toy.meanings import Clause, Meaning, Phrase, Place, Segment
from seqline.data.toy.profiles import PROFILES
from seqline.data.toy.twins import EDIBLES, HOLDERS, IDIOM_ABOUT, idiom, is_held_out
from seqline.data.toy.verbs import VERB
from seqline.errors import UserError

SIZE = 1_500


@cache
def corpus(pair: str) -> ToyCorpus:
    return make_corpus(pair, SIZE, seed=4)


def every(pair: str) -> list[ToyPair]:
    made = corpus(pair)
    return made.train + made.valid + made.test + made.pronoun_test


def said(pair: str, *segments: Segment) -> tuple[str, str]:
    item = render(Meaning(list(segments)), PROFILES[pair])
    return item.source, item.target


def digest(made: ToyCorpus) -> str:
    splits = (made.train, made.valid, made.test, made.pronoun_test)
    return hashlib.sha256(repr([[tuple(item) for item in split] for split in splits]).encode()).hexdigest()


def test_same_arguments_give_the_same_corpus_and_another_seed_another():
    assert make_corpus("fr-en", 60, seed=2) == make_corpus("fr-en", 60, seed=2)
    assert make_corpus("fr-en", 60, seed=2).train != make_corpus("fr-en", 60, seed=3).train


GOLDEN = {
    "fr-en": "a1b76324b7b5470e",
    "en-fr": "8dc066b92c2f016a",
    "en-es": "a02b1151229d80d9",
    "zh-en": "5e0cd188ae9da306",
}


@pytest.mark.parametrize("pair", PAIRS)
def test_corpus_is_the_one_of_every_machine(pair: str):
    assert digest(make_corpus(pair, 50, seed=1))[:16] == GOLDEN[pair]


def test_valid_and_test_do_not_depend_on_the_training_size():
    small, large = make_corpus("en-fr", 30, seed=5), make_corpus("en-fr", 90, seed=5)
    assert small.test == large.test
    assert small.valid == large.valid
    assert large.train[:30] == small.train
    assert small.pronoun_test == large.pronoun_test


def test_splits_have_the_asked_sizes():
    made = corpus("fr-en")
    assert (len(made.train), len(made.valid), len(made.test)) == (SIZE, SIZE // 24, SIZE // 24)
    assert len(made.pronoun_test) == 200
    assert len(make_corpus("fr-en", 20).test) == 10


@pytest.mark.parametrize("pair", PAIRS)
def test_lengths_need_a_long_memory(pair: str):
    items = corpus(pair).train
    source_lengths = [len(item.source.split()) for item in items]
    target_lengths = [len(item.target.split()) for item in items]
    assert 8 <= statistics.median(source_lengths) <= 12
    assert sum(length > 25 for length in source_lengths) >= 0.15 * len(items)
    assert min(source_lengths) == 2
    assert max(source_lengths) > 50
    assert max(source_lengths + target_lengths) <= 60
    assert min(target_lengths) >= 2


@pytest.mark.parametrize("pair", PAIRS)
def test_no_source_stands_twice(pair: str):
    counts = Counter(item.source for item in every(pair))
    assert max(counts.values()) == 1


@pytest.mark.parametrize("pair", PAIRS)
def test_a_source_has_one_right_target(pair: str):
    targets: dict[str, str] = {}
    for item in [*sample(pair, 2_500, seed=6), *every(pair)]:
        assert targets.setdefault(item.source, item.target) == item.target, item.source


@pytest.mark.parametrize("pair", PAIRS)
def test_short_sentences_have_one_right_target(pair: str):
    """Short sentences repeat, so that two readings of one source would meet."""
    grower = Grower(PROFILES[pair], random.Random(8))
    targets: dict[str, str] = {}
    num_repeats = 0
    for _ in range(8_000):
        item = render(grower.meaning(1, 0.05), PROFILES[pair])
        num_repeats += item.source in targets
        assert targets.setdefault(item.source, item.target) == item.target, item.source
    assert num_repeats > 200


@pytest.mark.parametrize("pair", PAIRS)
def test_text_is_lower_case_words_without_final_stop(pair: str):
    for item in every(pair):
        for text in (item.source, item.target):
            assert text == text.lower()
            assert text == " ".join(text.split())
            assert not text.endswith((".", ",", "。"))


@pytest.mark.parametrize("pair", PAIRS)
def test_alignments_are_in_range_and_cover_the_target(pair: str):
    num_words = num_linked = 0
    for item in every(pair):
        source_length, target_length = len(item.source.split()), len(item.target.split())
        assert item.alignment == tuple(sorted(set(item.alignment)))
        assert all(0 <= i < source_length and 0 <= j < target_length for i, j in item.alignment)
        num_words += target_length
        num_linked += len({j for _, j in item.alignment})
    assert num_linked >= 0.97 * num_words


def test_alignment_links_words_that_translate_each_other():
    clause = Clause(Phrase("i"), "see", "past", "not", object=Phrase("girl", "this", adjectives=("kind",)))
    item = render(Meaning([Segment(clause)]), PROFILES["fr-en"])
    assert (item.source, item.target) == ("je n' ai pas vu cette fille gentille", "i did not see this kind girl")
    source, target = item.source.split(), item.target.split()
    assert {(source[i], target[j]) for i, j in item.alignment} == {
        ("je", "i"), ("n'", "not"), ("ai", "did"), ("pas", "not"), ("vu", "see"), ("cette", "this"),
        ("fille", "girl"), ("gentille", "kind"),
    }  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS)
def test_nouns_are_linked_to_their_translation(pair: str):
    profile = PROFILES[pair]
    names = {"en": "english", "fr": "french", "es": "spanish"}
    targets = {form: noun.concept for noun in NOUN.values() for form in getattr(noun, names[profile.target])}
    sources = {"zh": {noun.chinese[1]: noun.concept for noun in NOUN.values()}}
    for language, attribute in names.items():
        sources[language] = {form: noun.concept for noun in NOUN.values() for form in getattr(noun, attribute)}
    num_checked = 0
    for item in corpus(pair).train:
        source, target = item.source.split(), item.target.split()
        for i, j in item.alignment:
            if source[i] in sources[profile.source] and target[j] in targets:
                assert sources[profile.source][source[i]] == targets[target[j]], item
                num_checked += 1
    assert num_checked > SIZE


def test_fixed_sentences_are_in_training():
    expected = {
        "fr-en": [("je suis étudiant", "i am a student"), ("squatch mange de la pizza", "squatch eats pizza")],
        "en-fr": [("i am a student", "je suis étudiant"), ("squatch eats pizza", "squatch mange de la pizza")],
        "en-es": [("i am a student", "soy estudiante"), ("squatch eats pizza", "squatch come pizza")],
        "zh-en": [("我 是 学生", "i am a student"), ("squatch 吃 披萨", "squatch eats pizza")],
    }
    for pair in PAIRS:
        assert [item[:2] for item in fixed_pairs(pair)] == expected[pair]
        assert corpus(pair).train[:2] == fixed_pairs(pair)


def test_pizza_twins_are_in_the_pronoun_test():
    first, second = corpus("en-fr").pronoun_test[:2]
    assert first.source == "the pizza came out of the oven and it tastes good"
    assert first.target == "la pizza est sortie du four et elle a bon goût"
    assert first.antecedent == (8, 1)
    assert second.source == "the pizza came out of the oven and it needs repair"
    assert second.target == "la pizza est sortie du four et il a besoin d' être réparé"
    assert second.antecedent == (8, 6)
    assert [item[:2] for item in fixed_twins("fr-en")] == [(first.target, first.source), (second.target, second.source)]


def twin_parts(item: ToyPair) -> tuple[str, str, str] | None:
    """Return (antecedent noun, idiom, French pronoun) of a French twin target, None for another sentence."""
    if item.antecedent is None:
        return None
    source, target = item.source.split(), item.target.split()
    pronoun, noun = item.antecedent
    for concept in IDIOM_ABOUT:
        rest = [word.text for word in idiom(concept, "en", None, "m")]
        if source[pronoun] == "it" and source[pronoun + 1 :] == rest:
            return source[noun], concept, target[dict(item.alignment)[pronoun]]
    return None


def test_twin_pronouns_agree_with_their_antecedent():
    made = corpus("en-fr")
    parts = [twin_parts(item) for item in made.pronoun_test]
    assert None not in parts
    trained = [found for found in map(twin_parts, made.train) if found is not None]
    assert 0.03 * SIZE <= len(trained) <= 0.06 * SIZE
    for found in [*parts, *trained]:
        assert found is not None
        noun, concept, pronoun = found
        assert pronoun == ("elle" if NOUN[noun].french_gender == "f" else "il")
        assert noun in (EDIBLES if IDIOM_ABOUT[concept] == "edible" else HOLDERS)
    assert {pronoun for _, _, pronoun in trained} == {"il", "elle"}


def test_pronoun_test_pairs_of_noun_and_idiom_are_unseen():
    made = corpus("en-fr")
    tested = {found[:2] for found in map(twin_parts, made.pronoun_test) if found}
    seen = {found[:2] for found in map(twin_parts, made.train + made.valid + made.test) if found}
    assert len(tested) > 20
    assert not tested & seen
    assert {concept for _, concept in tested} <= {concept for _, concept in seen}


def test_each_noun_and_each_idiom_is_mostly_trained():
    for about, nouns in (("edible", EDIBLES), ("holder", HOLDERS)):
        names = [name for name, kind in IDIOM_ABOUT.items() if kind == about]
        for noun in nouns:
            assert sum(is_held_out(noun, name) for name in names) in (1, 2, 3)
        for name in names:
            assert sum(is_held_out(noun, name) for noun in nouns) in (1, 2, 3)


@pytest.mark.parametrize("pair", PAIRS)
def test_pronoun_test_is_made_of_twins_with_both_antecedents(pair: str):
    items = corpus(pair).pronoun_test
    for first, second in zip(items[::2], items[1::2], strict=True):
        assert first.antecedent is not None
        assert second.antecedent is not None
        pronoun, noun = first.antecedent
        assert first.source.split()[:pronoun] == second.source.split()[:pronoun]
        assert noun < second.antecedent[1] < pronoun == second.antecedent[0]


CASES: list[tuple[str, list[Segment], str, str]] = [
    ("fr-en", [Segment(Clause(Phrase("i"), "see", object=Phrase("he")))], "je le vois", "i see him"),
    ("fr-en", [Segment(Clause(Phrase("she"), "help", "past", "not", object=Phrase("she")))],
     "elle ne l' a pas aidée", "she did not help her"),
    ("fr-en", [Segment(Clause(Phrase("anna"), "eat", "present", "not", object=Phrase("apple", "any", is_plural=True)))],
     "anna ne mange pas de pommes", "anna does not eat any apples"),
    ("fr-en", [Segment(Clause(Phrase("i"), "drink", polarity="never", object=Phrase("water", "mass_negated")))],
     "je ne bois jamais d' eau", "i never drink water"),
    ("fr-en", [Segment(Clause(Phrase("i"), "go", "past", place=Place("goal", Phrase("market", "the"))))],
     "je suis allé au marché", "i went to the market"),
    ("fr-en", [Segment(Clause(Phrase("tom"), "see", object=Phrase("horse", "some", True, ("beautiful", "black"))))],
     "tom voit de beaux chevaux noirs", "tom sees some beautiful black horses"),
    ("fr-en", [Segment(Clause(Phrase("man", "this", adjectives=("old", "tired")), "be", "past", predicate="sad"))],
     "ce vieil homme fatigué était triste", "this old tired man was sad"),
    ("fr-en", [Segment(Clause(Phrase("girl", "the", True), "arrive", "past"))],
     "les filles sont arrivées", "the girls arrived"),
    ("fr-en", [Segment(Clause(Phrase("nina"), "read", object=Phrase("book", "owner", owner=Phrase("anna"))))],
     "nina lit le livre d' anna", "nina reads anna 's book"),
    ("en-fr", [Segment(Clause(Phrase("elephant", "a"), "eat", object=Phrase("apple", "a")))],
     "an elephant eats an apple", "un éléphant mange une pomme"),
    ("en-fr", [Segment(Clause(Phrase("paul"), "swim", "present", "not", modal="must"))],
     "paul must not swim", "paul ne doit pas nager"),
    ("en-es", [Segment(Clause(Phrase("we"), "see", object=Phrase("king", "the")))], "we see the king", "vemos al rey"),
    ("en-es", [Segment(Clause(Phrase("queen", "the", True, ("small",)), "be", predicate="tired"))],
     "the small queens are tired", "las reinas pequeñas están cansadas"),
    ("en-es", [Segment(Clause(Phrase("i"), "give", "past", object=Phrase("key", "our"), recipient=Phrase("they")))],
     "i gave them our key", "les di nuestra llave"),
    ("en-es", [Segment(Clause(Phrase("tom"), "sing")), Segment(Clause(Phrase("she"), "invite", object=Phrase("he")), "and")],
     "tom sings and she invites him", "tom canta y lo invita"),
    ("zh-en", [Segment(Clause(Phrase("dog", "a"), "eat", "past", place=Place("in", Phrase("park", "the")),
                              object=Phrase("apple", "two", True), time="yesterday"))],
     "一 只 狗 昨天 在 公园 里 吃 了 两 个 苹果", "a dog ate two apples in the park yesterday"),
    ("zh-en", [Segment(Clause(Phrase("i"), "see", "past", "not", object=Phrase("book", "this", True)))],
     "我 没 看见 这些 书", "i did not see these books"),
    ("zh-en", [Segment(Clause(Phrase("cat", "the", adjectives=("small", "black")), "be", predicate="tired"))],
     "黑色 的 小 猫 很 疲惫", "the small black cat is tired"),
]  # fmt: skip


@pytest.mark.parametrize(("pair", "segments", "source", "target"), CASES)
def test_grammar(pair: str, segments: list[Segment], source: str, target: str):
    assert said(pair, *segments) == (source, target)


def test_relative_clauses_stand_on_their_own_side():
    man = Phrase("man", "the")
    man.relative = Clause(man, "eat", "past", object=Phrase("bread", "mass"), gap="subject")
    sleeps = Segment(Clause(man, "sleep"))
    assert said("fr-en", sleeps) == ("l' homme qui a mangé du pain dort", "the man who ate bread sleeps")
    assert said("zh-en", sleeps)[0] == "吃 了 面包 的 男人 睡觉"
    apple = Phrase("apple", "the")
    apple.relative = Clause(Phrase("paul"), "buy", "past", object=apple, gap="object")
    likes = Segment(Clause(Phrase("i"), "eat", object=apple))
    assert said("fr-en", likes) == ("je mange la pomme que paul a achetée", "i eat the apple that paul bought")
    assert said("zh-en", likes)[0] == "我 吃 保罗 买 了 的 苹果"
    assert said("en-es", likes)[1] == "como la manzana que paul compró"


def test_object_pronoun_takes_the_gender_of_its_antecedent():
    apple, book = Phrase("apple", "the"), Phrase("book", "a")
    for item, verb, french in ((apple, "eat", "la mange"), (book, "read", "le lit")):
        pronoun = Phrase("he", antecedent=Phrase("paul"))
        segments = (Segment(Clause(Phrase("paul"), "take", object=item)),
                    Segment(Clause(pronoun, verb, object=Phrase("it", antecedent=item)), "and"))  # fmt: skip
        source, target = said("en-fr", *segments)
        assert source.endswith(f"and he {VERB[verb].english[1]} it")
        assert target.endswith(f"et il {french}")


def test_subordinate_clauses_and_elision():
    opening = Clause(Phrase("marie"), "sleep")
    pronoun = Phrase("she", antecedent=opening.subject)
    fronted = Segment(Clause(pronoun, "laugh", polarity="not"), "", "when", opening)
    assert said("fr-en", fronted) == ("quand marie dort , elle ne rit pas", "when marie sleeps , she does not laugh")
    assert said("zh-en", fronted)[0] == "当 玛丽 睡觉 的 时候 , 她 不 笑"
    says = (Segment(Clause(Phrase("i"), "say")), Segment(Clause(Phrase("anna"), "be", predicate="student"), "that"))
    assert said("fr-en", *says) == ("je dis qu' anna est étudiante", "i say that anna is a student")
    if_he = Segment(Clause(Phrase("i"), "sing"), "", "if", Clause(Phrase("he"), "sleep"))
    assert said("fr-en", if_he)[0] == "s' il dort , je chante"


@pytest.mark.parametrize("pair", PAIRS)
def test_words_are_few_and_test_words_are_trained(pair: str):
    made = make_corpus(pair, 3_000)
    for side in ("source", "target"):
        trained = {word for item in made.train for word in getattr(item, side).split()}
        print(pair, side, len(trained))
        assert 150 <= len(trained) <= 650
        tested = [word for item in made.test for word in getattr(item, side).split()]
        assert sum(word not in trained for word in tested) <= 0.002 * len(tested)


def test_lexicon_has_one_form_for_one_noun():
    for language in ("english", "french", "spanish"):
        forms = Counter(form for noun in NOUN.values() for form in set(getattr(noun, language)))
        assert [form for form, count in forms.items() if count > 1] == []
        assert all(noun_forms[0] != noun_forms[1] for noun_forms in (getattr(noun, language) for noun in NOUN.values()))
    assert len({noun.chinese[1] for noun in NOUN.values()}) == len(NOUN)
    assert set(PLACE) >= {"in", "on", "next_to"}


def test_wrong_arguments_are_user_errors():
    with pytest.raises(UserError, match="did you mean 'fr-en'"):
        make_corpus("fr-eng")
    with pytest.raises(UserError, match=f"{MAX_SIZE:,}"):
        make_corpus("fr-en", MAX_SIZE + 1)
    with pytest.raises(UserError, match="from 20"):
        make_corpus("fr-en", 3)


def test_written_files_hold_the_corpus(tmp_path: Path):
    made = make_corpus("zh-en", 40, seed=9)
    tmp_path = tmp_path / "toy"
    write_corpus(made, tmp_path)
    splits = {"train": made.train, "valid": made.valid, "test": made.test, "pronouns": made.pronoun_test}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alignments", *sorted(f"{name}.tsv" for name in splits)]
    for name, items in splits.items():
        lines = (tmp_path / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
        assert [tuple(line.split("\t")) for line in lines] == [item[:2] for item in items]
        pharaoh = (tmp_path / "alignments" / f"{name}.pharaoh").read_text(encoding="utf-8").splitlines()
        links = [tuple(tuple(map(int, link.split("-"))) for link in line.split()) for line in pharaoh]
        assert links == [item.alignment for item in items]
        found = (tmp_path / "alignments" / f"{name}.antecedents").read_text(encoding="utf-8").splitlines()
        rows = {int(line): (int(one), int(two)) for line, one, two in (row.split("\t") for row in found)}
        assert rows == {at: item.antecedent for at, item in enumerate(items, start=1) if item.antecedent}
