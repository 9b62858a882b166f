"""Numbers and addresses that people write in several words: joined before a query is split, they are known for what they are.

``555 123 4567`` would be three small numbers and ``12 elm street`` three words, each of which may be published. As one word, both are published as their
kind only (:mod:`incrowd.taxonomy.words`).
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["join_private"]

FEWEST_DIGITS = 7
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_GROUPS = r"(?:^|[ :#])[+(]*[0-9][0-9().+/-]*(?: [(]?[0-9][0-9().+/-]*)+"
_POSTAL = r"\b[a-z]{1,2}[0-9][a-z0-9]? [0-9][a-z]{2}\b|\b[a-z][0-9][a-z] [0-9][a-z][0-9]\b"
_STREET = (
    r"(?:^|[ ,])(?:[0-9]{1,5}[a-z]?(?: [a-z.]+){1,2} (?:street|avenue|ave|lane|boulevard|blvd)"
    r"|[0-9]{3,5}[a-z]?(?: [a-z.]+){1,2} (?:road|rd|drive|court|ln)"
    r"|[0-9]{1,5}[a-z]?(?: [a-z.]+){1,2} (?:st|rd|ln|dr|ct)(?:[.,]|$))"
)
_ORDINAL = re.compile(r"\d(?:st|nd|rd|th)$")


def join_private(texts: pa.StringArray) -> pa.StringArray:
    """Join the words of telephone numbers, other long numbers in groups, postal codes and street addresses in normalised texts; nulls stay null."""
    with_digit = _matching(texts, "[0-9]")  # few have one, and nothing else is looked for
    some = texts.filter(with_digit)
    for pattern, join in ((_STREET, _joined), (_GROUPS, _number), (_POSTAL, _postal)):
        rows = _matching(some, pattern)
        changed = [re.sub(pattern, join, text) for text in some.filter(rows).to_pylist()]
        some = pc.replace_with_mask(some, rows, pa.array(changed, pa.string()))
    return pc.replace_with_mask(texts, with_digit, some)


def _matching(texts: pa.StringArray, pattern: str) -> pa.BooleanArray:
    return pc.fill_null(pc.match_substring_regex(texts, pattern), fill_value=False)


def _joined(found: re.Match[str]) -> str:
    before = found[0][0] if found[0][0] in " ,:#" else ""
    return before + found[0][len(before) :].replace(" ", "-")


def _number(found: re.Match[str]) -> str:
    """Join groups of digits, unless they are few, or all of them years."""
    groups = re.findall("[0-9]+", found[0])
    lengths = [len(group) for group in groups]
    is_long = sum(lengths) >= FEWEST_DIGITS and (len(groups) > 2 or lengths == [3, 4])  # noqa: PLR2004
    if not is_long or all(map(_YEAR.fullmatch, groups)):
        return found[0]
    return (found[0][0] if found[0][0] in " :#" else "") + "-".join(groups)


def _postal(found: re.Match[str]) -> str:
    return found[0] if _ORDINAL.search(found[0]) else found[0].replace(" ", "")
