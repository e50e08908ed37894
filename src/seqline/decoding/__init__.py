"""Search: turn the logits of any decoder into hypotheses, knowing of the model only the state protocol.

`greedy` takes the best token at each step, `beam` keeps the K best prefixes, `sample` and `stream` draw at random, rules
forbid tokens, a penalty compares hypotheses of different lengths. This package imports no model and no part.
"""

from seqline.decoding.banned import Spelling, must_not
from seqline.decoding.banned_text import must_not_spell
from seqline.decoding.beam import Beam, beam
from seqline.decoding.constraints import Must
from seqline.decoding.ensemble import Ensemble
from seqline.decoding.greedy import greedy
from seqline.decoding.hypothesis import AVERAGE, NONE, Hypothesis, Marks, Penalty, gnmt, parse_penalty, power
from seqline.decoding.mbr import Candidate, Utility, mbr
from seqline.decoding.repetition import is_loop, no_loops, no_repeat_ngram
from seqline.decoding.rerank import coverage, rerank
from seqline.decoding.rules import Prefix, Rule, Stuck, forbid, forced_prefix, min_length, only_at, whole_utf8
from seqline.decoding.sampling import Drawn, Sampling, sample, stream

__all__ = [
    "AVERAGE",
    "NONE",
    "Beam",
    "Candidate",
    "Drawn",
    "Ensemble",
    "Hypothesis",
    "Marks",
    "Must",
    "Penalty",
    "Prefix",
    "Rule",
    "Sampling",
    "Spelling",
    "Stuck",
    "Utility",
    "beam",
    "coverage",
    "forbid",
    "forced_prefix",
    "gnmt",
    "greedy",
    "is_loop",
    "mbr",
    "min_length",
    "must_not",
    "must_not_spell",
    "no_loops",
    "no_repeat_ngram",
    "only_at",
    "parse_penalty",
    "power",
    "rerank",
    "sample",
    "stream",
    "whole_utf8",
]
