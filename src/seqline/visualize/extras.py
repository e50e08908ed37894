"""Packages that are not always installed: one line that says which extra brings one."""

from __future__ import annotations

import importlib.util

from seqline.errors import UserError


def require(module: str, extra: str, what: str) -> None:
    """Refuse in one line when a package is missing.

    Args:
        module: The package's import name.
        extra: The extra of seqline that brings it.
        what: What was to be done with it.

    Raises:
        UserError: the package is not installed.
    """
    if importlib.util.find_spec(module) is None:
        raise UserError(f"{what} needs {module}, which is not installed", fix=f'pip install "seqline[{extra}]"')
