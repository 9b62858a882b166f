"""A release as the audit reads it, and its labels found again in the originals' taxonomy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.auditing.result import Audit
from incrowd.auditing.taxonomy import PublishedTree
from incrowd.core.promises import Settings, Texts
from incrowd.core.types import Bools
from incrowd.release.files.nodes import (
    MADE_LABEL,
    above,
    published_nodes,
    taxonomy_table,
    words_beside_queries,
)
from incrowd.release.files.records import LEFT, Label, Record, class_name
from incrowd.taxonomy.tree import Taxonomy

__all__ = [
    "Finder",
    "Written",
    "alternatives",
    "check_moved",
    "is_their_tree",
    "nodes_of_labels",
    "tells_how_often",
    "unknown_moves",
]

_BAG = re.compile(r"\{.+:\d+, .+:\d+\}", re.DOTALL)
_ALTERNATIVE = re.compile(r"(.+?):\d+(?:, |$)", re.DOTALL)
_CLASS = re.compile(class_name(".+"), re.DOTALL)


class Written(NamedTuple):
    """The distinct records of a release and which of them each row is (none where a cluster reads them), all labels, the tree.

    ``texts`` says which labels need not be nodes: none, queries, or bags of alternatives (Liu & Wang, ICDM 2010). ``moved`` is how
    many words are said to hang below another class than the taxonomy has them.
    """

    records: Sequence[Record]
    record_of_row: Sequence[int]
    labels: AbstractSet[Label]
    tree: PublishedTree
    texts: Texts = "none"
    moved: int = 0


class Finder:
    """Finds the node of a published label in the originals' taxonomy.

    Parameters
    ----------
    tree, renamed
        The taxonomy, and what a published label is called in it.
    texts
        What need not be nodes.
    labels
        All that is looked for, but for the alternatives in bags: so few of the tree's labels are put in order.
    """

    def __init__(
        self, tree: Taxonomy, renamed: Mapping[str, str], texts: Texts, labels: Iterable[Label]
    ) -> None:
        # Beside queries, a leaf is a word only if its label is a query; else it is the name of a concept.
        words = words_beside_queries(tree) if texts == "queries" else tree.is_leaf
        wanted = {text for text, _ in labels}
        wanted |= {name for text in wanted for name, _ in alternatives(text)} | {*renamed.values()}
        said = pc.is_in(tree.labels, value_set=pa.array(wanted, pa.string()))
        is_said = said.to_numpy(zero_copy_only=False)
        self.tree, self.renamed = tree, renamed
        self.leaf_of = _first_of_each_label(tree, is_said & words)
        self.class_of = _first_of_each_label(tree, is_said & ~tree.is_leaf)
        self.name_of = _first_of_each_label(tree, is_said & tree.is_leaf & ~words)

    def __call__(self, label: Label) -> int | None:
        """Return the node of a label; None if there is none."""
        text, exact = label
        if exact:
            return self.leaf_of.get(text)
        text = self.renamed.get(text, text)
        return self.class_of.get(text, self.name_of.get(text))


def _first_of_each_label(tree: Taxonomy, which: Bools) -> dict[str, int]:
    """Return the first node of each label, among some nodes."""
    nodes = np.flatnonzero(which)[::-1]  # the last to be put in stays
    return dict(zip(tree.labels.take(pa.array(nodes)).to_pylist(), nodes.tolist(), strict=True))


def nodes_of_labels(find: Finder, written: Written) -> dict[Label, int] | None:
    """Return the node of each published label, or None if one is unknown.

    A bag of alternatives, as ``{Vino | Wine}``, has no node, nor has a query: the one that it is published under
    stands in.
    """
    made = () if find.tree.made is None else find.tree.labels.filter(pa.array(find.tree.made)).to_pylist()
    if not _is_renaming(find.renamed) or not set(made) >= set(find.renamed.values()):
        return None
    found: dict[Label, int] = {}
    for label in written.labels:
        node, above = find(label), written.tree.parent.get(label)
        if node is None and above is not None and _stands_below(label, written.texts, find):
            node = find((above, False))
        if node is None:
            return None
        found[label] = node
    return found


def _stands_below(label: Label, texts: Texts, find: Finder) -> bool:
    """Tell whether a label that is no node's may be published: a query, or a bag of alternatives that are nodes'."""
    text, exact = label
    if texts == "queries":
        return exact
    return (
        texts == "bags"
        and not exact
        and all(find(name) is not None for name in alternatives(text) or [("", True)])
    )


def alternatives(text: str) -> list[Label]:
    """Return the labels in a bag, ``{Vino | Wine}`` or ``{Wine:2, Vino:1}``; none if it is no bag."""
    if _BAG.fullmatch(text):
        inside = _ALTERNATIVE.findall(text[1:-1])
    elif text.startswith("{") and text.endswith("}") and " | " in text:
        inside = text[1:-1].split(" | ")
    else:
        return []
    return [
        (name[1:-1], False) if _CLASS.fullmatch(name) else (name.replace(2 * LEFT, LEFT), True)
        for name in inside
    ]


def is_their_tree(written: Written, find: Finder, node_of: Mapping[Label, int]) -> bool:
    """Tell whether the published taxonomy is the part of the originals' that the labels need, as it is published."""
    tree = find.tree
    own = [label for label in written.labels if find(label) is None]
    bags = {
        label: [find(name) for name in alternatives(label[0])] if written.texts == "bags" else []
        for label in own
    }
    nodes = np.array(sorted(set(node_of.values())), dtype=np.int32)
    inside = np.array([node for some in bags.values() for node in some if node is not None], dtype=np.int32)
    words = words_beside_queries(tree) if written.texts == "queries" else None
    named = published_nodes(tree, np.concatenate((nodes, inside)), words=words)
    rows = taxonomy_table(named, above(named, nodes)).to_pylist()
    expected = {(row["label"], row["exact"]): (row["parent"], row["level"], row["leaves"]) for row in rows}
    for label in own:
        place = int(named.places(np.array([node_of[label]], dtype=np.int32))[0])
        leaves = len(bags[label]) or 1
        expected[label] = (named.labels[place].as_py(), int(named.level[place]) + 1, leaves)
    said = written.tree
    return expected == {
        label: (said.parent[label], said.level[label], said.leaves[label]) for label in said.parent
    }


def check_moved(words: Iterable[int], tree: Taxonomy, moved: int, result: Audit) -> None:
    """Check how many published words, given as nodes, were moved in the originals' taxonomy."""
    nodes = np.array(list(set(words)), dtype=np.int64)
    found = 0 if tree.moved is None else int(np.count_nonzero(tree.moved[nodes]))
    if not found and not moved:
        return
    with result.checking(f"{moved:,} published words hang below another class than the taxonomy has them"):
        result.require(
            wrong=found != moved,
            problem="the manifest says of another number of published words that they were moved",
        )


def unknown_moves(settings: Settings) -> list[str]:
    """Return what is not known without the originals where words of a file's taxonomy were moved: WordNet is at hand."""
    is_known = not settings.common.moved or settings.common.taxonomy == "wordnet"
    return [] if is_known else ["which words were moved, and how many: only the originals show it"]


def _is_renaming(renamed: Mapping[str, str]) -> bool:
    """Tell whether made nodes were renamed within their level and in order: only their numbers may differ."""
    before: dict[tuple[str, str], tuple[int, int]] = {}
    for published, own in sorted(renamed.items(), key=lambda one: _number(one[0])):
        first, second = MADE_LABEL.fullmatch(published), MADE_LABEL.fullmatch(own)
        if first is None or second is None or first.groups()[:2] != second.groups()[:2]:
            return False
        kind, numbers = (first[1], first[2]), (int(first[3]), int(second[3]))
        last = before.get(kind, (0, 0))
        if numbers[0] != last[0] + 1 or numbers[1] <= last[1]:
            return False
        before[kind] = numbers
    return True


def _number(label: str) -> int:
    match = MADE_LABEL.fullmatch(label)
    return int(match[3]) if match else 0


def tells_how_often(text: str) -> bool:
    """Tell whether a bag of alternatives says how often each was matched."""
    return bool(_BAG.fullmatch(text))
