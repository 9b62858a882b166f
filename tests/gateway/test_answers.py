"""The person gets the very answer that the provider would have given to the original query.

Random tables and queries go through a real gateway to a real HTTP server and a real PostgreSQL. What is right is
worked out in plain Python from all of the provider's rows; what was sent is what the provider wrote down.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gateway.harness import RunningGateway, configuration
from gateway.upstream import Upstream, text
from helpers import until

REGIONS = {
    "Essex": "north",
    "Suffolk": "north",
    "Bristol": "south",
    "Dukes": "islands",
    "Nantucket": "islands",
}
PAGING = {"offset", "limit", "cursor"}
NEEDED = Fraction(3)  # income:l=5
QUERIES = 40
HTTP_ROUTES = {
    "offset": {"send": "query", "pages": {"kind": "offset", "size": 70, "total": "/total"}},
    "offset-json": {"send": "json", "key": "/id", "pages": {"kind": "offset", "size": 65}},
    "cursor": {"send": "query", "pages": {"kind": "cursor", "next": "/next", "limit": "limit", "size": 60}},
    "cursor-json": {"send": "json", "pages": {"kind": "cursor", "next": "/next"}},
    "link": {"send": "query", "pages": {"kind": "link", "next": "/links/next"}},
    "link-header": {"send": "query", "pages": {"kind": "link", "next": "header"}},
}
PARAMETERS = {
    "county": {"use": "quasi", "send": ["county", "region"]},
    "race": "quasi",
    "gender": "quasi",
    "age": "quasi",
    "income": "quasi",
    "branch": "passthrough",
    "name": {"use": "block", "field": "/name"},
    "email": "block",
}
FIELDS = ["county", "race", "gender", "age", "income", "branch", "name"]
COLUMNS = ["id", "county", "region", "race", "gender", "age", "income", "branch", "name", "amount"]


def made_up_person(random_):
    county = random_.choices(list(REGIONS), [30, 25, 20, 3, 2])[0]
    age = random_.choice(range(20, 60, 5))
    return {
        "county": county,
        "race": random_.choices(["White", "Black", "Asian", "Not provided"], [60, 15, 5, 20])[0],
        "gender": random_.choice(["Female", "Male"]),
        "age": age,
        "income": 1000 * random_.randint(age // 5, age // 5 + random_.choice([1, 3, 9])),
    }


def made_up_rows(random_, people):
    """Return the provider's rows: some of the people, some strangers, and some of whom little is known."""
    known = random_.sample(people, 250) + [made_up_person(random_) for _ in range(40)]
    rows = [{**person, "region": REGIONS[person["county"]]} for person in known]
    rows += [{**random_.choice(rows), "county": "Atlantis", "region": "sea"} for _ in range(10)]
    rows += [{**random_.choice(rows), "race": None, "age": None} for _ in range(10)]
    random_.shuffle(rows)
    for number, row in enumerate(rows):
        row |= {
            "id": number,
            "branch": random_.choice("AB"),
            "name": random_.choice(["Ann", "Bo", None]),
            "amount": random_.choice([None, 100, 250, 250.5, -3]),
        }
    return rows


class World:
    """A random table, a provider's rows, and the gateway between."""

    def __init__(self, seed, folder, postgres, upstreams):
        self.random = random_ = random.Random(seed)
        self.people = [made_up_person(random_) for _ in range(400)]
        self.rows = made_up_rows(random_, self.people)
        self.postgres = postgres
        self.upstream = upstreams.enter_context(Upstream(self.rows))
        self._fill_postgres()
        table, ladder = folder / f"people-{seed}.parquet", folder / "county.csv"
        pq.write_table(pa.Table.from_pylist(self.people), table)
        ladder.write_text("".join(f"{county};{region};*\n" for county, region in REGIONS.items()), "utf-8")
        self.config = self._configuration(table, ladder)

    def _fill_postgres(self):
        texts = ", ".join(f"{name} text" for name in ("county", "region", "race", "gender", "branch", "name"))
        self.postgres.execute("DROP TABLE IF EXISTS loans")
        self.postgres.execute(
            f"CREATE TABLE loans (id int, {texts}, age int, income int, amount double precision)"
        )
        self.postgres.execute(
            "INSERT INTO loans SELECT * FROM json_populate_recordset(null::loans, %s)",
            [json.dumps(self.rows)],
        )

    def _configuration(self, table, ladder):
        http = {"kind": "http", "url": self.upstream.url, "rows": "/items", "truncated": "/truncated"}
        providers = {name: {**http, **settings} for name, settings in HTTP_ROUTES.items()}
        providers["postgresql"] = {
            "kind": "postgresql",
            "dsn": self.postgres.dsn,
            "table": "loans",
            "columns": COLUMNS,
            "order": ["id"],
        }
        route = {"parameters": PARAMETERS, "sort": ["id", "amount", "county", "race"]}
        usual = configuration(table, None)
        return usual | {
            "privacy": usual["privacy"] | {"protect": ["income:l=5"], "strategy": "worst-fit"},
            "table": {"file": str(table), "ladders": {"county": str(ladder)}},
            "providers": providers,
            "routes": [{"path": f"/{name}", "provider": name, **route} for name in providers],
        }

    def random_query(self):
        """Return a query about one of the people, or about no particular person."""
        one, other = self.random.sample(self.people, 2)
        mixed = {name: self.random.choice([one, other])[name] for name in one}
        person = self.random.choice([one, mixed]) | {"branch": "A", "name": "Ann", "email": "a@example.com"}
        share = self.random.choice([0.2, 0.4, 0.7])
        return {name: value for name, value in person.items() if self.random.random() < share}

    def random_window(self):
        sort = self.random.choice(["", "id", "-id", "amount,id", "-amount,county,-id", "race,-amount"])
        window = {
            "sort": sort,
            "offset": self.random.choice([0, 0, 3, 40]),
            "limit": self.random.choice([1, 7, 500]),
        }
        return {name: value for name, value in window.items() if value != ""}

    def direct_answer(self, query, window):
        """Return the rows of the page and how many there are, by looking at all rows."""
        received = {name: value for name, value in query.items() if name in FIELDS}
        found = [
            row
            for row in self.rows
            if all(
                row[name] is not None and text(row[name]) == text(value) for name, value in received.items()
            )
        ]
        for by in reversed(window.get("sort", "").split(",") if window.get("sort") else []):
            name = by.lstrip("-")
            known = sorted(
                (row for row in found if row[name] is not None),
                key=lambda row: row[name],
                reverse=by[0] == "-",
            )
            found = known + [row for row in found if row[name] is None]
        start = window.get("offset", 0)
        return found[start : start + window.get("limit", 50)], len(found)

    def guesses_needed(self, sent):
        """Return how hard the income is to guess from what was sent, by a scan."""
        incomes = Counter(
            person["income"]
            for person in self.people
            if all(
                text((person | {"region": REGIONS[person["county"]]})[name]) == text(value)
                for name, value in sent.items()
                if name != "branch"
            )
        )
        guesses = sum(place * count for place, (_, count) in enumerate(incomes.most_common(), start=1))
        return Fraction(guesses, incomes.total()) if incomes else Fraction(0)


@pytest.fixture(scope="module")
def stack():
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def started():
    """Hold the one gateway of this module; other worlds reach it by a reload."""
    return []


@pytest.fixture(scope="module", params=range(3))
def world(request, stack, started, postgres, tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    world = World(request.param, folder, postgres, stack)
    if not started:
        started.append(stack.enter_context(RunningGateway(folder, world.config)))
    else:
        started[0].reload(world.config | {"listen": started[0].config["listen"]})
    world.gateway = started[0]
    return world


def ask(world, route, query, window, number):
    """Ask in one of the two ways, in turn."""
    if number % 2:
        return world.gateway.ask(route, **query, **window)
    return world.gateway.post({**query, **window}, route)


def check_sent(world, query, privacy):
    """What was sent is a generalization of the query, and private."""
    sent = dict(privacy["sent"])
    assert sent.pop("branch", None) == query.get("branch")
    for name, value in sent.items():
        if name == "region":
            assert "county" not in sent
            assert value == REGIONS[query["county"]]
        else:
            assert name in {"county", "race", "gender", "age"}
            assert text(value) == text(query[name])
    assert world.guesses_needed(sent) >= NEEDED
    return sent


@pytest.mark.parametrize("route", HTTP_ROUTES)
def test_answers_over_http_are_those_to_the_original_query(world, route):
    generalized = 0
    for number in range(QUERIES):
        query, window = world.random_query(), world.random_window()
        world.upstream.steer(most=80, size=50, links="header" if route == "link-header" else "body")
        reply = ask(world, f"/{route}", query, window, number)
        assert reply.status == 200, reply.body
        answer = reply.json
        rows, total = world.direct_answer(query, window)
        assert (answer["answer"], answer["total"], answer["rows"]) == ("exact", total, rows)
        sent = check_sent(world, query, answer["privacy"])
        generalized += sent != {
            name: query[name] for name in ("county", "race", "gender", "age") if name in query
        }
        received = world.upstream.received
        texts = [
            json.loads(request["body"]) if route.endswith("json") else dict(request["query"])
            for request in received
        ]
        expected = {name: text(value) for name, value in answer["privacy"]["sent"].items()}
        for each in texts:
            assert {name: text(value) for name, value in each.items() if name not in PAGING} == expected
        assert {request["method"] for request in received} == {"POST" if route.endswith("json") else "GET"}
    assert generalized > QUERIES / 10


def statements(postgres, start):
    """Return the queries that PostgreSQL received since a place in its log: texts of statements with their values by name."""
    log = (postgres._directory / "log").read_bytes()[start:].decode()
    received = []
    for words, details in re.findall(r"execute [^:]*: (SELECT .*FROM \"loans\".*)\n(.*DETAIL:  .*)?", log):
        names = re.findall(r'"(\w+)" = \$(\d+)', words)
        values = dict(re.findall(r"\$(\d+) = '([^']*)'", details))
        received.append({name: values[place] for name, place in names})
    return received


def reload_settings(postgres):
    """Let every session read the settings anew; one that is idle does so before its next statement."""
    before = postgres.execute("SELECT pg_conf_load_time()")
    postgres.execute("SELECT pg_reload_conf()")
    until(lambda: postgres.execute("SELECT pg_conf_load_time()") != before)


@pytest.fixture
def talkative(postgres):
    """Let PostgreSQL write down every statement."""
    postgres.execute("ALTER SYSTEM SET log_statement = 'all'")
    reload_settings(postgres)
    yield postgres
    postgres.execute("ALTER SYSTEM RESET log_statement")
    reload_settings(postgres)


def test_answers_from_postgresql_are_those_to_the_original_query(world, talkative):
    for number in range(QUERIES):
        query, window = world.random_query(), world.random_window()
        start = (talkative._directory / "log").stat().st_size
        reply = ask(world, "/postgresql", query, window, number)
        assert reply.status == 200, reply.body
        answer = reply.json
        rows, total = world.direct_answer(query, window)
        assert (answer["answer"], answer["total"], answer["rows"]) == ("exact", total, rows)
        check_sent(world, query, answer["privacy"])
        assert statements(talkative, start) == [
            {name: text(value) for name, value in answer["privacy"]["sent"].items()}
        ]
