from __future__ import annotations

import json

import pytest

from incrowd.errors import IncrowdError
from incrowd.gateway.requests import problems
from incrowd.gateway.requests.problems import STATUSES, Problem, as_json


def test_the_body_has_code_message_and_request():
    body = json.loads(as_json(problems.bad_request("limit must be a whole number"), "r-1"))
    assert body == {
        "error": {"code": "bad_request", "message": "limit must be a whole number", "request": "r-1"}
    }


def test_a_message_is_one_line_of_sound_text():
    problem = Problem("internal", "one\r\n  two\tthree \ud800")
    assert problem.message == str(problem) == "one two three ?"
    assert json.loads(as_json(problem, "x"))["error"]["message"] == "one two three ?"


@pytest.mark.parametrize(
    ("problem", "status", "code"),
    [
        (problems.bad_request("x"), 400, "bad_request"),
        (problems.unauthorized(), 401, "unauthorized"),
        (problems.refused("x"), 403, "refused"),
        (problems.not_found(), 404, "not_found"),
        (problems.method_not_allowed(["GET"]), 405, "method_not_allowed"),
        (problems.too_large(64_000), 413, "too_large"),
        (problems.too_many_requests(1.5), 429, "too_many_requests"),
        (problems.internal(), 500, "internal"),
        (problems.field_missing("/county"), 502, "field_missing"),
        (problems.unavailable("the ledger is locked"), 503, "unavailable"),
        (Problem("provider_timeout", "x"), 504, "provider_timeout"),
    ],
)
def test_codes_and_statuses_are_those_of_the_contract(problem, status, code):
    assert isinstance(problem, IncrowdError)
    assert (problem.status, problem.code) == (status, code)


def test_everything_of_the_provider_is_a_bad_gateway_but_a_timeout():
    assert {code for code, status in STATUSES.items() if status == 502} == {
        "provider_error",
        "provider_truncated",
        "field_missing",
        "budget_exceeded",
    }


def test_headers_say_what_the_status_obliges_to():
    assert problems.unauthorized().headers == {"www-authenticate": "Bearer"}
    assert problems.method_not_allowed(["GET", "POST"]).headers == {"allow": "GET, POST"}
    assert problems.too_many_requests(1.2).headers == {"retry-after": "2"}
    assert problems.too_many_requests(0.001).headers == {"retry-after": "1"}
    assert problems.unavailable("x").headers == {"retry-after": "1"}
    assert Problem("internal", "x").headers == {}


def test_problems_do_not_share_their_headers():
    Problem("internal", "x").headers["a"] = "b"
    assert Problem("internal", "x").headers == {}
