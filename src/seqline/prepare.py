"""From a corpus on disk to what a model trains on: pairs read, cleaned and counted, tokenizers, ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from seqline import files
from seqline.config import DataConfig, SideConfig, TokenizerConfig
from seqline.data.batch import Example
from seqline.data.text import (
    Pair,
    PairSet,
    Tally,
    drop_blank,
    hold_out,
    normalize_whitespace,
    read_data,
    require_pairs,
)
from seqline.data.tokenizer import EOS, Tokenizer, train_tokenizer
from seqline.errors import UserError
from seqline.run_folder import Tokenizers


class Pairs(NamedTuple):
    """Pairs to train on and to validate with, blank ones left out; `tally` counts those of the training set.

    fingerprint: SHA-256 of both sets. notes: what a user should know.
    """

    train: PairSet
    valid: PairSet
    tally: Tally
    fingerprint: str
    notes: tuple[str, ...]


def read_corpus(data: DataConfig, seed: int) -> Pairs:
    """Read the training and validation sets; without a validation set hold one out.

    Raises:
        UserError: a file that does not read, or nothing usable in it.
    """
    sets = read_data(data.train, data.valid, data.keys)
    require_pairs(sets.train)
    tally = Tally(len(sets.train.pairs))
    train = drop_blank(spaced(sets.train, data), tally)
    require_pairs(train)
    if sets.valid is None:
        train, valid = hold_out(train, seed)
        notes = (f"held out {len(valid.pairs):,} of {tally.kept:,} pairs for validation (--valid gives your own)",)
    else:
        blank = Tally(len(sets.valid.pairs))
        valid = drop_blank(spaced(sets.valid, data), blank)
        notes = (f"validation: {blank}",) if blank.reasons else ()
    require_pairs(valid)
    return Pairs(train, valid, tally, fingerprint_of(train, valid), notes)


def fingerprint_of(*sets: PairSet) -> str:
    """Return a SHA-256 that any change of a pair, of their order or of the division into sets changes."""
    lines = (f"{pair.source}\t{pair.target}\n" for pairs in sets for pair in (*pairs.pairs, Pair("", "", 0)))
    return files.sha256("".join(lines).encode())


def spaced(pairs: PairSet, data: DataConfig) -> PairSet:
    """Return the pairs with white space normalized, if `data.normalize_whitespace` says so."""
    if not data.normalize_whitespace:
        return pairs
    changed = [
        p._replace(source=normalize_whitespace(p.source), target=normalize_whitespace(p.target)) for p in pairs.pairs
    ]
    return PairSet(pairs.name, changed)


def train_tokenizers(pairs: PairSet, config: TokenizerConfig) -> Tokenizers:
    """Train one tokenizer on both sides, or one a side, as the config says.

    Raises:
        UserError: a vocabulary too small for the text.
    """
    sources, targets = [p.source for p in pairs.pairs], [p.target for p in pairs.pairs]
    if config.has_one_vocabulary:
        shared = _train_side([*sources, *targets], config, config.source_side)
        return Tokenizers(shared, shared)
    return Tokenizers(
        _train_side(sources, config, config.source_side), _train_side(targets, config, config.target_side)
    )


def _train_side(lines: Sequence[str], config: TokenizerConfig, side: SideConfig) -> Tokenizer:
    return train_tokenizer(lines, side.kind or config.kind, side.vocab_size, byte_fallback=config.byte_fallback)


def encode_pairs(
    pairs: PairSet, tokenizers: Tokenizers, data: DataConfig, tally: Tally
) -> tuple[PairSet, list[Example]]:
    """Turn pairs into ids; leave out, and count, those with a side of more than `data.max_tokens` pieces.

    Raises:
        UserError: none is left.
    """
    sources = tokenizers.source.encode_batch([p.source for p in pairs.pairs])
    targets = tokenizers.target.encode_batch([p.target for p in pairs.pairs])
    max_tokens, step = data.max_tokens, -1 if data.target_order == "right-to-left" else 1
    kept, examples = [], []
    for pair, source, target in zip(pairs.pairs, sources, targets, strict=True):
        too_long = "source" if len(source) > max_tokens else "target" if len(target) > max_tokens else ""
        if too_long:
            tally.add(f"{too_long} over {max_tokens} tokens", pair.line)
        else:
            kept.append(pair)
            examples.append(Example([*source, EOS], target[::step]))
    if not kept:
        raise UserError(f"no usable pairs: {tally}", where=pairs.name, fix="raise data.max_tokens")
    return PairSet(pairs.name, kept), examples


def lengths_of(examples: Sequence[Example]) -> tuple[list[int], list[int]]:
    """Return the lengths of sources and targets, each with its end mark, as batches are planned with."""
    return [len(e.source) for e in examples], [len(e.target) + 1 for e in examples]
