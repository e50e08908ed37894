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
from pathlib import Path

import torch
from running import chosen, markdown

from seqline.lab.cost import LAYERS, LENGTHS, MODELS, WIDTH, Cost, make_model, measure_costs
from seqline.run import num_parameters

PICTURE = Path("docs/pictures/token-cost.png")
Costs = dict[str, dict[int, Cost]]


def micros(cost: Cost) -> float:
    """Return the median microseconds of a token."""
    return 1e6 * statistics.median(cost.seconds)


def tables(found: Costs, names: list[str]) -> list[str]:
    """Return both tables, the growth from the shortest to the longest context in their last row."""
    columns = ("context", *(f"`{name}`" for name in names))
    times = [[f"{n:,}", *(f"{micros(found[name][n]):,.0f}" for name in names)] for n in LENGTHS]
    sizes = [[f"{n:,}", *(f"{found[name][n].state_bytes / 1024:,.1f}" for name in names)] for n in LENGTHS]
    ends = [(found[name][LENGTHS[0]], found[name][LENGTHS[-1]]) for name in names]
    times.append(["last / first", *(f"{micros(last) / micros(first):.2f}" for first, last in ends)])
    sizes.append(["last / first", *(f"{last.state_bytes / first.state_bytes:.2f}" for first, last in ends)])
    return [
        "**microseconds a token**",
        "",
        *markdown(columns, times),
        "",
        "**KiB of state**",
        "",
        *markdown(columns, sizes),
    ]


def plot(found: Costs, names: list[str]) -> None:
    """Draw both quantities against the context, both axes logarithmic."""
    try:
        import matplotlib
    except ImportError as error:
        raise SystemExit("--plot needs matplotlib: pip install -e '.[bench]' -c constraints.txt") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, marker in zip(names, "os^vD", strict=False):
        left.plot(LENGTHS, [micros(found[name][length]) for length in LENGTHS], marker=marker, label=name)
        right.plot(LENGTHS, [found[name][length].state_bytes / 1024 for length in LENGTHS], marker=marker, label=name)
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
    found = measure_costs(models, LENGTHS, given.repeats)
    sizes = ", ".join(f"`{name}` {num_parameters(model):,}" for name, model in models.items())
    print(f"Width {WIDTH}, {LAYERS} layers, batch 1, one thread, torch {torch.__version__}. Parameters: {sizes}.\n")
    print("\n".join(tables(found, names)))
    if given.plot:
        plot(found, names)


if __name__ == "__main__":
    main()
