"""A model at work, recorded: one run of any model and task becomes one trace that needs no model.

The search runs as it always does; then the same tokens are replayed step by step while everything is watched.
"""
