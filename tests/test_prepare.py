"""From files to ids: what is read, dropped, held out and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from seqline.config import Config, DataConfig, TokenizerConfig
from seqline.data.batch import Example
from seqline.data.text import Pair, Tally
from seqline.data.tokenizer import EOS
from seqline.errors import UserError
from seqline.prepare import Pairs, encode_pairs, lengths_of, read_corpus, train_tokenizers

from .small_run import letter_pairs, pair_set, write_letters, write_tsv


def read(train: Path | str, valid: Path | str = "", seed: int = 1, **more: Any) -> Pairs:
    return read_corpus(DataConfig(train=str(train), valid=str(valid), **more), seed)


def tokenizer_config(**changes: Any) -> TokenizerConfig:
    return (
        Config().replace(**{f"tokenizer.{key.replace('__', '.')}": value for key, value in changes.items()}).tokenizer
    )


def test_a_folder_brings_its_own_validation_set(tmp_path: Path) -> None:
    corpus = read(write_letters(tmp_path))
    assert corpus.train.pairs == letter_pairs(60, seed=1)
    assert corpus.valid.pairs == letter_pairs(20, seed=2)
    assert corpus.notes == ()
    assert str(corpus.tally) == "kept 60 of 60"


def test_a_validation_set_that_is_given_stands(tmp_path: Path) -> None:
    own = write_tsv(tmp_path / "own.tsv", letter_pairs(7, seed=9))
    assert read(write_letters(tmp_path / "data"), own).valid.pairs == letter_pairs(7, seed=9)


def test_without_a_validation_set_one_is_held_out_and_said(tmp_path: Path) -> None:
    pairs = letter_pairs(80, seed=1, longest=9)
    path = write_tsv(tmp_path / "all.tsv", pairs)
    corpus = read(path)
    assert corpus.notes == ("held out 10 of 80 pairs for validation (--valid gives your own)",)
    assert sorted([*corpus.train.pairs, *corpus.valid.pairs], key=lambda pair: pair.line) == pairs
    assert not {pair[:2] for pair in corpus.train.pairs} & {pair[:2] for pair in corpus.valid.pairs}
    assert read(path) == corpus
    assert read(path, seed=2).valid != corpus.valid


def test_a_blank_side_drops_its_pair_and_shifts_no_other(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a b\n\nc d\ne f\n")
    (tmp_path / "t").write_text("A B\nX Y\nC D\nE F\n")
    valid = write_tsv(tmp_path / "v.tsv", [Pair("a", "A", 1), Pair("", "B", 2)])
    corpus = read(f"{tmp_path / 's'},{tmp_path / 't'}", valid)
    assert corpus.train.pairs == [("a b", "A B", 1), ("c d", "C D", 3), ("e f", "E F", 4)]
    assert str(corpus.tally) == "kept 3 of 4: 1 empty source (line 2)"
    assert corpus.valid.pairs == [("a", "A", 1)]
    assert corpus.notes == ("validation: kept 1 of 2: 1 empty source (line 2)",)


def test_a_validation_set_of_blanks_is_refused(tmp_path: Path) -> None:
    valid = write_tsv(tmp_path / "v.tsv", [Pair("", "B", 1)])
    with pytest.raises(UserError, match=r"v\.tsv: no usable pairs"):
        read(write_letters(tmp_path / "data"), valid)


def test_the_fingerprint_is_of_the_training_text_and_not_of_its_file(tmp_path: Path) -> None:
    pairs = letter_pairs(40, seed=1)
    one = read(write_tsv(tmp_path / "one.tsv", pairs))
    (tmp_path / "s").write_text("".join(f"{pair.source}\r\n" for pair in pairs))
    (tmp_path / "t").write_text("\n".join(pair.target for pair in pairs))
    same = read(f"{tmp_path / 's'},{tmp_path / 't'}")
    assert same.fingerprint == one.fingerprint
    assert len(one.fingerprint) == 64
    changes = [pairs[1:], [*pairs, pairs[0]], [pairs[1], pairs[0], *pairs[2:]], [Pair("a", "b ", 1), *pairs[1:]]]
    others = {read(write_tsv(tmp_path / f"{i}.tsv", changed)).fingerprint for i, changed in enumerate(changes)}
    assert len(others | {one.fingerprint}) == 5


def test_white_space_is_kept_unless_asked_otherwise(tmp_path: Path) -> None:
    pairs = [Pair(" a  b", "b\u00a0 a ", line) for line in range(1, 4)]
    path = write_tsv(tmp_path / "a.tsv", pairs)
    kept = read(path, path)
    assert kept.train.pairs == kept.valid.pairs == pairs
    spaced = read(path, path, normalize_whitespace=True)
    assert spaced.train.pairs == spaced.valid.pairs == [("a b", "b a", line) for line in range(1, 4)]
    assert spaced.fingerprint != kept.fingerprint


def test_one_tokenizer_where_both_sides_agree_else_two() -> None:
    pairs = pair_set(("a b", "x y"), ("b c", "y z"))
    shared = train_tokenizers(pairs, tokenizer_config(kind="word"))
    assert shared.source is shared.target
    assert shared.vocabulary == (10, 10, True)
    assert list(shared.files()) == ["tokenizer/shared.model"]
    apart = train_tokenizers(pairs, tokenizer_config(kind="word", is_shared=False))
    assert apart.vocabulary == (7, 7, False)
    assert sorted(apart.source.pieces([4, 5, 6])) == ["a", "b", "c"]
    assert sorted(apart.target.pieces([4, 5, 6])) == ["x", "y", "z"]
    assert list(apart.files()) == ["tokenizer/source.model", "tokenizer/target.model"]
    mixed = train_tokenizers(pairs, tokenizer_config(source__kind="word", target__kind="char"))
    assert (mixed.source.kind, mixed.target.kind) == ("word", "char")
    assert mixed.vocabulary == (7, 8, False)


def test_sizes_and_byte_fallback_reach_the_trainer() -> None:
    pairs = pair_set(*[(pair.source, pair.target) for pair in letter_pairs(200, seed=1)])
    small = train_tokenizers(pairs, tokenizer_config(kind="unigram", source__vocab_size=270, target__vocab_size=272))
    assert small.source.vocab_size <= 270
    assert small.target.vocab_size <= 272
    assert max(small.source.byte_values) == 255
    plain = train_tokenizers(pairs, tokenizer_config(kind="unigram", byte_fallback=False, vocab_size=20))
    assert max(plain.source.byte_values) == -1
    assert plain.source.vocab_size <= 20
    with pytest.raises(UserError, match=r"tokenizer\.vocab_size: .*too small"):
        train_tokenizers(pairs, tokenizer_config(kind="unigram", vocab_size=100))


def test_ids_end_the_source_and_leave_the_target_bare() -> None:
    pairs = pair_set(("a b", "b a"), ("a", "b zzz"))
    tokenizers = train_tokenizers(pair_set(("a b", "b a")), tokenizer_config(kind="word"))
    tally = Tally(2)
    kept, examples = encode_pairs(pairs, tokenizers, DataConfig(max_tokens=2), tally)
    a, b = tokenizers.source.encode("a b")
    assert examples == [Example([a, b, EOS], [b, a]), Example([a, EOS], [b, 1])]
    assert kept == pairs
    assert str(tally) == "kept 2 of 2"
    assert lengths_of(examples) == ([3, 2], [3, 3])


def test_long_sides_are_left_out_whole_and_counted_by_line() -> None:
    pairs = pair_set(("a", "a"), ("a a a", "a"), ("a", "a a a a"), ("a a a", "a a a"), ("a a", "a a"))
    tokenizers = train_tokenizers(pairs, tokenizer_config(kind="word"))
    tally = Tally(5)
    kept, examples = encode_pairs(pairs, tokenizers, DataConfig(max_tokens=2), tally)
    assert [pair.line for pair in kept.pairs] == [1, 5]
    assert len(examples) == 2
    assert str(tally) == "kept 2 of 5: 2 source over 2 tokens (line 2, 4), 1 target over 2 tokens (line 3)"


def test_nothing_left_is_refused_with_the_reasons() -> None:
    pairs = pair_set(("a a", "a"))
    tokenizers = train_tokenizers(pairs, tokenizer_config(kind="word"))
    with pytest.raises(
        UserError, match=r"pairs: no usable pairs: kept 0 of 1: 1 source over 1 tokens \(line 1\); .*max_to"
    ):
        encode_pairs(pairs, tokenizers, DataConfig(max_tokens=1), Tally(1))
