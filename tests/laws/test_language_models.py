"""Every recipe that is a language model obeys the laws of a decoder; its memory is None (docs/state.md)."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.data.batch import Example
from seqline.evaluation.verify import LAWS, NoSource, Subject
from seqline.models.encoder_decoder import EncoderDecoder
from seqline.models.language_model import LanguageModel
from seqline.state import map_tensors

from ..small_models import assert_equal, gradients, jacobian_support, random_weights

TARGET_SIZE = 9
LENGTHS = [4, 1, 8, 2]
RECURRENT = {"embed_size": 6, "hidden_size": 8, "num_layers": 2, "dropout": 0.3}
BLOCKS = {"embed_size": 6, "num_heads": 2, "inner_size": 10, "num_layers": 2, "dropout": 0.3}
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *(("simple-rnn", {**RECURRENT, "activation": activation}) for activation in ("tanh", "relu", "identity")),
    *(("lstm", {**RECURRENT, "peepholes": peepholes}) for peepholes in (False, True)),
    *(("gru", {**RECURRENT, "cell": cell}) for cell in ("gru", "min-gru")),
    ("gru", {**RECURRENT, "num_layers": 3, "residual": True}),
    ("transformer", BLOCKS),
    ("transformer-pre", {**BLOCKS, "embed_size": 8}),
    ("transformer-pre", {**BLOCKS, "positions": "alibi", "norm": "rms", "feed_forward": "swiglu", "num_key_heads": 1}),
    ("transformer-pre", {**BLOCKS, "positions": "relative", "tie": "none"}),
    ("transformer-pre", {**BLOCKS, "positions": "learned", "max_length": 200, "tie": "all"}),
    ("transformer-pre", {**BLOCKS, "positions": "sinusoidal", "feed_forward": "relu"}),
    ("transformer-pre", {**BLOCKS, "positions": "none"}),
    ("ssru", BLOCKS),
    ("conv", {**RECURRENT, "kernel_size": 7}),
    ("ttt-linear", {**BLOCKS, "embed_size": 8, "inner_batch": 4}),
    ("ttt-linear", {**BLOCKS, "inner_batch": 1, "positions": "none", "kernel_size": 1}),
    ("ttt-mlp", {**BLOCKS, "embed_size": 8, "inner_batch": 3}),
]
every_variant = pytest.mark.parametrize(
    ("name", "settings"),
    VARIANTS,
    ids=lambda v: v if isinstance(v, str) else "-".join(str(x) for x in v.values() if isinstance(x, (str, bool))),
)


def make_language_model(name: str, settings: dict[str, Any]) -> LanguageModel:
    recipe = ARCHITECTURES[name]
    assert recipe.language_model is not None
    return random_weights(recipe.language_model(recipe.settings(**settings), Vocabulary(11, TARGET_SIZE, False)))


def make_subject(name: str, settings: dict[str, Any]) -> Subject:
    generator = torch.Generator().manual_seed(4)
    examples = [
        Example([3], torch.randint(4, TARGET_SIZE, (length,), generator=generator).tolist()) for length in LENGTHS
    ]
    return Subject(EncoderDecoder(NoSource().eval(), make_language_model(name, settings)).eval(), examples, 6)


def test_every_language_model_stands_in_the_list() -> None:
    recipes = {name for name, recipe in ARCHITECTURES.items() if recipe.language_model is not None}
    assert {name for name, _ in VARIANTS} == recipes


@every_variant
@pytest.mark.parametrize("law", LAWS)
def test_law_holds(law: str, name: str, settings: dict[str, Any]) -> None:
    with torch.no_grad():
        finding = LAWS[law].check(make_subject(name, settings))
    assert finding.difference <= LAWS[law].tolerance, finding


@every_variant
def test_every_logit_depends_on_the_whole_prefix_and_nothing_else(name: str, settings: dict[str, Any]) -> None:
    model: Any = make_language_model(name, settings)
    ids = torch.randint(4, TARGET_SIZE, (1, 7))
    x = model.embedding(ids).detach()

    def from_vectors(vectors: Tensor) -> Tensor:
        model.embedding.forward = lambda ids: vectors
        try:
            return model(ids, model.initial_state(None, 1))[0]
        finally:
            del model.embedding.forward

    assert torch.equal(jacobian_support(from_vectors, x), torch.ones(7, 7).tril().bool())


@every_variant
def test_a_carried_state_gives_the_values_of_one_reading_and_no_gradient_across(
    name: str, settings: dict[str, Any]
) -> None:
    model: Any = make_language_model(name, settings)
    ids = torch.randint(4, TARGET_SIZE, (3, 9))
    whole, end = model(ids, model.initial_state(None, 3))
    state, pieces = model.initial_state(None, 3), []
    for chunk in ids.split(4, dim=1):
        logits, state = model(chunk, map_tensors(torch.detach, state))
        pieces.append(logits)
    assert_equal([torch.cat(pieces, 1)], [whole])
    assert_equal(tensors_of(state), tensors_of(end))
    # The last chunk alone, from the detached state, has the gradients that the chain of chunks gives it.
    parameters = list(model.parameters())
    _, before = model(ids[:, :8], model.initial_state(None, 3))
    alone, _ = model(ids[:, 8:], map_tensors(torch.detach, before))
    # TTT's first inner weights have none: the chunk begins at those it was given.
    found, expected = (gradients(parameters, logits, may_be_unused=True) for logits in (pieces[-1], alone))
    assert_equal(found, expected)


def tensors_of(tree: Any) -> list[Tensor]:
    """Return the tensors of a tree as numbers of one kind; some branches may be None."""
    found: list[Tensor] = []
    map_tensors(lambda tensor: found.append(tensor.double()) or tensor, tree)
    return found


@every_variant
def test_a_carried_state_does_not_grow_if_the_recipe_says_so(name: str, settings: dict[str, Any]) -> None:
    model: Any = make_language_model(name, settings)
    sizes = []
    for length in (3, 70):
        _, state = model(torch.randint(4, TARGET_SIZE, (2, length)), model.initial_state(None, 2))
        sizes.append(sum(tensor.numel() for tensor in tensors_of(state)))
    assert sizes[0] == sizes[1] or not ARCHITECTURES[name].carries_state


@every_variant
def test_head_and_embedding_are_one_and_dropout_acts_in_training_only(name: str, settings: dict[str, Any]) -> None:
    model: Any = make_language_model(name, settings)
    assert (model.head.weight is model.embedding.weight) == (settings.get("tie") != "none")
    ids = torch.randint(4, TARGET_SIZE, (2, 5))
    with torch.no_grad():
        first, again = (model(ids, model.initial_state(None, 2))[0] for _ in range(2))
        assert torch.equal(first, again)
        model.train()
        assert not torch.equal(model(ids, model.initial_state(None, 2))[0], model(ids, model.initial_state(None, 2))[0])
