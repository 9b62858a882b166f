"""The published taxonomy, checked: one tree of exactly the published labels and what lies above them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from incrowd.auditing.result import Audit
from incrowd.core.clean import clean_texts
from incrowd.core.kinds import kind_of, text_of, typed
from incrowd.core.promises import Texts
from incrowd.release.files.nodes import TAXONOMY_SCHEMA, TYPED_SCHEMA, sorted_table
from incrowd.release.files.parts import same_schema
from incrowd.release.files.records import Label, is_canonical, write_parquet
from incrowd.taxonomy.kinds import ALL_KINDS
from incrowd.taxonomy.ladders import ROOT, count_misspelled, way_up, way_up_from_class
from incrowd.taxonomy.matching import in_own_place, locate
from incrowd.taxonomy.sources.wordnet import wordnet_tree
from incrowd.taxonomy.tree import Taxonomy, positions
from incrowd.taxonomy.words import named_tree, published_as

__all__ = ["PublishedTree", "check_taxonomy", "hidden_in", "write_taxonomy"]

# What is made above WordNet: a branch of words that it lacks, a root above both, and one above all kinds of items.
_MADE = re.compile(rf"anything|{ALL_KINDS}|unlisted( [0-9]{{1,9}}\.[0-9]{{1,9}})?")


class PublishedTree(NamedTuple):
    """The parent (always a class), the level and the leaves of each published label."""

    parent: dict[Label, str | None]
    level: dict[Label, int]
    leaves: dict[Label, int | None]


def check_taxonomy(
    path: Path,
    said: AbstractSet[Label],
    *,
    name: str,
    unlisted: str | None = None,
    moved: int = 0,
    texts: Texts,
    kinds: Sequence[str] = (),
    result: Audit,
) -> PublishedTree | None:
    """Check a published taxonomy and return it; None if it is no tree.

    Parameters
    ----------
    path
        The file.
    said
        The labels that the records carry.
    name
        The taxonomy that the manifest names: of WordNet every node is held against WordNet.
    unlisted
        What became of words that WordNet lacks; with ``name`` every node is held against WordNet and the table of such words. None: not known,
        so that either tree will do.
    moved
        How many words the publisher moved: so many, and no more, hang below another class than their own. Of a file's taxonomy, only the originals show
        which is whose.
    texts
        Which labels need not be nodes.
    kinds
        The further kinds of items: what lies above those follows from their texts.
    result
        Gets what is found.
    """
    before = result.found
    with result.checking("the published taxonomy is one tree: the published labels and what lies above them"):
        with pq.ParquetFile(path) as file:
            if not same_schema(file.schema_arrow, TYPED_SCHEMA if kinds else TAXONOMY_SCHEMA):
                result.add_problem(
                    "taxonomy.parquet has other columns than a release has, or notes in its schema"
                )
                return None
            table = file.read()
        tree = _tree([_with_kind(row) for row in table.to_pylist()], result)
        if result.found == before:
            _check_shape(tree, said, texts, result)
            _check_labels(tree, result)
        if result.found == before and kinds:
            _check_ladders(tree, kinds, result)
        if result.found == before and moved:
            _check_moved(tree, name, moved, texts, result)
        if result.found == before and name == "wordnet":
            _check_wordnet(tree, texts, unlisted, moved, result)
        if result.found == before:
            result.require(
                wrong=not is_canonical(path, partial(write_taxonomy, table=table)),
                problem="taxonomy.parquet is not written as its rows are: it holds bytes that are no part of them",
            )
    return tree if result.found == before else None


def _with_kind(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose label and parent name their kind, where the file has kinds; above the root of a kind is the root of all."""
    kind, above = row.get("kind"), row["parent"]
    if kind is None:
        return row
    parent = above if (row["label"], row["exact"]) == (ROOT, False) or above is None else typed(kind, above)
    return row | {"label": typed(kind, row["label"]), "parent": parent}


def _check_ladders(tree: PublishedTree, kinds: Sequence[str], result: Audit) -> None:
    """Check that everything of another kind than words lies where its text says, and hides how many leaves it has."""
    root = next(text for (text, _), above in tree.parent.items() if above is None)
    wrong, spelled = 0, defaultdict[tuple[str, bool], list[str]](list)
    for (label, exact), parent in tree.parent.items():
        kind = kind_of(label)
        if kind is None:
            continue
        text = text_of(label)
        if kind not in kinds:
            wrong += 1
            continue
        if text != ROOT or exact:
            spelled[kind, exact].append(text)
        if text == ROOT and not exact:
            expected = root
        else:
            ways = way_up(kind, text) if exact else way_up_from_class(kind, text)
            expected = typed(kind, ways[0] if ways else ROOT)
        wrong += parent != expected or (not exact and tree.leaves[label, exact] is not None)
    result.require(
        wrong=bool(wrong), problem=f"{wrong:,} labels of taxonomy.parquet are not where their texts belong"
    )
    odd = sum(count_misspelled(kind, texts, exact=exact) for (kind, exact), texts in spelled.items())
    result.require(wrong=bool(odd), problem=f"{odd:,} labels can be no items of their kinds")


def _tree(rows: list[dict[str, Any]], result: Audit) -> PublishedTree:
    """Read the rows; each label once, none without its parts."""
    labels = [(row["label"], row["exact"]) for row in rows]
    result.require(
        wrong=any(text is None or exact is None for text, exact in labels)
        or any(row["level"] is None for row in rows),
        problem="taxonomy.parquet has a row with nothing in it",
    )
    result.require(wrong=len(set(labels)) != len(labels), problem="taxonomy.parquet names a label twice")
    return PublishedTree(
        *(
            dict(zip(labels, (row[name] for row in rows), strict=True))
            for name in ("parent", "level", "leaves")
        )
    )


def _check_shape(tree: PublishedTree, said: AbstractSet[Label], texts: Texts, result: Audit) -> None:
    """Check that the labels are one tree, level by level, and no others than the published ones need."""
    roots = [label for label, above in tree.parent.items() if above is None]
    if len(roots) != 1:
        result.add_problem(f"taxonomy.parquet has {len(roots)} roots")
        return
    for label, above in tree.parent.items():
        if above is not None and (above, False) not in tree.parent:
            result.add_problem("taxonomy.parquet has a label whose parent is not listed")
            return
        # The root's level is 1, and each is one below its parent's: so no label is above itself.
        expected = 1 if above is None else tree.level[above, False] + 1
        if tree.level[label] != expected:
            result.add_problem(
                "taxonomy.parquet has a label on another level than below its parent, or a cycle"
            )
            return
    _check_leaves(tree, texts, result)
    needed = set(said)
    waiting = list(said)
    while waiting:
        above = tree.parent.get(waiting.pop())
        if above is not None and (above, False) not in needed:
            needed.add((above, False))
            waiting.append((above, False))
    result.require(
        wrong=bool(said - tree.parent.keys()),
        problem="a record has an item that taxonomy.parquet does not list",
    )
    result.require(
        wrong=bool(tree.parent.keys() - needed),
        problem="taxonomy.parquet lists labels that are neither published nor above a published one",
    )


def _check_leaves(tree: PublishedTree, texts: Texts, result: Audit) -> None:
    """Check that a word is one leaf and no label has more leaves than its parent.

    A bag of alternatives may have more: its parent's leaves are those of a tree that does not depend on the data, and alternatives such as years are not in it.
    """
    for label, leaves in tree.leaves.items():
        above = tree.parent[label]
        is_bag = texts == "bags" and label[0].startswith("{")
        most = None if above is None or is_bag else tree.leaves[above, False]
        wrong = leaves is not None and (leaves < 1 or (most is not None and leaves > most))
        if wrong or (label[1] and leaves != 1):
            result.add_problem("taxonomy.parquet has a number of leaves that cannot be")
            return


def hidden_in(texts: Iterable[str]) -> int:
    """Count the texts that hold what cannot be seen: control and format characters, or another spelling of a letter."""
    given = pa.array(list(texts), pa.string())
    return int(pc.sum(pc.not_equal(clean_texts(given), given)).as_py() or 0)


def _check_labels(tree: PublishedTree, result: Audit) -> None:
    """Check that no label hides anything: what looks the same is the same."""
    seen = Counter((kind_of(text), " ".join(text_of(text).split()), exact) for text, exact in tree.parent)
    hidden = hidden_in(text_of(text) for text, _ in tree.parent)
    alike = sum(number > 1 for number in seen.values())
    result.require(
        wrong=bool(alike), problem=f"{alike:,} published labels differ only by what cannot be seen"
    )
    result.require(
        wrong=bool(hidden),
        problem=f"{hidden:,} published labels hold characters that cannot be seen (zero-width, control, not NFC)",
    )


def _check_moved(tree: PublishedTree, name: str, moved: int, texts: Texts, result: Audit) -> None:
    """Check that words could be moved: words of a taxonomy that has classes of its own, where words are published."""
    words = sum(exact and kind_of(text) is None for text, exact in tree.parent)
    result.require(
        wrong=name not in ("wordnet", "file") or texts != "none" or moved > words,
        problem="the manifest says that words were moved, which this method and taxonomy do not, or more than are published",
    )


def _check_wordnet(
    tree: PublishedTree, texts: Texts, unlisted: str | None, moved: int, result: Audit
) -> None:
    """Check that classes are WordNet's own, or the table's, below their own parents, with their own leaves, and words below theirs, but for those moved."""
    fits = unlisted != "name" and _count_moved(wordnet_tree(), tree, texts) == moved
    if not fits and unlisted in ("name", None):
        fits = _count_moved(named_tree(), tree, texts) == moved and not _count_private(tree)
    but = "" if not moved else f", beside the {moved:,} words that were moved"
    result.require(
        wrong=not fits, problem=f"taxonomy.parquet has a label that WordNet does not have there{but}"
    )


def _count_private(tree: PublishedTree) -> int:
    """Count the words that may be published as their kind only, or as another word."""
    words = pa.array([text for text, exact in tree.parent if exact and kind_of(text) is None], pa.string())
    return int(pc.sum(pc.not_equal(published_as(words), words)).as_py() or 0)


def _count_moved(static: Taxonomy, tree: PublishedTree, texts: Texts) -> int | None:
    """Count the words that hang below another class of a static tree than their own; None if any other label is not where that tree has it."""
    words = {text: above for (text, exact), above in tree.parent.items() if exact and kind_of(text) is None}
    if not _are_classes_of(static, tree, texts):
        return None
    if texts == "queries":  # a query lies below anything that it may mean
        return 0
    items, classes = (pa.array(list(some), pa.string()) for some in (words, words.values()))
    home, above = locate(static, items).node, positions(classes, static.labels)
    lacking = home < 0
    made = np.array([name is None or bool(_MADE.fullmatch(name)) for name in words.values()], dtype=np.bool_)
    moved = ~in_own_place(static, items, home, above) & ~(lacking & made)
    return None if (above[moved] < 0).any() else int(moved.sum())


def _are_classes_of(static: Taxonomy, tree: PublishedTree, texts: Texts) -> bool:
    """Tell whether every class is where a tree has it that does not depend on the data, with as many leaves."""
    classes = [text for text, exact in tree.parent if not exact]
    place = dict(zip(classes, positions(pa.array(classes, pa.string()), static.labels).tolist(), strict=True))
    leaves = static.last_leaf - static.first_leaf
    for (text, exact), above in tree.parent.items():
        if exact or kind_of(text) is not None:
            continue
        node = place[text]
        is_top = above is None or bool(_MADE.fullmatch(above))
        if node >= 0:
            parent = static.labels[int(static.parent[node])].as_py()
            fits = (is_top if node == 0 else above == parent) and tree.leaves[text, exact] == leaves[node]
        else:
            fits = bool(_MADE.fullmatch(text)) and is_top
            fits = fits or (texts == "bags" and text.startswith("{"))
        if not fits:
            return False
    return True


def write_taxonomy(sink: Path | pa.NativeFile, table: pa.Table) -> None:
    """Write a published taxonomy in its only form."""
    write_parquet(sink, sorted_table(table).to_batches(), table.schema)
