"""The decision on a query: what is sent in its place, and why. Most properties are computed on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Generic, NoReturn, Protocol, TypeVar, overload

from incrowd.generalizer.lattice import Rungs
from incrowd.generalizer.schema import Node

__all__ = ["STRICT", "Counted", "Decision"]

STRICT = "strict"
"""The strategy whose choice depends on which attributes a query fixes, never on their values."""

T = TypeVar("T")


class Counted(Protocol):
    """The counts of all states of a query; state 0 is the query itself, without its protected attributes."""

    def rungs(self, state: int) -> Rungs:
        """Return the rung of each fixed attribute."""

    def rows(self, state: int) -> int:
        """Return how many rows match."""

    def entropies(self, state: int) -> Mapping[str, Fraction]:
        """Return G by protected attribute, the least over all lattices."""


class _Lazy(Generic[T]):
    """A read-only attribute that is computed on first use (without a lock, unlike functools.cached_property)."""

    def __init__(self, work_out: Callable[[Any], T]) -> None:
        self.work_out = work_out
        self.__doc__ = work_out.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, decision: None, owner: type) -> _Lazy[T]: ...
    @overload
    def __get__(self, decision: Decision, owner: type) -> T: ...
    def __get__(self, decision: Decision | None, owner: type) -> T | _Lazy[T]:
        if decision is None:
            return self
        known = decision.known
        if self.name not in known:
            known[self.name] = self.work_out(decision)
        found: T = known[self.name]
        return found

    def __set__(self, decision: Decision, value: object) -> NoReturn:
        raise AttributeError(f"a decision is immutable: its {self.name} cannot be changed")


class Decision:
    """What is sent in place of a query, and why. Neither its repr nor its reason contains a value of the query.

    Parameters
    ----------
    strategy
        The strategy that decided.
    values
        For each attribute, in the schema's order, its values on each rung below "don't care".
    fixed
        The attributes that the query fixes and that may be sent, in the schema's order, with their values' codes.
    hidden
        The protected attributes that the query fixes.
    counted
        The counts of the query's states.
    state
        The state to send; None is a refusal.
    ran_out
        Whether a greedy strategy ran out of attributes, so that brute force found the state.
    """

    __slots__ = ("_counted", "_fixed", "_hidden", "_ran_out", "_state", "_strategy", "_values", "known")

    def __init__(
        self,
        strategy: str,
        values: Mapping[str, Sequence[Sequence[Any]]],
        fixed: Mapping[str, int],
        hidden: Sequence[str],
        counted: Counted,
        *,
        state: int | None,
        ran_out: bool = False,
    ) -> None:
        self._strategy = strategy
        self._values = values
        self._fixed = fixed
        self._hidden = hidden
        self._counted = counted
        self._state = state
        self._ran_out = ran_out
        self.known: dict[str, Any] = {}

    @property
    def strategy(self) -> str:
        """The strategy that decided."""
        return self._strategy

    @property
    def state(self) -> int | None:
        """The number of the state that is sent, among all states of queries that fix the same attributes; None: refused."""
        return self._state

    @property
    def refused(self) -> bool:
        """Whether nothing may be sent. An empty `kept` without a refusal is a query for all rows."""
        return self._state is None

    @_Lazy
    def sent_nodes(self) -> Mapping[str, Node]:
        """Return for each attribute that is sent its value's code and its rung."""
        if self._state is None:
            return {}
        rungs = self._counted.rungs(self._state)
        values = self._values
        nodes = zip(self._fixed.items(), rungs, strict=True)
        return {name: (code, rung) for (name, code), rung in nodes if rung < len(values[name])}

    @_Lazy
    def kept(self) -> Mapping[str, Any]:
        """Return the query to send: attribute -> value, coarser than in the query where its rung is above 0."""
        if self._state is None:
            return {}
        # Not through `sent_nodes`: this is on the path of every request.
        kept = {}
        values = self._values
        for name, rung in zip(self._fixed, self._counted.rungs(self._state), strict=True):
            scale = values[name]
            if rung < len(scale):
                kept[name] = scale[rung][self._fixed[name]]
        return kept

    @_Lazy
    def rungs(self) -> Mapping[str, int]:
        """Return for each attribute that is sent its rung."""
        return {name: rung for name, (_, rung) in self.sent_nodes.items()}

    @_Lazy
    def dropped(self) -> tuple[str, ...]:
        """Return the fixed attributes that are not sent, in the schema's order."""
        dropped = {*self._fixed, *self._hidden} - self.sent_nodes.keys()
        return tuple(name for name in self._values if name in dropped)

    @_Lazy
    def entropy_before(self) -> Mapping[str, Fraction]:
        """Return G by protected attribute of the query without its protected attributes, the least of all lattices."""
        return self._counted.entropies(0)

    @_Lazy
    def entropy_after(self) -> Mapping[str, Fraction]:
        """Return G by protected attribute of the query to send, the least of all lattices; empty if refused."""
        return {} if self._state is None else self._counted.entropies(self._state)

    @_Lazy
    def rows_before(self) -> int:
        """Return the rows of the auxiliary table that match the query without its protected attributes."""
        return self._counted.rows(0)

    @_Lazy
    def rows_after(self) -> int:
        """Return the rows of the auxiliary table that match the query to send; 0 if refused."""
        return 0 if self._state is None else self._counted.rows(self._state)

    @_Lazy
    def reason(self) -> str:
        """Return a sentence that says why. It names attributes, never values."""
        if self.refused:
            if self.strategy == STRICT:
                return (
                    "Refused: from what strategy strict would send of this query, a protected attribute would be too easy to "
                    "guess, so nothing is sent. A query with fewer attributes may be sent."
                )
            return "Refused: from every generalization of the query a protected attribute would be too easy to guess, so nothing is sent."
        coarser = [name for name, rung in self.rungs.items() if rung]
        if not self.dropped and not coarser:
            return "Sent unchanged: the query already meets every policy."
        done = [f"{', '.join(self.dropped)} dropped"] if self.dropped else []
        done += [f"{', '.join(coarser)} made coarser"] if coarser else []
        how = (
            ", found by brute force because the greedy strategy ran out of attributes"
            if self._ran_out
            else ""
        )
        return f"Generalized ({'; '.join(done)}) so that every policy is met{how}."

    def _shown(self) -> tuple[tuple[str, object], ...]:
        names = ("strategy", "refused", "rungs", "dropped", "entropy_before", "entropy_after")
        return tuple((name, getattr(self, name)) for name in (*names, "rows_before", "rows_after", "reason"))

    def __repr__(self) -> str:
        return f"Decision({', '.join(f'{name}={value!r}' for name, value in self._shown())})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        return self._shown() == other._shown() and self.kept == other.kept

    __hash__ = None  # type: ignore[assignment]
