"""Reports the shape and the problems of a taxonomy before it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from incrowd.core.own_files import is_file
from incrowd.errors import BadInputError, nearest
from incrowd.taxonomy.moves import Moves
from incrowd.taxonomy.sources import parse_file, read_taxonomy
from incrowd.taxonomy.sources.parsed import ProblemKind, kinds_of
from incrowd.taxonomy.sources.wordnet import wordnet_tree
from incrowd.taxonomy.tree import Taxonomy
from incrowd.taxonomy.words import named_tree

__all__ = ["check_file", "shape_of", "taxonomy_named"]


def taxonomy_named(source: str) -> Taxonomy:
    """Return WordNet or the taxonomy in a file."""
    if source == "wordnet":
        return wordnet_tree()
    return read_taxonomy(_existing(source))


def shape_of(tree: Taxonomy, moves: Moves | None = None) -> dict[str, Any]:
    """Return nodes, leaves, levels and the widest node of a tree, and how many words hang elsewhere than it has them."""
    families = np.diff(tree.child_start)
    widest = int(families.argmax())
    return {
        "taxonomy": tree.name,
        "nodes": len(tree),
        "leaves": tree.leaf_count,
        "inner_nodes": len(tree) - tree.leaf_count,
        "levels": tree.height,
        "root": tree.labels[0].as_py(),
        "widest_node": tree.labels[widest].as_py(),
        "children_of_widest": int(families[widest]),
        "single_children": int(np.count_nonzero(families == 1)),
        "nodes_by_level": np.bincount(tree.level)[1:].tolist(),
        **({} if moves is None else {"moved_words": len(moves.on(_with_words(tree)).words)}),
    }


def _with_words(tree: Taxonomy) -> Taxonomy:
    """Return WordNet's tree with the classes of words that it lacks, below which words may be moved too."""
    return named_tree() if tree.name == "wordnet" else tree


def check_file(source: str) -> dict[str, Any]:
    """Return the problems of a taxonomy file by kind, each with its first lines, and its shape if it has none."""
    if source == "wordnet":
        return {"taxonomy": source, "problems": [], "shape": shape_of(wordnet_tree())}
    parsed = parse_file(_existing(source))
    shape = None if parsed.problems else shape_of(parsed.tree())
    return {
        "taxonomy": parsed.path.name,
        "form": parsed.form,
        "problems": [_spelled(kind) for kind in kinds_of(parsed.problems)],
        "shape": shape,
    }


def _spelled(kind: ProblemKind) -> dict[str, Any]:
    """Return the problems of one kind; a problem of the whole file has no lines."""
    return {
        "problem": kind.kind,
        "count": kind.times,
        "lines": [problem.line for problem in kind.first if problem.line],
        "in_words": str(kind),
    }


def _existing(source: str) -> Path:
    if not is_file(source):
        raise BadInputError(f"taxonomy file '{source}' does not exist{nearest(source, ['wordnet'])}")
    return Path(source)
