"""Tensor maths with plain arguments: cells, attention, positions, bridges. A part knows no config."""
