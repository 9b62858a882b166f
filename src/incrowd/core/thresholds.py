"""How many people a tile needs beyond k, and what its labels weigh, as the owner says it by kinds of items."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from incrowd.core.kinds import KINDS, MAIN
from incrowd.errors import BadInputError, check_choice

__all__ = [
    "Thresholds",
    "needed",
    "parse_thresholds",
    "parse_weights",
    "spell_thresholds",
    "spell_weights",
    "spelled",
]

Thresholds = Mapping[tuple[str, ...], int]
ALSO_CALLED = {"word": MAIN, "words": MAIN, "query": MAIN, "queries": MAIN, "item": MAIN}
LIGHTEST, HEAVIEST = 0.001, 1_000.0
MOST_DIGITS = 9


def parse_thresholds(text: str) -> dict[tuple[str, ...], int]:
    """Read thresholds such as ``url=10,query+url=25``: people for a kind, or for two kinds in one tile.

    Examples
    --------
    >>> parse_thresholds("place=50,query+url=25")
    {('place',): 50, ('items', 'url'): 25}
    """
    found: dict[tuple[str, ...], int] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        names, number = _pair("thresholds", part, "url=10")
        kinds = tuple(_kind("thresholds", name) for name in names.split("+"))
        if not 1 <= len(set(kinds)) == len(kinds) <= len(("one", "other")):
            raise BadInputError(
                f"thresholds are for one kind or two different ones, as url=10 or query+url=25 (got '{part}')"
            )
        if not (number.isascii() and number.isdigit()) or len(number) > MOST_DIGITS:
            raise BadInputError(f"thresholds takes whole numbers of people, as url=10 (got '{part}')")
        found[tuple(sorted(kinds, key=_place))] = int(number)
    return found


def spell_thresholds(text: str) -> str:
    """Return thresholds in the one way in which a manifest has them."""
    return spelled(parse_thresholds(text))


def spelled(thresholds: Thresholds) -> str:
    """Return thresholds as one text, in the one way in which a manifest has them."""
    found = sorted(thresholds.items(), key=lambda one: [_place(kind) for kind in one[0]])
    return ",".join(f"{'+'.join(kinds)}={people}" for kinds, people in found)


def spell_weights(text: str) -> str:
    """Return weights in the one way in which a manifest has them."""
    found = sorted(parse_weights(text).items(), key=lambda one: _place(one[0]))
    return ",".join(f"{kind}={f'{weight:.6f}'.rstrip('0').rstrip('.')}" for kind, weight in found)


def needed(kinds: Collection[str], k: int, thresholds: Thresholds) -> int:
    """Return how many people must hold a tile with labels of these kinds."""
    return max([k, *(people for some, people in thresholds.items() if all(kind in kinds for kind in some))])


def parse_weights(text: str) -> dict[str, float]:
    """Read weights such as ``url=2,week=0.5``: what a label of a kind counts beside a word, which counts 1."""
    found: dict[str, float] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, number = _pair("weights", part, "url=2")
        try:
            weight = float(number)
        except ValueError:
            weight = -1.0
        if not LIGHTEST <= weight <= HEAVIEST:
            raise BadInputError(
                f"weights takes numbers from {LIGHTEST:g} to {HEAVIEST:g}, as url=2 (got '{part}')"
            )
        found[_kind("weights", name)] = weight
    return found


def _pair(option: str, part: str, example: str) -> tuple[str, str]:
    name, sign, number = (piece.strip() for piece in part.partition("="))
    if not sign:
        raise BadInputError(f"{option} takes KIND=NUMBER, as {example} (got '{part}')")
    return name, number


def _kind(option: str, name: str) -> str:
    name = name.strip()
    return check_choice(f"a kind of {option}", ALSO_CALLED.get(name, name), (MAIN, *KINDS))


def _place(kind: str) -> int:
    return [MAIN, *KINDS].index(kind)
