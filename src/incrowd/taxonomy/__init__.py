"""Taxonomies: trees over items, their sources, and how items are attached to their leaves."""

from __future__ import annotations

import re

from incrowd.core.own_files import is_file
from incrowd.core.transactions import Transactions
from incrowd.errors import BadInputError, nearest, option
from incrowd.taxonomy.attach import Attached, Unlisted, attach
from incrowd.taxonomy.moves import Moves
from incrowd.taxonomy.sources import read_taxonomy
from incrowd.taxonomy.sources.balanced import balanced
from incrowd.taxonomy.sources.files import parse_taxonomy
from incrowd.taxonomy.sources.wordnet import wordnet_tree
from incrowd.taxonomy.tree import Taxonomy

__all__ = [
    "NO_MEANINGS",
    "Attached",
    "Taxonomy",
    "Unlisted",
    "attach",
    "balanced",
    "given_tree",
    "open_taxonomy",
    "parse_taxonomy",
    "read_taxonomy",
    "wordnet",
    "wordnet_tree",
]

NO_MEANINGS = "taxonomy {} is made from the items of the data and has no classes to move words below: drop {}, or use {} or a file"


def wordnet(transactions: Transactions | None = None) -> Taxonomy:
    """Return WordNet's noun tree, fitted to the items of `transactions` where they are given; those it lacks have a branch of their own."""
    tree = wordnet_tree()
    return tree if transactions is None else attach(transactions, tree, unlisted="keep").taxonomy


def open_taxonomy(
    source: str,
    transactions: Transactions,
    *,
    unlisted: Unlisted | None = None,
    moves: Moves | None = None,
) -> Attached:
    """Return the data and the taxonomy that the command line names: ``wordnet``, ``balanced:F`` or a file.

    Without `unlisted`, WordNet keeps the words it lacks in a branch of their own and a file refuses them. `moves` are words that hang
    elsewhere; a balanced tree, whose groups mean nothing, takes none.
    """
    kind, _, fan_out = source.partition(":")
    if kind == "balanced":
        if moves is not None:
            raise BadInputError(
                NO_MEANINGS.format(source[:40], option("moves"), option("taxonomy", "wordnet"))
            )
        if not re.fullmatch(r"[0-9]{1,9}", fan_out):
            raise BadInputError(
                f"taxonomy balanced:F needs a whole number F, as in balanced:5 (got '{source:.40}')"
            )
        return attach(transactions, balanced(transactions, int(fan_out)))
    default: Unlisted = "keep" if source == "wordnet" else "refuse"
    return attach(transactions, given_tree(source), unlisted=unlisted or default, moves=moves)


def given_tree(source: str) -> Taxonomy:
    """Return WordNet, or the taxonomy in a file, before any items are attached."""
    if source == "wordnet":
        return wordnet_tree()
    if not is_file(source):
        hint = nearest(source, ["wordnet", "balanced:5"])
        raise BadInputError(
            f"taxonomy must be wordnet, balanced:F or a file that exists (got '{source:.80}'){hint}"
        )
    return read_taxonomy(source)
