"""The most memory of a process that trains: `python -m seqline.lab.peak MODEL LENGTH`, on one row of so many tokens.

It prints one JSON object: the most that was held before the first update and after it, in bytes; null where the system does
not tell. Each measurement is a process of its own, for a peak never falls again.
"""

from __future__ import annotations

import json
import subprocess
import sys

from seqline.machine import peak_memory


def added_by_update(model: str, length: int) -> int | None:
    """Return by how many bytes an update raises the peak of a new process; None where neither it nor the system tells.

    Args:
        model: as `parallelism.make_model` takes it.
        length: tokens of the row.
    """
    command = [sys.executable, "-m", "seqline.lab.peak", model, str(length)]
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8")
    if done.returncode:  # it had too little memory, for one
        return None
    told = json.loads(done.stdout.splitlines()[-1])
    return None if told["before"] is None else told["after"] - told["before"]


def main(arguments: list[str]) -> None:
    """Train, and say how much memory it took."""
    import torch

    from seqline.lab.parallelism import make_model, train_step

    torch.set_num_threads(1)
    length = int(arguments[1])
    step = train_step(make_model(arguments[0]), length, length)
    before = peak_memory()
    step()
    print(json.dumps({"before": before, "after": peak_memory()}))


if __name__ == "__main__":
    main(sys.argv[1:])
