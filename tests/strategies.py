"""Random taxonomies and data, and both views of them: the product's arrays and the reference's names."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np
import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

import reference
from incrowd.core.classes import WITHHELD, Classes
from incrowd.core.transactions import Transactions
from incrowd.methods.registry import Method
from incrowd.taxonomy import Attached, Taxonomy, attach

__all__ = [
    "Case",
    "cases",
    "children_of",
    "fragments",
    "in_names",
    "large_cases",
    "taxonomy_of",
    "trees",
    "variants_of",
    "with_clicks",
]

Children = dict[str, list[str]]


class Case(NamedTuple):
    """A taxonomy, rows of items that are any nodes of it, and k."""

    children: Children
    rows: list[list[str]]
    k: int

    def tree(self) -> reference.Tree:
        return reference.Tree(reference.attach(self.children, (item for row in self.rows for item in row)))

    def bags(self) -> list[dict[str, int]]:
        leaf = {
            item: reference.itself(item) if self.children.get(item) else item
            for row in self.rows
            for item in row
        }
        return [reference.bag_of(leaf[item] for item in row) for row in self.rows]

    def attached(self) -> Attached:
        return attach(Transactions.from_rows(self.rows), taxonomy_of(self.children))


def children_of(parents: list[int], names: list[str]) -> Children:
    """Return ``{node: children}`` of a tree whose node i + 1 hangs under node ``parents[i]``."""
    children: Children = {name: [] for name in names}
    for child, parent in enumerate(parents, 1):
        children[names[parent]].append(names[child])
    return children


def taxonomy_of(children: Children) -> Taxonomy:
    """Return the product's tree with the nodes and the order of the reference's."""
    path = reference.Tree(children).path
    number = {node: i for i, node in enumerate(path)}
    parent = [number[way[-2]] if len(way) > 1 else -1 for way in path.values()]
    return Taxonomy.from_parents(
        np.array(parent, dtype=np.int32), pa.array(list(path), pa.string()), name="test"
    )


def in_names(taxonomy: Taxonomy, classes: Classes) -> list[tuple[tuple[int, ...], dict[str, int]]]:
    """Return the classes as the reference writes them: rows and the published bag, by first row."""
    names: list[str] = []
    for label in taxonomy.labels.to_pylist():
        names.append(reference.itself(label) if label in names else label)
    found = []
    for c in range(len(classes)):
        part = slice(classes.start[c], classes.start[c + 1])
        bag = {
            names[node]: int(count)
            for node, count in zip(classes.nodes[part], classes.counts[part], strict=True)
        }
        found.append((tuple(np.flatnonzero(classes.of_row == c).tolist()), bag))
    assert all(bag for _, bag in found)
    assert set(classes.of_row.tolist()) <= {WITHHELD, *range(len(classes))}
    return sorted(found, key=lambda pair: pair[0])


@st.composite
def trees(draw: st.DrawFn) -> Children:
    """Draw small trees: bushy, deep and uneven, chains of single children, or wider than 64."""
    wide = draw(st.sampled_from([0, 0, 0, 65, 80]))
    inner = draw(st.integers(1, 14))
    reach = draw(st.sampled_from([1, 2, 14]))
    parents = [draw(st.integers(max(0, i - reach), i)) for i in range(inner)]
    parents += [draw(st.integers(0, inner))] * wide
    numbers = list(range(len(parents) + 1))
    draw(st.randoms(use_true_random=False)).shuffle(numbers)
    return children_of(parents, [f"n{i}" for i in numbers])


@st.composite
def regular_trees(draw: st.DrawFn) -> Children:
    """Draw trees in which all nodes of a level look alike, so that gains tie."""
    fan_out, depth = draw(st.sampled_from([(2, 2), (3, 2), (2, 3), (4, 2)]))
    inner = sum(fan_out**level for level in range(depth))
    parents = [i // fan_out for i in range(inner * fan_out)]
    return children_of(parents, [f"n{i}" for i in range(len(parents) + 1)])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw small cases, which shrink well: few distinct items, so there are many ties."""
    children = draw(st.one_of(trees(), regular_trees()))
    k = draw(st.integers(2, 6))
    few = draw(st.lists(st.sampled_from(sorted(children)), min_size=1, max_size=8))
    row = st.lists(st.sampled_from(few), max_size=6)
    rows = draw(st.lists(row, min_size=k, max_size=24))
    assume(sum(map(bool, rows)) >= k)
    return Case(children, rows, k)


def large_cases() -> st.SearchStrategy[Case]:
    """Draw larger cases from a seed: they reach the depths of the recursion that small ones do not."""
    return st.builds(_large_case, st.integers(0, 2**32 - 1))


def _large_case(seed: int) -> Case:
    dice = random.Random(seed)
    if dice.random() < 0.5:
        return _regular_case(dice)
    reach = dice.choice([2, 6, 200])
    parents = [dice.randint(max(0, i - reach), i) for i in range(dice.randint(10, 120))]
    parents += [dice.randrange(len(parents))] * dice.choice([0, 0, 70])
    names = [f"n{i}" for i in range(len(parents) + 1)]
    dice.shuffle(names)
    items = names[: dice.choice([4, 12, len(names)])]
    bend = dice.choice([1, 3])
    rows = [
        [items[int(len(items) * dice.random() ** bend)] for _ in range(dice.choice([0, 1, 2, 3, 3, 5, 9]))]
        for _ in range(dice.randint(20, 160))
    ]
    return Case(children_of(parents, names), rows, dice.randint(2, 6))


def _regular_case(dice: random.Random) -> Case:
    """Rows of one length over the leaves of a regular tree: nodes, rows and buckets tie all the time."""
    fan_out, depth = dice.choice([(2, 2), (3, 2), (2, 3), (4, 2), (2, 4)])
    inner = sum(fan_out**level for level in range(depth))
    names = [f"n{i}" for i in range(inner * fan_out + 1)]
    width = dice.randint(1, 4)
    rows = [[dice.choice(names[inner:]) for _ in range(width)] for _ in range(dice.randint(8, 60))]
    return Case(children_of([i // fan_out for i in range(len(names) - 1)], names), rows, dice.randint(2, 5))


def fragments() -> st.SearchStrategy[list[str]]:
    """Draw distinct item texts, some of which look like the labels of made nodes."""
    made = st.sampled_from(
        ["group", "group 1.1", "group~", "unlisted", "unlisted 1.1", "anything", "anything~", "1.1"]
    )
    return st.lists(
        st.one_of(st.text(st.characters(codec="utf-8"), min_size=1, max_size=6), made),
        min_size=1,
        max_size=40,
        unique=True,
    )


def variants_of(method: Method) -> list[dict[str, Any]]:
    """Return settings of a method's own parameters that together use every named choice at least once; but counts by week take a log."""
    hints = get_type_hints(method.run)
    named = [name for name in method.parameters if get_origin(hints[name]) is Literal]
    choices = {name: [value for value in get_args(hints[name]) if value != "weeks"] for name in named}
    most = max((len(values) for values in choices.values()), default=1)
    return [{name: values[min(i, len(values) - 1)] for name, values in choices.items()} for i in range(most)]


def with_clicks(transactions: Transactions) -> Transactions:
    """Return queries that were each followed by a click, on one of eight sites of their own that do not name them."""
    events = transactions.events
    assert events is not None
    order = np.argsort(events.query, kind="stable")
    times = np.empty(len(order), dtype=np.int64)  # how often its query was typed before
    times[order] = (np.arange(len(order)) - np.searchsorted(events.query[order], events.query[order])) % 8
    names = [
        f"s{query}x{time}.example/" for query, time in zip(events.query.tolist(), times.tolist(), strict=True)
    ]
    sites, site = np.unique(names, return_inverse=True)
    clicked = replace(
        events,
        clicks=np.arange(len(events.query) + 1, dtype=np.int64),
        site=site.astype(np.int32),
        sites=pa.array(sites.tolist(), pa.string()),
    )
    return replace(transactions, events=clicked)
