"""Words that the owner of the data hangs below other classes than the taxonomy has them.

A move changes where a word's own leaf hangs, and nothing else: classes stay where they are, and so do other words. What is published
of a word is then the class below which it was moved, or one above that.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.clean import clean_texts
from incrowd.core.own_files import read_own
from incrowd.core.types import Ints32, Ints64
from incrowd.errors import BadInputError, option
from incrowd.taxonomy.look import class_named
from incrowd.taxonomy.tree import Taxonomy, positions
from incrowd.taxonomy.words import published_as

__all__ = ["Moves", "MovesGiven", "PlacedMoves", "check_move", "cleaned", "read_moves"]

LARGEST_FILE = 4 << 20
MOST = 10_000
COMMENT = "#"
HOW = "write a word, a tab and the class that it hangs below, a word a line"

MovesGiven = Path | Mapping[str, str]
"""A file of lines ``word TAB class``, or the same in Python."""


class Move(NamedTuple):
    """A move as it was given: where, the word, and the name of the class."""

    place: str
    word: str
    name: str


class PlacedMoves(NamedTuple):
    """Moved words, and the node below which each hangs."""

    words: pa.StringArray
    node: Ints32

    def below(self, items: pa.Array) -> Ints32:
        """Return the node below which each item was moved, in any case of its letters if there is no other move; -1: it was not."""
        place = positions(items, self.words)
        place = np.where(place >= 0, place, positions(items, self.words, any_case=True))
        return np.where(place >= 0, self.node[place], -1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Moves:
    """Words and the classes below which they hang. Its text says how many there are, and not which.

    Parameters
    ----------
    words, classes
        The words, each once, and the names of their classes.
    places
        Where each move was given, as errors say it.
    digest
        A hash by which the list is known again.
    """

    words: tuple[str, ...]
    classes: tuple[str, ...]
    places: tuple[str, ...]
    digest: str

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"Moves({len(self):,} words)"

    def on(self, tree: Taxonomy, *, named: bool = False) -> PlacedMoves:
        """Find the classes in a tree.

        Parameters
        ----------
        tree
            The tree, to which no items are attached.
        named
            Whether words that WordNet lacks are published as :mod:`incrowd.taxonomy.words` says: a word that is another one then, or
            its kind only, cannot be moved.

        Raises
        ------
        BadInputError
            A class is none, or names several nodes, or a word cannot be moved; the message says where it was given, and not the word.
        """
        if tree.items is not None:
            raise BadInputError(
                f"{option('moves')} needs a taxonomy that is not fitted to data: give {option('taxonomy', 'wordnet')} or a file"
            )
        words = pa.array(self.words, pa.string())
        if named and len(others := _not_themselves(words)):
            raise BadInputError(f"{self.places[int(others[0])]}: {_said_of_others()}")
        node = positions(pa.array(self.classes, pa.string()), tree.labels).copy()
        found: dict[str, int] = {}
        for at in np.flatnonzero(node < 0).tolist():
            name = self.classes[at]
            found[name] = node[at] = found[name] if name in found else _class_at(tree, name, self.places[at])
        return PlacedMoves(words, node)


def read_moves(given: MovesGiven) -> Moves:
    """Read moves: lines ``word TAB class`` in UTF-8, of which empty ones and those that begin with # do not count, or a mapping.

    A later line about the same word wins.

    Raises
    ------
    BadInputError
        It is no such file; the message has the line's number and not what it says.
    """
    if isinstance(given, Path):
        source = f"moves {given}"
        data = read_own(given, name="moves", kind="a list of moved words", remedy=HOW, largest=LARGEST_FILE)
        return _moves_of(list(_lines_in(data, source)), source, data)
    if not isinstance(given, Mapping):
        raise BadInputError(
            f"moves must be a file, or a mapping of words to classes (got {type(given).__name__})"
        )
    moves = [Move(f"moves, entry {number:,}", *pair) for number, pair in enumerate(given.items(), 1)]
    if not all(isinstance(text, str) for move in moves for text in move):
        raise BadInputError("moves must be a mapping of words to classes, both of them texts")
    said = "".join(f"{move.word}\t{move.name}\n" for move in moves)
    return _moves_of(moves, "moves", said.encode("utf-8", "replace"))


def check_move(tree: Taxonomy, word: str, name: str, *, named: bool = False) -> None:
    """Refuse a single move that a list must not have; the parameters are those of :meth:`Moves.on`."""
    if not cleaned(word) or not cleaned(name):
        raise BadInputError("a move needs a word and a class: say both")
    if word.startswith(COMMENT):
        raise BadInputError(f"a word that begins with {COMMENT} cannot be moved: such lines are comments")
    class_named(tree, cleaned(name))
    if named and len(_not_themselves(pa.array([cleaned(word)], pa.string()))):
        raise BadInputError(_said_of_others())


def cleaned(text: str) -> str:
    """Return a text as items and classes are spelt: without invisible characters and needless blanks."""
    (visible,) = clean_texts(pa.array([text], pa.string())).to_pylist()
    return " ".join(str(visible).split())


def _moves_of(given: Sequence[Move], source: str, data: bytes) -> Moves:
    """Return the last move of each word."""
    if not given:
        raise BadInputError(f"{source} has no move: {HOW}, or give none")
    if len(given) > MOST:
        raise BadInputError(
            f"{source} has {len(given):,} moves, and {MOST:,} are the most: give a taxonomy file of your own"
        )
    last: dict[str, Move] = {}
    for move in given:
        word, name = cleaned(move.word), cleaned(move.name)
        if not word or not name:
            raise BadInputError(f"{move.place} lacks the word or the class: {HOW}")
        last[word] = Move(move.place, word, name)
    places, words, classes = zip(*last.values(), strict=True)
    return Moves(words, classes, places, hashlib.sha256(data).hexdigest())


def _lines_in(data: bytes, source: str) -> Iterator[Move]:
    """Yield the moves in a file."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = data.count(b"\n", 0, error.start) + 1
        raise BadInputError(f"{source} line {at:,} is not UTF-8: save the file as UTF-8") from None
    # Other characters that may end a line are part of a word.
    for number, line in enumerate(re.split("\r\n|\r|\n", text), 1):
        place = f"{source} line {number:,}"
        if not line.strip() or line.startswith(COMMENT):
            continue
        word, tab, name = line.partition("\t")
        if not tab or "\t" in name:
            raise BadInputError(f"{place} has {'several tabs' if tab else 'no tab'}: {HOW}")
        yield Move(place, word, name)


def _class_at(tree: Taxonomy, name: str, place: str) -> int:
    try:
        return class_named(tree, name)
    except BadInputError as error:
        raise BadInputError(f"{place}: {error}") from None


def _not_themselves(words: pa.StringArray) -> Ints64:
    """Return which words are published as another one, or as their kind only."""
    return np.flatnonzero(pc.not_equal(published_as(words), words))


def _said_of_others() -> str:
    return f"with {option('unlisted', 'name')} that word is published as another one, or as its kind only: drop it, or use {option('unlisted', 'keep')}"
