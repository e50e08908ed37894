"""What a translator promises beside its plain search: wishes, draws, ensembles, second looks, scores, streams, long texts."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from sacrebleu.metrics.chrf import CHRF

from seqline.architectures import ARCHITECTURES
from seqline.config import Config
from seqline.data.tokenizer import BOS, EOS, train_tokenizer
from seqline.decoding import Sampling
from seqline.errors import UserError
from seqline.run_folder import Tokenizers
from seqline.tasks import TASKS
from seqline.translating.finding import More
from seqline.translating.outputs import Output
from seqline.translating.requests import Request
from seqline.translating.wishes import holds
from seqline.translator import Translator

from ..small_models import random_weights
from .small_translators import CELLS, KINDS, TEXTS, translator

WARM = Sampling(temperature=1.2, seed=5)


def words(text: str) -> list[str]:
    return text.split()


def outputs(found: list[Any]) -> list[tuple[Output, ...]]:
    return [each.outputs for each in found]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beam_size", [1, 3])
def test_every_output_begins_with_the_prefix(kind: str, beam_size: int) -> None:
    asked = [
        Request(text, prefix) for text, prefix in zip(TEXTS, ["the ca", "", "a dog ", "le chat", "  "], strict=True)
    ]
    if kind == "word":
        asked[0] = Request(TEXTS[0], "the cat")
    one = translator(kind)
    found = one.translate(asked, beam_size=beam_size, n_best=beam_size)
    for request, translation in zip(asked, found, strict=True):
        assert len({output.text for output in translation.outputs}) == len(translation.outputs)
        for output in translation.outputs:
            assert output.text.startswith(request.prefix.strip())
    alone = [one.translate([request], beam_size=beam_size, n_best=beam_size)[0] for request in asked]
    assert [[o.text for o in t.outputs] for t in alone] == [[o.text for o in t.outputs] for t in found]
    plain = one.translate([TEXTS[1], TEXTS[4]], beam_size=beam_size, n_best=beam_size)
    assert [found[1].text, found[4].text] == [t.text for t in plain]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_space_behind_a_prefix_begins_a_new_word(kind: str) -> None:
    for seed in range(1, 5):
        one = translator(kind, seed=seed)
        for beam_size in (1, 4):
            for output in one.translate([Request("the cat", "the cat ")], beam_size=beam_size)[0].outputs:
                assert output.text == "the cat" or output.text[len("the cat")].isspace()
        drawn = one.translate([Request("the cat", "the cat ")] * 8, n_best=4, more=More(sampling=WARM))
        assert all(o.text == "the cat" or o.text[7].isspace() for t in drawn for o in t.outputs)


@pytest.mark.parametrize("kind", ["word", "char"])
def test_a_wish_that_the_vocabulary_cannot_write_is_refused(kind: str) -> None:
    one = translator(kind)
    with pytest.raises(UserError, match="prefix: the model's vocabulary cannot write 'zebra€'"):
        one.translate([Request("the cat", "zebra€")])
    with pytest.raises(UserError, match="must: the model's vocabulary cannot write 'zebra€'"):
        one.translate([Request("the cat", must=("zebra€",))])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beam_size", [1, 4])
def test_no_output_holds_a_banned_phrase(kind: str, beam_size: int) -> None:
    one = translator(kind)
    free = one.translate(TEXTS, beam_size=beam_size)
    banned = tuple(sorted({word for t in free for word in words(t.text)}))[:6] or ("cat",)
    found = one.translate([Request(text, must_not=banned) for text in TEXTS], beam_size=beam_size, n_best=beam_size)
    assert all(word not in words(o.text) for t in found for o in t.outputs for word in banned)
    drawn = one.translate([Request(text, must_not=banned) for text in TEXTS], n_best=3, more=More(sampling=WARM))
    assert all(word not in words(o.text) for t in drawn for o in t.outputs for word in banned)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beam_size", [1, 3])
def test_every_output_holds_the_phrases_that_must_stand_in_it(kind: str, beam_size: int) -> None:
    phrases = [("cat",), ("a dog", "cats"), (), ("le chat voit",), ("the", "cat")]
    asked = [Request(text, must=must) for text, must in zip(TEXTS, phrases, strict=True)]
    one = translator(kind).with_decoding(max_length_extra=20)
    found = one.translate(asked, beam_size=beam_size, n_best=beam_size)
    for request, translation in zip(asked, found, strict=True):
        for output in translation.outputs:
            assert all(holds(output.text, phrase) for phrase in request.must), (output.text, request.must)
            assert output.unmet == ()
    alone = [one.translate([request], beam_size=beam_size, n_best=beam_size)[0] for request in asked]
    assert [[o.text for o in t.outputs] for t in alone] == [[o.text for o in t.outputs] for t in found]
    assert found[2].text == one.translate([TEXTS[2]], beam_size=beam_size)[0].text


def test_a_phrase_may_open_the_output_or_stand_inside() -> None:
    texts = [
        translator("bpe", seed=seed).translate([Request("pizza", must=("cat",))], beam_size=8, n_best=8)[0]
        for seed in range(1, 9)
    ]
    found = [o.text for t in texts for o in t.outputs]
    assert all(holds(text, "cat") for text in found)
    assert any(text.startswith("cat") for text in found)
    assert any(" cat" in text for text in found)


def test_what_finds_no_room_is_said() -> None:
    one = translator("word").with_decoding(max_length=3)
    [found] = one.translate([Request("pizza", must=("the cat", "a dog"))], beam_size=2)
    assert found.outputs[0].unmet == ("a dog",)
    assert holds(found.text, "the cat")
    with pytest.raises(UserError, match="must: a drawn output"):
        one.translate([Request("a", must=("cat",))], more=More(sampling=WARM))
    with pytest.raises(UserError, match="must: expected one word or more"):
        one.translate([Request("a", must=(" ",))])
    with pytest.raises(UserError, match="must_not: expected one word or more"):
        one.translate([Request("a", must_not=("",))])


@pytest.mark.parametrize(
    ("text", "phrase", "is_there"),
    [("the cat.", "cat", True), ("cats", "cat", False), ("scat", "cat", False), ("(Cat)", "Cat", True), ("a  b", "a b", True),
     ("他今天不在家", "不在", True), ("l'chat", "chat", True), ("", "a", False)],
)  # fmt: skip
def test_a_phrase_stands_in_a_text_as_whole_words(text: str, phrase: str, is_there: bool) -> None:
    assert holds(text, phrase) == is_there


@pytest.mark.parametrize("kind", KINDS)
def test_draws_depend_on_seed_and_place_alone(kind: str) -> None:
    one = translator(kind)
    found = outputs(one.translate(TEXTS, n_best=3, more=More(sampling=WARM)))
    for rows in (1, 2):
        again = one.translate(TEXTS, n_best=3, batch_rows=rows, more=More(sampling=WARM))
        assert [[o.text for o in each] for each in outputs(again)] == [[o.text for o in each] for each in found]
    other = outputs(one.translate(TEXTS, n_best=3, more=More(sampling=Sampling(temperature=1.2, seed=6))))
    assert [[o.text for o in each] for each in other] != [[o.text for o in each] for each in found]
    assert all(o.score == pytest.approx(o.log_probability / o.num_tokens) for each in found for o in each)
    assert any(len({o.text for o in each}) > 1 for each in found)


def test_the_best_of_many_draws_is_the_one_nearest_to_all() -> None:
    one = translator("char")
    drawn = outputs(one.translate(TEXTS, n_best=12, more=More(sampling=WARM)))
    best = outputs(one.translate(TEXTS, n_best=2, more=More(sampling=WARM, mbr=12)))
    chrf = CHRF()
    for candidates, chosen in zip(drawn, best, strict=True):
        texts = [o.text for o in candidates]
        expected = {h: math.fsum(chrf.sentence_score(h, [r]).score for r in texts) / 12 for h in texts}
        assert chosen[0].score == pytest.approx(max(expected.values()), abs=1e-6)
        assert chosen[0].score == pytest.approx(expected[chosen[0].text], abs=1e-6)
        assert len(chosen) == min(2, len(expected))


def test_more_outputs_than_candidates_are_refused() -> None:
    one = translator()
    with pytest.raises(UserError, match="n_best: 3 outputs need as many candidates, there are 2"):
        one.translate(TEXTS, beam_size=2, n_best=3)
    with pytest.raises(UserError, match="n_best: 5 outputs need as many candidates, there are 4"):
        one.translate(TEXTS, n_best=5, more=More(mbr=4))
    with pytest.raises(UserError, match="mbr: expected from 2 to 1024"):
        More(mbr=1)
    with pytest.raises(UserError, match="reranker: ranks what a beam found"):
        More(mbr=4, reranker=one)
    with pytest.raises(UserError, match="rerank_weight"):
        More(reranker=one, rerank_weight=float("nan"))


@pytest.mark.parametrize("arch", ["luong", "transformer"])
def test_an_ensemble_of_one_is_the_model(arch: str) -> None:
    one = translator("bpe", arch)
    for beam_size in (1, 4):
        expected = one.translate(TEXTS, beam_size=beam_size, n_best=beam_size)
        assert one.ensemble([]).translate(TEXTS, beam_size=beam_size, n_best=beam_size) == expected
        twice = one.ensemble([one]).translate(TEXTS, beam_size=beam_size, n_best=beam_size)
        assert [[o.text for o in t.outputs] for t in twice] == [[o.text for o in t.outputs] for t in expected]


def test_an_ensemble_takes_the_mean_of_probabilities() -> None:
    first, second = translator("word", seed=1), translator("word", "transformer", seed=2)
    together = first.ensemble([second])
    pairs = [("the cat", "a dog and"), ("pizza", "cats"), ("a", "")]
    for one, a, b in zip(together.score(pairs), first.score(pairs), second.score(pairs), strict=True):
        mean = [
            math.log((math.exp(x) + math.exp(y)) / 2)
            for x, y in zip(a.log_probabilities, b.log_probabilities, strict=True)
        ]
        assert one.log_probabilities == pytest.approx(mean, abs=1e-10)
    for translation in together.translate(TEXTS, beam_size=3, n_best=3):
        for output in translation.outputs:
            if "<unk>" not in output.text and output.is_finished:
                [scored] = together.score([(translation.source, output.text)])
                assert scored.log_probability == pytest.approx(output.log_probability, abs=1e-10)


def test_an_ensemble_needs_one_target_vocabulary_and_has_no_inside() -> None:
    one = translator("word")
    with pytest.raises(UserError, match="ensemble: model 2 has another target vocabulary"):
        one.ensemble([translator("char")])
    with pytest.raises(UserError, match="ensemble: model 3 writes right-to-left"):
        one.ensemble([one, translator("word", order="right-to-left")])
    with pytest.raises(UserError, match="explain: an ensemble has no states"):
        one.ensemble([one]).explain("the cat")
    with pytest.raises(UserError, match="alignments: an ensemble"):
        one.ensemble([one]).translate(["the cat"], alignments=True)


def test_coverage_ranks_what_the_beam_found() -> None:
    plain = translator("bpe").with_decoding(length_penalty="none")
    covered = plain.with_decoding(coverage_penalty=0.7)
    for text in TEXTS:
        candidates = {o.text: o for o in plain.translate([text], beam_size=5, n_best=5)[0].outputs}
        found = covered.translate([text], beam_size=5, n_best=5)[0].outputs
        assert {o.text for o in found} == set(candidates)
        for output in found:
            assert output.log_probability == pytest.approx(candidates[output.text].log_probability, abs=1e-10)
            assert output.score <= candidates[output.text].score
        assert [o.score for o in found] == sorted((o.score for o in found), reverse=True)
        assert covered.translate([text], beam_size=5)[0].outputs[0].text == found[0].text
    with pytest.raises(UserError, match="does not attend to its source"):
        translator("bpe", "encoder-decoder").with_decoding(coverage_penalty=0.2).translate(TEXTS)


def test_a_reranker_adds_its_score() -> None:
    one, other = translator("word"), translator("word", seed=9, order="right-to-left")
    for text in TEXTS:
        candidates = one.translate([text], beam_size=4, n_best=4)[0].outputs
        second = other.score([(text, o.text) for o in candidates])
        expected = sorted(
            ((o.score + 0.5 * s.score, o.text) for o, s in zip(candidates, second, strict=True)), reverse=True
        )
        more = More(reranker=other, rerank_weight=0.5)
        found = one.translate([text], beam_size=4, n_best=4, more=more)[0].outputs
        assert [o.text for o in found] == [t for _, t in expected]
        assert [o.score for o in found] == pytest.approx([s for s, _ in expected])


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_writes_from_the_end_gives_text_in_its_order(kind: str) -> None:
    forward, backward = translator(kind), translator(kind, order="right-to-left")
    if kind == "word":
        for a, b in zip(forward.translate(TEXTS), backward.translate(TEXTS), strict=True):
            assert words(b.text) == words(a.text)[::-1]
    target = "the cat sees"
    ids = backward.tokenizers.target.encode(target)[::-1]
    source = torch.tensor([backward.encode("a dog")])
    logits = backward.model(source, torch.ones_like(source, dtype=torch.bool), torch.tensor([[BOS, *ids]]))
    steps = logits[0].log_softmax(-1)[range(len(ids) + 1), [*ids, EOS]]
    [scored] = backward.score([("a dog", target)])
    assert scored.log_probabilities == pytest.approx(steps.tolist(), abs=1e-10)
    assert scored.pieces == tuple(backward.tokenizers.target.pieces([*ids, EOS]))
    for refused in (
        lambda: list(backward.stream("the cat")),
        lambda: backward.explain("the cat"),
        lambda: backward.translate(["a"], alignments=True),
        lambda: backward.translate([Request("a", "the")]),
        lambda: backward.translate([Request("a", must_not=("the",))]),
    ):
        with pytest.raises(UserError, match="from the"):
            refused()


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_teacher_forcing_and_depend_on_no_batch(kind: str) -> None:
    one = translator(kind)
    pairs = [(source, target) for source in TEXTS for target in ("the cat", "a", "", "cats see dogs in the oven")]
    found = one.score(pairs)
    assert one.score(pairs[::-1], batch_rows=3)[::-1] == pytest.approx(found) or all(
        a.log_probabilities == pytest.approx(b.log_probabilities, abs=1e-10)
        for a, b in zip(one.score(pairs[::-1], batch_rows=3)[::-1], found, strict=True)
    )
    for (source, target), scored in zip(pairs, found, strict=True):
        ids = [*one.tokenizers.target.encode(target), EOS]
        read = torch.tensor([one.encode(source)])
        logits = one.model(read, torch.ones_like(read, dtype=torch.bool), torch.tensor([[BOS, *ids[:-1]]]))
        steps = logits[0].log_softmax(-1)[range(len(ids)), ids].tolist()
        assert scored.log_probabilities == pytest.approx(steps, abs=1e-10)
        assert scored.log_probability == pytest.approx(math.fsum(steps), abs=1e-10)
        assert scored.score == pytest.approx(math.fsum(steps) / len(ids), abs=1e-10)
        assert scored.pieces[-1] == "</s>"
    assert one.score([]) == []
    assert translator("word").score([("a", "zebra the")])[0].num_unknown == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_is_the_translation_in_pieces(kind: str) -> None:
    one = translator(kind)
    greedy_ones, drawn = one.translate(TEXTS, beam_size=1), one.translate(TEXTS, more=More(sampling=WARM))
    for place, text in enumerate(TEXTS):
        assert "".join(one.stream(text)) == greedy_ones[place].text
        pieces = list(one.stream(text, sampling=WARM, place=place))
        assert "".join(pieces) == drawn[place].text
        assert len(pieces) == drawn[place].outputs[0].num_tokens
    assert list(one.stream("  ")) == []
    asked = Request("the cat", "a dog", must_not=("the",))
    assert "".join(one.stream(asked)) == one.translate([asked], beam_size=1)[0].text
    with pytest.raises(UserError, match="must: an output that is shown as it grows"):
        list(one.stream(Request("a", must=("cat",))))


@pytest.mark.parametrize(
    ("arch", "settings"),
    [
        ("transformer-pre", {"positions": "learned", "max_length": 9}),
        ("conv", {"max_length": 9}),
        ("luong", {"score": "location", "location_length": 9}),
    ],
)
def test_a_text_beyond_the_positions_is_cut_and_said_and_ends_nothing(arch: str, settings: dict[str, Any]) -> None:
    one = translator("word", arch, **settings)
    long = " ".join(["the cat sees"] * 7)
    found = one.translate(["a dog", long, "the cat"], beam_size=2, batch_rows=3)
    assert [t.truncated for t in found] == [False, True, False]
    assert (found[1].source_tokens, found[1].source_tokens_used) == (22, 9)
    assert found[1].outputs[0].text == one.translate([" ".join(words(long)[:8])], beam_size=2)[0].text
    assert [found[0].text, found[2].text] == [t.text for t in one.translate(["a dog", "the cat"], beam_size=2)]
    with pytest.raises(UserError, match="pair 2: a source of 22 pieces, and the model reads 9"):
        one.score([("a", "a"), (long, "a")])


def test_a_target_beyond_the_positions_is_refused_where_it_is_scored() -> None:
    one = translator("word", "transformer-pre", positions="learned", max_length=5)
    assert one.translate(["a"], beam_size=1)[0].outputs[0].max_tokens == 5
    with pytest.raises(UserError, match="a target of 7 pieces, and the model has positions for 5"):
        one.score([("a", "the cat the cat the cat")])


def test_settings_of_the_search_are_checked_and_change_no_other_translator() -> None:
    one = translator("word")
    other = one.with_decoding(max_length=3, length_penalty="none")
    assert all(o.num_tokens <= 3 for t in other.translate(TEXTS, beam_size=3, n_best=3) for o in t.outputs)
    assert any(o.num_tokens > 3 for t in one.translate(TEXTS) for o in t.outputs)
    assert other.model is one.model
    assert one.decoding.max_length is None
    for name, value in (
        ("beam_siz", 3),
        ("max_length", 0),
        ("length_penalty", "gnmt"),
        ("num_groups", 3),
        ("diversity", 0.5),
    ):
        with pytest.raises(UserError, match=f"decoding.{name}"):
            one.with_decoding(**{name: value})
    groups = one.with_decoding(num_groups=2, diversity=5.0, beam_size=4)
    assert all(len({o.text for o in t.outputs}) == len(t.outputs) for t in groups.translate(TEXTS, n_best=4))
    assert groups.translate(TEXTS, beam_size=1) == one.translate(TEXTS, beam_size=1)


def test_rules_against_repetition_hold_in_every_output() -> None:
    one = translator("word").with_decoding(no_repeat_ngram=2, max_length_extra=30)
    for translation in one.translate(TEXTS, beam_size=3, n_best=3):
        for output in translation.outputs:
            grams = list(zip(words(output.text), words(output.text)[1:], strict=False))
            assert len(grams) == len(set(grams))
    free = translator("word").with_decoding(max_length_extra=40, min_length=40)
    assert all(t.outputs[0].repetition for t in free.translate(["pizza"], beam_size=1))
    tamed = free.with_decoding(max_repeats=2)
    written = words(tamed.translate(["pizza"], beam_size=1)[0].text)
    for begin in range(len(written)):
        for length in range(1, (len(written) - begin) // 3 + 1):
            once, twice, thrice = (written[begin + k * length : begin + (k + 1) * length] for k in range(3))
            assert not once == twice == thrice


@pytest.mark.parametrize("arch", ["luong", "encoder-decoder"])
def test_marks_survive_any_model(arch: str) -> None:
    text = "Dear %1$s, press <b>OK</b>.\n\nYour seat: {0}"
    for kind in ("bpe", "word"):
        one: Translator = translator(kind, arch)
        for translation in one.translate(
            [text, "the <i>cat</i>", "a dog", "{0}", ""], n_best=2, beam_size=3, more=More(keep_markup=True)
        ):
            for output in translation.outputs:
                if translation.source == text:
                    assert output.text.count("%1$s") == output.text.count("{0}") == 1
                    assert output.text.count("\n") == 2
                    before, rest = output.text.split("<b>")
                    inside, after = rest.split("</b>")
                    assert "<" not in before + after
                    assert inside.strip() or not output.text.replace("%1$s", "").replace("{0}", "").strip("<b>/\n ")
        plain = one.translate(["a dog"], n_best=2, beam_size=3)[0]
        marked = one.translate(["a dog"], n_best=2, beam_size=3, more=More(keep_markup=True))[0]
        assert [o.text for o in marked.outputs] == [o.text for o in plain.outputs]
        assert one.translate(["{0}"], more=More(keep_markup=True))[0].text == "{0}"
    with pytest.raises(UserError, match="alignments: count the words of a plain text"):
        translator().translate(["a"], alignments=True, more=More(keep_markup=True))
    with pytest.raises(UserError, match="must: text 1 has 3 lines"):
        translator().translate([Request("a\n\nb", must=("cat",))], more=More(keep_markup=True))


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_text_without_any_output_costs_the_others_nothing(beam_size: int) -> None:
    one = translator("word")
    asked = [Request("the cat"), Request("pizza", must=("the cat",), must_not=("cat",)), Request("a dog")]
    found = one.translate(asked, beam_size=beam_size)
    assert [found[0].text, found[2].text] == [t.text for t in one.translate(["the cat", "a dog"], beam_size=beam_size)]
    [output] = found[1].outputs
    assert (output.text, output.num_tokens, output.is_finished) == ("", 0, False)
    assert output.unmet == ("the cat",)
    narrow = one.with_decoding(min_length=300, max_length_extra=400, no_repeat_ngram=1)
    assert [
        t.outputs[0].num_tokens for t in narrow.translate(["pizza", "a"], beam_size=beam_size, alignments=True)
    ] == [0, 0]
    assert [t.outputs[0].num_tokens for t in narrow.translate(["pizza"], n_best=2, more=More(sampling=WARM))] == [0]


@pytest.mark.parametrize("beam_size", [1, 2, 5])
def test_a_prefix_may_hold_a_banned_word(beam_size: int) -> None:
    for kind in KINDS:
        [found] = translator(kind).translate([Request("the cat", "the ", must_not=("the",))], beam_size=beam_size)
        assert found.text.startswith("the")
        assert found.text.split().count("the") == 1


def test_unsegmented_text_is_banned_wherever_it_stands() -> None:
    lines = ["我看见那只猫", "那只猫在家", "他今天不在家"] * 4
    both = Tokenizers(*[train_tokenizer(lines, "bpe", 300)] * 2)
    recipe = ARCHITECTURES["luong"]
    own = TASKS["translation"].settings_of(recipe)(**CELLS)
    model = random_weights(TASKS["translation"].build_model(recipe, own, both.vocabulary))
    one = Translator(model, both, Config().data, Config().decoding.model_copy(update={"max_length_extra": 12}))  # type: ignore[arg-type]
    free = one.translate(lines[:3], beam_size=4, n_best=4)
    banned = tuple(
        {text[k : k + 1] for t in free for o in t.outputs for text in [o.text] for k in range(len(text))}
        & set("".join(lines))
    )
    assert banned
    for beam_size in (1, 4):
        for t in one.translate(
            [Request(line, must_not=banned) for line in lines[:3]], beam_size=beam_size, n_best=beam_size
        ):
            assert not any(character in o.text for o in t.outputs for character in banned)
    asked = [Request(line, must=("那只猫",)) for line in lines[:3]]
    assert all("那只猫" in o.text for t in one.translate(asked, beam_size=3, n_best=3) for o in t.outputs)


def test_neighbours_change_nothing_where_wishes_differ() -> None:
    one = translator("bpe")
    mixed = [
        Request("the cat", must=("cat",)),
        Request("a dog", must=("的",)),
        Request("pizza", must_not=("的", "cat")),
    ]
    together = one.translate(mixed, beam_size=4, n_best=4)
    for request, translation in zip(mixed, together, strict=True):
        alone = one.translate([request], beam_size=4, n_best=4)[0]
        assert [o.text for o in alone.outputs] == [o.text for o in translation.outputs]
    assert all("的" in o.text for o in together[1].outputs)


def test_more_draws_do_not_change_the_first() -> None:
    one = translator("char")
    firsts = [[t.outputs[0].text for t in one.translate(TEXTS, n_best=n, more=More(sampling=WARM))] for n in (1, 2, 5)]
    assert firsts[0] == firsts[1] == firsts[2]


def test_a_reranker_reads_the_beginning_of_a_long_text() -> None:
    short = translator("word", "transformer-pre", positions="learned", max_length=20)
    found = translator("word").translate(["the cat", "the cat sees " * 10], beam_size=3, more=More(reranker=short))
    assert all(t.text for t in found)
    with pytest.raises(UserError, match="reranker: ranks what a beam found, and a beam of 1"):
        translator().translate(["a"], beam_size=1, more=More(reranker=short))


def test_numbers_below_one_are_refused() -> None:
    for wrong in ({"n_best": 0}, {"beam_size": 0}, {"n_best": -1}):
        with pytest.raises(UserError, match=f"{next(iter(wrong))}: expected from 1 to 1024"):
            translator().translate(["a"], **wrong)  # type: ignore[arg-type]


def test_wishes_of_a_text_with_marks_are_those_of_its_plain_lines() -> None:
    one = translator("bpe").with_decoding(max_length_extra=40)
    asked = Request("a <b>dog</b> <i>sees</i> the cat", must=("the pizza", "a dog"))
    [found] = one.translate([asked], beam_size=4, more=More(keep_markup=True))
    assert found.outputs[0].unmet == ()
    assert "<b>" in found.text
    [found] = one.translate([Request("\n{0}\nthe cat", "a dog")], beam_size=2, more=More(keep_markup=True))
    assert found.text.split("\n")[2].startswith("a dog")
    assert found.text.split("\n")[:2] == ["", "{0}"]


def test_a_blank_text_lacks_what_was_asked_for() -> None:
    assert translator().translate([Request(" ", "the", ("cat",))])[0].outputs[0].unmet == ("the", "cat")


def test_a_stream_returns_the_translation() -> None:
    one, found = translator("bpe"), []

    def run() -> Any:
        found.append((yield from one.stream("the cat")))

    text = "".join(run())
    [expected] = one.translate(["the cat"], beam_size=1)
    assert found[0].text == text == expected.text
    assert found[0].outputs[0].is_finished == expected.outputs[0].is_finished
    assert found[0].outputs[0].log_probability == pytest.approx(expected.outputs[0].log_probability)
