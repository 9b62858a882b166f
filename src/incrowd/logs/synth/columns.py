"""The columns that a made-up log may have beside those of AOL's format: place, device, language, and what was shown.

Each has random numbers of its own, so that it is the same whichever others are chosen.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.core.types import Ints64
from incrowd.errors import check_choice, option
from incrowd.logs.synth.draws import some, stream
from incrowd.logs.synth.events import DAY_SECONDS, DAYS
from incrowd.logs.synth.homes import Homes
from incrowd.logs.synth.results import Shown
from incrowd.logs.synth.terms import Terms
from incrowd.logs.synth.traits import DEVICES, LANGUAGES, draw_devices, draw_languages

__all__ = ["COLUMNS", "Field", "Further", "check_columns", "header"]

COLUMNS = ("place", "device", "language", "shown")
AOL_HEADER = ("AnonID", "Query", "QueryTime", "ItemRank", "ClickURL")
# The shares of days that a person is at the second place, and of quarters of days with the second device.
AWAY, OTHER_DEVICE = 0.15, 0.3
# What has random numbers of its own; a new one is added at the end, so that the others stay as they are.
STREAMS = (*COLUMNS, "days")
QUARTER = DAY_SECONDS // 4


class Field(NamedTuple):
    """A column of lines: texts, each with a tab before it, and which of them each line has."""

    texts: pa.StringArray
    which: Ints64


def check_columns(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return the chosen columns in their order in the file; names are separated by commas, or in a sequence."""
    parts = names.split(",") if isinstance(names, str) else names
    chosen = {check_choice(option("with"), name.strip(), COLUMNS) for name in parts}
    return tuple(name for name in COLUMNS if name in chosen)


def header(columns: Iterable[str]) -> bytes:
    """Return the first line of a log."""
    names = [*AOL_HEADER, *(name.capitalize() for name in columns)]
    return "\t".join(names).encode() + b"\n"


@dataclass(frozen=True, eq=False)
class Further:
    """The columns of a chunk of people.

    Parameters
    ----------
    terms, people
        The terms, and how many people there are.
    seed, chunk
        What fixes the random numbers.
    """

    terms: Terms
    people: int
    seed: int
    chunk: int

    def rng(self, name: str) -> np.random.Generator:
        """Return the random numbers of a column."""
        return stream(self.seed, self.chunk, STREAMS.index(name))

    @cached_property
    def homes(self) -> Homes:
        """Where people live; languages depend on it, too."""
        return Homes.draw(self.terms, self.rng("place"), self.people)

    def fields(
        self, columns: Iterable[str], person: Ints64, time: Ints64, shown: Shown | None
    ) -> list[Field]:
        """Return the columns of lines, given whose lines they are and when they were written."""
        fields = {"place": self._places, "device": self._devices, "language": self._languages}
        pages = [] if shown is None else [Field(shown.pages, shown.page)]
        return [fields[name](person, time) for name in columns if name in fields] + pages

    def _places(self, person: Ints64, time: Ints64) -> Field:
        away = some(self.rng("days"), AWAY, self.people * DAYS)[person * DAYS + time // DAY_SECONDS]
        return Field(_texts(self.homes.texts(self.terms)), person * 2 + away)

    def _devices(self, person: Ints64, time: Ints64) -> Field:
        rng = self.rng("device")
        own = draw_devices(rng, self.people)
        other = some(rng, OTHER_DEVICE, self.people * DAYS * 4)[person * DAYS * 4 + time // QUARTER]
        return Field(_texts(DEVICES), own[person, other.astype(np.int64)])

    def _languages(self, person: Ints64, time: Ints64) -> Field:
        del time  # nobody changes it
        own = draw_languages(self.terms, self.rng("language"), self.homes)
        return Field(_texts(LANGUAGES), own[person])


def _texts(texts: Iterable[str]) -> pa.StringArray:
    return pa.array([f"\t{text}" for text in texts], pa.string())
