"""Lists of whole numbers, one after the other, in an array with room for more; for kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints32
from incrowd.kernels.jit import helper

__all__ = ["Pile", "added", "empty_pile", "with_room"]


class Pile(NamedTuple):
    """An array, and how much of it is used."""

    value: Ints32
    used: int


@helper
def empty_pile(room: int) -> Pile:
    """Return a pile with nothing on it."""
    return Pile(np.empty(room, np.int32), 0)


@helper
def with_room(pile: Pile, more: int) -> Pile:
    """Return a pile with so much more on it, yet to be written; it may be a larger one."""
    value, used = pile.value, pile.used + more
    if used > len(value):
        value = np.empty(max(used, 2 * len(value)), np.int32)
        value[: pile.used] = pile.value[: pile.used]
    return Pile(value, used)


@helper
def added(pile: Pile, more: Ints32) -> Pile:
    """Put a list on a pile; return the pile, which may be a larger one."""
    larger = with_room(pile, len(more))
    larger.value[pile.used : larger.used] = more
    return larger
