"""Training: the loss, the optimizer, the loop, its checkpoints and what reports on it.

It knows any `torch.nn.Module` and no architecture: the loss, the batches and the validation come in as functions.
"""
