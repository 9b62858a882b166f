"""A made-up query log of any size in AOL's format: no real person's words, but the shape of a real log.

The log is a prefix of one endless text that is fixed by the seed; the number of users or lines only decides where it
ends. It is made in chunks of users, each from its own random stream, so memory does not grow.

A chunk is never joined from strings. Every field is a row of numbers of *pieces* (terms, syllables, minutes),
and the text of all lines is one ``take`` of those pieces: the Arrow buffer behind it is what is written.
"""

from __future__ import annotations

import itertools
import os
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from incrowd.core.atomic import atomic_write, check_free
from incrowd.core.types import Floats, Ints64
from incrowd.errors import BadInputError
from incrowd.logs.synth.clicks import addresses
from incrowd.logs.synth.columns import Further, check_columns, header
from incrowd.logs.synth.draws import skewed, stream
from incrowd.logs.synth.events import ACTIVITY, Events, draw_activity
from incrowd.logs.synth.people import People
from incrowd.logs.synth.queries import Queries, QueryMaker
from incrowd.logs.synth.results import Answers, Patterns, Shown
from incrowd.logs.synth.stamps import Stamps
from incrowd.logs.synth.strings import join_rows
from incrowd.logs.synth.terms import Terms, read_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["SynthSummary", "write_log"]

CHUNK_USERS = 256
BLOCK_LINES = 1 << 13
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
    with_columns: str | Iterable[str] = (),
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
    with_columns
        Columns beside AOL's: any of ``place``, ``device``, ``language`` and ``shown``, in a sequence or separated by commas.
    overwrite
        Whether a file at `path` may be replaced.
    progress
        Called now and then with the amount done and the total, in users or lines.
    """
    wanted = _check_size(users, lines, seed)
    if people not in ACTIVITY:
        raise BadInputError(f"people must be one of {', '.join(ACTIVITY)} (got {people})")
    columns = check_columns(with_columns)
    with _placed(Path(path), overwrite=overwrite) as file:
        file.write(header(columns))
        done = SynthSummary(0, 0, len(header(columns)))
        for chunk in _chunks(seed, people, columns):
            left = wanted - (done.lines if users is None else done.users)
            more_users, more_lines = chunk.first_lines(left) if users is None else chunk.first_users(left)
            written = sum(file.write(text) for text in chunk.texts(more_lines))
            done = SynthSummary(done.users + more_users, done.lines + more_lines, done.bytes + written)
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
    """The lines of some users: texts, the numbers of those that each line is joined from, and each user's first line."""

    pieces: pa.StringArray
    lines: Ints64
    user_line: Ints64

    def first_users(self, count: int) -> tuple[int, int]:
        """Return how many of the first users there are, and their lines."""
        count = min(count, len(self.user_line) - 1)
        return count, int(self.user_line[count])

    def first_lines(self, count: int) -> tuple[int, int]:
        """Return how many users the first lines are of, and how many lines there are."""
        count = min(count, len(self.lines))
        return int(np.searchsorted(self.user_line, count)), count

    def texts(self, lines: int) -> Iterator[pa.Buffer]:
        """Return the text of the first lines, block by block: so a chunk's text is never in memory as a whole."""
        for start in range(0, lines, BLOCK_LINES):
            joined = join_rows(self.pieces, self.lines[start : min(start + BLOCK_LINES, lines)])
            _, offsets, data = joined.buffers()
            yield data[: int(np.frombuffer(offsets, dtype=np.int32)[len(joined)])]


def _chunks(seed: int, people: str, columns: tuple[str, ...]) -> Iterator[_Chunk]:
    terms = read_terms()
    stamps = Stamps.make(goes_on=bool(columns))
    maker = _Maker(terms, QueryMaker(terms, stream(seed, 0)), stamps, ACTIVITY[people], columns)
    for number in itertools.count():
        further = Further(terms, CHUNK_USERS, seed, number + 1)
        yield maker.chunk(stream(seed, number + 1), further, first_id=number * CHUNK_USERS * ID_STEP + 1)


@dataclass(frozen=True, eq=False)
class _Maker:
    """What all chunks share: terms, queries, the texts of times and ranks, how active people are, and further columns."""

    terms: Terms
    queries: QueryMaker
    stamps: Stamps
    activity: Floats
    columns: tuple[str, ...]

    @cached_property
    def pieces(self) -> pa.StringArray:
        return pa.array(self.terms.pieces, pa.string())

    @cached_property
    def patterns(self) -> Patterns:
        return Patterns.of(self.terms)

    def chunk(self, rng: np.random.Generator, further: Further, *, first_id: int) -> _Chunk:
        """Make the lines of `CHUNK_USERS` users."""
        person = np.repeat(np.arange(CHUNK_USERS), draw_activity(rng, self.activity, CHUNK_USERS))
        events = Events.draw(rng, person)
        people = People.draw(self.terms, rng, CHUNK_USERS)
        if "place" in self.columns:
            people = replace(people, places=further.homes.named(self.terms, people.places[:, 0]))
        queries = self.queries.draw(rng, person[events.fresh], people)
        rank = events.ranks(rng, queries.known[events.query])
        pieces = pa.concat_arrays([self.pieces, pa.array(queries.extra, pa.string())])
        ids = first_id + np.arange(CHUNK_USERS) * ID_STEP + skewed(rng, ID_STEP, power=1, shape=CHUNK_USERS)
        clicked, shown = self._clicks(further, pieces, queries, events, rank)
        time = events.times(rng)
        fields = further.fields(self.columns, person, time, shown)
        parts = [
            self.stamps.pieces,
            pa.array([f"{number}\t" for number in ids.tolist()], pa.string()),
            join_rows(pieces, queries.pieces),
            clicked,
            *(field.texts for field in fields),
        ]
        start = np.cumsum([len(part) for part in parts])
        address = np.zeros(len(rank), dtype=np.int64)
        address[rank > 0] = start[2] + np.arange(len(clicked))
        columns = [start[0] + person, start[1] + events.query, *self.stamps.of_time(time)]
        columns += self.stamps.of_rank(rank, address)
        columns += [before + field.which for before, field in zip(start[3:-1], fields, strict=True)]
        if fields:
            columns.append(self.stamps.ends(len(rank)))
        first_line = np.searchsorted(person, np.arange(CHUNK_USERS + 1))
        return _Chunk(pa.concat_arrays(parts), np.stack(columns, axis=1), first_line)

    def _clicks(
        self, further: Further, pieces: pa.StringArray, queries: Queries, events: Events, rank: Ints64
    ) -> tuple[pa.StringArray, Shown | None]:
        """Return the addresses that are clicked, and what is shown if the log has that column."""
        if "shown" not in self.columns:
            clicked = np.flatnonzero(rank)
            return addresses(self.terms, pieces, queries, events.query[clicked], rank[clicked]), None
        shown = Answers(self.patterns, queries, further.rng("shown")).show(events.person, events.query, rank)
        return shown.clicked, shown
