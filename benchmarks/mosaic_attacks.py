"""Attacks on releases of tiles (mosaic), measured on public data and made-up users: what each achieves, with and without its answer.

    python benchmarks/mosaic_attacks.py [--quick] [--data DIR]

Prints tables as Markdown. The public data is read from ``--data`` (default ``INCROWD_DATA``, else ``../shared/data`` from the
project's root): BMS-WebView-1, BMS-WebView-2 and retail, where a record is a person. 1,000 users with ninety-two days of queries are
made up by ``incrowd synth``; their units are sessions of 30 minutes, their items terms. k = 5 and defaults unless said otherwise; nothing is
generalized (``balanced:5``).

**Known items.** The release has one half of the people; the others are the control group. The attacker knows p published items of a
person and guesses one more, among those that at most 5 % of the people hold (the others are no secret): the one that those who
hold the known items most often hold in a tile with them. Counted: right guesses for people of the release, for the control group, and
for people of the release by an attacker who has the raw data of that half.

**Sure rules.** A label that is only ever published in tiles with some other one tells that one for sure. Counted: people who hold
such a tile. *Two words*: where two labels are only ever published together in tiles with some third one, they tell it to whoever knows
both. Counted: people of one half who have all three, and how often the third follows for people of the release and for the other half.

**Planted accounts.** A target has a word that nobody else has. The attacker plants four accounts with that word and a dictionary, the
500 words of most units, and reads the tiles with the target's word: the target is one of their holders. Counted: which share of the words that the
target has beside it is read off. *Nine* plants five accounts with the word alone besides, so that `confidence` and the leftover
rule allow the tile. *Parts* cuts
the dictionary into units of three words and the target's, so that `longest` does not split them. Accounts are young if they were active on one day.
*Counting* plants k accounts with the word alone: it is published, and a number above k says that somebody else has it. Counted: targets for whom it does.

**Two releases.** k = 5 and k = 6 of the same data, and a log and the same with a day more (baskets: the last thirtieth), with exact and
rounded counts of the same seed. A *small difference* is a published label whose number of units differs by 1 to k - 1 between the releases:
that many units are isolated. Counted: the share of labels with one; for a day more, the share of the day's words that are isolated, and
of words whose number changed, those whose change cannot be read off exactly.

**Classes.** An item that fewer than k people have is published as a class above it; leaves that are published themselves do not hide it. Of two
releases, the one with k = 6 has classes for words that the one with k = 5 publishes: what is left of the class when these are subtracted is 1 to 4
units in some.

**Re-linking.** Two tiles of one person against two tiles of different people: how often does a score rank the former first (0.5 is
chance)? By the release alone (equal numbers of people), and by what words go together in the world (the control group's raw data), for
people of the release and for tiles that would fit a person of the control group.

**Dominance.** Counted: tiles of which one person makes more than half of the units, without a cap and with the default.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import incrowd as ic
from incrowd.core.activity import Activity
from incrowd.logs.synth.generate import write_log
from incrowd.release.files.tiles import Tile
from incrowd.release.tiles import TileRelease
from public_data import existing, read_options

__all__ = [
    "Data",
    "Planting",
    "TwoWords",
    "counted_out",
    "dominated",
    "known_items",
    "planted",
    "released",
    "relinked",
    "small_differences",
    "sure_people",
]

K, SEED = 5, 20_06
USERS, QUICK_USERS, QUICK_BASKETS = 1_000, 120, 600
TARGETS, TRIALS = 10, 2_000
FEW_PEOPLE, FEW_USERS = 3_000, 150  # among whom accounts are planted: each target takes a release of its own
DICTIONARY, PART, LONGEST_TARGET = 500, 3, 45
COMMON = 0.05
A_DAY = 30  # baskets have no dates: the last thirtieth of them is taken for a day's
DAY = 86_400
Units = list[set[str]]


@dataclass(frozen=True, eq=False)
class Data:
    """Units with the person of each, and on how many days the person was active; `late` are the units of the last day."""

    name: str
    units: Units
    person: list[str]
    days: list[int] | None = None
    late: frozenset[int] = frozenset()
    unit: str = "record"

    @cached_property
    def people(self) -> dict[str, set[str]]:
        """What each person has."""
        found: dict[str, set[str]] = defaultdict(set)
        for person, items in zip(self.person, self.units, strict=True):
            found[person] |= items
        return dict(found)

    def only(self, keep: Callable[[int], bool]) -> Data:
        """Return some of the units."""
        rows = [row for row in range(len(self.units)) if keep(row)]
        return replace(
            self,
            units=[self.units[row] for row in rows],
            person=[self.person[row] for row in rows],
            days=None if self.days is None else [self.days[row] for row in rows],
            late=frozenset(),
        )

    def halves(self) -> tuple[Data, Data]:
        """Return the units of one half of the people, and of the other."""
        names = sorted(self.people)
        random.Random(SEED).shuffle(names)
        first = set(names[: len(names) // 2])
        return self.only(lambda row: self.person[row] in first), self.only(
            lambda row: self.person[row] not in first
        )

    def with_units(self, units: Units, person: Sequence[str], days: int) -> Data:
        """Return the data with some units more, of people who were active on so many days."""
        more = None if self.days is None else [*self.days, *[days] * len(units)]
        return replace(self, units=[*self.units, *units], person=[*self.person, *person], days=more)

    def transactions(self) -> ic.Transactions:
        made = ic.Transactions.from_rows(map(sorted, self.units), people=self.person)
        made = replace(made, unit=self.unit)
        if self.days is None:
            return made
        return replace(made, activity=Activity(np.array(self.days, np.int32), 0, 91 * DAY))


def released(data: Data, **how: Any) -> TileRelease:
    """Return a release of tiles."""
    rows = data.transactions()
    made = ic.anonymize(rows, ic.balanced(rows, 5), method="mosaic", **{"k": K, "seed": SEED, **how})
    assert isinstance(made, TileRelease)
    return made


def held(release: TileRelease) -> list[list[int]]:
    """Return the written tiles that each row holds."""
    known = release.originals
    tiles = known.held.tolist()
    return [tiles[first:last] for first, last in pairwise(known.start.tolist())]


def words_of(tile: Tile) -> list[str]:
    return [text for text, exact in tile.labels if exact]


# --- known items ---


class Guesser:
    """Guesses one more item from tiles: the one most often in a tile with what is known, if not too many people have it."""

    def __init__(self, tiles: Sequence[Tile], people: int) -> None:
        self.beside: dict[str, Counter[str]] = defaultdict(Counter)
        self.holders: Counter[str] = Counter()
        for tile in tiles:
            words = words_of(tile)
            for word in words:
                self.holders[word] += tile.people
                self.beside[word].update({other: tile.people for other in words if other != word})
        self.secret = [word for word, many in self.holders.most_common() if many <= COMMON * people]

    def guess(self, known: set[str]) -> str:
        """Return the best guess; the most frequent item where the tiles say nothing."""
        score: Counter[str] = Counter()
        for word in sorted(known):
            for other, many in self.beside[word].items():
                score[other] += many / self.holders[word]
        secret = set(self.secret) - known
        said = [(value, word) for word, value in score.items() if word in secret]
        return max(said)[1] if said else next((word for word in self.secret if word not in known), "")


def raw_guess(known: set[str], people: Mapping[str, set[str]], secret: set[str]) -> str:
    """Guess from the raw data: the item most frequent among the people who have all that is known."""
    fitting = Counter(word for items in people.values() if known <= items for word in items & secret - known)
    return max(fitting.items(), key=lambda pair: (pair[1], pair[0]))[0] if fitting else ""


class Known(NamedTuple):
    """Shares of right guesses, for people of the release, of the control group, and from raw data."""

    inside: float
    control: float
    raw: float
    people: int


def known_items(first: Data, second: Data, guesser: Guesser, p: int, most: int = 1_000) -> Known:
    """Guess an item of people of whom p items are known: the release is of the first, the second are not in it."""
    secret, dice = set(guesser.secret), random.Random(SEED)

    def targets(people: Mapping[str, set[str]]) -> list[tuple[set[str], set[str]]]:
        """Return what is known of people, and what is not; all of it is published of somebody."""
        found = []
        for name in sorted(people):
            items = sorted(people[name] & guesser.holders.keys())
            known = set(dice.sample(items, min(p, len(items))))
            if len(known) == p and set(items) & secret - known:
                found.append((known, set(items) - known))
        return dice.sample(found, min(most, len(found)))

    def share(guess: Callable[[set[str]], str], some: Sequence[tuple[set[str], set[str]]]) -> float:
        return sum(guess(known) in rest for known, rest in some) / max(len(some), 1)

    inside, control = targets(first.people), targets(second.people)
    few = inside[:200]  # the raw data is read anew for each
    raw = share(lambda known: raw_guess(known, first.people, secret), few)
    return Known(share(guesser.guess, inside), share(guesser.guess, control), raw, len(inside))


# --- sure rules ---


def sure_people(release: TileRelease) -> int:
    """Count the people who hold a tile with a label that is only ever published beside some other one."""
    beside: dict[Any, set[Any]] = {}
    for tile in release.published:
        for label in tile.labels:
            others = set(tile.labels) - {label}
            beside[label] = beside[label] & others if label in beside else others
    sure = {t for t, tile in enumerate(release.published) if any(beside[label] for label in tile.labels)}
    person = release.transactions.person.tolist()
    return len({person[row] for row, own in enumerate(held(release)) if sure & set(own)})


class TwoWords(NamedTuple):
    """People of the release to whom a rule from two words to a third applies; of those who have the two, the share with the third."""

    people: float
    inside: float
    control: float


def two_word_rules(first: Data, second: Data, release: TileRelease) -> TwoWords:
    """Follow two words to a third that is in every tile with both: for people of the release, and for others."""
    third: dict[tuple[str, str], set[str]] = {}
    for tile in release.published:
        words = set(words_of(tile))
        for pair in combinations(sorted(words), 2):
            third[pair] = third[pair] & words if pair in third else words - set(pair)
    told: set[str] = set()
    shares = []
    for data in (first, second):
        rows, tried, right = rows_with(data), 0, 0
        for (a, b), words in third.items():
            both = rows[a] & rows[b]
            for word in sorted(words)[:1]:  # one for each pair, or a long tile would count for thousands
                having = {data.person[row] for row in both & rows[word]}
                tried += len({data.person[row] for row in both})
                right += len(having)
                told |= having if data is first else set()
        shares.append(right / max(tried, 1))
    return TwoWords(len(told) / len(first.people), *shares)


def rows_with(data: Data) -> Mapping[str, set[int]]:
    """Return the units of each word."""
    found: dict[str, set[int]] = defaultdict(set)
    for row, items in enumerate(data.units):
        for word in items:
            found[word].add(row)
    return found


# --- planted accounts ---


class Planting(NamedTuple):
    """How accounts are planted: with k more of the word alone; with a dictionary in parts; on how many days."""

    more: bool = False
    parts: bool = False
    days: int = 1


def planted(data: Data, how: Planting, targets: int = TARGETS, **options: Any) -> float:
    """Return which share of the words beside a target's own word is read off, on average over some targets, one at a time."""
    shares = []
    for word, beside in find_targets(data, targets):
        release = released(with_planted(data, word, how), **options)
        read = {other for tile in release.published for other in words_of(tile) if word in words_of(tile)}
        shares.append(len(read & beside) / len(beside))
    return sum(shares) / max(len(shares), 1)


def dictionary_of(data: Data) -> list[str]:
    """Return the words of most units, of k or more."""
    words = Counter(word for items in data.units for word in sorted(items))
    return [word for word, many in words.most_common(DICTIONARY) if many >= K]


def covered(data: Data, targets: int = TARGETS) -> float:
    """Return which share of the words beside a target's own is in the dictionary: no more can be read off."""
    words = set(dictionary_of(data))
    shares = [len(beside & words) / len(beside) for _, beside in find_targets(data, targets)]
    return sum(shares) / max(len(shares), 1)


def with_planted(data: Data, word: str, how: Planting) -> Data:
    """Return the data with accounts that have a target's word and a dictionary."""
    dictionary = [other for other in dictionary_of(data) if other != word]
    size = PART if how.parts else len(dictionary)
    parts = [{word, *dictionary[at : at + size]} for at in range(0, len(dictionary), size)]
    accounts = [parts] * (K - 1) + [[{word}]] * (K * how.more)
    units = [part for own in accounts for part in own]
    person = [f"planted {number}" for number, own in enumerate(accounts) for _ in own]
    return data.with_units(units, person, how.days)


def find_targets(data: Data, targets: int) -> list[tuple[str, set[str]]]:
    """Return words that one unit of one person has, each with what is beside it: three words or more; of people who count."""
    units_with: Counter[str] = Counter(word for items in data.units for word in items)
    found = []
    for row, items in enumerate(data.units):
        own = sorted(word for word in items if units_with[word] == 1)
        if own and 4 <= len(items) <= LONGEST_TARGET and (data.days is None or data.days[row] > 1):
            found.append((own[0], items - set(own)))
    found = [(word, beside) for word, beside in found if len(beside) >= 3]
    return random.Random(SEED).sample(found, min(targets, len(found)))


def counted_out(data: Data, days: int, targets: int = TARGETS, **options: Any) -> float:
    """Plant k accounts with each target's word alone; return for which share of targets the number says that somebody else has it.

    As many words that nobody else has are planted too: a number above k for one of these would make it a guess.
    """
    aimed = [word for word, _ in find_targets(data, targets)]
    words = [*aimed, *(f"nobody's {number}" for number in range(len(aimed)))]
    person = [f"planted {account} {word}" for word in words for account in range(K)]
    release = released(data.with_units([{word} for word in words for _ in range(K)], person, days), **options)
    more = {word for tile in release.published if tile.people > K for word in words_of(tile)}
    assert not more & set(words[len(aimed) :])
    return sum(word in more for word in aimed) / max(len(aimed), 1)


# --- two releases ---


def units_of(release: TileRelease) -> Counter[str]:
    """Return the number of units of each published word, as a reader adds it up."""
    found: Counter[str] = Counter()
    for tile in release.published:
        for word in words_of(tile):
            found[word] += tile.units
    return found


def small_differences(first: TileRelease, second: TileRelease) -> dict[str, int]:
    """Return the words whose number of units differs by 1 to k - 1, with the difference."""
    before, after = units_of(first), units_of(second)
    changes = {word: after[word] - before[word] for word in before.keys() & after.keys()}
    return {word: change for word, change in changes.items() if 1 <= abs(change) < K}


class MoreData(NamedTuple):
    """Shares: of the day's words that are isolated; of words that changed, whose change cannot be read off."""

    isolated: float
    hidden: float


def a_day_more(data: Data, **how: Any) -> MoreData:
    """Subtract the counts of a log from those of the same log with a day more."""
    early = data.only(lambda row: row not in data.late)
    first, second = released(early, **how), released(data, **how)
    before, after = units_of(first), units_of(second)
    true = Counter(word for row in data.late for word in data.units[row])
    found = {word: after[word] - before[word] for word in true if word in before and word in after}
    isolated = sum(1 <= change < K and change == true[word] for word, change in found.items())
    hidden = sum(change != true[word] for word, change in found.items())
    return MoreData(isolated / max(len(true), 1), hidden / max(len(found), 1))


# --- classes ---


class Hiding(NamedTuple):
    """Published classes; leaves below one by the tree, and without those that have labels of their own: on average, and at least.

    `rests` are the classes for which the releases with k and k + 1 together leave 1 to k - 1 units.
    """

    classes: int
    by_tree: float
    left: float
    fewest: int
    rests: int


def node_units(release: TileRelease) -> Counter[int]:
    """Return the number of units of each published node."""
    tiles, found = release.tiles, Counter[int]()
    for tile, (first, last) in enumerate(pairwise(tiles.start.tolist())):
        for node in tiles.nodes[first:last].tolist():
            found[node] += int(tiles.units[tile])
    return found


def hiding(release: TileRelease, next_k: TileRelease) -> Hiding:
    """Look for what hides below classes, and subtract what is published below them with the smaller k."""
    tree, before, after = release.taxonomy, node_units(release), node_units(next_k)
    leaves, end = (tree.last_leaf - tree.first_leaf).tolist(), tree.end.tolist()
    wide, left = [], []
    for node in sorted(before):
        if not tree.is_leaf[node]:
            under = sorted(other for other in before if node < other < end[node])
            nearest = [other for other in under if not any(above < other < end[above] for above in under)]
            wide.append(leaves[node])
            left.append(leaves[node] - sum(leaves[other] for other in nearest))
    rests = 0
    for node in after:
        moved = [other for other in before if node < other < end[node] and other not in after]
        rest = after[node] - before[node] - sum(before[other] for other in moved)
        rests += not tree.is_leaf[node] and bool(moved) and 1 <= rest < K
    many = max(len(wide), 1)
    return Hiding(len(wide), sum(wide) / many, sum(left) / many, min(left, default=0), rests)


def print_classes(users: int) -> None:
    """Generalize the nouns of made-up users by WordNet."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "log.tsv"
        write_log(path, users=users)
        with ic.read_log(path) as log_:
            rows = log_.transactions(unit="session:30m", items="nouns")
    tree = ic.wordnet(rows)
    how = {"method": "mosaic", "seed": SEED, "cap": 10**6, "unlisted": "keep", "effort": "fast"}
    first, second = (ic.anonymize(rows, tree, k=k, **how) for k in (K, K + 1))
    found = hiding(first, second)
    head = (
        "classes",
        "leaves by the tree",
        "leaves that hide an item",
        "fewest",
        "with a rest of 1 to 4 units, k = 5 and 6",
    )
    show(
        "Classes (nouns of synth users, WordNet)",
        head,
        [(found.classes, f"{found.by_tree:.1f}", f"{found.left:.1f}", found.fewest, found.rests)],
    )


# --- re-linking ---


class Linked(NamedTuple):
    """How often two tiles of one person are ranked before two of different people (0.5 is chance)."""

    alone: float
    world: float
    control: float


def relinked(data: Data, trials: int = TRIALS) -> Linked:
    """Tell tiles of one person from tiles of different people."""
    first, second = data.halves()
    release = released(first)
    tiles, dice = release.published, random.Random(SEED)
    person = release.transactions.people.to_pylist()
    own: dict[str, set[int]] = defaultdict(set)
    for row, some in enumerate(held(release)):
        own[person[row]] |= set(some)
    fitting = {
        name: _fitting(items, tiles)
        for name, items in dice.sample(sorted(second.people.items()), min(300, len(second.people)))
    }
    together = world_of(second)

    def equal(s: int, t: int) -> float:
        return -abs(log(tiles[s].people / tiles[t].people))

    def topical(s: int, t: int) -> float:
        pairs = [(a, b) for a in words_of(tiles[s]) for b in words_of(tiles[t]) if a != b]
        return sum(together(a, b) for a, b in pairs) / max(len(pairs), 1)

    inside, outside = ([sorted(some) for some in of.values()] for of in (own, fitting))
    return Linked(
        *(
            ranked(some, score, trials, dice)
            for some, score in ((inside, equal), (inside, topical), (outside, topical))
        )
    )


def _fitting(items: set[str], tiles: Sequence[Tile]) -> set[int]:
    """Return tiles that a person could hold all at once: the largest first, none with a word of another."""
    left, found = set(items), set()
    for t in sorted(range(len(tiles)), key=lambda t: (-len(tiles[t].labels), -tiles[t].people)):
        if tiles[t].labels and left.issuperset(words_of(tiles[t])):
            left -= set(words_of(tiles[t]))
            found.add(t)
    return found


def world_of(data: Data) -> Callable[[str, str], float]:
    """Return how much more often two words are had by one person than chance has it, as a logarithm."""
    having: dict[str, set[str]] = defaultdict(set)
    for name, items in data.people.items():
        for word in items:
            having[word].add(name)

    def together(a: str, b: str) -> float:
        both = len(having[a] & having[b])
        return log((both + 0.5) * len(data.people) / ((len(having[a]) + 1) * (len(having[b]) + 1)))

    return together


def ranked(
    people: Sequence[Sequence[int]], score: Callable[[int, int], float], trials: int, dice: random.Random
) -> float:
    """Return how often two tiles of a person score higher than one of theirs and one of somebody else's; ties count half."""
    several = [own for own in people if len(own) > 1]
    wins = 0.0
    for _ in range(trials if len(several) > 1 else 0):
        one, other = dice.sample(several, 2)
        s, t = dice.sample(one, 2)
        true, false = score(s, t), score(s, dice.choice(other))
        wins += (true > false) + 0.5 * (true == false)
    return wins / trials if len(several) > 1 else 0.5


# --- dominance ---


def dominated(release: TileRelease, cap: int) -> float:
    """Return the share of tiles of which one person makes more than half of the units, each counted at most `cap` times."""
    person = release.transactions.person.tolist()
    times: dict[int, Counter[int]] = defaultdict(Counter)
    for row, own in enumerate(held(release)):
        for tile in own:
            times[tile][person[row]] += 1
    capped = [[min(cap, many) for many in of.values()] for of in times.values()]
    return sum(2 * max(of) > sum(of) for of in capped) / max(len(capped), 1)


# --- the data ---


def read_baskets(directory: Path, name: str, most: int | None) -> Data:
    lines = existing(directory / f"transactions/{name}.dat").read_text(encoding="ascii").splitlines()
    units = [set(bag) for bag in map(str.split, lines) if bag][:most]
    late = range(len(units) - max(len(units) // A_DAY, 1), len(units))
    return Data(name, units, [str(row) for row in range(len(units))], late=frozenset(late))


def make_up(users: int) -> Data:
    """Make up users, whose units are sessions of half an hour; the last day is late."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "log.tsv"
        write_log(path, users=users)
        with ic.read_log(path) as log_:
            rows = log_.transactions(unit="session:30m", items="terms")
        last = max(line.split("\t")[2][:10] for line in path.read_text(encoding="utf-8").splitlines()[1:])
        early = Path(scratch) / "early.tsv"
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        early.write_text(
            "".join(line for line in lines if line.split("\t")[2][:10] != last), encoding="utf-8"
        )
        with ic.read_log(early) as log_:
            before = Counter(log_.transactions(unit="session:30m", items="terms").people.to_pylist())
    return from_sessions(rows, before)


def from_sessions(rows: ic.Transactions, before: Mapping[str, int]) -> Data:
    """Return sessions as units; those beyond a person's number before the last day are of that day."""
    names = rows.people.to_pylist()
    seen: Counter[str] = Counter()
    units, person, days, late = [], [], [], set()
    for row, name in enumerate(names):
        seen[name] += 1
        if seen[name] > before[name]:
            late.add(row)
        units.append(set(rows.row(row)))
        person.append(name)
        days.append(int(rows.activity.days[row]))
    return Data("synth users, sessions", units, person, days, frozenset(late), "session:1800")


# --- the tables ---


def show(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    print(f"\n### {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        cells = (
            f"{cell:.1%}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else str(cell)
            for cell in row
        )
        print(f"| {' | '.join(cells)} |", flush=True)


def print_everything(everything: Sequence[Data]) -> None:
    show(
        "Known items",
        ("data", "known", "people", "right, in the release", "right, control group", "right, from raw data"),
        (
            (data.name, p, found.people, found.inside, found.control, found.raw)
            for data in everything
            for halves in [data.halves()]
            for guesser in [Guesser(released(halves[0]).published, len(halves[0].people))]
            for p in (1, 3, 10)
            for found in [known_items(*halves, guesser, p)]
        ),
    )
    show(
        "Sure rules",
        ("data", "people", "told something for sure, confidence=1", "confidence=0.8"),
        (
            (data.name, len(data.people), *(sure_people(released(data, confidence=c)) for c in (1.0, 0.8)))
            for data in everything
        ),
    )
    show(
        "Rules from two words",
        ("data", "people with one", "right, in the release", "right, control group"),
        (
            (data.name, *two_word_rules(*halves, released(halves[0])))
            for data in everything
            for halves in [data.halves()]
        ),
    )
    show("Planted accounts", ("data", "planted", "against", "words read off"), _planted_rows(everything))
    show(
        "Two releases",
        (
            "data",
            "labels with a small difference, k = 5 and 6",
            "a day more: words isolated",
            "rounded: isolated",
            "rounded: changes hidden",
        ),
        (_two_row(data) for data in everything),
    )
    show(
        "Re-linking",
        ("data", "by the release alone", "by the world, in the release", "by the world, control group"),
        ((data.name, *relinked(data)) for data in everything),
    )
    show(
        "Dominance",
        ("data", "tiles with more than half of one person", "cap=3"),
        (
            (data.name, *(dominated(release, cap) for cap in (10**6, 3)))
            for data in everything
            if data.days
            for release in [released(data)]
        ),
    )


def _planted_rows(everything: Sequence[Data]) -> Iterable[Sequence[object]]:
    four, nine, parts = Planting(), Planting(more=True), Planting(more=True, parts=True)
    off: dict[str, Any] = {"longest": 10**6, "aged": 1}
    for whole in everything:
        few = set(sorted(whole.people)[: FEW_USERS if whole.days else FEW_PEOPLE])
        data = whole.only(lambda row, of=whole, few=few: of.person[row] in few)
        yield data.name, "", "(in the dictionary)", covered(data)
        tried = [
            ("four", "no defence", four, off | {"confidence": 1.0}),
            ("four", "confidence", four, off),
            ("nine", "confidence", nine, off),
            ("nine", "confidence, longest=50", nine, {"aged": 1, "longest": 50}),
        ]
        if data.days is not None:
            tried += [
                ("nine, parts", "confidence, longest=50", parts, {"aged": 1}),
                ("nine, parts, young", "all (defaults)", parts, {}),
                ("nine, parts, two days", "all (defaults)", parts._replace(days=2), {}),
            ]
        for what, against, how, options in tried:
            yield data.name, what, against, planted(data, how, **options)
        yield data.name, "counting", "exact counts", counted_out(data, 9)
        yield data.name, "counting", "counts=rounded", counted_out(data, 9, counts="rounded")
        if data.days is not None:
            yield data.name, "counting, young", "all (defaults)", counted_out(data, 1)


def _two_row(data: Data) -> Sequence[object]:
    first, second = (released(data, k=k, cap=10**6) for k in (K, K + 1))
    labels = len(units_of(first))
    exact, rounded = a_day_more(data), a_day_more(data, counts="rounded")
    return (
        data.name,
        len(small_differences(first, second)) / labels,
        exact.isolated,
        rounded.isolated,
        rounded.hidden,
    )


def main() -> None:
    options = read_options(__doc__)
    most = QUICK_BASKETS if options.quick else None
    print_classes(QUICK_USERS if options.quick else USERS)
    print_everything(
        [
            make_up(QUICK_USERS if options.quick else USERS),
            *(
                read_baskets(options.data, name, most)
                for name in ("BMS-WebView-1", "BMS-WebView-2", "retail")
            ),
        ]
    )


if __name__ == "__main__":
    main()
