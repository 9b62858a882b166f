"""What k would do, estimated on a sample of people: how much is kept, and who is singled out.

The sample is drawn with a fixed seed, so the same choices give the same curve. It is smaller than the data: what few people of the sample share,
many people of the data may share, so a release of all of them keeps more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from incrowd.attacks.attacked import Attacked, Setting, attacked_raw
from incrowd.attacks.singling_out import unicity
from incrowd.core.claims import check_k
from incrowd.errors import BadInputError, IncrowdError
from incrowd.jobs.anonymize import make_release
from incrowd.jobs.attack_plan import published_by, seen_by
from incrowd.jobs.clock import Clock
from incrowd.jobs.data import build_rows, place_rows
from incrowd.jobs.library import Listener
from incrowd.jobs.spec import Job, Options, read_choices, settled
from incrowd.jobs.subject import Subject, subject_without_times
from incrowd.jobs.windows import in_window
from incrowd.logs import read_parts

__all__ = ["KNOWN", "Point", "Sample", "estimate", "sample_of"]

PEOPLE = 550
"""Enough for k = 50, for which mosaic wants 500 people."""
FIRST_BYTES = 16 * 1024 * 1024
BLOCK_BYTES = 1024 * 1024
KNOWN = 3
MOST_TRIED = 400


class Sample(NamedTuple):
    """Some people of a log on their taxonomy.

    Parameters
    ----------
    subject
        What they have.
    people, read
        How many they are, and of how many they were drawn.
    is_all
        Whether the whole log was read to draw them, or only its beginning.
    singled_out
        The share of them that known items single out in the log as it is.
    """

    subject: Subject
    people: int
    read: int
    is_all: bool
    singled_out: float


class Point(NamedTuple):
    """What one k does: the shares of items kept as themselves, of frequent pairs found, and of people singled out by known items."""

    k: int
    kept: float
    pairs: float
    singled_out: float


def sample_of(options: Options, people: int = PEOPLE) -> Sample:
    """Read a log, or its beginning where it is large, and draw people."""
    job, listener = replace(read_choices(options), k=None), Listener(None)
    if job.method.is_noisy:
        raise BadInputError(
            f"method {job.method.name} has no k: what it keeps depends on eps and delta, and a sample says little about it"
        )
    done = [0, 1]

    def note(bytes_done: int, size: int) -> None:
        done[:] = bytes_done, size

    opened = read_parts(
        job.options.input,
        job.form,
        memory=job.options.memory,
        block_bytes=BLOCK_BYTES,
        first_bytes=FIRST_BYTES,
        progress=note,
    )
    with Clock(listener) as clock, opened as log:
        is_all = done[0] >= done[1]
        with in_window(settled(job, log), log) as job:
            rows = build_rows(job, log, clock, events=job.setting.reads.events)
            filled = np.unique(rows.person[np.diff(rows.indptr) > 0])
            drawn = np.random.default_rng(0).permutation(filled)[:people]
            some = rows.take_rows(np.flatnonzero(np.isin(rows.person, drawn)))
            missing = np.ones(len(some.vocabulary), dtype=np.bool_)
            missing[some.items] = False
            attached = place_rows(job, some.without_items(missing, note="A sample."), clock)
    subject = subject_without_times(attached)
    raw = attacked_raw(subject.people, attached.taxonomy)
    return Sample(subject, len(drawn), len(filled), is_all, _singled(raw, 1))


def estimate(sample: Sample, job: Job, k: int) -> Point | None:
    """Make a release of a sample in memory, and measure it; None where the method refuses so few people, or would publish nothing."""
    attached = sample.subject.attached
    try:
        own, distinct = job.setting.parameters, job.options.distinct
        release = make_release(attached, job.method, own, k=check_k(k), distinct=distinct)
    except IncrowdError:
        return None
    use = release.measures["use"]
    seen = seen_by(sample.subject, published_by(release))
    found = _singled(Attacked(sample.subject.people, attached.taxonomy, seen), k)
    return Point(k, float(use["kept_exactly"] or 0.0), float(use["pairs_recall"]), found)


def _singled(attacked: Attacked, k: int) -> float:
    """Return the share of people whom some known items single out."""
    found = unicity(attacked, Setting(k, MOST_TRIED), numbers=(KNOWN,)).unicity[KNOWN]
    return found.value if found.attack.tries else 0.0
