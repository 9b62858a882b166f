"""An input that was read, by either engine, and the account of what was done to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from incrowd.core.claims import plural_of
from incrowd.errors import BadInputError, option
from incrowd.logs.formats.encoding import UTF8
from incrowd.logs.items import WORD_ITEMS, choose_items, key_of_kind
from incrowd.taxonomy.words import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from incrowd.core.window import Window
    from incrowd.logs.units import Unit

__all__ = ["BASKETS", "TABLE", "Input", "check_has_rows"]

TABLE, BASKETS = "table", "baskets"  # what data that is no file was read as: events, or lists of items

_KINDS = {
    "listed": "Nouns of WordNet",
    "unlisted": "Words that WordNet does not list",
    "other": "Words of other kinds (verbs, adjectives, adverbs), left out",
    "stop": "Stop words, left out",
    "term": "Words kept as they are",
    "typed": "Items of other kinds",
} | {key_of_kind(kind): f"Words that WordNet lacks, {several}" for kind, several in KINDS.items()}
_NEVER = "Texts with a word of the list that is never published, left out"
_CONCEPTS = {"listed": "Queries and what they mean", "unlisted": "Queries in which no concept was found"}


@dataclass(eq=False, repr=False, kw_only=True)
class Input(ABC):
    """An input that was read.

    Parameters
    ----------
    name
        Its name, without the directory.
    format
        What it was read as.
    lines
        How many lines (or Parquet rows) it has.
    bad_bytes
        How many bytes were not in its encoding and were replaced.
    has_times
        Whether it says when each query was typed.
    rows
        How many rows were read: lines less the header and the rejects.
    rejected
        How many lines were left out for each reason.
    encoding
        What its text is written in.
    roles
        The roles of the columns that were read; see :mod:`incrowd.logs.formats.columns`.
    """

    name: str
    format: str
    lines: int
    bad_bytes: int
    has_times: bool
    rows: int
    rejected: Mapping[str, int]
    encoding: str = UTF8
    roles: tuple[str, ...] = ()

    @property
    def is_baskets(self) -> bool:
        """Whether the input holds baskets of ready items, not queries."""
        return self.format in {"dat", BASKETS}

    @abstractmethod
    def count_within(self, windows: Sequence[Window]) -> list[int]:
        """Return how many events each window has."""

    @abstractmethod
    def last_day(self, people: int, start: int) -> int | None:
        """Return the last day from a time on that has events of so many different people, as a number; None if no day has."""

    @abstractmethod
    def rejected_rows(self) -> Iterable[Mapping[str, Any]]:
        """Return the rejected lines in order, each as :func:`incrowd.logs.rejects.write_rejects` takes it."""

    def kind_of_items(self, chosen: str | None = None) -> str:
        """Return the kind of items: the chosen one, or the default of the input."""
        return choose_items(chosen, is_baskets=self.is_baskets)

    def name_of_unit(self, unit: Unit) -> str:
        """Return what a row stands for, as a manifest names it; refuse parts of people where there are none."""
        if unit.is_part and self.is_baskets:
            raise BadInputError(f"unit {unit.kind} needs a query log: baskets have one row for each record")
        if unit.needs_times and not self.has_times:
            raise BadInputError(
                f"unit {unit.kind} needs times: choose a time column ({option('columns', {'time': 'NAME'})}) or unit user"
            )
        return "record" if self.is_baskets else str(unit)

    def summed_up(
        self, unit: str, items: str, counts: Mapping[str, int]
    ) -> tuple[dict[str, int], tuple[str, ...]]:
        """Return what was counted from the lines to the units, by name, and the same in sentences without content."""
        summary = {
            "lines": self.lines,
            "rejected": sum(self.rejected.values()),
            "bad_bytes": self.bad_bytes,
            **counts,
        }
        return summary, (*self._account_of_reading(), *_account_of_units(unit, items, counts))

    def _account_of_reading(self) -> list[str]:
        """Return sentences on what was read and what was left out."""
        sentences = [f"Lines read as {self.format}: {self.lines:,}."]
        sentences += [f"Lines rejected ({why}): {count:,}." for why, count in sorted(self.rejected.items())]
        if self.bad_bytes:
            sentences.append(f"Bytes that were not {self.encoding.upper()}, replaced: {self.bad_bytes:,}.")
        return sentences


def check_has_rows(name: str, kept: int, rejected: Mapping[str, int]) -> None:
    """Refuse an input with neither a row nor a line that was rejected."""
    if not kept and not rejected:
        raise BadInputError(f"{name} has no rows, only the names of columns: give a file with records")


def _account_of_units(unit: str, items: str, counts: Mapping[str, int]) -> list[str]:
    """Return sentences on the units and items that were built."""
    sentences = []
    if "queries" in counts:
        sentences.append(f"Queries, where the clicks of one query count once: {counts['queries']:,}.")
    if items in (*WORD_ITEMS, "concepts") or "typed_words" in counts:
        kinds = _KINDS | (_CONCEPTS if items == "concepts" else {})
        sentences += [
            f"{what}: {counts[f'{kind}_words']:,} distinct, {counts[f'{kind}_occurrences']:,} in all."
            for kind, what in kinds.items()
            if f"{kind}_words" in counts
        ]
    if "never_words" in counts:
        sentences.append(
            f"{_NEVER}: {counts['never_words']:,} distinct, {counts['never_occurrences']:,} in all."
        )
    units = plural_of(unit.partition(":")[0]).capitalize()
    sentences.append(
        f"{units}: {counts['units']:,}; {counts['items']:,} distinct items, {counts['occurrences']:,} in all."
    )
    if counts["empty"]:
        sentences.append(f"{units} with nothing left: {counts['empty']:,}.")
    return sentences
