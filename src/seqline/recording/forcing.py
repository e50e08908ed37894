"""What if: some tokens are forced at given output steps, all others are the most probable ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from seqline.data.tokenizer import BOS, EOS, Tokenizer
from seqline.decoding import Hypothesis, Penalty, Rule
from seqline.decoding.rules import Prefix, allowed_log_probs
from seqline.errors import UserError, did_you_mean
from seqline.shapes import Tensor
from seqline.state import Decoder

Wanted = Mapping[int, int | str]
"""Output steps, counted from 1, to an id, a piece as the vocabulary spells it, or a word that is one piece."""


@dataclass(frozen=True)
class Force:
    """The tokens that are forced."""

    wanted: Wanted

    def ids(self, tokenizer: Tokenizer) -> dict[int, int]:
        """Return an id a step.

        Raises:
            UserError: a step below 1, an id outside the vocabulary, or a word that is not one piece.
        """
        for step in self.wanted:
            if step < 1:
                raise UserError(f"expected a step from 1 up, got {step}", where="force")
        return {step: token_id(tokenizer, token) for step, token in self.wanted.items()}


def token_id(tokenizer: Tokenizer, token: int | str) -> int:
    """Return the id of a token given as an id, a piece or a word.

    Raises:
        UserError: there is no such token.
    """
    if isinstance(token, int):
        if not EOS <= token < tokenizer.vocab_size:
            what = f"expected an id from {EOS} to {tokenizer.vocab_size - 1}, got {token}"
            raise UserError(what, where="force", fix="give a piece of the vocabulary")
        return token
    pieces = {piece: i for i, piece in enumerate(tokenizer.pieces(range(tokenizer.vocab_size))) if i >= EOS}
    for spelled in (token, f"\u2581{token}", token.replace(" ", "\u2581")):
        if spelled in pieces:
            return pieces[spelled]
    raise UserError(
        f"{token[:60]!r} is no piece of the vocabulary", where="force", fix=did_you_mean(token, _few(pieces))
    )


def _few(pieces: Mapping[str, int]) -> list[str]:
    """Return the pieces to name when none is near: the first few that are words."""
    return [piece.lstrip("\u2581") for piece in list(pieces)[:2000] if not piece.startswith("<0x")][:200]


@torch.no_grad()
def forced(
    decoder: Decoder,
    memory: Any,
    limit: Tensor,
    wanted: Mapping[int, int],
    rules: Sequence[Rule],
    penalty: Penalty,
    prompt: Sequence[int] = (BOS,),
    eos_id: int | None = EOS,
) -> Hypothesis:
    """Return the greedy output in which some tokens are forced; rules do not bind what is forced.

    Args:
        decoder: in evaluation mode.
        memory: of one source.
        limit: [1], the most tokens; the search runs on its device.
        wanted: output steps, counted from 1, to ids.
        rules: which tokens may come where none is forced.
        penalty: for the score.
        prompt: ids that are read first.
        eos_id: what ends the output; None: only the limit does.

    Raises:
        UserError: a step that the output does not reach.
    """
    ids, total, token, device = [], 0.0, prompt[-1], limit.device
    state = decoder.initial_state(memory, 1)
    if len(prompt) > 1:
        _, state = decoder(torch.tensor([list(prompt[:-1])], device=device), state, memory)
    last = max(wanted, default=0)
    if last > int(limit):
        what = f"expected a step up to {int(limit)}, where the output ends at the latest, got {last}"
        raise UserError(what, where="force", fix="force an earlier step")
    while len(ids) < int(limit) and not (ids and token == eos_id):
        logits, state = decoder(torch.tensor([[token]], device=device), state, memory)
        tokens = torch.tensor([ids], dtype=torch.long, device=device)
        prefix = Prefix(torch.zeros_like(limit), tokens, limit - len(ids))
        free = allowed_log_probs(logits, prefix, ())
        chosen = wanted.get(len(ids) + 1)
        token = int(allowed_log_probs(logits, prefix, rules).argmax()) if chosen is None else chosen
        total += float(free[0, token])
        ids.append(token)
    if last > len(ids):
        what = f"the output ends at step {len(ids)} and never reaches step {last}"
        raise UserError(what, where="force", fix="force an earlier step")
    return Hypothesis(tuple(ids), total, penalty.score(total, len(ids)), token == eos_id)
