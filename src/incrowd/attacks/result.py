"""What the attacks found: figures by attack, before and after, with the risk of each of the three questions.

Whether a person can be singled out, records linked, something inferred: the questions of the data-protection authorities (Article 29 Working
Party, Opinion 05/2014 on anonymisation techniques, section 2.2.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from incrowd.attacks.exposing import Exposure
from incrowd.attacks.rates import Figure
from incrowd.core.shown import html_lines, html_table
from incrowd.errors import BadInputError, check_choice, option
from incrowd.report.html import share

__all__ = [
    "ATTACKS",
    "GROUPS",
    "LIMITS",
    "QUESTIONS",
    "Attack",
    "Found",
    "Group",
    "Headline",
    "Light",
    "Limits",
    "Risk",
    "Side",
    "attack_named",
    "each_figure",
    "parse_max_risk",
    "title_of",
    "worst_of",
]

Group = Literal["singling_out", "linkability", "inference", "minimality", "planted_accounts"]
Light = Literal["green", "amber", "red"]
Found = Figure | Mapping[int, Figure]
"""What an attack found: one figure, or one for each number of known items."""

GROUPS: dict[Group, str] = {
    "singling_out": "Can a person be singled out?",
    "linkability": "Can what is known of a person be linked?",
    "inference": "Can something be inferred about a person?",
    "minimality": "What does the method itself give away?",
    "planted_accounts": "What do planted accounts learn?",
}
QUESTIONS: tuple[Group, ...] = ("singling_out", "linkability", "inference")
"""The three questions of the authorities: each has a light."""


class Limits(NamedTuple):
    """The risk up to which a light is green, and up to which it is amber."""

    green: float
    amber: float

    def light(self, risk: float) -> Light:
        """Return the light for a risk."""
        return "green" if risk <= self.green else "amber" if risk <= self.amber else "red"


LIMITS = Limits(0.05, 0.2)
"""Below 5 % of people, what an attack of this size cannot tell from nothing; 20 %: one of five, what k = 5 allows an attacker to guess."""


class Attack(NamedTuple):
    """An attack as it is shown.

    Parameters
    ----------
    group, name
        Which question it answers, and its name in JSON.
    title
        What a figure of it is, in plain words: a share of people.
    assumes
        What the attacker has and does, in two sentences.
    is_headline
        Whether the risk of its question is at least its own.
    """

    group: Group
    name: str
    title: str
    assumes: str
    is_headline: bool = True


ATTACKS: tuple[Attack, ...] = (
    Attack(
        "singling_out",
        "unicity",
        "are singled out by known items, drawn at random",
        "The attacker knows some items of a person and looks for who has them all, or for what is published that matches them best. "
        "Before, a person is singled out if nobody else has them; after, if fewer than k people are left, the person among them.",
    ),
    Attack(
        "singling_out",
        "unicity_rarest",
        "are singled out by their rarest items",
        "As before, and the attacker knows the items of a person that fewest people have. "
        "That is the worst case for so many known items.",
    ),
    Attack(
        "singling_out",
        "unicity_recent",
        "are singled out by their latest items",
        "As before, and the attacker has seen what the person did last. It needs a log with times.",
    ),
    Attack(
        "singling_out",
        "reidentified",
        "are found by a guess among the candidates",
        "The attacker picks one of those who are left at random. A person who is one of n counts as 1 / n.",
        is_headline=False,
    ),
    Attack(
        "singling_out",
        "at_risk",
        "share what is published of them with fewer than k (prosecutor risk)",
        "The attacker knows that the person is in the data, and everything that is published of them. "
        "Counted are people who share that with fewer than k.",
    ),
    Attack(
        "singling_out",
        "marketer",
        "would be found if everybody were linked (marketer risk)",
        "The attacker links everybody to what is published of them, and picks at random where several share it. "
        "It is the mean of 1 / the number of people who share it.",
        is_headline=False,
    ),
    Attack(
        "singling_out",
        "named",
        "are named by a private map inside the release",
        "The attacker opens every file in the folder of the release. Counted are people whom a private map there names.",
    ),
    Attack(
        "linkability",
        "halves",
        "have two halves of what is known that are linked",
        "The attacker has two sets of three items each, from different sources, and wants to know whether they are of one person. "
        "They are linked if something published matches both best.",
    ),
    Attack(
        "linkability",
        "found_again",
        "are found by what they did at another time",
        "The attacker has what a person did in the later half of the time, and looks for them in the earlier half; after, in the release, which covers both. "
        "The best match is believed if it stands out by 1.5 standard deviations.",
    ),
    Attack(
        "linkability",
        "two_releases",
        "have fewer than k candidates in two releases together",
        "The attacker has two releases and knows what in each is the person's; candidates are those who have the same two records. "
        "Of tiles, numbers are subtracted: counted are people who hold a label of which the releases differ by 1 to k - 1 people.",
    ),
    Attack(
        "linkability",
        "series_intersected",
        "are singled out in a series, by known items of each release's time",
        "The attacker knows some items that a person had in the time of each release, and keeps those who are among the best matches in all releases. "
        "Before, a person is singled out if nobody else is left; after, if fewer than k people are, the person among them.",
    ),
    Attack(
        "linkability",
        "series_followed",
        "are found in the next release by what one release has of them",
        "The attacker knows one record or tile that is a person's, and looks for what has most in common with it in the next release, where rare labels count more. "
        "The best match is believed if it stands out by 1.5 standard deviations, and counts as 1 / the number of people who share it.",
    ),
    Attack(
        "linkability",
        "series_shared",
        "have fewer than k candidates in all releases of a series together",
        "The attacker knows which record of each release is the person's. "
        "Candidates are those who have the same records in all of these releases.",
    ),
    Attack(
        "inference",
        "one_more_item",
        "have one more item that is guessed right",
        "The attacker knows some items of a person and guesses one more, of those that at most 5% of the people have. "
        "The guess is what is printed most often in what matches best.",
    ),
    Attack(
        "inference",
        "sensitive_item",
        "have a sensitive item that is guessed right",
        "As before, the attacker guesses a sensitive item of a person who has one. "
        "Which items are sensitive is given by the publisher, as words or as classes of the taxonomy.",
    ),
    Attack(
        "inference",
        "series_guessed",
        "have one more item that is guessed right from a series",
        "The attacker knows some items that a person had in the time of each release, and guesses one more, of those that at most 5% of the people have. "
        "The guess is what most releases print in what matches best.",
    ),
    Attack(
        "minimality",
        "proven_items",
        "share a record that proves an item it does not print",
        "The attacker knows the method and the taxonomy, and that the method generalizes no more than it must. "
        "Counted are people of classes in which a member must have an item that is not printed (Cohen, USENIX Security 2022).",
        is_headline=False,
    ),
    Attack(
        "minimality",
        "few_leaves",
        "are published as a class that fewer than k unpublished items hide in",
        "The attacker knows that whatever enough people have is published as itself. "
        "So a class can only stand for the items below it that are not.",
        is_headline=False,
    ),
    Attack(
        "planted_accounts",
        "alone",
        "share a record or a tile with planted accounts only",
        "Before the release the attacker plants k - 1 accounts that have half of what a person has (tiles: an item that nobody else has, and 500 frequent ones). "
        "The method is run again with them on at most 5,000 people, for 20 targets, of which it has one for each thousand people at a time (tiles: for 10, one at a time).",
        is_headline=False,
    ),
    Attack(
        "planted_accounts",
        "read_off",
        "have an item that planted accounts read off",
        "As before; each planted account has a guess besides, an item of the person, which counts where it is printed beside what was known (tiles: each item that is). "
        "It is compared with guesses that are wrong (tiles: with the items of another person).",
        is_headline=False,
    ),
)
_BY_NAME = {attack.name: attack for attack in ATTACKS}


NOT_ATTACKS = {"control": "the control group", "others": "all other attacks"}
"""What else may be left out, in words."""


def title_of(name: str) -> str:
    """Return what was left out, in words: an attack, or something else."""
    return NOT_ATTACKS.get(name) or attack_named(name).title


def attack_named(name: str) -> Attack:
    """Return an attack."""
    return _BY_NAME[name]


class Headline(NamedTuple):
    """The figure that makes the risk of a question: of which attack, and with how many known items (0: it has no such number)."""

    attack: Attack
    known: int
    figure: Figure


@dataclass(frozen=True, eq=False)
class Side:
    """What attacks found in raw data, or in a release.

    Parameters
    ----------
    found
        What each attack found, by its name.
    skipped
        Why attacks were not run, by name.
    highest
        The highest chance of a person to be found by who knows that they are in the data, and by who does not (prosecutor and journalist risk);
        None where that was not measured.
    """

    found: Mapping[str, Found]
    skipped: Mapping[str, str] = field(default_factory=dict)
    highest: tuple[float, float] | None = None

    def figures(self, group: Group) -> Iterator[tuple[Attack, Found]]:
        """Yield the attacks of a group that were run, in the order of the list."""
        for attack in ATTACKS:
            if attack.group == group and attack.name in self.found:
                yield attack, self.found[attack.name]

    def headline(self, group: Group) -> Headline | None:
        """Return the figure with the highest risk of those that make the headline of a question; None where none was measured.

        Of several with the same risk, it is one of which most people were tried, with as many known items as possible.
        """
        figures = [
            Headline(attack, known, figure)
            for attack, found in self.figures(group)
            if attack.is_headline
            for known, figure in each_figure(found).items()
            if figure.attack.tries and figure.tells
        ]
        return max(
            figures, key=lambda one: (one.figure.risk, one.figure.attack.tries, one.known), default=None
        )

    def worst(self, group: Group) -> Figure | None:
        """Return the figure of the headline of a question; None where none was measured."""
        headline = self.headline(group)
        return None if headline is None else headline.figure

    def risk(self, group: Group) -> float | None:
        """Return the highest risk of a question; None where none was measured, or the control leaves nothing to tell."""
        worst = self.worst(group)
        return None if worst is None else worst.risk

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON: each figure with its interval, control and risk beside it."""
        said: dict[str, Any] = {}
        for group in GROUPS:
            own: dict[str, Any] = {}
            for attack, found in self.figures(group):
                own |= _spelled(attack.name, found)
            if group == "singling_out" and self.highest is not None:
                own |= {"prosecutor_highest": self.highest[0], "journalist_highest": self.highest[1]}
            if group in QUESTIONS:
                risk = self.risk(group)
                own["risk"] = None if risk is None else _rounded(risk)
            said[group] = own
        return {**said, "skipped": dict(self.skipped)}


@dataclass(frozen=True, eq=False)
class Risk:
    """What attackers get from data, and from a release of it. Private: for the owner.

    Parameters
    ----------
    before, after
        What attacks found in the raw data and in the release; None where no release was attacked.
    k
        Fewer than so many candidates single a person out.
    seed, most
        How people were drawn, and how many at the most for each figure.
    name, people
        What the data are called, and how many people have anything.
    method
        How the release was made, as its manifest says; "" without one.
    limits
        The thresholds of the lights.
    series
        The names of the releases, where a series of them was attacked.
    exposing
        The items that expose most people, where they were asked for.
    """

    before: Side
    after: Side | None
    k: int
    seed: int
    most: int
    name: str
    people: int
    method: str = ""
    limits: Limits = LIMITS
    series: tuple[str, ...] = ()
    exposing: Exposure | None = None

    @property
    def sides(self) -> dict[str, Side]:
        """The sides that there are, by name."""
        return {"before": self.before} | ({} if self.after is None else {"after": self.after})

    def lights(self, side: Side) -> dict[Group, Light | None]:
        """Return the light of each question; None where nothing was measured."""
        risks = {group: side.risk(group) for group in QUESTIONS}
        return {group: None if risk is None else self.limits.light(risk) for group, risk in risks.items()}

    def as_dict(self) -> dict[str, Any]:
        """Return it as ``incrowd risk --json`` prints it."""
        how = {"k": self.k, "seed": self.seed, "most": self.most, "data": self.name, "people": self.people}
        sides = {name: {**side.as_dict(), "lights": self.lights(side)} for name, side in self.sides.items()}
        return {
            **how,
            "method": self.method or None,
            "series": list(self.series),
            "limits": self.limits._asdict(),
            **sides,
        } | ({} if self.exposing is None else {"exposing": self.exposing.as_dict()})

    def _repr_html_(self) -> str:
        title = f"{self.name}: what attackers get of {self.people:,} people (k = {self.k}). Private: for the owner."
        questions = ([GROUPS[group], *self._answers(group)] for group in QUESTIONS)
        attacks = (
            [attack.title, *(_shortly(side.found.get(attack.name)) for side in self.sides.values())]
            for attack in ATTACKS
            if any(attack.name in side.found for side in self.sides.values())
        )
        return (
            html_table(title, questions, ["risk", *self.sides])
            + html_table("Of the people who were tried:", attacks, ["", *self.sides])
            + html_lines(["A low figure is a lower bound: other attackers may find more."])
        )

    def _answers(self, group: Group) -> list[str]:
        """Return the light and the risk of a question in words, a text a side."""
        worst = [side.worst(group) for side in self.sides.values()]
        return [
            "not measured" if one is None else f"{self.limits.light(one.risk)}: {share(one.risk)}"
            for one in worst
        ]

    def __repr__(self) -> str:
        def said(side: Side) -> str:
            risks = ((group, side.risk(group)) for group in QUESTIONS)
            return ", ".join(
                f"{group} {'not measured' if risk is None else f'{risk:.1%}'}" for group, risk in risks
            )

        return "Risk(" + "; ".join(f"{name}: {said(side)}" for name, side in self.sides.items()) + ")"


def parse_max_risk(text: str | None) -> dict[str, float]:
    """Read the most risk of questions, as ``singling_out=0.01,inference=0.1``."""
    most: dict[str, float] = {}
    if text is None:
        return most
    for part in map(str.strip, text.split(",")):
        name, _, value = (piece.strip() for piece in part.partition("="))
        check_choice("max_risk", name, QUESTIONS)
        if name in most:
            raise BadInputError(f"{option('max_risk')} names {name} twice: give it one share")
        try:
            most[name] = float(value)
        except ValueError:
            most[name] = -1.0
        if not 0 <= most[name] <= 1:
            raise BadInputError(
                f"{option('max_risk')} takes a share of people from 0 to 1, as singling_out=0.01 (got '{part:.40}')"
            )
    return most


def each_figure(found: Found) -> Mapping[int, Figure]:
    """Return the figures by number of known items; a single one as that of 0."""
    return {0: found} if isinstance(found, Figure) else found


def worst_of(found: Found) -> tuple[int, Figure]:
    """Return the figure of an attack with the highest risk, behind its number of known items."""
    return max(each_figure(found).items(), key=lambda one: one[1].risk)


def _shortly(found: Found | None) -> str:
    """Return how often an attack succeeds, with as many known items as it needs most."""
    if not found:
        return ""
    known, figure = worst_of(found)
    if not figure.attack.tries:
        return "nobody to try"
    return f"{share(figure.value)} ({known} known)" if known else share(figure.value)


def _spelled(name: str, found: Found) -> dict[str, Any]:
    """Return what an attack found under its name, and what stands beside it."""
    columns: dict[str, Callable[[Figure], Any]] = {
        name: lambda figure: _rounded(figure.value),
        f"{name}_interval": lambda figure: [*map(_rounded, figure.attack.interval)],
        f"{name}_control": lambda figure: None if figure.control is None else _rounded(figure.control.value),
        f"{name}_risk": lambda figure: _rounded(figure.risk),
        f"{name}_risk_interval": lambda figure: [*map(_rounded, figure.risk_interval)],
        f"{name}_tries": lambda figure: figure.attack.tries,
    }
    if isinstance(found, Figure):
        return {key: of(found) for key, of in columns.items()}
    return {key: {str(p): of(figure) for p, figure in found.items()} for key, of in columns.items()}


def _rounded(value: float) -> float:
    return round(value, 6)
