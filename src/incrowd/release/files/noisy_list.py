"""A release that is no one's records: a list with noisy counts, differentially private over people.

Everything beside the list is a function of the parameters alone: two logs that differ by one person give the same bytes
but for the noise. Exact numbers are the owner's and stay with the owner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incrowd.core.claims import MOST_DELTA, MOST_EPS, Claim
from incrowd.core.noise import threshold
from incrowd.core.promises import UNIT, Day
from incrowd.core.spending import LEAST_DELTA, LEAST_EPS, MOST_ITEMS, MOST_WEEKS, Spending, spend
from incrowd.core.types import Ints
from incrowd.core.weeks import week_names
from incrowd.errors import BadInputError
from incrowd.release.files.heading import NO_HEADING, Heading
from incrowd.release.files.manifest import LIST_FORMAT, Closed, Headed, Versions
from incrowd.release.files.parts import same_schema
from incrowd.release.files.records import write_parquet
from incrowd.report.html import page

__all__ = [
    "QUERIES",
    "ListClaim",
    "ListForm",
    "ListManifest",
    "ListParameters",
    "NoisyList",
    "Union",
    "list_manifest",
    "list_page",
    "read_list",
    "write_list",
]

Unit = Literal["user", "record"]
Kinds = Literal["nouns", "terms", "queries", "concepts", "raw"]


class ListForm(NamedTuple):
    """The table of a list: its file, the columns of texts, and what a count is the number of."""

    file: str
    columns: tuple[str, ...]
    one: str
    several: str
    counted: str

    @property
    def noisy(self) -> str:
        """What is noisy of it."""
        return "noise" if self.several.endswith("counts") else "noisy counts"

    @property
    def schema(self) -> pa.Schema:
        """The columns, and the noisy count."""
        return pa.schema([*((name, pa.string()) for name in self.columns), ("count", pa.int64())])

    @property
    def files(self) -> list[str]:
        """The files of a release."""
        return sorted(["manifest.json", self.file, "report.html"])


QUERIES = ListForm("queries.parquet", ("query",), "query", "queries", "times that it was typed")
FORMS: Mapping[str, ListForm] = {
    "items": ListForm("items.parquet", ("item",), "item", "items", "people who have it"),
    "pairs": ListForm(
        "pairs.parquet", ("item_a", "item_b"), "pair", "pairs", "people who have both together"
    ),
    "clicks": ListForm(
        "clicks.parquet",
        ("query", "address"),
        "pair",
        "pairs",
        "people who clicked the address after the query",
    ),
    "weeks": ListForm(
        "weeks.parquet",
        ("item", "week"),
        "weekly count",
        "weekly counts",
        "people who have the item in that week, each in one of their weeks with it",
    ),
}
LEAST_WEEKLY = -(2**31)  # noise alone may be negative, and is not cut off: sums of weeks would be too large


class Union(Closed, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How `dp` found and counted what is in the list.

    `items` says what an item is, where that is known, `within` in what two items of a pair are together, and `since` and `weeks`
    which weeks there are counts of.
    """

    of: Literal["items", "pairs", "clicks", "weeks"]
    items: Kinds | None
    rounds: Annotated[int, msgspec.Meta(ge=1, le=3)]
    counts: Annotated[float, msgspec.Meta(gt=0, le=0.9)]
    within: Annotated[str, msgspec.Meta(pattern=UNIT)] | None
    since: Day | None = None
    weeks: Annotated[int, msgspec.Meta(ge=1, le=MOST_WEEKS)] | None = None

    def __post_init__(self) -> None:
        """Refuse a unit where there are no pairs of items, and pairs without one; and the same of weeks."""
        if (self.within is not None) != (self.of == "pairs"):
            raise ValueError("within is for pairs of items")
        if not (self.since is not None) == (self.weeks is not None) == (self.of == "weeks"):
            raise ValueError("since and weeks are for counts by week")


class ListParameters(Closed, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the list was made: what counts of each unit is bounded by `d`, and noise is for `eps` and `delta`.

    `union` is there where method `dp` made it; `korolova` has no other parameters.
    """

    d: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    eps: Annotated[float, msgspec.Meta(gt=0, le=MOST_EPS)]
    delta: Annotated[float, msgspec.Meta(gt=0, lt=MOST_DELTA)]
    unit: Unit
    union: Union | None = None

    def __post_init__(self) -> None:
        """Refuse what the proof of `dp` does not cover."""
        if self.union and (self.d > MOST_ITEMS or self.eps < LEAST_EPS or self.delta < LEAST_DELTA):
            raise ValueError("d, eps or delta is out of the range of method dp")
        if self.spending is not None and not self.spending.unit:
            raise ValueError("counts is too small a share")

    @property
    def method(self) -> Literal["korolova", "dp"]:
        """The method that makes lists with such parameters."""
        return "korolova" if self.union is None else "dp"

    @property
    def form(self) -> ListForm:
        """What the list is of."""
        return QUERIES if self.union is None else FORMS[self.union.of]

    @property
    def claim(self) -> Claim:
        """What is promised of the list."""
        return Claim("differential privacy", unit=self.unit, eps=self.eps, delta=self.delta)

    @property
    def spending(self) -> Spending | None:
        """What the noise of `dp` is; None of `korolova`."""
        if self.union is None:
            return None
        return spend(
            d=self.d,
            eps=self.eps,
            delta=self.delta,
            rounds=self.union.rounds,
            counts=self.union.counts,
            weeks=self.union.weeks,
        )

    @property
    def weeks(self) -> list[str] | None:
        """The weeks that every item has a count of, where there are counts by week."""
        union = self.union
        return None if union is None or union.since is None else week_names(union.since, union.weeks or 0)

    @property
    def least(self) -> int:
        """The least count that can be in the list: above the threshold of `korolova`; of what `dp` found, somebody has each, if not in each week."""
        if self.union is None:
            return threshold(self.d, self.eps, self.delta) + 1
        return LEAST_WEEKLY if self.union.weeks else 1


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
    method: Literal["korolova", "dp"]
    parameters: ListParameters
    claim: ListClaim
    account: list[str]


class NoisyList(NamedTuple):
    """What is published, sorted by code point, and the noisy counts; `texts` has a column for each of the form's."""

    form: ListForm
    texts: tuple[pa.Array, ...]
    count: pa.Array

    @classmethod
    def of(cls, form: ListForm, texts: Sequence[pa.Array], counts: Ints) -> NoisyList:
        """Sort a list."""
        columns = [*texts, pa.array(counts, pa.int64())]
        table = pa.table(columns, schema=form.schema)
        order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in form.columns])
        sorted_columns = [column.take(order) for column in columns]
        return cls(form, tuple(sorted_columns[:-1]), sorted_columns[-1])

    def __len__(self) -> int:
        return len(self.count)

    def table(self) -> pa.Table:
        """Return the list as an Arrow table."""
        return pa.table([*self.texts, self.count], schema=self.form.schema)

    def write(self, sink: Path | pa.NativeFile) -> None:
        """Write the list in its only form."""
        write_parquet(sink, self.table().combine_chunks().to_batches(), self.form.schema)


def read_list(directory: Path, form: ListForm) -> pa.Table:
    """Read the table of a list, the largest count first, or say that it is damaged."""
    try:
        with pq.ParquetFile(directory / form.file) as file:
            table = file.read() if same_schema(file.schema_arrow, form.schema) else None
    except (OSError, pa.ArrowException):
        table = None
    if table is None or any(column.null_count for column in table.columns):
        raise BadInputError(f"{directory}: {form.file} is missing or damaged; see 'incrowd audit'")
    return table.sort_by([("count", "descending"), *((name, "ascending") for name in form.columns)])


def _steps(parameters: ListParameters) -> tuple[str, ...]:
    """Say what was done, from the parameters alone."""
    spending, union, unit = parameters.spending, parameters.union, parameters.unit
    if spending is None or union is None:
        return (
            f"Took the first {parameters.d:,} queries of each {unit}.",
            f"Added discrete Laplace noise of scale {parameters.d:,} / {parameters.eps:g} to the count of each of these queries.",
            f"Published the queries whose noisy count is above {parameters.least - 1:,}.",
        )
    what = "items" if union.weeks else parameters.form.several
    several = (
        "1 round" if union.rounds == 1 else f"{union.rounds} rounds, in each without what was found before"
    )
    return (
        f"Looked for {what}{_where(union)} that many {unit}s have, in {several}: each {unit} gave weight 1 / sqrt(t) to t of their {what}, at most {parameters.d:,}, chosen at random.",
        f"Added discrete Gaussian noise to the sum of weights of each of these {what}, and took those that reached a threshold which no {what} of a single {unit} reach but for a chance of {spending.missed:g}.",
        *_counting(parameters, spending, union, what),
    )


def _counting(parameters: ListParameters, spending: Spending, union: Union, what: str) -> tuple[str, str]:
    """Say how what was found was counted, and how far off counts are."""
    unit, bar = parameters.unit, f"in 19 of 20 cases the noise is at most {spending.error_bar:,}"
    if union.weeks is None:
        return (
            f"Counted the {unit}s that have each of them, of each {unit} at most {parameters.d:,} {what}, with discrete Gaussian noise of standard deviation {spending.error:.4g}.",
            f"Published them with their noisy counts: {bar}.",
        )
    return (
        f"Counted the {unit}s that have each of them week by week ({union.weeks} from the one with {union.since} on), of each {unit} at most {parameters.d:,} {what}, each in one of the {unit}'s weeks with it, chosen at random; discrete Gaussian noise was added to running sums of weeks.",
        f"Published each with every week: {bar} of one week, and at most {spending.sums_bar:,} of the sum of any weeks in a row.",
    )


def _where(union: Union) -> str:
    """Say what is a pair, where pairs are listed."""
    if union.of == "clicks":
        return " of a query and an address that was clicked after it"
    return "" if union.within is None else f" of items in one {union.within.partition(':')[0]}"


def list_manifest(parameters: ListParameters, heading: Heading = NO_HEADING) -> ListManifest:
    """Return what a list with these parameters says of itself."""
    claim = parameters.claim
    return ListManifest(
        format=LIST_FORMAT,
        title=heading.title,
        date=heading.date,
        versions=Versions.here(),
        files=parameters.form.files,
        method=parameters.method,
        parameters=parameters,
        claim=ListClaim(
            "differential privacy",
            parameters.unit,
            parameters.eps,
            parameters.delta,
            claim.in_words,
            list(claim.not_promised),
        ),
        account=[f"{number}. {step}" for number, step in enumerate(_steps(parameters), 1)],
    )


def list_page(manifest: ListManifest) -> str:
    """Return the page of a list."""
    return page("list.html", manifest=manifest)


def write_list(
    directory: Path, parameters: ListParameters, noisy: NoisyList, heading: Heading = NO_HEADING
) -> None:
    """Write a list's files."""
    manifest = list_manifest(parameters, heading)
    noisy.write(directory / parameters.form.file)
    (directory / "manifest.json").write_text(manifest.text(), encoding="utf-8")
    (directory / "report.html").write_text(list_page(manifest), encoding="utf-8")
