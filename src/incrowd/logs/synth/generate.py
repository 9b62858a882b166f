"""A made-up query log of any size in AOL's format: no real person's words, but the shape of a real log.

The log is a prefix of one endless text that is fixed by the seed; the number of users or lines only decides where it
ends. It is made in chunks of users, each from its own random stream, so memory does not grow.

A chunk is never joined from strings. Every field is a row of numbers of *pieces* (terms, syllables, minutes),
and the text of all lines is one ``take`` of those pieces: the Arrow buffer behind it is what is written.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from incrowd.core.atomic import atomic_write, check_free
from incrowd.core.types import Floats, Ints64
from incrowd.errors import BadInputError
from incrowd.logs.synth.clicks import addresses
from incrowd.logs.synth.draws import skewed, stream
from incrowd.logs.synth.events import ACTIVITY, Events, draw_activity
from incrowd.logs.synth.people import People
from incrowd.logs.synth.queries import QueryMaker
from incrowd.logs.synth.stamps import Stamps
from incrowd.logs.synth.strings import join_rows
from incrowd.logs.synth.terms import Terms, read_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["SynthSummary", "write_log"]

HEADER = b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
CHUNK_USERS = 256
ID_STEP = 38  # AOL's numbers leave gaps: 657,426 users below 25 million


@dataclass(frozen=True)
class SynthSummary:
    """What was written: users, data lines (the header is none), and bytes of text before compression."""

    users: int
    lines: int
    bytes: int


def write_log(
    path: str | os.PathLike[str],
    *,
    users: int | None = None,
    lines: int | None = None,
    seed: int = 0,
    people: str = "heavy",
    overwrite: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> SynthSummary:
    """Write a made-up query log in AOL's format, by an atomic write.

    Parameters
    ----------
    path
        Where to; a name that ends in ``.gz`` or ``.zst`` is compressed.
    users, lines
        How much: exactly one of them is given. With `lines`, the last user may be cut short.
    seed
        Same seed, same text; a shorter log is a beginning of a longer one.
    people
        How active they are: ``"heavy"`` users, with about 318 lines each, or ``"all"`` of a log, where most have few.
    overwrite
        Whether a file at `path` may be replaced.
    progress
        Called now and then with the amount done and the total, in users or lines.
    """
    wanted = _check_size(users, lines, seed)
    if people not in ACTIVITY:
        raise BadInputError(f"people must be one of {', '.join(ACTIVITY)} (got {people})")
    with _placed(Path(path), overwrite=overwrite) as file:
        file.write(HEADER)
        done = SynthSummary(0, 0, len(HEADER))
        for chunk in _chunks(seed, people):
            left = wanted - (done.lines if users is None else done.users)
            cut = chunk.first_rows(left) if users is None else chunk.first_users(left)
            file.write(chunk.text[: cut.bytes])
            done = SynthSummary(done.users + cut.users, done.lines + cut.lines, done.bytes + cut.bytes)
            so_far = done.lines if users is None else done.users
            if progress is not None:
                progress(so_far, wanted)
            if so_far == wanted:
                break
    return done


def _check_size(users: int | None, lines: int | None, seed: int) -> int:
    if (users is None) == (lines is None):
        raise BadInputError("give either users or lines, and not both")
    name, wanted = ("lines", lines) if users is None else ("users", users)
    if wanted is None or wanted < 1:
        raise BadInputError(f"{name} must be at least 1 (got {wanted})")
    if seed < 0:
        raise BadInputError(f"seed must be at least 0 (got {seed})")
    return wanted


@contextmanager
def _placed(path: Path, *, overwrite: bool) -> Iterator[IO[bytes] | Any]:
    """Open a file for an atomic write to `path`, compressed as its name says."""
    check_free(path, force=overwrite, ours=Path.is_file, what="log")
    codec = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix)
    with (
        atomic_write(path, replaces=Path.is_file if overwrite else None) as draft,
        pa.OSFile(str(draft), "wb") as plain,
        nullcontext(plain) if codec is None else pa.CompressedOutputStream(plain, codec) as file,
    ):
        yield file


@dataclass(frozen=True, eq=False)
class _Chunk:
    """The lines of some users: their text, where each row of it begins, and each user's first row."""

    text: pa.Buffer
    row_start: Ints64
    user_row: Ints64

    def first_users(self, count: int) -> SynthSummary:
        """Return the size of what the first users wrote."""
        count = min(count, len(self.user_row) - 1)
        rows = int(self.user_row[count])
        return SynthSummary(count, rows, int(self.row_start[rows]))

    def first_rows(self, count: int) -> SynthSummary:
        """Return the size of the first rows."""
        count = min(count, int(self.user_row[-1]))
        return SynthSummary(int(np.searchsorted(self.user_row, count)), count, int(self.row_start[count]))


def _chunks(seed: int, people: str) -> Iterator[_Chunk]:
    terms = read_terms()
    maker = _Maker(terms, QueryMaker(terms, stream(seed, 0)), Stamps.make(), ACTIVITY[people])
    number = 0
    while True:
        yield maker.chunk(stream(seed, number + 1), first_id=number * CHUNK_USERS * ID_STEP + 1)
        number += 1


@dataclass(frozen=True, eq=False)
class _Maker:
    """What all chunks share: terms, queries, the texts of times and ranks, and how active people are."""

    terms: Terms
    queries: QueryMaker
    stamps: Stamps
    activity: Floats

    @cached_property
    def pieces(self) -> pa.StringArray:
        return pa.array(self.terms.pieces, pa.string())

    def chunk(self, rng: np.random.Generator, *, first_id: int) -> _Chunk:
        """Make the lines of `CHUNK_USERS` users."""
        person = np.repeat(np.arange(CHUNK_USERS), draw_activity(rng, self.activity, CHUNK_USERS))
        events = Events.draw(rng, person)
        people = People.draw(self.terms, rng, CHUNK_USERS)
        queries = self.queries.draw(rng, person[events.fresh], people)
        rank = events.ranks(rng, queries.known[events.query])
        clicked = np.flatnonzero(rank)
        pieces = pa.concat_arrays([self.pieces, pa.array(queries.extra, pa.string())])
        ids = first_id + np.arange(CHUNK_USERS) * ID_STEP + skewed(rng, ID_STEP, power=1, shape=CHUNK_USERS)
        parts = [
            self.stamps.pieces,
            pa.array([f"{number}\t" for number in ids.tolist()], pa.string()),
            join_rows(pieces, queries.pieces),
            addresses(self.terms, pieces, queries, events.query[clicked], rank[clicked]),
        ]
        start = np.cumsum([len(part) for part in parts])
        address = np.zeros(len(rank), dtype=np.int64)
        address[clicked] = start[2] + np.arange(len(clicked))
        time = self.stamps.of_time(events.times(rng))
        fields = [start[0] + person, start[1] + events.query, *time, *self.stamps.of_rank(rank, address)]
        lines = join_rows(pa.concat_arrays(parts), np.stack(fields, axis=1))
        bounds = np.frombuffer(lines.buffers()[1], dtype=np.int32).astype(np.int64)
        return _Chunk(lines.buffers()[2], bounds, np.searchsorted(person, np.arange(CHUNK_USERS + 1)))
