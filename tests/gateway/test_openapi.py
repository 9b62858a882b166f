"""The gateway's description of itself: valid, whole, and true of what it really answers."""

from __future__ import annotations

from types import SimpleNamespace

import jsonschema_rs
import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig

from gateway.harness import KEY, RunningGateway, configuration, hashed
from gateway.small_town import REVEALING, provider, write_table
from gateway.upstream import Upstream
from incrowd.gateway.requests.problems import STATUSES

PARAMETERS = {"county": "quasi", "race": "quasi", "gender": "quasi", "income": "quasi", "q": "passthrough"}
OWN = {"/": "text/html", "/openapi.json": "application/json", "/healthz": "application/json"}
OWN["/readyz"] = "application/json"
RATE = 30


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    """A gateway with a person whose wish cannot be met, one who asks too much, and a provider who may be slow."""
    names = {
        "alice": KEY,
        "bob": "bob, who wants too much to stay hidden",
        "carol": "carol, who asks and asks",
    }
    people = [{"name": name, "key_sha256": hashed(key)} for name, key in names.items()]
    people[1]["protect"] = ["income:l=50"]
    routes = [
        {"path": "/loans", "provider": "loans", "parameters": PARAMETERS, "sort": ["id", "a.b"]},
        {"path": "/houses/old", "provider": "loans", "parameters": {"county": "quasi", "email": "block"}},
    ]
    folder = tmp_path_factory.mktemp("town")
    with Upstream([{"id": 1, **REVEALING, "income": 10}]) as upstream:
        hasty = provider(upstream.url, timeout="300ms", retries=0)
        config = configuration(
            write_table(folder), hasty, people=people, routes=routes, rate={"requests": RATE, "per": "1h"}
        )
        config["privacy"]["strategy"] = "worst-fit"
        with RunningGateway(folder, config) as gateway:
            yield SimpleNamespace(gateway=gateway, upstream=upstream, keys=names)


@pytest.fixture(scope="module")
def description(town):
    return town.gateway.request("GET", "/openapi.json", key=None).json


def schemas_in(node):
    """Yield every schema of a description."""
    if isinstance(node, dict):
        yield from (node["schema"] for key in node if key == "schema")
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from schemas_in(child)


def test_is_valid(description):
    assert description["openapi"].startswith("3.1.")
    schemathesis.openapi.from_dict(description, config=SchemathesisConfig()).validate()
    every = [*schemas_in(description), *description["components"]["schemas"].values()]
    assert len(every) > 20
    for schema in every:
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})


def test_has_every_path_with_its_methods(description):
    queries = {"/loans", "/preview/loans", "/houses/old", "/preview/houses/old"}
    assert {path: set(item) for path, item in description["paths"].items()} == {
        path: {"get"} if path in OWN else {"get", "post"} for path in (*OWN, *queries)
    }


@pytest.mark.parametrize(
    ("path", "names"), [("/loans", PARAMETERS), ("/houses/old", {"county": 1, "email": 1})]
)
@pytest.mark.parametrize("prefix", ["", "/preview"])
def test_has_every_parameter_in_the_url_and_in_the_body(description, path, names, prefix):
    item = description["paths"][prefix + path]
    everything = {*names, "sort", "offset", "limit"}
    in_url = item["get"]["parameters"]
    assert {one["name"] for one in in_url} == everything
    assert {one["in"] for one in in_url} == {"query"}
    body = item["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert set(body["properties"]) == everything


def test_says_what_a_page_and_an_order_may_be(description):
    body = description["paths"]["/loans"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    for right in ({}, {"limit": 500}, {"limit": None, "offset": "7"}, {"sort": "-id,a.b"}, {"sort": ""}):
        assert jsonschema_rs.is_valid(body, right), right
    wrong = ({"limit": 501}, {"limit": 0}, {"offset": -1}, {"offset": "x"}, {"sort": "aXb"}, {"new": []})
    for each in wrong:
        assert not jsonschema_rs.is_valid(body, each), each
    unsorted = description["paths"]["/houses/old"]["post"]["requestBody"]["content"]["application/json"]
    assert not jsonschema_rs.is_valid(unsorted["schema"], {"sort": "id"})


def test_only_the_paths_that_tell_nothing_of_people_are_open(description):
    assert len(description["security"]) == len(description["components"]["securitySchemes"]) == 2
    for path, item in description["paths"].items():
        for operation in item.values():
            assert operation.get("security") == ([] if path in OWN else None)


def check_described(description, reply, path, method="get"):
    """Check an answer against what the description says of its status: its kind, and no field more or less."""
    said = description["paths"][path][method]["responses"][str(reply.status)]
    ((kind, content),) = said["content"].items()
    assert reply.headers["content-type"].split(";")[0] == kind
    if kind == "application/json":
        schema = {**content["schema"], "components": description["components"]}
        jsonschema_rs.validate(schema, reply.json)
    return reply


def fields_of(description, name):
    return set(description["components"]["schemas"][name]["properties"])


@pytest.mark.parametrize("path", OWN)
def test_own_paths(town, description, path):
    assert check_described(description, town.gateway.request("GET", path, key=None), path).status == 200


def test_answers_and_previews(town, description):
    town.upstream.steer()
    answer = check_described(description, town.gateway.ask(**REVEALING), "/loans").json
    assert set(answer) == fields_of(description, "Answer")
    assert set(answer["privacy"]) == fields_of(description, "Privacy")
    posted = check_described(description, town.gateway.post(REVEALING), "/loans", "post").json
    assert posted == answer
    preview = town.gateway.post(REVEALING, path="/preview/loans")
    assert check_described(description, preview, "/preview/loans", "post").json == answer["privacy"]
    partial = check_described(description, town.gateway.ask(unknown="1"), "/loans").json
    assert partial["answer"] == "partial"


def steered(town, **settings):
    town.upstream.steer(**settings)
    return town.gateway.ask(**REVEALING)


def worn_out(town):
    for _ in range(RATE):
        town.gateway.ask("/preview/loans", key=town.keys["carol"])
    return town.gateway.ask(key=town.keys["carol"])


PROBLEMS = {
    "bad_request": lambda town: town.gateway.ask(county="Atlantis"),
    "unauthorized": lambda town: town.gateway.ask(key="nobody's"),
    "refused": lambda town: town.gateway.ask(key=town.keys["bob"], **REVEALING),
    "too_many_requests": worn_out,
    "provider_error": lambda town: steered(town, fault="status", status=500),
    "field_missing": lambda town: steered(town, fault="field-missing", field="gender"),
    "provider_timeout": lambda town: steered(town, fault="slow", seconds=2),
}


@pytest.mark.parametrize("code", PROBLEMS)
def test_problems(town, description, code):
    town.upstream.steer()
    reply = check_described(description, PROBLEMS[code](town), "/loans")
    assert reply.status == STATUSES[code]
    assert reply.code == code
    assert set(reply.json) == {"error"}
    assert reply.json["error"]["request"] == reply.headers["incrowd-request"]


def test_a_body_too_large(town, description):
    reply = town.gateway.post(b" " * 70_000)
    assert check_described(description, reply, "/loans", "post").code == "too_large"


def test_problems_that_no_path_has_look_the_same(town, description):
    schema = {"$ref": "#/components/schemas/Problem", "components": description["components"]}
    for method, path, code in (("GET", "/no", "not_found"), ("PUT", "/loans", "method_not_allowed")):
        reply = town.gateway.request(method, path)
        jsonschema_rs.validate(schema, reply.json)
        assert (reply.status, reply.code) == (STATUSES[code], code)


def test_without_its_table_the_gateway_describes_itself_and_is_not_ready(tmp_path):
    with Upstream([]) as upstream:
        config = configuration(tmp_path / "absent.csv", provider(upstream.url))
        with RunningGateway(tmp_path, config, ready=False) as gateway:
            description = gateway.request("GET", "/openapi.json", key=None).json
            for path in ("/loans", "/preview/loans", "/readyz"):
                reply = check_described(description, gateway.ask(path), path)
                assert reply.code == "unavailable"
            assert upstream.received == []


def test_the_page_has_a_policy_of_its_own_each_time(town):
    first, second = (town.gateway.request("GET", "/", key=None) for _ in range(2))
    assert first.headers["content-security-policy"] != second.headers["content-security-policy"]
    assert "default-src 'none'" in first.headers["content-security-policy"]
