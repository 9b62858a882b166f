"""The words that a publisher never publishes: a list that is read once, and that no error, log or release quotes.

A word of the list is looked for as a word: between characters that are neither letters nor digits, or the ends of a text. So "hiv" is found
in "hiv/aids", in "hiv-test" and in ``http://hiv.example/``, and not in "archive". Scripts that are written without blanks have no such ends: there, and
where a line of the list has neither letters nor digits, it is found anywhere.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.own_files import read_own
from incrowd.core.types import Bools
from incrowd.errors import BadInputError
from incrowd.text.words import normalise, split_terms

__all__ = ["NeverList", "read_never"]

LARGEST_FILE = 64 << 20
COMMENT = "#"
_BETWEEN = r"[^\p{L}\p{N}\p{M}]+"
_WITHOUT_BLANKS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fff\u3005\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_AT_ONCE = 200  # alternatives in one pattern


@dataclass(frozen=True, eq=False)
class NeverList:
    """Words never to publish, as they are compared. Its text says how many there are, and not which.

    Parameters
    ----------
    words
        Those of letters and digits alone.
    phrases
        Those with other characters inside, as pieces between blanks: "o'brien" is "o brien".
    anywhere
        Those that are found anywhere.
    digest
        A hash of the file, by which it is known again.
    """

    words: tuple[str, ...]
    phrases: tuple[str, ...]
    anywhere: tuple[str, ...]
    digest: str

    def __len__(self) -> int:
        return len(self.words) + len(self.phrases) + len(self.anywhere)

    def __repr__(self) -> str:
        return f"NeverList({len(self):,} words)"

    def found_in(self, texts: pa.Array) -> Bools:
        """Tell which texts (words, queries, addresses, names of classes) hold a word of the list; a null holds none."""
        plain = normalise(_decoded(pc.fill_null(texts, "")))
        pieces = pc.replace_substring_regex(plain, _BETWEEN, " ")
        found = _lists_with(pc.split_pattern(pieces, " "), self.words)
        spaced = pc.binary_join_element_wise("", pieces, "", " ")
        for patterns, where in ((tuple(f" {one} " for one in self.phrases), spaced), (self.anywhere, plain)):
            for pattern in _alternatives(patterns):
                found |= np.array(pc.match_substring_regex(where, pattern), dtype=np.bool_)
        return found


def read_never(path: Path) -> NeverList:
    """Read a list: a word a line, in UTF-8; empty lines and those that begin with # do not count.

    Raises
    ------
    BadInputError
        It is no such file, or a line holds no word, or several; the message has the line's number and not what it says.
    """
    data = read_own(
        path,
        name="never",
        kind="a list of words",
        remedy="give a file with a word a line",
        largest=LARGEST_FILE,
    )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInputError(f"never {path} is not UTF-8: save it as UTF-8, a word a line") from None
    numbered = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in numbered if line and not line.startswith(COMMENT)]
    if not lines:
        raise BadInputError(f"never {path} holds no word: give a file with a word a line, or none")
    plain = normalise(pa.array([line for _, line in lines], pa.string()))
    for (number, _), words in zip(lines, split_terms(plain).to_pylist(), strict=True):
        if len(words) > 1:
            raise BadInputError(f"never {path} line {number:,} holds several words: give one word a line")
    pieces = [" ".join(one.split()) for one in pc.replace_substring_regex(plain, _BETWEEN, " ").to_pylist()]
    return _sorted_out(plain.to_pylist(), pieces, hashlib.sha256(data).hexdigest())


def _sorted_out(plain: list[str], pieces: list[str], digest: str) -> NeverList:
    """Put each word where it is compared as it must be."""
    words: set[str] = set()
    phrases: set[str] = set()
    anywhere: set[str] = set()
    for text, cut in zip(plain, pieces, strict=True):
        if not cut or _WITHOUT_BLANKS.search(text):
            anywhere.add(text)
        else:
            (phrases if " " in cut else words).add(cut)
    return NeverList(tuple(sorted(words)), tuple(sorted(phrases)), tuple(sorted(anywhere)), digest)


def _decoded(texts: pa.Array) -> pa.Array:
    """Return texts with what addresses spell as %C3%A9 as the letters that it stands for."""
    coded = pc.match_substring(texts, "%")
    if not pc.any(coded).as_py():
        return texts
    return pc.replace_with_mask(
        texts, coded, pa.array([unquote(one) for one in texts.filter(coded).to_pylist()], pa.string())
    )


def _lists_with(lists: pa.ListArray, words: tuple[str, ...]) -> Bools:
    """Tell which lists hold one of some words."""
    held = np.array(pc.is_in(lists.flatten(), value_set=pa.array(words, pa.string())), dtype=np.bool_)
    before = np.concatenate(([0], np.cumsum(held)))
    ends = np.cumsum(np.array(pc.list_value_length(lists), dtype=np.int64))
    return np.diff(before[np.concatenate(([0], ends))]) > 0


def _alternatives(texts: tuple[str, ...]) -> Iterator[str]:
    """Yield patterns that match where any of some texts is."""
    for first in range(0, len(texts), _AT_ONCE):
        yield "|".join(f"(?:{re.escape(one)})" for one in texts[first : first + _AT_ONCE])
