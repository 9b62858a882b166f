"""``incrowd gateway --check``: what a configuration can guarantee with its auxiliary table, before it is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from incrowd.gateway.config.cautions import cautions
from incrowd.gateway.config.exposure import Exposure, exposures, shown_exposures, warnings_of
from incrowd.gateway.config.rules import policies_in_use
from incrowd.gateway.config.settings import Config
from incrowd.gateway.config.units import size_in_words
from incrowd.gateway.config.usable import resource_warnings, startup_errors
from incrowd.gateway.ops.ledgers import ledger_problems
from incrowd.gateway.server.prepared import checked_table, protected_names
from incrowd.generalizer.cube.layout import predicted_bytes, slab_bytes
from incrowd.generalizer.entropy import as_fraction, guess_sum
from incrowd.generalizer.policy import Policy
from incrowd.generalizer.schema import AuxiliaryTable
from incrowd.report.console import plain_console

__all__ = ["AttributeCheck", "CheckResult", "Memory", "PolicyCheck", "check", "show"]

ALWAYS, SOMETIMES, NEVER = "always", "sometimes", "never"
_STYLES = {ALWAYS: "green", SOMETIMES: "yellow", NEVER: "red"}
_COUNTERS = {
    "cube": "entropies are looked up in cubes",
    "sample": "they do not fit, so a sample of the table is scanned for each query",
    "scan": "they do not fit, so the table is scanned for each query",
}


@dataclass(frozen=True)
class AttributeCheck:
    """An attribute of the auxiliary table.

    Parameters
    ----------
    name, values, rungs
        Its name, the size of its domain, and how many rungs it has below "don't care".
    occurring
        How many of its values occur.
    entropy
        G of the query for all rows: how many guesses its value takes if nothing else is known.
    protected
        Whether a policy protects it.
    """

    name: str
    values: int
    rungs: int
    occurring: int
    entropy: Fraction
    protected: bool

    @property
    def largest_l(self) -> int:
        """The largest l for which the query for all rows may be sent, so that no query needs to be refused."""
        return int(2 * self.entropy - 1)

    def reach(self, policy: Policy) -> str:
        """Return whether queries meet a policy for this attribute: always, sometimes or never.

        If the query for all rows may be sent, there is always something to send. Otherwise some narrower query may
        be private, but never beyond the guesses that equally frequent values would take.
        """
        if self.entropy >= policy.minimum:
            return ALWAYS
        return SOMETIMES if policy.minimum <= Fraction(self.occurring + 1, 2) else NEVER


@dataclass(frozen=True)
class PolicyCheck:
    """A policy in use: its place in the configuration, whose it is, and whether queries can meet it."""

    where: str
    who: str
    policy: Policy
    reach: str


@dataclass(frozen=True)
class Memory:
    """The bytes that the cubes take, finished and while they are built; the budget; and the counter: cube, sample or scan."""

    cubes: int
    building: int
    budget: int
    counter: str


@dataclass(frozen=True)
class CheckResult:
    """The result of a check. `errors` are reasons not to start, `warnings` are for the operator to review."""

    file: str
    rows: int
    attributes: tuple[AttributeCheck, ...]
    policies: tuple[PolicyCheck, ...]
    memory: Memory
    exposures: tuple[Exposure, ...]
    warnings: tuple[str, ...]
    errors: tuple[str, ...]
    config: Config = field(repr=False)

    @property
    def good(self) -> bool:
        """Whether there are no errors."""
        return not self.errors

    def as_dict(self) -> dict[str, Any]:
        """Return the result for JSON; entropies are exact fractions as text."""
        return {
            "file": self.file,
            "good": self.good,
            "rows": self.rows,
            "attributes": [
                {
                    "name": each.name,
                    "values": each.values,
                    "occurring": each.occurring,
                    "rungs": each.rungs,
                    "entropy": str(each.entropy),
                    "largest_l": each.largest_l,
                    "protected": each.protected,
                }
                for each in self.attributes
            ],
            "policies": [
                {
                    "where": each.where,
                    "who": each.who,
                    "attribute": each.policy.attribute,
                    "minimum": str(each.policy.minimum),
                    "reachable": each.reach,
                }
                for each in self.policies
            ],
            "memory": {
                "cubes": self.memory.cubes,
                "building": self.memory.building,
                "budget": self.memory.budget,
                "counter": self.memory.counter,
            },
            "strategy": self.config.privacy.strategy,
            "minimality": [each.as_dict() for each in self.exposures],
            "warnings": list(self.warnings),
            "errors": list(self.errors),
        }


def check(config: Config, *, machine: bool = False) -> CheckResult:
    """Load the auxiliary table and check what the configuration can guarantee with it.

    Parameters
    ----------
    config
        The configuration.
    machine
        Also check what it needs of this machine: addresses, certificates, directories.
    """
    table, protected = checked_table(config), protected_names(config)
    attributes = {name: _attribute(table, name, protected=name in protected) for name in table.schema.names}
    policies = tuple(_policies(config, attributes))
    exposed = exposures(config, table)
    memory = _memory(config, table, protected)
    return CheckResult(
        file=str(config.file),
        rows=table.rows,
        attributes=tuple(attributes.values()),
        policies=policies,
        memory=memory,
        exposures=exposed,
        warnings=(
            *_lines(policies, attributes, SOMETIMES),
            *warnings_of(config, exposed),
            *cautions(config, table.schema.names),
            *(resource_warnings(config) if machine else ()),
        ),
        errors=(
            *_lines(policies, attributes, NEVER),
            *ledger_problems(config),
            *(startup_errors(config, cubes=memory.counter == "cube") if machine else ()),
        ),
        config=config,
    )


def _attribute(table: AuxiliaryTable, name: str, *, protected: bool) -> AttributeCheck:
    attribute = table.schema[name]
    counts = np.bincount(table.columns[name], minlength=len(attribute.domain))
    return AttributeCheck(
        name=name,
        values=len(attribute.domain),
        rungs=attribute.top,
        occurring=int(np.count_nonzero(counts)),
        entropy=as_fraction(*guess_sum(counts)),
        protected=protected,
    )


def _policies(config: Config, attributes: dict[str, AttributeCheck]) -> Iterator[PolicyCheck]:
    for where, who, policy in policies_in_use(config):
        reach = attributes[policy.attribute].reach(policy)
        yield PolicyCheck(where, who or "people without their own", policy, reach)


def _lines(
    policies: tuple[PolicyCheck, ...], attributes: dict[str, AttributeCheck], reach: str
) -> Iterator[str]:
    """Yield a line for each policy that only some queries or no query can meet."""
    what = (
        "every query would be refused"
        if reach == NEVER
        else "queries may be refused, even the query for all rows"
    )
    for each in policies:
        if each.reach == reach:
            attribute = attributes[each.policy.attribute]
            yield (
                f"{each.where}: {what}: {attribute.name} takes {_guesses(attribute.entropy)} guesses among all rows "
                f"and the policy requires {each.policy.minimum}; use l={attribute.largest_l} at most"
            )


def _memory(config: Config, table: AuxiliaryTable, protected: tuple[str, ...]) -> Memory:
    """Predict what `incrowd.generalizer.counters.choose_counter` will choose."""
    cubes = predicted_bytes(table.schema, table.rows, protected)
    building = slab_bytes(table.schema, table.rows, protected)
    budget = config.table.memory
    otherwise = "sample" if config.table.sample else "scan"
    return Memory(cubes, building, budget, "cube" if max(cubes, building) <= budget else otherwise)


def show(result: CheckResult) -> None:
    """Print the result of a check."""
    console = plain_console()
    console.print(f"{result.rows:,} rows in the auxiliary table\n")
    console.print(_attributes_table(result))
    console.print()
    console.print(_policies_table(result))
    console.print()
    for part in shown_exposures(result.config, result.exposures, result.rows):
        console.print(part, soft_wrap=isinstance(part, str))
    memory = result.memory
    console.print(
        f"\nCubes take {size_in_words(memory.cubes)}, building them {size_in_words(memory.building)}, the budget is "
        f"{size_in_words(memory.budget)}: {_COUNTERS[memory.counter]}.",
        soft_wrap=True,
    )
    for warning in result.warnings:
        console.print(f"warning: {warning}", style="yellow", soft_wrap=True)
    for error in result.errors:
        console.print(f"error: {error}", style="red", soft_wrap=True)
    conclusion = ("can be used", "bold green") if result.good else ("must not be used", "bold red")
    console.print(Text.assemble("\n", result.file, " ", conclusion), soft_wrap=True)


def _attributes_table(result: CheckResult) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("attribute", style="bold", overflow="fold")
    for title in ("values", "rungs", "guesses", "largest l"):
        table.add_column(title, justify="right")
    table.add_column("")
    for each in result.attributes:
        table.add_row(
            Text(each.name),
            f"{each.values:,}",
            f"{each.rungs}",
            _guesses(each.entropy),
            f"{each.largest_l:,}",
            "protected" if each.protected else "",
        )
    return table


def _policies_table(result: CheckResult) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("policy of", "protects", "guesses needed", "can be met"):
        table.add_column(title, overflow="fold")
    for each in result.policies:
        table.add_row(
            Text(each.who),
            Text(each.policy.attribute),
            str(each.policy.minimum),
            Text(each.reach, style=_STYLES[each.reach]),
        )
    return table


def _guesses(entropy: Fraction) -> str:
    """Format an entropy, rounded down, so that the displayed value is reached."""
    return f"{int(entropy * 100) / 100:,.2f}"
