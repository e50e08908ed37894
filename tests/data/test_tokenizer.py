import io
import os
import subprocess
import sys

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from seqline.data.tokenizer import (
    BOS,
    EOS,
    MAX_TRAINING_LINES,
    PAD,
    UNK,
    Tokenizer,
    _evenly,
    default_vocab_size,
    train_tokenizer,
)
from seqline.errors import UserError

NOUNS = ("cat", "dog", "house", "river", "teacher", "garden", "window", "bridge", "letter", "stone")
VERBS = ("sees", "finds", "paints", "follows", "builds", "opens", "carries", "forgets")
CORPUS = [f"The {a} {v} the {b}, n° {i * 37 % 101}." for i, v in enumerate(VERBS) for a in NOUNS for b in NOUNS]
NASTY = ["</s>", "<s>", "<pad>", "<unk>", "<0x41>", "▁", "▅", "\x1f", "\uee81", "\uee82", "\uee81\uee83", "\ufffd", "⁇"]
SPACES = [" ", "  ", "\t", "\n", "\r", "\u00a0", "\u3000", "\u200b", "\x0b"]
OTHER = ["︰ ŀ ŉ ２ ﬁ 😀 a  b", "👩‍👩‍👧", "e\u0301", "語", "\ufffe", "\U0010ffff", "cat", "The"]
TEXTS = st.lists(
    st.sampled_from([*NASTY, *SPACES, *OTHER])
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    max_size=8,
).map("".join)


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def subword(request: pytest.FixtureRequest) -> Tokenizer:
    return train_tokenizer(CORPUS, request.param, 500)


@pytest.fixture(scope="module")
def both() -> list[Tokenizer]:
    return [train_tokenizer(CORPUS, kind, 500) for kind in ("unigram", "bpe")]


@given(TEXTS)
def test_decoding_undoes_encoding(both: list[Tokenizer], text: str) -> None:
    for tokenizer in both:
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        assert all(EOS < i < tokenizer.vocab_size for i in ids)


@given(st.lists(TEXTS, min_size=1, max_size=5), st.sampled_from(["unigram", "bpe", "char"]))
def test_whatever_was_trained_on_comes_back(lines: list[str], kind: str) -> None:
    lines = ["x", *lines]
    tokenizer = train_tokenizer(lines, kind, None)
    assert [tokenizer.decode(ids) for ids in tokenizer.encode_batch(lines)] == lines
    assert all(min(ids, default=4) > EOS for ids in tokenizer.encode_batch(lines))


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_words_come_back_with_single_spaces(lines: list[str]) -> None:
    lines = ["x", *lines]
    tokenizer = train_tokenizer(lines, "word", None)
    for line in lines:
        assert tokenizer.decode(tokenizer.encode(line)) == " ".join(line.split())
        assert len(tokenizer.encode(line)) == len(line.split())
        assert tokenizer.num_unknown(line) == 0


@pytest.mark.parametrize("text", [*NASTY, *OTHER])
def test_trained_on_special_spellings_they_stay_text(text: str) -> None:
    lines = [f"{text} a {text}b", f"{text}"] * 20
    for kind in ("unigram", "bpe", "char", "word"):
        tokenizer = train_tokenizer(lines, kind, None)
        for line in lines[:2]:
            assert min(tokenizer.encode(line), default=4) > EOS
            assert tokenizer.num_unknown(line) == 0
            expected = " ".join(line.split()) if kind == "word" else line
            assert tokenizer.decode(tokenizer.encode(line)) == expected
        # The alphabet holds every character, so that no byte is needed.
        assert max((tokenizer.byte_values[i] for i in tokenizer.encode(text)), default=-1) == -1


def test_without_byte_fallback_the_trained_characters_come_back() -> None:
    for kind in ("unigram", "bpe"):
        tokenizer = train_tokenizer(CORPUS, kind, 120, byte_fallback=False)
        assert [tokenizer.decode(ids) for ids in tokenizer.encode_batch(CORPUS)] == CORPUS
        assert set(tokenizer.byte_values) == {-1}
        assert tokenizer.decode(tokenizer.encode("cat 語 dog")) == "cat <unk> dog"
        assert tokenizer.num_unknown("cat 語 dog") == 1


def test_ids_do_not_depend_on_neighbours(subword: Tokenizer) -> None:
    texts = [*CORPUS[:40], "", " ", *NASTY]
    assert subword.encode_batch(texts) == [subword.encode(text) for text in texts]
    assert subword.encode_batch([]) == []


def test_special_ids_are_fixed(subword: Tokenizer) -> None:
    assert (PAD, UNK, BOS, EOS) == (0, 1, 2, 3)
    assert subword.pieces([0, 1, 2, 3]) == ["<pad>", "<unk>", "<s>", "</s>"]
    ids = subword.encode("cat")
    assert subword.decode([BOS, *ids, UNK, *ids, EOS, PAD, PAD]) == "cat<unk>cat"


def test_bytes_join_to_characters_and_wrong_ones_vanish(subword: Tokenizer) -> None:
    of_byte = {value: i for i, value in enumerate(subword.byte_values) if value >= 0}
    assert sorted(of_byte) == list(range(256))
    assert subword.pieces([of_byte[0x41]]) == ["<0x41>"]
    cat = subword.encode("cat")
    emoji = [of_byte[b] for b in "😀".encode()]
    assert subword.decode([*cat, *emoji, *cat]) == "cat😀cat"
    assert subword.decode([*cat, *emoji[:3], *cat]) == "catcat"
    assert subword.decode([*emoji[1:], *cat]) == "cat"
    assert subword.decode([of_byte[b] for b in b"\xed\xa0\x80a\xff\xc0\x80b\xe2\x96\x81"]) == "ab▁"
    assert subword.decode([of_byte[b] for b in "a\uee81b".encode()]) == "ab"  # an escape that marks nothing


@given(st.lists(st.integers(0, 299)))
def test_any_ids_decode_to_valid_text(both: list[Tokenizer], ids: list[int]) -> None:
    for tokenizer in both:
        assert tokenizer.decode(ids).encode().count("\ufffd".encode()) == 0


def test_decode_refuses_ids_outside_the_vocabulary(subword: Tokenizer) -> None:
    for bad in (-1, subword.vocab_size):
        with pytest.raises(ValueError, match="ids must lie in"):
            subword.decode([5, bad])


def test_unknown_words_and_characters_are_counted_one_by_one() -> None:
    word = train_tokenizer(["a b <unk> c"], "word", None)
    assert word.encode("a x y b") == [word.encode("a")[0], UNK, UNK, word.encode("b")[0]]
    assert word.decode(word.encode("a x  y\tb ")) == "a <unk> <unk> b"
    assert word.num_unknown("x y </s> <pad>") == 4
    assert word.num_unknown("<unk> a") == 0
    char = train_tokenizer(["abc <d>"], "char", None)
    assert char.num_unknown("axyc") == 2
    assert char.decode(char.encode(" axy\t<b>")) == " a<unk><unk><unk><b>"
    assert char.num_unknown("a▁▅\uee81\uee82") == 4
    assert len(train_tokenizer(["▁"], "char", None).encode("▁▁")) == 4  # two ids each, for it is escaped


def test_vocabulary_goes_by_count_then_bytes() -> None:
    lines = ["d c b b é z z z", "a a a"]
    word = train_tokenizer(lines, "word", None)
    assert word.pieces(range(4, word.vocab_size)) == ["a", "z", "b", "c", "d", "é"]
    word = train_tokenizer(lines, "word", 7)
    assert word.pieces(range(4, word.vocab_size)) == ["a", "z", "b"]
    char = train_tokenizer(["zab", "zz", "é"], "char", 6)
    assert char.pieces(range(4, char.vocab_size)) == ["z", "a"]


def test_tokenizer_is_the_same_in_every_process() -> None:
    program = (
        "import hashlib; from seqline.data.tokenizer import train_tokenizer\n"
        "lines = [f'{a} {b * 7 % 11} {chr(97 + b % 26) * (a % 5)} né' for a in range(20) for b in range(20)]\n"
        "for kind, size in (('unigram', 400), ('bpe', 400), ('char', None), ('word', None)):\n"
        "    print(hashlib.sha256(train_tokenizer(lines, kind, size).model).hexdigest())\n"
    )
    outputs = []
    for seed in ("0", "1", "random"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
        assert done.stderr == b""  # and silent
        outputs.append(done.stdout)
    assert len(outputs[0].split()) == 4
    assert outputs[0] == outputs[1] == outputs[2]


def test_model_bytes_load_again(subword: Tokenizer) -> None:
    again = Tokenizer(subword.model)
    assert again.kind == subword.kind
    assert again.encode_batch(CORPUS[:50]) == subword.encode_batch(CORPUS[:50])
    assert again.byte_values == subword.byte_values
    for kind in ("char", "word"):
        assert Tokenizer(train_tokenizer(CORPUS, kind, None).model).kind == kind


@pytest.mark.parametrize("line", ["a", "aaaaaaaa", "ab" * 50, " ", "语", "<", "</s>", "\n", "\n\r", "a\n", "\ta\r\n"])
@pytest.mark.parametrize("kind", ["unigram", "bpe", "char"])
def test_tiny_corpora_train(kind: str, line: str) -> None:
    for lines in ([line], [line] * 5, [line, "", line]):
        tokenizer = train_tokenizer(lines, kind, 16_000)
        assert tokenizer.decode(tokenizer.encode(line)) == line
        assert 4 < tokenizer.vocab_size < 400


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
@pytest.mark.parametrize("lines", [[], [""], ["", ""], ["\0"]])
def test_no_text_is_refused(kind: str, lines: list[str]) -> None:
    with pytest.raises(UserError, match="no text to train on"):
        train_tokenizer(lines, kind, None)


@pytest.mark.parametrize(("kind", "byte_fallback"), [("unigram", True), ("bpe", True), ("unigram", False)])
@pytest.mark.parametrize("asked", [-1, 0, 3, 4, 20, 260])
def test_too_small_a_vocabulary_names_the_least(kind: str, byte_fallback: bool, asked: int) -> None:
    lines = ["".join(map(chr, range(0x4E00, 0x4E00 + 300))) + " ab"] * 3
    with pytest.raises(UserError, match=r"tokenizer\.vocab_size") as caught:
        train_tokenizer(lines, kind, asked, byte_fallback=byte_fallback)
    least = int(caught.value.fix.split()[3])
    assert f"at least {least} are needed" in str(caught.value)
    assert train_tokenizer(lines, kind, least, byte_fallback=byte_fallback).vocab_size == least
    with pytest.raises(UserError, match=f"at least {least} are needed"):
        train_tokenizer(lines, kind, least - 1, byte_fallback=byte_fallback)


@pytest.mark.parametrize("kind", ["char", "word"])
def test_char_and_word_need_one_entry(kind: str) -> None:
    with pytest.raises(UserError, match="at least 5 are needed"):
        train_tokenizer(["a b"], kind, 4)
    assert train_tokenizer(["a b"], kind, 5).vocab_size == 5


def test_unknown_kind_is_refused() -> None:
    with pytest.raises(UserError, match="did you mean 'unigram'"):
        train_tokenizer(["a"], "unigramm", None)
    with pytest.raises(UserError, match=r"tokenizer\.kind"):
        default_vocab_size(["a"], "wrd")


@pytest.mark.parametrize("model", [b"", b"x", b"\0" * 50, b"\n\x00", b"\n\x03\n\x01a", b"junk" * 1000])
def test_broken_models_are_refused(model: bytes) -> None:
    with pytest.raises(UserError, match=r"run/tokenizer\.model: "):
        Tokenizer(model, where="run/tokenizer.model")


def test_models_of_other_makers_are_refused() -> None:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS), model_writer=model, vocab_size=50, minloglevel=3, num_threads=1
    )
    with pytest.raises(UserError, match="not a seqline tokenizer"):
        Tokenizer(model.getvalue())


def test_truncated_models_are_refused(subword: Tokenizer) -> None:
    for length in range(1, len(subword.model) - 1, 97):
        try:
            Tokenizer(subword.model[:length])
        except UserError:
            continue
        raise AssertionError(f"{length} of {len(subword.model)} bytes loaded")


def test_half_a_surrogate_pair_is_the_users_mistake(subword: Tokenizer) -> None:
    with pytest.raises(UserError, match="text 2 of 2 holds half of a surrogate pair"):
        subword.encode_batch(["a", "b\ud800"])
    with pytest.raises(UserError, match="text 1 of 1 holds half of a surrogate pair"):
        train_tokenizer(["b\udfff"], "unigram", None)


def test_long_lines_are_used_and_do_not_abort() -> None:
    long = "q" * 70_000 + " " + "zw" * 3_000
    for kind in ("unigram", "bpe", "char"):
        tokenizer = train_tokenizer([long, "a b"], kind, None)
        assert tokenizer.decode(tokenizer.encode(long)) == long
        assert not any(tokenizer.byte_values[i] >= 0 for i in tokenizer.encode(long))


def test_giant_words_are_unknown() -> None:
    word = train_tokenizer(["語" * 1000 + " b", "q" * 1001 + " c", "\u2581" * 500, "\u2581" * 501], "word", None)
    assert word.pieces(range(4, word.vocab_size)) == ["b", "c", "語" * 1000, "▁" * 500]
    assert default_vocab_size(["語" * 1000 + " b", "q" * 1001 + " c"], "word") == 3 + 4
    assert word.num_unknown("q" * 1001 + " c") == 1


def test_rare_characters_become_bytes_only_when_the_alphabet_is_large() -> None:
    common = ["ab" * 400] * 50
    rare = "".join(map(chr, range(0x4E00, 0x4E00 + 40)))
    small_alphabet = train_tokenizer([*common, rare[:10]], "unigram", 300)
    assert max(small_alphabet.byte_values[i] for i in small_alphabet.encode(rare[:10])) == -1
    large_alphabet = train_tokenizer([*common, rare], "unigram", 300)
    assert large_alphabet.decode(large_alphabet.encode(rare)) == rare
    assert max(large_alphabet.byte_values[i] for i in large_alphabet.encode(rare)) >= 0


def test_large_corpora_are_sampled_evenly() -> None:
    lines = [str(i) for i in range(2 * MAX_TRAINING_LINES)]
    assert [*_evenly(lines)] == lines[::2]
    assert [*_evenly(lines[:7])] == lines[:7]


def test_default_vocabulary_follows_the_amount_of_text() -> None:
    assert default_vocab_size(["a b"], "unigram") == 400 + 260
    assert default_vocab_size(["a b"], "bpe", byte_fallback=False) == 400 + 4
    assert default_vocab_size(["one two three four"] * 2500, "unigram") == 1000 + 260
    assert default_vocab_size(["a b " * 10_000] * 130, "unigram") == 16_000 + 260
    # Unsegmented: 40,000 characters count as 10,000 words.
    assert default_vocab_size(["日本語文字列長短々〆" * 4] * 1000, "unigram") == 1000 + 260
    # The alphabet always fits.
    alphabet = "".join(map(chr, range(0x4E00, 0x4E00 + 2000)))
    assert default_vocab_size([alphabet], "unigram", byte_fallback=False) == 2500 + 4
    assert train_tokenizer([alphabet], "unigram", None, byte_fallback=False).num_unknown(alphabet) == 0
    assert default_vocab_size(["ab", "bc"], "char") == 3 + 4
    assert default_vocab_size([alphabet * 2, "".join(map(chr, range(0x10000, 0x1FFFF)))], "char") == 8_000 + 4
    assert default_vocab_size(["a b b"], "word") == 2 + 4
    assert default_vocab_size(["a b c"] * 7_000 + ["once"], "word") == 3 + 4
