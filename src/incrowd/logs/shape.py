"""The shape of a line: what it looks like, without what it says."""

from __future__ import annotations

import re

__all__ = ["shape_of"]

_LONGEST_RUN = 4
_LONGEST_SHAPE = 60
_RUN = re.compile(r"(?P<sign>[aA9])(?P=sign)+| {2,}")


def shape_of(line: str) -> str:
    r"""Return a line with every letter as ``a`` or ``A``, every digit as ``9``, and long runs cut short.

    Blanks and ASCII punctuation stay, a tab is shown as ``\t``, and anything else becomes ``?``.

    Examples
    --------
    >>> shape_of("bob7|cats dog|2020-01-31")
    'aaa9|aaaa aaa|9999-99-99'
    """
    signs = "".join(map(_sign, line.strip("\r\n")))
    shape = _RUN.sub(lambda run: run.group()[: _LONGEST_RUN if run["sign"] else 1], signs).replace(
        "\t", "\\t"
    )
    return shape if len(shape) <= _LONGEST_SHAPE else shape[:_LONGEST_SHAPE] + "..."


def _sign(character: str) -> str:
    if character.isalpha():
        return "A" if character.isupper() else "a"
    if character.isdecimal():
        return "9"
    return character if character == "\t" or (character.isascii() and character.isprintable()) else "?"
