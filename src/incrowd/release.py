"""What is published: records, the taxonomy that explains them, a manifest and a report; or a list of noisy counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from incrowd.audit_taxonomy import write_taxonomy
from incrowd.auditor import Audit, Figured, Originals, audit
from incrowd.claims import Claim
from incrowd.digest import Digest, digest_of_table
from incrowd.errors import BadInputError, ClaimError, IncrowdError
from incrowd.folder import appearing_together, check_free
from incrowd.lengths import lengths_of
from incrowd.lists import count_distinct
from incrowd.manifest import Manifest, PublishedCounts, format_of
from incrowd.methods.classes import WITHHELD, Classes
from incrowd.metrics import Bound, Losses, Utility, bound_of, measure_losses, measure_utility
from incrowd.noisy_list import ListParameters, NoisyList, write_list
from incrowd.private_map import check_map, is_map, notes_with, write_map
from incrowd.promises import Settings, read_settings, taxonomy_name
from incrowd.published import levels_of
from incrowd.record_table import RECORDS_SCHEMA, Label
from incrowd.records import Entries, Records, entries_of, published_taxonomy, records_of
from incrowd.release_files import RELEASE_FILES
from incrowd.release_manifest import (
    Counts,
    account_for_owner,
    figures_of,
    manifest_of,
    published_counts,
)
from incrowd.report.page import render_report
from incrowd.taxonomy.tree import Taxonomy
from incrowd.textforms import check_forms, text_of
from incrowd.transactions import Transactions

__all__ = ["Release", "check_out", "is_release"]


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

    @property
    def is_list(self) -> bool:
        """Whether it is a list of queries with noisy counts, and no one's records."""
        return self.claim.kind == "differential privacy"

    @cached_property
    def entries(self) -> Entries:
        """What every class publishes, by name."""
        return entries_of(self.classes, self.taxonomy)

    @cached_property
    def records(self) -> Records:
        """The published records, sorted, and (privately) who owns which."""
        return records_of(self.classes, self.entries)

    @cached_property
    def digest(self) -> Digest:
        """The published records in sums."""
        return digest_of_table(self.records)

    @cached_property
    def published_taxonomy(self) -> pa.Table:
        """The published labels and all above them."""
        return published_taxonomy(self.entries)

    @cached_property
    def levels(self) -> dict[Label, int]:
        """The level of each published label, and of all above them, in the published taxonomy."""
        return levels_of(self.published_taxonomy)

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
    def counts(self) -> Counts:
        """How many records came in, went out, were withheld; how many distinct ones; the smallest class. Private."""
        if self.is_list:
            rows = len(self.transactions)
            return Counts(rows, 0, rows, groups=0, k_min=0, people_min=0, labels=len(self.noisy_list.query))
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
        return int(people.min(initial=len(self.transactions)))

    @property
    def account(self) -> tuple[str, ...]:
        """What was done to the data, in order, with exact numbers. For the owner: a release has an account of its own."""
        steps = account_for_owner(self.method, self.counts, self.transactions, self.taxonomy)
        return (*steps, *self.classes.notes)

    def table(self) -> pa.Table:
        """Return what is published as an Arrow table: the records, or the list."""
        if self.is_list:
            return self.noisy_list.table()
        return pa.Table.from_batches(self.records.batches(), schema=RECORDS_SCHEMA)

    @property
    def noisy_list(self) -> NoisyList:
        """The queries and their noisy counts, where that is what is published."""
        return NoisyList.of(self.classes.texts, self.classes.counts)

    @property
    def settings(self) -> Settings:
        """The parameters as a manifest names them."""
        how = {"unit": self.transactions.unit, "taxonomy": taxonomy_name(self.taxonomy.name)}
        return read_settings(self.method, {**self.parameters, **how})

    def manifest(self, text_forms: Sequence[str] = ()) -> Manifest:
        """Return what a release of records says of itself."""
        return manifest_of(self.settings, self.claim, self._told, self.figures, text_forms)

    @cached_property
    def figures(self) -> dict[str, Any]:
        """What is measured on the originals, as far as it is published: what cannot be measured again is not."""
        measured = self.settings.recountable
        return figures_of(
            self.losses if measured else None,
            self.utility if measured else None,
            self.bound if measured else None,
            lengths_of(self.transactions, self.classes.of_row != WITHHELD, self.claim.least),
        )

    @cached_property
    def _told(self) -> PublishedCounts:
        length, level = self.digest.means(self.levels)
        silent = self.transactions.person[self.classes.of_row == WITHHELD]
        return published_counts(self.counts, self.claim, length, level, silent_people=len(np.unique(silent)))

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
        if self.is_list and (text_forms or private_map is not None):
            raise BadInputError(
                f"method {self.method} publishes a list and no one's records: drop --write and --private-map"
            )
        finals = [(path, is_release if force else None)]
        if private_map is not None:
            finals.insert(0, (Path(private_map), is_map if force else None))
        with appearing_together(finals) as (*map_draft, draft):
            draft.mkdir()
            step("measure")
            if not self.is_list:
                _ = self.losses, self.bound, self.utility
            step("write")
            self._write_files(draft, text_forms)
            step("audit")
            result = self._audit(draft, progress)
            step("write")
            for file in map_draft:
                self._write_map(file, draft, map_notes or {})
        return result

    def _write_files(self, draft: Path, text_forms: Sequence[str]) -> None:
        if self.is_list:
            write_list(draft, self.list_parameters, self.noisy_list)
            return
        manifest = self.manifest(text_forms)
        self.records.write(draft / "records.parquet")
        write_taxonomy(draft / "taxonomy.parquet", self.published_taxonomy)
        for form in dict.fromkeys(text_forms):
            with (draft / f"records.{form}").open("w", encoding="utf-8", newline="") as out:
                rows = (record for record, size in self.records.records() for _ in range(size))
                out.writelines(text_of(form, rows))
        (draft / "manifest.json").write_text(manifest.text(), encoding="utf-8")
        (draft / "report.html").write_text(
            render_report(manifest, self.digest, self.levels), encoding="utf-8"
        )

    @property
    def list_parameters(self) -> ListParameters:
        """The parameters of a list, as its manifest names them."""
        own = {name: self.parameters[name] for name in ("d", "eps", "delta")}
        return ListParameters(**own, unit="user" if self.transactions.unit == "user" else "record")

    def _audit(self, draft: Path, progress: Callable[[int, int], None] | None) -> Audit:
        try:
            if self.is_list:
                result = audit(draft)
            else:
                result = audit(draft, originals=self.originals, measure=self._measured, progress=progress)
        except IncrowdError as error:
            raise ClaimError(f"the release could not be audited, so nothing was published: {error}") from None
        if result.problems:
            raise ClaimError(
                f"the audit does not confirm the release, so nothing was published: {result.problems[0]}"
            )
        return result

    @property
    def originals(self) -> Originals:
        """What the audit holds the written files against."""
        rows, renamed = self.records.row_of.tolist(), self.entries.named.renamed
        return Originals(self.transactions, self.taxonomy, rows, renamed)

    def _measured(self, *_: object) -> Figured:
        return Figured(msgspec.to_builtins(self.figures), self._told.withheld)

    def _write_map(self, file: Path, draft: Path, notes: Mapping[str, str]) -> None:
        rows = self.records.row_of
        published = np.flatnonzero(rows != WITHHELD)
        owners = self.transactions.owners.take(pa.array(published))
        write_map(file, owners, rows[published], notes_with(notes, self.entries.named.renamed, draft))

    def __repr__(self) -> str:
        if self.is_list:
            return f"Release({self.method}: {self.claim.in_words} {len(self.noisy_list.query):,} queries)"
        counts = self.counts
        return (
            f"Release({self.method}: {self.claim.in_words} {counts.records_out:,} records, "
            f"{counts.withheld:,} withheld, NCP {self.losses.ncp:.2%}, GGD {self.losses.ggd_norm:.2%})"
        )

    def _repr_html_(self) -> str:
        rows = msgspec.structs.asdict(self.counts) | msgspec.structs.asdict(self.losses)
        cells = "".join(f"<tr><th>{name}</th><td>{value:,.4g}</td></tr>" for name, value in rows.items())
        return f"<p><b>{self.method}</b>: {self.claim.in_words}</p><table>{cells}</table>"


def is_release(path: Path) -> bool:
    """Tell whether a directory holds a release, of this version or an older one, and nothing else."""
    if not path.is_dir() or not {file.name for file in path.iterdir()} <= RELEASE_FILES:
        return False
    try:
        format_of(path)
    except BadInputError as error:
        return "older format" in str(error)
    return True


def check_out(path: Path, *, force: bool) -> None:
    """Refuse an output directory that cannot be made."""
    check_free(path, force=force, ours=is_release, what="output directory")
