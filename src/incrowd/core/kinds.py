"""Items of other kinds than words or queries: clicked and shown addresses, times, places, devices, languages.

Inside the program an item of a kind is a text that names its kind; in files each kind has columns of its own. No text of a log can
look like one: :mod:`incrowd.core.clean` removes both marks. Such texts come after all others in the order of code points.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.types import Bools
from incrowd.errors import BadInputError, check_choice, option

__all__ = [
    "KINDS",
    "MAIN",
    "SEPARATOR",
    "Kind",
    "are_typed",
    "kind_of",
    "parse_kinds",
    "plain_texts",
    "text_of",
    "typed",
    "typed_texts",
]

MARK, SEPARATOR = "\U0010ffff", "\x1f"
MAIN = "items"
"""The name of the kind that ``--items`` chooses: words, queries, or the items of baskets."""


class Kind(NamedTuple):
    """A kind of items.

    Parameters
    ----------
    what
        What its items are, for people.
    role
        The column that it takes; see :mod:`incrowd.logs.formats.columns`.
    is_context
        Whether it says when, where or with what something was typed, and not what: then it is worth keeping with the words even if
        they do not go together more often than by chance.
    weight
        What it counts beside a word, unless the owner says otherwise, where tiles are joined.
    """

    what: str
    role: str
    is_context: bool = True
    weight: float = 0.5


KINDS: Mapping[str, Kind] = {
    "url": Kind("clicked addresses", "url", is_context=False, weight=1.0),
    "shown": Kind("shown addresses with their ranks", "shown", is_context=False),
    "hour": Kind("hours of the day", "time"),
    "day": Kind("days", "time"),
    "week": Kind("weeks", "time"),
    "month": Kind("months", "time"),
    "place": Kind("places", "place"),
    "device": Kind("devices", "device"),
    "language": Kind("languages", "language"),
}
NESTED = ("day", "week", "month")


def typed(kind: str, text: str) -> str:
    """Return an item of a kind as one text."""
    return f"{MARK}{kind}{SEPARATOR}{text}"


def kind_of(text: str) -> str | None:
    """Return the kind of an item; None for words, queries and the items of baskets.

    Examples
    --------
    >>> kind_of(typed("week", "2006-W12")), kind_of("floors")
    ('week', None)
    """
    name, separator, _ = text.partition(SEPARATOR)
    return name.removeprefix(MARK) if separator else None


def text_of(text: str) -> str:
    """Return an item without its kind.

    Examples
    --------
    >>> text_of(typed("week", "2006-W12")), text_of("floors")
    ('2006-W12', 'floors')
    """
    return text.rpartition(SEPARATOR)[2]


def typed_texts(kind: str, texts: pa.Array) -> pa.Array:
    """Return items of one kind, each as one text."""
    return pc.binary_join_element_wise(typed(kind, ""), texts.cast(pa.string()), "")


def plain_texts(texts: pa.Array) -> pa.Array:
    """Return items without their kinds."""
    return pc.replace_substring_regex(texts, f"^[^{SEPARATOR}]*{SEPARATOR}", "")


def are_typed(texts: pa.Array) -> Bools:
    """Tell which of some items are of another kind than words."""
    return np.array(pc.match_substring(texts, SEPARATOR), dtype=np.bool_)


def parse_kinds(said: str | Iterable[str] | None) -> tuple[str, ...]:
    """Read a list such as ``url,week,place``; each once, in the order of `KINDS`."""
    parts = said.split(",") if isinstance(said, str) else list(said or ())
    chosen = [check_choice("kinds", part.strip(), KINDS) for part in parts if part.strip()]
    twice = next((name for name in chosen if chosen.count(name) > 1), None)
    if twice is not None:
        raise BadInputError(f"{option('kinds')} names {twice} twice: name each kind once")
    nested = [name for name in NESTED if name in chosen]
    if len(nested) > 1:
        raise BadInputError(
            f"{option('kinds')} names {' and '.join(nested)}, of which each is part of the other: the difference of their counts would disclose what few people have; name one"
        )
    return tuple(name for name in KINDS if name in chosen)
