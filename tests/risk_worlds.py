"""Random worlds, as the product sees them and as the naive attacks do."""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from incrowd.attacks.attacked import Attacked, attacked_raw
from incrowd.attacks.people import People
from incrowd.attacks.seen import seen_of_classes, seen_of_tiles
from incrowd.core.classes import Classes
from incrowd.core.ragged import starts_of
from incrowd.core.tiles import Tiles
from incrowd.core.transactions import Transactions
from incrowd.taxonomy import Taxonomy, attach
from reference_risk import World
from strategies import Case, cases, taxonomy_of

__all__ = ["Both", "both_of", "classes_of", "naive_of", "tiles_of", "worlds"]


class Both(NamedTuple):
    """What is attacked, the same for the naive attacks, and a source of chance."""

    attacked: Attacked
    naive: World
    dice: random.Random

    def known(self, p: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw people and p items of theirs, as nodes; none of them may be published."""
        person = [one for one, own in enumerate(self.naive.items) if len(own) >= p]
        leaves = [self.dice.sample(sorted(self.naive.items[one]), p) for one in person]
        return np.array(person, np.int64), np.array(leaves, np.int32).reshape(len(person), p)

    def ranks(self, nodes: np.ndarray) -> np.ndarray:
        """Return the ranks of leaves."""
        return self.attacked.tree.first_leaf[nodes].astype(np.int32)


@st.composite
def worlds(draw: st.DrawFn) -> Both:
    """Draw people, and raw data, records or tiles of them, whatever they say."""
    case: Case = draw(cases())
    kind = draw(st.sampled_from(["raw", "classes", "tiles"]))
    dice = random.Random(draw(st.integers(0, 2**32 - 1)))
    shared = dice.random() < 0.5
    people = [f"p{dice.randrange(len(case.rows)) if shared else row}" for row in range(len(case.rows))]
    data, tree, *_ = attach(Transactions.from_rows(case.rows, people=people), taxonomy_of(case.children))
    if kind == "raw":
        return both_of(data, tree, dice)
    nodes = dice.sample(range(len(tree)), min(len(tree), 9))
    sets = [sorted(dice.sample(nodes, dice.randint(1, len(nodes)))) for _ in range(dice.randint(1, 6))]
    if kind == "tiles":
        sets = [list(one) for one in sorted(set(map(tuple, sets)))]
        held = [dice.sample(range(len(sets)), dice.randint(0, len(sets))) for _ in range(len(data))]
        return both_of(data, tree, dice, tiles_of(sets, held))
    sets += dice.sample(sets, dice.randint(0, 2) % (len(sets) + 1))  # classes may say the same
    return both_of(
        data, tree, dice, classes_of(sets, [dice.randint(-1, len(sets) - 1) for _ in range(len(data))])
    )


def tiles_of(sets: list[list[int]], held: list[list[int]]) -> Tiles:
    """Return tiles, given the nodes of each and which each row holds."""
    number = np.bincount([one for own in held for one in own], minlength=len(sets)).astype(np.int64)
    return Tiles(
        starts_of([*map(len, sets)]),
        np.array([node for one in sets for node in one], np.int32),
        number,
        number,
        starts_of([*map(len, held)]),
        np.array([one for own in held for one in own], np.int32),
        0,
    )


def classes_of(sets: list[list[int]], of_row: list[int]) -> Classes:
    """Return classes, given the nodes of each and the class of each row."""
    nodes = np.array([node for one in sets for node in one], np.int32)
    return Classes(np.array(of_row, np.int32), starts_of([*map(len, sets)]), nodes, np.ones_like(nodes))


def both_of(
    data: Transactions, tree: Taxonomy, dice: random.Random, made: Tiles | Classes | None = None
) -> Both:
    """Return both views of raw data, or of what was made of them."""
    people = People.of(data, tree)
    if made is None:
        attacked = attacked_raw(people, tree)
    elif isinstance(made, Tiles):
        attacked = Attacked(people, tree, seen_of_tiles(made, data.person, people))
    else:
        attacked = Attacked(people, tree, seen_of_classes(made, tree, data.person, people))
    return Both(attacked, naive_of(data, tree, made), dice)


def naive_of(data: Transactions, tree: Taxonomy, made: Tiles | Classes | None) -> World:
    """Return the world, read from the rows one at a time."""
    person = data.person.tolist()
    items: list[set[int]] = [set() for _ in range(max(person, default=-1) + 1)]
    for row, one in enumerate(person):
        for item in data.row(row):
            items[one].add(int(tree.leaf_nodes[tree.item_leaf[data.vocabulary.index(item).as_py()]]))
    holders: dict[tuple[int, ...], set[int]] = {}
    if made is None:
        own = [(frozenset(leaves), frozenset({one})) for one, leaves in enumerate(items)]
        return World(tree.parent.tolist(), [*map(frozenset, items)], *_columns(own))
    for number in range(len(made)):
        labels = tuple(made.nodes[made.start[number] : made.start[number + 1]].tolist())
        rows = [row for row in range(len(data)) if number in _held(made, row)]
        holders.setdefault(labels, set()).update(person[row] for row in rows)
    found = [(frozenset(labels), frozenset(some)) for labels, some in holders.items()]
    return World(tree.parent.tolist(), [*map(frozenset, items)], *_columns(found))


def _held(made: Tiles | Classes, row: int) -> list[int]:
    if isinstance(made, Tiles):
        return made.held[made.held_start[row] : made.held_start[row + 1]].tolist()
    return [int(made.of_row[row])]


def _columns(pairs: list[tuple[frozenset[int], frozenset[int]]]) -> tuple[list, list]:
    return [labels for labels, _ in pairs], [people for _, people in pairs]
