"""Parts of the program that need packages beyond the usual ones: extras of the installation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from incrowd.errors import BadInputError

__all__ = ["importing_extra"]


@contextmanager
def importing_extra(name: str) -> Iterator[None]:
    """Let imports of a part that is named as its extra say what to install, where a package is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("incrowd"):
            raise
        raise BadInputError(
            f"the {name} needs the package '{error.name}': pip install 'incrowd[{name}]'"
        ) from None
