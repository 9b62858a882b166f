"""Attacks on a series of releases of tiles (mosaic), one a day: what two neighbours, or all, tell that one alone does not.

    python benchmarks/series_attacks.py [--quick]

Prints tables as Markdown. 1,000 users are made up by ``incrowd synth``; the series has one half of them, the others are the control group.
Thirty releases of one day each (``window``), of sessions of 30 minutes and terms, k = 5 and defaults, one seed; nothing is generalized
(``balanced:5``). Accounts are as old as the log up to the window's end says.

**Every event once.** The sum over all releases of the events that each took, against the lines of the log; and how many words are published as
themselves, of a day on average and of all days at once.

**Known items.** As in ``mosaic_attacks.py``: the attacker knows p published items that a person had on two days in a row, and guesses
one more of these days, among those that at most 5 % of the people hold. From the release of the first day, from both together, from all
thirty, and from one release of the thirty days at once. Counted: right guesses for people of the series, for the control group, and by an attacker
who has the raw data of both days.

**Differences.** Counts of the same label in neighbouring releases are subtracted. A *small difference* is one of 1 to k - 1 people. The
attacker says that exactly so many people have it on the second day and not on the first. Counted: labels with a small difference, how
often the attacker is right, and how often if the first day is that of the control group, of whom nobody is in the second. And what is certain: labels that are in one
of the two only and so tell of 1 to k - 1 people that they have it on one day and not on the other (`told` of ``incrowd audit --series``).

**A newcomer.** Twenty people join on one day, and the attacker knows whom and when; so on six days. Counted: of the labels that appear on that day for the first time, the share that a newcomer has that day; and that somebody has who was there before; and somebody of the control group.

**Re-linking from day to day.** A person holds tile s on one day; of a tile of the same person on the next day and a tile of another person, which is the
person's? By equal labels, and by what words go together in the world (the control group's raw data); for people of the series and for tiles that
would fit people of the control group (0.5 is chance). *Same tile*: of the people who hold a tile on one day and anything on the next, on which the tile is
published too, the share that holds it again; beside the share of all people of the next day who hold it.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import incrowd as ic
from incrowd.core.window import Window
from incrowd.logs.synth.generate import write_log
from incrowd.release.files.tiles import Tile
from incrowd.release.tiles import TileRelease
from mosaic_attacks import SEED, Data, Guesser, K, _fitting, held, raw_guess, show, words_of, world_of

__all__ = ["Day", "Known", "known_items", "made_series", "newcomers", "relinked", "small_differences"]

USERS, DAYS, NEWCOMERS, JOINS = 1_000, 30, 20, 6
QUICK_USERS, QUICK_DAYS = 260, 3
TRIALS = 2_000
FIRST = 13_208  # 2006-03-01, where the made-up log begins
SECONDS = 86_400
HOW: dict[str, Any] = {"method": "mosaic", "k": K, "seed": SEED, "unit": "session:30m", "items": "terms"}
People = Mapping[str, set[str]]


class Day(NamedTuple):
    """A release of a day, what each of its people had, which tiles each holds, and what people of the control group had."""

    release: TileRelease
    people: People
    tiles: Mapping[str, set[int]]
    control: People

    @property
    def published(self) -> Sequence[Tile]:
        """The tiles."""
        return self.release.published


def window_of(day: int, days: int = 1) -> str:
    return str(Window((FIRST + day) * SECONDS, (FIRST + day + days) * SECONDS))


def people_of(rows: ic.Transactions) -> People:
    """Return what each person has."""
    found: dict[str, set[str]] = defaultdict(set)
    for row, person in enumerate(rows.people.to_pylist()):
        found[person] |= set(rows.row(row))
    return {person: items for person, items in found.items() if items}


def day_of(log: ic.Log, control: ic.Log, window: str) -> Day:
    """Release a window, and keep what is true of it."""
    release = ic.anonymize(log, "balanced:5", window=window, **HOW)
    assert isinstance(release, TileRelease)
    rows = release.transactions
    tiles: dict[str, set[int]] = defaultdict(set)
    for person, own in zip(rows.people.to_pylist(), held(release), strict=True):
        tiles[person] |= set(own)
    others = control.transactions(unit="session:30m", items="terms", window=rows.window)
    return Day(release, people_of(rows), tiles, people_of(others))


class Made(NamedTuple):
    """A series, one release of all its days, and how many lines the series and the log have."""

    days: list[Day]
    whole: Day
    events: int
    lines: int


def made_series(path: Path, days: int, late: frozenset[str] = frozenset(), joining: int = 0) -> Made:
    """Make a series of a log's first days; people of `late` have no lines before the day `joining`."""
    header, *lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    last, first = f"{day_name(days)}", day_name(joining)
    names = sorted({line.split("\t")[0] for line in lines})
    random.Random(SEED).shuffle(names)
    inside = set(names[: len(names) // 2])
    split: dict[bool, list[str]] = {True: [], False: []}
    for line in lines:
        user, _, when = line.split("\t")[:3]
        if when < last and not (user in late and when < first):
            split[user in inside].append(line)
    with tempfile.TemporaryDirectory() as scratch:
        files = [Path(scratch) / name for name in ("series.tsv", "control.tsv")]
        for file, some in zip(files, (split[True], split[False]), strict=True):
            file.write_text(header + "".join(some), encoding="utf-8")
        with ic.read_log(files[0]) as log, ic.read_log(files[1]) as control:
            made = [day_of(log, control, window_of(day)) for day in range(days)]
            taken = [one.release.transactions.window for one in made]
            events = sum(log.count_within([window for window in taken if window is not None]))
            return Made(made, day_of(log, control, window_of(0, days)), events, len(split[True]))


def day_name(day: int) -> str:
    """Return a day as the log writes it."""
    return str(Window(None, (FIRST + day) * SECONDS))[2:12]


# --- known items ---


class Known(NamedTuple):
    """Shares of right guesses, for people of the series, of the control group, and from raw data; and how many people were tried."""

    inside: float
    control: float
    raw: float
    people: int


def both_days(first: People, second: People) -> People:
    return {person: first[person] | second[person] for person in first.keys() & second.keys()}


def known_items(days: Sequence[Day], tiles: Sequence[Tile], at: int, p: int) -> Known:
    """Guess from tiles what people had on a day and the next, of which p items are known."""
    first, second = days[at], days[at + 1]
    many = len(first.people.keys() | second.people.keys())
    guesser, both = Guesser(tiles, many), Guesser([*first.published, *second.published], many)
    guesser.secret = both.secret  # the same people and the same words for every source
    published, secret = both.holders.keys(), set(both.secret)
    truth = both_days(first.people, second.people)
    dice = random.Random(SEED)

    def targets(people: People) -> list[tuple[set[str], set[str]]]:
        found = []
        for name in sorted(people):
            items = sorted(people[name] & published)
            known = set(dice.sample(items, min(p, len(items))))
            if len(known) == p and set(items) & secret - known:
                found.append((known, set(items) - known))
        return found

    def share(guess: Callable[[set[str]], str], some: Sequence[tuple[set[str], set[str]]]) -> float:
        return sum(guess(known) in rest for known, rest in some) / max(len(some), 1)

    inside, control = targets(truth), targets(both_days(first.control, second.control))
    raw = share(lambda known: raw_guess(known, truth, secret), inside)
    return Known(share(guesser.guess, inside), share(guesser.guess, control), raw, len(inside))


def known_rows(made: Made) -> list[tuple[object, ...]]:
    """Average over all neighbours."""
    days, everything = made.days, [tile for day in made.days for tile in day.published]
    sources: list[tuple[str, Callable[[int], Sequence[Tile]]]] = [
        ("the first day", lambda at: days[at].published),
        ("both days", lambda at: [*days[at].published, *days[at + 1].published]),
        ("all days", lambda _: everything),
        ("one release of all days", lambda _: made.whole.published),
    ]
    rows: list[tuple[object, ...]] = []
    for p in (1, 3):
        for name, tiles in sources:
            found = [known_items(days, tiles(at), at, p) for at in range(len(days) - 1)]
            tried = sum(one.people for one in found)
            means = [sum(one[i] * one.people for one in found) / max(tried, 1) for i in range(3)]
            rows.append((p, name, tried, *means))
    return rows


# --- differences ---


class Differences(NamedTuple):
    """Labels in both of two neighbours; of them with a small difference; the shares for which it is the number of new people, and by chance."""

    labels: int
    small: int
    right: float
    chance: float


def holders(people: People) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for person, items in people.items():
        for item in items:
            found[item].add(person)
    return found


def small_differences(first: Day, second: Day) -> Differences:
    """Take the difference of two numbers of people for the number of people who are new."""
    before, after = ({tile.labels: tile.people for tile in day.published} for day in (first, second))
    singles = [labels for labels in before.keys() & after.keys() if len(labels) == 1 and labels[0][1]]
    small = [labels[0][0] for labels in singles if 1 <= after[labels] - before[labels] < K]
    own, next_, others = holders(first.people), holders(second.people), holders(first.control)
    right = chance = 0
    for word in small:
        change = after[(word, True),] - before[(word, True),]
        right += len(next_[word] - own[word]) == change
        chance += len(next_[word] - others[word]) == change
    return Differences(len(singles), len(small), right / max(len(small), 1), chance / max(len(small), 1))


def told(first: Day, second: Day) -> tuple[int, int]:
    """Count labels that are in one of two releases, and of them those that tell of fewer than k people."""
    labels = [
        {label: max(t.people for t in day.published if label in t.labels) for tile in day.published for label in tile.labels}
        for day in (first, second)
    ]  # fmt: skip
    one = [(label, many) for a, b in (labels, labels[::-1]) for label, many in a.items() if label not in b]
    return len(one), sum(many - K + 1 < K for _, many in one)


# --- newcomers ---


class Newcomers(NamedTuple):
    """Labels that appear on a day for the first time, and the mean share of them that newcomers have, people who were there, and others."""

    labels: int
    newcomers: float
    others: float
    control: float


def newcomers(made: Made, joined: frozenset[str]) -> Newcomers:
    """Look at the labels that appear on the last day of a series, on which some people joined."""
    *earlier, last = made.days
    before = {word for day in earlier for tile in day.published for word in words_of(tile)}
    fresh = {word for tile in last.published for word in words_of(tile)} - before

    def share(people: Sequence[set[str]]) -> float:
        return sum(len(items & fresh) for items in people) / max(len(people) * len(fresh), 1)

    new = [items for person, items in last.people.items() if person in joined]
    old = [items for person, items in last.people.items() if person not in joined]
    return Newcomers(len(fresh), share(new), share(old), share([*last.control.values()]))


def joining(path: Path, days: int) -> Newcomers:
    """Let people join on some days, twenty on each; return the means."""
    names = sorted({line.split("\t")[0] for line in path.read_text(encoding="utf-8").splitlines()[1:]})
    random.Random(SEED).shuffle(names)  # the first half is in the series
    found = []
    for number, last in enumerate(range(days, 1, -max(days // JOINS, 1))):
        joined = frozenset(names[number * NEWCOMERS : (number + 1) * NEWCOMERS])
        found.append(newcomers(made_series(path, last, joined, last - 1), joined))
    labels = max(sum(one.labels for one in found), 1)
    return Newcomers(labels, *(sum(one[i] * one.labels for one in found) / labels for i in (1, 2, 3)))


# --- re-linking ---


class Linked(NamedTuple):
    """How often a person's tile of the next day is ranked before another person's (0.5 is chance), and how often the same tile is held again."""

    equal: float
    world: float
    control: float
    again: float
    anyway: float


def relinked(first: Day, second: Day, control: Data, trials: int = TRIALS) -> Linked:
    """Tell a person's tile of the next day from another person's."""
    dice, together = random.Random(SEED), world_of(control)
    before, after = first.published, second.published

    def equal(s: int, t: int) -> float:
        return float(len(set(before[s].labels) & set(after[t].labels)))

    def topical(s: int, t: int) -> float:
        pairs = [(a, b) for a in words_of(before[s]) for b in words_of(after[t])]
        return sum(together(a, b) for a, b in pairs) / max(len(pairs), 1)

    inside = [(first.tiles[name], second.tiles[name]) for name in sorted(first.tiles.keys() & second.tiles)]
    outside = [
        (_fitting(first.control[name], before), _fitting(second.control[name], after))
        for name in sorted(first.control.keys() & second.control)
    ]
    scores = [_ranked(some, score, trials, dice) for some, score in ((inside, equal), (inside, topical), (outside, topical))]  # fmt: skip
    return Linked(*scores, *_again(first, second))


def _ranked(
    people: Sequence[tuple[set[int], set[int]]],
    score: Callable[[int, int], float],
    trials: int,
    dice: random.Random,
) -> float:
    both = [(sorted(own), sorted(following)) for own, following in people if own and following]
    wins = 0.0
    for _ in range(trials if len(both) > 1 else 0):
        (own, following), (_, others) = dice.sample(both, 2)
        s = dice.choice(own)
        true, false = score(s, dice.choice(following)), score(s, dice.choice(others))
        wins += (true > false) + 0.5 * (true == false)
    return wins / trials if len(both) > 1 else 0.5


def _again(first: Day, second: Day) -> tuple[float, float]:
    """Return how often who holds a tile on a day holds the same on the next, and how often anybody of the next day does."""
    number = {tile.labels: t for t, tile in enumerate(second.published)}
    active = {name for name, own in second.tiles.items() if own}
    held_again = tried = 0
    anyway = 0.0
    for name, own in first.tiles.items():
        for s in own if name in active else ():
            t = number.get(first.published[s].labels)
            if t is not None:
                tried += 1
                held_again += t in second.tiles[name]
                anyway += sum(t in second.tiles[other] for other in active) / len(active)
    return held_again / max(tried, 1), anyway / max(tried, 1)


# --- the tables ---


def mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)


def control_data(days: Sequence[Day]) -> Data:
    """Return what the control group had on each day, as the world's knowledge."""
    units = [(name, items) for day in days for name, items in day.control.items()]
    return Data("control", [items for _, items in units], [name for name, _ in units])


def print_everything(path: Path, days: int) -> None:
    made = made_series(path, days)
    two = list(pairwise(made.days))
    kept = [day.release.use.kept_exactly for day in (*made.days, made.whole)]
    show(
        "Every event once",
        (
            "releases",
            "events taken",
            "lines of the log",
            "words kept, mean of days",
            "words kept, one release of all days",
        ),
        [(days, made.events, made.lines, mean(kept[:-1]), kept[-1])],
    )
    show(
        "Known items of two days",
        (
            "known",
            "guessed from",
            "people",
            "right, in the series",
            "right, control group",
            "right, from raw data",
        ),
        known_rows(made),
    )
    found = [small_differences(*pair) for pair in two]
    small = max(sum(one.small for one in found), 1)
    certain = [told(*pair) for pair in two]
    show(
        "Differences of neighbours (means)",
        (
            "labels in both, as tiles of their own",
            "with a small difference",
            "right",
            "right by chance",
            "labels in one only",
            "of them told",
        ),
        [
            (
                f"{mean([one.labels for one in found]):.1f}",
                f"{mean([one.small for one in found]):.1f}",
                sum(one.right * one.small for one in found) / small,
                sum(one.chance * one.small for one in found) / small,
                f"{mean([one for one, _ in certain]):.1f}",
                f"{mean([few for _, few in certain]):.1f}",
            )
        ],
    )
    show(
        "A newcomer",
        (
            "labels that appear on these days",
            "newcomers have",
            "people who were there have",
            "control group has",
        ),
        [joining(path, days)],
    )
    control = control_data(made.days)
    links = [relinked(*pair, control, max(TRIALS // len(two), 50)) for pair in two]
    show(
        "Re-linking from day to day",
        ("by equal labels", "by the world", "control group", "same tile held again", "held anyway"),
        [tuple(mean([one[i] for one in links]) for i in range(5))],
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tiny size, to test that it runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "log.tsv"
        write_log(path, users=QUICK_USERS if options.quick else USERS)
        print_everything(path, QUICK_DAYS if options.quick else DAYS)


if __name__ == "__main__":
    main()
