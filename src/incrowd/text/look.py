"""Where a word that people type is in a taxonomy; of a function word it is said that queries are read without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from incrowd.errors import BadInputError
from incrowd.taxonomy.look import look_up
from incrowd.taxonomy.sources.wordnet import lexicon
from incrowd.text.words import STOP_WORDS

if TYPE_CHECKING:
    from incrowd.taxonomy.moves import Moves
    from incrowd.taxonomy.tree import Taxonomy

__all__ = ["look_up_typed"]


def look_up_typed(tree: Taxonomy, word: str, moves: Moves | None = None) -> dict[str, Any]:
    """Return what :func:`~incrowd.taxonomy.look.look_up` does; of a function word only the noun that it is too (*he* is helium).

    Raises
    ------
    BadInputError
        There is no such node. *The* has none either: nobody's query has it as initials.
    """
    small = " ".join(word.split()).lower()
    if tree.name != "wordnet" or small not in STOP_WORDS:
        return look_up(tree, word, moves)
    if lexicon().lemma_of(small) is None and moves is None:
        raise BadInputError(
            f"'{small}' is a function word: queries that are cut into words are read without it"
        )
    found = look_up(tree, word, moves)
    why = "A function word: queries that are cut into words are read without it."
    return found | {"why": f"{why} {found['why']}"}
