"""One query generalized in one call, from a table in any form."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from incrowd.core.frames import frame_of
from incrowd.errors import BadInputError
from incrowd.generalizer.counters import Scan
from incrowd.generalizer.decision import STRICT, Decision
from incrowd.generalizer.policy import parse_policies
from incrowd.generalizer.protection import Protection
from incrowd.generalizer.schema import AuxiliaryTable, encode, schema_of
from incrowd.generalizer.tables import read_ladder, read_table

__all__ = ["generalize"]

Ladder = Mapping[Any, Sequence[Any]] | str | os.PathLike[str]


def generalize(
    query: Mapping[str, object],
    table: object,
    protect: str | Sequence[str],
    *,
    strategy: str = STRICT,
    attributes: Sequence[str] | None = None,
    ladders: Mapping[str, Ladder] | None = None,
    key: bytes = b"",
    user: str = "",
) -> Decision:
    """Decide what to send to an untrusted provider in place of a query. Nothing is sent anywhere.

    Parameters
    ----------
    query
        Attribute -> value, as ``{"county": "Essex", "race": "Black"}``.
    table
        What an outsider may know about people, one a row: a DataFrame, an Arrow table, rows, a file, or an
        :class:`incrowd.generalizer.AuxiliaryTable`.
    protect
        One rule or several: ``"income:l=5"`` (at least five possible values), ``"income:g=3"`` (three guesses on average).
    strategy
        ``"strict"``, or one of :data:`incrowd.generalizer.STRATEGIES`.
    attributes
        The columns to use, the earlier ones kept first; all if they are not given.
    ladders
        For an attribute: each value's coarser values, finest first, or the file that has them.
    key, user
        What seeds random-fit, see :func:`incrowd.generalizer.generalize`.

    Returns
    -------
    Decision
        ``decision.kept`` is the query to send, ``decision.reason`` says why; ``decision.refused``: nothing may be sent.
    """
    policies = parse_policies([protect] if isinstance(protect, str) else protect)
    if not policies:
        raise BadInputError("protect must hold a rule, as income:l=5")
    known = table if isinstance(table, AuxiliaryTable) else _auxiliary(table, attributes, ladders or {})
    for policy in policies:
        known.schema[policy.attribute]  # an unknown name is an error
    return Protection(Scan(known), strategy=strategy, key=key).decide(query, policies, user=user)


def _auxiliary(
    table: object, attributes: Sequence[str] | None, ladders: Mapping[str, Ladder]
) -> AuxiliaryTable:
    """Return the table that a query is held against."""
    if isinstance(table, (str, os.PathLike)):
        rows = read_table(Path(table), only=attributes)
    else:
        frame = frame_of(table)
        if frame is None:
            raise BadInputError(
                f"table must be a DataFrame, an Arrow table, rows with names or a file (got {type(table).__name__})"
            )
        rows = frame.table()
    coarser = {
        name: ladder if isinstance(ladder, Mapping) else read_ladder(Path(ladder))
        for name, ladder in ladders.items()
    }
    return encode(rows, schema_of(rows, names=attributes, ladders=coarser))
