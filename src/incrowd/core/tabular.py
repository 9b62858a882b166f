"""Tables for whoever works with another library: what has an Arrow table is a DataFrame, too."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any

import pyarrow as pa

from incrowd.errors import BadInputError

__all__ = ["Tabular"]


class Tabular(ABC):
    """Something that is a table. Libraries that know Arrow's PyCapsule interface take it as it is: ``polars.DataFrame(release)``."""

    @abstractmethod
    def table(self) -> pa.Table:
        """Return it as an Arrow table."""

    def to_pandas(self) -> Any:
        """Return it as a pandas DataFrame."""
        _needed("pandas")
        return self.table().to_pandas()

    def to_polars(self) -> Any:
        """Return it as a Polars DataFrame."""
        return _needed("polars").from_arrow(self.table())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table().__arrow_c_stream__(requested_schema)


def _needed(name: str) -> Any:
    """Import a library that is not installed with incrowd."""
    try:
        return import_module(name)
    except ImportError:
        raise BadInputError(
            f"this needs {name}: pip install {name}, or take table(), which is Arrow's"
        ) from None
