"""Known words that are one typing error away from a word, many words at a time.

An error is a letter too many, one too few, another one, or two neighbours exchanged; the first letter is as it should be.
Two words that are one error apart are equal after one letter is taken out of one of them, or one out of each. So all words with
a letter taken out are compared by hashes, and what is found is looked at letter by letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.clean import bytes_of
from incrowd.core.ragged import distinct, starts_of
from incrowd.core.types import Ints64

__all__ = ["Spelling", "are_one_error_apart"]

LONGEST = 24
_AT_ONCE = 50_000
_BASE = 0x9E3779B97F4A7C15  # odd: it has an inverse modulo 2^64
_INVERSE = np.uint64(pow(_BASE, -1, 2**64))
_POWERS = np.array([pow(_BASE, place, 2**64) for place in range(LONGEST)], dtype=np.uint64)
_LETTERS = np.random.default_rng(0).integers(0, 2**63, 256).astype(np.uint64)  # any fixed numbers do

Hashes = npt.NDArray[np.uint64]


def are_one_error_apart(one: str, other: str) -> bool:
    """Tell whether two different words with the same first letter are one typing error apart."""
    if one == other or one[:1] != other[:1]:
        return False
    first = next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    left, right = one[first:], other[first:]
    exchanged = len(left) > 1 and left[:2] == right[1::-1] and left[2:] == right[2:]
    return left[1:] == right or left == right[1:] or left[1:] == right[1:] or exchanged


@dataclass(frozen=True, eq=False)
class Spelling:
    """Known words, with the hashes of what they are with one letter taken out.

    Parameters
    ----------
    words
        Of small ASCII letters.
    hashes, owner
        Ascending, and the word (its place) that each is of.
    """

    words: pa.StringArray
    hashes: Hashes
    owner: Ints64

    @classmethod
    def of(cls, words: pa.StringArray) -> Spelling:
        """Prepare known words."""
        known = words.filter(pc.less_equal(pc.binary_length(words), LONGEST))
        hashes, owner = _hashes(known)
        order = np.argsort(hashes)
        return cls(known, hashes[order], owner[order])

    def near(self, words: Sequence[str]) -> dict[str, list[str]]:
        """Return the known words that are one error away from each word, sorted; words without any are not there."""
        found: dict[str, set[str]] = {}
        short = [word for word in words if len(word) <= LONGEST]
        for first in range(0, len(short), _AT_ONCE):
            some = short[first : first + _AT_ONCE]
            place, candidates = self._alike(some)
            for word, candidate in zip(place.tolist(), candidates.to_pylist(), strict=True):
                if are_one_error_apart(some[word], candidate):
                    found.setdefault(some[word], set()).add(candidate)
        return {word: sorted(near) for word, near in found.items()}

    def _alike(self, words: Sequence[str]) -> tuple[Ints64, pa.StringArray]:
        """Return the words that share a hash with known ones, and these: all that can be one error apart, and a few more."""
        hashes, word = _hashes(pa.array(words, pa.string()))
        low, high = (np.searchsorted(self.hashes, hashes, side=side) for side in ("left", "right"))
        times = high - low
        at = np.arange(times.sum()) + np.repeat(low - starts_of(times)[:-1], times)
        pairs = distinct(np.repeat(word, times) * max(len(self.words), 1) + self.owner[at])
        place, known = np.divmod(pairs, max(len(self.words), 1))
        return place, self.words.take(pa.array(known))


def _hashes(words: pa.StringArray) -> tuple[Hashes, Ints64]:
    """Return a hash of each word, and of it without each of its letters but the first; and the word that each is of."""
    lengths = np.array(pc.binary_length(words), dtype=np.int64)
    starts, letters = starts_of(lengths), bytes_of(words)
    hashes, owner = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for length in range(1, int(lengths.max(initial=0)) + 1):
        alike = np.flatnonzero(lengths == length)
        terms = _LETTERS[letters[starts[alike][:, None] + np.arange(length)]] * _POWERS[:length]
        until = np.cumsum(terms, axis=1, dtype=np.uint64)  # each letter and all before it; wraps around
        whole = until[:, -1:]
        without = until - terms + (whole - until) * _INVERSE
        without[:, :1] = whole
        hashes.append(without.ravel())
        owner.append(np.repeat(alike, length))
    return np.concatenate(hashes), np.concatenate(owner)
