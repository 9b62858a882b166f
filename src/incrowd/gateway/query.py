"""A query on its way through the gateway: one value, built once and never changed.

It holds what a person wants to know, what may be sent to the provider in its place, and what the person hears about
that. It depends on the request's text, on the person's policies and on what the provider has been sent before, and on
nothing else: asked again, the same value can be used again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from incrowd.gateway.answer import Filter, Getter, Order, field_getter, parse_sort, parse_window
from incrowd.gateway.config import RESERVED_PARAMETERS, Parameter, Person, Route
from incrowd.gateway.parameters import read_parameters
from incrowd.gateway.watch import Verdict
from incrowd.online.decision import Decision
from incrowd.online.kept import keep
from incrowd.online.protection import Protection
from incrowd.online.schema import Attribute, text_of

__all__ = ["Past", "Query", "QueryBuilder"]

Past = Mapping[str, frozenset[str]] | None
"""What the provider has been sent before: attribute -> nodes as the ledger stores them; None if queries are not linked."""
MOST_KEPT = 4096
"""Templates and outcomes of a route that are kept."""
_encode = msgspec.json.Encoder().encode


class Query(msgspec.Struct, frozen=True, eq=False):
    """A person's query at a route, with what is sent in its place. Values are in no repr.

    Parameters
    ----------
    filters
        What the rows of the answer must say: the whole query is applied here, whatever was sent.
    unknown
        Names of the parameters that the route does not know: nobody can say what they mean.
    order, offset, limit
        How the answer is sorted, and which part of it is wanted.
    past
        What the provider had been sent before, when it was decided what to send now.
    decision
        What may be sent; nothing if it is refused.
    sent
        What goes to the provider, under the provider's names.
    verdict
        What is counted about the decision.
    privacy
        What the person hears about it, as JSON.
    """

    filters: tuple[Filter, ...]
    unknown: tuple[str, ...]
    order: Order
    offset: int
    limit: int
    past: Past
    decision: Decision
    sent: Mapping[str, Any]
    verdict: Verdict
    privacy: msgspec.Raw

    def __repr__(self) -> str:
        return f"Query(decision={self.decision!r})"


class QueryBuilder:
    """Builds the queries of one route.

    What queries with the same parameters have in common is worked out once (`_Template`), and what those among them
    have in common of which as much is sent, too (`_Outcome`).

    Parameters
    ----------
    route
        The route.
    protection
        What decides how much of a query is sent.
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
        """Read a request's text, decide what may be sent in its place, and put both into one value."""
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
            verdict=outcome.verdict,
            privacy=msgspec.Raw(_encode(_privacy(decision, person, sent, outcome))),
        )

    def _template(self, names: tuple[str, ...]) -> _Template:
        template = self._templates.get(names)
        if template is None:
            # In the route's order: the order in which they are given would tell persons apart.
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
            verdict=Verdict.of(decision),
        )

    def _held_against(
        self, parameter: Parameter, rungs: Mapping[str, int]
    ) -> tuple[bool, Mapping[str, str] | None]:
        """Return whether a parameter's value is sent, or else the coarser values if one of those is."""
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
    """What queries with the same parameters have in common of which as much is sent.

    Parameters
    ----------
    passed, sent
        The parameters that pass through and the attributes that are sent, with the provider's names for them.
    filters
        Parameter, field and its getter; whether the value was sent; the coarser values if one of those was.
    words, reason
        What the person hears.
    verdict
        What is counted.
    """

    passed: tuple[tuple[str, str], ...]
    sent: tuple[tuple[str, str], ...]
    filters: tuple[tuple[str, str, Getter, bool, Mapping[str, str] | None], ...]
    words: Mapping[str, list[str]]
    reason: str
    verdict: Verdict


def _coarser_texts(attribute: Attribute) -> list[dict[str, str]]:
    """Return for each rung above the lowest the coarser value of each value, by their texts."""
    texts = [text_of(value) for value in attribute.domain]
    return [dict(zip(texts, map(text_of, rung), strict=True)) for rung in attribute.ladder]


def _privacy(
    decision: Decision, person: Person, sent: Mapping[str, Any], outcome: _Outcome
) -> dict[str, Any]:
    """Say what the provider learns, and what it costs to guess from that."""
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
