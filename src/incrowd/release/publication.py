"""A release on its way to its files: what both engines do once the method has decided.

An engine supplies counts, sums and rows; the manifest, the files, the audit and the private map are made here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from incrowd.auditing.audit import Figured, MapParts, audit
from incrowd.auditing.history import Chain
from incrowd.auditing.owners import Owners
from incrowd.auditing.result import Audit
from incrowd.auditing.taxonomy import write_taxonomy
from incrowd.core.atomic import atomic_writes, check_free
from incrowd.core.claims import Claim
from incrowd.core.promises import Settings, read_settings, taxonomy_name
from incrowd.core.transactions import Transactions
from incrowd.core.types import Progress
from incrowd.errors import BadInputError, ClaimError, IncrowdError, option
from incrowd.metrics import Bound, Losses, Utility
from incrowd.metrics.use import Use
from incrowd.release.certificate import certificate_page, check_pages, dictionary_page, is_page, pages_of
from incrowd.release.describe import (
    Counts,
    account_for_owner,
    figures_of,
    manifest_of,
    published_counts,
    rounded_withheld,
)
from incrowd.release.files.digest import Digest
from incrowd.release.files.exports import check_forms, text_of
from incrowd.release.files.heading import NO_HEADING, Heading
from incrowd.release.files.manifest import Bin, Manifest, format_of
from incrowd.release.files.names import RELEASE_FILES
from incrowd.release.files.nodes import PublishedNodes, levels_of
from incrowd.release.files.page import render_report
from incrowd.release.files.records import Label, Record
from incrowd.release.history import past_notes
from incrowd.release.private_map import check_map, is_map, notes_with, write_map
from incrowd.release.private_report import Known, check_apart, check_report, is_report, write_report
from incrowd.release.shares import Shares
from incrowd.report.risk_rows import RiskRow
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["NEEDS_MAP", "Publication", "RecordsPublication", "check_out", "is_release"]

NEEDS_MAP = "a release that follows another needs {}: without its map the next one cannot follow it"


class FileBeside(NamedTuple):
    """A file that is written with a release and lies beside it: where, what it must not be or replace, and who writes it.

    It is written to a draft's name, given the draft of the release, what its audit found, and what attacks did.
    """

    path: Path
    check: Callable[..., None]
    is_ours: Callable[[Path], bool]
    write: Callable[[Path, Path, Audit, Sequence[RiskRow]], None]


class Publication(ABC):
    """What a method made, ready to be written. It reaches the originals too: keep the object private.

    Parameters
    ----------
    method, parameters
        How it was made; the parameters include k and the seed.
    claim
        What is promised of it.
    transactions, taxonomy
        What it was made from. On a cluster the transactions have a vocabulary and an account, and no rows.
    """

    method: str
    parameters: Mapping[str, Any]
    claim: Claim
    transactions: Transactions
    taxonomy: Taxonomy

    @property
    @abstractmethod
    def counts(self) -> Counts:
        """How many records came in, went out, were withheld; how many distinct ones; the smallest class. Private."""

    @property
    @abstractmethod
    def measures(self) -> dict[str, Any]:
        """What was measured on the originals, by name. Private: exact."""

    @property
    @abstractmethod
    def named(self) -> PublishedNodes:
        """What the published nodes are called."""

    @property
    def is_list(self) -> bool:
        """Whether it is a list of queries with noisy counts, and no one's records."""
        return False

    @property
    def notes(self) -> tuple[str, ...]:
        """What the method has to tell of its work."""
        return ()

    @property
    def settings(self) -> Settings:
        """The parameters as a manifest names them."""
        how = {"unit": self.transactions.unit, "taxonomy": taxonomy_name(self.taxonomy.name)}
        moved = {"moved": self.moved} if self.moved else {}
        return read_settings(self.method, {**self.parameters, **how, **moved})

    @cached_property
    def moved(self) -> int:
        """How many published words hang below another class than the taxonomy has them, as their owner chose."""
        tree = self.taxonomy
        return 0 if tree.moved is None else int(np.count_nonzero(tree.moved[self.named.nodes]))

    @property
    def account(self) -> tuple[str, ...]:
        """What was done to the data, in order, with exact numbers. For the owner: a release has an account of its own."""
        steps = account_for_owner(self.method, self.counts, self.transactions, self.taxonomy)
        return (*steps, *self.notes)

    def write(
        self,
        path: str | Path,
        *,
        force: bool = False,
        text_forms: Sequence[str] = (),
        heading: Heading = NO_HEADING,
        private_map: str | Path | None = None,
        private_report: str | Path | None = None,
        map_notes: Mapping[str, str] | None = None,
        certificate: bool = False,
        check: Callable[[Path, Audit], None] | None = None,
        attack: Callable[[Path], Sequence[RiskRow]] | None = None,
        step: Callable[[str], None] = lambda _: None,
        progress: Progress | None = None,
    ) -> Audit:
        """Write the release to a directory, audit what was written, and only then give it its name.

        Parameters
        ----------
        path, force
            The directory to make; with `force` it replaces a release that is there already (and nothing else).
        text_forms, heading
            Any of ``jsonl``, ``csv``, ``dat``, beside Parquet, and what the publisher calls the release.
        private_map, private_report
            Where to write which owner got which row, and a page of originals beside what is published of them (mode 0600). Never publish them.
        map_notes
            What an auditor needs to read the originals again; kept in the map only.
        certificate
            Write a certificate and a dictionary beside the directory, once the audit has confirmed what is in it.
        check, attack
            The one adds to what the audit found, given the directory and the result. The other attacks the directory once it is audited: what it returns
            stands on the certificate and in the private report; if it raises, nothing is published.
        step, progress
            Called with ``"measure"``, ``"write"`` and ``"audit"`` as each begins, and with (audited, total) records.

        Raises
        ------
        ClaimError
            The audit does not confirm the claim; nothing was published.
        """
        path = Path(path)
        private = self._private_files(private_map, private_report, map_notes or {})
        self._check_places(path, private, text_forms, force=force)
        check_pages(path, force=force, wanted=certificate)
        beside = [*private, *(_pages(path) if certificate else ())]
        finals = [(path, is_release), *((one.path, one.is_ours) for one in beside)][::-1]
        with atomic_writes([(name, ours if force else None) for name, ours in finals]) as (*files, draft):
            draft.mkdir()
            step("measure")
            self._measure()
            step("write")
            self._write_files(draft, text_forms, heading)
            step("audit")
            result = self._audited(draft, progress, check)
            attacked = attack(draft) if attack else ()
            step("write")
            for one, file in zip(beside[::-1], files, strict=True):
                one.write(file, draft, result, attacked)
        return result

    def _private_files(
        self, map_to: str | Path | None, report_to: str | Path | None, notes: Mapping[str, str]
    ) -> list[FileBeside]:
        """Return the files that are written with the release, for its owner alone."""
        files = []
        if map_to is not None:
            files.append(
                FileBeside(
                    Path(map_to),
                    check_map,
                    is_map,
                    lambda file, draft, *_: self._write_map(file, draft, notes),
                )
            )
        if report_to is not None:
            files.append(
                FileBeside(
                    Path(report_to),
                    check_report,
                    is_report,
                    lambda file, _draft, _audit, attacked: self._write_report(file, attacked),
                )
            )
        return files

    def _check_places(
        self, path: Path, private: Sequence[FileBeside], text_forms: Sequence[str], *, force: bool
    ) -> None:
        """Refuse what cannot be written, before anything is."""
        check_forms(text_forms)
        check_out(path, force=force)
        for one in private:
            one.check(one.path, path, force=force)
        check_apart([one.path for one in private])
        if self.claim.follows is not None and not any(one.check is check_map for one in private):
            raise BadInputError(NEEDS_MAP.format(option("private_map")))
        if self.is_list and (text_forms or private):
            raise BadInputError(
                f"method {self.method} publishes a list and no one's records: drop {option('write')}, {option('private_map')} and {option('private_report')}"
            )

    @property
    def shares(self) -> Shares | None:
        """Who got what; None where that is not known in this process, or nobody's. Private."""
        return None

    def _write_report(self, file: Path, attacked: Sequence[RiskRow]) -> None:
        """Write originals beside what is published of them."""
        shares = self.shares
        if shares is None:
            raise BadInputError(
                f"what method {self.method} publishes is not known person by person here: drop {option('private_report')}"
            )
        known = Known(self.transactions, self.taxonomy, shares)
        write_report(file, known, self.account, int(self.parameters["seed"]), attacked)

    def _measure(self) -> None:
        """Measure before anything is written, so that writing is not charged for it."""
        _ = self.counts, self.measures

    @abstractmethod
    def _write_files(self, draft: Path, text_forms: Sequence[str], heading: Heading) -> None:
        """Write all files of the release."""

    @abstractmethod
    def _write_map(self, file: Path, draft: Path, notes: Mapping[str, str]) -> None:
        """Write who got what of the release in `draft`."""

    @abstractmethod
    def _audit(self, draft: Path, progress: Progress | None) -> Audit:
        """Recount what was written."""

    def _audited(
        self, draft: Path, progress: Progress | None, check: Callable[[Path, Audit], None] | None
    ) -> Audit:
        """Return what the audit found, or refuse to publish what it does not confirm."""
        try:
            result = self._audit(draft, progress)
            if check is not None and not result.problems:
                check(draft, result)
        except IncrowdError as error:
            raise ClaimError(f"the release could not be audited, so nothing was published: {error}") from None
        if result.problems:
            raise ClaimError(
                f"the audit does not confirm the release, so nothing was published: {result.problems[0]}"
            )
        return result


class RecordsPublication(Publication):
    """A release of records: one for each unit, shared by at least k."""

    @property
    @abstractmethod
    def losses(self) -> Losses:
        """What the release loses of the originals."""

    @property
    @abstractmethod
    def bound(self) -> Bound | None:
        """What no method can lose less than; None where that cannot be said."""

    @property
    @abstractmethod
    def utility(self) -> Utility | None:
        """What the release is worth to its readers, and how far it can be traced back; None where it is not measured."""

    @property
    @abstractmethod
    def use(self) -> Use | None:
        """How far off counts from the release are; None where it is not measured."""

    @property
    @abstractmethod
    def lengths(self) -> list[Bin]:
        """The lengths of the originals of the published records, in bins of at least k."""

    @property
    @abstractmethod
    def silent_people(self) -> int:
        """How many different people the withheld records belong to."""

    @property
    @abstractmethod
    def published_taxonomy(self) -> pa.Table:
        """The published labels and all above them."""

    @property
    @abstractmethod
    def originals(self) -> Owners:
        """What the audit holds the written records against."""

    @abstractmethod
    def write_records(self, path: Path) -> Digest:
        """Write the records and return them in sums."""

    @abstractmethod
    def runs(self, path: Path) -> Iterable[tuple[Record, int]]:
        """Return the distinct records that were written to a path, in order, each with how many rows share it."""

    @abstractmethod
    def owners(self) -> Iterable[tuple[pa.Array, pa.Array]]:
        """Return the owners of published rows, and their rows, in the order of owners, some at a time."""

    @property
    def map_parts(self) -> MapParts | None:
        """Who reads the written records for the audit; None: this process."""
        return None

    @cached_property
    def measures(self) -> dict[str, Any]:
        """What was measured on the originals, by name. Private: exact."""
        measured = {"loss": self.losses, "bound": self.bound, "utility": self.utility, "use": self.use}
        return {name: msgspec.to_builtins(value) for name, value in measured.items()}

    @cached_property
    def levels(self) -> dict[Label, int]:
        """The level of each published label, and of all above them, in the published taxonomy."""
        return levels_of(self.published_taxonomy)

    @cached_property
    def figures(self) -> dict[str, Any]:
        """What is measured on the originals, as far as it is published: what cannot be measured again is not."""
        measured = self.settings.recountable
        return figures_of(
            self.losses if measured else None,
            self.utility if measured else None,
            self.bound if measured else None,
            self.use if measured else None,
            self.lengths,
        )

    def manifest_with(
        self, digest: Digest, text_forms: Sequence[str] = (), heading: Heading = NO_HEADING
    ) -> Manifest:
        """Return what a release of records says of itself, given its records in sums."""
        length, level = digest.means(self.levels)
        counts = published_counts(self.counts, self.claim, length, level, silent_people=self.silent_people)
        return manifest_of(self.settings, self.claim, counts, self.figures, text_forms, heading=heading)

    def _measure(self) -> None:
        """Measure before anything is written, so that writing is not charged for it."""
        _ = self.counts, self.measures, self.lengths

    def _write_files(self, draft: Path, text_forms: Sequence[str], heading: Heading) -> None:
        """Write all files of a release of records."""
        digest = self.write_records(draft / "records.parquet")
        manifest = self.manifest_with(digest, text_forms, heading)
        write_taxonomy(draft / "taxonomy.parquet", self.published_taxonomy)
        for form in dict.fromkeys(text_forms):
            with (draft / f"records.{form}").open("w", encoding="utf-8", newline="") as out:
                runs = self.runs(draft / "records.parquet")
                out.writelines(text_of(form, (record for record, size in runs for _ in range(size))))
        (draft / "manifest.json").write_text(manifest.text(), encoding="utf-8")
        (draft / "report.html").write_text(render_report(manifest, digest, self.levels), encoding="utf-8")

    def _write_map(self, file: Path, draft: Path, notes: Mapping[str, str]) -> None:
        """Write which owner got which row."""
        noted = {**notes_with(notes, self.named.renamed, draft), **self.past_notes(draft)}
        write_map(file, self.owners(), noted)

    def past_notes(self, draft: Path) -> dict[str, str]:
        """Return what a release that follows this one has to know, where one can."""
        if self.claim.kind != "k-anonymity" or self.transactions.unit != "user":
            return {}
        return past_notes(self.claim.least, (size for _, size in self.runs(draft / "records.parquet")))

    def chain(self, draft: Path) -> Chain | None:  # noqa: ARG002 - of a release that follows others
        """Return what the private maps of this release and of the one before it say; None where it follows none."""
        return None

    def _audit(self, draft: Path, progress: Progress | None) -> Audit:
        chain = self.chain(draft)
        if chain is None and self.claim.follows is not None:
            raise ClaimError("what it promises together with the releases before it cannot be recounted")
        return audit(
            draft,
            originals=self.originals,
            measure=self.figured,
            chain=chain,
            map_parts=self.map_parts,
            progress=progress,
        )

    def figured(self, *_: object) -> Figured:
        """Return what was measured, for the audit to compare with what is written."""
        withheld = rounded_withheld(self.counts.withheld, self.silent_people, self.claim.least)
        return Figured(msgspec.to_builtins(self.figures), withheld)


def _pages(out: Path) -> list[FileBeside]:
    """Return the pages for readers that are written with a release."""
    certificate, dictionary = pages_of(out)

    def write_certificate(file: Path, draft: Path, result: Audit, attacked: Sequence[RiskRow]) -> None:
        if result.holds is not True:
            raise ClaimError(
                "no audit can confirm this release, so it gets no certificate: nothing was published"
            )
        file.write_text(certificate_page(draft, result, attacked), encoding="utf-8")

    def write_dictionary(file: Path, draft: Path, *_: object) -> None:
        file.write_text(dictionary_page(draft), encoding="utf-8")

    return [
        FileBeside(certificate, check_pages, is_page, write_certificate),
        FileBeside(dictionary, check_pages, is_page, write_dictionary),
    ]


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
