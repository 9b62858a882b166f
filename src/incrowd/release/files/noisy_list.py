"""A release that is no one's records: a list of queries with noisy counts, differentially private over people.

Everything beside the list is a function of the parameters alone: two logs that differ by one person give the same bytes
but for the noise. Exact numbers are the owner's and stay with the owner.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.claims import MOST_DELTA, MOST_EPS, Claim
from incrowd.core.noise import threshold
from incrowd.core.types import Ints
from incrowd.release.files.heading import NO_HEADING, Heading
from incrowd.release.files.manifest import LIST_FORMAT, Closed, Headed, Versions
from incrowd.release.files.names import LIST_FILES
from incrowd.release.files.records import write_parquet
from incrowd.report.html import page

__all__ = [
    "LIST_SCHEMA",
    "ListClaim",
    "ListManifest",
    "ListParameters",
    "NoisyList",
    "list_manifest",
    "list_page",
    "write_list",
]

LIST_SCHEMA = pa.schema([("query", pa.string()), ("count", pa.int64())])
Unit = Literal["user", "record"]


class ListParameters(Closed, frozen=True, forbid_unknown_fields=True):
    """How the list was made: of each unit the first `d` queries, and noise for `eps` and `delta`."""

    d: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    eps: Annotated[float, msgspec.Meta(gt=0, le=MOST_EPS)]
    delta: Annotated[float, msgspec.Meta(gt=0, lt=MOST_DELTA)]
    unit: Unit

    @property
    def claim(self) -> Claim:
        """What is promised of the list."""
        return Claim("differential privacy", unit=self.unit, eps=self.eps, delta=self.delta)

    @property
    def threshold(self) -> int:
        """What a noisy count must exceed."""
        return threshold(self.d, self.eps, self.delta)


class ListClaim(Closed, frozen=True, forbid_unknown_fields=True):
    """The claim of a list, with its words."""

    kind: Literal["differential privacy"]
    unit: Unit
    eps: float
    delta: float
    in_words: str
    not_promised: list[str]


class ListManifest(Headed, frozen=True, forbid_unknown_fields=True):
    """What a list says of itself: nothing that depends on the data."""

    versions: Versions
    files: list[str]
    method: Literal["korolova"]
    parameters: ListParameters
    claim: ListClaim
    account: list[str]


class NoisyList(NamedTuple):
    """Queries, sorted by code point, and their noisy counts."""

    query: pa.Array
    count: pa.Array

    @classmethod
    def of(cls, queries: pa.Array, counts: Ints) -> NoisyList:
        """Sort a list."""
        order = pc.sort_indices(queries)
        return cls(queries.take(order), pa.array(counts, pa.int64()).take(order))

    def table(self) -> pa.Table:
        """Return the list as an Arrow table."""
        return pa.table([self.query, self.count], schema=LIST_SCHEMA)

    def write(self, sink: Path | pa.NativeFile) -> None:
        """Write the list in its only form."""
        write_parquet(sink, self.table().combine_chunks().to_batches(), LIST_SCHEMA)


def list_manifest(parameters: ListParameters, heading: Heading = NO_HEADING) -> ListManifest:
    """Return what a list with these parameters says of itself."""
    claim = parameters.claim
    steps = (
        f"Took the first {parameters.d:,} queries of each {parameters.unit}.",
        f"Added discrete Laplace noise of scale {parameters.d:,} / {parameters.eps:g} to the count of each of these queries.",
        f"Published the queries whose noisy count is above {parameters.threshold:,}.",
    )
    return ListManifest(
        format=LIST_FORMAT,
        title=heading.title,
        date=heading.date,
        versions=Versions.here(),
        files=list(LIST_FILES),
        method="korolova",
        parameters=parameters,
        claim=ListClaim(
            "differential privacy",
            parameters.unit,
            parameters.eps,
            parameters.delta,
            claim.in_words,
            list(claim.not_promised),
        ),
        account=[f"{number}. {step}" for number, step in enumerate(steps, 1)],
    )


def list_page(manifest: ListManifest) -> str:
    """Return the page of a list."""
    return page("list.html", manifest=manifest)


def write_list(
    directory: Path, parameters: ListParameters, noisy: NoisyList, heading: Heading = NO_HEADING
) -> None:
    """Write a list's files."""
    manifest = list_manifest(parameters, heading)
    noisy.write(directory / "queries.parquet")
    (directory / "manifest.json").write_text(manifest.text(), encoding="utf-8")
    (directory / "report.html").write_text(list_page(manifest), encoding="utf-8")
