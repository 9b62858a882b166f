"""The moved words of a job: what it is given, and what it refuses before its input is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from incrowd.core.promises import takes_moves
from incrowd.errors import BadInputError, option
from incrowd.jobs.settings import Setting
from incrowd.taxonomy import NO_MEANINGS
from incrowd.taxonomy.check import taxonomy_named
from incrowd.taxonomy.moves import Moves, MovesGiven, read_moves
from incrowd.taxonomy.words import named_tree

__all__ = ["check_classes", "given_moves", "moves_for"]


def given_moves(moves: str | os.PathLike[str] | Mapping[str, str] | None) -> MovesGiven | None:
    """Return moved words as a job takes them from Python: a mapping, or the path of a file."""
    return Path(moves) if isinstance(moves, (str, os.PathLike)) else moves


def moves_for(given: MovesGiven, settings: Iterable[Setting], taxonomy: str | None) -> Moves:
    """Read moved words; refuse methods and taxonomies that have no place for them."""
    for setting in settings:
        if not takes_moves(setting.method.name, setting.parameters):
            raise BadInputError(
                f"method {setting.method.name} does not take moved words: drop {option('moves')}"
            )
    if taxonomy is not None and taxonomy.startswith("balanced"):
        raise BadInputError(NO_MEANINGS.format(taxonomy, option("moves"), option("taxonomy", "wordnet")))
    return read_moves(given)


def check_classes(moves: Moves, source: str, unlisted: str | None) -> None:
    """Refuse classes that a taxonomy lacks, and words that cannot be moved; what depends on the input is refused when that is read."""
    if source == "wordnet":
        moves.on(named_tree(), named=unlisted == "name")
    else:
        moves.on(taxonomy_named(source))
