"""One planted bug: a text of one source file, what stands there instead, and the tests that must notice."""

from __future__ import annotations

from typing import NamedTuple

LAW = "tests/laws/test_laws.py::test_law_holds"
TEXT_LAW = "tests/laws/test_language_models.py::test_law_holds"


class Mutation(NamedTuple):
    """A bug to plant.

    name: the number of the bug and a letter for each place it is planted at; no number: a bug of one part of ours.
    what: the bug. file: below src/seqline. old: stands there exactly once. new: one line as well, of the same shapes.
    tests: node ids, `*` for anything, a test without brackets with all its parameters. laws: what they are tests of.
    """

    name: str
    what: str
    file: str
    old: str
    new: str
    tests: list[str]
    laws: str
