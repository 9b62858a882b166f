"""Misspelled terms, as people type them."""

from __future__ import annotations

__all__ = ["misspelled"]

LIKE = dict(zip("aeiouyscktdmnbpvfgjlrz", "eaeuoizkcdtnmpbfvjgrls", strict=True))
LEFT_OUT, DOUBLED, EXCHANGED = range(3)


def misspelled(text: str, place: int, way: int) -> str:
    """Return a term with a letter left out, doubled, exchanged with the next, or replaced by a like one.

    Parameters
    ----------
    text
        A term.
    place
        Any number: which letter; never the first one, nor a blank.
    way
        What is done to it, as a number below four.
    """
    place = 1 + place % max(1, len(text) - 2)
    place += text[place : place + 1] == " "
    before, letter, after = text[:place], text[place : place + 1], text[place + 1 :]
    if way == LEFT_OUT:
        return before + after
    if way == DOUBLED:
        return before + letter + letter + after
    if way == EXCHANGED and after[:1] != " ":
        return before + after[:1] + letter + after[1:]
    return before + LIKE.get(letter, letter) + after
