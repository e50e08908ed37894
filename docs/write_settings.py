"""Write the tables of docs/settings.md that follow from the code: the settings of every recipe, with the sizes' defaults.

Run `python docs/write_settings.py` after a recipe's settings have changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from seqline.architectures import ARCHITECTURES
from seqline.architectures.queries import QuerySettings
from seqline.architectures.recipe import Recipe
from seqline.forecasting.building import ForecastSettings
from seqline.sections import Section

PAGE = Path(__file__).with_name("settings.md")
BEGIN = "## model: the recipe's own\n"
INTRODUCTION = """
Under `model.` too; the defaults of `tiny`, `small` and `base`. What a setting has no use for is refused.
`python docs/write_settings.py` writes these tables.
"""
FORECAST = """
### forecasting, any recipe

A recipe without a decoder takes the query too, `last` when not given.

| key | default | meaning |
| --- | --- | --- |
"""
QUERY = """
### classification: the query

| key | default | meaning |
| --- | --- | --- |
"""
MEANINGS = {
    "embed_size": "width of the embeddings",
    "dropout": "share of values set to zero in training",
    "hidden_size": "width of the recurrent (conv: convolutional) layers",
    "num_layers": "layers; of encoder and decoder each",
    "residual": "each layer's input is added to its output (Wu et al. 2016)",
    "activation": "of the simple cell; only with that cell",
    "peepholes": "the LSTM's gates see the cell state; only with that cell",
    "cell": "the recurrent cell",
    "bridge": "how the encoder's end becomes the decoder's first state",
    "summary": "which vector of the source enters every step",
    "window": "where attention may look (Luong et al. 2015, section 3.2)",
    "window_size": "D, positions to each side; 10 when empty; only with a local window",
    "num_heads": "heads of attention; in a recurrent decoder only with the score multi-head, 4 when empty",
    "coverage": "the score sees how much each position was attended to before (Tu et al. 2016)",
    "attention_dropout": "share of attention weights set to zero in training",
    "attention_size": "width inside the additive score; luong: of the score concat only, hidden_size when empty",
    "score": "how query and key are compared",
    "encoder": "the feature model of the source",
    "input_feeding": "the attentional vector enters the next step; off: a target runs in one fused call",
    "location_length": "the longest source of the score location, in pieces; 257 when empty",
    "kernel_size": "positions that a convolution sees; before an inner model, 1: none",
    "max_length": "rows of the table of learned positions",
    "inner_size": "width inside the feed-forward map",
    "norm": "LayerNorm or RMSNorm",
    "feed_forward": "the map of each position alone",
    "positions": "how a position is known",
    "num_key_heads": "heads of keys and values, shared by groups of query heads; num_heads when empty",
    "layer_drop": "chance that a layer is left out of a training step (Fan et al. 2020)",
    "tie": "which tables the output layer shares",
    "inner_batch": "tokens whose inner gradients are taken at the same weights",
    "inner_learning_rate": "eta_base, the largest inner learning rate",
    "query": "whose query reads the features: a learned vector, or the last position",
    "strategy": "all steps at once, or each from the forecast before it (recipes with a decoder)",
    "distribution": "what a forecast is",
    "quantiles": "the levels that the distribution quantile learns",
    "loss": "of the point forecast",
    "instance_norm": "a history is scaled by its own mean and deviation; off, all alike; chosen from the data when empty",
    "skip": "the plain forecast that the network's output is added to; chosen from the data when empty",
    "skip_length": "the last values that the linear skip sees",
    "patch": "points of a history that a step of the encoder reads; chosen when empty",
    "query_score": "how the query is compared with the features",
}


def meaning(key: str, field: FieldInfo) -> str:
    """Say what a setting means, and which values it takes."""
    inner = [field.annotation, *get_args(field.annotation)]
    choices = next((get_args(kind) for kind in inner if get_origin(kind) is Literal), ())
    return MEANINGS[key] + (f": {', '.join(map(str, choices))}" if choices else "")


def shown(value: Any) -> str:
    """Write a value as TOML has it; nothing for None."""
    if value is None:
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def table_of(recipe: Recipe) -> str:
    """Return the table of a recipe's settings."""
    lines = [f"\n### {recipe.name}\n", "| key | tiny | small | base | meaning |", "| --- | --- | --- | --- | --- |"]
    for key, field in recipe.settings.model_fields.items():
        values = (recipe.sizes[size].get(key, field.get_default()) for size in ("tiny", "small", "base"))
        cells = " | ".join(map(shown, values))
        lines.append(f"| `model.{key}` | {cells} | {meaning(key, field)} |")
    return "\n".join(lines) + "\n"


def task_table(title: str, settings: type[Section]) -> str:
    """Return the table of what a task takes beside."""
    rows = settings.model_fields.items()
    lines = [f"| `model.{key}` | {shown(field.default)} | {meaning(key, field)} |" for key, field in rows]
    return title + "\n".join(lines) + "\n"


def page() -> str:
    """Return the whole page: what stands before the tables, and the tables anew."""
    before = PAGE.read_text(encoding="utf-8").split(BEGIN)[0]
    tables = "".join(map(table_of, ARCHITECTURES.values()))
    return (
        before
        + BEGIN
        + INTRODUCTION
        + tables
        + task_table(QUERY, QuerySettings)
        + task_table(FORECAST, ForecastSettings)
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
