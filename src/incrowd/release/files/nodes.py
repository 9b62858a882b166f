"""What the nodes of a taxonomy are called where they are published, and the part of the taxonomy that is published.

Only published labels and what lies above them leave. Nodes that were made from the data are numbered by what is
published, so that words which are not published move nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.core.kinds import kind_of, text_of
from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.release.files.records import Label
from incrowd.taxonomy.attach import UNRELATED
from incrowd.taxonomy.tree import Taxonomy

__all__ = [
    "MADE_LABEL",
    "TAXONOMY_SCHEMA",
    "TYPED_SCHEMA",
    "PublishedNodes",
    "above",
    "levels_of",
    "published_nodes",
    "sorted_table",
    "taxonomy_table",
    "words_beside_queries",
]

TAXONOMY_SCHEMA = pa.schema(
    [
        ("label", pa.string()),
        ("exact", pa.bool_()),
        ("parent", pa.string()),
        ("level", pa.int32()),
        ("leaves", pa.int32()),
    ]
)
TYPED_SCHEMA = pa.schema([("kind", pa.string()), *TAXONOMY_SCHEMA])
"""The columns where there are items of further kinds; the kind is null for words and for the root above all."""
MADE_LABEL = re.compile(r"(.*) ([0-9]{1,9})\.([0-9]{1,9})", re.DOTALL)


class PublishedNodes(NamedTuple):
    """The published nodes and all above them, ascending, as readers see them.

    ``parent`` is a place in ``nodes`` (-1: the root), ``level`` the root's 1 and so on down, ``exact`` tells words
    from classes, ``leaves`` is 0 where it is not published. ``renamed`` maps the label of a made node to its label in the
    owner's own tree; it is private.
    """

    nodes: Ints32
    labels: pa.Array
    exact: Bools
    parent: Ints64
    level: Ints32
    leaves: Ints32
    renamed: dict[str, str]

    def places(self, nodes: Ints32) -> Ints64:
        """Return where some published nodes stand."""
        return np.searchsorted(self.nodes, nodes)


def published_nodes(tree: Taxonomy, published: Ints32, *, words: Bools | None = None) -> PublishedNodes:
    """Name the published nodes and all above them.

    Parameters
    ----------
    tree, published
        The taxonomy with all items attached and the nodes that are published.
    words
        Which nodes are the very items; else they are names of classes. None: the leaves.
    """
    nodes = _without_idle_nodes(tree, tree.ancestors(published), published)
    parent = _parents_among(tree, nodes)
    made = np.zeros(len(nodes), dtype=np.bool_) if tree.made is None else tree.made[nodes]
    labels, renamed = _renumbered(tree.labels_of(nodes).to_pylist(), made)
    leaves = tree.last_leaf - tree.first_leaf if tree.given_leaves is None else tree.given_leaves
    return PublishedNodes(
        nodes,
        pa.array(labels, pa.string()),
        (tree.is_leaf if words is None else words)[nodes],
        parent,
        _levels(parent),
        leaves[nodes].astype(np.int32),
        renamed,
    )


def _without_idle_nodes(tree: Taxonomy, nodes: Ints32, published: Ints32) -> Ints32:
    """Leave out made nodes that are not published and have one child: how many lie on the way tells how many items there are."""
    if tree.made is None:
        return nodes
    children = np.bincount(tree.parent[nodes][tree.parent[nodes] >= 0], minlength=len(tree))
    idle = tree.made[nodes] & (children[nodes] == 1) & ~np.isin(nodes, published)
    return np.asarray(nodes[~idle])


def _parents_among(tree: Taxonomy, nodes: Ints32) -> Ints64:
    """Return the place of the nearest node above each, -1 for the root."""
    kept = np.zeros(len(tree) + 1, dtype=np.bool_)  # the last is for what lies above the root
    kept[nodes] = kept[-1] = True
    above = tree.parent[nodes]
    while not kept[above].all():
        above = np.where(kept[above], above, tree.parent[above])
    return np.where(above >= 0, np.searchsorted(nodes, above), -1)


def _levels(parent: Ints64) -> Ints32:
    """Return the level of each node, the root's is 1."""
    level = np.ones(len(parent), dtype=np.int32)
    above = parent
    while (above >= 0).any():
        level[above >= 0] += 1
        above = np.where(above >= 0, parent[above], -1)
    return level


def above(named: PublishedNodes, nodes: Ints32) -> Bools:
    """Tell which of the named nodes are some nodes or lie above them; the others stand only in bags of alternatives."""
    listed = np.zeros(len(named.nodes), dtype=np.bool_)
    places = np.unique(named.places(nodes))
    while len(places):
        listed[places] = True
        upper = np.unique(named.parent[places])
        places = upper[(upper >= 0) & ~listed[upper]]
    return listed


def words_beside_queries(tree: Taxonomy) -> Bools:
    """Tell which nodes are words where queries are published: the leaves whose labels are queries themselves."""
    return tree.is_leaf if tree.edge is None else tree.is_leaf & (tree.edge >= UNRELATED)


def _renumbered(labels: list[str], made: Bools) -> tuple[list[str], dict[str, str]]:
    """Give made nodes new numbers, in order, among those that are published; return also what each was called."""
    seen: Counter[tuple[str, str]] = Counter()
    renamed: dict[str, str] = {}
    for place in np.flatnonzero(made).tolist():
        match = MADE_LABEL.fullmatch(labels[place])
        if match:
            kind = (match[1], match[2])
            seen[kind] += 1
            label = f"{match[1]} {match[2]}.{seen[kind]}"
            renamed[label], labels[place] = labels[place], label
    return labels, renamed


def taxonomy_table(
    named: PublishedNodes, listed: Bools | None = None, *, has_kinds: bool = False
) -> pa.Table:
    """Return the published part of a taxonomy, sorted by label; a parent is always a class, of the same kind or the root.

    Without `listed`, which tells the nodes that have a row of their own, all have.
    """
    parents = named.labels.take(pa.array(named.parent, mask=named.parent < 0))
    leaves = pa.array(named.leaves, pa.int32(), mask=named.leaves == 0)
    columns = [named.labels, pa.array(named.exact), parents, pa.array(named.level, pa.int32()), leaves]
    table = pa.table(columns, schema=TAXONOMY_SCHEMA)
    table = _with_kinds(table) if has_kinds else table
    return sorted_table(table if listed is None else table.filter(pa.array(listed)))


def _with_kinds(table: pa.Table) -> pa.Table:
    """Return a taxonomy's table with kinds in a column of their own."""
    labels, parents = (table[name].to_pylist() for name in ("label", "parent"))
    plain = {
        "kind": [kind_of(label) for label in labels],
        "label": [text_of(label) for label in labels],
        "parent": [parent and text_of(parent) for parent in parents],
    }
    others = {name: table[name].combine_chunks() for name in ("exact", "level", "leaves")}
    columns = {name: pa.array(values, pa.string()) for name, values in plain.items()} | others
    return pa.table([columns[name] for name in TYPED_SCHEMA.names], schema=TYPED_SCHEMA)


def levels_of(table: pa.Table) -> dict[Label, int]:
    """Return the level of each label of a published taxonomy."""
    label, exact, level = (table[name].to_pylist() for name in ("label", "exact", "level"))
    return dict(zip(zip(label, exact, strict=True), level, strict=True))


def sorted_table(table: pa.Table) -> pa.Table:
    """Return the rows of a published taxonomy in their only order."""
    order = [name for name in ("kind", "label", "exact") if name in table.column_names]
    return table.sort_by([(name, "ascending") for name in order]).combine_chunks()
