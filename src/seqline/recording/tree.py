"""The tree of a beam search: every hypothesis that was kept and those that just missed, and where each of them read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from seqline.decoding.hypothesis import Hypothesis, Penalty
from seqline.recording.attention import ATTENTION
from seqline.recording.frames import to_array
from seqline.recording.sides import is_mixer
from seqline.shapes import Tensor
from seqline.state import Decoder, select
from seqline.watch import Frame, watch


@dataclass
class Tree:
    """Nodes as they grow; `paths`: the tokens to each; `live`: the nodes of the live rows of each step, the root's -1 first."""

    nodes: list[dict[str, Any]] = field(default_factory=list)
    paths: list[tuple[int, ...]] = field(default_factory=list)
    live: list[list[int]] = field(default_factory=lambda: [[-1]])
    rows: list[Tensor] = field(default_factory=list)

    def total(self, node: int) -> float:
        """Return the log-probability of the tokens to a node."""
        return self.nodes[node]["sum"] if node >= 0 else 0.0

    def path(self, node: int) -> tuple[int, ...]:
        """Return the tokens to a node."""
        return self.paths[node] if node >= 0 else ()


def tree_of(
    frames: Sequence[Frame], beam_size: int, penalty: Penalty, describe: Callable[[int], dict[str, Any]]
) -> Tree:
    """Build the tree of one sentence from the frames of its search.

    Args:
        frames: one a step, of the part `beam`.
        beam_size: as many hypotheses that just missed are kept a step.
        penalty: of the search.
        describe: an id to a Token.
    """
    tree = Tree()
    for t, frame in enumerate((f for f in frames if f.part == "beam"), 1):
        grown = _kept(tree, frame) + _missed(tree, frame, beam_size)
        first = len(tree.nodes)
        order = sorted(range(len(grown)), key=lambda i, grown=grown: -grown[i][2])
        for number, (parent, token, total, state) in enumerate(grown):
            tree.paths.append((*tree.path(parent), token))
            tree.nodes.append(
                {
                    "id": first + number,
                    "parent": parent if parent >= 0 else None,
                    "t": t,
                    "token": describe(token),
                    "logp": total - tree.total(parent),
                    "sum": total,
                    "norm": penalty.score(total, t),
                    "rank": order.index(number),
                    "state": state,
                }
            )
        rows = frame.values["rows"]
        tree.rows.append(frame.values["parent"][rows])
        tree.live.append([first + int(row) for row in rows])
    return tree


Grown = tuple[int, int, float, str]


def _kept(tree: Tree, frame: Frame) -> list[Grown]:
    values = frame.values
    return [
        (tree.live[-1][parent], token, total, "done" if ended else "live")
        for parent, token, total, ended in zip(
            values["parent"].tolist(),
            values["tokens"][:, -1].tolist(),
            values["log_probability"].tolist(),
            values["has_ended"].tolist(),
            strict=True,
        )
    ]


def _missed(tree: Tree, frame: Frame, most: int) -> list[Grown]:
    """Return the best continuations that got no place."""
    values = frame.values
    taken = set(zip(values["parent"].tolist(), values["tokens"][:, -1].tolist(), strict=True))
    others = [
        (tree.live[-1][row], token, tree.total(tree.live[-1][row]) + value, "pruned")
        for row, (ids, logs) in enumerate(zip(values["ids"].tolist(), values["values"].tolist(), strict=True))
        for token, value in zip(ids, logs, strict=True)
        if (row, token) not in taken and value > float("-inf")
    ]
    return sorted(others, key=lambda one: -one[2])[:most]


def beam_block(tree: Tree, best: Hypothesis, beam_size: int, penalty: str, rows: np.ndarray | None) -> dict[str, Any]:
    """Return the block `beam`; `rows` [nodes S] say where each node's token read."""
    name, _, exponent = penalty.partition(":")
    kind = {"none": "none", "gnmt": "gnmt"}.get(name, "mean")
    return {
        "beam_size": beam_size,
        "length_penalty": {"kind": kind, "alpha": float(exponent) if exponent else None},
        "nodes": tree.nodes,
        "best": next(i for i, path in enumerate(tree.paths) if path == best.ids and tree.nodes[i]["state"] == "done"),
        "attention": rows,
    }


@torch.no_grad()
def rows_read(tree: Tree, decoder: Decoder, memory: Any, bos_id: int) -> np.ndarray | None:
    """Return where each node's token read, the mean over layers and heads [nodes S]; None where nothing is read so.

    All live hypotheses are one batch, whose states follow the parents as in the search.
    """
    device = tree.rows[0].device
    state, found = decoder.initial_state(memory, 1), []
    for t, live in enumerate(tree.live[:-1]):
        last = [tree.path(node)[-1] if node >= 0 else bos_id for node in live]
        of_one = select(memory, torch.zeros(len(live), dtype=torch.long, device=device))
        with watch(decoder if isinstance(decoder, torch.nn.Module) else None, only=ATTENTION) as frames:
            _, state = decoder(torch.tensor(last, device=device)[:, None], state, of_one)
        weights = [to_array(frame.values["weights"]) for frame in frames if not is_mixer(frame)]
        if not weights:
            return None
        mean = np.mean([w.mean(1)[:, -1] if w.ndim == 4 else w[:, -1] for w in weights], axis=0)
        row_of = {node: mean[row] for row, node in enumerate(live)}
        found += [row_of[_parent(node)] for node in tree.nodes if node["t"] == t + 1]
        state = select(state, tree.rows[t])
    return np.stack(found)


def _parent(node: dict[str, Any]) -> int:
    return -1 if node["parent"] is None else node["parent"]
