"""Two releases of the same people, the second made alone or with --previous: who is left among fewer than k, and the price.

    python benchmarks/previous.py [--quick] [--data DIR]

Prints a table as Markdown. The people of BMS-WebView-2 (``--data``, default ``INCROWD_DATA``, else ``../shared/data`` from the project's root) are
drawn by a fixed seed: 10 % are in the first release alone, 10 % in the second alone, 80 % in both. In the second line of each method, half of
these have one item more in the second release, drawn from all clicks. k = 5.

The attacker knows which record of each release is a person's, or that there is none. *Fewer than k*: the share of the people of either
release who share that with fewer than k - 1 others. *Loss* is the generalization loss (GGD) of the second release.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import incrowd as ic
from public_data import existing, read_options

__all__ = ["Second", "compared", "fewer_than"]

K = 5
QUICK = 400
TENTH = 10
METHODS = ("flock", "partition")
People = dict[str, list[str]]


class Second(NamedTuple):
    """A second release: the share of people who are left among fewer than k, its loss, and how many are withheld or counted though they left."""

    rare: float
    loss: float
    withheld: int
    left: int


def drawn(directory: Path, most: int | None) -> tuple[People, People, People]:
    """Return the people of the first release, those of the second, and these with some items more."""
    lines = existing(directory / "transactions/BMS-WebView-2.dat").read_text(encoding="ascii").splitlines()
    everyone = {str(number): bag for number, bag in enumerate(map(str.split, lines[:most])) if bag}
    dice = random.Random(0)
    names = list(everyone)
    dice.shuffle(names)
    tenth, clicks = len(names) // TENTH, [item for bag in everyone.values() for item in bag]
    first, second = ({name: everyone[name] for name in some} for some in (names[tenth:], names[:-tenth]))
    more = {name: bag + [dice.choice(clicks)] * dice.getrandbits(1) for name, bag in second.items()}
    return first, second, {name: more[name] if name in first else bag for name, bag in second.items()}


def released(people: People, method: str, **how: Any) -> ic.Release:
    rows = replace(ic.Transactions.from_rows(list(people.values()), owners=list(people)), unit="user")
    made = ic.anonymize(rows, "balanced:5", k=K, method=method, **how)
    assert isinstance(made, ic.Release)
    return made


def records_in(release: ic.Release) -> dict[str, int]:
    """Return the number of the record of each person who is published, present or not."""
    record = np.repeat(np.arange(len(release.records)), release.records.sizes)
    return {
        owner: int(record[row])
        for owners, rows in release.owners()
        for owner, row in zip(owners.to_pylist(), rows.to_pylist(), strict=True)
    }


def fewer_than(k: int, first: ic.Release, second: ic.Release) -> float:
    """Return the share of people whose records in both releases, or lack of one, fewer than k have."""
    before, now = records_in(first), records_in(second)
    ways = [(before.get(person), now.get(person)) for person in before.keys() | now.keys()]
    alike = Counter(ways)
    return sum(alike[way] < k for way in ways) / len(ways)


def compared(first: People, second: People, method: str) -> Iterator[Second]:
    """Yield the second release made alone, and made with the first one's private map."""
    with tempfile.TemporaryDirectory() as scratch:
        earlier = released(first, method)
        earlier.write(Path(scratch) / "release", private_map=Path(scratch) / "map")
        for how in ({}, {"previous": Path(scratch) / "map"}):
            made = released(second, method, **how)
            left = 0 if made.classes.left is None else len(made.classes.left)
            yield Second(fewer_than(K, earlier, made), made.losses.ggd_norm, made.counts.withheld, left)


def main() -> None:
    options = read_options(__doc__)
    first, second, more = drawn(options.data, QUICK if options.quick else None)
    print(
        "| method | second release | alone: fewer than k | loss | `--previous`: fewer than k | loss | leavers counted |"
    )
    print("|---|---|---|---|---|---|---|")
    for method in METHODS:
        for name, people in (("the same items", second), ("an item more for half", more)):
            alone, following = compared(first, people, method)
            print(
                f"| {method} | {name} | {alone.rare:.1%} | {alone.loss:.3f} | {following.rare:.1%} | {following.loss:.3f} "
                f"| {following.left:,} |"
            )


if __name__ == "__main__":
    main()
