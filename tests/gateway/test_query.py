"""Queries, built from requests: what is wanted, what is sent in its place, and what goes nowhere."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pyarrow as pa
import pytest

from incrowd.errors import BadInputError
from incrowd.gateway.config.settings import Page, Parameter, Person, Route
from incrowd.gateway.requests.answer import SortField, narrow
from incrowd.gateway.requests.problems import Problem
from incrowd.gateway.requests.query import QueryBuilder
from incrowd.generalizer import encode, parse_policies, schema_of
from incrowd.generalizer.counters import Scan
from incrowd.generalizer.protection import Protection

ROUTE = Route(
    path="/loans",
    provider="loans",
    parameters={
        "county": Parameter(use="quasi", attribute="place", field="/where/county", send=("county", "state")),
        "race": Parameter(use="quasi", attribute="race", field="/race", send=("race",)),
        "words": Parameter(use="passthrough", send=("q",)),
        "more": Parameter(use="passthrough", send=("r",)),
        "name": Parameter(use="block", field="/name"),
        "email": Parameter(use="block"),
    },
    sort=("amount", "county"),
    page=Page(size=20, most=100),
)
PLANTED = "Zyxomma7731"
STATES = {"Essex": ["MA"], "Dukes": ["MA"], "Kings": ["NY"]}
# In a county all people of a race have one income; in a state there are several.
INCOMES = {("Essex", "Black"): 1, ("Essex", "White"): 2, ("Dukes", "Black"): 3, ("Dukes", "White"): 4}
PEOPLE = [{"place": place, "race": race, "income": income} for (place, race), income in INCOMES.items()] + [
    {"place": "Kings", "race": race, "income": income} for race in ("Black", "White") for income in (1, 2)
]
ALICE = Person(name="alice", key_sha256="0" * 64, protect=parse_policies(["income:g=3/2"]))


@pytest.fixture(scope="module")
def builder():
    table = pa.Table.from_pylist(PEOPLE)
    schema = schema_of(table, ladders={"place": STATES})
    return QueryBuilder(ROUTE, Protection(Scan(encode(table, schema)), strategy="least-rows"))


@pytest.fixture(scope="module")
def build(builder):
    return lambda given, past=None: builder.build(ALICE, "POST", json.dumps(given).encode(), past)


def test_each_parameter_goes_where_it_belongs(build):
    query = build({"county": "Essex", "race": "Black", "words": "x", "name": "Ada", "email": "e", "new": 1})
    assert query.sent == {"q": "x", "state": "MA", "race": "Black"}
    assert [(wanted.field, wanted.text) for wanted in query.filters] == [
        ("/where/county", "Essex"),
        ("/race", "Black"),
        ("/name", "Ada"),
    ]
    assert query.unknown == ("new",)
    assert (query.order, query.offset, query.limit) == ((), 0, 20)
    privacy = json.loads(bytes(query.privacy))
    assert privacy["sent"] == query.sent
    assert (privacy["kept"], privacy["coarser"], privacy["dropped"]) == (["race"], ["place"], [])
    assert privacy["blocked"] == ["name", "email", "new"]
    assert privacy["guesses"] == {"income": {"needed": "3/2", "before": "1", "after": "3/2"}}


def test_get_and_post_are_one_query(builder):
    given = {"county": "Essex", "race": "Black"}
    got = builder.build(ALICE, "GET", urlencode(given).encode(), None)
    posted = builder.build(ALICE, "POST", json.dumps(given).encode(), None)
    assert (got.sent, got.filters, got.privacy) == (posted.sent, posted.filters, posted.privacy)


def test_the_order_in_which_parameters_are_given_does_not_show(build):
    given = {"county": "Kings", "race": "White", "words": "x", "more": "y", "name": "Ada", "email": "e"}
    one, other = build(given), build(dict(reversed(given.items())))
    assert list(one.sent.items()) == list(other.sent.items())
    assert one.privacy == other.privacy


def test_what_was_disclosed_before_counts(build):
    given = {"county": "Essex"}
    before = build(given)
    assert before.sent == {"county": "Essex"}
    after = build(given, {"race": frozenset({"0/Black"})})
    assert after.sent == {"state": "MA"}
    assert after.past == {"race": frozenset({"0/Black"})}


def test_a_query_that_is_refused_sends_nothing(builder):
    person = Person(name="bob", key_sha256="1" * 64, protect=parse_policies(["income:g=4"]))
    query = builder.build(person, "GET", b"county=Essex&words=x", None)
    assert query.decision.refused
    assert query.sent == {}
    assert bytes(query.privacy) == b"{}"


def test_a_value_that_the_table_does_not_know_is_no_query(build):
    with pytest.raises(BadInputError) as caught:
        build({"county": PLANTED})
    assert PLANTED not in str(caught.value)


def test_the_filters_find_their_fields(build):
    query = build({"county": "Kings", "name": True})
    rows = [
        {"where": {"county": county}, "name": name}
        for county in ("Kings", "Essex")
        for name in ("true", "no")
    ]
    assert narrow(rows, query.filters, offset=0, limit=9).rows == rows[:1]


@pytest.mark.parametrize(
    ("given", "counties", "contradicted"),
    [
        ({"county": "Kings"}, ("Kings", "Kings"), ()),  # sent as it is
        ({"county": "Kings"}, ("Kings", "Essex"), ("/where/county",)),
        ({"county": "Kings"}, ("Kings", None), ("/where/county",)),
        ({"county": "Essex", "race": "Black"}, ("Essex", "Dukes"), ()),  # only the state is sent
        ({"county": "Essex", "race": "Black"}, ("Essex", "Kings"), ("/where/county",)),
        ({"county": "Essex", "race": "Black"}, ("Essex", "Nantucket", None), ()),  # its state is not known
    ],
)
def test_rows_are_held_against_what_was_sent(build, given, counties, contradicted):
    rows = [{"where": {"county": county}, "race": "Black"} for county in counties]
    assert narrow(rows, build(given).filters, offset=0, limit=9).contradicted == contradicted


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_blank_parameter_is_not_part_of_the_query(build, nothing):
    blank = build(dict.fromkeys((*ROUTE.parameters, "new", "sort", "offset", "limit"), nothing))
    assert (blank.sent, blank.filters, blank.unknown) == ({}, (), ())
    assert blank.privacy == build({}).privacy


@pytest.mark.parametrize("value", [0, False, 0.0])
def test_zero_and_false_are_not_blank(build, value):
    query = build({"words": value, "name": value, "new": value})
    assert query.sent == {"q": value}
    assert len(query.filters) == 1
    assert query.unknown == ("new",)


def test_order_and_page(build):
    query = build({"sort": "-amount,county", "offset": "40", "limit": 100.0})
    assert query.order == (SortField("amount", descending=True), SortField("county"))
    assert (query.offset, query.limit) == (40, 100)


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 101},
        {"limit": 0},
        {"limit": True},
        {"offset": -1},
        {"offset": 1.5},
        {"offset": PLANTED},
        {"sort": PLANTED},
        {"sort": 5},
    ],
)
def test_an_order_or_a_page_that_cannot_be(build, wrong):
    with pytest.raises(Problem) as caught:
        build(wrong)
    assert caught.value.code == "bad_request"
    assert next(iter(wrong)) in caught.value.message
    assert PLANTED not in caught.value.message


def test_a_query_cannot_be_changed(build):
    query = build({"county": "Kings"})
    with pytest.raises(AttributeError):
        query.sent = {"county": "Essex"}


def test_no_value_is_in_a_repr(build):
    given = {"words": PLANTED, "name": PLANTED, "email": PLANTED, "new": PLANTED, "county": "Essex"}
    shown = repr(build(given))
    assert PLANTED not in shown
    assert "Essex" not in shown
