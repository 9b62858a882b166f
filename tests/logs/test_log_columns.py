from __future__ import annotations

import pytest

from incrowd.core.memory import parse_memory
from incrowd.errors import BadInputError
from incrowd.logs.formats.columns import find_columns, parse_columns
from incrowd.logs.units import Unit, parse_unit


def test_column_maps():
    assert parse_columns("user=uid, query=words,time=t") == {"user": "uid", "query": "words", "time": "t"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("user", "must look like"),
        ("user=", "must look like"),
        ("usr=a", "did you mean 'user'"),
        ("user=a,user=b", "twice"),
    ],
)
def test_bad_column_maps(text, message):
    with pytest.raises(BadInputError, match=message):
        parse_columns(text)


def test_usual_names_are_guessed_whatever_their_case():
    assert find_columns(["QueryTime", "AnonID", "ItemRank", "Query"], None, file="f") == {
        "user": 1,
        "query": 3,
        "time": 0,
    }


def test_what_was_asked_for_wins():
    found = find_columns(["user", "who", "query"], {"user": "who"}, file="f")
    assert found == {"user": 1, "query": 2}


def test_a_missing_column_names_what_was_found():
    with pytest.raises(
        BadInputError,
        match=r"f has no column that looks like the query: found user, words; .*query=",
    ):
        find_columns(["user", "words"], None, file="f")
    with pytest.raises(
        BadInputError, match=r"no column 'word' for the query \(did you mean 'words'\?\): found user, words"
    ):
        find_columns(["user", "words"], {"query": "word"}, file="f")
    with pytest.raises(BadInputError, match="no column 'when' for the time"):
        find_columns(["user", "query"], {"time": "when"}, file="f")


def test_an_id_may_be_that_of_the_row():
    with pytest.raises(BadInputError, match="no column that looks like the user: found id, customer, query"):
        find_columns(["id", "customer", "query"], None, file="f")
    assert find_columns(["id", "query"], {"user": "id"}, file="f") == {"user": 0, "query": 1}


@pytest.mark.parametrize(
    ("names", "events", "role"),
    [
        (["user", "user", "query"], None, "user"),
        (["user", "User", "query"], None, "user"),
        (["user", "query", "query"], None, "query"),
        (["user", "query", "time", "time"], None, "time"),
        (["who", "who", "query"], {"user": "who"}, "user"),
        (["Who", "WHO", "query"], {"user": "who"}, "user"),
    ],
)
def test_two_columns_of_one_name_are_refused(names, events, role):
    with pytest.raises(BadInputError, match=f"f has 2 columns of one name for the {role}: .*{role}="):
        find_columns(names, events, file="f")


def test_a_name_that_differs_by_case_can_be_asked_for():
    assert find_columns(["user", "User", "query"], {"user": "User"}, file="f") == {"user": 1, "query": 2}


def test_one_column_is_not_two_roles():
    with pytest.raises(BadInputError, match="one column of f for the user and for the query: "):
        find_columns(["user", "query"], {"user": "user", "query": "user"}, file="f")
    with pytest.raises(BadInputError, match="no column that looks like the user"):
        find_columns(["user", "words"], {"query": "user"}, file="f")
    assert find_columns(["user", "url"], {"query": "url"}, file="f") == {"user": 0, "query": 1}
    assert find_columns(["query", "text"], {"user": "query"}, file="f") == {"user": 0, "query": 1}


@pytest.mark.parametrize("events", [None, {"user": "alise"}, {"query": "lepros"}])
def test_names_of_which_none_is_usual_may_be_a_record_and_are_not_shown(events):
    with pytest.raises(BadInputError, match=r"the shape 'aaaa, aaaa'; .*user=NAME") as caught:
        find_columns(["alice", "leprosy"], events, file="f")
    assert "alice" not in str(caught.value)
    assert "leprosy" not in str(caught.value)


@pytest.mark.parametrize(
    "cells",
    [
        ["alice", "17"],
        ["alice", ""],
        ["alice", "2020-01-01 10:00:00"],
        ["alice", "x" * 80],
        ["alice", "a@b.org"],
    ],
)
def test_a_first_line_that_is_no_header_is_not_quoted(cells):
    with pytest.raises(BadInputError, match="seems to have no header line") as caught:
        find_columns(cells, None, file="f")
    assert "alice" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "gap"), [("30m", 1800), ("1h", 3600), ("90s", 90), ("1d", 86400), ("1800", 1800), ("0", 0)]
)
def test_units(text, gap):
    assert parse_unit(f"session:{text}") == Unit(gap)
    assert parse_unit("user") == Unit()
    assert str(parse_unit("session:30m")) == "session:1800"


@pytest.mark.parametrize(
    "text", ["session", "session:", "session:1w", "session:-5", "sesion:30m", "", "users"]
)
def test_bad_units(text):
    with pytest.raises(BadInputError, match=r"^unit "):
        parse_unit(text)


def test_a_gap_of_more_than_ten_years_is_refused():
    assert parse_unit("session:3650d") == Unit(3650 * 86_400)
    for gap in ("3651d", "999999999d", "999999999h", "315360001"):
        with pytest.raises(BadInputError, match=rf"^unit must have a gap of at most .*{gap}"):
            parse_unit(f"session:{gap}")


@pytest.mark.parametrize(
    ("text", "size"), [("4GB", 4 * 10**9), ("1GiB", 2**30), ("1.5g", 1500 * 10**6), (10**9, 10**9)]
)
def test_memory(text, size):
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["lots", "4 apples", "1MB", "-4GB", ""])
def test_bad_memory(text):
    with pytest.raises(BadInputError, match=r"^memory must be"):
        parse_memory(text)
