"""How often an attack succeeds, with its interval, and how much of that is due to the person's being in the data."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

__all__ = ["Figure", "Interval", "Rate"]

Z = 1.959963984540054
"""The normal quantile of 97.5 %: intervals are of 95 %."""


MOST_CONTROL = 0.9


class Interval(NamedTuple):
    """The lowest and the highest value that the tries do not speak against."""

    low: float
    high: float


class Rate(NamedTuple):
    """How many of some tries were right; an attack that is right with a chance counts as that much."""

    right: float
    tries: int

    @property
    def value(self) -> float:
        """The share of right tries."""
        return self.right / self.tries if self.tries else 0.0

    @property
    def interval(self) -> Interval:
        """Wilson's interval (Journal of the American Statistical Association, 1927)."""
        if not self.tries:
            return Interval(0.0, 1.0)
        n, share = self.tries, self.value
        middle = share + Z * Z / (2 * n)
        width = Z * sqrt(max(share * (1 - share), 0.0) / n + Z * Z / (4 * n * n))
        scale = 1 + Z * Z / n
        low, high = (middle - width) / scale, (middle + width) / scale
        return Interval(0.0 if share == 0 else max(low, 0.0), 1.0 if share == 1 else min(high, 1.0))


class Figure(NamedTuple):
    """An attack on people in the data and, where there is one, the same attack on a control group that is not in it."""

    attack: Rate
    control: Rate | None = None

    @property
    def value(self) -> float:
        """How often the attack succeeds."""
        return self.attack.value

    @property
    def tells(self) -> bool:
        """Whether the control leaves anything to tell: where nearly all of it succeeds, so does chance."""
        return self.control is None or self.control.value <= MOST_CONTROL

    @property
    def risk(self) -> float:
        """How much of it is due to the person's data: (attack - control) / (1 - control), at least 0."""
        return self.attack.value if self.control is None else _excess(self.value, self.control.value)

    @property
    def risk_interval(self) -> Interval:
        """What the risk lies between if either rate is anywhere in its interval."""
        attack = self.attack.interval
        if self.control is None:
            return attack
        control = self.control.interval
        return Interval(_excess(attack.low, control.high), _excess(attack.high, control.low))


def _excess(attack: float, control: float) -> float:
    return max(0.0, (attack - control) / (1 - control)) if control < 1 else 0.0
