"""Attacks that k-anonymity does not promise against, measured on public data: what they achieve on our releases.

    python benchmarks/known_attacks.py [--quick] [--data DIR]

Prints four tables as Markdown. The public data is read from ``--data`` (default ``INCROWD_DATA``, else ``../shared/data``
from the project's root); users with ninety-two days of queries are made up by ``incrowd synth``. k = 5 unless said otherwise.

**Two releases of the same people.** The attacker knows which record of each of two releases is a person's (as it follows
from the person's items). Who has the same two records is left as a candidate. Counted are people who are in both
releases: those with fewer than k candidates, those who are alone, and the median number of candidates.

**Downcoding** (Cohen, USENIX Security 2022). Counted are people and classes with *proven items*, which the record does not print and at least one
of the class's people must have; `incrowd.attacks.minimality` says how that is concluded. (That *every* person of a class has an item can never be
proven unless it is printed: then it is the least that all have, and is printed.) Every proven item is looked up in the originals.

**Planted accounts.** Before the release, the attacker adds k - 1 people who have what is known of a target: all items, or half
of them, or half of them and one guess. Counted: targets whose record only they and their planted people share, and
guesses that the planted people's record prints, where the guess is an item of the target's and where it is not.
Several targets are attacked in one log, at most one for each thousand people (and 50), so that they hardly meet.

**Homogeneity.** Who knows that a person is in a class knows the items that its record prints exactly: all of its people
have them. Counted: people and classes with an exact item, and people all of whose items are printed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import incrowd as ic
from incrowd.attacks.minimality import prove, proven_items
from incrowd.attacks.two_releases import candidates_in_both
from incrowd.logs.synth.generate import write_log
from public_data import existing, read_options

__all__ = [
    "Downcoded",
    "Homogeneous",
    "Planted",
    "TwoReleases",
    "downcoded",
    "homogeneous",
    "plant",
    "together",
]

ROOT = Path(__file__).resolve().parents[1]
K = 5
USERS, BASKETS, TARGETS, TARGETS_OF_LOGS = 5_000, 20_000, 50, 20
QUICK_USERS, QUICK_BASKETS, QUICK_TARGETS = 60, 250, 3
PEOPLE_A_TARGET = 1_000
A_DAY = 30  # baskets have no dates: the last thirtieth of them is taken for a day's
BOTH: dict[str, dict[str, Any]] = {"flock": {"method": "flock"}, "partition": {"method": "partition"}}
LCG: dict[str, dict[str, Any]] = {
    "flock": {"method": "flock"},
    "partition, publish=lcg": {"method": "partition", "publish": "lcg"},
    "clump": {"method": "clump"},
}
Ints = npt.NDArray[np.integer[Any]]
Bag = list[str]
TreeOf = Callable[[ic.Transactions], ic.Taxonomy]


@dataclass(frozen=True, eq=False)
class Data:
    """People, the same people at an earlier time, what came since, and how to make a taxonomy over what they have."""

    name: str
    rows: ic.Transactions
    before: ic.Transactions
    since: str
    tree_of: TreeOf
    targets: int
    binary: bool = False

    @cached_property
    def tree(self) -> ic.Taxonomy:
        return self.tree_of(self.rows)

    @cache  # noqa: B019 - a few sets of data, which stay until the end anyway
    def released(self, method: str, k: int = K, *, early: bool = False) -> ic.Release:
        rows = self.before if early else self.rows
        return ic.anonymize(rows, self.tree_of(rows) if early else self.tree, k=k, **BOTH[method])


# --- the data ---


def read_baskets(directory: Path, name: str, most: int | None, targets: int) -> Data:
    lines = existing(directory / f"transactions/{name}.dat").read_text(encoding="ascii").splitlines()
    bags = [bag for bag in map(str.split, lines) if bag][:most]
    before = bags[: len(bags) - max(len(bags) // A_DAY, 1)]
    title = f"{name}, first {most:,}" if most else name
    made = map(ic.Transactions.from_rows, (bags, before))
    return Data(title, *made, "1/30 more baskets", lambda rows: ic.balanced(rows, 5), targets, binary=True)


def read_excite(directory: Path, targets: int) -> Data:
    """Read a log of one day; what comes before its last hour is the shorter log."""
    text = existing(directory / "logs/excite-small.log").read_bytes()
    return _from_log("Excite", text, "an hour more", lambda line: line.split(b"\t")[1][:8], targets)


def make_up(users: int, targets: int) -> Data:
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "log.tsv"
        write_log(log, users=users, people="all")
        text = log.read_bytes()
    return _from_log("synth users", text, "a day more", lambda line: line.split(b"\t")[2][:10], targets)


def _from_log(name: str, text: bytes, since: str, when: Callable[[bytes], bytes], targets: int) -> Data:
    """Take the nouns of all lines, and of those that are not of the last day (or hour)."""
    lines = text.splitlines(keepends=True)
    head = lines[:1] if lines[0].startswith(b"AnonID") else []
    last = max(map(when, lines[len(head) :]))
    early = [*head, *(line for line in lines[len(head) :] if when(line) < last)]
    return Data(f"{name}, nouns, WordNet", _nouns(lines), _nouns(early), since, ic.wordnet, targets)


def _nouns(lines: Iterable[bytes]) -> ic.Transactions:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "log.tsv"
        path.write_bytes(b"".join(lines))
        with ic.read_log(path) as log:
            return log.transactions(items="nouns")


# --- two releases of the same people ---


class TwoReleases(NamedTuple):
    """People in both releases, the shares of them with fewer than k candidates and with one, the median of candidates."""

    people: int
    below: float
    alone: float
    median: float


def record_of(release: ic.Release) -> Ints:
    """Return the number of the published record of each person; -1 where there is none."""
    number = np.repeat(np.arange(len(release.records)), release.records.sizes)
    row = release.records.row_of
    return np.where(row >= 0, number[row], -1)


def together(first: ic.Release, second: ic.Release, k: int) -> TwoReleases:
    """Count who has the same record in both releases as a person has."""
    ours, theirs = (
        dict(zip(release.transactions.owners.to_pylist(), record_of(release).tolist(), strict=True))
        for release in (first, second)
    )
    records = np.array([(record, theirs.get(owner, -1)) for owner, record in ours.items()]).T
    candidates = candidates_in_both(*records)
    shares = (float(np.mean(candidates < least)) for least in (k, 2))
    return TwoReleases(len(candidates), *shares, float(np.median(candidates)))


def pairs_of(data: Data) -> Iterator[tuple[str, TwoReleases]]:
    for method in BOTH:
        yield (
            f"k = 5 and k = 6, {method}",
            together(data.released(method, 5), data.released(method, 6), 5),
        )
    yield "flock and partition, k = 5", together(data.released("flock"), data.released("partition"), K)
    for method in BOTH:
        early = data.released(method, early=True)
        yield f"{data.since}, {method}, k = 5", together(early, data.released(method), K)


# --- downcoding ---


class Downcoded(NamedTuple):
    """Shares of people and classes with proven items, proven items in all, and how many of those are true."""

    people: float
    classes: float
    proven: int
    true: int


def downcoded(release: ic.Release) -> Downcoded:
    """Prove what can be proven from the records of a release, and look it up in the originals."""
    classes, rows = release.classes, release.transactions
    sets = int(rows.counts.max(initial=1)) == 1
    found = prove(classes, release.taxonomy, sets=sets)
    members, proven = _members(release), defaultdict(dict)
    for number, node, times in zip(*(column.tolist() for column in found), strict=True):
        proven[number][node] = times
    true = 0
    for number, leaves in proven.items():
        most = most_of_each(release, members[number])
        true += sum(most.get(leaf, 0) >= times for leaf, times in leaves.items())
    people = proven_items(classes, release.taxonomy, rows.person, sets=sets).value
    return Downcoded(people, len(proven) / len(classes), len(found.node), true)


def most_of_each(release: ic.Release, rows: Iterable[int]) -> dict[int, int]:
    """Return the leaf nodes that some rows have, each with the most copies in one of them."""
    most: dict[int, int] = {}
    transactions, tree = release.transactions, release.taxonomy
    for row in rows:
        part = slice(int(transactions.indptr[row]), int(transactions.indptr[row + 1]))
        leaves = tree.leaf_nodes[tree.item_leaf[transactions.items[part]]]
        for leaf, times in zip(leaves.tolist(), transactions.counts[part].tolist(), strict=True):
            most[leaf] = max(most.get(leaf, 0), times)
    return most


def _members(release: ic.Release) -> list[list[int]]:
    members: list[list[int]] = [[] for _ in range(len(release.classes))]
    for row, number in enumerate(release.classes.of_row.tolist()):
        if number >= 0:
            members[number].append(row)
    return members


# --- planted accounts ---


class Planted(NamedTuple):
    """How many targets, and what share of them shares its record with planted people only; of guesses, how many are printed."""

    targets: int
    alone: float
    printed: float


def plant(
    rows: ic.Transactions, tree: ic.Taxonomy, fakes: dict[int, Bag], guess: dict[int, str], **how: Any
) -> Planted:
    """Add k - 1 people for each target and anonymize.

    Parameters
    ----------
    rows, tree
        The people, and the taxonomy over what they have.
    fakes
        For each target (a row), what each of its planted people has.
    guess
        For each target, the item that the attacker looks for in the record of the planted people.
    **how
        The method, k and the method's parameters.
    """
    copies = how["k"] - 1
    bags = [bag for bag in fakes.values() for _ in range(copies)]
    release = ic.anonymize(ic.Transactions.from_rows([*bags_of(rows), *bags]), tree, **how)
    record = record_of(release).tolist()
    sizes = Counter(record)
    alone = printed = 0
    for number, target in enumerate(fakes):
        first = len(rows) + number * copies
        planted = range(first, first + copies)
        same = sum(record[fake] == record[target] for fake in planted)
        alone += record[target] >= 0 and sizes[record[target]] == 1 + same
        printed += target in guess and any(guess[target] in exact_items(release, fake) for fake in planted)
    return Planted(len(fakes), alone / len(fakes), printed / len(fakes))


def exact_items(release: ic.Release, row: int) -> set[str]:
    """Return the items that the record of a row prints as they are."""
    classes, tree = release.classes, release.taxonomy
    number = int(classes.of_row[row])
    if number < 0:
        return set()
    nodes = classes.nodes[classes.start[number] : classes.start[number + 1]]
    return set(tree.labels_of(nodes[tree.is_leaf[nodes]]).to_pylist())


def bags_of(rows: ic.Transactions) -> list[Bag]:
    names = rows.vocabulary.to_pylist()
    return [
        [
            names[item]
            for item, times in zip(rows.items[a:b], rows.counts[a:b], strict=True)
            for _ in range(times)
        ]
        for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]


class Attack(NamedTuple):
    """A target with what the attacker knows of it, and a right and a wrong guess."""

    target: int
    everything: Bag
    half: Bag
    right: str
    wrong: str


def draw_attacks(rows: ic.Transactions, count: int) -> list[Attack]:
    """Draw people with two different items or more, a half of the items of each, and the guesses, by a fixed seed."""
    rng = np.random.default_rng(1)
    bags = bags_of(rows)
    names = rows.vocabulary.to_pylist()
    able = np.flatnonzero(np.diff(rows.indptr) >= 2)
    attacks = []
    for target in rng.choice(able, min(count, len(able)), replace=False).tolist():
        items = rng.permutation(sorted(set(bags[target]))).tolist()
        half = items[: len(items) // 2]
        wrong = next(
            name
            for name in (names[rows.items[at]] for at in rng.integers(len(rows.items), size=10_000))
            if name not in items
        )
        attacks.append(Attack(target, bags[target], half, items[-1], wrong))
    return attacks


def planted_lines(data: Data) -> Iterator[list[str]]:
    attacks = draw_attacks(data.rows, data.targets)
    at_once = max(len(data.rows) // PEOPLE_A_TARGET, 1)
    rounds = [attacks[first : first + at_once] for first in range(0, len(attacks), at_once)]
    for method, how in BOTH.items():
        knows_all = _planted(data, rounds, how, lambda one: one.everything)
        knows_half = _planted(data, rounds, how, lambda one: one.half)
        right = _planted(data, rounds, how, lambda one: [*one.half, one.right], lambda one: one.right)
        wrong = _planted(data, rounds, how, lambda one: [*one.half, one.wrong], lambda one: one.wrong)
        shares = (knows_all.alone, knows_half.alone, right.alone, right.printed, wrong.printed)
        yield [data.name, method, f"{knows_all.targets}", *map(percent, shares)]


def _planted(
    data: Data,
    rounds: Sequence[Sequence[Attack]],
    how: dict[str, Any],
    fake: Callable[[Attack], Bag],
    guess: Callable[[Attack], str] | None = None,
) -> Planted:
    """Attack the targets of each round together; add the rounds up."""
    done = [
        plant(
            data.rows,
            data.tree,
            {one.target: fake(one) for one in attacks},
            {one.target: guess(one) for one in attacks} if guess else {},
            k=K,
            **how,
        )
        for attacks in rounds
    ]
    targets = sum(one.targets for one in done)
    shares = (
        sum(getattr(one, name) * one.targets for one in done) / targets for name in ("alone", "printed")
    )
    return Planted(targets, *shares)


# --- homogeneity ---


class Homogeneous(NamedTuple):
    """Shares of people and of classes with an exact item, and of people all of whose items are printed."""

    people: float
    classes: float
    everything: float


def homogeneous(release: ic.Release) -> Homogeneous:
    """Count the items that a record prints exactly."""
    classes, rows = release.classes, release.transactions
    number = np.repeat(np.arange(len(classes)), np.diff(classes.start))
    exact = np.bincount(number[release.taxonomy.is_leaf[classes.nodes]], minlength=len(classes))
    published = np.flatnonzero(classes.of_row >= 0)
    mine = exact[classes.of_row[published]]
    return Homogeneous(
        float(np.mean(mine > 0)),
        float(np.mean(exact > 0)),
        float(np.mean(mine == np.diff(rows.indptr)[published])),
    )


# --- the tables ---


def percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def print_table(title: str, head: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Print a table line by line: some take minutes."""
    print(f"### {title}\n\n| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for line in lines:
        print(f"| {' | '.join(line)} |", flush=True)
    print()


def two_releases_lines(data: Data) -> Iterator[list[str]]:
    for what, found in pairs_of(data):
        shares = [percent(found.below), percent(found.alone)]
        yield [data.name, what, f"{found.people:,}", *shares, f"{found.median:g}"]


def downcoding_lines(data: Data) -> Iterator[list[str]]:
    trees = (
        {"balanced:2": ic.balanced(data.rows, 2), "balanced:5": data.tree}
        if data.binary
        else {"WordNet": data.tree}
    )
    for tree_name, tree in trees.items():
        for method, how in LCG.items():
            found = downcoded(ic.anonymize(data.rows, tree, k=K, **how))
            shares = [percent(found.people), percent(found.classes)]
            yield [data.name, tree_name, method, *shares, f"{found.proven:,}", f"{found.true:,}"]


def homogeneity_lines(data: Data) -> Iterator[list[str]]:
    for method in BOTH:
        yield [data.name, method, *map(percent, homogeneous(data.released(method)))]


def print_everything(every: Sequence[Data]) -> None:
    tables = {
        ("Two releases of the same people", two_releases_lines): (
            *(
                "data",
                "the two releases",
                "people in both",
                "fewer than k candidates",
                "alone",
                "median candidates",
            ),
        ),
        ("Downcoding", downcoding_lines): (
            *("data", "taxonomy", "method", "people", "classes", "proven items", "of them true"),
        ),
        ("Planted accounts", planted_lines): (
            *(
                "data",
                "method",
                "targets",
                "alone: all items known",
                "alone: half known",
                "alone: half and a right guess",
            ),
            *("right guess printed", "wrong guess printed"),
        ),
        ("Homogeneity", homogeneity_lines): (
            *(
                "data",
                "method",
                "people with an exact item",
                "classes with one",
                "people all of whose items are printed",
            ),
        ),
    }
    for (title, lines_of), head in tables.items():
        begun = time.perf_counter()
        print_table(title, head, (line for data in every for line in lines_of(data)))
        print(f"{title}: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)


def main() -> None:
    options = read_options(__doc__)
    quick = options.quick
    most, targets = (QUICK_BASKETS, QUICK_TARGETS) if quick else (None, TARGETS)
    few = QUICK_TARGETS if quick else TARGETS_OF_LOGS
    print_everything(
        [
            read_baskets(options.data, "BMS-WebView-1", most, targets),
            read_baskets(options.data, "BMS-WebView-2", most, targets),
            read_baskets(options.data, "retail", most or BASKETS, targets),
            read_excite(options.data, few),
            make_up(QUICK_USERS if quick else USERS, few),
        ]
    )


if __name__ == "__main__":
    main()
