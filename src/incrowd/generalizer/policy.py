"""Policies: an attribute to protect, and how many guesses its value must take on average."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from incrowd.errors import BadInputError, check_least

__all__ = ["Policy", "parse_policies", "parse_policy"]

# At most nine digits in each part: a number such as 1e999999999 must not exhaust the memory.
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}|/[0-9]{1,9})?")


@dataclass(frozen=True)
class Policy:
    """Protects an attribute: the guessing entropy of its value must be at least `minimum` (Gmin).

    Parameters
    ----------
    attribute
        The protected attribute. It is never sent.
    minimum
        The least number of guesses on average (Gmin), at least 1.
    """

    attribute: str
    minimum: Fraction

    def __post_init__(self) -> None:
        if not isinstance(self.minimum, Fraction):
            raise BadInputError(f"protect {self.attribute}: the minimum must be a Fraction, it is exact")
        # One guess is always needed, so a smaller minimum would have no effect.
        check_least(f"protect {self.attribute}: l and g", self.minimum)

    @classmethod
    def of_diversity(cls, attribute: str, values: int) -> Policy:
        """Return the policy that leaves at least l possible values: Gmin = (l + 1) / 2.

        This is Theorem 6.1 of Oh, Kim & Obi, IEICE Trans. Inf. & Syst. 2012.
        """
        check_least(f"protect {attribute}: l", values)
        return cls(attribute, Fraction(values + 1, 2))

    def __str__(self) -> str:
        return f"{self.attribute}:g={self.minimum}"


def parse_policy(text: str) -> Policy:
    """Read ``income:l=5`` (at least five possible values) or ``income:g=3`` (three guesses; 2.5, 7/2)."""
    attribute, _, rule = text.strip().rpartition(":")
    kind, _, number = rule.partition("=")
    if not attribute or kind not in {"l", "g"}:
        raise BadInputError(f"protect must look like income:l=5 or income:g=3 (got '{text}')")
    if kind == "l":
        return Policy.of_diversity(attribute, _whole(attribute, number))
    return Policy(attribute, _exact(attribute, number))


def parse_policies(texts: Iterable[str]) -> tuple[Policy, ...]:
    """Read several policies, at most one for each attribute."""
    policies = tuple(parse_policy(text) for text in texts)
    names = [policy.attribute for policy in policies]
    for name in names:
        if names.count(name) > 1:
            raise BadInputError(f"protect {name}: named more than once; keep the stricter one")
    return policies


def _whole(attribute: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise BadInputError(f"protect {attribute}: l must be a whole number such as 5 (got '{text}')")
    return int(text)


def _exact(attribute: str, text: str) -> Fraction:
    """Read a number without rounding."""
    if not _NUMBER.fullmatch(text):
        raise BadInputError(f"protect {attribute}: g must be a number such as 3, 2.5 or 7/2 (got '{text}')")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise BadInputError(f"protect {attribute}: g must not be divided by zero (got '{text}')") from None
