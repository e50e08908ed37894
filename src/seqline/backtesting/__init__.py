"""Backtests: models and baselines forecast the same windows of the past, one after the other, and stand in one table."""
