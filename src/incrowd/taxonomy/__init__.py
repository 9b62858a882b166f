"""Trees over items: where they come from, and how the data is placed on them."""

from __future__ import annotations

import re
from pathlib import Path

from incrowd.errors import BadInputError, nearest
from incrowd.taxonomy.balanced import balanced
from incrowd.taxonomy.files import parse_taxonomy
from incrowd.taxonomy.ground import Grounded, Unlisted, ground
from incrowd.taxonomy.sources import read_taxonomy
from incrowd.taxonomy.tree import Taxonomy
from incrowd.taxonomy.wordnet import wordnet_tree
from incrowd.transactions import Transactions

__all__ = [
    "Grounded",
    "Taxonomy",
    "Unlisted",
    "balanced",
    "ground",
    "open_taxonomy",
    "parse_taxonomy",
    "read_taxonomy",
    "wordnet",
    "wordnet_tree",
]


def wordnet(transactions: Transactions | None = None) -> Taxonomy:
    """Return WordNet's noun tree, fitted to the items of `transactions` where they are given."""
    tree = wordnet_tree()
    return tree if transactions is None else ground(transactions, tree, unlisted="keep").taxonomy


def open_taxonomy(source: str, transactions: Transactions, *, unlisted: Unlisted | None = None) -> Grounded:
    """Return the data and the taxonomy that the command line names: ``wordnet``, ``balanced:F`` or a file.

    Without `unlisted`, WordNet keeps the words it lacks in a branch of their own and a file refuses them.
    """
    if source == "wordnet":
        return ground(transactions, wordnet_tree(), unlisted=unlisted or "keep")
    kind, _, fan_out = source.partition(":")
    if kind == "balanced":
        if not re.fullmatch(r"[0-9]{1,9}", fan_out):
            raise BadInputError(
                f"taxonomy balanced:F needs a whole number F, as in balanced:5 (got '{source:.40}')"
            )
        return ground(transactions, balanced(transactions, int(fan_out)))
    if not _is_file(source):
        hint = nearest(source, ["wordnet", "balanced:5"])
        raise BadInputError(
            f"taxonomy must be wordnet, balanced:F or a file that exists (got '{source:.80}'){hint}"
        )
    return ground(transactions, read_taxonomy(source), unlisted=unlisted or "refuse")


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long, or not a name at all
        return False
