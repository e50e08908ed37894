"""From a recipe to a forecaster: the settings that forecasting adds to every recipe, and what is built of both."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from seqline.architectures.queries import QuerySettings
from seqline.architectures.recipe import Recipe, Values
from seqline.errors import UserError
from seqline.forecasting.coder import SeriesShape
from seqline.forecasting.distributions import (
    LEVELS,
    POINT_LOSSES,
    Distribution,
    Gaussian,
    LossName,
    Point,
    Quantiles,
    StudentT,
)
from seqline.forecasting.inputs import InputOptions
from seqline.models.classifier import LastQuery, LearnedQuery
from seqline.models.forecaster import (
    DecodingForecaster,
    DirectForecaster,
    DirectHead,
    Forecaster,
    RecursiveForecaster,
)
from seqline.models.skips import LastSkip, LinearSkip, NoSkip, SeasonSkip, Skip
from seqline.parts.attention import Attention
from seqline.sections import KeyFault, Section


def _list_to_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


class ForecastSettings(Section):
    """How a recipe forecasts.

    strategy: direct, all steps at once; or recursive, each from the forecast before it (recipes with a decoder).
    distribution: point, quantile (a point and quantiles), gaussian or student-t. quantiles: the levels of quantile. loss: of the
    point, squared when not given. instance_norm: a history is scaled by its own mean and deviation. skip: the plain forecast
    that the network's output is added to. skip_length: the last values that the linear one sees. patch: points that a step of
    the encoder reads. None: chosen from the data.
    """

    strategy: Literal["direct", "recursive"] = "direct"
    distribution: Literal["point", "quantile", "gaussian", "student-t"] = "quantile"
    quantiles: Annotated[tuple[float, ...], BeforeValidator(_list_to_tuple)] | None = None
    loss: LossName | None = None
    instance_norm: bool | None = None
    skip: Literal["linear", "season", "last", "none"] | None = None
    skip_length: int | None = Field(default=None, ge=1, le=4096)
    patch: int | None = Field(default=None, ge=1, le=1024)

    @model_validator(mode="after")
    def _check_forecast(self) -> ForecastSettings:
        if self.quantiles is not None:
            if self.distribution != "quantile":
                raise KeyFault("quantiles", f"are for distribution quantile, and this is {self.distribution}")
            if not self.quantiles or not all(a < b for a, b in pairwise((0.0, *self.quantiles, 1.0))):
                raise KeyFault("quantiles", "expected ascending levels over 0 and under 1")
        if self.loss is not None and self.distribution in ("gaussian", "student-t"):
            what = f"is for distribution point or quantile; {self.distribution} is trained by its likelihood"
            raise KeyFault("loss", what)
        if self.skip == "linear" and self.strategy == "recursive":
            raise KeyFault(
                "skip", "linear has a map for every step, which strategy recursive has not; set last or season"
            )
        if self.skip_length is not None and self.skip_name != "linear":
            raise KeyFault("skip_length", f"is for skip linear, and this is {self.skip_name}")
        return self

    @property
    def skip_name(self) -> str:
        """The plain forecast: as set, else linear, or the last value under strategy recursive."""
        return self.skip or ("linear" if self.strategy == "direct" else "last")

    @property
    def has_instance_norm(self) -> bool:
        """Whether a history is scaled by itself: as set, or as was chosen from the data."""
        return self.instance_norm is not False

    def make_distribution(self) -> Distribution:
        """Return what is said of a step."""
        point_loss = POINT_LOSSES[self.loss or "squared"]
        if self.distribution == "quantile":
            return Quantiles(self.quantiles or LEVELS, point_loss)
        if self.distribution == "point":
            return Point(point_loss)
        return Gaussian() if self.distribution == "gaussian" else StudentT()

    def make_skip(self, shape: SeriesShape) -> Skip:
        """Return the plain forecast."""
        if self.skip_name == "linear":
            length = self.inputs(shape).num_recent
            return LinearSkip(
                shape.num_targets, length, shape.num_known, shape.horizon, has_level=not self.has_instance_norm
            )
        if self.skip_name == "season":
            return SeasonSkip(shape.season)
        return LastSkip() if self.skip_name == "last" else NoSkip()

    def inputs(self, shape: SeriesShape) -> InputOptions:
        """Return what the settings say of a model's inputs."""
        recent = {"linear": self.skip_length or max(1, shape.season), "season": shape.season}.get(self.skip_name, 1)
        return InputOptions(self.patch or 1, recent, self.has_instance_norm)


class QueriedSettings(ForecastSettings, QuerySettings):
    """The same for a recipe without a decoder, whose features a query reads: of the last step when not given."""

    query: Literal["learned", "last"] = "last"


def settings_for(recipe: Recipe) -> type[ForecastSettings]:
    """Return the settings that forecasting adds to a recipe."""
    return ForecastSettings if recipe.build is not None else QueriedSettings


def fits(recipe: Recipe) -> bool:
    """Tell whether a recipe can forecast: it reads a history."""
    return recipe.build is not None or recipe.features is not None


def build_forecaster(recipe: Recipe, settings: Any, shape: SeriesShape) -> Forecaster | None:
    """Build a forecaster of a recipe; None where it reads no history.

    Args:
        recipe: with a decoder it becomes an encoder-decoder, else its features are read by attention.
        settings: the recipe's own and `ForecastSettings`.
        shape: the sizes of the series.
    """
    distribution, ends = settings.make_distribution(), _ends(settings, shape)
    if recipe.build is not None:
        network = recipe.build(settings, ends)
        if settings.strategy == "recursive":
            return RecursiveForecaster(network, settings.make_skip(shape), distribution.is_location)
        return DecodingForecaster(network, settings.make_skip(shape), distribution.is_location, shape.horizon)
    if recipe.features is None:
        return None
    if settings.strategy == "recursive":
        what = f"recursive needs a decoder, and {recipe.name} has none"
        raise UserError(what, where="model.strategy", fix="set direct, or choose a recipe with a decoder")
    encoder, size = recipe.features(settings, ends)
    return DirectForecaster(
        encoder=encoder,
        query=LearnedQuery(size) if settings.query == "learned" else LastQuery(),
        attention=Attention(settings.make_score(size)),
        dropout=settings.dropout,
        head=DirectHead(2 * size, shape.num_known, shape.horizon, ends.num_outputs, size),
        skip=settings.make_skip(shape),
        is_location=distribution.is_location,
    )


def price(settings: Any, shape: SeriesShape) -> Values:
    """Return ends that are at least as large as all that a forecaster adds to its recipe."""
    ends = _ends(settings, shape)
    more = shape.horizon * (
        ends.num_outputs + shape.num_targets * (settings.inputs(shape).num_recent + shape.num_known + 1)
    )
    return ends._replace(target_size=ends.target_size + more)


def _ends(settings: Any, shape: SeriesShape) -> Values:
    """Return the numbers that a step of the encoder and of the decoder reads, and those that come out."""
    patch = settings.inputs(shape).patch
    own = shape.num_targets if settings.strategy == "recursive" else 1
    num_outputs = shape.num_targets * len(settings.make_distribution().is_location)
    # Where a step holds several points, each has a flag that says it is one.
    return Values(patch * (shape.num_inputs + (patch > 1)), own + shape.num_known, num_outputs)
