"""The models of the language pair that experiments share: one cell, width, batch, rate and number of steps for all RNNs.

They differ in how the decoder reads the source, and in nothing else; the Transformer is the one that has other parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from seqline.lab.experiment import Table, Wanted
from seqline.lab.laboratory import Lab
from seqline.run_folder import read_manifest

PairModel: TypeAlias = Callable[[Lab, int], Wanted]
"""(lab, seed) -> a model of the pair."""

_TOY: dict[str, Any] = {"tokenizer.kind": "word", "model.size": "tiny", "model.dropout": 0.0}
_USER: dict[str, Any] = {"tokenizer.vocab_size": 3000, "training.batch_tokens": 1000, "model.dropout": 0.2}
_TOY_RNN: dict[str, Any] = {"training.learning_rate": 0.008, "training.batch_tokens": 800}
_USER_RNN: dict[str, Any] = {"model.embed_size": 128, "model.hidden_size": 256}
_TOY_TRANSFORMER: dict[str, Any] = {"training.learning_rate": 0.003, "training.batch_tokens": 700}
_USER_TRANSFORMER: dict[str, Any] = {
    "model.embed_size": 160,
    "model.inner_size": 320,
    "model.num_layers": 2,
    "training.learning_rate": 0.003,
}
STEPS, USER_STEPS, QUICK_STEPS = 2000, 3000, 500
"""Of the toy pair, of a corpus of one's own, of both in a quick lab: attention finds its words between step 400 and step 500, one
vector for the whole source takes 2,000."""
TRANSFORMER_STEPS = 800
"""Of the toy pair, which a Transformer has learned by then."""


def rnn(lab: Lab, seed: int, arch: str, *, is_toy: bool = False, **model: Any) -> Wanted:
    """Return a recurrent model of the pair.

    Args:
        lab: whose corpus is learned.
        seed: of weights and order.
        arch: the recipe.
        is_toy: of the toy pair, whatever corpus the lab has.
        model: settings of the recipe, without `model.`.
    """
    own = {f"model.{key}": value for key, value in model.items()}
    return _wanted(lab, seed, arch, is_toy, _TOY_RNN, _USER_RNN, own, STEPS)


def encoder_decoder(lab: Lab, seed: int, *, is_toy: bool = False) -> Wanted:
    """Return the model whose decoder sees the source once, as its first state."""
    return rnn(lab, seed, "encoder-decoder", is_toy=is_toy, cell="gru")


def contextual_final(lab: Lab, seed: int, *, is_toy: bool = False) -> Wanted:
    """Return the model whose decoder is given the encoder's last state at every step."""
    return rnn(lab, seed, "contextual", is_toy=is_toy, cell="gru", summary="final")


def contextual_mean(lab: Lab, seed: int, *, is_toy: bool = False) -> Wanted:
    """Return the model whose decoder is given the mean of the encoder's outputs at every step."""
    return rnn(lab, seed, "contextual", is_toy=is_toy, cell="gru", summary="mean")


def attention(lab: Lab, seed: int, *, is_toy: bool = False) -> Wanted:
    """Return the model whose decoder chooses what it reads at every step: dot scores, no input feeding."""
    return rnn(lab, seed, "luong", is_toy=is_toy, cell="gru", score="dot", input_feeding=False)


def reversed_source(lab: Lab, seed: int, *, is_toy: bool = False) -> Wanted:
    """Return the encoder-decoder of LSTMs that reads its source from the end."""
    return rnn(lab, seed, "sutskever", is_toy=is_toy)


def unreversed(lab: Lab, seed: int, *, is_toy: bool = False) -> Wanted:
    """Return the encoder-decoder of LSTMs that reads its source from the beginning."""
    return rnn(lab, seed, "encoder-decoder", is_toy=is_toy, cell="lstm")


def transformer(lab: Lab, seed: int, *, is_toy: bool = False, **model: Any) -> Wanted:
    """Return the Transformer of the pair."""
    own = {f"model.{key}": value for key, value in model.items()}
    return _wanted(lab, seed, "transformer", is_toy, _TOY_TRANSFORMER, _USER_TRANSFORMER, own, TRANSFORMER_STEPS)


def learned(lab: Lab, models: Mapping[str, PairModel]) -> Table:
    """Return how well each model translates its validation set, seed by seed: what has not learned says nothing."""
    rows = []
    for name, make in models.items():
        scores = [read_manifest(lab.run(make(lab, seed)))["validation"] or {} for seed in lab.seed_numbers()]
        rows.append((name, *(score.get("BLEU") for score in scores)))
    seeds = (f"seed {seed}" for seed in lab.seed_numbers())
    return Table("What the models had learned (BLEU, greedy, validation)", ("model", *seeds), tuple(rows))


def _wanted(
    lab: Lab,
    seed: int,
    arch: str,
    is_toy: bool,
    toy: dict[str, Any],
    user: dict[str, Any],
    own: dict[str, Any],
    steps: int,
) -> Wanted:
    if lab.data is None or is_toy:
        settings = {**_TOY, **toy, **own}
        return Wanted(lab.toy_name, arch, "translation", tuple(settings.items()), steps, QUICK_STEPS, seed)
    settings = {**_USER, **user, **own}
    full, quick = (lab.data_steps or scaled for scaled in (USER_STEPS, QUICK_STEPS))
    return Wanted("pair", arch, "translation", tuple(settings.items()), full, quick, seed)
