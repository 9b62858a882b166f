"""Libraries that stay out of a process that does not use them.

Where pandas and SciPy are installed, Arrow imports the one and Numba the other without being asked to: half a second at
the start of every program. Only a program of our own may leave them out; whoever uses the package may need them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

__all__ = ["leave_out_unused", "let_in_again"]

UNUSED = frozenset({"pandas", "scipy"})


class _NotFound(MetaPathFinder):
    """Finds nothing of the libraries that are left out, as if they were not installed."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> None:
        """Refuse to look for a module of a library that is left out; leave all others to the next finder."""
        if fullname.partition(".")[0] in UNUSED:
            raise ModuleNotFoundError(f"{fullname} is left out of this program", name=fullname)


_NOT_FOUND = _NotFound()


def leave_out_unused() -> None:
    """Let imports of pandas and SciPy fail in this process from now on; modules that are imported stay.

    A gateway's worker calls it after Numba has imported SciPy's first module, to look at its version.
    """
    if _NOT_FOUND not in sys.meta_path:
        sys.meta_path.insert(0, _NOT_FOUND)


def let_in_again() -> None:
    """Let pandas and SciPy be imported: PySpark needs pandas."""
    if _NOT_FOUND in sys.meta_path:
        sys.meta_path.remove(_NOT_FOUND)
