"""Rows that contradict what was sent are not an exact answer. And the cache discloses nothing about other people's queries."""

from __future__ import annotations

import pytest

from gateway.harness import KEY, hashed
from gateway.small_town import open_town

BOB = "bob's own key 9876543210"
PEOPLE = [{"name": name, "key_sha256": hashed(key)} for name, key in (("alice", KEY), ("bob", BOB))]
ROUTE = {"provider": "loans", "parameters": {"county": {"use": "quasi", "send": ["place"]}, "race": "quasi"}}


@pytest.fixture(scope="module")
def careless(tmp_path_factory):
    """A gateway before a provider that does not know the parameter `place`, and answers as if it were not there."""
    routes = [ROUTE | {"path": "/loans"}, ROUTE | {"path": "/partial", "partial": True}]
    with open_town(tmp_path_factory.mktemp("careless"), routes=routes, cache={}, people=PEOPLE) as town:
        yield town


def test_rows_that_contradict_what_was_sent_are_no_exact_answer(careless):
    gateway, upstream = careless
    reply = gateway.ask(county="Dukes")
    assert dict(upstream.received[-1]["query"]) == {"place": "Dukes"}
    assert (reply.status, reply.code) == (502, "provider_error")
    assert "contradict what was sent in the field '/county'" in reply.json["error"]["message"]
    assert "Dukes" not in reply.json["error"]["message"]


def test_where_partial_answers_are_allowed_they_are_called_partial(careless):
    gateway, _ = careless
    reply = gateway.ask("/partial", county="Dukes")
    assert reply.json["answer"] == "partial"
    assert "contradict" in reply.json["missing"][0]
    assert {row["county"] for row in reply.json["rows"]} == {"Dukes"}


def test_rows_that_agree_with_what_was_sent_are_exact(careless):
    gateway, _ = careless
    assert gateway.ask(race="White").json["answer"] == "exact"


def test_a_kept_answer_is_kept_for_its_person(careless):
    gateway, upstream = careless
    upstream.steer()
    for key in (KEY, KEY, BOB, BOB):
        assert gateway.ask(race="Black", key=key).json["answer"] == "exact"
    assert len(upstream.received) == 2
