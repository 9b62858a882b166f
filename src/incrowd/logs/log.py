"""A log that was read: queries or baskets in a temporary database, ready to become transactions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa

from incrowd.errors import BadInputError, nearest
from incrowd.logs.account import account_of_reading, account_of_units
from incrowd.logs.askings import collect_askings
from incrowd.logs.encoding import UTF8
from incrowd.logs.items import CompressedRows, compress, count_kinds, look_up_words
from incrowd.logs.tokens import TokenTable, one_word_each
from incrowd.logs.units import Unit, asked_by_unit, make_units, parse_unit
from incrowd.text.words import normalise, split_terms
from incrowd.transactions import Transactions

if TYPE_CHECKING:
    from collections.abc import Callable

    from incrowd.logs.rejects import Rejects
    from incrowd.logs.store import Store
    from incrowd.taxonomy import Taxonomy

__all__ = ["ITEMS", "Log"]

ASKABLE = ("queries", "concepts")
_NO_QUERIES = "this method needs a query log: baskets hold no queries"
_NOT_WHOLE = "this method needs whole queries: use --items concepts"
ITEMS = ("nouns", "terms", "queries", "concepts", "raw")


@dataclass(eq=False, repr=False)
class Log:
    """A query log or a file of baskets, on disk while it is open. Use it in a ``with``, or just let it go.

    Parameters
    ----------
    name
        The file's name.
    format
        What it was read as.
    store
        Where its rows are.
    rejects
        The lines that could not be read.
    lines
        How many lines (or Parquet rows) the file has.
    bad_bytes
        How many bytes were not in the file's encoding and were replaced.
    has_times
        Whether it says when each query was asked.
    rows
        How many rows were read: lines less the header and the rejects.
    summary
        What `transactions` counted the last time, by name.
    encoding
        What the file's text is written in.
    """

    name: str
    format: str
    store: Store
    rejects: Rejects
    lines: int
    bad_bytes: int
    has_times: bool
    rows: int
    summary: dict[str, int] = field(default_factory=dict)
    encoding: str = UTF8
    has_rows: bool = field(default=True, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Delete the temporary files. What was counted stays known."""
        self.store.close()

    def let_go_of_rows(self) -> None:
        """Free the memory that the rows take, once the transactions are made. The rejects stay."""
        self.store.keep_only("rejects")
        self.has_rows = False

    @property
    def is_baskets(self) -> bool:
        """Whether the file holds baskets of ready items, not queries."""
        return self.format == "dat"

    @property
    def default_items(self) -> str:
        """What an item is, unless it is said."""
        return "raw" if self.is_baskets else ITEMS[0]

    @property
    def users(self) -> int:
        """How many users (or baskets) the log has."""
        if self.is_baskets:
            return self.rows
        return int(self.store.row('SELECT count(DISTINCT "user") FROM events')[0])

    def transactions(
        self,
        *,
        unit: str = "user",
        items: str | None = None,
        bags: bool = True,
        knowledge: Taxonomy | None = None,
        asked: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Transactions:
        """Build one row of items for each privacy unit.

        Parameters
        ----------
        unit
            ``"user"``, or ``"session:GAP"``, as ``"session:30m"``: a pause longer than the gap starts a new row.
            Baskets have one row for each record.
        items
            ``"nouns"`` (the nouns of WordNet and the words that it does not know; the default),
            ``"terms"`` (all words but function words), ``"queries"``, ``"concepts"`` (what queries mean), or for
            baskets ``"raw"``.
        bags
            Whether to count repeats.
        knowledge
            The tree in which concepts are looked for; WordNet if it is not given.
        asked
            Whether to keep every asking too, which some methods need. It takes memory.
        progress
            Called with (steps done, steps in all) now and then.

        Returns
        -------
        Transactions
            Rows ordered by user id and session (baskets: by line). Who has nothing left has an empty row.
        """
        chosen = self._check_items(items, asked=asked)
        tell = progress or (lambda *_: None)
        wanted = parse_unit(unit)
        counts: dict[str, int] = {}
        if self.is_baskets:
            if wanted.gap is not None:
                raise BadInputError("unit session needs a query log: baskets have one row for each record")
        else:
            make_units(self.store, wanted, has_times=self.has_times)
            # Finding the words and counting them take about as long.
            counts["queries"] = self._fill_tokens(wanted, chosen, lambda done: tell(done, 2 * self.rows))
        look_up_words(self.store, chosen, knowledge)
        counts |= count_kinds(self.store)
        rows = compress(
            self.store, sessions=wanted.gap is not None, progress=lambda n, of: tell(of + n, 2 * of)
        )
        label = "record" if self.is_baskets else str(wanted)
        made = self._finish(rows, label, chosen, counts, bags=bags)
        if not asked:
            return made
        askings = collect_askings(self.store, wanted, len(made), has_times=self.has_times)
        return replace(made, asked=askings)

    def _check_items(self, items: str | None, *, asked: bool) -> str:
        """Return the kind of items; refuse what this log cannot give."""
        if not self.has_rows:
            raise BadInputError("the log has let go of its rows: read it again (read_log)")
        chosen = self._kind_of_items(items)
        if asked and chosen not in ASKABLE:
            raise BadInputError(_NO_QUERIES if self.is_baskets else _NOT_WHOLE)
        return chosen

    def _kind_of_items(self, items: str | None) -> str:
        fitting = ("raw",) if self.is_baskets else ITEMS[:-1]
        if items is None:
            return fitting[0]
        if items not in fitting:
            what = "baskets" if self.is_baskets else "a query log"
            hint = nearest(items, fitting)
            raise BadInputError(f"items must be one of {', '.join(fitting)} for {what} (got '{items}'){hint}")
        return items

    def _fill_tokens(self, unit: Unit, items: str, tell: Callable[[int], None]) -> int:
        """Write the words (or the whole queries) of every unit; return how many queries there are."""
        tokens = TokenTable(self.store)
        queries = 0
        for batch in asked_by_unit(self.store, unit, has_times=self.has_times):
            texts = normalise(batch.column("query").cast(pa.string()))
            words = one_word_each(texts) if items in ("queries", "concepts") else split_terms(texts)
            tokens.add(np.array(batch.column("unit"), np.int32), words)
            queries += len(batch)
            tell(queries)
        return queries

    def _finish(
        self, rows: CompressedRows, unit: str, items: str, counts: dict[str, int], *, bags: bool
    ) -> Transactions:
        made = Transactions(
            rows.indptr, rows.items, rows.counts, rows.vocabulary, rows.owners, unit, people=rows.people
        )
        made = made if bags else made.as_sets()
        self.summary = {
            "lines": self.lines,
            "rejected": len(self.rejects),
            "bad_bytes": self.bad_bytes,
            **counts,
            "units": len(made),
            "items": len(made.vocabulary),
            "occurrences": made.occurrences,
            "empty": made.empty_rows,
        }
        account = (
            *account_of_reading(self.format, self.lines, self.rejects.counts, self.bad_bytes, self.encoding),
            *account_of_units(unit.split(":", maxsplit=1)[0], items, self.summary),
        )
        return replace(made, account=account)

    def __repr__(self) -> str:
        users = (
            ""
            if self.store.closed or not self.has_rows
            else f", {self.users:,} {'records' if self.is_baskets else 'users'}"
        )
        return (
            f"Log({self.name}, {self.format}: {self.lines:,} lines{users}, "
            f"{len(self.rejects):,} rejected{', closed' if self.store.closed else ''})"
        )
