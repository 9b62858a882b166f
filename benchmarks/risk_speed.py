"""How long the attacks of the risk lab take on made-up people: unicity of 650,000 people, and 57,000 profiles found among as many.

    python benchmarks/risk_speed.py [--quick] [--data DIR]

Prints a table as Markdown. People have 21 distinct items on average, drawn by Zipf's law (an item of rank r with a chance of 1 / r) from so many that
about 2.4 million occur. *Unicity*: 1,000 people are drawn for each of 1 to 10 known items. *Found again*: people have two profiles drawn in the
same way that share a third of the items, and everybody is looked for in the other one by the scoreboard; the same with every second
item of the sessions of BMS-WebView-2, read from ``--data``, who are looked for among the whole sessions. Kernels are compiled before.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import incrowd as ic
from incrowd.attacks.attacked import Attacked, Setting, attacked_raw
from incrowd.attacks.linkability import found_again
from incrowd.attacks.people import Lists, People
from incrowd.attacks.seen import seen_of_people
from incrowd.attacks.singling_out import class_risks, unicity
from incrowd.core.ragged import starts_of
from incrowd.taxonomy.tree import Taxonomy
from public_data import existing, read_options

__all__ = ["flat_tree", "people_of", "zipf_items"]

PEOPLE, ITEMS, EACH, LINKED = 650_000, 8_000_000, 22, 57_000
QUICK_PEOPLE, QUICK_ITEMS, QUICK_LINKED = 2_000, 9_000, 300
SHARED = 3  # one of so many items is in both profiles


def zipf_items(people: int, items: int, each: int, rng: np.random.Generator) -> np.ndarray:
    """Return the ranks of items by Zipf's law, a line for each person, repetitions not removed."""
    # The continuous law: a uniform share of ln(items) is the logarithm of a rank.
    return np.exp(rng.random((people, each)) * np.log(items)).astype(np.int64) - 1


def people_of(items: np.ndarray, leaves: int) -> People:
    """Return people with the distinct items of their lines; a leaf is a rank."""
    ordered = np.sort(items, axis=1)
    new = np.ones(ordered.shape, np.bool_)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=new[:, 1:])
    return People(starts_of(new.sum(axis=1)), ordered[new].astype(np.int32), leaves)


def flat_tree(leaves: int, fan_out: int = 1_000) -> Taxonomy:
    """Return a tree of three levels."""
    inner = -(-leaves // fan_out)
    parent = np.concatenate(([-1], np.zeros(inner), 1 + np.arange(leaves) // fan_out)).astype(np.int32)
    return Taxonomy.from_parents(parent, pa.array(np.arange(len(parent)).astype(str)), name="made up")


def timed(work: Callable[[], object]) -> tuple[float, object]:
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found


def lines(directory: Path, *, quick: bool) -> Iterator[tuple[str, str, float, str]]:
    rng = np.random.default_rng(1)
    number, items = (QUICK_PEOPLE, QUICK_ITEMS) if quick else (PEOPLE, ITEMS)
    people = people_of(zipf_items(number, items, EACH, rng), items)
    occurring = int(np.count_nonzero(people.counts))
    what = f"{number:,} people x {people.sizes.mean():.0f} items, {occurring:,} distinct"
    raw = attacked_raw(people, flat_tree(items))
    seconds, found = timed(lambda: unicity(raw, Setting()))
    yield "unicity, p = 1..10, 1,000 draws each", what, seconds, said(found.unicity[4].value, "p = 4")
    seconds, risks = timed(lambda: class_risks(raw, 5))
    yield "risks of classes", what, seconds, said(risks.marketer, "marketer")
    yield from linked(QUICK_LINKED if quick else LINKED, rng)
    yield from baskets(directory, quick=quick)


def linked(number: int, rng: np.random.Generator) -> Iterator[tuple[str, str, float, str]]:
    items = 20 * number
    first, second = (zipf_items(number, items, EACH, rng) for _ in range(2))
    second[:, ::SHARED] = first[:, ::SHARED]
    people, later = people_of(first, items), people_of(second, items)
    attacked = Attacked(people, flat_tree(items), seen_of_people(people, flat_tree(items)))
    what = f"{number:,} profiles x {later.sizes.mean():.0f} items, Zipf"
    yield from again(attacked, Lists(later.start, later.leaf), what)


def baskets(directory: Path, *, quick: bool) -> Iterator[tuple[str, str, float, str]]:
    text = existing(directory / "transactions/BMS-WebView-2.dat").read_text(encoding="ascii").splitlines()
    rows = [bag for bag in map(str.split, text) if len(bag) > 1][: QUICK_LINKED if quick else None]
    data = ic.Transactions.from_rows(rows + [bag[::2] for bag in rows])
    tree = ic.balanced(data, 5)
    everything = People.of(data, tree)
    start, middle = everything.start, everything.start[len(rows)]
    people = People(start[: len(rows) + 1], everything.leaf[:middle], everything.leaves)
    later = Lists(start[len(rows) :] - middle, everything.leaf[middle:])
    what = f"BMS-WebView-2, half of each of {len(rows):,} sessions"
    yield from again(Attacked(people, tree, seen_of_people(people, tree)), later, what)


def again(attacked: Attacked, profiles: Lists, what: str) -> Iterator[tuple[str, str, float, str]]:
    seconds, found = timed(lambda: found_again(attacked, profiles, Setting(most=10**9)))
    yield (
        "found again, everybody against everybody",
        what,
        seconds,
        said(found.value, f"control {found.control.value:.2%}"),
    )


def said(value: float, more: str) -> str:
    return f"{value:.1%} ({more})".replace("%", " %")


def main() -> None:
    options = read_options(__doc__)
    for _ in linked(20, np.random.default_rng(1)):
        pass  # compiles
    unicity(attacked_raw(people_of(np.arange(40).reshape(2, 20), 40), flat_tree(40)), Setting())
    print("| attack | on | seconds | found |\n|---|---|---|---|")
    for attack, what, seconds, found in lines(options.data, quick=options.quick):
        print(f"| {attack} | {what} | {seconds:.1f} | {found} |", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\nMost memory: {peak:.1f} GB.")


if __name__ == "__main__":
    main()
