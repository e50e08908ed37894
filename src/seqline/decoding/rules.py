"""Rules: which tokens may come next. A rule only forbids, it never changes a probability.

A rule is a function of the prefixes of N rows and their log-probabilities [N V]. It returns the log-probabilities with
those of forbidden tokens set to -inf. It may write into the tensor that it is given: a copy of
hundreds of rows over a large vocabulary costs as much as a softmax. Nothing is renormalised, so the score of a
hypothesis is its score under the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

_NEVER = float("-inf")
_NO_ID = -1


class Prefix(NamedTuple):
    """What a rule sees of the live rows of a search.

    sentence: [N], which sentence of the batch each row belongs to. tokens: [N t], the ids generated so far, bos not
    included. left: [N], how many tokens may still come, the next one and eos included; 1 = the next is the last.
    """

    sentence: Tensor
    tokens: Tensor
    left: Tensor


Rule = Callable[[Prefix, Tensor], Tensor]


class Stuck(ValueError):
    """The rules leave a sentence no token. sentence: its place in the batch."""

    def __init__(self, sentence: int, num_tokens: int | None = None) -> None:
        self.sentence = sentence
        after = "" if num_tokens is None else f" after {num_tokens} tokens"
        super().__init__(f"the rules leave no token to sentence {sentence} of the batch{after}")


def allowed_log_probs(logits: Tensor, prefix: Prefix, rules: Sequence[Rule]) -> Tensor:
    """Return the log-probabilities of the next token, with -inf for those that a rule forbids.

    Args:
        logits: [N 1 V], of the last position.
        prefix: of the N rows.
        rules: applied in order.

    Returns:
        [N V], in the dtype of the logits, at least float32.

    Raises:
        FloatingPointError: a row has logits that give no distribution (NaN, +inf, or -inf everywhere).
    """
    dtype = torch.promote_types(logits.dtype, torch.float32)
    log_probs = torch.log_softmax(logits[:, -1], dim=-1, dtype=dtype)
    if bool(log_probs[:, 0].isnan().any()):  # one such logit makes its whole row NaN
        raise FloatingPointError(f"the decoder gave logits that are not finite after {prefix.tokens.shape[1]} tokens")
    for rule in rules:
        log_probs = rule(prefix, log_probs)
    return log_probs


def forbid(ids: Sequence[int]) -> Rule:
    """Make a rule that never allows the tokens `ids`."""
    columns = torch.tensor(ids, dtype=torch.long)

    def rule(prefix: Prefix, log_probs: Tensor) -> Tensor:
        return log_probs.index_fill_(1, columns.to(log_probs.device), _NEVER)

    return rule


def only_at(steps: Sequence[int | None], ids: Sequence[int]) -> Rule:
    """Make a rule under which a sentence takes one of `ids` at a given step, such as a piece that starts a word.

    Args:
        steps: for each sentence of the batch the number of tokens generated before; None asks for nothing.
        ids: what is allowed there.
    """
    places = torch.tensor([_NO_ID if step is None else step for step in steps], dtype=torch.long)
    columns = torch.tensor(ids, dtype=torch.long)

    def rule(prefix: Prefix, log_probs: Tensor) -> Tensor:
        is_there = places.to(prefix.sentence.device)[prefix.sentence] == prefix.tokens.shape[1]
        rows = is_there.nonzero().flatten()
        if len(rows):
            allowed = torch.full_like(log_probs[rows], _NEVER)
            columns_here = columns.to(log_probs.device)
            allowed[:, columns_here] = log_probs[rows][:, columns_here]
            log_probs[rows] = allowed
        return log_probs

    return rule


def min_length(length: int, eos_id: int) -> Rule:
    """Make a rule that forbids the end token before `length` other tokens are generated; 1 = never empty."""
    forbid_eos = forbid((eos_id,))

    def rule(prefix: Prefix, log_probs: Tensor) -> Tensor:
        return forbid_eos(prefix, log_probs) if prefix.tokens.shape[1] < length else log_probs

    return rule


def forced_prefix(prefixes: Sequence[Sequence[int]], rules: Sequence[Rule] = ()) -> Rule:
    """Make a rule under which each output begins with a given prefix; behind it the other rules hold.

    Inside a prefix nothing else is asked: its ids are allowed even where one of `rules` forbids them (such as an n-gram
    that stands twice in it), so give the rules of the search here and not beside this one. They see the prefix as generated
    tokens. A prefix longer than the length limit is cut there.

    Args:
        prefixes: for each sentence of the batch the ids that its output begins with; an empty one asks for nothing.
        rules: what holds behind the prefix, applied in order.
    """
    longest = max(map(len, prefixes), default=0)
    rows = [[*prefix, *[_NO_ID] * (longest - len(prefix))] for prefix in prefixes]
    table = torch.tensor(rows, dtype=torch.long).reshape(len(prefixes), longest)

    def rule(prefix: Prefix, log_probs: Tensor) -> Tensor:
        inside, wanted = prefix.sentence[:0], prefix.sentence[:0]
        if prefix.tokens.shape[1] < longest:
            wanted = table.to(prefix.sentence.device)[prefix.sentence, prefix.tokens.shape[1]]
            inside = (wanted != _NO_ID).nonzero().flatten()
            wanted = wanted[inside]
        values = log_probs[inside, wanted]  # a copy: rules may write into the tensor
        for behind in rules:
            log_probs = behind(prefix, log_probs)
        log_probs.index_fill_(0, inside, _NEVER)
        log_probs[inside, wanted] = values
        return log_probs

    return rule


# Well-formed UTF-8 as an automaton. A state says which bytes may come next: OUTSIDE a sequence, after 1 to 3 missing
# bytes of any kind, or after a lead byte whose next byte has a narrower range (no overlong forms, no surrogates,
# nothing above U+10FFFF). Each line: state, first byte, last byte, next state. 0x00 and 0x0A are left out: a line
# of text never holds them.
_OUTSIDE, _NEED_1, _NEED_2, _NEED_3, _AFTER_E0, _AFTER_ED, _AFTER_F0, _AFTER_F4 = range(8)
_TRANSITIONS = (
    (_OUTSIDE, 0x01, 0x09, _OUTSIDE),
    (_OUTSIDE, 0x0B, 0x7F, _OUTSIDE),
    (_OUTSIDE, 0xC2, 0xDF, _NEED_1),
    (_OUTSIDE, 0xE0, 0xE0, _AFTER_E0),
    (_OUTSIDE, 0xE1, 0xEC, _NEED_2),
    (_OUTSIDE, 0xED, 0xED, _AFTER_ED),
    (_OUTSIDE, 0xEE, 0xEF, _NEED_2),
    (_OUTSIDE, 0xF0, 0xF0, _AFTER_F0),
    (_OUTSIDE, 0xF1, 0xF3, _NEED_3),
    (_OUTSIDE, 0xF4, 0xF4, _AFTER_F4),
    (_NEED_1, 0x80, 0xBF, _OUTSIDE),
    (_NEED_2, 0x80, 0xBF, _NEED_1),
    (_NEED_3, 0x80, 0xBF, _NEED_2),
    (_AFTER_E0, 0xA0, 0xBF, _NEED_1),
    (_AFTER_ED, 0x80, 0x9F, _NEED_1),
    (_AFTER_F0, 0x90, 0xBF, _NEED_2),
    (_AFTER_F4, 0x80, 0x8F, _NEED_2),
)


def whole_utf8(byte_values: Sequence[int]) -> Rule:
    """Make a rule under which byte pieces always form whole, well-formed UTF-8 without 0x00 and 0x0A.

    Inside a sequence only its legal next bytes are allowed: no other piece and no end token. The state is found from
    the last 3 ids: a sequence has at most 4 bytes, so it began there or not at all.

    Args:
        byte_values: for each id of the vocabulary the byte it stands for, or -1.

    *Source*: The Unicode Standard, table 3-7, "Well-Formed UTF-8 Byte Sequences".
    """
    next_state, is_allowed = _utf8_tables(byte_values)
    forbid_outside = forbid((~is_allowed[_OUTSIDE]).nonzero().flatten().tolist())

    def rule(prefix: Prefix, log_probs: Tensor) -> Tensor:
        tokens = prefix.tokens
        table = next_state.to(tokens.device)
        state = tokens.new_full((tokens.shape[0],), _OUTSIDE)
        for column in tokens[:, -3:].unbind(1):
            state = table[state, column]
        inside = (state != _OUTSIDE).nonzero().flatten()  # few rows
        is_next = is_allowed.to(tokens.device)[state[inside]]
        rows_inside = log_probs[inside].masked_fill(~is_next, _NEVER)
        return forbid_outside(prefix, log_probs).index_copy_(0, inside, rows_inside)

    return rule


def _utf8_tables(byte_values: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return the state after each id and whether the id is allowed, both [8 V]: state by id."""
    byte_of = torch.tensor(byte_values, dtype=torch.long)
    is_byte = byte_of >= 0
    next_state = torch.full((8, len(byte_of)), _OUTSIDE)
    is_allowed = torch.zeros(8, len(byte_of), dtype=torch.bool)
    is_allowed[_OUTSIDE] = ~is_byte
    for state, first, last, then in _TRANSITIONS:
        columns = (byte_of >= first) & (byte_of <= last)
        next_state[state, columns] = then
        is_allowed[state] |= columns
    # An id that is not allowed (in a prefix made without this rule) ends the sequence and is read as if outside.
    return torch.where(is_allowed, next_state, next_state[_OUTSIDE]), is_allowed
