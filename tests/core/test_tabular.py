"""What has an Arrow table is taken by other libraries."""

from __future__ import annotations

import sys

import pyarrow as pa
import pytest

from incrowd.core.tabular import Tabular
from incrowd.errors import BadInputError


class Numbers(Tabular):
    def table(self):
        return pa.table({"n": [1, 2]})


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_to_another_library(name):
    library = pytest.importorskip(name, reason=f"{name} is not installed")
    frame = getattr(Numbers(), f"to_{name}")()
    assert isinstance(frame, library.DataFrame)
    assert frame["n"].to_list() == [1, 2]


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_without_the_library_the_error_says_what_to_do(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(BadInputError, match=f"this needs {name}: pip install {name}, or take table"):
        getattr(Numbers(), f"to_{name}")()


def test_whoever_knows_the_capsule_takes_it():
    assert pa.RecordBatchReader.from_stream(Numbers()).read_all() == Numbers().table()
