"""Repetition: rules that forbid it while a search runs, and the check that flags an output which fell into a loop.

All of it looks at ids and knows no words. The end token never repeats, so no rule here forbids it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from torch import Tensor

from seqline.decoding.rules import Prefix, Rule
from seqline.errors import UserError

_NEVER = float("-inf")

# What `is_loop` calls a loop.
MOST_LOOKED_AT = 200  # tokens at the end; the time grows with the square or the cube of their number
CYCLE_REPEATS, CYCLE_TOKENS = 3, 12
DOMINATED_TOKENS, DOMINATED_SHARE = 24, 2 / 3


def no_repeat_ngram(n: int) -> Rule:
    """Make a rule under which no n tokens in a row occur twice in one output.

    Args:
        n: how many tokens; 1 = no token twice.

    Raises:
        UserError: n is below 1.

    *Source*: Paulus et al. 2017, "A Deep Reinforced Model for Abstractive Summarization", section 2.5 (with n = 3).
    """
    _check_at_least_1("no_repeat_ngram", n)

    def rule(prefix: Prefix, log_probs: Tensor) -> Tensor:
        num_tokens = prefix.tokens.shape[1]
        if num_tokens < n:
            return log_probs
        grams = prefix.tokens.unfold(1, n, 1)  # [N W n]
        begun = prefix.tokens[:, num_tokens - n + 1 :]  # [N n-1], the next token ends this one
        row, window = (grams[..., :-1] == begun[:, None]).all(dim=-1).nonzero(as_tuple=True)
        log_probs[row, grams[row, window, -1]] = _NEVER
        return log_probs

    return rule


def no_loops(times: int) -> Rule:
    """Make a rule that forbids a token with which any block of tokens would stand more than `times` times in a row.

    With `times` = 2, `a b a b a` may not go on with b, nor `a a` with a. Blocks of every length count.

    Args:
        times: how often a block may stand in a row.

    Raises:
        UserError: times is below 1.
    """
    _check_at_least_1("no_loops", times)

    def rule(prefix: Prefix, log_probs: Tensor) -> Tensor:
        tokens = prefix.tokens
        num_tokens = tokens.shape[1]
        for block in range(1, (num_tokens + 1) // (times + 1) + 1):
            # With the next token the last block * (times + 1) tokens would each equal the one a block before.
            begun = tokens[:, num_tokens + 1 - block * (times + 1) :]
            is_loop = (begun[:, block:] == begun[:, :-block]).all(dim=1, keepdim=True)
            token = tokens[:, num_tokens - block, None]
            log_probs.scatter_(1, token, log_probs.gather(1, token).masked_fill(is_loop, _NEVER))
        return log_probs

    return rule


def is_loop(ids: Sequence[int]) -> bool:
    """Return whether an output fell into a loop.

    It did if either holds:

    - it ends in a cycle: a block of tokens, of any length, stands there at least 3 times in a row, its last standing perhaps cut
      off and not counted, and this covers at least 12 tokens. So 12 times `a`, 6 times `a b`, 3 times a sentence;
    - it has at least 24 tokens and one n-gram, standing at least 3 times without overlap, covers at least 2/3 of them.

    Of a long output the last 200 tokens are looked at. An output may loop because its source does.
    `very very very good` does not.

    Args:
        ids: the generated tokens without the end token.
    """
    ids = ids[-MOST_LOOKED_AT:]
    return _ends_in_cycle(ids) or _is_dominated(ids)


def _ends_in_cycle(ids: Sequence[int]) -> bool:
    length = len(ids)
    for block in range(1, length // CYCLE_REPEATS + 1):
        start = length - block  # of what repeats with this period
        while start > 0 and ids[start - 1] == ids[start - 1 + block]:
            start -= 1
        if length - start >= max(CYCLE_TOKENS, CYCLE_REPEATS * block):
            return True
    return False


def _is_dominated(ids: Sequence[int]) -> bool:
    length = len(ids)
    needed = DOMINATED_SHARE * length
    # c >= 3 standings of an n-gram with c * n >= 2/3 of the tokens hold (c - 1) n >= 4/9 of them again: a quick way out.
    if length < DOMINATED_TOKENS or len(set(ids)) > length * 5 / 9:
        return False
    return any(_most_standings(ids, n) * n >= needed for n in range(1, length // CYCLE_REPEATS + 1))


def _most_standings(ids: Sequence[int], n: int) -> int:
    """Return how often the n-gram stands that stands most often without overlap, or 0 if fewer than 3 times."""
    counts: Counter[tuple[int, ...]] = Counter()
    ends: dict[tuple[int, ...], int] = {}
    for start in range(len(ids) - n + 1):
        gram = tuple(ids[start : start + n])
        if ends.get(gram, 0) <= start:
            counts[gram] += 1
            ends[gram] = start + n
    most = max(counts.values(), default=0)
    return most if most >= CYCLE_REPEATS else 0


def _check_at_least_1(name: str, value: int) -> None:
    if value < 1:
        raise UserError(f"must be at least 1, got {value}", where=name)
