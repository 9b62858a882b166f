"""Where words stand in queries: the earliest place in any query of a unit, and only where it is asked for."""

from __future__ import annotations

import numpy as np
import pytest

from incrowd.logs import read_log
from incrowd.logs.tokens import LAST_PLACE

LONG = " ".join(f"w{n}" for n in range(300))
LINES = [
    "user,time,query",
    "ann,1,high school reunion",
    "ann,2,the reunion",
    "ann,9000,school",
    f"bob,1,{LONG}",
    "bob,2,high high",
]


@pytest.fixture
def log(tmp_path):
    (tmp_path / "log.csv").write_text("\n".join(LINES) + "\n")
    return tmp_path / "log.csv"


def places(log, **options):
    with read_log(log) as read:
        data = read.transactions(places=True, **options)
    rows = []
    for row in range(len(data)):
        part = slice(int(data.indptr[row]), int(data.indptr[row + 1]))
        words = data.vocabulary.take(data.items[part]).to_pylist()
        rows.append(dict(zip(words, data.places[part].tolist(), strict=True)))
    return rows


def test_the_earliest_place_counts(log):
    ann, bob = places(log, items="terms")
    assert ann == {"high": 0, "school": 0, "reunion": 1}
    assert (bob["high"], bob["w0"], bob["w7"]) == (0, 0, 7)
    assert bob["w299"] == bob["w255"] == LAST_PLACE


def test_sessions_have_places_of_their_own(log):
    first, second, _ = places(log, items="terms", unit="session:30m")
    assert first == {"high": 0, "school": 1, "reunion": 1}
    assert second == {"school": 0}


def test_places_change_nothing_else_and_only_words_have_them(log):
    with read_log(log) as read:
        for items in ("terms", "nouns"):
            one, other = (read.transactions(items=items, places=asked) for asked in (False, True))
            assert one.places is None
            assert len(other.places) == len(other.items)
            for name in ("indptr", "items", "counts"):
                assert np.array_equal(getattr(one, name), getattr(other, name))
            assert one.vocabulary.equals(other.vocabulary)
        assert read.transactions(items="queries", places=True).places is None
