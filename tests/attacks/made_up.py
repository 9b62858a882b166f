"""Risks made by hand, for what shows them."""

from __future__ import annotations

from typing import Any

from incrowd.attacks.rates import Figure, Rate
from incrowd.attacks.result import Risk, Side

__all__ = ["AFTER", "BEFORE", "KNOWN", "after_side", "before_side", "figure", "risk_of_shop"]

KNOWN = range(1, 11)
BEFORE = {1: 0.004, 2: 0.095, 3: 0.33, 4: 0.53, 5: 0.68, 6: 0.75, 7: 0.8, 8: 0.84, 9: 0.87, 10: 0.9}
AFTER = dict.fromkeys(KNOWN, 0.0) | {9: 0.012, 10: 0.021}


def figure(share: float, control: float | None = None, tries: int = 1_000) -> Figure:
    """Return a figure with some share of right tries."""
    return Figure(Rate(share * tries, tries), None if control is None else Rate(control * tries, tries))


def before_side(**more: Any) -> Side:
    """Return what was found in raw data with times."""
    found = {
        "unicity": {p: figure(BEFORE[p], 0.002 * p) for p in KNOWN},
        "unicity_rarest": {p: figure(min(1.0, BEFORE[p] + 0.1 + 0.3 / p), 0.002 * p) for p in KNOWN},
        "unicity_recent": {p: figure(BEFORE[p] * 0.9, 0.002 * p) for p in KNOWN},
        "reidentified": {p: figure(BEFORE[p] * 1.04) for p in KNOWN},
        "at_risk": figure(0.97, tries=77_512),
        "marketer": figure(0.95, tries=77_512),
        "halves": figure(0.71, 0.2),
        "found_again": figure(0.24, 0.001, tries=321),
        "one_more_item": {1: figure(0.1, 0.08), 3: figure(0.42, 0.21), 10: figure(0.61, 0.3)},
    }
    return Side(found | more, {"sensitive_item": "no list of sensitive items was given"}, (1.0, 1.0))


def after_side(**more: Any) -> Side:
    """Return what was found in a release of them."""
    found = {
        "unicity": {p: figure(AFTER[p], 0.01) for p in KNOWN},
        "unicity_rarest": {p: figure(AFTER[p] * 1.5, 0.0) for p in KNOWN},
        "unicity_recent": {p: figure(AFTER[p] * 0.5, 0.0) for p in KNOWN},
        "reidentified": {p: figure(0.002 * p) for p in KNOWN},
        "at_risk": figure(0.0, tries=77_512),
        "marketer": figure(0.11, tries=77_512),
        "halves": figure(0.33, 0.25),
        "found_again": figure(0.03, 0.001, tries=321),
        "two_releases": figure(0.56, tries=77_512),
        "one_more_item": {1: figure(0.09, 0.08), 3: figure(0.22, 0.2), 10: figure(0.31, 0.3)},
        "proven_items": figure(0.05, tries=77_512),
        "alone": figure(0.0, tries=40),
    }
    skipped = {
        "sensitive_item": "no list of sensitive items was given",
        "read_off": "the method would have to run again",
    }
    return Side(found | more, skipped, (0.2, 0.2))


def risk_of_shop(*, released: bool = True, **given: Any) -> Risk:
    """Return the risk of a shop's data, before and (if it was released) after."""
    how: dict[str, Any] = {"k": 5, "seed": 0, "most": 1_000, "name": "shop<1>.dat", "people": 77_512}
    after = after_side() if released else None
    return Risk(
        **({"before": before_side(), "after": after, "method": "flock" if released else "", **how} | given)
    )
