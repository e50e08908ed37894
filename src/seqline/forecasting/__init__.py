"""Forecasts of time series from a history of any length: windows, scaling, and the baselines every model is held against."""
