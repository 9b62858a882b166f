"""A made-up query log of any size in AOL's format: no real person's words, but the shape of a real log.

The log is a prefix of one endless text that is fixed by the seed; the number of users or lines only decides where it
ends. It is made in chunks of users, each from its own random stream, so memory does not grow.

A chunk is never joined from strings. Every field is a row of numbers of *pieces* (words, syllables, minutes),
and the text of all lines is one ``take`` of those pieces: the Arrow buffer behind it is what is written.

Random numbers enter only as uniform doubles, shaped by products and table look-ups. That keeps the bytes the
same on every machine, whereas a library's `pow` or `exp` could differ in the last bit. The shape follows the
published counts of AOL's log of 2006: 36,389,567 lines by 657,426 users, 19,442,629 clicks, 7,887,022 requests
for a next page, and 10,154,742 distinct queries (Pass, Chowdhury, Torgeson: A Picture of Search, 2006).
"""

from __future__ import annotations

import os
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from incrowd.core.atomic import atomic_write, check_free
from incrowd.core.types import Bools, Floats, Ints64
from incrowd.errors import BadInputError
from incrowd.logs.synth.world import DAYS, LEADS, RANKS, TAILS, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["SynthSummary", "write_log"]

Shape = int | tuple[int, ...]

HEADER = b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
CHUNK_USERS = 1024
ID_STEP = 38  # AOL's numbers leave gaps: 657,426 users below 25 million

# Shares of submissions: a fresh query, an earlier query of the same user, or (the rest) the next page of the last one.
FRESH, AGAIN = 0.62, 0.11
# Shares of fresh queries: to a site, of a site's wares, private-looking, or (the rest) words of the user's topics.
NAVIGATIONAL, BRANDED, PRIVATE = 0.22, 0.18, 0.03
# Shares of private-looking queries: a telephone number, a postal code, or (the rest) a name.
PHONE, POSTAL = 0.25, 0.30
CLICKED = 0.414
STARTS_SESSION = 0.35
TOPICS_A_USER = 4
OFF_TOPIC = 0.03

DAY_SECONDS = 86_400
# Each eighth of a uniform day is mapped to these hours, so that few queries fall into the night.
EIGHTHS_START = np.array([0, 7, 10, 13, 15, 17, 19, 21, 24], dtype=np.int64) * 3_600

SITES = 1 << 20

WORDS_CDF = np.array([0.18, 0.55, 0.86])  # one, two, three words; else four
QUERY_PIECES = 7
# The words after the first weigh the same, so that it does not matter where a repeated word was left out.
QUERY_HASH = np.array([31, 1_009, 32_003, 32_003, 32_003, 7, 3_001], dtype=np.int64)


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
    overwrite
        Whether a file at `path` may be replaced.
    progress
        Called now and then with the amount done and the total, in users or lines.
    """
    wanted = _check_size(users, lines, seed)
    with _placed(Path(path), overwrite=overwrite) as file:
        file.write(HEADER)
        done = SynthSummary(0, 0, len(HEADER))
        for chunk in _chunks(seed):
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


def _chunks(seed: int) -> Iterator[_Chunk]:
    world = World.of(_stream(seed, 0))
    number = 0
    while True:
        yield _make_chunk(world, _stream(seed, number + 1), first_id=number * CHUNK_USERS * ID_STEP + 1)
        number += 1


def _stream(seed: int, number: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(number,))))


def _make_chunk(world: World, rng: np.random.Generator, *, first_id: int) -> _Chunk:
    """Make the lines of `CHUNK_USERS` users: submissions, then a row for each of their clicks."""
    users = np.arange(CHUNK_USERS)
    user = np.repeat(users, np.searchsorted(world.activity, rng.random(CHUNK_USERS)) + 1)
    events, fresh, turns_page = _submissions(rng, user)
    queries = _Queries.draw(world, rng, user[fresh])
    time = _times(rng, user, turns_page)
    row, rank, site = _clicks(rng, queries.site[events], queries.known[events])

    ids = first_id + users * ID_STEP + (rng.random(CHUNK_USERS) * ID_STEP).astype(np.int64)
    pieces = pa.concat_arrays(
        [world.pieces, pa.array([f"{number}\t" for number in ids.tolist()], pa.string())]
    )
    id_piece = len(world.pieces) + user[:, None]
    submission = np.hstack([id_piece, queries.pieces[events], world.time_pieces(time)])
    fields = np.hstack([submission[row], world.click_pieces(rank, site)])
    text = pieces.take(pa.array(fields.ravel()))
    start = np.frombuffer(text.buffers()[1], dtype=np.int32)[: fields.size + 1 : fields.shape[1]]
    user_row = np.searchsorted(user[row], np.arange(CHUNK_USERS + 1))
    return _Chunk(text.buffers()[2], start.astype(np.int64), user_row)


def _submissions(rng: np.random.Generator, user: Ints64) -> tuple[Ints64, Bools, Bools]:
    """Return the query of each submission (numbered by first use), which are fresh, which turn a page."""
    first = _first_of_user(user)
    kind = rng.random(len(user))
    fresh = (kind < FRESH) | (first[user] == np.arange(len(user)))
    turns_page = ~fresh & (kind >= FRESH + AGAIN)
    latest = np.cumsum(fresh) - 1
    own_first = latest[first][user]
    # Early queries are repeated most, as habits are.
    earlier = own_first + _skewed(rng, latest - own_first + 1, power=2)
    events = np.where(fresh, latest, earlier)
    last_before_turning = np.maximum.accumulate(np.where(turns_page, 0, np.arange(len(user))))
    return events[last_before_turning], fresh, turns_page


def _times(rng: np.random.Generator, user: Ints64, turns_page: Bools) -> Ints64:
    """Return the second of each submission, counted from the first day; it ascends within a user.

    Seconds or minutes lie before every submission, and a part of the user's free time before each session.
    """
    first = _first_of_user(user)
    starts = ~turns_page & (rng.random(len(user)) < STARTS_SESSION)
    starts[first] = True
    gap = np.cumsum(5 + _skewed(rng, 595, power=3, shape=len(user)))
    pause = np.cumsum(np.where(starts, _powered(rng.random(len(user)), 2), 0.0))
    after = 0.05 + rng.random(CHUNK_USERS)

    last = np.append(first[1:], len(user)) - 1
    gap_before, pause_before = (np.append(0, total[first[1:] - 1]) for total in (gap, pause))
    free = DAYS * DAY_SECONDS - (gap[last] - gap_before)
    share = (pause - pause_before[user]) / (pause[last] - pause_before + after)[user]
    return _by_daylight(gap - gap_before[user] + (free[user] * share).astype(np.int64))


def _by_daylight(time: Ints64) -> Ints64:
    """Move uniformly distributed seconds to waking hours, keeping their order."""
    day, second = np.divmod(time, DAY_SECONDS)
    eighth, within = np.divmod(second, DAY_SECONDS // 8)
    length: Ints64 = np.diff(EIGHTHS_START)[eighth]
    return day * DAY_SECONDS + EIGHTHS_START[eighth] + within * length // (DAY_SECONDS // 8)


def _clicks(rng: np.random.Generator, site: Ints64, known: Bools) -> tuple[Ints64, Ints64, Ints64]:
    """Return the submission, the rank (0: no click) and the site of each row; a query's ranks lead to the same sites."""
    count = len(site)
    clicked = rng.random(count) < CLICKED
    more = _skewed(rng, 8, power=8, shape=count)
    top = 1 + np.where(known, 0, _skewed(rng, 60, power=5, shape=count))
    rows = np.where(clicked, 1 + more, 1)
    row = np.repeat(np.arange(count), rows)
    place_in_submission = np.arange(len(row)) - np.repeat(np.cumsum(rows) - rows, rows)
    rank = np.where(clicked[row], top[row] + place_in_submission, 0)
    other_site = _site_of(site[row] * RANKS + rank)
    return row, rank, np.where(rank == 1, site[row], other_site)


@dataclass(frozen=True, eq=False)
class _Queries:
    """The distinct queries of a chunk's users: their pieces, the site that answers first, and if it was meant."""

    pieces: Ints64
    site: Ints64
    known: Bools

    @classmethod
    def draw(cls, world: World, rng: np.random.Generator, user: Ints64) -> _Queries:
        """Draw one query for each entry of `user`, from that user's topics."""
        favourites = _skewed(rng, len(world.topic_size), power=2, shape=(CHUNK_USERS, TOPICS_A_USER))
        topic = favourites[user, _skewed(rng, TOPICS_A_USER, power=3, shape=len(user))]
        kind = rng.random(len(user))
        known = kind < NAVIGATIONAL
        branded = ~known & (kind < NAVIGATIONAL + BRANDED)
        private = ~known & ~branded & (kind < NAVIGATIONAL + BRANDED + PRIVATE)
        goal = _skewed(rng, SITES, power=5, shape=len(user))

        pieces = _wordy(world, rng, topic)
        pieces[known] = _navigational(world, rng, goal[known])
        pieces[branded] = _branded(world, pieces[branded], goal[branded])
        pieces[private] = _private(world, rng, pieces[private])
        return cls(pieces, np.where(known | branded, goal, _site_of(pieces @ QUERY_HASH)), known)


def _wordy(world: World, rng: np.random.Generator, topic: Ints64) -> Ints64:
    """Return queries of one to four words of a topic, some with words around them: lead, words, plural, tail."""
    count = len(topic)
    strays = rng.random((count, 4)) < OFF_TOPIC
    topics = np.where(strays, _skewed(rng, len(world.topic_size), power=2, shape=(count, 4)), topic[:, None])
    word = world.topic_start[topics] + _skewed(rng, world.topic_size[topics], power=3)
    length = np.searchsorted(WORDS_CDF, rng.random(count)) + 1
    missing = np.arange(4) >= length[:, None]
    missing[:, 1:] |= word[:, 1:] == word[:, :-1]
    last = word[np.arange(count), length - 1]

    pieces = np.zeros((count, QUERY_PIECES), dtype=np.int64)
    pieces[:, 0] = _some(rng, 0.38, count) * (
        world.start["lead"] + _skewed(rng, len(LEADS), power=2, shape=count)
    )
    pieces[:, 1:5] = np.where(missing, 0, world.start["word"] + word)
    pieces[:, 2:5] += np.where(missing[:, 1:], 0, len(world.words))
    pieces[:, 5] = (_some(rng, 0.2, count) & world.takes_s[last]) * world.start["plural"]
    pieces[:, 6] = _some(rng, 0.14, count) * (
        world.start["tail"] + _skewed(rng, len(TAILS), power=2, shape=count)
    )
    return pieces


def _navigational(world: World, rng: np.random.Generator, site: Ints64) -> Ints64:
    """Return queries for a site: its bare name, or its address more or less in full."""
    pieces = np.zeros((len(site), QUERY_PIECES), dtype=np.int64)
    pieces[:, 0] = world.start["before"] + _skewed(rng, 3, power=2, shape=len(site))
    pieces[:, 1:5] = world.site_pieces(site)
    bare = (pieces[:, 0] == world.start["before"]) & _some(rng, 0.6, len(site))
    pieces[:, 5] = np.where(bare, 0, world.start["after"] + _skewed(rng, 3, power=3, shape=len(site)))
    return pieces


def _branded(world: World, wordy: Ints64, site: Ints64) -> Ints64:
    """Return queries of a word, a site's name, and the tail that the wordy query had."""
    blank = np.full(len(site), world.start["blank"])
    return np.column_stack([wordy[:, 1], blank, world.site_pieces(site), wordy[:, 6]])


def _private(world: World, rng: np.random.Generator, wordy: Ints64) -> Ints64:
    """Return queries that point at one person: a name, a telephone number, or a word with a postal code."""
    count = len(wordy)
    pieces = np.zeros((count, QUERY_PIECES), dtype=np.int64)
    pieces[:, :6] = world.person_pieces(_skewed(rng, 2_000_000, power=1, shape=count))
    number = _skewed(rng, 100_000, power=1, shape=count)
    three, two = world.start["three"] + number // 100, world.start["two"] + number % 100
    kind = rng.random(count)
    phone, postal = kind < PHONE, (kind >= PHONE) & (kind < PHONE + POSTAL)
    nothing = np.zeros(count, dtype=np.int64)
    middle = np.full(count, world.start["555"])
    pieces[phone] = np.stack([three, middle, two, *[nothing] * 4], axis=1)[phone]
    pieces[postal] = np.stack(
        [wordy[:, 1], nothing + world.start["blank"], three, two, *[nothing] * 3], axis=1
    )[postal]
    return pieces


def _first_of_user(user: Ints64) -> Ints64:
    return np.searchsorted(user, np.arange(CHUNK_USERS))


def _site_of(key: Ints64) -> Ints64:
    """Return the same site for the same key; well known ones for more keys than others."""
    scrambled = (key % (1 << 31)) * 1_103_515_245 % (1 << 31)
    return (SITES * _powered(scrambled / (1 << 31), 3)).astype(np.int64)


def _skewed(
    rng: np.random.Generator, size: int | Ints64, *, power: int, shape: Shape | None = None
) -> Ints64:
    """Draw numbers below `size`, low ones most often: the r-th has a weight near r ** (1 / power - 1), as Zipf's."""
    uniform = rng.random(np.shape(size) if shape is None else shape)
    return (size * _powered(uniform, power)).astype(np.int64)


def _powered(base: Floats, power: int) -> Floats:
    result = base
    for _ in range(power - 1):
        result = result * base
    return result


def _some(rng: np.random.Generator, share: float, count: int) -> Bools:
    return rng.random(count) < share
