"""How much memory a job takes, told before it takes it.

Reading spills to the disk what does not fit. Grouping, measuring and auditing work in memory, and what they need grows
with the records, the items in them and the distinct items. The sizes below are of the largest step of each method, measured
with `benchmarks/full_size.py` and rounded up: a job that fits is not killed half way, and one that does not is
refused with the number that would do.
"""

from __future__ import annotations

import os
import re
from math import ceil
from pathlib import Path
from typing import NamedTuple

from incrowd.errors import BadInputError
from incrowd.transactions import Transactions

__all__ = ["check_memory", "machine_memory", "needed_memory", "parse_memory", "spell_memory"]

LEAST = 640 * 1000**2
SHARE = 0.75
"""Of the machine's memory: what a job may take if nobody says otherwise."""
CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max")
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


class Needs(NamedTuple):
    """Bytes for each record, each entry (an item of a record, repeats apart) and each distinct item."""

    record: int
    entry: int
    distinct: int


BASE = 450 * 1000**2
"""The program, its libraries, WordNet and compiled kernels."""
NEEDS = {"partition": Needs(250, 85, 420)}
OTHERS = Needs(250, 120, 420)


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


def spell_memory(size: float) -> str:
    """Return a number of bytes as a size that is not smaller."""
    return f"{ceil(size / 1e8) / 10:.1f}GB"


def machine_memory() -> str:
    """Return what a job may take of this machine, or of the part of it that this process was given."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        given = int(CONTROL_GROUP.read_text(encoding="ascii"))
    except (OSError, ValueError):  # no control group, or one without a limit
        given = whole
    return f"{max(int(SHARE * min(whole, given)), LEAST) // 1000**2}MB"


def needed_memory(transactions: Transactions, method: str) -> int:
    """Return how many bytes a method, the measures and the audit take for these transactions."""
    needs = NEEDS.get(method, OTHERS)
    return (
        BASE
        + needs.record * len(transactions)
        + needs.entry * len(transactions.items)
        + needs.distinct * len(transactions.vocabulary)
        + 4 * int(transactions.vocabulary.nbytes)
    )


def check_memory(transactions: Transactions, method: str, memory: str | int) -> None:
    """Refuse a job that would take more memory than it may."""
    needed = needed_memory(transactions, method)
    if needed > parse_memory(memory):
        sizes = f"{len(transactions):,} records of {len(transactions.vocabulary):,} distinct items"
        raise BadInputError(
            f"memory of {memory} is too little for {sizes} with method {method}: give --memory {spell_memory(needed)}, "
            "or fewer records"
        )
