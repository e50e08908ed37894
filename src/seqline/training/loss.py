"""The loss: label-smoothed cross-entropy as sums over real target tokens, and the mean over a whole data set.

Sums and counts are added, and divided once: pads, batch sizes and their order then change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import Module

CHUNK_ELEMENTS = 131_072  # logits worked on at a time on the CPU: 512 KiB in float32 stay in the cache; twice as fast


class LossSum(NamedTuple):
    """Sums over the real target tokens of a batch, in nats.

    loss: with smoothing, the one to differentiate. negative_log_likelihood: without, the one to report.
    num_tokens: how many tokens were summed.
    """

    loss: Tensor
    negative_log_likelihood: Tensor
    num_tokens: int


def smoothed_cross_entropy(logits: Tensor, targets: Tensor, is_real: Tensor, smoothing: float) -> LossSum:
    """Sum the label-smoothed cross-entropy over real tokens; pads add nothing and get a zero gradient.

    The loss of a token is (1 - e) (-log p[gold]) + e mean over the vocabulary of (-log p). The gradient with respect to
    the logits is softmax - e/V - (1 - e) [gold]; it is worked out on the way forward, in one buffer, so the loss can be
    differentiated once only.

    Args:
        logits: [B T V], any floating type; half types are summed in float32.
        targets: [B T] int64, the expected ids; what stands at pads does not matter.
        is_real: [B T] bool, True = a real token.
        smoothing: e, 0 <= e < 1.

    Returns:
        Sums, never means; all zero for a batch of pads.

    *Source*: Szegedy et al. 2016, Rethinking the Inception Architecture, section 7.
    """
    if not 0.0 <= smoothing < 1.0:
        raise ValueError(f"smoothing must be at least 0 and below 1, got {smoothing}")
    vocab_size = logits.shape[-1]
    real = is_real.reshape(-1)
    gold = targets.reshape(-1).masked_fill(~real, 0)
    wants_gradient = torch.is_grad_enabled() and logits.requires_grad
    loss, likelihood = _SmoothedCrossEntropy.apply(  # pyright: ignore[reportGeneralTypeIssues]
        logits.reshape(-1, vocab_size), gold, real, smoothing, wants_gradient
    )
    return LossSum(loss, likelihood, int(real.sum()))


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Forward and gradient in one pass over chunks of rows; logits [N V], gold [N], is_real [N]."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, gold: Tensor, is_real: Tensor, smoothing: float, wants_gradient: bool
    ) -> tuple[Tensor, Tensor]:
        num_rows, vocab_size = logits.shape
        wide = torch.promote_types(logits.dtype, torch.float32)
        gradient = torch.empty_like(logits) if wants_gradient else None
        gold = gold.unsqueeze(1)
        step = max(1, CHUNK_ELEMENTS // vocab_size) if logits.device.type == "cpu" else max(1, num_rows)
        of_gold, of_all = logits.new_zeros(num_rows, dtype=wide), logits.new_zeros(num_rows, dtype=wide)
        for start in range(0, num_rows, step):
            rows = slice(start, start + step)
            log_p = F.log_softmax(logits[rows], dim=-1, dtype=wide)
            of_gold[rows] = log_p.gather(1, gold[rows]).squeeze(1)
            of_all[rows] = log_p.mean(dim=1)
            if gradient is not None:
                gradient[rows] = log_p.exp_().sub_(smoothing / vocab_size)
        if gradient is not None:
            gradient.scatter_add_(1, gold, gradient.new_full((1, 1), smoothing - 1.0).expand(num_rows, 1))
            gradient[~is_real] = 0.0
        ctx.gradient = gradient
        # Selecting, not multiplying: a NaN at a pad must not count either.
        likelihood = -torch.where(is_real, of_gold, 0.0).sum()
        loss = (1.0 - smoothing) * likelihood - smoothing * torch.where(is_real, of_all, 0.0).sum()
        ctx.mark_non_differentiable(likelihood)
        return loss, likelihood

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grad_outputs: Tensor
    ) -> tuple[Tensor, None, None, None, None]:
        gradient, ctx.gradient = ctx.gradient, None
        if gradient is None:
            raise RuntimeError("smoothed_cross_entropy was differentiated a second time; call it again instead")
        return gradient.mul_(grad_outputs[0]), None, None, None, None


@contextmanager
def evaluating(model: Module) -> Iterator[None]:
    """Switch a model to evaluation without gradients; every submodule gets its training flag back, also on an error."""
    flags = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, was_training in flags:
            module.training = was_training


def evaluation_loss(model: Module, batches: Iterable[Any], compute_loss: Callable[[Module, Any], LossSum]) -> float:
    """Return the negative log-likelihood per target token over all batches, in nats; perplexity is its exponential.

    Raises:
        ValueError: there is no target token.
    """
    sums: list[float] = []
    num_tokens = 0
    with evaluating(model):
        for batch in batches:
            part = compute_loss(model, batch)
            sums.append(part.negative_log_likelihood.item())
            num_tokens += part.num_tokens
    if num_tokens == 0:
        raise ValueError("the batches hold no target token")
    return math.fsum(sums) / num_tokens
