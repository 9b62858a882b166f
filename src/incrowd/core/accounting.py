"""What several differentially private releases of the same people promise together: zero-concentrated accounting.

Bun and Steinke, "Concentrated differential privacy" (TCC 2016): rho and the chances that thresholds fail add up, also where a release is chosen
by what earlier ones said. Canonne, Kamath and Steinke (2020) turn the sum into eps and delta; docs/papers/dp.md has the formula.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Cost", "eps_of", "total"]

TRIED = 400
FURTHEST = 12.0  # orders from 1 + e^-12 to 1 + e^12 are tried; each of them gives a bound that holds


class Cost(NamedTuple):
    """What a release costs: it is rho-zCDP but for a chance of `missed`."""

    rho: float
    missed: float


def total(costs: Iterable[Cost]) -> Cost:
    """Return what releases cost together, rounded up."""
    spent = list(costs)
    sums = (math.fsum(cost.rho for cost in spent), math.fsum(cost.missed for cost in spent))
    return Cost(*(math.nextafter(one, math.inf) if one else 0.0 for one in sums))


def eps_of(cost: Cost, delta: float) -> float:
    """Return an eps that holds with delta; infinite where delta is spent.

    For every order a > 1, eps = a rho + ln(1 - 1/a) - (ln(delta') + ln(a)) / (a - 1) holds, where delta' is what thresholds leave of delta.
    """
    left = delta - cost.missed
    if left <= 0:
        return math.inf
    if not cost.rho:
        return 0.0
    steps = (FURTHEST * (2 * step / TRIED - 1) for step in range(TRIED + 1))
    orders = (1 + math.exp(step) for step in steps)
    found = min(
        order * cost.rho + math.log1p(-1 / order) - (math.log(left) + math.log(order)) / (order - 1)
        for order in orders
    )
    return max(found, 0.0)
