"""What a search returns, and the length penalties that compare hypotheses of different lengths.

A log-probability falls with every token, so the sum alone favours short outputs. A penalty divides it by a number
that rises with the length n (generated tokens, the end token included):

    score = log_probability / divisor(n)

"Length penalty" means different things in different toolkits. Here are all of ours, with the scores of
hypothesis A (log-probability -4.0, n = 4) and hypothesis B (log-probability -5.5, n = 8):

    | penalty     | score                              | A       | B       | winner |
    |-------------|------------------------------------|---------|---------|--------|
    | `none`      | log_probability                    | -4.0000 | -5.5000 | A      |
    | `average`   | log_probability / n                | -1.0000 | -0.6875 | B      |
    | `power:0.5` | log_probability / n^0.5            | -2.0000 | -1.9445 | B      |
    | `gnmt:0.6`  | log_probability / ((5 + n)/6)^0.6  | -3.1362 | -3.4585 | A      |
    | `gnmt:1.0`  | log_probability / ((5 + n)/6)^1.0  | -2.6667 | -2.5385 | B      |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from seqline.errors import UserError, did_you_mean

MAX_ALPHA = 10.0  # far above any use; keeps n^alpha a finite number


class Marks(NamedTuple):
    """The ids of a search's own tokens: `bos` is the first decoder input, `eos` ends a hypothesis."""

    bos: int = 2
    eos: int = 3


MARKS = Marks()


class Hypothesis(NamedTuple):
    """One output of a search.

    ids: the generated tokens without bos; they end in eos iff `is_finished`.
    log_probability: sum of the log-probabilities of `ids` under the full softmax, before any rule.
    score: `log_probability` under the length penalty; higher is better.
    is_finished: False = cut by the length limit.
    """

    ids: tuple[int, ...]
    log_probability: float
    score: float
    is_finished: bool


class Penalty(NamedTuple):
    """A length penalty: its name (as `parse_penalty` reads it), its formula and its divisor.

    The divisor is positive and never falls when the length rises; the stop rule of the beam search relies on it.
    """

    name: str
    formula: str
    divisor: Callable[[int], float]

    def score(self, log_probability: float, length: int) -> float:
        """Return the score of `length` generated tokens, the end token included."""
        return log_probability / self.divisor(length)


NONE = Penalty("none", "log_probability", lambda n: 1.0)
AVERAGE = Penalty("average", "log_probability / n", float)


def power(alpha: float) -> Penalty:
    """Divide by n^alpha: 0 is no penalty, 1 the average.

    Args:
        alpha: strength, 0 to 10.

    Raises:
        ValueError: alpha is outside this range or not a number.
    """
    _check_alpha(alpha)
    return Penalty(f"power:{alpha}", f"log_probability / n^{alpha}", lambda n: float(n) ** alpha)


def gnmt(alpha: float) -> Penalty:
    """Divide by ((5 + n) / 6)^alpha.

    Args:
        alpha: strength, 0 to 10; 0.6 is common.

    Raises:
        ValueError: alpha is outside this range or not a number.

    *Source*: Wu et al. 2016, "Google's Neural Machine Translation System", equation 14 (without coverage).
    """
    _check_alpha(alpha)
    return Penalty(f"gnmt:{alpha}", f"log_probability / ((5 + n) / 6)^{alpha}", lambda n: ((5 + n) / 6) ** alpha)


def parse_penalty(text: str, *, where: str = "length penalty") -> Penalty:
    """Read a penalty as a user writes it: `none`, `average`, `power:0.5` or `gnmt:0.6`.

    Args:
        text: the name, and after a colon the strength where the penalty has one.
        where: the setting or option that `text` came from, for the message.

    Returns:
        The penalty.

    Raises:
        UserError: unknown name, missing or superfluous strength, strength out of range.
    """
    name, colon, strength = text.strip().partition(":")
    fixed, adjustable = {"none": NONE, "average": AVERAGE}, {"power": power, "gnmt": gnmt}
    if name in fixed:
        if colon:
            raise UserError(f"{name!r} takes no number, got {text!r}", where=where, fix=f"write {name!r}")
        return fixed[name]
    if name not in adjustable:
        raise UserError(f"unknown penalty {text!r}", where=where, fix=did_you_mean(name, [*fixed, *adjustable]))
    try:
        return adjustable[name](float(strength))
    except ValueError:
        what = f"expected {name}:NUMBER with a number from 0 to {MAX_ALPHA:g}, got {text!r}"
        raise UserError(what, where=where, fix=f"for example {name}:0.6") from None


def _check_alpha(alpha: float) -> None:
    if not 0 <= alpha <= MAX_ALPHA:  # also refuses NaN
        raise ValueError(f"alpha must be from 0 to {MAX_ALPHA:g}, got {alpha}")
