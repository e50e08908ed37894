"""The scan: a linear recurrence over a whole sequence at once, in as many vector steps as doublings reach its length."""

from __future__ import annotations

import torch

from seqline.shapes import Float, Tensor


def scan(
    decay: Float[Tensor, "B T D"], inputs: Float[Tensor, "B T D"], first: Float[Tensor, "B D"]
) -> Float[Tensor, "B T D"]:
    """Return all h_t of h_t = a_t * h_{t-1} + b_t.

    One step is the map h -> a h + b, and two steps in a row are one such map: (a, b) then (a', b') is (a' a, a' b + b').
    After round k each position holds the map of the last 2^k steps up to it, so ceil(log2 T) rounds suffice. There is no
    division by a product of decays, so any a is safe, 0 and 1 included.

    Args:
        decay: a_t.
        inputs: b_t.
        first: h_0, the state before the first step.

    Source: Hillis & Steele 1986, "Data parallel algorithms"; Blelloch 1990, "Prefix sums and their applications".
    """
    a, b = decay, torch.cat([inputs[:, :1] + decay[:, :1] * first[:, None], inputs[:, 1:]], dim=1)
    reach, length = 1, decay.shape[1]
    while reach < length:
        # The first `reach` positions already hold their whole past.
        b = torch.cat([b[:, :reach], b[:, reach:] + a[:, reach:] * b[:, :-reach]], dim=1)
        a = torch.cat([a[:, :reach], a[:, reach:] * a[:, :-reach]], dim=1)
        reach *= 2
    return b
