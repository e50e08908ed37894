"""What raw text looks like: subword marks, tokenizer's traces, scripts without word spaces.

The scores in text_metrics.py are made from raw (detokenized) text. Text that still carries subword marks is refused;
text that looks tokenized, or that BLEU's tokenizer does not fit, is scored and warned of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from seqline.errors import UserError

_SUBWORD_MARK = re.compile(r"@@(?=\s|$)|▁")
# What tokenizers write and writers rarely do: escaped signs, split hyphens, a full stop or a comma on its own.
# A lone "!", "?", ":" or ";" proves nothing: French writes a space before them.
_TOKENIZED = re.compile(r"&(?:apos|quot|amp|lt|gt|#91|#93|#124);|@-@| [.,。，、](?=\s|$)| n't(?=\s|$)")
_KANA = "\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_OTHERS = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Myanmar, Khmer
_UNSEGMENTED_LETTER = re.compile(f"[{_KANA}{_HAN}{_OTHERS}]")
_KANA_LETTER = re.compile(f"[{_KANA}]")
_HAN_LETTER = re.compile(f"[{_HAN}]")
_NUM_LINES_NAMED = 5


def check_lines(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    """Refuse lines that cannot be scored against each other.

    Raises:
        UserError: No lines, or unequal counts.
    """
    if len(hypotheses) != len(references):
        raise UserError(
            f"{len(hypotheses):,} hypotheses and {len(references):,} references",
            fix="give one line a sentence to each, in the same order",
        )
    if not hypotheses:
        raise UserError("nothing to score: no hypotheses and no references", fix="give at least one line of each")


def refuse_subword_marks(hypotheses: Sequence[str], references: Sequence[str] = ()) -> None:
    """Refuse output whose pieces were not joined: BLEU of subwords is another number, often several points higher.

    Where the references carry such marks themselves they are part of the text, and nothing is refused.

    Raises:
        UserError: A hypothesis holds `@@` at a word's end or U+2581; names the lines and the mark.
    """
    marked = _marked_lines(hypotheses)
    if marked and not _marked_lines(references):
        marks = " and ".join(f"{mark!r}" for mark in sorted(set(marked.values())))
        raise UserError(
            f"{_name_lines(list(marked))} still {'carries' if len(marked) == 1 else 'carry'} the subword mark {marks}",
            where="hypotheses",
            fix="join the pieces to raw text before scoring",
        )


def is_unsegmented(lines: Sequence[str]) -> bool:
    """Tell whether these lines, taken together, are written without spaces between words.

    They are when at least 3 in 10 letters are Han, kana, Thai, Lao, Tibetan, Myanmar or Khmer, and there is less than
    one white-space character in 8. Segmented Chinese has one in 3; Thai has a space a phrase, one in 10 or fewer.
    """
    text = "\n".join(line.strip() for line in lines)
    num_letters = sum(character.isalpha() for character in text)
    num_spaces = sum(character.isspace() for character in text) - text.count("\n")
    num_unsegmented = len(_UNSEGMENTED_LETTER.findall(text))
    return num_unsegmented > 0 and 10 * num_unsegmented >= 3 * num_letters and 8 * num_spaces < len(text)


def choose_tokenizer(references: Sequence[str]) -> str:
    """Return the tokenizer that fits: zh for unsegmented Chinese, char for other unsegmented text, else 13a.

    Japanese takes char: its word tokenizers need a package of their own, and a score may not hang on what is installed.
    """
    if not is_unsegmented(references):
        return "13a"
    text = "".join(references)
    num_kana, num_han = len(_KANA_LETTER.findall(text)), len(_HAN_LETTER.findall(text))
    num_others = len(_UNSEGMENTED_LETTER.findall(text)) - num_kana - num_han
    # A Chinese text may quote a Japanese name; a Japanese one is at least a third kana.
    return "zh" if num_han > 10 * (num_kana + num_others) else "char"


def looks_tokenized(lines: Sequence[str]) -> list[int]:
    """Return the numbers (from 1) of lines that look tokenized: ` .`, ` ,`, ` n't`, `@-@`, `&apos;` and the like."""
    return [number for number, line in enumerate(lines, 1) if _TOKENIZED.search(line)]


def text_warnings(hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = "13a") -> list[str]:
    """Say what makes BLEU of these lines hard to compare; the scores are made all the same.

    Args:
        hypotheses: Raw output, one sentence an item.
        references: Raw references.
        tokenize: What BLEU was asked for.

    Returns:
        One sentence a finding: tokenized text (from one line in ten on), subword marks in the references, a word
        tokenizer on text without word spaces. Empty when all is well.
    """
    warnings = []
    for side, lines in (("hypothesis", hypotheses), ("reference", references)):
        found = looks_tokenized(lines)
        if found and 10 * len(found) >= len(lines):
            share = "all " if len(found) == len(lines) else f"{len(found)} of "
            warnings.append(
                f"{share}{len(lines)} {side} lines look tokenized ({_name_lines(found)}); "
                "BLEU of tokenized text does not compare with BLEU of raw text"
            )
    marked = _marked_lines(references)
    if marked:
        warnings.append(f"subword marks in the references ({_name_lines(list(marked))}); score against raw text")
    fitting = choose_tokenizer(references)
    if fitting != "13a" and tokenize in ("13a", "intl", "none"):
        warnings.append(
            f"the tokenizer {tokenize} does not fit: the references are written without spaces between words, "
            f"so whole sentences count as words; score with {fitting}"
        )
    return warnings


def _marked_lines(lines: Sequence[str]) -> dict[int, str]:
    """Return line number (from 1) -> the subword mark found there."""
    found = ((number, _SUBWORD_MARK.search(line)) for number, line in enumerate(lines, 1))
    return {number: match.group() for number, match in found if match}


def _name_lines(numbers: list[int]) -> str:
    """Return "line 3", "lines 1 and 2" or "lines 1, 2, 3, 4, 5 and 12 more"."""
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    shown, rest = numbers[:_NUM_LINES_NAMED], numbers[_NUM_LINES_NAMED:]
    last = f"{len(rest):,} more" if rest else str(shown.pop())
    return f"lines {', '.join(map(str, shown))} and {last}"
