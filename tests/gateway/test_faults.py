"""Whatever fails, nothing is sent that should not be, people get a clear error, and the gateway continues."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sqlite3

import psycopg
import pyarrow.parquet as pq
import pytest

from gateway.harness import RunningGateway, configuration, hashed, key_of
from gateway.upstream import text
from helpers import free_port
from incrowd.generalizer.synthetic import synthetic_loans

LOANS = synthetic_loans(2_000, seed=3)
ROWS = [{"id": number, **row} for number, row in enumerate(LOANS.to_pylist())]
QUERY = {"county": "Essex", "race": "White", "income": ROWS[0]["income"]}
EXPECTED = [row["id"] for row in ROWS if QUERY.items() <= row.items()]
NAMES = [f"person {number}" for number in range(60)]
TIMEOUT = 3.0  # a busy machine answers in that time
PAGING = {"offset", "limit", "cursor"}
PARAMETERS = {**dict.fromkeys(("county", "race", "gender", "reason", "income"), "quasi"), "email": "block"}


def providers(upstream, postgres):
    http = {
        "kind": "http",
        "url": upstream.url,
        "rows": "/items",
        "truncated": "/truncated",
        "pages": {"kind": "offset", "size": 100, "total": "/total"},
        "timeout": f"{int(1000 * TIMEOUT)}ms",
        "retries": 1,
    }
    houses = {"kind": "postgresql", "dsn": postgres.dsn, "table": "houses", "columns": list(ROWS[0])}
    return {
        "loans": http,
        "cursor": {**http, "pages": {"kind": "cursor", "next": "/next"}},
        "link": {**http, "pages": {"kind": "link", "next": "/links/next"}},
        "few-rows": {**http, "budget": {"rows": 20, "bytes": "1MB"}},
        "few-bytes": {**http, "budget": {"rows": 100_000, "bytes": "2KB"}},
        "houses": {**houses, "order": ["id"], "timeout": "2500ms", "retries": 1},
        "few-houses": {**houses, "budget": {"rows": 20}},
    }


def settings(folder, upstream, postgres):
    those = providers(upstream, postgres)
    routes = [
        {
            "path": f"{prefix}/{name}",
            "provider": name,
            "parameters": PARAMETERS,
            "sort": ["id"],
            "partial": bool(prefix),
        }
        for name in those
        for prefix in ("", "/partial")
    ]
    return configuration(folder / "people.parquet", None) | {
        "ledger": {"file": str(folder / "ledger.sqlite")},
        "metrics": {"port": free_port()},
        "people": [{"name": name, "key_sha256": hashed(key_of(name))} for name in NAMES],
        "providers": those,
        "routes": routes,
    }


@pytest.fixture(scope="module")
def database(postgres):
    columns = ", ".join(
        f"{name} {'int' if isinstance(value, int) else 'text'}" for name, value in ROWS[0].items()
    )
    postgres.execute("DROP TABLE IF EXISTS houses")
    postgres.execute(f"CREATE TABLE houses ({columns})")
    with (
        psycopg.connect(postgres.dsn, autocommit=True) as connection,
        connection.cursor().copy("COPY houses FROM STDIN") as copy,
    ):
        for row in ROWS:
            copy.write_row(list(row.values()))
    return postgres


@pytest.fixture(scope="module")
def gateway(folder, running, database):
    with RunningGateway(folder, settings(folder, running, database)) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def strangers():
    """Names of people who have not sent a query yet."""
    return iter(NAMES)


@pytest.fixture
def key(strangers):
    return key_of(next(strangers))


def check_good(gateway, key, path="/loans"):
    reply = gateway.ask(path, key=key, sort="id", **QUERY)
    assert reply.status == 200, reply.body
    assert [row["id"] for row in reply.json["rows"]] == EXPECTED
    assert reply.json["answer"] == "exact"


def check_error(reply, status, code):
    """The status and the code are right, and the message is one clear line without a value."""
    assert (reply.status, reply.code) == (status, code), reply.body
    assert set(reply.json) == {"error"}
    message = reply.json["error"]["message"]
    assert len(message) > 20
    assert "\n" not in message
    for secret in (
        "Essex",
        "White",
        str(QUERY["income"]),
        "words of the provider",
        "secret",
        "127.0.0.1",
        "people.parquet",
    ):
        assert secret not in message


def received(upstream):
    """Return the queries that the provider received, without the pages."""
    return [
        {name: value for name, value in request["query"] if name not in PAGING}
        for request in upstream.received
    ]


FAULTS = [
    ("/loans", {"fault": "status", "status": 500}, 502, "provider_error", 1),
    ("/loans", {"fault": "status", "status": 404}, 502, "provider_error", 1),
    ("/loans", {"fault": "status", "status": 503}, 502, "provider_error", 2),
    ("/loans", {"fault": "garbage"}, 502, "provider_error", 1),
    ("/loans", {"fault": "deep"}, 502, "provider_error", 1),
    ("/loans", {"fault": "not-http"}, 502, "provider_error", None),
    ("/loans", {"fault": "reset"}, 502, "provider_error", None),
    ("/loans", {"fault": "cut"}, 502, "provider_error", 2),
    ("/loans", {"fault": "cut-chunked"}, 502, "provider_error", 2),
    ("/loans", {"fault": "slow", "seconds": 2 * TIMEOUT}, 504, "provider_timeout", 1),
    ("/loans", {"fault": "drip", "seconds": 0.05}, 504, "provider_timeout", 1),
    ("/loans", {"fault": "down"}, 502, "provider_error", 0),
    ("/loans", {"fault": "redirect", "location": "/elsewhere?county=Essex"}, 502, "provider_error", 1),
    ("/loans", {"fault": "rows-object"}, 502, "provider_error", 1),
    ("/loans", {"fault": "field-missing", "field": "income"}, 502, "field_missing", None),
    ("/loans", {"fault": "truncated"}, 502, "provider_truncated", 1),
    ("/partial/loans", {"fault": "status", "status": 500}, 502, "provider_error", 1),
    ("/partial/loans", {"fault": "field-missing", "field": "income"}, 502, "field_missing", None),
    ("/cursor", {"fault": "same-cursor"}, 502, "provider_error", 2),
    ("/cursor", {"fault": "empty-more"}, 502, "provider_error", 100),
    ("/cursor", {"fault": "endless", "most": 1}, 504, "provider_timeout", None),
    ("/link", {"fault": "foreign-link", "location": "http://127.0.0.1:1/rows"}, 502, "provider_error", 1),
    ("/few-rows", {}, 502, "budget_exceeded", 1),
    ("/few-bytes", {}, 502, "budget_exceeded", 1),
]


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: f"{case[0]} {case[1].get('fault')}")
def test_a_provider_that_fails_is_sent_nothing_more_and_people_get_an_error(gateway, upstream, key, case):
    path, fault, status, code, requests = case
    would = gateway.ask(f"/preview{path}", key=key, **QUERY).json["sent"]
    upstream.steer(**fault)
    check_error(gateway.ask(path, key=key, email="secret@example.com", **QUERY), status, code)
    heard = received(upstream)
    assert requests is None or len(heard) == requests
    assert all(each == {name: text(value) for name, value in would.items()} for each in heard)
    assert all(request["path"] == "/rows" for request in upstream.received)
    upstream.steer()
    check_good(gateway, key)


@pytest.mark.parametrize(
    "case",
    [
        ("/partial/loans", {"fault": "truncated"}, "more rows"),
        ("/partial/few-rows", {}, "more than 20 rows"),
        ("/partial/few-bytes", {}, "more than 2000 bytes"),
        ("/partial/few-houses", {}, "more than 20 rows"),
    ],
)
def test_an_incomplete_answer_is_marked_where_the_route_allows_it(gateway, upstream, key, case):
    path, fault, words = case
    upstream.steer(**fault)
    reply = gateway.ask(path, key=key, county="Essex")
    assert reply.status == 200, reply.body
    assert reply.json["answer"] == "partial"
    assert words in reply.json["missing"][0]
    right = {row["id"] for row in ROWS if row["county"] == "Essex"}
    assert {row["id"] for row in reply.json["rows"]} <= right
    assert reply.json["total"] < len(right)


def test_postgresql_that_exceeds_its_budget_is_an_error(gateway, key, upstream):  # noqa: ARG001
    check_error(gateway.ask("/few-houses", key=key, county="Essex"), 502, "budget_exceeded")


def test_postgresql_that_stops_and_starts_again(gateway, database, key):
    check_good(gateway, key, "/houses")
    database.stop()
    try:
        check_error(gateway.ask("/houses", key=key, **QUERY), 502, "provider_error")
        states = gateway.request("GET", "/readyz").json["providers"]
        assert (states["houses"], states["loans"]) == (False, True)
        check_good(gateway, key, "/loans")
    finally:
        database.start()
    check_good(gateway, key, "/houses")


def test_postgresql_that_hangs_is_given_up_in_time(gateway, database, key):
    check_good(gateway, key, "/houses")
    database.freeze()
    try:
        check_error(gateway.ask("/houses", key=key, **QUERY), 504, "provider_timeout")
    finally:
        database.thaw()
    check_good(gateway, key, "/houses")


def check_closed(gateway, upstream, key, code="unavailable"):
    """Nothing is sent while the ledger cannot be used, and every request gets an error."""
    upstream.steer()
    errors = gateway.metrics()["incrowd_ledger_errors_total"]
    reply = gateway.ask(key=key, **QUERY)
    check_error(reply, 503, code)
    assert int(reply.headers["retry-after"]) >= 1
    assert upstream.received == []
    assert gateway.metrics()["incrowd_ledger_errors_total"] == errors + 1
    assert gateway.ask("/healthz", key=None).status == 200


def ledger_of(folder):
    return folder / "ledger.sqlite"


def entries(folder):
    with contextlib.closing(sqlite3.connect(ledger_of(folder))) as ledger:
        return set(ledger.execute("SELECT who, attribute, value FROM disclosures"))


@contextlib.contextmanager
def locked(folder, *statements):
    with contextlib.closing(sqlite3.connect(ledger_of(folder), isolation_level=None)) as ledger:
        for statement in statements:
            ledger.execute(statement)
        yield
        ledger.rollback()


@pytest.mark.parametrize("kind", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_ledger_that_another_process_writes_to_for_long(gateway, upstream, folder, strangers, kind):
    known, new = key_of(next(strangers)), key_of(next(strangers))
    check_good(gateway, known)
    before = entries(folder)
    with locked(folder, f"BEGIN {kind}"):
        check_closed(gateway, upstream, new)
        check_good(gateway, known)  # disclosed before, so nothing is written
    assert entries(folder) == before
    check_good(gateway, new)
    assert entries(folder) > before


def test_a_ledger_made_readable_by_others_closes_the_gateway(gateway, upstream, folder, key):
    ledger_of(folder).chmod(0o644)
    try:
        check_closed(gateway, upstream, key)
        assert gateway.ask("/readyz", key=None).status == 503
    finally:
        ledger_of(folder).chmod(0o600)
    check_good(gateway, key)
    gateway.until(
        lambda: any(
            line["event"] == "ledger_failed" and "chmod" in line["reason"] for line in gateway.events
        ),
        "the log says what to do",
    )


def test_a_ledger_taken_away_closes_the_gateway_until_it_is_back(gateway, upstream, folder, key):
    aside = folder / "aside.sqlite"
    ledger_of(folder).rename(aside)
    try:
        check_closed(gateway, upstream, key)
        assert not ledger_of(folder).exists()
    finally:
        aside.rename(ledger_of(folder))
    check_good(gateway, key)


@pytest.fixture
def no_room(gateway):
    """Let the worker write no file beyond its first bytes, as on a full disk; the log's lines are lost meanwhile."""
    (worker,) = gateway.workers
    before = resource.prlimit(worker, resource.RLIMIT_FSIZE)
    resource.prlimit(worker, resource.RLIMIT_FSIZE, (16, before[1]))
    yield lambda: resource.prlimit(worker, resource.RLIMIT_FSIZE, before)
    resource.prlimit(worker, resource.RLIMIT_FSIZE, before)


def test_a_full_disk_closes_the_gateway_until_there_is_room(gateway, upstream, folder, key, no_room):
    before = entries(folder)
    check_closed(gateway, upstream, key)
    assert entries(folder) == before
    no_room()
    check_good(gateway, key)
    assert entries(folder) > before


def test_a_killed_worker_is_replaced_and_the_ledger_still_holds(gateway, upstream, folder, key):
    check_good(gateway, key)
    preview, before = gateway.ask("/preview/loans", key=key, reason=ROWS[0]["reason"]).json, entries(folder)
    (worker,) = gateway.workers
    os.kill(worker, signal.SIGKILL)
    gateway.until(lambda: gateway.workers not in ([], [worker]), "another worker")
    gateway.wait_for_event("worker_died")
    (died,) = (line for line in gateway.events if line["event"] == "worker_died")
    assert (died["level"], died["process"], died["reason"]) == ("error", worker, "it was killed by SIGKILL")
    gateway.wait("/readyz")
    assert gateway.ask("/preview/loans", key=key, reason=ROWS[0]["reason"]).json == preview
    assert entries(folder) == before
    check_good(gateway, key)
    assert upstream.received


def test_a_ledger_that_was_replaced_closes_the_gateway_until_it_reloads(gateway, upstream, folder, key):
    backup = folder / "backup.sqlite"
    with (
        contextlib.closing(sqlite3.connect(ledger_of(folder))) as ledger,
        contextlib.closing(sqlite3.connect(backup)) as copy,
    ):
        ledger.backup(copy)
    backup.chmod(0o600)
    for suffix in ("-wal", "-shm", ""):
        file = folder / f"ledger.sqlite{suffix}"
        file.rename(folder / f"old.sqlite{suffix}")
    backup.rename(ledger_of(folder))
    before = entries(folder)
    check_closed(gateway, upstream, key)
    assert entries(folder) == before
    reloads = gateway.count("worker_reloaded")
    os.kill(gateway.pid, signal.SIGHUP)
    gateway.wait_for_event("worker_reloaded", reloads + 1)
    check_good(gateway, key)
    assert entries(folder) > before


def test_nothing_of_all_this_is_in_the_log(gateway):
    text_of_log = gateway.log
    for secret in ("Essex", "White", "the key of", "secret@example.com", "words of the provider"):
        assert secret not in text_of_log
    assert not any(line["event"] in {"failed", "uncaught"} for line in gateway.events)


def test_without_the_auxiliary_table_nothing_is_sent_until_it_is_there(upstream, database, tmp_path):
    config = settings(tmp_path, upstream, database)
    key, table = key_of(NAMES[0]), tmp_path / "people.parquet"
    with RunningGateway(tmp_path, config, ready=False) as gateway:
        assert gateway.ask("/healthz", key=None).status == 200
        assert gateway.ask("/openapi.json", key=None).status == 200
        for path in ("/readyz", "/loans", "/preview/loans", "/houses"):
            check_error(gateway.ask(path, key=key), 503, "unavailable")
        assert upstream.received == []
        assert gateway.count("not_ready") == 1
        pq.write_table(LOANS, table.with_suffix(".draft"))
        table.with_suffix(".draft").rename(table)
        gateway.wait("/readyz")
        check_good(gateway, key)
        table.unlink()
        gateway.wait_for_event("reload_failed")
        check_good(gateway, key)
        assert gateway.ask("/readyz", key=None).status == 200
        assert gateway.metrics()['incrowd_reloads_total{result="bad"}'] >= 1
