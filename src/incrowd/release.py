"""What is published: records, the taxonomy that explains them, a manifest and a report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incrowd.auditor import RELEASE_FILES, Audit, Originals, audit
from incrowd.claims import Claim
from incrowd.errors import BadInputError, ClaimError, IncrowdError
from incrowd.folder import appearing, check_free
from incrowd.lists import count_distinct
from incrowd.manifest import RELEASE_FORMAT, Counts, Manifest, SpelledClaim, read_manifest
from incrowd.methods.classes import WITHHELD, Classes
from incrowd.metrics import Bound, Losses, Utility, bound_of, measure_losses, measure_utility
from incrowd.records import RECORDS_SCHEMA, Records, published_labels, records_of
from incrowd.report.page import Cost, render_report
from incrowd.taxonomy.tree import Taxonomy
from incrowd.textforms import check_forms, text_of
from incrowd.transactions import Transactions
from incrowd.version import __version__

__all__ = [
    "PrivateMap",
    "Release",
    "account_of",
    "check_map",
    "check_out",
    "is_map",
    "is_release",
    "read_map",
    "taxonomy_table",
]

TAXONOMY_SCHEMA = pa.schema(
    [("label", pa.string()), ("parent", pa.string()), ("level", pa.int32()), ("leaves", pa.int32())]
)
MAP_SCHEMA = pa.schema([("owner", pa.string()), ("row", pa.int64()), ("person", pa.string())])


@dataclass(frozen=True, eq=False)
class Release:
    """The result of a method, ready to be written. It holds the originals too: keep the object private.

    Parameters
    ----------
    method, parameters
        How it was made; the parameters include k and the seed.
    claim
        What is promised of it.
    transactions, taxonomy, classes
        What it was made from, and what the method decided.
    """

    method: str
    parameters: Mapping[str, Any]
    claim: Claim
    transactions: Transactions
    taxonomy: Taxonomy
    classes: Classes

    @cached_property
    def records(self) -> Records:
        """The published records, sorted, and (privately) who owns which."""
        return records_of(self.classes, self.taxonomy)

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

    @property
    def counts(self) -> Counts:
        """How many records came in, went out, were withheld; how many distinct ones; the smallest class."""
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
        if self.classes.copies is not None:
            return 0
        row_of, person = self.records.row_of, self.transactions.person
        record_of_row = np.repeat(np.arange(len(self.records)), self.records.sizes)
        published = row_of != WITHHELD
        people = count_distinct(record_of_row[row_of[published]], person[published], len(self.records))
        return int(people.min(initial=len(self.transactions)))

    @property
    def account(self) -> tuple[str, ...]:
        """What was done to the data, in order."""
        steps = account_of(self.method, self.counts, self.transactions, self.taxonomy)
        return (*steps, *self.classes.notes)

    def table(self) -> pa.Table:
        """Return the published records as an Arrow table."""
        return pa.Table.from_batches(self.records.batches(), schema=RECORDS_SCHEMA)

    def manifest(self) -> Manifest:
        """Return what the release says of itself."""
        return Manifest(
            format=RELEASE_FORMAT,
            incrowd=__version__,
            method=self.method,
            parameters=dict(self.parameters),
            claim=SpelledClaim.of(self.claim),
            counts=self.counts,
            losses=msgspec.structs.asdict(self.losses),
            utility=msgspec.structs.asdict(self.utility),
            bound=msgspec.to_builtins(self.bound),
            account=[f"{number}. {step}" for number, step in enumerate(self.account, 1)],
        )

    def write(
        self,
        path: str | Path,
        *,
        force: bool = False,
        text_forms: Sequence[str] = (),
        private_map: str | Path | None = None,
        map_notes: Mapping[str, str] | None = None,
        step: Callable[[str], None] = lambda _: None,
        progress: Callable[[int, int], None] | None = None,
        cost: Callable[[], Cost] | None = None,
    ) -> Audit:
        """Write the release to a directory, audit what was written, and only then give it its name.

        Parameters
        ----------
        path
            The directory to make.
        force
            Replace a release that is there already (and nothing else).
        text_forms
            Any of ``jsonl``, ``csv``, ``dat``, beside Parquet.
        private_map
            Where to write which owner got which row (mode 0600). Never publish that file.
        map_notes
            What an auditor needs to read the originals again; kept in the map only.
        step
            Called with ``"measure"``, ``"write"`` and ``"audit"`` as each begins.
        progress
            Told how many records of how many are audited.
        cost
            Asked, after the audit, what the job has taken; the report shows it. Without it the same data give
            the same report, byte for byte.

        Raises
        ------
        ClaimError
            The audit does not confirm the claim; nothing was published.
        """
        path = Path(path)
        check_forms(text_forms)
        check_out(path, force=force)
        if private_map is not None:
            check_map(Path(private_map), path, force=force)
        with appearing(path, replaces=is_release if force else None) as draft:
            draft.mkdir()
            step("measure")
            _ = self.losses, self.bound, self.utility
            step("write")
            self._write_files(draft, text_forms)
            step("audit")
            result = self._audit(draft, progress)
            step("write")
            self._write_report(draft, cost() if cost else None)
            if private_map is not None:
                self._write_map(Path(private_map), map_notes or {}, force=force)
        return result

    def _write_files(self, draft: Path, text_forms: Sequence[str]) -> None:
        with pq.ParquetWriter(draft / "records.parquet", RECORDS_SCHEMA, compression="zstd") as writer:
            for batch in self.records.batches():
                writer.write_batch(batch)
        pq.write_table(self._taxonomy_table(), draft / "taxonomy.parquet", compression="zstd")
        for form in dict.fromkeys(text_forms):
            with (draft / f"records.{form}").open("w", encoding="utf-8", newline="") as out:
                out.writelines(text_of(form, self._rows()))
        (draft / "manifest.json").write_text(self.manifest().text(), encoding="utf-8")

    def _write_report(self, draft: Path, cost: Cost | None) -> None:
        lengths = self.transactions.lengths
        page = render_report(
            self.manifest(), self.records, self.taxonomy, self.classes, lengths[lengths > 0], cost=cost
        )
        (draft / "report.html").write_text(page, encoding="utf-8")

    def _rows(self) -> Iterator[tuple[list[str], list[int]]]:
        for batch in self.records.batches():
            columns = batch.to_pydict()
            yield from zip(columns["items"], columns["counts"], strict=True)

    def _taxonomy_table(self) -> pa.Table:
        """Return the published nodes, all above them, and labels of the classes' own."""
        table = taxonomy_table(self.taxonomy, self.classes.nodes)
        return pa.concat_tables([table, self._own_labels_table()])

    def _own_labels_table(self) -> pa.Table:
        """Return a row for each label that is no node's, below the node that it is published under."""
        classes, tree = self.classes, self.taxonomy
        if classes.alternatives is None and classes.texts is None:
            return TAXONOMY_SCHEMA.empty_table()
        labels = published_labels(classes, tree)
        own = np.flatnonzero(pc.not_equal(labels, tree.labels_of(classes.nodes)))
        first = np.unique(
            np.array(labels.take(pa.array(own)).dictionary_encode().indices), return_index=True
        )[1]
        entries = own[first]
        nodes = classes.nodes[entries]
        bags = classes.alternatives
        leaves = np.ones(len(entries)) if bags is None else np.diff(bags.start)[entries]
        return pa.table(
            [
                labels.take(pa.array(entries)),
                tree.labels_of(nodes),
                pa.array(tree.level[nodes] + 1, pa.int32()),
                pa.array(leaves.astype(np.int32), pa.int32()),
            ],
            schema=TAXONOMY_SCHEMA,
        )

    def _audit(self, draft: Path, progress: Callable[[int, int], None] | None) -> Audit:
        row_of = self.records.row_of.tolist()
        originals = Originals(self.transactions, self.taxonomy, row_of)
        person = None if self.transactions.people is None else self.transactions.person.tolist()
        people = None if person is None else _people_of_rows(zip(row_of, person, strict=True))
        try:
            result = audit(draft, originals=originals, people=people, progress=progress)
        except IncrowdError as error:
            raise ClaimError(f"the release could not be audited, so nothing was published: {error}") from None
        if not result.holds:
            raise ClaimError(
                f"the audit does not confirm the release, so nothing was published: {result.problems[0]}"
            )
        return result

    def _write_map(self, path: Path, notes: Mapping[str, str], *, force: bool) -> None:
        rows, owners = self.records.row_of, self.transactions.owners
        published = pa.array(np.flatnonzero(rows != WITHHELD))
        people = owners if self.transactions.people is None else self.transactions.people
        table = pa.table(
            [owners.take(published), pa.array(rows).take(published), people.take(published)],
            schema=MAP_SCHEMA.with_metadata(dict(notes)),
        )
        with appearing(path, replaces=is_map if force else None) as draft:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            pq.write_table(table, draft, compression="zstd")

    def __repr__(self) -> str:
        counts = self.counts
        return (
            f"Release({self.method}: {self.claim.in_words} {counts.records_out:,} records, "
            f"{counts.withheld:,} withheld, NCP {self.losses.ncp:.2%}, GGD {self.losses.ggd_norm:.2%})"
        )

    def _repr_html_(self) -> str:
        rows = msgspec.structs.asdict(self.counts) | msgspec.structs.asdict(self.losses)
        cells = "".join(f"<tr><th>{name}</th><td>{value:,.4g}</td></tr>" for name, value in rows.items())
        return f"<p><b>{self.method}</b>: {self.claim.in_words}</p><table>{cells}</table>"


def taxonomy_table(tree: Taxonomy, published: npt.NDArray[np.int32]) -> pa.Table:
    """Return the published nodes and all above them; no other label leaves."""
    nodes = tree.ancestors(published)
    above = tree.parent[nodes]
    names, parents = tree.labels_of(nodes), tree.labels_of(np.maximum(above, 0))
    has_parent = pa.array(above >= 0)
    # A concept's "this very concept" leaf has the concept's own label: one row stands for both.
    table = pa.table(
        [
            names,
            pc.if_else(has_parent, parents, pa.scalar(None, pa.string())),
            pa.array(tree.level[nodes], pa.int32()),
            pa.array(tree.last_leaf[nodes] - tree.first_leaf[nodes], pa.int32()),
        ],
        schema=TAXONOMY_SCHEMA,
    )
    return table.filter(pc.invert(pc.and_(has_parent, pc.equal(names, parents))))


def account_of(method: str, counts: Counts, transactions: Transactions, tree: Taxonomy) -> tuple[str, ...]:
    """Say what was done to the data, in order."""
    withheld = f" {counts.withheld:,} hold nothing and are withheld." if counts.withheld else ""
    placed = f"Placed {len(transactions.vocabulary):,} distinct items on the taxonomy {tree.name}"
    shape = f"({len(tree):,} nodes, {tree.leaf_count:,} leaves, {tree.height} levels)"
    grouped = f"Grouped {counts.records_out:,} records by method {method}"
    outcome = f"into {counts.groups:,} distinct ones, each shared by at least {counts.k_min:,}"
    return (
        *transactions.account,
        f"{placed} {shape}.",
        f"Took {counts.records_in:,} records.{withheld}",
        f"{grouped} {outcome}.",
    )


def is_release(path: Path) -> bool:
    """Tell whether a directory holds a release and nothing else."""
    if not path.is_dir() or not {file.name for file in path.iterdir()} <= RELEASE_FILES:
        return False
    try:
        read_manifest(path)
    except BadInputError:
        return False
    except ClaimError:
        return True  # ours, but damaged
    return True


def check_out(path: Path, *, force: bool) -> None:
    """Refuse an output directory that cannot be made."""
    check_free(path, force=force, ours=is_release, what="output directory")


def check_map(path: Path, out: Path, *, force: bool) -> None:
    """Refuse a private map that would be published, or that would replace another file."""
    if path.resolve().is_relative_to(out.resolve()):
        raise BadInputError(f"private map {path} must not lie inside the release; it tells who is who")
    check_free(path, force=force, ours=is_map, what="private map")


def _people_of_rows(owned: Iterable[tuple[int, Any]]) -> list[Any]:
    """Return the person behind each published row, from pairs of row (-1: none) and person."""
    return [
        person
        for row, person in sorted(((row, person) for row, person in owned if row >= 0), key=itemgetter(0))
    ]


class PrivateMap(NamedTuple):
    """Who is who: the row of each owner, the person behind each row, notes for reading the originals again."""

    row_of_owner: dict[str, int]
    people: list[str]
    notes: dict[str, str]


def read_map(path: Path) -> PrivateMap:
    """Read a private map."""
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException):
        raise BadInputError(
            f"private map {path} cannot be read; give the file that --private-map wrote"
        ) from None
    if table.schema.names != MAP_SCHEMA.names:
        raise BadInputError(f"private map {path} must have the columns owner, row and person")
    notes = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    owner, row, person = (table[name].to_pylist() for name in MAP_SCHEMA.names)
    people = _people_of_rows(zip(row, person, strict=True))
    return PrivateMap(dict(zip(owner, row, strict=True)), people, notes)


def is_map(path: Path) -> bool:
    """Tell whether a file is a private map."""
    try:
        return bool(pq.read_schema(path).equals(MAP_SCHEMA))
    except (OSError, pa.ArrowException):
        return False
