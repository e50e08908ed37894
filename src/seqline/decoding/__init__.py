"""Search: turn the logits of any decoder into hypotheses, knowing of the model only the state protocol.

`greedy` takes the best token at each step, `beam` keeps the K best prefixes, `sample` and `stream` draw at random, rules
forbid tokens, a penalty compares hypotheses of different lengths. This package imports no model and no part.
"""

from seqline.decoding.beam import beam
from seqline.decoding.greedy import greedy
from seqline.decoding.hypothesis import AVERAGE, NONE, Hypothesis, Penalty, gnmt, parse_penalty, power
from seqline.decoding.rules import Rule, forbid, min_length, whole_utf8
from seqline.decoding.sampling import Drawn, Sampling, sample, stream

__all__ = [
    "AVERAGE",
    "NONE",
    "Drawn",
    "Hypothesis",
    "Penalty",
    "Rule",
    "Sampling",
    "beam",
    "forbid",
    "gnmt",
    "greedy",
    "min_length",
    "parse_penalty",
    "power",
    "sample",
    "stream",
    "whole_utf8",
]
