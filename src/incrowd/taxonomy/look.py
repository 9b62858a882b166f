"""Looks a word up in a taxonomy: the nodes that are called so, the way to the root, and the nodes around them."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.types import Bools, Ints32
from incrowd.errors import BadInputError, option
from incrowd.taxonomy.matching import CategoryFinder, in_own_place, locate, own_names
from incrowd.taxonomy.sources.wordnet import lexicon
from incrowd.taxonomy.tree import Taxonomy, positions
from incrowd.taxonomy.words import Entry, name_words, named_tree, why_unknown

if TYPE_CHECKING:
    from incrowd.taxonomy.moves import Moves, PlacedMoves

__all__ = ["class_named", "look_up"]

MOST_NODES = 5
MOST_NEIGHBOURS = 10
MOST_ALIKE = 5
CLOSE = 0.7
KIND_ONLY = "published as its kind only"


def look_up(tree: Taxonomy, word: str, moves: Moves | None = None) -> dict[str, Any]:
    """Return the nodes that a word names, in any case, each with its way to the root, its siblings and its children.

    A word names a node by its id, its path, its name, or as an item of the data would. Lists are cut to a few, with the number
    of all beside them. If there is no such node, the error names what is alike. In WordNet's tree there are also the words that it lacks
    and the nodes that tell their kinds, and it is said why a word is where it is. A word of `moves` is first where it was moved to.
    """
    word = " ".join(word.split())
    is_wordnet = tree.name == "wordnet" and tree.items is None
    tree, entry = (named_tree(), _entry(word)) if is_wordnet else (tree, None)
    names = own_names(tree)
    nodes = _nodes_called(tree, names, word if entry is None else entry.item)
    alike = _alike(names, word)
    if moves is not None:
        moved = _moved(tree, names, nodes, word, moves.on(tree))
        if moved is not None:
            return {"taxonomy": tree.name, "word": word, **moved, "alike": alike}
    if not len(nodes):
        hint = ", ".join(f"'{name}'" for name in alike)
        because = _why_not(word) if is_wordnet and word else ""
        raise BadInputError(
            f"taxonomy {tree.name} has no node called '{word:.80}'{because}"
            + (f"; there are {hint}" if hint else "")
        )
    shown = nodes[:MOST_NODES].tolist()
    why = {"why": _why(word, entry)} if is_wordnet else {}
    return {
        "taxonomy": tree.name,
        "word": word,
        "found": [_surroundings(tree, names, node) for node in shown],
        "found_in_all": len(nodes),
        "alike": alike,
        **why,
    }


def class_named(tree: Taxonomy, name: str) -> int:
    """Return the node of the class with a name: its label, its id, its path or its own name, as `look_up` finds it.

    Raises
    ------
    BadInputError
        There is none, and the message says what is alike; or there are several.
    """
    names, name = own_names(tree), " ".join(name.split())
    by_label = positions(pa.array([name], pa.string()), tree.labels)
    if by_label[0] >= 0:
        return int(by_label[0])
    # What a rule makes of a word that WordNet lacks, such as a typing error, is no name of a class.
    is_by_rule = tree.name == "wordnet" and _entry(name) is not None
    nodes = [] if is_by_rule else _nodes_called(tree, names, name).tolist()
    if len(nodes) == 1:
        return int(nodes[0])
    if nodes:
        several = " or ".join(f"'{tree.labels[node].as_py()}'" for node in nodes[:MOST_NODES])
        raise BadInputError(f"{len(nodes):,} nodes of {tree.name} have that name: say which, as {several}")
    hint = " or ".join(f"'{one}'" for one in _alike(names, name))
    raise BadInputError(
        f"{tree.name} has no such class: {f'say {hint}, or ' if hint else ''}look for one with 'incrowd taxonomy show'"
    )


def _moved(
    tree: Taxonomy, names: pa.StringArray, nodes: Ints32, word: str, moves: PlacedMoves
) -> dict[str, Any] | None:
    """Return where a word was moved to, and the class of its name if there is one; None if it was not moved."""
    item = pa.array([word], pa.string())
    target, home = moves.below(item), locate(tree, item).node
    if target[0] < 0 or in_own_place(tree, item, home, target)[0]:
        return None
    is_named = _equal(tree.labels, word) | _equal(names, word)
    classes = [node for node in nodes.tolist() if is_named[node] and not tree.is_leaf[node]]
    at = int(home[0])
    is_itself = at > 0 and tree.labels[at].as_py().lower() == word.lower()
    above = int(tree.parent[at]) if is_itself else at
    was = (
        f"the taxonomy has it below '{tree.labels[above].as_py()}'" if above >= 0 else "the taxonomy lacks it"
    )
    return {
        "found": [
            _new_place(tree, names, word, int(target[0])),
            *(_surroundings(tree, names, node) for node in classes[: MOST_NODES - 1]),
        ],
        "found_in_all": 1 + len(classes),
        "moved": True,
        "why": f"It was moved below '{tree.labels[int(target[0])].as_py()}'; {was}.",
    }


def _new_place(tree: Taxonomy, names: pa.StringArray, word: str, above: int) -> dict[str, Any]:
    """Return the way from the root to a word that was moved, and what is beside it."""
    shown = _surroundings(tree, names, above)
    return {
        "label": word,
        "id": None,
        "path": [*shown["path"], word],
        "siblings": [name for name in shown["children"] if name != word],
        "siblings_in_all": shown["children_in_all"],
        "children": [],
        "children_in_all": 0,
    }


def _entry(word: str) -> Entry | None:
    """Return what a word is that WordNet lacks."""
    (entry,) = name_words([word.lower()])
    return entry


def _why(word: str, entry: Entry | None) -> str:
    """Say in words how a word was found in WordNet, or among the words that it lacks."""
    if entry is not None and entry.why.endswith(KIND_ONLY):
        return f"WordNet lacks it. With {option('unlisted', 'name')} it is {entry.why}, '{entry.item}'."
    if entry is not None:
        where = f"below '{entry.parent}'" if entry.item != entry.parent else "a node's own name"
        return f"WordNet lacks it. With {option('unlisted', 'name')} it is {entry.why}; published as '{entry.item}', {where}."
    lemma = lexicon().lemma_of(word.lower())
    return "It is the name of a node." if lemma is None else f"The first sense of WordNet's noun '{lemma}'."


def _why_not(word: str) -> str:
    """Say why a word that WordNet lacks has no place in its tree."""
    return f": {why_unknown(word.lower())}, and with {option('unlisted', 'name')} it stays in the branch 'unlisted'"


def _nodes_called(tree: Taxonomy, names: pa.StringArray, word: str) -> Ints32:
    """Return the nodes that a word names; first the one that an item of the data is found at."""
    called = _equal(tree.labels, word) | _equal(names, word)
    meant = locate(tree, pa.array([word], pa.string())).node
    called[meant[meant >= 0]] = False
    return np.concatenate([meant[meant >= 0], np.flatnonzero(called).astype(np.int32)])


def _equal(texts: pa.StringArray, word: str) -> Bools:
    """Tell which texts are a word, in any case."""
    lowered = pc.utf8_lower(pa.scalar(word))
    return np.array(pc.equal(pc.utf8_lower(texts), lowered), dtype=np.bool_)


def _surroundings(tree: Taxonomy, names: pa.StringArray, node: int) -> dict[str, Any]:
    """Return a node's label, id, way from the root, siblings and children."""
    path = tree.ancestors(np.array([node], dtype=np.int32))  # in pre-order: the root first
    above = int(tree.parent[node])
    siblings = _children(tree, above)
    children = _children(tree, node)
    return {
        "label": tree.labels[node].as_py(),
        "id": _id_of(tree, node),
        "path": names.take(pa.array(path)).to_pylist(),
        "siblings": _some(names, siblings[siblings != node]),
        "siblings_in_all": max(len(siblings) - 1, 0),
        "children": _some(names, children),
        "children_in_all": len(children),
    }


def _children(tree: Taxonomy, node: int) -> Ints32:
    return np.flatnonzero(tree.parent == node).astype(np.int32) if node >= 0 else np.empty(0, dtype=np.int32)


def _some(names: pa.StringArray, nodes: Ints32) -> list[str]:
    some: list[str] = names.take(pa.array(nodes[:MOST_NEIGHBOURS])).to_pylist()
    return some


def _id_of(tree: Taxonomy, node: int) -> str | None:
    """Return the id that a file gives a node, if it does."""
    if not isinstance(tree.find, CategoryFinder):
        return None
    place = pc.index(tree.find.labels, tree.labels[node]).as_py()
    return None if place < 0 else str(tree.find.ids[place].as_py())


def _alike(names: pa.StringArray, word: str) -> list[str]:
    """Return names that contain a word as a whole, then those that are spelled nearly so, then those that it is a part of."""
    contains = pc.match_substring(names, word, ignore_case=True)
    longer = set(names.filter(pc.and_(contains, pa.array(~_equal(names, word)))).to_pylist())
    by_length = sorted(longer, key=lambda name: (len(name), name))
    whole = [name for name in by_length if f" {word.lower()} " in f" {name.lower()} "]
    close = [] if len(whole) >= MOST_ALIKE else _close(names, word)
    return list(dict.fromkeys([*whole, *close, *by_length]))[:MOST_ALIKE]


def _close(names: pa.StringArray, word: str) -> list[str]:
    """Return names that are spelled nearly as a word is."""
    length = pc.utf8_length(names)
    # Twice the letters that two words share, at most twice the shorter, is at least CLOSE of all their letters.
    least, most = len(word) * CLOSE / (2 - CLOSE), len(word) * (2 - CLOSE) / CLOSE
    near = pc.and_(pc.greater_equal(length, least), pc.less_equal(length, most))
    spelled = {name.lower(): name for name in names.filter(near).to_pylist() if name.lower() != word.lower()}
    close = difflib.get_close_matches(word.lower(), sorted(spelled), n=MOST_ALIKE, cutoff=CLOSE)
    return [spelled[name] for name in close]
