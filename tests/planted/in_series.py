"""Bugs planted in forecasting: scales, windows, the way back to the units of a series, what may be known."""

from __future__ import annotations

from .mutation import Mutation

CORPUS, INPUTS, PREDICTOR, WINDOWS = (
    "series_corpus.py",
    "forecasting/inputs.py",
    "predictor.py",
    "forecasting/windows.py",
)
OF_INPUTS, OF_LAWS = "tests/forecasting/test_inputs.py::test_", "tests/laws/test_forecast_laws.py::test_"
OF_WINDOWS = "tests/forecasting/test_windows.py::test_"
EXPORTED = f"{OF_LAWS}values_after_the_split_change_no_exported_weight"
CHOSEN = f"{OF_LAWS}points_that_validate_choose_a_weight_and_change_none"

SERIES = [
    Mutation(
        "49a",
        "scales fitted on the whole series",
        CORPUS,
        "return fit_coder(self.panel, self.ends, horizon=self.horizon,",
        "return fit_coder(self.panel, [len(one) for one in self.panel.series], horizon=self.horizon,",
        [CHOSEN],
        "SCALER",
    ),
    Mutation(
        "49b",
        "training windows cut from the whole series",
        CORPUS,
        "masks = [one.is_observed[:end] for one, end in zip(series, corpus.ends, strict=True)]",
        "masks = [one.is_observed[:] for one, end in zip(series, corpus.ends, strict=True)]",
        [CHOSEN],
        "SCALER LOOKAHEAD",
    ),
    Mutation(
        "49c",
        "architectures are trained on the points of the backtest too",
        "backtesting/plan.py",
        "return replace(self.panel, series=tuple(_first(one, end) for one, end in pairs))",
        "return replace(self.panel, series=tuple(_first(one, end + 1) for one, end in pairs))",
        [EXPORTED],
        "SCALER LOOKAHEAD",
    ),
    Mutation(
        "50a",
        "window count N - L - H",
        WINDOWS,
        "origins = [np.arange(first, max(first, end - horizon + 1)) for first, end in spans]",
        "origins = [np.arange(first, max(first, end - horizon)) for first, end in spans]",
        [f"{OF_WINDOWS}every_window_and_no_other"],
        "WINDOWS",
    ),
    Mutation(
        "50b",
        "training and validation leave the last window out",
        WINDOWS,
        "origin = np.arange(1, max(1, len(seen) - horizon + 1))",
        "origin = np.arange(1, max(1, len(seen) - horizon))",
        [f"{OF_LAWS}validation_scores_every_window_once_whatever_the_batches"],
        "WINDOWS",
    ),
    Mutation(
        "51",
        "target window starts at the last input point",
        INPUTS,
        "target[row] = np.where(is_wanted[row], normalise(one.values[origin : origin + horizon], scale), 0.0)",
        "target[row] = np.where(is_wanted[row], normalise(one.values[origin - 1 : origin - 1 + horizon], scale), 0.0)",
        [f"{OF_INPUTS}a_batch_by_hand"],
        "LOOKAHEAD",
    ),
    Mutation(
        "the scale sees the target",
        "a history is scaled by one point more than it has",
        INPUTS,
        "scale = instance_scale(raw, seen, floor=self.coder.floor)",
        "scale = instance_scale(one.values[first : origin + 1], one.is_observed[first : origin + 1], floor=self.coder.floor)",
        [f"{OF_INPUTS}what_comes_later_changes_no_bit", f"{OF_LAWS}every_law_holds[conv-direct]"],
        "LOOKAHEAD",
    ),
    Mutation(
        "52",
        "denormalisation with the unguarded standard deviation",
        PREDICTOR,
        "mean[rows] = denormalise(parameters[..., 0], batch.scale)",
        "mean[rows] = parameters[..., 0] * np.where(batch.scale.scale < 1, 0, batch.scale.scale) + batch.scale.centre",
        [f"{OF_LAWS}every_law_holds[conv-direct]"],
        "INSTNORM",
    ),
    Mutation(
        "crossing",
        "quantiles are not put in order",
        "forecasting/distributions.py",
        "known, own = np.sort(parameters[..., 1:], axis=-1), self.fitted",
        "known, own = parameters[..., 1:], self.fitted",
        [f"{OF_LAWS}every_law_holds[conv-direct]"],
        "QUANT",
    ),
]
