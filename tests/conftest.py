"""What every test shares: one thread, fixed seeds, and how hard Hypothesis looks."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from hypothesis import settings

from .small_run import ReversingRun, make_reversing_run

# One thread a process: the test processes share two cores, and sums keep their order.
torch.set_num_threads(1)

# The same examples in every run; `pytest --hypothesis-profile nightly` looks for new ones.
settings.register_profile("fast", derandomize=True, deadline=None, max_examples=40)
settings.register_profile("nightly", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("fast")


@pytest.fixture(autouse=True)
def reset_seeds() -> None:
    """Start every test from the same global random state, so that no test depends on the one before it."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 (libraries that still draw from the global state)
    torch.manual_seed(0)


@pytest.fixture
def rng() -> torch.Generator:
    """Return a fresh generator with a fixed seed, for tests that pass chance in as an argument."""
    return torch.Generator().manual_seed(0)


@pytest.fixture(scope="session")
def reversing_run(tmp_path_factory: pytest.TempPathFactory) -> ReversingRun:
    """Train one small model, once a process: letters backwards, mostly right. Nobody may change its folder."""
    return make_reversing_run(tmp_path_factory.mktemp("reversing"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what a long test found, whichever process ran it."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, text in report.user_properties:
                if name == "summary":
                    terminalreporter.write_line(str(text))
