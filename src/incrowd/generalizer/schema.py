"""The schema of queries: attributes with their values, ladders of coarser values, and the auxiliary table.

A ladder generalizes a value rung by rung: rung 0 is the value itself (Essex), the rungs above are coarser
(Massachusetts, New England), the top rung is "don't care". Without a ladder there are only these two.
Each rung must be a function of the one below: then a row that agrees with a query on a rung agrees on all above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from incrowd.core.types import Ints64
from incrowd.errors import BadInputError, nearest

__all__ = ["Attribute", "AuxiliaryTable", "Node", "Schema", "encode", "schema_of", "text_of"]

MOST_RUNGS = 100  # a rung is kept in one byte

Node = tuple[int, int]
"""A value on a rung of its attribute's ladder: (code of a value of the domain that is under it, rung)."""


def text_of(value: object) -> str:
    """Return the text that identifies a value: 39, 39.0 and "39" are one value, and so are true and "true"."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


@dataclass(frozen=True)
class Attribute:
    """An attribute of queries.

    Parameters
    ----------
    name
        The column's name in the auxiliary table.
    domain
        Its values. They are identified by their text, so that a query may have 39 or "39".
    ladder
        The coarser values, finest rung first: ``ladder[r][i]`` stands for ``domain[i]`` on rung r + 1.
    """

    name: str
    domain: tuple[Any, ...] = field(repr=False)
    ladder: tuple[tuple[Any, ...], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if len(self._codes) < len(self.domain):
            raise BadInputError(f"attribute '{self.name}': two of its values have the same text; rename one")
        if len(self.ladder) > MOST_RUNGS:
            raise BadInputError(f"attribute '{self.name}': a ladder has at most {MOST_RUNGS} rungs")
        below: Sequence[Any] = self.domain
        for number, rung in enumerate(self.ladder, start=1):
            self._check_rung(number, below, rung)
            below = rung

    def _check_rung(self, number: int, below: Sequence[Any], rung: Sequence[Any]) -> None:
        """Refuse a rung that separates values that the rung below has joined."""
        where = f"attribute '{self.name}': rung {number} of its ladder"
        if len(rung) != len(self.domain):
            raise BadInputError(
                f"{where} must have one coarser value for each of its {len(self.domain)} values"
            )
        if len(set(zip(below, rung, strict=True))) > len(set(below)):
            raise BadInputError(
                f"{where} must give values that are equal on the rung below the same coarser value"
            )

    @property
    def top(self) -> int:
        """The rung that means "don't care"."""
        return len(self.ladder) + 1

    def code(self, value: object) -> int:
        """Return the place of a value in the domain."""
        code = self._codes.get(text_of(value))
        if code is None:
            raise BadInputError(
                f"attribute '{self.name}' has no such value; use one of its {len(self.domain)} values"
            )
        return code

    def value(self, code: int, rung: int) -> Any:
        """Return what is sent for a value on a rung below the top."""
        return self.domain[code] if rung == 0 else self.ladder[rung - 1][code]

    def node(self, text: str, rung: int) -> Node | None:
        """Return the node with the given text on a rung below the top; None if there is none, or several."""
        return self._nodes[rung].get(text)

    def agreement(self, code: int) -> Ints64:
        """Return for each value of the domain the lowest rung on which it agrees with the given one."""
        rungs = np.full(len(self.domain), self.top, dtype=np.int64)
        for coarser in self._rungs:
            rungs -= coarser == coarser[code]
        rungs[code] = 0
        return rungs

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {text_of(value): code for code, value in enumerate(self.domain)}

    @cached_property
    def _nodes(self) -> tuple[dict[str, Node], ...]:
        """For each rung below the top its nodes by their texts, without texts that several nodes share."""
        found = []
        for rung, values in enumerate((range(len(self.domain)), *self._rungs)):
            nodes: dict[str, Node] = {}
            numbers: dict[str, set[int]] = {}
            for code, number in enumerate(values):
                text = text_of(self.value(code, rung))
                nodes.setdefault(text, (code, rung))
                numbers.setdefault(text, set()).add(int(number))
            found.append({text: node for text, node in nodes.items() if len(numbers[text]) == 1})
        return tuple(found)

    @cached_property
    def _rungs(self) -> tuple[Ints64, ...]:
        """The ladder with numbers in place of the coarser values."""
        numbered = []
        for rung in self.ladder:
            numbers = {value: number for number, value in enumerate(dict.fromkeys(rung))}
            numbered.append(np.array([numbers[value] for value in rung], dtype=np.int64))
        return tuple(numbered)


@dataclass(frozen=True)
class Schema:
    """The attributes that queries may fix, in an order that also breaks ties: earlier ones are kept first."""

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise BadInputError("attributes must have different names; rename the columns that share one")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes' names in order."""
        return tuple(attribute.name for attribute in self.attributes)

    def __getitem__(self, name: str) -> Attribute:
        attribute = self._by_name.get(name)
        if attribute is None:
            raise BadInputError(
                f"there is no attribute '{name}'; there are {', '.join(self.names)}{nearest(name, self.names)}"
            )
        return attribute

    @cached_property
    def _by_name(self) -> dict[str, Attribute]:
        return {attribute.name: attribute for attribute in self.attributes}


@dataclass(frozen=True)
class AuxiliaryTable:
    """What an outsider may know about people: columns of small integers, which are indices into the domains."""

    schema: Schema
    rows: int
    columns: Mapping[str, NDArray[Any]] = field(repr=False)

    def matching(self, nodes: Mapping[str, Node]) -> AuxiliaryTable:
        """Return the rows that agree with the given nodes."""
        if not nodes:
            return self
        agree = np.ones(self.rows, dtype=bool)
        for name, (code, rung) in nodes.items():
            agree &= (self.schema[name].agreement(code) <= rung)[self.columns[name]]
        columns = {name: column[agree] for name, column in self.columns.items()}
        return AuxiliaryTable(self.schema, int(np.count_nonzero(agree)), columns)


def schema_of(
    table: pa.Table,
    *,
    names: Sequence[str] | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    ladders: Mapping[str, Mapping[Any, Sequence[Any]]] | None = None,
) -> Schema:
    """Derive the schema from an auxiliary table.

    Parameters
    ----------
    table
        The auxiliary table.
    names
        The columns to use, in the schema's order; all of them if absent.
    domains
        The values of an attribute where they are more than those that occur.
    ladders
        For an attribute: each value's coarser values, finest first, without the final "don't care".
    """
    domains, ladders = domains or {}, ladders or {}
    names = list(table.column_names if names is None else names)
    for name in (*domains, *ladders):
        if name not in names:
            raise BadInputError(f"there is no attribute '{name}' to give values to{nearest(name, names)}")
    attributes = []
    for name in names:
        domain = tuple(domains[name]) if name in domains else _values(_column(table, name))
        attributes.append(Attribute(name, domain, _ladder(name, domain, ladders.get(name, {}))))
    return Schema(tuple(attributes))


def encode(table: pa.Table, schema: Schema) -> AuxiliaryTable:
    """Return an Arrow table as columns of the smallest integers that hold the domains."""
    columns = {}
    for attribute in schema.attributes:
        column = _column(table, attribute.name)
        codes = pc.index_in(column, value_set=_value_set(attribute, column.type))
        if codes.null_count:
            raise BadInputError(
                f"attribute '{attribute.name}': {codes.null_count} rows have values outside its domain; add them to it"
            )
        smallest = np.min_scalar_type(max(len(attribute.domain) - 1, 0))
        columns[attribute.name] = codes.to_numpy().astype(smallest)
        columns[attribute.name].flags.writeable = False
    return AuxiliaryTable(schema, table.num_rows, columns)


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a column of plain values without missing ones."""
    if table.column_names.count(name) != 1:
        raise BadInputError(
            f"the auxiliary table must have one column '{name}'{nearest(name, table.column_names)}"
        )
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        raise BadInputError(f"attribute '{name}' must have plain values, not {column.type}")
    if column.null_count:
        raise BadInputError(
            f"attribute '{name}' has {column.null_count} empty values; fill them with a name such as 'unknown'"
        )
    return column


def _values(column: pa.ChunkedArray) -> tuple[Any, ...]:
    return tuple(sorted(column.unique().to_pylist()))


def _value_set(attribute: Attribute, type_: pa.DataType) -> pa.Array:
    try:
        return pa.array(attribute.domain, type=type_)
    except (pa.ArrowException, TypeError):
        raise BadInputError(
            f"attribute '{attribute.name}': its domain must have values of the column's type, {type_}"
        ) from None


def _ladder(
    name: str, domain: Sequence[Any], coarser: Mapping[Any, Sequence[Any]]
) -> tuple[tuple[Any, ...], ...]:
    """Turn coarser values by value into rungs."""
    if not coarser:
        return ()
    by_text = {text_of(value): tuple(above) for value, above in coarser.items()}
    ways_up = [by_text.get(text_of(value)) for value in domain]
    missing = ways_up.count(None)
    if missing:
        raise BadInputError(f"attribute '{name}': {missing} of its values are not on its ladder; add them")
    found = [way for way in ways_up if way is not None]
    if len({len(way) for way in found}) > 1:
        raise BadInputError(
            f"attribute '{name}': all values on its ladder must have the same number of coarser values"
        )
    return tuple(zip(*found, strict=True))
