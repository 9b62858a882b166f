"""Charges a release to the budget of its people, before its noise is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from incrowd.core.accounting import Cost
from incrowd.errors import BadInputError, option
from incrowd.methods.dp.method import spending_of
from incrowd.methods.registry import Method
from incrowd.release.budget import Budget, Spent

__all__ = ["charge", "check_budget", "spent_by"]


def check_budget(budget: Path | None, method: Method, parameters: Mapping[str, Any], out: Path) -> None:
    """Refuse a release that its budget does not allow, and a budget where there is no noise; nothing is recorded."""
    if budget is None:
        return
    if not method.is_noisy:
        raise BadInputError(
            f"{option('budget')} is for differential privacy: drop it, or use {option('method', 'dp')}"
        )
    if out != Path() and budget.resolve().is_relative_to(out.resolve()):
        raise BadInputError(f"budget {budget} must not lie inside the release: it is private")
    Budget(budget).check(spent_by(method.name, parameters, out))


def charge(budget: Path | None, method: Method, parameters: Mapping[str, Any], out: Path) -> None:
    """Record a release that is about to be made; refuse it if nothing is left for it."""
    if budget is not None:
        Budget(budget).charge(spent_by(method.name, parameters, out))


def spent_by(method: str, parameters: Mapping[str, Any], out: Path) -> Spent:
    """Return what a release with such parameters spends."""
    eps, delta = float(parameters["eps"]), float(parameters["delta"])
    rho, missed = _cost(method, parameters)
    return Spent(out.absolute().name if out != Path() else "", method, eps, delta, rho, missed)


def _cost(method: str, parameters: Mapping[str, Any]) -> Cost:
    """Return the cost of Gaussian noise by its lengths; of Laplace noise, which is eps-differentially private, eps^2 / 2."""
    if method == "dp":
        spending = spending_of(parameters)
        return Cost(spending.rho, spending.missed)
    return Cost(float(parameters["eps"]) ** 2 / 2, float(parameters["delta"]))
