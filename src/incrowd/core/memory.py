"""Estimates how much memory a job takes, so that a job that does not fit is refused before it starts.

Reading spills to the disk what does not fit. Grouping, measuring and auditing work in memory, and what they need grows
with the records, the items in them and the distinct items. The sizes below are of the largest step of each method, measured
with `benchmarks/full_size.py` and rounded up. A job that does not fit is refused with the amount that would be enough.
"""

from __future__ import annotations

import os
import re
from math import ceil
from pathlib import Path
from typing import NamedTuple, Self

import pyarrow as pa

from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError, option

__all__ = [
    "Footprint",
    "Sizes",
    "check_memory",
    "format_memory",
    "machine_memory",
    "needed_memory",
    "parse_memory",
]

LEAST = 640 * 1000**2
SHARE = 0.75
"""The share of the machine's memory that a job may take by default."""
CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max")
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


BASE = 450 * 1000**2
"""The program, its libraries, WordNet and compiled kernels."""


class Footprint(NamedTuple):
    """Bytes of memory that a method, the measures and the audit take for each item of a record, each record and each distinct item."""

    entry: int
    record: int = 250
    distinct: int = 420


class Sizes(NamedTuple):
    """What the memory of a job grows with: its records, the items in all of them, and the distinct items."""

    records: int
    entries: int
    vocabulary: pa.Array

    @classmethod
    def of(cls, transactions: Transactions) -> Self:
        """Return the sizes of transactions that are in memory already."""
        return cls(len(transactions), len(transactions.items), transactions.vocabulary)


def parse_memory(text: str | int) -> int:
    """Return a number of bytes for a size such as ``"4GB"``, ``"800MiB"`` or ``"1.5g"``."""
    match = _SIZE.fullmatch(str(text))
    if not match:
        raise BadInputError(f"memory must be a size like 4GB or 800MB (got '{text}')")
    number, prefix, binary = match.groups()
    size = int(float(number) * (1024 if binary else 1000) ** " kmgt".index(prefix.lower() or " "))
    if size < LEAST:
        raise BadInputError(f"memory must be at least 640MB (got '{text}')")
    return size


def format_memory(size: float) -> str:
    """Return a number of bytes as a size that is not smaller."""
    return f"{ceil(size / 1e8) / 10:.1f}GB"


def machine_memory() -> str:
    """Return the default memory of a job: a share of the machine's, or of the control group's limit."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        given = int(CONTROL_GROUP.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no control group, or one without a limit
        given = whole
    return f"{max(int(SHARE * min(whole, given)), LEAST) // 1000**2}MB"


def needed_memory(sizes: Sizes, footprint: Footprint) -> int:
    """Return how many bytes a method, the measures and the audit take."""
    return (
        BASE
        + footprint.record * sizes.records
        + footprint.entry * sizes.entries
        + footprint.distinct * len(sizes.vocabulary)
        + 4 * int(sizes.vocabulary.nbytes)
    )


def check_memory(
    sizes: Sizes, method: str, footprint: Footprint, memory: str | int, *, is_secret: bool = False
) -> None:
    """Refuse a job that would take more memory than it may; where sizes are secret, without them."""
    needed = needed_memory(sizes, footprint)
    if needed > parse_memory(memory):
        if is_secret:
            raise BadInputError(
                f"memory of {memory} is too little for this input with method {method}: give more ({option('memory', '16GB')})"
            )
        what = f"{sizes.records:,} records of {len(sizes.vocabulary):,} distinct items"
        raise BadInputError(
            f"memory of {memory} is too little for {what} with method {method}: give {option('memory', format_memory(needed))}, "
            "or fewer records"
        )
