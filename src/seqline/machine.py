"""What a measurement ran on, how many threads it took, and the most memory that its process held."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch

CPUINFO, STATUS = Path("/proc/cpuinfo"), Path("/proc/self/status")


def described() -> dict[str, str | int]:
    """Return system, kind of machine, the processor's name and its cores, for what lies beside a measured time."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
    }


def said(machine: Mapping[str, str | int]) -> str:
    """Say in a few words what `described` gave."""
    cores = machine["cores"]
    return f"{machine['processor']}, {cores} core{'' if cores == 1 else 's'}, {machine['system']} {machine['machine']}"


def _processor() -> str:
    """Return the processor's name; Linux says it in a file, the others to `platform`."""
    if CPUINFO.exists():
        for line in CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def peak_memory() -> int | None:
    """Return the most memory that this process held, in bytes; None where the system does not tell.

    Linux counts what a parent held before the fork into the usage that it reports, so its own record is asked first.
    """
    if STATUS.exists():
        for line in STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    if os.name == "nt":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Let torch compute with so many CPU threads, and afterwards with as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
