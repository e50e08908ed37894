"""The tasks, one record each: what a recipe builds for it, and which settings the model takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from torch import nn

from seqline.architectures.queries import QuerySettings
from seqline.architectures.recipe import Ends, Recipe, Settings, Vocabulary
from seqline.config import Config, Kind
from seqline.errors import UserError
from seqline.forecasting.building import build_forecaster, price
from seqline.forecasting.building import fits as can_forecast
from seqline.forecasting.building import settings_for as forecast_settings
from seqline.models.classifier import Classifier, LastQuery, LearnedQuery
from seqline.models.tagger import Tagger
from seqline.parts.attention import Attention
from seqline.parts.heads import VocabularyHead
from seqline.sections import Section


@dataclass(frozen=True)
class Task:
    """One thing a model can be trained for.

    name: as in `data.task`. title: for people. command: what a trained run is used with. unit: what the loss is a mean over.
    loss: what it is counted in. loss_name: as reports call its mean.
    tokenizer_kind, label_smoothing: the default ones. fits: whether a recipe has what the task needs.
    build: recipe, settings and sizes (a vocabulary, or the shape of series) to a model, None where the recipe does not fit.
    more_settings: a recipe to the settings of the model beside its own.
    is_of_text: its data is text, cut into pieces by tokenizers.
    price: settings and sizes to the ends whose sizes bound the number of parameters.
    defaults: settings that suit the task, by dotted key.
    """

    name: str
    title: str
    command: str
    unit: str
    tokenizer_kind: Kind
    label_smoothing: float
    build: Callable[[Recipe, Any, Any], nn.Module | None]
    fits: Callable[[Recipe], bool]
    more_settings: Callable[[Recipe], type[Section]] | None = None
    is_of_text: bool = True
    loss: str = "nats"
    loss_name: str = "nats_per_token"
    price: Callable[[Any, Any], Ends] = lambda settings, vocabulary: vocabulary
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def fill(self, config: Config) -> Config:
        """Choose what suits the task and the user left open."""
        chosen = {}
        if "kind" not in config.tokenizer.model_fields_set:
            chosen["tokenizer.kind"] = self.tokenizer_kind
        if "label_smoothing" not in config.training.model_fields_set:
            chosen["training.label_smoothing"] = self.label_smoothing
        for key, value in self.defaults.items():
            section, name = key.split(".")
            if name not in getattr(config, section).model_fields_set:
                chosen[key] = value
        return config.replace(**chosen)

    def settings_of(self, recipe: Recipe) -> type[Settings]:
        """Return the class that checks the model's settings."""
        return _joined(self.more_settings(recipe), recipe.settings) if self.more_settings else recipe.settings

    def build_model(self, recipe: Recipe, settings: Any, vocabulary: Any) -> nn.Module:
        """Build the recipe's model for this task.

        Raises:
            UserError: the recipe does not fit the task.
        """
        self.require(recipe)
        model = self.build(recipe, settings, vocabulary)
        assert model is not None
        return model

    def priced(self, vocabulary: Any, settings: Any) -> Ends:
        """Return the ends by which a recipe bounds its number of parameters."""
        return self.price(settings, vocabulary)

    def require(self, recipe: Recipe, where: str = "--arch") -> None:
        """Refuse a recipe that does not fit.

        Raises:
            UserError: names the tasks that it fits.
        """
        if not self.fits(recipe):
            fitting = ", ".join(task.name for task in TASKS.values() if task.fits(recipe))
            what = f"{recipe.name} does not fit the task {self.name}; it fits {fitting}"
            raise UserError(what, where=where, fix="seqline train --list names every architecture and its tasks")


@cache
def _joined(more: type[Section], own: type[Settings]) -> type[Settings]:
    return type(f"{own.__name__}With{more.__name__}", (more, own), {"__module__": __name__})  # pyright: ignore[reportGeneralTypeIssues]


def _translator(recipe: Recipe, settings: Any, vocabulary: Vocabulary) -> nn.Module | None:
    return recipe.build and recipe.build(settings, vocabulary)


def _language_model(recipe: Recipe, settings: Any, vocabulary: Vocabulary) -> nn.Module | None:
    return recipe.language_model and recipe.language_model(settings, vocabulary)


def _tagger(recipe: Recipe, settings: Any, vocabulary: Vocabulary) -> nn.Module | None:
    if recipe.features is None:
        return None
    encoder, size = recipe.features(settings, vocabulary)
    return Tagger(encoder, settings.dropout, VocabularyHead(size, vocabulary.target_size))


def _classifier(recipe: Recipe, settings: Any, vocabulary: Vocabulary) -> nn.Module | None:
    if recipe.features is None:
        return None
    encoder, size = recipe.features(settings, vocabulary)
    query = LearnedQuery(size) if settings.query == "learned" else LastQuery()
    attention = Attention(settings.make_score(size))
    return Classifier(encoder, query, attention, settings.dropout, VocabularyHead(size, vocabulary.target_size))


TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        Task(
            name="translation",
            title="a text to another text",
            command="translate",
            unit="token",
            tokenizer_kind="unigram",
            label_smoothing=0.1,
            build=_translator,
            fits=lambda recipe: recipe.build is not None,
        ),
        Task(
            name="language_model",
            title="a text alone, piece after piece",
            command="generate",
            unit="piece",
            tokenizer_kind="char",
            label_smoothing=0.0,
            build=_language_model,
            fits=lambda recipe: recipe.language_model is not None,
        ),
        Task(
            name="tagging",
            title="a tag for every token",
            command="tag",
            unit="tag",
            tokenizer_kind="word",
            label_smoothing=0.0,
            build=_tagger,
            fits=lambda recipe: recipe.features is not None,
        ),
        Task(
            name="classification",
            title="a label for a whole text",
            command="classify",
            unit="text",
            tokenizer_kind="char",
            label_smoothing=0.0,
            build=_classifier,
            fits=lambda recipe: recipe.features is not None,
            more_settings=lambda _: QuerySettings,
        ),
        Task(
            name="forecasting",
            title="a time series to what comes next",
            command="forecast predict",
            unit="value",
            tokenizer_kind="unigram",
            label_smoothing=0.0,
            build=build_forecaster,
            fits=can_forecast,
            more_settings=forecast_settings,
            is_of_text=False,
            loss="loss",
            loss_name="loss_per_value",
            price=price,
            defaults={"model.size": "tiny", "training.batch_tokens": 2048, "training.validate_sentences": 1000},
        ),
    )
}
