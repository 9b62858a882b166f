"""The methods by name: what the command line, the comparison, the report and the tests iterate over."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from incrowd.core.claims import Kind
from incrowd.core.classes import Classes, Generalizations
from incrowd.core.memory import Footprint
from incrowd.core.promises import KINDS, promise_of
from incrowd.core.tiles import Tiles
from incrowd.errors import BadInputError, check_choice, nearest
from incrowd.methods.apriori.method import apriori, check_apriori
from incrowd.methods.baselines.korolova import check_korolova
from incrowd.methods.baselines.microaggregation import (
    check_korolova_data,
    erola,
    korolova,
    navarro,
    plain,
    poblete,
)
from incrowd.methods.baselines.poblete import check_poblete
from incrowd.methods.baselines.suppress import suppress
from incrowd.methods.clump.method import check_clump, clump
from incrowd.methods.dp.method import check_dp, check_dp_data, dp, dp_reads
from incrowd.methods.flock.method import check_flock, flock, flock_records
from incrowd.methods.microaggregation.method import check_microaggregation, microaggregation
from incrowd.methods.mosaic.method import check_mosaic, check_needs, check_people, mosaic, mosaic_rate
from incrowd.methods.partition.method import partition, partition_records
from incrowd.methods.reads import Reads
from incrowd.methods.ssc.method import check_ssc, ssc

__all__ = ["GOALS", "METHODS", "Goal", "Method", "method_named"]

Use = Literal["publishing", "comparison"]
Question = Literal["words", "queries", "people"]
COMMON = ("transactions", "taxonomy", "k", "seed", "progress", "people")
USUAL = Footprint(entry=120)
UNSAFE: Mapping[str, Any] = {"verbatim": True, "terms": "verbatim"}  # with these a method promises nothing


class Goal(NamedTuple):
    """A question that a release shall answer, and what answers it unless the owner says otherwise."""

    question: str
    method: str
    items: str | None = None
    """For query logs; None: as the method has it."""


GOALS: Mapping[Question, Goal] = {
    "words": Goal("Which words or items occur, how often, and with which others?", "mosaic"),
    "queries": Goal("Which whole queries are typed, how often, and with which others?", "mosaic", "queries"),
    "people": Goal("What are whole people, sessions or baskets like, each as one record?", "flock"),
}


@dataclass(frozen=True)
class Method:
    """A method: what runs, what it promises, what it needs, and what it is for.

    Parameters
    ----------
    run
        The function ``(transactions, taxonomy, *, k, seed, ...)`` that returns classes, or tiles; its name is the method's.
    purpose
        What it is for, in one sentence.
    use
        Whether its releases are meant to be published, or only to be compared with others.
    check
        Checks values of its own parameters that their types allow; raises `BadInputError`.
    check_kinds
        Refuses parameters that do not fit the further kinds of items of units, and k.
    check_data
        Refuses data, given k and its own parameters, as it would do itself; for who wants to know before it runs.
    goal
        The question that its releases answer best.
    needs_events
        Whether it needs every single query event, not only which items a person has.
    items, unit
        What it takes of a query log unless the owner says otherwise (those that need events take concepts); a unit that
        needs times only where there are any.
    uses_places
        Whether its release shows words in the order in which they stand in queries.
    records_of
        Returns what given groups of rows publish, ``(rows, tree, row_start, members, ...)`` with its own parameters, so that its
        release can follow an earlier one of the same people. None: it cannot.
    footprint
        How much memory it takes, by what its data has.
    rate
        Returns microseconds for each item of each record, from grouping to auditing, given how many there are in all and its own
        parameters, to estimate a job by. None: the time does not grow with them, as where records are compared with each other.
    reads
        Returns items, unit and whether events are needed, given its own parameters. None: they do not depend on these.
    """

    run: Callable[..., Classes | Tiles]
    purpose: str
    use: Use = "publishing"
    check: Callable[..., None] | None = None
    check_kinds: Callable[..., None] | None = None
    check_data: Callable[..., object] | None = None
    goal: Question = "people"
    needs_events: bool = False
    items: str = "nouns"
    unit: str = "user"
    uses_places: bool = False
    records_of: Callable[..., Generalizations] | None = None
    footprint: Footprint = USUAL
    rate: Callable[..., float] | None = None
    reads: Callable[..., Reads] | None = None

    @property
    def name(self) -> str:
        """The name by which it is chosen."""
        return self.run.__name__

    @property
    def promise(self) -> Kind:
        """What it promises with its default parameters."""
        return KINDS[self.name][0]

    @property
    def is_noisy(self) -> bool:
        """Whether it promises differential privacy: its release holds noisy counts and no records."""
        return self.promise == "differential privacy"

    @property
    def seed_is_secret(self) -> bool:
        """Whether its seed stays with the owner: with it, choices that the promise rests on could be foretold."""
        return self.promise == "k-anonymous tiles"

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Its parameters beyond those that all methods have."""
        signature = inspect.signature(self.run).parameters
        return {name: value for name, value in signature.items() if name not in COMMON}

    def __call__(self, *data: Any, **parameters: Any) -> Classes | Tiles:
        """Run it."""
        return self.run(*data, **parameters)

    def read_parameters(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Check values of its own parameters and turn texts into values; defaults are filled in."""
        for name in given:
            if name not in self.parameters:
                choice = ", ".join(self.parameters) or "none"
                raise BadInputError(
                    f"method {self.name} has no parameter '{name}' (it has: {choice}){nearest(name, self.parameters)}"
                )
        hints = get_type_hints(self.run)
        values = {
            name: _value(name, given[name], hints[name]) if name in given else parameter.default
            for name, parameter in self.parameters.items()
        }
        if self.check:
            self.check(**values)
        return values

    def reads_with(self, parameters: Mapping[str, Any]) -> Reads:
        """Return what it takes of a query log with some values of its own parameters."""
        if self.reads is not None:
            return self.reads(**parameters)
        return Reads(self.items, self.unit, self.needs_events)

    def promise_with(self, parameters: Mapping[str, Any]) -> Kind:
        """Return what it promises with some values of its own parameters."""
        return promise_of(self.name, parameters)

    def describe(self) -> dict[str, Any]:
        """Return name, use, purpose, promise, summary and own parameters, for people."""
        hints = get_type_hints(self.run)
        without = [
            f"none with {name}={str(value).lower()}"
            for name, value in UNSAFE.items()
            if name in self.parameters
        ]
        return {
            "name": self.name,
            "use": self.use,
            "goal": self.goal,
            "purpose": self.purpose,
            "promise": "; ".join([self.promise, *without]),
            "summary": (inspect.getdoc(self.run) or "").partition("\n")[0],
            "parameters": [_describe(each, hints[each.name]) for each in self.parameters.values()],
        }


def _always(microseconds: float) -> Callable[..., float]:
    """Return a rate that does not depend on anything."""
    return lambda *_, **__: microseconds


_ALL = (
    Method(
        mosaic,
        "Which items occur, how often and with which others: exact items, and no records of people.",
        check=check_mosaic,
        check_kinds=check_needs,
        check_data=check_people,
        goal="words",
        items="terms",
        unit="session:30m",
        uses_places=True,
        footprint=Footprint(entry=75, record=150, distinct=200),
        rate=mosaic_rate,
    ),
    Method(
        flock,
        "Records of many users or baskets, as near to the originals as k allows.",
        check=check_flock,
        records_of=flock_records,
        rate=_always(22.0),
    ),
    Method(
        partition,
        "Quick records of large data; simple to explain.",
        records_of=partition_records,
        footprint=Footprint(entry=85),
        rate=_always(6.0),
    ),
    Method(clump, "Records of some thousand users whose words are grouped by meaning.", check=check_clump),
    Method(
        ssc,
        "Frequent terms and patterns, published as terms that people really had.",
        check=check_ssc,
        goal="words",
    ),
    Method(
        microaggregation,
        "Real queries that stand for the interests of each group.",
        check=check_microaggregation,
        goal="queries",
        needs_events=True,
    ),
    Method(
        navarro,
        "Shows what groups by spelling, time and clicks would publish.",
        "comparison",
        goal="queries",
        needs_events=True,
    ),
    Method(
        erola,
        "Shows what groups by categories of single words would publish.",
        "comparison",
        goal="queries",
        needs_events=True,
    ),
    Method(
        plain,
        "Shows what microaggregation gains by knowing what queries mean.",
        "comparison",
        goal="queries",
        needs_events=True,
    ),
    Method(
        korolova,
        "A list of common queries with noisy counts, and nothing about single people.",
        check=check_korolova,
        check_data=check_korolova_data,
        goal="queries",
        needs_events=True,
    ),
    Method(
        dp,
        "A list of what many people have, with noisy counts: promised whatever an attacker knows or has planted.",
        check=check_dp,
        check_data=check_dp_data,
        goal="words",
        items="terms",
        footprint=Footprint(entry=36, record=90, distinct=250),
        rate=_always(2.0),
        reads=dp_reads,
    ),
    Method(
        poblete,
        "Shows what removing queries by their clicks leaves behind.",
        "comparison",
        check=check_poblete,
        goal="queries",
        needs_events=True,
    ),
    Method(
        apriori,
        "Records of people of whom an attacker knows at most m items.",
        check=check_apriori,
        rate=_always(30.0),
    ),
    Method(
        suppress,
        "Shows what removing rare items alone leaves behind.",
        "comparison",
        goal="words",
        rate=_always(10.0),
    ),
)
METHODS: Mapping[str, Method] = {method.name: method for method in _ALL}
OF_WEEKS = "required for of=weeks"  # nobody chooses weeks by the data


def method_named(name: str) -> Method:
    """Return a method, or say which name comes nearest."""
    return METHODS[check_choice("method", name, METHODS)]


def _describe(parameter: inspect.Parameter, hint: Any) -> str:
    kind = _kind(hint)
    choice = "|".join(map(str, get_args(kind))) if get_origin(kind) is Literal else kind.__name__
    default = f"default {parameter.default}" if parameter.default != "" else "by default none"
    if parameter.default is None:
        default = OF_WEEKS if parameter.name in ("since", "weeks") else "by default chosen"
    return f"{parameter.name}={choice} ({default})"


def _kind(hint: Any) -> Any:
    """Return what a parameter is if it is given: its annotation without None."""
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    return kinds[0] if NoneType in get_args(hint) else hint


def _value(name: str, value: Any, kind: Any) -> Any:
    """Read one parameter as its annotated type."""
    if value is None and NoneType in get_args(kind):
        return None
    kind = _kind(kind)
    if kind is bool:
        return check_choice(name, str(value).lower(), ("true", "false")) == "true"
    if get_origin(kind) is Literal:
        return check_choice(name, str(value), map(str, get_args(kind)))
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise BadInputError(f"{name} must be of type {kind.__name__} (got '{value}')") from None
