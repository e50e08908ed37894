"""How good labels are: accuracy of tags, entities found, and classes with their precision, recall and F1.

Entities are counted as the CoNLL shared tasks count them: an entity is a type and the exact tokens of a chunk, and it is
found when type, first and last token all agree. Counts are added over the corpus and divided once; a share of nothing is 0.

Source: Tjong Kim Sang and De Meulder 2003, "Introduction to the CoNLL-2003 Shared Task"; Ramshaw and Marcus 1995 (the tags).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

Entity = tuple[str, int, int]
"""Type, first token, last token."""

Rows = Sequence[Sequence[str]]

_ENTITY_TAG = re.compile(r"([BIESLUM])-(.+)", re.DOTALL)
_FIRST, _LAST = frozenset("BSU"), frozenset("ESUL")


class Share(NamedTuple):
    """Precision, recall and F1 as counts. num_right: found and true. num_found: predicted. num_true: in the reference."""

    num_right: int
    num_found: int
    num_true: int

    @property
    def precision(self) -> float:
        """The share of what was predicted that is right, 0 to 1."""
        return _share(self.num_right, self.num_found)

    @property
    def recall(self) -> float:
        """The share of what is there that was predicted, 0 to 1."""
        return _share(self.num_right, self.num_true)

    @property
    def f1(self) -> float:
        """2 right / (predicted + there), the harmonic mean of the other two; 0 to 1."""
        return _share(2 * self.num_right, self.num_found + self.num_true)


class TagScore(NamedTuple):
    """Tags against their reference. entities: over all types, None where the reference has no entity tags.

    num_right, num_tokens: tokens with the right tag, and all. by_type: one `Share` a type, in the order of their names.
    """

    num_right: int
    num_tokens: int
    entities: Share | None
    by_type: dict[str, Share]

    @property
    def accuracy(self) -> float:
        """The share of tokens with the right tag, 0 to 1."""
        return _share(self.num_right, self.num_tokens)


class ClassScore(NamedTuple):
    """Classes against their reference.

    num_right, num_texts: texts with the right class, and all. by_class: one `Share` a class that was predicted or is there,
    the most frequent of the reference first. confusion: (true, predicted) to how often, without zeros.
    """

    num_right: int
    num_texts: int
    by_class: dict[str, Share]
    confusion: dict[tuple[str, str], int]

    @property
    def accuracy(self) -> float:
        """The share of texts with the right class, 0 to 1."""
        return _share(self.num_right, self.num_texts)

    @property
    def macro_f1(self) -> float:
        """The plain mean of the F1 of the classes of the reference, 0 to 1; a class never predicted counts as 0."""
        scores = [share.f1 for share in self.by_class.values() if share.num_true]
        return _share(sum(scores), len(scores))


def score_tags(predicted: Rows, reference: Rows) -> TagScore:
    """Score rows of tags: token accuracy, and entities where any reference tag looks like `B-TYPE` or `I-TYPE`.

    Raises:
        ValueError: other rows or other lengths than the reference.
    """
    _check_rows(predicted, reference)
    pairs = list(zip(chain(*predicted), chain(*reference), strict=True))
    num_right = sum(p == r for p, r in pairs)
    if not has_entities(tag for _, tag in pairs):
        return TagScore(num_right, len(pairs), None, {})
    found = [(n, entity) for n, tags in enumerate(predicted) for entity in entities_of(tags)]
    true = [(n, entity) for n, tags in enumerate(reference) for entity in entities_of(tags)]
    right = set(found) & set(true)
    counts = [Counter(entity[0] for _, entity in some) for some in (right, found, true)]
    by_type = {name: Share(*(count[name] for count in counts)) for name in sorted({*counts[1], *counts[2]})}
    return TagScore(num_right, len(pairs), Share(len(right), len(found), len(true)), by_type)


def score_classes(predicted: Sequence[str], reference: Sequence[str]) -> ClassScore:
    """Score one class a text.

    Raises:
        ValueError: other counts than the reference.
    """
    if len(predicted) != len(reference):
        raise ValueError(f"{len(predicted)} predictions for {len(reference)} references")
    confusion = Counter(zip(reference, predicted, strict=True))
    found, true = Counter(predicted), Counter(reference)
    names = sorted({*found, *true}, key=lambda name: (-true[name], name.encode()))
    by_class = {name: Share(confusion[name, name], found[name], true[name]) for name in names}
    return ClassScore(sum(share.num_right for share in by_class.values()), len(reference), by_class, dict(confusion))


def has_entities(tags: Iterable[str]) -> bool:
    """Whether any tag is `B-TYPE` or `I-TYPE`; part-of-speech tags, say, have no entities."""
    return any(match is not None and match[1] in "BI" for match in map(_ENTITY_TAG.fullmatch, tags))


def entities_of(tags: Sequence[str]) -> list[Entity]:
    """Find the entities of one row of tags, in their order; every tag but `LETTER-TYPE` is outside.

    One reading serves the schemes, right or wrong as a row may be:

    - an entity begins at B, S and U, after any tag that is outside or of another type, and after E, L, S and U;
    - it ends before the next begins, before a tag outside, and at E, L, S and U.

    So IOB2 (B at every start) and IOBES or BILOU read as meant; in IOB1 an I alone starts an entity, and B only parts two
    neighbours of one type. An I with no B before it (IOB2 would forbid it) starts an entity, as in the CoNLL scorer.
    """
    entities: list[Entity] = []
    is_open = False
    for position, tag in enumerate(tags):
        match = _ENTITY_TAG.fullmatch(tag)
        if match is None:
            is_open = False
            continue
        letter, kind = match.groups()
        if is_open and letter not in _FIRST and entities[-1][0] == kind:
            entities[-1] = (kind, entities[-1][1], position)
        else:
            entities.append((kind, position, position))
        is_open = letter not in _LAST
    return entities


def _check_rows(predicted: Rows, reference: Rows) -> None:
    if len(predicted) != len(reference):
        raise ValueError(f"{len(predicted)} rows of tags for {len(reference)} references")
    for n, (tags, expected) in enumerate(zip(predicted, reference, strict=True)):
        if len(tags) != len(expected):
            raise ValueError(f"row {n}: {len(tags)} tags for {len(expected)} tokens")


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
