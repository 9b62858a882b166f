"""A decision of the query generalizer on the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from incrowd.generalizer.decision import Decision
from incrowd.generalizer.policy import Policy
from incrowd.generalizer.schema import text_of
from incrowd.report.console import plain_console

__all__ = ["decision_as_dict", "show_decision"]


def decision_as_dict(decision: Decision, policies: Sequence[Policy]) -> dict[str, Any]:
    """Return the query to send and why, for programs; guesses are exact fractions."""
    return {
        "refused": decision.refused,
        "sent": {name: _plain(value) for name, value in decision.kept.items()},
        "coarser": [name for name, rung in decision.rungs.items() if rung],
        "dropped": list(decision.dropped),
        "guesses": _guesses(decision, policies),
        "rows": {"before": decision.rows_before, "after": decision.rows_after},
        "strategy": decision.strategy,
        "reason": decision.reason,
    }


def show_decision(query: Mapping[str, str], decision: Decision, policies: Sequence[Policy]) -> None:
    """Show the query next to what is sent, and how many guesses a protected attribute takes."""
    console = plain_console()
    console.print(decision.reason, style="bold red" if decision.refused else "bold green")
    console.print()
    sent = Table("attribute", "in the query", "sent", box=None, pad_edge=False)
    for name, value in query.items():
        sent.add_row(name, value, str(decision.kept.get(name, "not sent")))
    console.print(sent)
    console.print()
    costs = Table("protected", "guesses needed", "if sent unchanged", "as sent", box=None, pad_edge=False)
    for name, guesses in _guesses(decision, policies).items():
        costs.add_row(name, *(f"{_number(guesses[kind])}" for kind in ("needed", "before", "after")))
    console.print(costs)
    console.print()
    console.print(
        _people(decision, protected=any(policy.attribute in query for policy in policies)), style="dim"
    )


def _guesses(decision: Decision, policies: Sequence[Policy]) -> dict[str, dict[str, str | None]]:
    return {
        policy.attribute: {
            "needed": str(policy.minimum),
            "before": str(decision.entropy_before[policy.attribute]),
            "after": None if decision.refused else str(decision.entropy_after[policy.attribute]),
        }
        for policy in policies
    }


def _people(decision: Decision, *, protected: bool) -> str:
    """Return how many people match the original query and the one that is sent."""
    original = "the original query" + (", without protected attributes" if protected else "")
    if decision.refused:
        return f"People who match {original}: {decision.rows_before:,}."
    return f"People who match {original}: {decision.rows_before:,}; the query that is sent: {decision.rows_after:,}."


def _plain(value: object) -> object:
    """Return a value that JSON can hold: dates and the like as text."""
    return value if isinstance(value, str | int | float | bool) else text_of(value)


def _number(fraction: str | None) -> str:
    if fraction is None:
        return "-"
    above, _, below = fraction.partition("/")
    return f"{int(above) / int(below or 1):.2f}"
