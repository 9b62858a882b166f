"""What can be said of published records in sums: counted record by record, added up part by part."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from incrowd.core.ragged import list_sums
from incrowd.core.types import Ints, Ints64
from incrowd.release.files.records import Label, Record, RecordTable

__all__ = ["Digest", "digest_of_table"]

SAMPLE = 12


@dataclass
class Digest:
    """Sums over published records.

    Parameters
    ----------
    sizes
        How many distinct records are shared by how many rows.
    lengths
        How many rows have how many items, copies counted.
    rows_with, copies
        In how many rows each label stands, and how often in all.
    sample
        Some distinct records, chosen by a hash of their content, with how many rows share each.
    """

    sizes: Counter[int] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)
    rows_with: Counter[Label] = field(default_factory=Counter)
    copies: Counter[Label] = field(default_factory=Counter)
    sample: list[tuple[bytes, int, Record]] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Records in all."""
        return sum(size * number for size, number in self.sizes.items())

    @property
    def classes(self) -> int:
        """Distinct records."""
        return self.sizes.total()

    @property
    def k_min(self) -> int:
        """How many share the rarest record."""
        return min(self.sizes, default=0)

    def means(self, levels: Mapping[Label, int]) -> tuple[float, float]:
        """Return how many items a record has on average, and on which level of the published taxonomy they are."""
        items = self.copies.total()
        level = sum(copies * levels[label] for label, copies in self.copies.items())
        return items / max(self.rows, 1), level / max(items, 1)

    def fewer_than(self, k: int) -> int:
        """Return how many distinct records fewer than k share."""
        return sum(number for size, number in self.sizes.items() if size < k)

    def add(self, record: Record, size: int) -> None:
        """Count a distinct record that so many rows share."""
        labels, counts = record
        self.sizes[size] += 1
        self.lengths[sum(counts)] += size
        for label, count in zip(labels, counts, strict=True):
            self.rows_with[label] += size
            self.copies[label] += size * count
        self.consider(record, size)

    def consider(self, record: Record, size: int) -> None:
        """Take a distinct record into the sample if its hash is among the least."""
        key = hashlib.blake2b(repr(record).encode(), digest_size=8).digest()
        if len(self.sample) < SAMPLE or key < self.sample[-1][0]:
            self._keep([*self.sample, (key, size, record)])

    def merge(self, other: Digest) -> None:
        """Take over what another part of the same records adds up to."""
        for name in ("sizes", "lengths", "rows_with", "copies"):
            getattr(self, name).update(getattr(other, name))
        self._keep(self.sample + other.sample)

    def _keep(self, candidates: list[tuple[bytes, int, Record]]) -> None:
        self.sample = heapq.nsmallest(SAMPLE, candidates)


def digest_of_table(table: RecordTable) -> Digest:
    """Count the records of a table: the same sums as by `Digest.add`, from its arrays."""
    labels = list(zip(table.labels.to_pylist(), table.exact.tolist(), strict=True))
    rows = np.repeat(table.sizes, np.diff(table.start))
    digest = Digest(
        sizes=_counted(table.sizes, np.ones_like(table.sizes)),
        lengths=_counted(list_sums(table.start, table.counts), table.sizes),
        rows_with=Counter(dict(zip(labels, _summed(table.rank, rows, len(labels)), strict=True))),
        copies=Counter(dict(zip(labels, _summed(table.rank, rows * table.counts, len(labels)), strict=True))),
    )
    for record, size in table.records():
        digest.consider(record, size)
    return digest


def _counted(values: Ints64, times: Ints64) -> Counter[int]:
    distinct, place = np.unique(values, return_inverse=True)
    return Counter(dict(zip(distinct.tolist(), _summed(place, times, len(distinct)), strict=True)))


def _summed(place: Ints, times: Ints64, places: int) -> list[int]:
    # Sums of integers are exact in doubles up to 2^53.
    return [int(total) for total in np.bincount(place, weights=times, minlength=places).tolist()]
