"""What the configured strategy leaves to a provider that knows the table and the algorithm, route by route.

The attack itself is `incrowd.online.minimality`. Here it is held against a configuration: for each route and each set of
policies in use, people ask with every parameter, or with any of them. A large table is looked at by a sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from incrowd.gateway.config import Config
from incrowd.gateway.prepared import templates
from incrowd.online.minimality import Posterior, posterior, usual_templates
from incrowd.online.policy import Policy
from incrowd.online.schema import AuxiliaryTable
from incrowd.online.strict import MOST_STATES

__all__ = ["Exposure", "exposures", "shown_exposures", "warnings_of"]

WORK = 1 << 26
"""How many generalizations of people's queries are looked at, over all routes and policies: some seconds' work."""
LEAST_ROWS = 2_000
"""A sample of fewer rows says nothing."""
MOST_PAIRS = 64
"""The most routes with policies that are looked at."""

_SHOWN_AS_NOTHING = 0.0005
EVERY, ANY = "every parameter", "any of them"


@dataclass(frozen=True)
class Exposure:
    """What is left to guess after the sends of a route.

    Parameters
    ----------
    route, protects
        Its path, and the policies as people write them.
    asked
        What queries fix: every parameter of the route, or any of them, each with probability 2/3.
    rows
        The rows of the table that were looked at.
    found
        What the attack found.
    """

    route: str
    protects: str
    asked: str
    rows: int
    found: Posterior

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "route": self.route,
            "protects": self.protects,
            "asked": self.asked,
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
    """Yield a line if some sends are below the demand."""
    worst = max(found, key=lambda each: max(each.found.known, each.found.unknown), default=None)
    if worst is None:
        return
    share = max(worst.found.known, worst.found.unknown)
    if share > 0:
        yield (
            f"privacy.strategy: {config.privacy.strategy} drops by what people ask for, and that tells something: a provider "
            f"that knows the table and the algorithm guesses {worst.protects} more easily than is demanded after "
            f"{_percent(share)} of the sends of {worst.route}; use strategy: strict"
        )


def shown_exposures(config: Config, found: Sequence[Exposure], rows: int) -> Iterator[Table | str]:
    """Yield the table of all exposures and what to say of it."""
    if not found:
        yield "What the strategy tells a provider that knows it was not worked out: there are too many generalizations."
        return
    least = min(each.rows for each in found)
    sample = f", by a sample of {least:,} rows or more" if least < rows else ""
    yield (
        f"Strategy {config.privacy.strategy}: sends below the demand for a provider that knows the table and the "
        "algorithm, and which parameters were asked for (known) or not; queries refused, and the share of the table that is "
        f"fetched. First queries of people who ask about themselves{sample}."
    )
    table = Table(box=None, pad_edge=False)
    for title in ("route", "protects", "asked"):
        table.add_column(title, overflow="fold", no_wrap=title == "asked")
    for title in ("known", "not known", "refused", "fetched"):
        table.add_column(title, justify="right")
    for each in found:
        table.add_row(Text(each.route), Text(each.protects), each.asked, *_cells(each))
    yield table


def _cells(each: Exposure) -> Iterator[Text]:
    for share in (each.found.known, each.found.unknown):
        yield Text(_percent(share), style="red" if share else "green")
    yield Text(_percent(each.found.refused))
    yield Text(_percent(each.found.fetched))


def _pairs(config: Config) -> Iterator[tuple[str, tuple[str, ...], tuple[Policy, ...]]]:
    """Yield the path and attributes of each route with each set of policies; routes alike only once."""
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
    """Let people ask with every parameter, and with any, on as many rows as the work allows."""
    path, names, policies = pair
    protects = ", ".join(map(str, policies))
    tops = [table.schema[name].top for name in names]
    kinds = {
        EVERY: ({names: 1}, math.prod(top + 1 for top in tops)),
        ANY: (usual_templates(names), math.prod(top + 2 for top in tops)),
    }
    for asked, (some, states) in kinds.items():
        rows = min(table.rows, work // states)
        if (rows >= min(LEAST_ROWS, table.rows) and kinds[EVERY][1] <= MOST_STATES) and (
            names or asked == EVERY
        ):
            drawn = _sample(table, rows)
            found = posterior(drawn, policies, config.privacy.strategy, some)
            yield Exposure(path, protects, asked, rows, found)


def _sample(table: AuxiliaryTable, rows: int) -> AuxiliaryTable:
    """Return some rows of a table, drawn without replacement; the same ones each time."""
    if rows >= table.rows:
        return table
    drawn = np.sort(np.random.default_rng(0).choice(table.rows, rows, replace=False))
    return replace(table, rows=rows, columns={name: column[drawn] for name, column in table.columns.items()})


def _percent(share: float) -> str:
    """Write a share; what is not nothing is not shown as nothing."""
    if 0 < share < _SHOWN_AS_NOTHING:
        return "< 0.1 %"
    return f"{100 * share:.1f} %"
