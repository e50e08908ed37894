"""Measure what one more token costs, and how large the state is, against the length of the context; print a Markdown table.

    python benchmarks/token_cost.py
    python benchmarks/token_cost.py --plot

Language models of one width with random weights (the time does not depend on them), batch 1, one thread. A context is read
once, in pieces; from the state behind it, always the same one, 16 tokens are then decoded one by one, many times over, the
models taking turns so that a busy moment of the machine meets all of them. The time is the median over the repeats of the mean
of the 16, which is an inner batch of TTT. --plot writes docs/pictures/token-cost.png and needs matplotlib.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch
from running import chosen, markdown

from seqline.architectures import ARCHITECTURES
from seqline.architectures.recipe import Vocabulary
from seqline.models.language_model import LanguageModel
from seqline.run import num_parameters
from seqline.state import tensors_of

WIDTH, LAYERS, PIECES = 128, 2, 69
RECURRENT = {"embed_size": WIDTH, "hidden_size": WIDTH, "num_layers": LAYERS, "dropout": 0.0}
BLOCKS = {"embed_size": WIDTH, "num_heads": 4, "inner_size": 4 * WIDTH, "num_layers": LAYERS, "dropout": 0.0}
MODELS: dict[str, dict[str, Any]] = {
    "lstm": RECURRENT,
    "gru": RECURRENT,
    "transformer": BLOCKS,
    "ttt-linear": BLOCKS,
    "ttt-mlp": BLOCKS,
}
LENGTHS = [2**power for power in range(6, 14)]  # 64 to 8,192
READ_AT_ONCE, DECODED = 64, 16
PICTURE = Path("docs/pictures/token-cost.png")


class Cost(NamedTuple):
    """What one more token costs behind a context: seconds, and bytes of the state."""

    seconds: float
    state_bytes: int


def make_model(name: str) -> LanguageModel:
    """Return a model with random weights, ready for use."""
    recipe = ARCHITECTURES[name]
    assert recipe.language_model is not None
    return recipe.language_model(recipe.settings(**MODELS[name]), Vocabulary(PIECES, PIECES, True)).eval()


def read(model: LanguageModel, ids: torch.Tensor, state: Any) -> Any:
    """Return the state behind a text [1 T], read on from `state`."""
    for piece in ids.split(READ_AT_ONCE, dim=1):
        _, state = model(piece, state)
    return state


def decode(model: LanguageModel, ids: torch.Tensor, state: Any) -> float:
    """Return the mean seconds of a token, decoded one by one."""
    began = time.perf_counter()
    for token in ids.split(1, dim=1):
        _, state = model(token, state)
    return (time.perf_counter() - began) / ids.shape[1]


@torch.inference_mode()
def measure(models: dict[str, LanguageModel], repeats: int) -> dict[int, dict[str, Cost]]:
    """Measure every model behind every context."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(4, PIECES, (1, LENGTHS[-1] + DECODED), generator=generator)
    states = {name: model.initial_state(None, 1) for name, model in models.items()}
    found: dict[int, dict[str, Cost]] = {}
    done = 0
    for length in LENGTHS:
        states = {name: read(model, ids[:, done:length], states[name]) for name, model in models.items()}
        done, following = length, ids[:, length : length + DECODED]
        seconds: dict[str, list[float]] = {name: [] for name in models}
        for turn in range(repeats + 1):
            for name, model in models.items():
                spent = decode(model, following, states[name])
                if turn:  # the first one pays for first use
                    seconds[name].append(spent)
        sizes = {name: sum(t.numel() * t.element_size() for t in tensors_of(state)) for name, state in states.items()}
        found[length] = {name: Cost(statistics.median(seconds[name]), sizes[name]) for name in models}
    return found


def tables(found: dict[int, dict[str, Cost]], names: list[str]) -> list[str]:
    """Return both tables, the growth from the shortest to the longest context in their last row."""
    columns = ("context", *(f"`{name}`" for name in names))
    first, last = found[LENGTHS[0]], found[LENGTHS[-1]]
    times = [[f"{length:,}", *(f"{1e6 * row[name].seconds:,.0f}" for name in names)] for length, row in found.items()]
    sizes = [
        [f"{length:,}", *(f"{row[name].state_bytes / 1024:,.1f}" for name in names)] for length, row in found.items()
    ]
    times.append(["last / first", *(f"{last[name].seconds / first[name].seconds:.2f}" for name in names)])
    sizes.append(["last / first", *(f"{last[name].state_bytes / first[name].state_bytes:.2f}" for name in names)])
    return [
        "**microseconds a token**",
        "",
        *markdown(columns, times),
        "",
        "**KiB of state**",
        "",
        *markdown(columns, sizes),
    ]


def plot(found: dict[int, dict[str, Cost]], names: list[str]) -> None:
    """Draw both quantities against the context, both axes logarithmic."""
    try:
        import matplotlib
    except ImportError as error:
        raise SystemExit("--plot needs matplotlib: pip install -e '.[bench]' -c constraints.txt") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, marker in zip(names, "os^vD", strict=False):
        left.plot(LENGTHS, [1e6 * found[length][name].seconds for length in LENGTHS], marker=marker, label=name)
        right.plot(LENGTHS, [found[length][name].state_bytes / 1024 for length in LENGTHS], marker=marker, label=name)
    for axis, title in ((left, "microseconds a token"), (right, "KiB of state")):
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks(LENGTHS, [f"{length:,}" for length in LENGTHS])
        axis.set_xlabel("tokens read before")
        axis.set_title(title)
        axis.grid(alpha=0.3)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=len(names))
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=120, metadata={"Software": None})
    print(f"\n{PICTURE}")


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="a,b,c; all by default")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--plot", action="store_true", help=f"write {PICTURE}")
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    names = chosen(given.only, list(MODELS))
    models = {name: make_model(name) for name in names}
    found = measure(models, given.repeats)
    sizes = ", ".join(f"`{name}` {num_parameters(model):,}" for name, model in models.items())
    print(f"Width {WIDTH}, {LAYERS} layers, batch 1, one thread, torch {torch.__version__}. Parameters: {sizes}.\n")
    print("\n".join(tables(found, names)))
    if given.plot:
        plot(found, names)


if __name__ == "__main__":
    main()
