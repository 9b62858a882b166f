"""Whether a written release holds a word that its publisher never publishes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incrowd.auditing.result import Audit
from incrowd.core.types import Bools

__all__ = ["UNKNOWN_LIST", "check_never"]

UNKNOWN_LIST = "that no word of the publisher's list is published: that takes the list"
# Names of classes that the program makes: they are no words of anybody's.
_MADE = r"^(anything|unlisted|group)[^ ]*( [0-9]{1,9}\.[0-9]{1,9})?$"


def check_never(directory: Path, found_in: Callable[[pa.Array], Bools], result: Audit) -> None:
    """Look for words of a list in all texts of a release's tables; which they are is not said.

    Parameters
    ----------
    directory
        The release.
    found_in
        Tells which texts hold a word of the list.
    result
        Gets what is found.
    """
    with result.checking("no published text holds a word of the publisher's list"):
        files = [path for path in sorted(directory.rglob("*.parquet")) if path.is_file()]
        texts = pc.unique(pa.chunked_array([one for path in files for one in _texts(path)], pa.string()))
        wrong = int(np.count_nonzero(found_in(texts)))
        result.require(
            wrong=bool(wrong), problem=f"{wrong:,} published texts hold a word that is never published"
        )


def _texts(path: Path) -> Iterator[pa.Array]:
    """Yield the distinct texts of each column of a table, but for names that the program makes."""
    for column in pq.read_table(path).columns:
        flat = pc.list_flatten(column) if pa.types.is_list(column.type) else column
        if pa.types.is_string(flat.type):
            texts = pc.drop_null(pc.unique(flat))
            yield texts.filter(pc.invert(pc.match_substring_regex(texts, _MADE)))
