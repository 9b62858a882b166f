"""``incrowd.audit`` holds a release against originals that Python has: tables, rows, files."""

from __future__ import annotations

import random

import pandas as pd
import pytest

import incrowd as ic

WORDS = ["hardwood floors", "high school reunion", "pottery barn", "crate and barrel"]


@pytest.fixture(scope="module")
def frame():
    dice = random.Random(1)
    rows = [
        (f"p{person}", pd.Timestamp("2006-03-01") + pd.Timedelta(hours=7 * visit), dice.choice(WORDS))
        for person in range(60)
        for visit in range(3)
    ]
    return pd.DataFrame(rows, columns=["who", "when", "text"])


@pytest.fixture(scope="module", params=["words", "people"])
def place(frame, request, tmp_path_factory):
    place = tmp_path_factory.mktemp(request.param)
    release = ic.anonymize(frame, k=5, goal=request.param, user="who", time="when", query="text")
    release.write(place / "out", private_map=place / "map")
    return place


def test_a_release_is_held_against_the_table_that_it_was_made_from(frame, place):
    found = ic.audit(
        place / "out", original=frame, private_map=place / "map", user="who", time="when", query="text"
    )
    assert found.confirmed
    assert found.people_min >= 5
    assert len(found.checks) > len(ic.audit(place / "out").checks)


def test_other_originals_are_not_confirmed(frame, place):
    other = frame.assign(text=frame["text"].iloc[::-1].to_numpy())
    found = ic.audit(
        place / "out", original=other, private_map=place / "map", user="who", time="when", query="text"
    )
    assert not found.holds
    assert not any(word in problem for problem in found.problems for word in WORDS)


def test_what_does_not_go_together_is_refused(frame, place):
    with pytest.raises(ic.BadInputError, match="original"):
        ic.audit(place / "out", user="who")
    with pytest.raises(ic.BadInputError, match="private_map"):
        ic.audit(place / "out", original=frame, user="who", query="text")
