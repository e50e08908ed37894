"""The optimizer, the learning rate as a function of the step, and gradient clipping."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch.nn import Embedding, Module, Parameter
from torch.optim import AdamW

FUSED_DEVICES = frozenset({"cpu", "cuda", "mps"})
FINAL_SHARE = 0.02  # of the peak learning rate, reached at the last step


_bare_step = inspect.unwrap(AdamW.step)


class _LightAdamW(AdamW):
    """AdamW without the wrappers meant for `torch.compile`.

    They import torch's compiler, which takes as long as importing torch and 70 MB. What they wrap is untouched.
    """

    add_param_group = inspect.unwrap(AdamW.add_param_group)
    zero_grad = inspect.unwrap(AdamW.zero_grad)
    state_dict = inspect.unwrap(AdamW.state_dict)
    load_state_dict = inspect.unwrap(AdamW.load_state_dict)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Make one update from the gradients."""
        _bare_step(self, closure)


def build_optimizer(model: Module, learning_rate: float, weight_decay: float) -> AdamW:
    """Build AdamW; weight decay acts on matrices only.

    Biases and norm gains (one axis) are not decayed: pulling them to zero limits nothing and shifts outputs. Embedding
    tables are not either, whether or not they are tied to the output projection: decay would wear rare rows away,
    which get few gradients. The fused form does the update in one pass over memory.

    Args:
        model: tied parameters are counted once.
        learning_rate: the first one; the trainer sets it anew at each step.
        weight_decay: decoupled decay, a share of the learning rate.

    *Source*: Loshchilov and Hutter 2019 (AdamW); betas and epsilon: Vaswani et al. 2017, section 5.3.
    """
    tables = {id(module.weight) for module in model.modules() if isinstance(module, Embedding)}
    decayed: list[Parameter] = []
    kept: list[Parameter] = []
    for parameter in model.parameters():
        if parameter.requires_grad:
            is_matrix = parameter.dim() >= 2 and id(parameter) not in tables
            (decayed if is_matrix else kept).append(parameter)
    groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": kept, "weight_decay": 0.0}]
    is_fused = all(p.device.type in FUSED_DEVICES and p.is_floating_point() for p in decayed + kept)
    return _LightAdamW(
        [g for g in groups if g["params"]], lr=learning_rate, betas=(0.9, 0.98), eps=1e-9, fused=is_fused
    )


class Schedule(NamedTuple):
    """The learning rate: linear warm-up to the peak, then a cosine down to 2 % of it at the last step."""

    peak: float
    warmup_steps: int
    max_steps: int

    def learning_rate(self, step: int) -> float:
        """Return the rate of a step, counted from 1; a closed form, so that a resumed run continues exactly.

        With w warm-up steps of n: peak t / w for t <= w, then
        peak (0.02 + 0.98 (1 + cos(pi (t - w) / (n - w))) / 2).
        """
        if step < 1:
            raise ValueError(f"steps are counted from 1, got {step}")
        if step <= self.warmup_steps:
            return self.peak * step / self.warmup_steps
        share = min(1.0, (step - self.warmup_steps) / max(1, self.max_steps - self.warmup_steps))
        return self.peak * (FINAL_SHARE + (1.0 - FINAL_SHARE) * 0.5 * (1.0 + math.cos(math.pi * share)))


def clip_gradients(parameters: Iterable[Parameter], max_norm: float, max_value: float = 0.0) -> float:
    """Cut every gradient to [-max_value, max_value], then scale all so that their common norm is at most `max_norm`.

    Args:
        parameters: whose gradients.
        max_norm: 0 = leave the norm.
        max_value: 0 = leave the values.

    Returns:
        The norm before clipping. When it is not finite the gradients are left as they are, to be looked at.
    """
    with_gradient = [p for p in parameters if p.grad is not None]
    gradients = [p.grad for p in with_gradient if p.grad is not None]
    if not gradients:
        return 0.0
    total = torch.nn.utils.get_total_norm(gradients)
    norm = total.item()
    if not math.isfinite(norm):
        return norm
    if max_value > 0.0:
        torch.nn.utils.clip_grad_value_(with_gradient, max_value)
        total = torch.nn.utils.get_total_norm(gradients)
    if 0.0 < max_norm < total.item():
        torch.nn.utils.clip_grads_with_norm_(with_gradient, max_norm, total)
    return norm
