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
from incrowd.logs.synth import generate as synth
from incrowd.logs.synth import world as synth_world
from incrowd.logs.synth.generate import SynthSummary, write_log
from incrowd.taxonomy.sources.wordnet import lexicon

HEADER = ["AnonID", "Query", "QueryTime", "ItemRank", "ClickURL"]
FAMOUS = [
    "toyota",
    "sony",
    "nokia",
    "visa",
    "lego",
    "nivea",
    "fanta",
    "mazda",
    "honda",
    "nestle",
    "rolex",
    "kodak",
    "adidas",
    "amazon",
    "ebay",
    "yahoo",
    "google",
]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("synth") / "log.tsv"
    write_log(path, lines=50_000, seed=3)
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


@pytest.mark.parametrize("users", [1, 7, 1_024, 1_025])
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
    long = text(tmp_path / "long", users=2_100)
    assert long.startswith(text(tmp_path / "users", users=40))
    assert long.startswith(text(tmp_path / "lines", lines=70_001))


def test_every_chunk_draws_anew(tmp_path):
    users = by_user(
        [line.split("\t") for line in text(tmp_path / "log", users=2_048).decode().splitlines()[1:]]
    )
    lengths = [len(own) for own in users]
    assert lengths[:1_024] != lengths[1_024:]
    assert users[0][0][1:3] != users[1_024][0][1:3]


def test_every_line_has_five_fields_under_aols_header(log, rows):
    assert log.read_text().split("\n", 1)[0].split("\t") == HEADER
    assert log.read_bytes().endswith(b"\n")
    assert {len(row) for row in rows} == {5}
    assert all(re.fullmatch(r"[0-9]+", row[0]) for row in rows)
    assert all(re.fullmatch(r"\S+( \S+)*", row[1]) for row in rows)
    clicks = [row for row in rows if row[3] or row[4]]
    assert all(re.fullmatch(r"[1-9][0-9]*", row[3]) for row in clicks)
    assert all(re.fullmatch(r"http://www\.[a-z]+\.com", row[4]) for row in clicks)


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
    assert len(several) > 1_000
    for own in several:
        assert len({row[1] for row in own}) == 1
        ranks = [int(row[3]) for row in own]
        assert len(set(ranks)) == len(ranks)


def test_a_query_leads_to_the_same_sites_for_everybody(rows):
    sites = defaultdict(set)
    for row in rows:
        if row[3]:
            sites[row[1], row[3]].add(row[4])
    assert max(map(len, sites.values())) == 1


def test_lines_a_user_have_a_heavy_tail(rows):
    lines = np.array([len(own) for own in by_user(rows)[:-1]])
    assert 40 < lines.mean() < 72
    assert np.median(lines) < 0.5 * lines.mean()
    assert lines.max() > 10 * lines.mean()


def test_queries_repeat_as_in_a_real_log(rows):
    queries = [row[1] for row in rows]
    assert 0.36 < len(set(queries)) / len(rows) < 0.52
    assert 0.50 < np.mean([row[3] != "" for row in rows]) < 0.58
    submissions = {(row[0], row[2]): row[1] for row in rows}
    assert 2.1 < np.mean([len(query.split()) for query in submissions.values()]) < 2.6
    assert (
        0.08
        < np.mean([".com" in query or ".net" in query or ".org" in query for query in set(queries)])
        < 0.35
    )


def test_a_quarter_of_submissions_only_turn_the_page(rows):
    submissions = list({(row[0], row[2]): (row[0], row[1]) for row in rows}.values())
    assert 0.25 < np.mean([a == b for a, b in itertools.pairwise(submissions)]) < 0.36


def test_some_queries_are_shared_and_most_are_one_users(rows):
    users = defaultdict(set)
    for row in rows:
        users[row[1]].add(row[0])
    counts = np.array([len(own) for own in users.values()])
    assert counts.max() > 50
    assert 0.8 < np.mean(counts == 1) < 0.98


def test_a_user_has_about_twenty_nouns(rows):
    words = sorted({word for row in rows for word in row[1].split()})
    lemma = dict(zip(words, lexicon().lemmas_of(pa.array(words)).tolist(), strict=True))
    nouns = [{lemma[word] for row in own for word in row[1].split()} - {-1} for own in by_user(rows)]
    assert 15 < np.mean([len(own) for own in nouns]) < 28


def test_private_looking_queries_are_typed_by_few(rows):
    users = defaultdict(set)
    for row in rows:
        if "-555-01" in row[1]:
            users[row[1]].add(row[0])
    assert len(users) > 50
    assert max(map(len, users.values())) <= 5


def test_topics_do_not_share_words_and_no_avoided_word_is_used():
    world = synth_world.World.of(synth._stream(0, 0))
    assert len(set(world.words)) == len(world.words) > 5_000
    assert not set(world.words) & synth_world.AVOIDED
    assert world.topic_size.min() >= 1


def test_composed_names_are_nobodys():
    for ending in synth_world.ENDINGS + synth_world.FIRST_NAME_ENDINGS:
        assert not any(name.endswith(ending.strip()) for name in FAMOUS)
    world = synth_world.World.of(synth._stream(0, 0))
    names = spell(world, world.site_pieces(np.arange(50_000)))
    assert not set(names) & set(lexicon().lemmas.to_pylist())
    assert len(set(names)) > 49_000


def spell(world, pieces):
    texts = world.pieces.to_pylist()
    return ["".join(texts[piece] for piece in row) for row in pieces.tolist()]


def peak_bytes(path, users):
    arrow, seen = pa.total_allocated_bytes(), []
    tracemalloc.start()
    write_log(path, users=users, overwrite=True, progress=lambda *_: seen.append(pa.total_allocated_bytes()))
    peak = tracemalloc.get_traced_memory()[1] + max(seen) - arrow
    tracemalloc.stop()
    return peak


def test_memory_does_not_grow_with_the_log(tmp_path):
    lexicon().node("food")  # loaded once, so not a part of either peak
    assert peak_bytes(tmp_path / "long", 5_120) < 1.5 * peak_bytes(tmp_path / "short", 1_024)


def test_progress_tells_what_is_done_in_the_unit_asked_for(tmp_path):
    told = []
    write_log(tmp_path / "log", users=2_000, progress=lambda *step: told.append(step))
    assert told == [(1_024, 2_000), (2_000, 2_000)]


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
        ({}, "give either users or lines, and not both"),
        ({"users": 1, "lines": 1}, "give either users or lines, and not both"),
    ],
)
def test_bad_numbers_are_refused_before_anything_is_written(tmp_path, size, message):
    with pytest.raises(BadInputError) as refusal:
        write_log(tmp_path / "log", **size)
    assert str(refusal.value) == message
    assert list(tmp_path.iterdir()) == []
