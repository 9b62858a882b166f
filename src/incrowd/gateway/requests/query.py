"""A query with its decision: one immutable value for its whole way through the gateway.

It has what a person wants to know, what may be sent to the provider in its place, and the explanation for the person. It
depends only on the request's text, the person's policies and past disclosures, so it can be cached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from incrowd.core.bounded import keep
from incrowd.gateway.config.rules import RESERVED_PARAMETERS
from incrowd.gateway.config.settings import Parameter, Person, Route
from incrowd.gateway.ops.metrics import CountedDecision
from incrowd.gateway.requests.answer import Filter, Getter, Order, field_getter, parse_sort, parse_window
from incrowd.gateway.requests.parameters import read_parameters
from incrowd.generalizer.decision import Decision
from incrowd.generalizer.protection import Protection
from incrowd.generalizer.schema import Attribute, text_of

__all__ = ["Past", "Query", "QueryBuilder"]

Past = Mapping[str, frozenset[str]] | None
"""Past disclosures: attribute -> nodes as the ledger stores them; None if queries are not linked."""
MOST_KEPT = 4096
"""Templates and outcomes of a route that are cached."""
_encode = msgspec.json.Encoder().encode


class Query(msgspec.Struct, frozen=True, eq=False):
    """A person's query at a route, with what is sent in its place. Its repr contains no values.

    Parameters
    ----------
    filters
        The filters of the answer: the whole query is applied here, whatever was sent.
    unknown
        Names of the parameters that the route does not know, and that are not applied.
    order, offset, limit
        How the answer is sorted, and which part of it is requested.
    past
        The past disclosures that the decision is based on.
    decision
        The decision; nothing is sent if it is a refusal.
    sent
        What is sent to the provider, under the provider's names.
    counted
        What is counted about the decision.
    privacy
        The explanation for the person, as JSON.
    """

    filters: tuple[Filter, ...]
    unknown: tuple[str, ...]
    order: Order
    offset: int
    limit: int
    past: Past
    decision: Decision
    sent: Mapping[str, Any]
    counted: CountedDecision
    privacy: msgspec.Raw

    def __repr__(self) -> str:
        return f"Query(decision={self.decision!r})"


class QueryBuilder:
    """Builds the queries of one route.

    What queries with the same parameters have in common is computed once (`_Template`), and so is what those with the
    same parameters and the same state have in common (`_Outcome`).

    Parameters
    ----------
    route
        The route.
    protection
        Decides how much of a query is sent.
    """

    def __init__(self, route: Route, protection: Protection) -> None:
        self._route = route
        self._protection = protection
        self._getters = {
            name: field_getter(each.field) for name, each in route.parameters.items() if each.field
        }
        self._coarser = {
            each.attribute: _coarser_texts(protection.schema[each.attribute])
            for each in route.parameters.values()
            if each.use == "quasi"
        }
        self._templates: dict[tuple[str, ...], _Template] = {}
        self._outcomes: dict[tuple[tuple[str, ...], int, int | None], _Outcome] = {}

    def build(self, person: Person, method: str, text: bytes, past: Past) -> Query:
        """Parse a request, decide what may be sent in its place, and return both as one value."""
        given = read_parameters(method, text)
        if not given.keys().isdisjoint(RESERVED_PARAMETERS):
            offset, limit = parse_window(
                given.pop("offset", None), given.pop("limit", None), self._route.page
            )
            order = parse_sort(given.pop("sort", None), self._route.sort)
        else:
            offset, limit, order = 0, self._route.page.size, ()
        given = {name: value for name, value in given.items() if value is not None and value != ""}
        template = self._template(tuple(given))
        attributes = {attribute: given[name] for name, attribute in template.quasi}
        decision = self._protection.decide(attributes, person.protect, user=person.name, disclosed=past)
        outcome = self._outcome(template, person, decision)
        kept = decision.kept
        sent = {name: given[source] for source, name in outcome.passed}
        sent |= {name: kept[attribute] for attribute, name in outcome.sent}
        return Query(
            filters=tuple(
                Filter(field, get, text_of(given[name]), was_sent, coarser)
                for name, field, get, was_sent, coarser in outcome.filters
            ),
            unknown=template.unknown,
            order=order,
            offset=offset,
            limit=limit,
            past=past,
            decision=decision,
            sent=sent,
            counted=outcome.counted,
            privacy=msgspec.Raw(_encode(_privacy(decision, person, sent, outcome))),
        )

    def _template(self, names: tuple[str, ...]) -> _Template:
        template = self._templates.get(names)
        if template is None:
            # In the route's order: the order in which they are given could identify a person.
            known = [(name, each) for name, each in self._route.parameters.items() if name in names]
            template = _Template(
                names=names,
                known=tuple(known),
                quasi=tuple((name, each.attribute) for name, each in known if each.use == "quasi"),
                unknown=tuple(name for name in names if name not in self._route.parameters),
            )
            keep(self._templates, names, template, MOST_KEPT)
        return template

    def _outcome(self, template: _Template, person: Person, decision: Decision) -> _Outcome:
        key = template.names, id(person.protect), decision.state
        outcome = self._outcomes.get(key)
        if outcome is None:
            outcome = keep(self._outcomes, key, self._new_outcome(template, decision), MOST_KEPT)
        return outcome

    def _new_outcome(self, template: _Template, decision: Decision) -> _Outcome:
        rungs, known = decision.rungs, template.known
        blocked = [name for name, each in known if each.use == "block"]
        return _Outcome(
            passed=()
            if decision.refused
            else tuple((name, each.send[0]) for name, each in known if each.use == "passthrough"),
            sent=tuple(
                (each.attribute, each.send[rungs[each.attribute]])
                for _, each in known
                if each.attribute in rungs
            ),
            filters=tuple(
                (name, each.field, self._getters[name], *self._held_against(each, rungs))
                for name, each in known
                if each.field
            ),
            words={
                "kept": [name for name, rung in rungs.items() if not rung],
                "coarser": [name for name, rung in rungs.items() if rung],
                "dropped": list(decision.dropped),
                "blocked": [*blocked, *template.unknown],
            },
            reason=decision.reason,
            counted=CountedDecision.of(decision),
        )

    def _held_against(
        self, parameter: Parameter, rungs: Mapping[str, int]
    ) -> tuple[bool, Mapping[str, str] | None]:
        """Return whether a parameter's value is sent, or else the coarser values if one of those is sent."""
        rung = rungs.get(parameter.attribute)
        return rung == 0, self._coarser[parameter.attribute][rung - 1] if rung else None


@dataclass(frozen=True, slots=True)
class _Template:
    """What queries with the same parameters have in common: the parameters, the attributes and the unknown names."""

    names: tuple[str, ...]
    known: tuple[tuple[str, Parameter], ...]
    quasi: tuple[tuple[str, str], ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What queries with the same parameters and the same state have in common.

    Parameters
    ----------
    passed, sent
        The parameters that pass through and the attributes that are sent, with the provider's names for them.
    filters
        Parameter, field and its getter; whether the value was sent; the coarser values if one of those was.
    words, reason
        The explanation for the person.
    counted
        What is counted.
    """

    passed: tuple[tuple[str, str], ...]
    sent: tuple[tuple[str, str], ...]
    filters: tuple[tuple[str, str, Getter, bool, Mapping[str, str] | None], ...]
    words: Mapping[str, list[str]]
    reason: str
    counted: CountedDecision


def _coarser_texts(attribute: Attribute) -> list[dict[str, str]]:
    """Return for each rung above the lowest the coarser value of each value, by their texts."""
    texts = [text_of(value) for value in attribute.domain]
    return [dict(zip(texts, map(text_of, rung), strict=True)) for rung in attribute.ladder]


def _privacy(
    decision: Decision, person: Person, sent: Mapping[str, Any], outcome: _Outcome
) -> dict[str, Any]:
    """Return the explanation for the person: what is disclosed to the provider, and how many guesses it leaves."""
    if decision.refused:
        return {}
    before, after = decision.entropy_before, decision.entropy_after
    guesses = {
        policy.attribute: {
            "needed": str(policy.minimum),
            "before": str(before[policy.attribute]),
            "after": str(after[policy.attribute]),
        }
        for policy in person.protect
    }
    return {"sent": sent, **outcome.words, "guesses": guesses, "reason": outcome.reason}
