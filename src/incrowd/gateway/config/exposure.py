"""What a provider that knows the table and the algorithm can guess from the configured strategy, for each route.

The attack itself is `incrowd.generalizer.minimality`. Here it is run on a configuration: for each route and each set of
policies in use, with queries that have every parameter, or any of them. Of a large table a sample is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from incrowd.gateway.config.settings import Config
from incrowd.gateway.server.prepared import templates
from incrowd.generalizer.minimality import Posterior, posterior, usual_templates
from incrowd.generalizer.policy import Policy
from incrowd.generalizer.schema import AuxiliaryTable
from incrowd.generalizer.strict import MOST_STATES

__all__ = ["Exposure", "exposures", "shown_exposures", "warnings_of"]

WORK = 1 << 26
"""How many generalizations of queries are evaluated, over all routes and policies: some seconds of work."""
LEAST_ROWS = 2_000
"""A sample of fewer rows is not meaningful."""
MOST_PAIRS = 64
"""The most pairs of a route and policies that are evaluated."""

_SHOWN_AS_NOTHING = 0.0005
EVERY, ANY = "every parameter", "any of them"


@dataclass(frozen=True)
class Exposure:
    """What a provider can guess from the disclosures of a route.

    Parameters
    ----------
    route, protects
        Its path, and the policies as they are written in a configuration.
    parameters
        The parameters that queries have: every parameter of the route, or any of them, each with probability 2/3.
    rows
        The number of rows of the table that were used.
    found
        The result of the attack.
    """

    route: str
    protects: str
    parameters: str
    rows: int
    found: Posterior

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "route": self.route,
            "protects": self.protects,
            "asked": self.parameters,
            "rows": self.rows,
            "below_template_known": self.found.known,
            "below_template_not_known": self.found.unknown,
            "refused": self.found.refused,
            "fetched": self.found.fetched,
        }


def exposures(config: Config, table: AuxiliaryTable) -> tuple[Exposure, ...]:
    """Attack what the configured strategy sends, for each route and all policies in use."""
    pairs = list(_pairs(config))
    found: list[Exposure] = []
    for path, names, policies in pairs[:MOST_PAIRS] if table.rows else ():
        found += _of_route(config, table, (path, names, policies), WORK // min(len(pairs), MOST_PAIRS))
    return tuple(found)


def warnings_of(config: Config, found: Sequence[Exposure]) -> Iterator[str]:
    """Yield a warning if some disclosures are below the policy's minimum."""
    worst = max(found, key=lambda each: max(each.found.known, each.found.unknown), default=None)
    if worst is None:
        return
    share = max(worst.found.known, worst.found.unknown)
    if share > 0:
        yield (
            f"privacy.strategy: what {config.privacy.strategy} drops depends on the values of queries, which discloses something: "
            f"for a provider that knows the table and the algorithm, {worst.protects} does not hold after "
            f"{_percent(share)} of the disclosures of {worst.route}; use strategy: strict"
        )


def shown_exposures(config: Config, found: Sequence[Exposure], rows: int) -> Iterator[Table | str]:
    """Yield the table of all exposures and the text for it."""
    if not found:
        yield "What the strategy discloses to a provider that knows it was not computed: there are too many generalizations."
        return
    least = min(each.rows for each in found)
    sample = f", by a sample of {least:,} rows or more" if least < rows else ""
    yield (
        f"Strategy {config.privacy.strategy}: disclosures below the policy for a provider that knows the table and the "
        "algorithm, and which parameters a query had (known) or not; queries refused, and the share of the table that is "
        f"fetched. For first queries of people about themselves{sample}."
    )
    table = Table(box=None, pad_edge=False)
    for title in ("route", "protects", "parameters"):
        table.add_column(title, overflow="fold", no_wrap=title == "parameters")
    for title in ("known", "not known", "refused", "fetched"):
        table.add_column(title, justify="right")
    for each in found:
        table.add_row(Text(each.route), Text(each.protects), each.parameters, *_cells(each))
    yield table


def _cells(each: Exposure) -> Iterator[Text]:
    for share in (each.found.known, each.found.unknown):
        yield Text(_percent(share), style="red" if share else "green")
    yield Text(_percent(each.found.refused))
    yield Text(_percent(each.found.fetched))


def _pairs(config: Config) -> Iterator[tuple[str, tuple[str, ...], tuple[Policy, ...]]]:
    """Yield the path and attributes of each route with each set of policies; equal pairs only once."""
    seen = set()
    for route, names in zip(config.routes, templates(config), strict=True):
        for policies in dict.fromkeys(person.protect for person in config.people):
            sent = frozenset(names) - {policy.attribute for policy in policies}
            if (sent, policies) not in seen:
                seen.add((sent, policies))
                yield route.path, tuple(sorted(sent)), policies


def _of_route(
    config: Config, table: AuxiliaryTable, pair: tuple[str, tuple[str, ...], tuple[Policy, ...]], work: int
) -> Iterator[Exposure]:
    """Run the attack with every parameter, and with any of them, on as many rows as the work allows."""
    path, names, policies = pair
    protects = ", ".join(map(str, policies))
    tops = [table.schema[name].top for name in names]
    kinds = {
        EVERY: ({names: 1}, math.prod(top + 1 for top in tops)),
        ANY: (usual_templates(names), math.prod(top + 2 for top in tops)),
    }
    for parameters, (some, states) in kinds.items():
        rows = min(table.rows, work // states)
        if (rows >= min(LEAST_ROWS, table.rows) and kinds[EVERY][1] <= MOST_STATES) and (
            names or parameters == EVERY
        ):
            drawn = _sample(table, rows)
            found = posterior(drawn, policies, config.privacy.strategy, some)
            yield Exposure(path, protects, parameters, rows, found)


def _sample(table: AuxiliaryTable, rows: int) -> AuxiliaryTable:
    """Return a sample of a table's rows, drawn without replacement; always the same rows."""
    if rows >= table.rows:
        return table
    drawn = np.sort(np.random.default_rng(0).choice(table.rows, rows, replace=False))
    return replace(table, rows=rows, columns={name: column[drawn] for name, column in table.columns.items()})


def _percent(share: float) -> str:
    """Format a share; one that is not 0 is never shown as 0."""
    if 0 < share < _SHOWN_AS_NOTHING:
        return "< 0.1 %"
    return f"{100 * share:.1f} %"
