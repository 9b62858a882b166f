"""The local engine's release: records, the taxonomy that explains them, a manifest and a report; or a list of noisy counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.auditing.audit import audit
from incrowd.auditing.history import Chain
from incrowd.auditing.owners import Originals
from incrowd.auditing.result import Audit
from incrowd.core.claims import Claim
from incrowd.core.classes import WITHHELD, Classes
from incrowd.core.ragged import count_distinct, starts_of
from incrowd.core.shown import html_table
from incrowd.core.tabular import Tabular
from incrowd.core.transactions import Transactions
from incrowd.core.types import Progress
from incrowd.metrics import Bound, Losses, Utility, bound_of, measure_losses, measure_utility
from incrowd.metrics.listed import use_of_list_of_pairs, use_of_weekly_list
from incrowd.metrics.use import Use, use_of_classes
from incrowd.release.describe import Counts, rounded_withheld
from incrowd.release.files.digest import Digest, digest_of_table
from incrowd.release.files.heading import NO_HEADING, Heading
from incrowd.release.files.manifest import Bin, Manifest
from incrowd.release.files.nodes import PublishedNodes
from incrowd.release.files.noisy_list import ListParameters, NoisyList, write_list
from incrowd.release.files.records import RECORDS_SCHEMA, Record, shown
from incrowd.release.history import Following, past_notes, past_of
from incrowd.release.lengths import lengths_of
from incrowd.release.private_map import PrivateMap
from incrowd.release.publication import RecordsPublication
from incrowd.release.rows import Entries, Records, entries_of, published_taxonomy, records_of
from incrowd.release.shares import Shares
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Release"]

SHOWN = 10  # records, or queries, in a notebook


@dataclass(frozen=True, eq=False)
class Release(RecordsPublication, Tabular):
    """The result of a method, ready to be written. It holds the originals too: keep the object private.

    Parameters
    ----------
    method, parameters
        How it was made; the parameters include k and the seed.
    claim
        What is promised of it.
    transactions, taxonomy, classes
        What it was made from, and what the method decided.
    following
        What it knows of the people of earlier releases, where it follows others.
    """

    method: str
    parameters: Mapping[str, Any]
    claim: Claim
    transactions: Transactions
    taxonomy: Taxonomy
    classes: Classes
    following: Following | None = None

    @property
    def is_list(self) -> bool:
        """Whether it is a list with noisy counts, and no one's records."""
        return self.claim.kind == "differential privacy"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the method has to tell of its work."""
        return self.classes.notes

    @cached_property
    def entries(self) -> Entries:
        """What every class publishes, by name."""
        return entries_of(self.classes, self.taxonomy)

    @property
    def named(self) -> PublishedNodes:
        """What the published nodes are called."""
        return self.entries.named

    @cached_property
    def records(self) -> Records:
        """The published records, sorted, and (privately) who owns which."""
        return records_of(
            self.classes, self.entries, None if self.following is None else self.following.group
        )

    @cached_property
    def digest(self) -> Digest:
        """The published records in sums."""
        return digest_of_table(self.records)

    @cached_property
    def published_taxonomy(self) -> pa.Table:
        """The published labels and all above them."""
        return published_taxonomy(self.entries)

    @cached_property
    def losses(self) -> Losses:
        """What the release loses of the originals."""
        return measure_losses(self.transactions, self.taxonomy, self.classes)

    @cached_property
    def bound(self) -> Bound | None:
        """What no method can lose less than; None where that cannot be said of a release of this kind."""
        return bound_of(self.transactions, self.taxonomy, self.classes, self.claim)

    @cached_property
    def utility(self) -> Utility:
        """What the release is worth to its readers, and how far it can be traced back."""
        return measure_utility(self.transactions, self.taxonomy, self.classes)

    @cached_property
    def use(self) -> Use:
        """How far off counts from the release are."""
        second = self.classes.second
        if self.is_list and self.parameters.get("weeks") is not None:
            return use_of_weekly_list(
                self.transactions, self.taxonomy, self.classes, self.parameters["weeks"]
            )
        if second is not None:
            return use_of_list_of_pairs(self.transactions, self.taxonomy, self.classes, second)
        return use_of_classes(self.transactions, self.taxonomy, self.classes)

    @cached_property
    def counts(self) -> Counts:
        """How many records came in, went out, were withheld; how many distinct ones; the smallest class. Private."""
        if self.is_list:
            rows = len(self.transactions)
            return Counts(rows, 0, rows, groups=0, k_min=0, people_min=0, labels=len(self.noisy_list))
        return Counts(
            records_in=len(self.transactions),
            records_out=self.records.rows,
            withheld=self.classes.withheld,
            groups=len(self.records),
            k_min=int(self.records.sizes.min(initial=self.records.rows)),
            people_min=self.people_min,
            labels=len(self.records.labels),
        )

    @cached_property
    def people_min(self) -> int:
        """The least number of different people who share a record."""
        row_of, person = self.records.row_of, self.transactions.person
        record_of_row = np.repeat(np.arange(len(self.records)), self.records.sizes)
        published = row_of != WITHHELD
        people = count_distinct(record_of_row[row_of[published]], person[published], len(self.records))
        people += np.bincount(record_of_row[self.records.row_of_left], minlength=len(people))
        return int(people.min(initial=self.records.rows))

    @cached_property
    def lengths(self) -> list[Bin]:
        """The lengths of the originals of the published records, in bins of at least k."""
        left = 0 if self.classes.left is None else len(self.classes.left)
        return lengths_of(self.transactions, self.classes.of_row != WITHHELD, self.claim.least, left=left)

    @property
    def silent_people(self) -> int:
        """How many different people the withheld records belong to."""
        return len(np.unique(self.transactions.person[self.classes.of_row == WITHHELD]))

    @property
    def shares(self) -> Shares | None:
        """Who got which record; None where records are no one's. Private."""
        classes = self.classes
        if self.is_list or classes.copies is not None:
            return None
        shown = classes.of_row != WITHHELD
        labels = list(zip(self.entries.labels.to_pylist(), self.entries.exact.tolist(), strict=True))
        held = classes.of_row[shown].astype(np.int64)
        counts, other = classes.counts.tolist(), classes.stands_for
        stands_for = None if other is None else (other.start, other.nodes)
        return Shares(starts_of(shown), held, classes.start, classes.nodes, labels, counts, stands_for)

    def table(self) -> pa.Table:
        """Return what is published as an Arrow table: the records, or the list."""
        if self.is_list:
            return self.noisy_list.table()
        return pa.Table.from_batches(self.records.batches(), schema=RECORDS_SCHEMA)

    @property
    def noisy_list(self) -> NoisyList:
        """What is listed with noisy counts, where that is what is published."""
        second = () if self.classes.second is None else (self.classes.second.texts,)
        return NoisyList.of(self.list_parameters.form, (self.classes.texts, *second), self.classes.counts)

    @property
    def list_parameters(self) -> ListParameters:
        """The parameters of a list, as its manifest names them."""
        own = {name: self.parameters[name] for name in ("d", "eps", "delta")} | {"unit": self.claim.unit}
        if "rounds" in self.parameters:
            names = (
                "of",
                "rounds",
                "counts",
                *(() if self.parameters["weeks"] is None else ("since", "weeks")),
            )
            how = {name: self.parameters[name] for name in names}
            within = self.transactions.unit if how["of"] == "pairs" else None
            own["union"] = how | {"items": self.transactions.kind, "within": within}
        return msgspec.convert(own, ListParameters)

    def manifest(self, text_forms: Sequence[str] = (), heading: Heading = NO_HEADING) -> Manifest:
        """Return what a release of records says of itself."""
        return self.manifest_with(self.digest, text_forms, heading)

    @property
    def originals(self) -> Originals:
        """What the audit holds the written files against."""
        rows, left = self.records.row_of.tolist(), self.records.row_of_left.tolist()
        return Originals(self.transactions, self.taxonomy, rows, self.named.renamed, left)

    def write_records(self, path: Path) -> Digest:
        """Write the records and return them in sums."""
        self.records.write(path)
        return self.digest

    def runs(self, path: Path) -> Iterator[tuple[Record, int]]:  # noqa: ARG002
        """Return the distinct records, in order, each with how many rows share it."""
        return self.records.records()

    def owners(self) -> Iterator[tuple[pa.Array, pa.Array]]:
        """Yield the owners of all published rows, and their rows."""
        rows = self.records.row_of
        published = np.flatnonzero(rows != WITHHELD)
        yield self.transactions.owners.take(pa.array(published)), pa.array(rows[published])
        if self.following is not None:
            yield pa.array(self.following.left, pa.string()), pa.array(self.records.row_of_left)

    def past_notes(self, draft: Path) -> dict[str, str]:
        """Return what a release that follows this one has to know."""
        if self.following is None:
            return super().past_notes(draft)
        row = np.concatenate((self.records.row_of, self.records.row_of_left))
        group = np.empty(self.records.rows, dtype=np.int64)
        group[row[row != WITHHELD]] = self.following.group[row != WITHHELD]
        record = np.repeat(np.arange(len(self.records)), self.records.sizes)
        ends = np.flatnonzero((np.diff(group) != 0) | (np.diff(record) != 0)) + 1
        sizes = np.diff(ends, prepend=0, append=len(group)).tolist()
        return past_notes(self.claim.follows or self.claim.least, sizes, self.following.gone)

    def chain(self, draft: Path) -> Chain | None:
        """Return what the private maps of this release and of the one before it say; None where it follows none."""
        if self.following is None:
            return None
        owner, row = (
            pa.chunked_array(list(column)).to_pylist() for column in zip(*self.owners(), strict=True)
        )
        owned = PrivateMap(owner, row, self.past_notes(draft), {})
        return Chain(self.following.past, owned.row_of_owner, past_of(owned, draft))

    def _measure(self) -> None:
        if not self.is_list:
            super()._measure()

    def _write_files(self, draft: Path, text_forms: Sequence[str], heading: Heading) -> None:
        if self.is_list:
            write_list(draft, self.list_parameters, self.noisy_list, heading)
        else:
            super()._write_files(draft, text_forms, heading)

    def _audit(self, draft: Path, progress: Progress | None) -> Audit:
        return audit(draft) if self.is_list else super()._audit(draft, progress)

    def __repr__(self) -> str:
        if self.is_list:
            return f"Release({self.method}: {self.claim.in_words} {len(self.noisy_list):,} {self.list_parameters.form.several})"
        said = ", ".join(f"{what} {number}" for what, number in self._said())
        return f"Release({self.method}: {self.claim.in_words} {said})"

    def _repr_html_(self) -> str:
        title = f"{self.method}: {self.claim.in_words}"
        if self.is_list:
            noisy = self.noisy_list
            first = pc.array_sort_indices(noisy.count, order="descending")[:SHOWN]
            columns = [column.take(first).to_pylist() for column in (*noisy.texts, noisy.count)]
            names = [*noisy.form.columns, "count (noisy)"]
            return html_table(title, zip(*columns, strict=True), names)
        shared = nlargest(SHOWN, self.records.records(), key=itemgetter(1))
        rows = ((size, _in_words(record)) for record, size in shared)
        return html_table(title, self._said()) + html_table("Shared by most:", rows, ["records", "items"])

    def _said(self) -> list[tuple[str, str]]:
        """Return the numbers that it shows of itself: those that are published."""
        counts = self.counts
        withheld = rounded_withheld(counts.withheld, self.silent_people, self.claim.least)
        said = [
            ("records", f"{counts.records_out:,}"),
            ("distinct", f"{counts.groups:,}"),
            ("withheld", f"{withheld:,}" if isinstance(withheld, int) else withheld),
        ]
        if not self.settings.recountable:
            return said
        return [
            *said,
            ("item uncertainty (NCP)", f"{self.losses.ncp:.2%}"),
            ("generalization loss (GGD)", f"{self.losses.ggd_norm:.2%}"),
        ]


def _in_words(record: Record) -> str:
    """Return the items of a record."""
    named = zip(map(shown, record[0]), record[1], strict=True)
    return ", ".join(f"{label} x {count:,}" if count > 1 else label for label, count in named)
