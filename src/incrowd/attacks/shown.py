"""What attacks found, in words: the same on the page, on the terminal and on a certificate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil, floor
from typing import NamedTuple

from incrowd.attacks.rates import Figure, Interval
from incrowd.attacks.result import (
    ATTACKS,
    GROUPS,
    QUESTIONS,
    Attack,
    Group,
    Headline,
    Light,
    Limits,
    Risk,
    Side,
    each_figure,
)
from incrowd.report.html import share
from incrowd.report.risk_rows import RiskRow

__all__ = [
    "LOWER_BOUND",
    "NAMES",
    "PRIVATE",
    "Answer",
    "AttackRow",
    "Part",
    "answer_of",
    "certificate_rows",
    "interval_in_words",
    "known_in_words",
    "limits_in_words",
    "parts_of",
    "people_in_words",
    "released_in_words",
    "skipped_of",
]

NAMES: dict[Group, str] = {
    "singling_out": "Singling out",
    "linkability": "Linkability",
    "inference": "Inference",
    "minimality": "Minimality",
    "planted_accounts": "Planted accounts",
}
LOWER_BOUND = "A low figure is a lower bound of what attackers can do: other attacks may find more."
PRIVATE = "Private, for the owner of the data: measured with the originals, and no promise covers it."
NOT_MEASURED = "not measured"
TINY = 1e-9  # what rounding of binary numbers may add
STEPS = (1, 2, 5, 10, 20, 30, 50, 75, 100)
"""What a published risk is rounded up to, in percent."""
SHOWN_KNOWN = (1, 2, 3, 5, 10)


class Answer(NamedTuple):
    """The answer to one question for one side: its light, and the figure that makes it.

    Parameters
    ----------
    light
        None where nothing was measured.
    risk, interval, attack
        The highest risk, what it lies between, and the attack that found it, in words.
    doubt
        What is to be said where the interval reaches another light; else empty.
    """

    light: Light | None
    risk: str = NOT_MEASURED
    interval: str = ""
    attack: str = ""
    doubt: str = ""


class AttackRow(NamedTuple):
    """An attack with some number of known items (0: it has none), before and after.

    Parameters
    ----------
    attack, known
        Which attack.
    sides
        What was found, by side; None where it was not tried there.
    makes_light
        The sides of whose question this figure makes the light.
    """

    attack: Attack
    known: int
    sides: Mapping[str, Figure | None]
    makes_light: frozenset[str]


class Part(NamedTuple):
    """The attacks that answer one question."""

    group: Group
    question: str
    rows: list[AttackRow]

    @property
    def attacks(self) -> list[tuple[Attack, list[AttackRow]]]:
        """The rows, attack by attack."""
        different = dict.fromkeys(row.attack for row in self.rows)
        return [(attack, [row for row in self.rows if row.attack is attack]) for attack in different]


def answer_of(risk: Risk, side: Side, group: Group) -> Answer:
    """Return the answer to a question."""
    headline = side.headline(group)
    if headline is None:
        return Answer(None)
    figure = headline.figure
    light = risk.limits.light(figure.risk)
    others = [one for one in map(risk.limits.light, figure.risk_interval) if one != light]
    doubt = f"The interval reaches {' and '.join(others)}." if others else ""
    return Answer(
        light,
        share(figure.risk),
        interval_in_words(figure.risk_interval),
        _headline_in_words(headline),
        doubt,
    )


def people_in_words(number: int) -> str:
    """Return how many people there are."""
    return f"{number:,} {'person' if number == 1 else 'people'}"


def released_in_words(risk: Risk) -> str:
    """Return what was attacked beside the raw data."""
    if risk.after is None:
        return "the data as they are, no release"
    what = f"a series of {len(risk.series):,} releases" if risk.series else "released"
    return f"{what} with method {risk.method or 'unknown'}"


def parts_of(risk: Risk, known: tuple[int, ...] = SHOWN_KNOWN) -> list[Part]:
    """Return the attacks that were run, by question, with some numbers of known items and those that make a light."""
    parts = [Part(group, question, list(_rows(risk, group, known))) for group, question in GROUPS.items()]
    return [part for part in parts if part.rows]


def _rows(risk: Risk, group: Group, shown: tuple[int, ...]) -> Iterator[AttackRow]:
    headlines = (
        {name: side.headline(group) for name, side in risk.sides.items()} if group in QUESTIONS else {}
    )
    for attack in ATTACKS:
        if attack.group != group:
            continue
        found = {name: each_figure(side.found.get(attack.name, {})) for name, side in risk.sides.items()}
        for known in sorted({known for figures in found.values() for known in figures}):
            makes = frozenset(
                name
                for name, one in headlines.items()
                if one is not None and one.attack is attack and one.known == known
            )
            if makes or known == 0 or known in shown:
                yield AttackRow(
                    attack, known, {name: figures.get(known) for name, figures in found.items()}, makes
                )


def skipped_of(risk: Risk) -> list[tuple[str, str, str]]:
    """Return the attacks that were not run: their names, on which sides, and why."""
    found: dict[tuple[str, str], list[str]] = {}
    for side_name, side in risk.sides.items():
        for name, why in side.skipped.items():
            found.setdefault((name, why), []).append(side_name)
    return [(name, " and ".join(sides), why) for (name, why), sides in found.items()]


def certificate_rows(side: Side) -> list[RiskRow]:
    """Return one row for each of the three questions, for a certificate and a private report."""
    return [_certificate_row(NAMES[group], side.headline(group)) for group in QUESTIONS]


def _certificate_row(name: str, headline: Headline | None) -> RiskRow:
    if headline is None:
        return RiskRow(name, NOT_MEASURED)
    figure = headline.figure
    return RiskRow(
        name,
        share(figure.risk),
        interval_in_words(figure.risk_interval),
        f"{figure.attack.tries:,}",
        "" if figure.control is None else share(figure.control.value),
        _headline_in_words(headline),
        _at_most(figure.risk_interval.high),
    )


def _at_most(risk: float) -> str:
    """Return a risk rounded up in wide steps, which one person more or less hardly ever changes, so that it may be published."""
    return f"{next(step for step in STEPS if 100 * risk <= step + TINY)}%"


def limits_in_words(limits: Limits) -> str:
    """Return what the lights mean."""
    return f"Green: a risk of up to {100 * limits.green:g}%. Amber: up to {100 * limits.amber:g}%. Red: more."


def interval_in_words(interval: Interval) -> str:
    """Return what a share lies between; it is rounded outwards, so that it never promises more than was measured."""
    low, high = floor(1000 * interval.low + TINY), ceil(1000 * interval.high - TINY)
    return f"{low / 10:.1f}% to {high / 10:.1f}%"


def known_in_words(known: int) -> str:
    """Return how many items an attacker knows; an empty text where that does not matter."""
    return "" if not known else f"{known} known item{'s' if known > 1 else ''}"


def _headline_in_words(headline: Headline) -> str:
    """Return the attack that makes a light as a sentence."""
    attack, known, figure = headline
    with_known = f" ({known_in_words(known)})" if known else ""
    control = "" if figure.control is None else f"; in the control group {share(figure.control.value)}"
    return f"{share(figure.value)} of {figure.attack.tries:,} people {attack.title}{with_known}{control}."
