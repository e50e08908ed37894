"""One training in a process of its own: `python -m seqline.comparing.child CONFIG.toml RUN --parent=PID [--resume]`.

It is `seqline train` and two things more: at its end one JSON object on stdout says the most memory that the process held,
and it ends when its parent does.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from seqline.machine import peak_memory


def main(arguments: list[str]) -> int:
    """Train, and say how it ended."""
    config_file, out, parent, *rest = arguments
    # On Windows the program of a virtual environment starts another, which is the parent then.
    number = os.getppid() if os.name == "nt" else int(parent.removeprefix("--parent="))
    answer, code = work(config_file, out, is_resumed="--resume" in rest, parent=number)
    print(json.dumps({**answer, "peak_memory_bytes": peak_memory()}), flush=True)
    return code


def work(config_file: str, out: str, *, is_resumed: bool, parent: int | None = None) -> tuple[dict[str, Any], int]:
    """Train in this process; return how it ended, and the exit status. parent: the process whose end ends it too."""
    from seqline.config import load_config
    from seqline.errors import Stopped, UserError
    from seqline.run import train
    from seqline.training.callbacks import ProgressLine, stop_on_signals

    try:
        with stop_on_signals() as asked:
            should_stop = asked if parent is None else _or_orphaned(asked, parent)
            trained = train(
                load_config(config_file),
                out,
                resume=is_resumed,
                callbacks=[ProgressLine()],
                should_stop=should_stop,
                say=lambda line: print(line, file=sys.stderr, flush=True),
            )
    except UserError as error:
        return {"error": str(error)}, 2
    except Stopped as error:
        return {"error": None, "ended": error.reason}, 0
    except MemoryError:
        return {"error": "out of memory"}, 2
    return {"error": None, "ended": trained.result.reason}, 0


def _or_orphaned(asked: Callable[[], str | None], parent: int) -> Callable[[], str | None]:
    """Return what also stops when the parent is gone, so that no training goes on that nobody waits for."""
    return lambda: asked() or (None if os.getppid() == parent else "terminated")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
