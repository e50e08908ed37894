"""Looks into the trained models that no recording holds: neighbours among words, a state's memory, whom a pronoun reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from seqline.data.tokenizer import EOS
from seqline.data.toy.lexicon import NOUN
from seqline.parts.embeddings import Embedding
from seqline.recording.attention import layers_of
from seqline.recording.frames import to_array
from seqline.translator import Translator
from seqline.watch import watch

PRONOUNS = {"il": "m", "elle": "f"}


@dataclass(frozen=True)
class Table:
    """A table of word vectors, each of length 1."""

    names: list[str]
    vectors: np.ndarray

    def most_like(self, name: str, count: int) -> list[tuple[str, float]]:
        """Return the words nearest to one, and the cosines."""
        at = self.names.index(name)
        cosines = self.vectors @ self.vectors[at]
        order = [int(row) for row in np.argsort(-cosines) if row != at]
        return [(self.names[row], float(cosines[row])) for row in order[:count]]


def nearest(translator: Translator) -> tuple[Table, list[str]]:
    """Return the source side's table, and its words in the order of their numbers."""
    embedding = next(part for part in translator.model.encoder.modules() if isinstance(part, Embedding))
    vectors = to_array(embedding.weight.detach()).astype(np.float64)
    names = [piece.removeprefix("▁") for piece in translator.tokenizers.source.pieces(range(len(vectors)))]
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return Table(names, vectors / lengths), names


@torch.no_grad()
def changed_by_a_word(translator: Translator, sentences: Sequence[str]) -> tuple[float, float, int]:
    """Say how far the last state moves when one word is replaced by the one in the sentence's middle.

    Returns:
        The mean relative change for the first word and for the last one, and how many sentences were changed.
    """
    found: list[tuple[float, float]] = []
    for sentence in sentences:
        ids = translator.encode(sentence)[:-1]
        middle = ids[len(ids) // 2]
        if middle in (ids[0], ids[-1]):
            continue
        states = [_last_state(translator, each) for each in (ids, [middle, *ids[1:]], [*ids[:-1], middle])]
        size = float(np.linalg.norm(states[0])) or 1.0
        found.append(
            (float(np.linalg.norm(states[1] - states[0])) / size, float(np.linalg.norm(states[2] - states[0])) / size)
        )
    if not found:
        return 0.0, 0.0, 0
    first, last = np.mean(found, axis=0)
    return float(first), float(last), len(found)


def _last_state(translator: Translator, ids: Sequence[int]) -> np.ndarray:
    source = torch.tensor([[*ids, EOS]])
    return to_array(translator.model.encoder(source, torch.ones_like(source, dtype=torch.bool)).outputs[0, -1])


@torch.no_grad()
def reads_its_noun(translator: Translator, sentences: Sequence[str]) -> tuple[np.ndarray, float]:
    """Say whether a pronoun reads the noun that it stands for more than the other one.

    Two nouns of different gender come before "il" or "elle"; the gender tells which one is meant.

    Returns:
        1 or 0 for each sentence, layer and head of the encoder; and the share for the mean of the last layer's heads.
    """
    genders = {noun.french[0]: noun.french_gender for noun in NOUN.values()}
    found: list[np.ndarray] = []
    means: list[bool] = []
    for sentence in sentences:
        words = sentence.split()
        at = next((n for n, word in enumerate(words) if word in PRONOUNS), None)
        ids = translator.encode(sentence)
        if at is None or len(ids) != len(words) + 1:
            continue
        nouns = [n for n in range(at) if words[n] in genders]
        own = [n for n in nouns if genders[words[n]] == PRONOUNS[words[at]]]
        if len(nouns) != 2 or len(own) != 1:
            continue
        other = nouns[0] if own[0] == nouns[1] else nouns[1]
        rows = _self_attention(translator, ids)[:, :, at]
        found.append(rows[..., own[0]] > rows[..., other])
        means.append(bool(rows[-1, :, own[0]].mean() > rows[-1, :, other].mean()))
    return np.array(found, dtype=np.float64), float(np.mean(means)) if means else 0.0


def _self_attention(translator: Translator, ids: Sequence[int]) -> np.ndarray:
    """Return the encoder's weights [L H Q M]."""
    source = torch.tensor([list(ids)])
    with watch(translator.model) as frames:
        translator.model.encoder(source, torch.ones_like(source, dtype=torch.bool))
    return np.stack([layer.weights for layer in layers_of(frames, len(ids))])
