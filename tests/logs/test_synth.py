from __future__ import annotations

import errno
import gzip
import itertools
import os
import re
import tracemalloc
from collections import defaultdict
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest

from incrowd.errors import BadInputError
from incrowd.logs.synth import terms
from incrowd.logs.synth.generate import SynthSummary, write_log

HEADER = ["AnonID", "Query", "QueryTime", "ItemRank", "ClickURL"]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("synth") / "log.tsv"
    write_log(path, lines=50_000, seed=3, people="all")
    return path


@pytest.fixture(scope="module")
def rows(log):
    return [line.split("\t") for line in log.read_text("ascii").split("\n")[1:-1]]


def text(path, **size):
    write_log(path, overwrite=True, **size)
    return path.read_bytes()


def by_user(rows):
    return [list(own) for _, own in itertools.groupby(rows, key=lambda row: row[0])]


def test_same_seed_same_bytes_and_another_seed_another_log(tmp_path):
    first, again, other = (text(tmp_path / str(n), lines=3_000, seed=s) for n, s in enumerate((1, 1, 2)))
    assert first == again
    lines, other_lines = set(first.splitlines()), set(other.splitlines())
    assert len(lines & other_lines) < 10


@pytest.mark.parametrize("users", [1, 7, 256, 257])
def test_as_many_users_as_asked(tmp_path, users):
    summary = write_log(tmp_path / "log", users=users)
    body = (tmp_path / "log").read_bytes().splitlines()[1:]
    assert summary == SynthSummary(users, len(body), (tmp_path / "log").stat().st_size)
    assert len({line.split(b"\t")[0] for line in body}) == users


@pytest.mark.parametrize("lines", [1, 2, 999, 70_001])
def test_as_many_lines_as_asked(tmp_path, lines):
    summary = write_log(tmp_path / "log", lines=lines)
    body = (tmp_path / "log").read_bytes().splitlines()[1:]
    assert len(body) == lines
    assert summary == SynthSummary(
        len({line.split(b"\t")[0] for line in body}), lines, (tmp_path / "log").stat().st_size
    )


def test_a_shorter_log_is_a_beginning_of_a_longer_one(tmp_path):
    long = text(tmp_path / "long", users=600)
    assert long.startswith(text(tmp_path / "users", users=40))
    assert long.startswith(text(tmp_path / "lines", lines=70_001))


def test_every_chunk_draws_anew(tmp_path):
    users = by_user(
        [line.split("\t") for line in text(tmp_path / "log", users=512).decode().splitlines()[1:]]
    )
    lengths = [len(own) for own in users]
    assert lengths[:256] != lengths[256:]
    assert users[0][0][1:3] != users[256][0][1:3]


def test_every_line_has_five_fields_under_aols_header(log, rows):
    assert log.read_text().split("\n", 1)[0].split("\t") == HEADER
    assert log.read_bytes().endswith(b"\n")
    assert {len(row) for row in rows} == {5}
    assert all(re.fullmatch(r"[0-9]+", row[0]) for row in rows)
    assert all(re.fullmatch(r"\S+( \S+)*", row[1]) for row in rows)
    clicks = [row for row in rows if row[3] or row[4]]
    assert all(re.fullmatch(r"[1-9][0-9]*", row[3]) for row in clicks)
    assert all(re.fullmatch(r"http://www\.[a-z0-9.-]+\.(com|net|org|gov)", row[4]) for row in clicks)


def test_users_ascend_and_so_do_their_times(rows):
    ids = [int(own[0][0]) for own in by_user(rows)]
    assert ids == sorted(set(ids))
    for own in by_user(rows):
        times = [datetime.fromisoformat(row[2]) for row in own]
        assert times == sorted(times)
        assert datetime(2006, 3, 1) <= times[0] <= times[-1] < datetime(2006, 6, 1)  # noqa: DTZ001 (a log has no zone)


def test_rows_of_one_moment_are_clicks_of_one_query(rows):
    moments = defaultdict(list)
    for row in rows:
        moments[row[0], row[2]].append(row)
    several = [own for own in moments.values() if len(own) > 1]
    assert len(several) > 500
    for own in several:
        assert len({row[1] for row in own}) == 1
        ranks = [int(row[3]) for row in own]
        assert len(set(ranks)) == len(ranks)


def test_a_query_leads_to_the_same_sites_for_everybody(rows):
    sites = defaultdict(set)
    for row in rows:
        if row[3]:
            sites[row[1], row[3]].add(row[4])
    # A word of two topics has two first results.
    assert np.mean([len(own) > 1 for own in sites.values()]) < 0.005


def test_lines_a_user_have_a_heavy_tail(rows):
    lines = np.array([len(own) for own in by_user(rows)[:-1]])
    assert 40 < lines.mean() < 72
    assert np.median(lines) < 0.5 * lines.mean()
    assert lines.max() > 10 * lines.mean()


def test_private_looking_queries_are_typed_by_few(rows):
    users = defaultdict(set)
    for row in rows:
        if "-555-01" in row[1]:
            users[row[1]].add(row[0])
    assert len(users) > 20
    assert max(map(len, users.values())) <= 5


def test_no_avoided_word_is_used_and_every_topic_has_its_terms():
    known = terms.read_terms()
    for name in (*terms.TOPIC_LISTS, "nouns"):
        assert known.size[name].min() >= 5
        assert len(known.start[name]) == len(known.topics)
    nouns = known.pieces[known.start["nouns"][0] :][: known.size["nouns"].sum()]
    assert not {word for noun in nouns for word in noun.split()} & terms.AVOIDED
    assert len(set(nouns)) == len(nouns) > 5_000


def peak_bytes(path, users):
    arrow, seen = pa.total_allocated_bytes(), []
    tracemalloc.start()
    write_log(path, users=users, overwrite=True, progress=lambda *_: seen.append(pa.total_allocated_bytes()))
    peak = tracemalloc.get_traced_memory()[1] + max(seen) - arrow
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_the_log(tmp_path):
    terms.read_terms()  # loaded once, so not a part of either peak
    assert peak_bytes(tmp_path / "long", 1_280) < 1.5 * peak_bytes(tmp_path / "short", 256)


def test_progress_tells_what_is_done_in_the_unit_asked_for(tmp_path):
    told = []
    write_log(tmp_path / "log", users=400, progress=lambda *step: told.append(step))
    assert told == [(256, 400), (400, 400)]


def test_compressed_by_name(tmp_path):
    plain = text(tmp_path / "log.tsv", lines=2_000)
    packed = text(tmp_path / "log.tsv.gz", lines=2_000)
    assert gzip.decompress(packed) == plain
    assert packed[4:8] == bytes(4)  # no time of writing
    assert packed == text(tmp_path / "again.gz", lines=2_000)
    zst = text(tmp_path / "log.tsv.zst", lines=2_000)
    assert pa.input_stream(pa.BufferReader(zst), compression="zstd").read() == plain
    assert max(len(packed), len(zst)) < len(plain) / 2


def test_an_existing_file_stays_unless_overwriting_is_allowed(tmp_path):
    path = tmp_path / "log"
    path.write_text("mine")
    with pytest.raises(BadInputError, match="exists"):
        write_log(path, users=1)
    assert path.read_text() == "mine"
    write_log(path, users=1, overwrite=True)
    assert path.read_text().startswith("AnonID")


def test_nothing_is_left_when_writing_is_interrupted(tmp_path):
    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_log(tmp_path / "log", users=5, progress=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_said_in_one_line(tmp_path):
    with pytest.raises(
        BadInputError, match=r"^log .*: the directory above it does not exist; create it first$"
    ):
        write_log(tmp_path / "nowhere" / "log", users=1)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(BadInputError, match="No space left on device"):
        write_log(tmp_path / "log", users=1, progress=full)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"users": 0}, "users must be at least 1 (got 0)"),
        ({"lines": -5}, "lines must be at least 1 (got -5)"),
        ({"users": 1, "seed": -1}, "seed must be at least 0 (got -1)"),
        ({"users": 1, "people": "none"}, "people must be one of heavy, all (got none)"),
        ({}, "give either users or lines, and not both"),
        ({"users": 1, "lines": 1}, "give either users or lines, and not both"),
    ],
)
def test_bad_numbers_are_refused_before_anything_is_written(tmp_path, size, message):
    with pytest.raises(BadInputError) as refusal:
        write_log(tmp_path / "log", **size)
    assert str(refusal.value) == message
    assert list(tmp_path.iterdir()) == []
