"""Every single asking, as the log has it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import incrowd as ic
from cli.helpers import AOL_HEADER

HOUR = 3600


def line(user, query, minute, url=""):
    return f"{user}\t{query}\t2006-03-01 {10 + minute // 60}:{minute % 60:02}:00\t{1 if url else ''}\t{url}\n"


LINES = [
    line("b", "red wine", 0, "http://a.com"),
    line("b", "Red  Wine", 0, "http://b.com"),  # another query: the text differs as it was typed
    line("a", "dogs", 5),
    line("a", "dogs", 5, "http://d.com"),
    line("a", "dogs", 5, "http://c.com"),
    line("a", "dogs", 90),
    line("a", "-", 91),
    line("a", "cats", 2),
]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.tsv"
    path.write_text(AOL_HEADER + "".join(LINES), encoding="utf-8")
    with ic.read_log(path) as read:
        yield read


def told(events):
    """Return, for each row, what was asked, after how many minutes, and what was clicked."""
    begin = int(events.time.min())
    found = []
    for first, stop in zip(events.start, events.start[1:], strict=False):
        found.append([])
        for at in range(first, stop):
            sites = events.sites.take(
                pa.array(events.site[events.clicks[at] : events.clicks[at + 1]])
            ).to_pylist()
            text = events.texts[int(events.query[at])].as_py()
            found[-1].append((text, (int(events.time[at]) - begin) // 60, sites))
    return found


def test_users_ask_in_order_and_clicks_of_one_query_are_one(log):
    events = log.transactions(items="queries", events=True).events
    assert told(events) == [
        [("cats", 2, []), ("dogs", 5, ["http://c.com", "http://d.com"]), ("dogs", 90, [])],
        [("red wine", 0, ["http://b.com"]), ("red wine", 0, ["http://a.com"])],
    ]
    assert events.texts.to_pylist() == ["cats", "dogs", "red wine"]


def test_sessions_share_out_the_askings(log):
    made = log.transactions(items="queries", unit="session:30m", events=True)
    assert made.owners.to_pylist() == ["a#1", "a#2", "b#1"]
    assert [[text for text, _, _ in row] for row in told(made.events)] == [
        ["cats", "dogs"],
        ["dogs"],
        ["red wine", "red wine"],
    ]


def test_the_askings_are_what_the_rows_count(log):
    for unit in ("user", "session:30m"):
        made = log.transactions(items="queries", unit=unit, events=True)
        for row in range(len(made)):
            part = slice(made.events.start[row], made.events.start[row + 1])
            texts, times = np.unique(made.events.query[part], return_counts=True)
            names = made.events.texts.take(pa.array(texts)).to_pylist()
            assert dict(zip(names, times.tolist(), strict=True)) == made.row(row)


def test_concepts_are_what_queries_mean(log):
    made = log.transactions(items="concepts", events=True)
    items = made.vocabulary.to_pylist()
    meant = {
        text: [items[i] for i in made.events.concept[first:stop]]
        for text, first, stop in zip(
            made.events.texts.to_pylist(),
            made.events.concept_start,
            made.events.concept_start[1:],
            strict=False,
        )
    }
    assert meant["red wine"] == ["red wine"]
    assert meant["dogs"] == ["dog"]
    assert made.row(0)["dog"] == 2
    with pytest.raises(ic.BadInputError, match="needs whole queries"):
        log.transactions(items="nouns", events=True)


def test_without_times_each_line_is_an_asking(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("user,query\na,dogs\na,dogs\nb,cats\n")
    with ic.read_log(path) as read:
        events = read.transactions(items="queries", events=True).events
    assert events.query.tolist() == [1, 1, 0]
    assert set(events.time.tolist()) == {0}


def test_baskets_hold_no_queries(tmp_path):
    path = tmp_path / "baskets.dat"
    path.write_text("a b\n")
    with ic.read_baskets(path) as read, pytest.raises(ic.BadInputError, match="needs a query log"):
        read.transactions(events=True)


def test_items_that_go_take_their_meaning_along(log):
    made = log.transactions(items="queries", events=True)
    left = made.without_items(np.array([False, True, False]), note="")
    assert left.events.concept.tolist() == [0, 1]
    assert left.events.concept_start.tolist() == [0, 1, 1, 2]
    assert left.events.query.tolist() == made.events.query.tolist()


def test_rows_in_memory_can_be_askings():
    made = ic.Transactions.from_rows([["b", "a", "b"], [], ["a"]]).with_events()
    assert [[text for text, _, _ in row] for row in told(made.events)] == [["a", "b", "b"], [], ["a"]]
