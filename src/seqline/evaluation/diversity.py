"""How varied outputs are: distinct-n, the output that is given most often, and outputs that repeat themselves.

A model that says one safe thing to everybody scores well on none of these, and not always badly on BLEU. Words are what white
space parts; in outputs written without word spaces a character takes the place of a word.

*Source*: Li, Galley, Brockett, Gao and Dolan 2016, "A Diversity-Promoting Objective Function for Neural Conversation Models";
Holtzman, Buys, Du, Forbes and Choi 2020, "The Curious Case of Neural Text Degeneration".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from seqline.evaluation.counted import Flags, Ratio
from seqline.evaluation.text_units import ngrams, split_units, unit_name

# How often in a row is a repetition: "very very very good" is none, nor is "more and more and better".
_TIMES_WORD, _TIMES_PHRASE = 4, 3
_LONGEST_PHRASE = 100  # units; the time grows with their number times the length


class Commonest(NamedTuple):
    """The output given most often. ratio: outputs with this text, of all outputs."""

    text: str
    ratio: Ratio


def distinct(outputs: Sequence[str], n: int) -> Ratio:
    """Count the different n-grams of all outputs against all their n-grams.

        distinct-n = different n-grams / n-grams

    An n-gram lies within an output. Li et al. divide by the number of words for every n; dividing by the number of n-grams, as
    most work since has it, lets 1 be reached by any n. The longer the text, the lower the number: compare equal sets only.

    Args:
        outputs: Raw output, one an item.
        n: Length of the n-grams, from 1.

    Raises:
        ValueError: n below 1.

    *Source*: Li et al. 2016 (distinct-1 and distinct-2).
    """
    if n < 1:
        raise ValueError(f"n-grams have 1 word or more; got n = {n}")
    (lines,) = split_units(outputs, like=outputs)
    found = Counter(ngram for line in lines for ngram in ngrams(line, n))
    return Ratio(len(found), found.total())


def commonest_output(outputs: Sequence[str]) -> Commonest:
    """Find the output given most often, white space at the ends and its amount elsewhere left aside.

    Of outputs given equally often it is the one that came first. No outputs: an empty text, 0 of 0.
    """
    counts = Counter(" ".join(output.split()) for output in outputs)
    text, times = max(counts.items(), key=lambda item: item[1], default=("", 0))
    return Commonest(text, Ratio(times, len(outputs)))


def repeating_outputs(outputs: Sequence[str]) -> Flags:
    """Flag the outputs that repeat themselves in a row: a phrase of 2 words or more 3 times on end, or a word 4 times.

    Case is left aside. Where characters are the units, what repeats must hold a letter, for numbers are full of zeros.

    *Source*: after Holtzman et al. 2020, who look for a phrase of at least 2 tokens, 3 times on end, at the close of
    a text; here it may stand anywhere, and single words are looked at as well.
    """
    (lines,) = split_units(outputs, like=outputs, lowercase=True)
    by_character = unit_name(outputs) == "characters"
    return Flags(tuple(_repeats(line, needs_letter=by_character) for line in lines))


def _repeats(units: Sequence[str], needs_letter: bool) -> bool:
    for size in range(1, min(len(units) // _TIMES_PHRASE, _LONGEST_PHRASE) + 1):
        enough = size * ((_TIMES_WORD if size == 1 else _TIMES_PHRASE) - 1)
        in_a_row = 0
        for place in range(size, len(units)):
            in_a_row = in_a_row + 1 if units[place] == units[place - size] else 0
            if in_a_row >= enough and not (needs_letter and not _has_letter(units[place - size + 1 : place + 1])):
                return True
    return False


def _has_letter(units: Sequence[str]) -> bool:
    return any(character.isalpha() for unit in units for character in unit)
