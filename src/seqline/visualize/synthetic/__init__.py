"""Traces made up without a model: realistic, complete, the same in every run; for tests, pages and lessons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from seqline.errors import UserError, did_you_mean
from seqline.visualize.reduced import reduce
from seqline.visualize.synthetic import recurrent, special, transformers
from seqline.visualize.synthetic.skeleton import EOS, block, target_block
from seqline.visualize.trace import Bundle, Trace

_Documents = dict[str, Callable[[], dict[str, Any]]]
_DOCUMENTS: _Documents = {
    "A": recurrent.fixture_a,
    "B": lambda: recurrent.fixture_rnn("lstm"),
    "B-bilstm": recurrent.fixture_bilstm,
    "C": transformers.fixture_c,
    "D": recurrent.fixture_d,
    "E": transformers.fixture_e,
    "F": transformers.fixture_f,
    "G": special.fixture_g,
    "H": special.fixture_h,
    "I": special.fixture_i,
    "J": special.fixture_j,
    "rnn": lambda: recurrent.fixture_rnn("rnn"),
    "gru": lambda: recurrent.fixture_rnn("gru"),
    "permutation": transformers.fixture_permutation,
    "pe": transformers.fixture_pe,
}
FIXTURES: dict[str, str] = {
    "A": "recurrent with attention, Chinese to English",
    "B": "LSTM encoder-decoder, 11 English words",
    "B-bilstm": "BiLSTM tagger, 11 English words",
    "C": "Transformer, 2 layers of 4 heads, 11 tokens",
    "D": "recurrent with attention, Arabic to English",
    "E": "Transformer, 80 tokens, 6 layers of 8 heads",
    "F": "Transformer, 300 tokens, 3 layers of 6 heads, reduced",
    "G": "beam of 4",
    "H": "inner model that learns while it reads",
    "I": "forecast from 5 to 50 days",
    "J": "training with 6 snapshots",
    "K": "bundle: simple-rnn, lstm, bahdanau, transformer on one sentence",
    "rnn": "simple RNN encoder-decoder, 11 English words",
    "gru": "GRU encoder-decoder, 11 English words",
    "permutation": "each of 4 rows reads one of 6 columns",
    "pe": "Transformer with 50 positions of 32 dimensions",
}
"""Every fixture and what it is."""


def fixture(name: str) -> Trace | Bundle:
    """Return a made-up trace by its name in `FIXTURES`.

    Raises:
        UserError: there is none of this name.
    """
    if name == "K":
        return _bundle()
    if name not in _DOCUMENTS:
        raise UserError(f"no fixture {name!r}", where="fixture", fix=did_you_mean(name, FIXTURES))
    trace = Trace(_DOCUMENTS[name]())
    return reduce(trace) if name == "F" else trace


def _bundle() -> Bundle:
    """Return fixture K: four models on one sentence; the farther a loss, the less the older ones feel it."""
    texts = (
        block(["je", "suis", "étudiant", EOS], "fr"),
        target_block(["I", "am", "a", "student", EOS], "en"),
    )
    weights = np.full((5, 4), 0.05)
    weights[np.arange(5), [0, 1, 2, 2, 3]] = 0.85
    make = recurrent.encoder_decoder
    documents = [
        make("simple-rnn", "rnn", texts, seed=21),
        make("lstm", "lstm", texts, seed=22),
        make("bahdanau", "gru", texts, weights=weights, directions=2, seed=23),
        transformers.transformer("transformer", texts, layers=2, heads=2, seed=24),
    ]
    factors = (0.0004, 0.6, 0.9, 1.0)
    traces = [
        Trace(document | {"gradients": recurrent.gradients(4, factor, seed=20)})
        for document, factor in zip(documents, factors, strict=True)
    ]
    return Bundle(traces, ["simple-rnn", "lstm", "bahdanau", "transformer"])
