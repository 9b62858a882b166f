"""What the provider's server really received, from a gateway that people attack and rely on.

Everything that reaches it in these tests goes through `Provider.heard`, which judges each request. Whether the
provider knows too much is judged by a scan of the table's own values that shares no code with what decided.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from fractions import Fraction

import pytest

from gateway.harness import KEY, RunningGateway, configuration, hashed, key_of
from gateway.upstream import Upstream, text
from generalizer.naive import own_query
from helpers import free_port
from incrowd.generalizer.synthetic import synthetic_loans

LOANS = synthetic_loans(4_000, seed=7)
PEOPLE = LOANS.to_pylist()
ATTRIBUTES = ("loan", "reason", "county", "race", "gender")
NEEDED = Fraction(3)  # income:l=5
TOKEN = "Bearer the gateway's own token"
LANGUAGE = "en-GB"
PLANT = "planted"
ALLOWED_HEADERS = {
    "host",
    "accept",
    "accept-encoding",
    "user-agent",
    "authorization",
    "accept-language",
    "content-length",
    "content-type",
}
PAGING = {"offset", "limit"}
OWN = random.Random(11).sample(range(len(PEOPLE)), 24)
HOSTILE_HEADERS = {
    "Cookie": f"session={PLANT}-cookie",
    "Referer": f"https://{PLANT}-referer.example/?income=1",
    "User-Agent": f"{PLANT}-agent",
    "X-Forwarded-For": f"203.0.113.7, {PLANT}-forwarded",
    "Forwarded": f"for={PLANT}-for",
    "X-Real-Ip": f"{PLANT}-real",
    "Via": f"1.1 {PLANT}-via",
    "Origin": f"https://{PLANT}-origin.example",
    "From": f"{PLANT}@example.com",
    "X-Custom": f"{PLANT}-custom",
    "Accept": f"application/{PLANT}",
    "Accept-Encoding": f"{PLANT}-encoding",
    "If-None-Match": f'"{PLANT}-etag"',
    "Range": f"bytes={PLANT}",
    "Traceparent": f"00-{PLANT}-01",
    "Accept-Language": LANGUAGE,
}


class Provider:
    """The provider's server, and what it must never hear."""

    def __init__(self, server):
        self.server = server
        self.requests = 0

    def heard(self):
        """Return the checked queries that arrived since the last call: name -> text, one for each request."""
        received = self.server.received
        self.server.steer()
        self.requests += len(received)
        return [self._judged(request) for request in received]

    def _judged(self, request):
        headers = dict(request["headers"])
        assert set(headers) <= ALLOWED_HEADERS
        assert len(headers) == len(request["headers"])
        assert headers["user-agent"] == "incrowd"
        assert headers["authorization"] == TOKEN
        assert headers["accept"] == "application/json"
        assert headers.get("accept-language", LANGUAGE) == LANGUAGE
        whole = json.dumps(request)
        for secret in (PLANT, "the key of", KEY, "alice", "email", '"income"', '"name"', "cookie"):
            assert secret not in whole, whole
        body = json.loads(request["body"]) if request["body"] else {}
        received = dict(request["query"]) | body
        assert set(received) <= {*ATTRIBUTES, *PAGING, "q"}
        return {name: text(value) for name, value in received.items() if name not in PAGING}


@pytest.fixture(scope="module")
def provider():
    rows = [{"id": number, "name": f"Nr. {number}", **person} for number, person in enumerate(PEOPLE)]
    with Upstream(rows) as server:
        yield Provider(server)


def settings(folder, provider):
    http = {
        "kind": "http",
        "url": provider.server.url,
        "rows": "/items",
        "headers": {"authorization": TOKEN},
        "forward": ["accept-language"],
        "pages": {"kind": "offset", "size": 4_000, "total": "/total"},
    }
    parameters = {
        **dict.fromkeys((*ATTRIBUTES, "income"), "quasi"),
        "q": "passthrough",
        "email": "block",
        "name": {"use": "block", "field": "/name"},
    }
    people = [{"name": f"row {row}", "key_sha256": hashed(key_of(row))} for row in OWN]
    people.append({"name": "alice", "key_sha256": hashed(KEY)})
    return configuration(folder / "people.parquet", http) | {
        "privacy": {"protect": ["income:l=5"], "secret": "a secret of the gateway's operator"},
        "ledger": {"file": str(folder / "ledger.sqlite")},
        "metrics": {"port": free_port()},
        "log": "debug",
        "people": people,
        "providers": {"loans": http, "json": {**http, "send": "json"}},
        "routes": [
            {"path": "/loans", "provider": "loans", "parameters": parameters, "sort": ["id"]},
            {"path": "/json", "provider": "json", "parameters": parameters},
        ],
    }


@pytest.fixture(scope="module")
def gateway(folder, provider):
    with RunningGateway(folder, settings(folder, provider)) as gateway:
        provider.server.steer()
        yield gateway


@pytest.fixture
def usual(gateway, folder, provider):
    """Give the gateway its first configuration back after a test that reloads."""
    yield settings(folder, provider) | {
        "listen": gateway.config["listen"],
        "metrics": gateway.config["metrics"],
    }
    provider.heard()


def guesses_needed(known):
    """Return G of the income among the people who agree with all that is known (name -> text)."""
    found = Counter(
        person["income"]
        for person in PEOPLE
        if all(text(person[name]) == value for name, value in known.items())
    )
    guesses = sum(place * count for place, (_, count) in enumerate(found.most_common(), start=1))
    return Fraction(guesses, found.total())


def ledger_rows(folder):
    with sqlite3.connect(folder / "ledger.sqlite") as file:
        rows = file.execute("SELECT * FROM disclosures ORDER BY 1, 2, 3").fetchall()
    file.close()
    return rows


def ask(gateway, method, query, **options):
    return gateway.post(query, **options) if method == "post" else gateway.ask(**options, **query)


def five_linked_queries(gateway, provider, rows, seed):
    """Return how many attributes the provider knows of each in the end, and whose income it can guess by then."""
    random_, known, fallen = random.Random(seed), {row: {} for row in rows}, set()
    for _ in range(5):
        for row in rows:  # in turns, so that people mix
            query = own_query(random_, PEOPLE[row])
            reply = gateway.ask(key=key_of(row), **query)
            assert reply.status in {200, 403}, reply.body
            heard = provider.heard()
            assert bool(heard) == (reply.status == 200)
            for sent in heard:
                assert sent.items() <= {name: text(value) for name, value in query.items()}.items()
                assert guesses_needed(sent) >= NEEDED
                known[row] |= sent
            if guesses_needed(known[row]) < NEEDED:
                fallen.add(row)
    return [len(each) for each in known.values()], fallen


def test_no_person_is_below_the_policy_after_five_linked_queries(gateway, provider):
    disclosed, fallen = five_linked_queries(gateway, provider, OWN[:8], seed=1)
    assert not fallen
    assert max(disclosed) >= 2  # they do get something out of it


def test_without_the_ledger_the_same_five_queries_give_people_away(gateway, provider, usual):
    """Else the test above could not fail."""
    gateway.reload({name: value for name, value in usual.items() if name != "ledger"})
    _, fallen = five_linked_queries(gateway, provider, OWN[:8], seed=1)
    assert len(fallen) >= 3
    gateway.reload(usual)


def test_a_repeated_query_to_random_fit_discloses_nothing_new(gateway, provider, folder, usual):
    gateway.reload(usual | {"privacy": usual["privacy"] | {"strategy": "random-fit"}})
    _, fallen = five_linked_queries(gateway, provider, OWN[8:12], seed=2)
    assert not fallen
    random_, generalized = random.Random(3), 0
    for row in OWN[12:18]:
        query = own_query(random_, PEOPLE[row])
        first = gateway.ask(key=key_of(row), **query)
        heard, written = provider.heard(), ledger_rows(folder)
        generalized += bool(first.json["privacy"]["dropped"])
        for method in ("ask", "ask", "post"):
            reply = ask(gateway, method, query, key=key_of(row))
            assert reply.json["privacy"]["sent"] == first.json["privacy"]["sent"]
            assert provider.heard() == heard
        assert ledger_rows(folder) == written
    assert generalized >= 2
    gateway.reload(usual)


def test_strict_mode_sends_the_same_names_for_the_same_template_or_nothing(gateway, provider, usual):
    strict = usual["privacy"] | {"strategy": "strict"}
    gateway.reload({name: value for name, value in usual.items() if name != "ledger"} | {"privacy": strict})
    random_, templates = random.Random(4), {}
    for names in (
        ("county", "race"),
        ("county", "race", "gender"),
        ("reason", "county", "gender"),
        ("loan", "race"),
    ):
        for row in random_.sample(range(len(PEOPLE)), 15):
            reply = gateway.ask(**{name: PEOPLE[row][name] for name in names})
            heard = provider.heard()
            assert reply.status in {200, 403}
            assert bool(heard) == (reply.status == 200)
            templates.setdefault(names, Counter())[tuple(sorted(heard[0])) if heard else None] += 1
            for sent in heard:
                assert guesses_needed(sent) >= NEEDED
    sent = {names: set(seen) - {None} for names, seen in templates.items()}
    assert all(len(each) <= 1 for each in sent.values()), sent
    assert any(each for each in sent.values())
    gateway.reload(usual)


def planted_everywhere(gateway):
    """Ask in every hostile way there is; yield the replies."""
    person = PEOPLE[OWN[20]]
    county, income = person["county"], person["income"]
    for path in ("/loans", "/json"):
        for method in ("ask", "post"):
            for given in (
                {"county": county},
                {"county": county, "email": f"{PLANT}@example.com"},
                {"county": county, "name": f"{PLANT} name"},
                {"county": county, "income": income},
                {"income": income, "sort": "id" if path == "/loans" else ""},
                {"county": county, "key": KEY, "api_key": KEY},
                {"unknown": PLANT, f"{PLANT}-name": "x"},
                *({name: f"{PLANT}-{name}"} for name in (*ATTRIBUTES, "income", "sort", "offset", "limit")),
            ):
                yield ask(gateway, method, given, path=path, headers=HOSTILE_HEADERS)
    yield gateway.request(
        "GET", f"/loans?county={county}", key=None, headers={"X-Api-Key": KEY} | HOSTILE_HEADERS
    )
    yield gateway.ask(key=f"{PLANT}-key", county=county)
    yield gateway.request("GET", f"/loans/{PLANT}", headers=HOSTILE_HEADERS)
    yield gateway.request("PATCH", f"/loans?{PLANT}={PLANT}", headers=HOSTILE_HEADERS)
    yield gateway.request("GET", f"/loans?county={PLANT}&county={PLANT}")
    yield gateway.request("GET", f"/loans?{PLANT}=%ff")
    yield gateway.post(f'{{"county": "{PLANT}"'.encode())
    yield gateway.post({"county": {PLANT: [PLANT]}})


def test_no_planted_value_reaches_the_provider_the_log_the_metrics_or_an_error(gateway, provider):
    provider.heard()
    before, statuses = provider.requests, Counter()
    for reply in planted_everywhere(gateway):
        provider.heard()  # judges
        statuses[reply.status] += 1
        if reply.status == 200:
            assert PLANT not in json.dumps(reply.json["rows"])
            assert PLANT not in json.dumps(reply.json["privacy"]["sent"])
        else:
            assert PLANT not in reply.body.decode()
            assert set(reply.json["error"]) == {"code", "message", "request"}
            assert "\n" not in reply.json["error"]["message"]
        assert PLANT not in json.dumps(reply.headers)
    assert set(statuses) == {200, 400, 401, 404, 405}
    assert provider.requests - before >= statuses[200]
    for fault in (
        {"fault": "status", "status": 500},
        {"fault": "garbage"},
        {"fault": "field-missing", "field": "name"},
    ):
        provider.server.steer(**fault)
        reply = gateway.ask(county="Essex", name=f"{PLANT} name", email=PLANT, headers=HOSTILE_HEADERS)
        assert reply.status == 502
        assert PLANT not in reply.body.decode()
        assert len(provider.heard()) == 1
    assert "county" in gateway.metrics_text()
    for disclosed in (gateway.log, gateway.metrics_text()):
        for secret in (
            PLANT,
            KEY,
            "the key of",
            TOKEN,
            "Essex",
            PEOPLE[OWN[20]]["county"],
            PEOPLE[OWN[20]]["reason"],
        ):
            assert secret not in disclosed


def test_answers_to_hostile_requests_are_right_all_the_same(gateway, provider):
    person = PEOPLE[OWN[21]]
    query = {"county": person["county"], "income": person["income"], "name": f"Nr. {OWN[21]}"}
    reply = gateway.ask(key=key_of(OWN[21]), headers=HOSTILE_HEADERS, **query)
    assert [row["id"] for row in reply.json["rows"]] == [OWN[21]]
    assert reply.json["answer"] == "exact"
    assert "set-cookie" not in {name.lower() for name in reply.headers}
    assert reply.json["privacy"]["blocked"] == ["name"]
    partial = gateway.ask(key=key_of(OWN[21]), county=person["county"], nonsense="1").json
    assert (partial["answer"], partial["privacy"]["blocked"]) == ("partial", ["nonsense"])
    provider.heard()


def test_a_preview_sends_nothing_and_writes_nothing(gateway, provider, folder):
    random_, row = random.Random(5), OWN[19]
    provider.heard()
    connections, before = provider.server.connections, ledger_rows(folder)
    queries = [own_query(random_, PEOPLE[row]) for _ in range(5)]
    for query in queries:
        for reply in (
            gateway.ask("/preview/loans", key=key_of(row), **query),
            gateway.post(query, "/preview/loans", key=key_of(row)),
        ):
            assert reply.status == 200
            assert "rows" not in reply.json
    assert (provider.heard(), provider.server.connections, ledger_rows(folder)) == ([], connections, before)
    for query in queries:  # the preview of a later one depends on past disclosures
        preview = gateway.ask("/preview/loans", key=key_of(row), **query).json
        answer = gateway.ask(key=key_of(row), **query).json
        assert answer["privacy"] == preview
        assert {name: text(value) for name, value in preview["sent"].items()} == provider.heard()[0]
    assert ledger_rows(folder) != before


def test_a_refused_query_sends_nothing_and_writes_nothing(gateway, provider, folder, usual):
    """Every query is refused if even the query for all rows discloses the income."""
    gateway.reload(usual | {"privacy": usual["privacy"] | {"protect": ["income:g=1000"]}})
    before = ledger_rows(folder)
    provider.heard()
    for path in ("/loans", "/json", "/preview/loans"):
        reply = gateway.ask(path, key=key_of(OWN[22]), county="Essex", email=PLANT)
        assert (reply.status, reply.code) == (403, "refused")
    assert (provider.heard(), ledger_rows(folder)) == ([], before)
    gateway.reload(usual)
    assert gateway.ask(key=key_of(OWN[22]), county="Essex").status == 200
    assert len(provider.heard()) == 1
