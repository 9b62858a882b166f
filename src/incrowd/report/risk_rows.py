"""What attacks found, as plain rows: for pages of releases, which know nothing of attacks."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["RiskRow"]


class RiskRow(NamedTuple):
    """One question of the authorities and the highest risk that attacks found, all in words.

    Parameters
    ----------
    question
        What was asked, as ``Singling out``.
    risk, interval
        The highest risk, or that none was measured; and what it lies between.
    tries
        How many people were tried.
    control
        How often the attack succeeds in the control group.
    attack
        What the attack does to how many of these people.
    """

    question: str
    risk: str
    interval: str = ""
    tries: str = ""
    control: str = ""
    attack: str = ""

    @property
    def in_words(self) -> str:
        """The row as one line."""
        if not self.tries:
            return f"{self.question}: {self.risk}"
        control = f"control {self.control}" if self.control else "no control group"
        return f"{self.question}: {self.risk} ({self.interval}), {self.tries} people tried, {control}"
