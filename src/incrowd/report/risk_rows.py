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
    at_most
        A round share that the risk is below, as far as the tries tell. It may be published; the exact figures are the owner's.
    """

    question: str
    risk: str
    interval: str = ""
    tries: str = ""
    control: str = ""
    attack: str = ""
    at_most: str = ""

    @property
    def in_public(self) -> str:
        """The row as one line that may be published: without exact shares, and without how many people were tried."""
        return f"{self.question}: {f'at most {self.at_most}' if self.at_most else self.risk}"
