"""Numbers and codes among words: what is published of each, and the node that it hangs under.

Telephone numbers, postal codes, street addresses, numbers that identify a person, dates, long numbers and long codes are published as their kind only.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Number", "parse_identity", "parse_number"]

FIRST_YEAR, LAST_YEAR = 1500, 2099
LONG_NUMBER, CODE = "long number", "code of letters and digits"
MOST_DIGITS = 3  # of a number or a code that is published itself
LONGEST_CODE = 6
TELEPHONE_DIGITS = frozenset([7, 10, 11])
POSTAL_DIGITS = 5
SHORTEST_IDENTITY = 8
_OF_PERSON = ("identification number", "a number that identifies a person")
_DATE = re.compile(r"\d{1,2}([/.-])\d{1,2}\1(?:\d{2}|\d{4})|\d{4}([/.-])\d{1,2}\2\d{1,2}")
_SOCIAL_SECURITY = re.compile(r"\d{3}-\d{2}-\d{4}")
_INTERNET = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?")
_TELEPHONE = re.compile(r"\+?(?:\d{1,3}[-./ ]?)?\(?\d{3}\)?[-./ ]?\d{3}[-. ]\d{4}|\d{3}[-. ]\d{4}|\+\d{7,}")
_FREE_CALL = re.compile(r"(?:1-?)?8\d\d-(?=[0-9-]*[a-z])[a-z0-9-]+")
_POSTAL = re.compile(r"\d{5}-\d{4}|[a-z]\d[a-z]-?\d[a-z]\d|[a-z]{1,2}\d[a-z\d]?-?\d[a-z]{2}")
_STREETS = "street|st|avenue|ave|road|rd|lane|ln|boulevard|blvd|drive|dr|court|ct"
_STREET_ADDRESS = re.compile(
    rf"\d{{1,5}}[a-z]?(?:[ ._-]+[a-z]+){{1,3}}[ ._-]+(?:{_STREETS})|\d{{1,5}}[a-z]{{3,}}(?:street|avenue|road|lane|boulevard)"
)
_YEAR = re.compile(r"(\d{3})(\d)((?<=0)'?s)?")
_ORDINAL = re.compile(r"\d{0,2}(?:1st|2nd|3rd|\dth)")
_PRICE = re.compile(r"(?:us)?[$£€¥]\d[\d,]*(?:\.\d+)?[km]?")
_SMALL = re.compile(r"\d{1,3}")
_DECIMAL = re.compile(r"\d{1,3}\.\d{1,2}")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_CODE = re.compile(r"[a-z0-9](?:[a-z0-9./&+_-]*[a-z0-9+])?")


class Number(NamedTuple):
    """The kind of a number, what is published in its place, the label of the node that it hangs under, and what it was taken for."""

    kind: str
    item: str
    parent: str
    why: str


def parse_number(word: str) -> Number | None:
    """Return what a word with digits is; None if it has none, or is something else."""
    if not any("0" <= c <= "9" for c in word):
        return None
    return parse_identity(word) or _plain(word) or _code(word)


def _kind_only(node: str, why: str, kind: str = "private number") -> Number:
    return Number(kind, node, node, f"{why}: published as its kind only")


def parse_identity(word: str) -> Number | None:
    """Return what identifies a person, a household or a day; None if a word, or a text of several, does not."""
    digits = sum("0" <= c <= "9" for c in word)
    all_digits = digits == len(word)
    if _SOCIAL_SECURITY.fullmatch(word) or _INTERNET.fullmatch(word):
        return _kind_only(*_OF_PERSON)
    if _DATE.fullmatch(word):
        return _kind_only("date", "a date")
    if (
        _TELEPHONE.fullmatch(word)
        or _FREE_CALL.fullmatch(word)
        or (all_digits and digits in TELEPHONE_DIGITS)
    ):
        return _kind_only("phone number", "like a telephone number")
    if _POSTAL.fullmatch(word) or (all_digits and digits == POSTAL_DIGITS):
        return _kind_only("zip code", "like a postal code")
    if _STREET_ADDRESS.fullmatch(word):
        return _kind_only("street address", "like a street address")
    return _kind_only(*_OF_PERSON) if digits >= SHORTEST_IDENTITY else None


def _plain(word: str) -> Number | None:
    """Return a year, a price, an ordinal, a small or a long number."""
    digits = sum("0" <= c <= "9" for c in word)
    if year := _year(word):
        return year
    if _PRICE.fullmatch(word):
        price = Number("price", word, "monetary value", "a price")
        small = digits <= MOST_DIGITS + 1
        return price if small else _kind_only("monetary value", "a high or exact price", "price")
    for pattern, node in ((_ORDINAL, "ordinal number"), (_DECIMAL, "number (sense 2)"), (_SMALL, "integer")):
        if pattern.fullmatch(word):
            return Number("number", word, node, "a small number")
    if digits == len(word) or _THOUSANDS.fullmatch(word):
        return _kind_only(LONG_NUMBER, "a long number", "number")
    return None


def _year(word: str) -> Number | None:
    """Return a year or a decade from 1500 to 2099."""
    found = _YEAR.fullmatch(word)
    if not found or not FIRST_YEAR <= (year := int(found[1] + found[2])) <= LAST_YEAR:
        return None
    return Number(
        "year", f"{year}s" if found[3] else word, _decade(year), "a decade" if found[3] else "a year"
    )


def _decade(year: int) -> str:
    return f"years {year // 10 * 10} to {year // 10 * 10 + 9}"


def _code(word: str) -> Number:
    """Return letters and digits, or digits and signs: short ones as they are."""
    digits = sum("0" <= c <= "9" for c in word)
    short = len(word) <= LONGEST_CODE and digits <= MOST_DIGITS
    if short and _CODE.fullmatch(word):
        return Number("code", word, CODE, "letters and digits")
    if any(c.isalpha() for c in word):
        return _kind_only(CODE, "a long code", "code")
    return _kind_only(LONG_NUMBER, "a long number", "number")
