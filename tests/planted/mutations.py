"""Every bug that is planted, and those of the numbered list whose code there is not yet."""

from __future__ import annotations

from .in_attention import MASKS, PLACES
from .in_data import DATA
from .in_recurrence import RECURRENCE, STATES
from .in_search import SEARCH, USE
from .in_series import SERIES
from .in_training import LEARNING
from .mutation import Mutation

LAST_NUMBER = 56
MUTATIONS: list[Mutation] = [*MASKS, *PLACES, *STATES, *RECURRENCE, *SEARCH, *USE, *LEARNING, *DATA, *SERIES]

_RANKS = "training runs in one process"
_ONE_BATCH = "one batch is one update: no gradients are accumulated"
NOT_YET: dict[int, tuple[str, str]] = {
    16: (
        "ring buffer one slot too short",
        "no layer keeps a window of keys; `cache blocks` and `convolution state` are near it",
    ),
    30: ("mean per micro-batch, then mean over micro-batches", _ONE_BATCH),
    31: ("token count not summed over ranks", _RANKS),
    32: ("clipping inside the accumulation loop", _ONE_BATCH),
    33: ("scheduler advanced once per micro-batch", _ONE_BATCH),
    43: ("samples duplicated to fill ranks are counted", _RANKS),
}
