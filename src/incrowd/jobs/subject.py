"""The people of a risk job: what they have, what they had in either half of the time, and which of their items are sensitive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.attacks.people import Lists, People
from incrowd.core.activity import DAY, Activity
from incrowd.core.own_files import is_file
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools
from incrowd.core.window import Window
from incrowd.errors import BadInputError, option
from incrowd.jobs.clock import Clock
from incrowd.jobs.data import build_rows, place_rows
from incrowd.jobs.spec import Job, Taken
from incrowd.logs import Log, parse_unit
from incrowd.taxonomy import Attached, Taxonomy
from incrowd.text.never import read_never

__all__ = ["Subject", "names_of", "sensitive_leaves", "subject_of", "subject_without_times"]

LEAST_DAYS = 2
NO_TIMES = "the data have no times"
BY_SESSION = "session:30m"


@dataclass(frozen=True, eq=False)
class Subject:
    """People whom attacks are run on. Private.

    Parameters
    ----------
    attached
        Their units on a taxonomy, as a release has them.
    people
        What each has in all.
    halves
        What each had in the earlier and in the later half of the time; None where that is not known.
    skipped
        Why some attacks cannot be run on them, by name.
    """

    attached: Attached
    people: People
    halves: tuple[Lists, Lists] | None = None
    skipped: Mapping[str, str] = field(default_factory=dict)


def names_of(data: Transactions) -> pa.Array:
    """Return the name of each person, in the order of their numbers."""
    return data.owners if data.people is None else data.people.dictionary_encode().dictionary


def subject_without_times(attached: Attached) -> Subject:
    """Return the people behind some units of which nothing says when they were."""
    people = People.of(attached.transactions, attached.taxonomy)
    skipped = {"found_again": NO_TIMES}
    if people.newest is None:
        skipped["unicity_recent"] = NO_TIMES
    return Subject(attached, people, skipped=skipped)


def subject_of(job: Job, log: Log, clock: Clock) -> Subject:
    """Return the people of a log, with what they had when where it says so."""
    attached = place_rows(job, build_rows(job, log, clock, events=job.setting.reads.events), clock)
    made = subject_without_times(attached)
    active = attached.transactions.activity
    if active is None or job.kinds:
        return made
    skipped = dict(made.skipped)
    people = made.people
    if people.newest is None:
        people = replace(people, newest=_newest(job, log, clock, attached, people))
        del skipped["unicity_recent"]
    middle = _middle(active)
    if middle is None:
        return replace(made, people=people, skipped={**skipped, "found_again": "the log spans a single day"})
    whole = job.taken.window if job.taken else Window(None, active.last + 1)
    try:
        earlier = _of_window(job, log, clock, attached, Window(whole.start, middle))
        later = _of_window(job, log, clock, attached, Window(middle, whole.stop))
    except BadInputError:
        reason = "one half of the time has no items"
        return replace(made, people=people, skipped={**skipped, "found_again": reason})
    del skipped["found_again"]
    return Subject(attached, people, (earlier, later), skipped)


def _middle(active: Activity) -> int | None:
    """Return the beginning of the day in the middle of the log's time; None where there is no such day."""
    if active.span < LEAST_DAYS:
        return None
    return (active.first // DAY + (active.span + 1) // 2) * DAY


def _of_window(job: Job, log: Log, clock: Clock, attached: Attached, window: Window) -> Lists:
    """Return what each person had in a window."""
    taken = Taken(window, 0, 0, 0)
    rows = build_rows(replace(job, unit=parse_unit("user"), taken=taken), log, clock)
    found = People.of(*_on(rows, attached))
    start = np.zeros(len(names_of(attached.transactions)) + 1, dtype=np.int64)
    start[1:] = np.cumsum(_spread(found.sizes, rows, attached))
    return Lists(start, found.leaf)


def _spread(sizes: np.ndarray, rows: Transactions, attached: Attached) -> np.ndarray:
    """Return sizes of some people's lists as those of all people, in whose order they are."""
    place = pc.index_in(names_of(rows), value_set=names_of(attached.transactions)).to_numpy(
        zero_copy_only=False
    )
    spread = np.zeros(len(names_of(attached.transactions)), dtype=np.int64)
    spread[place.astype(np.int64)] = sizes
    return spread


def _on(rows: Transactions, attached: Attached) -> tuple[Transactions, Taxonomy]:
    """Return rows with the vocabulary of data that are attached to a taxonomy, without items that those lack."""
    data, tree = attached.transactions, attached.taxonomy
    place = pc.index_in(rows.vocabulary, value_set=data.vocabulary)
    known = rows.without_items(~np.array(place.is_valid(), dtype=np.bool_), note="")
    of_item = np.array(place.drop_null(), dtype=np.int32)
    return replace(known, items=of_item[known.items], vocabulary=data.vocabulary), tree


def _newest(job: Job, log: Log, clock: Clock, attached: Attached, people: People) -> np.ndarray:
    """Return the items of each person, those of the latest session first."""
    rows = build_rows(replace(job, unit=parse_unit(BY_SESSION)), log, clock)
    ordered = People.of(*_on(rows, attached))
    if not np.array_equal(ordered.leaf, people.leaf):
        raise BadInputError("sessions of the log have other items than its people: read it again")
    assert ordered.newest is not None  # noqa: S101 - sessions are in the order of time
    return ordered.newest


def sensitive_leaves(said: str, attached: Attached) -> Bools:
    """Return which leaves are sensitive: those with a word of a file's, or below classes of the taxonomy by name.

    Parameters
    ----------
    said
        A file of words, one a line, or names of classes separated by commas, as ``disease,religion``.
    attached
        The items on their taxonomy.
    """
    data, tree = attached.transactions, attached.taxonomy
    found = np.zeros(tree.leaf_count, dtype=np.bool_)
    assert tree.item_leaf is not None  # noqa: S101 - the items are attached
    if is_file(said):
        found[tree.item_leaf[read_never(Path(said)).found_in(data.vocabulary)]] = True
        return found
    for name in filter(None, map(str.strip, said.split(","))):
        node = pc.index(tree.labels, name).as_py()
        if node < 0:
            raise BadInputError(
                f"{option('sensitive')} names '{name}', which is neither a file nor a class of the taxonomy {tree.name}"
            )
        found[tree.first_leaf[node] : tree.last_leaf[node]] = True
    return found
