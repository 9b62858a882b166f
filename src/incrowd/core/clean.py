"""Cleans texts: no invisible characters, one encoding of each character, so that words that look equal are equal.

Every format passes through here: the rows of logs in :mod:`incrowd.logs.formats.rows`, baskets in :mod:`incrowd.logs.formats.baskets`,
the lines of taxonomies in :mod:`incrowd.taxonomy.sources.files`. The audit refuses labels that were not cleaned.
"""

from __future__ import annotations

import unicodedata

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.types import Bools, Ints32, Ints64

__all__ = ["bytes_of", "clean_ids", "clean_texts", "rows_with"]

# Control characters that separate words; tabs and line ends stay as they are.
_BLANK = r"[\v\f\x{85}]"
# Control and format characters (joiners, soft hyphens, marks of direction, tags), and the others that Unicode calls
# ignorable: fillers, variation selectors, the grapheme joiner; the blank of Braille; and the last two code points, which are no
# characters (one marks kinds: incrowd.core.kinds).
_INVISIBLE = (
    r"[\x{00}-\x{08}\x{0E}-\x{1F}\x{7F}-\x{9F}\p{Cf}\x{34F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{2065}"
    r"\x{2800}\x{3164}\x{FE00}-\x{FE0F}\x{FFA0}\x{FFF0}-\x{FFF8}\x{E0000}-\x{E0FFF}\x{10FFFE}\x{10FFFF}]+"
)
_WITHOUT_A_FRACTION = r"^(-?[0-9]+)\.0+$"
_FIRST, _LAST = ord(" "), ord("~")  # of what is printable


def clean_texts(texts: pa.StringArray) -> pa.StringArray:
    """Return texts in NFC, without control and format characters; nulls stay null.

    Plain ASCII costs one scan of its bytes. Line ends and tabs stay; other control characters that separate words
    become blanks.
    """
    odd = _odd_rows(texts)
    if not odd.any():
        return texts
    mask = pa.array(odd)
    rows = texts.filter(mask)
    visible = pc.replace_substring_regex(pc.replace_substring_regex(rows, _BLANK, " "), _INVISIBLE, "")
    return pc.replace_with_mask(texts, mask, _composed(visible))


def clean_ids(texts: pa.StringArray) -> pa.StringArray:
    """Return the ids of people in clean text without blanks around them; 7.0 is 7.

    A program that has gaps among its whole numbers writes them with a fraction, so parts of one log may differ in it. A person
    under two ids would count twice.
    """
    ids = pc.utf8_trim_whitespace(clean_texts(texts))
    if not pc.any(pc.match_substring(ids, ".0")).as_py():  # much cheaper than the pattern
        return ids
    return pc.replace_substring_regex(ids, _WITHOUT_A_FRACTION, r"\1")


def _composed(texts: pa.StringArray) -> pa.StringArray:
    """Return texts in NFC; most already are, and checking is much cheaper than converting."""
    data = texts.buffers()[2]  # of all texts: if the concatenation is in NFC, each text is
    if data is None or unicodedata.is_normalized("NFC", data.to_pybytes().decode(errors="replace")):
        return texts
    return pc.utf8_normalize(texts, "NFC")


def _odd_rows(texts: pa.StringArray) -> Bools:
    """Mark the rows with anything but printable ASCII, tabs and line ends."""
    rows = np.zeros(len(texts), dtype=np.bool_)
    characters = bytes_of(texts)
    # The least and the largest byte are found many times faster than all the odd ones.
    if characters.min(initial=_FIRST) >= _FIRST and characters.max(initial=_FIRST) <= _LAST:
        return rows
    places = np.flatnonzero((characters < _FIRST) | (characters > _LAST))
    places = places[~np.isin(characters[places], np.frombuffer(b"\t\n\r", np.uint8))]
    rows[rows_with(texts, places)] = True
    return rows


def bytes_of(texts: pa.StringArray) -> npt.NDArray[np.uint8]:
    """Return the concatenated bytes of all texts."""
    data = texts.buffers()[2]
    if data is None or not len(texts):
        return np.empty(0, np.uint8)
    offsets = _offsets(texts)
    return np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]


def rows_with(texts: pa.StringArray, places: Ints64) -> Ints64:
    """Return the rows to which some positions in ``bytes_of(texts)`` belong."""
    if not len(places):
        return np.empty(0, np.int64)
    offsets = _offsets(texts)
    return np.asarray(np.searchsorted(offsets, places + offsets[0], side="right") - 1)


def _offsets(texts: pa.StringArray) -> Ints32:
    return np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
