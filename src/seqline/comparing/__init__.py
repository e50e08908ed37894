"""A fair comparison: architectures trained on one corpus with one budget, several seeds each, and what they are worth beside it.

`compare` is in compare.py. Nothing is imported here, so that a training in a process of its own loads nothing that it does
not need.
"""
