"""A changed configuration or table takes effect without a lost request, and a bad one changes nothing."""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
import time

import pyarrow.parquet as pq
import pytest

from gateway.harness import KEY, RunningGateway, configuration, free_port, hashed
from gateway.upstream import Upstream
from incrowd.online.made import made_loans

WORKERS = 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reload")
    pq.write_table(made_loans(2_000), folder / "people.parquet")
    return folder


@pytest.fixture(scope="module")
def old_and_new():
    rows = [{"id": number, **row} for number, row in enumerate(made_loans(300).to_pylist())]
    with (
        Upstream([{**row, "from": "old"} for row in rows]) as old,
        Upstream([{**row, "from": "new"} for row in rows]) as new,
    ):
        yield old, new


def provider(upstream):
    return {"kind": "http", "url": upstream.url, "rows": "/items"}


@pytest.fixture(scope="module")
def gateway(folder, old_and_new):
    temporary = folder / "temporary"
    temporary.mkdir()
    config = configuration(folder / "people.parquet", provider(old_and_new[0]))
    config["listen"]["workers"] = WORKERS
    config |= {"metrics": {"port": free_port()}, "ledger": {"file": str(folder / "ledger.sqlite")}}
    with RunningGateway(folder, config, environment={"TMPDIR": str(temporary)}) as gateway:
        gateway.wait_for_event("worker_started", WORKERS)
        gateway.first = config
        yield gateway


@pytest.fixture(autouse=True)
def as_before(gateway):
    """Give the gateway its first configuration back, if a test changed it."""
    yield
    if gateway.config != gateway.first:
        gateway.reload(gateway.first)


class Crowd:
    """People who ask all the time, over connections that stay and over new ones; what they got is in `got`."""

    def __init__(self, gateway, keys=(KEY,)):
        self._gateway = gateway
        self._keys = keys
        self._over = threading.Event()
        self.got = []
        self.failures = []
        self._threads = [
            threading.Thread(target=self._ask, args=(stay,)) for stay in (True, True, False, False)
        ]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, stay):
        connection = None
        while not self._over.is_set():
            try:
                connection = connection or http.client.HTTPConnection(
                    "127.0.0.1", self._gateway.port, timeout=30
                )
                for key in self._keys:
                    connection.request("GET", "/loans?county=Essex", headers={"X-Api-Key": key})
                    answer = connection.getresponse()
                    self._note(answer.status, json.loads(answer.read()))
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(error)
                connection = None
            if connection and not stay:
                connection.close()
                connection = None
            time.sleep(0.005)
        if connection:
            connection.close()

    def _note(self, status, document):
        froms = {row["from"] for row in document.get("rows", ())}
        self.got.append((status, *froms))


def test_a_good_change_takes_effect_without_a_lost_request(gateway, old_and_new):
    reloads = gateway.metrics()['incrowd_reloads_total{result="ok"}']
    with Crowd(gateway) as crowd:
        time.sleep(0.3)
        gateway.reload(gateway.first | {"providers": {"loans": provider(old_and_new[1])}})
        during = len(crowd.got)
        time.sleep(0.3)
    assert crowd.failures == []
    assert set(crowd.got) == {(200, "old"), (200, "new")}
    assert during > 20
    assert set(crowd.got[during + 4 :]) == {(200, "new")}  # four may have been under way
    assert gateway.metrics()['incrowd_reloads_total{result="ok"}'] == reloads + 1
    assert gateway.count("worker_reloaded") >= WORKERS


def test_a_request_under_way_is_answered_by_the_old_configuration(gateway, old_and_new):
    old, new = old_and_new
    old.steer("slow", seconds=4.0)
    replies = []
    asking = threading.Thread(target=lambda: replies.append(gateway.ask(county="Essex")))
    asking.start()
    gateway.until(lambda: old.received, "the request is under way")
    gateway.reload(gateway.first | {"providers": {"loans": provider(new)}})
    assert not replies
    asking.join()
    old.steer()
    assert replies[0].status == 200
    assert {row["from"] for row in replies[0].json["rows"]} == {"old"}
    assert {row["from"] for row in gateway.ask(county="Essex").json["rows"]} == {"new"}


def bad_changes(first, folder):
    """Return configurations that cannot be served, with a word of what is said about each."""
    broken = folder / "broken.parquet"
    broken.write_bytes(b"not a table")
    route = first["routes"][0]
    distrusting = {"kind": "http", "url": "https://localhost/", "tls": {"ca": str(broken)}}
    return [
        ({**first, "nonsense": 1}, "nonsense"),
        ({**first, "people": []}, "people"),
        ({**first, "privacy": {**first["privacy"], "protect": ["wealth:l=3"]}}, "wealth"),
        ({**first, "privacy": {**first["privacy"], "strategy": "luck"}}, "strategy"),
        ({**first, "table": {"file": str(folder / "absent.parquet")}}, "absent.parquet"),
        ({**first, "table": {"file": str(broken)}}, "broken.parquet"),
        ({**first, "routes": [{**route, "provider": "nobody"}]}, "nobody"),
        ({**first, "providers": {"loans": {"kind": "http", "url": "ftp://example"}}}, "url"),
        ({**first, "providers": {"loans": distrusting}}, "providers.loans: the provider's 'tls'"),
    ]


def reasons(gateway):
    """Return why reloads failed, each on one line."""
    lines = [line for line in gateway.events if line["event"] == "reload_failed"]
    assert all(line["level"] == "error" and "\n" not in line["reason"] for line in lines)
    return [line["reason"] for line in lines]


def test_a_bad_change_keeps_the_old_configuration(gateway, folder):
    with Crowd(gateway) as crowd:
        for config, word in bad_changes(gateway.first, folder):
            bad = gateway.metrics()['incrowd_reloads_total{result="bad"}']
            known = len(reasons(gateway))
            gateway.write(config)
            os.kill(gateway.pid, signal.SIGHUP)  # sooner than it would look by itself
            gateway.until(
                lambda word=word, known=known: any(word in each for each in reasons(gateway)[known:]), word
            )
            assert gateway.metrics()['incrowd_reloads_total{result="bad"}'] > bad
        gateway.file.write_text("listen: [", encoding="utf-8")
        failed = gateway.count("reload_failed")
        gateway.wait_for_event("reload_failed", failed + 1)
        gateway.file.unlink()
        gateway.wait_for_event("reload_failed", failed + 2)
    assert crowd.failures == []
    assert set(crowd.got) == {(200, "old")}
    gateway.reload(gateway.first)
    assert gateway.ask(county="Essex").status == 200


def test_a_hang_up_signal_reloads_and_stops_nothing(gateway):
    workers, reloads = gateway.workers, gateway.count("reloaded")
    taken = gateway.count("worker_reloaded")
    with Crowd(gateway) as crowd:
        os.kill(gateway.pid, signal.SIGHUP)
        gateway.wait_for_event("reloaded", reloads + 1)
        gateway.wait_for_event("worker_reloaded", taken + WORKERS)
    assert crowd.failures == []
    assert set(crowd.got) == {(200, "old")}
    assert gateway.workers == workers


def test_a_changed_table_decides_from_then_on(gateway, folder):
    file = folder / "people.parquet"
    before, content = gateway.ask("/preview/loans", county="Essex").json, file.read_bytes()
    taken = gateway.count("worker_reloaded")
    pq.write_table(made_loans(2_500, seed=1), folder / "draft.parquet")
    (folder / "draft.parquet").replace(file)
    gateway.wait_for_event("worker_reloaded", taken + WORKERS)
    after = gateway.ask("/preview/loans", county="Essex").json
    assert after["guesses"]["income"]["before"] != before["guesses"]["income"]["before"]
    file.write_bytes(content)
    gateway.wait_for_event("worker_reloaded", taken + 2 * WORKERS)
    gateway.until(
        lambda: gateway.ask("/preview/loans", county="Essex").json == before, "the old table is back"
    )


def test_a_table_that_comes_after_the_configuration_that_names_it(gateway, folder):
    late = folder / "late.parquet"
    failed, taken = gateway.count("reload_failed"), gateway.count("worker_reloaded")
    gateway.config = gateway.first | {"table": {"file": str(late)}}
    gateway.write(gateway.config)
    gateway.wait_for_event("reload_failed", failed + 1)
    pq.write_table(made_loans(2_500, seed=1), folder / "draft.parquet")
    (folder / "draft.parquet").replace(late)
    gateway.wait_for_event("worker_reloaded", taken + WORKERS)
    assert gateway.count("reload_failed") == failed + 1


def test_changed_people_get_in_and_out_at_every_worker(gateway):
    bob = "bob's own key 0123456789"
    assert gateway.ask(key=bob).status == 401
    gateway.reload(gateway.first | {"people": [{"name": "bob", "key_sha256": hashed(bob)}]})
    for _ in range(20):  # new connections, so both workers are asked
        assert gateway.ask(key=bob).status == 200
        assert gateway.ask(key=KEY).status == 401


def test_what_needs_a_restart_is_said(gateway):
    gateway.reload(gateway.first | {"log": "warning"})
    gateway.wait_for_event("restart_needed")
    assert gateway.ask(county="Essex").status == 200


def test_the_parent_goes_on_looking_whatever_fails(gateway, folder):
    """Here its own directory for new states is gone for a while."""
    (directory,) = (folder / "temporary").glob("incrowd-*")
    aside = directory.with_name("aside")
    failed = gateway.count("reload_failed")
    directory.rename(aside)
    try:
        os.kill(gateway.pid, signal.SIGHUP)
        gateway.wait_for_event("reload_failed", failed + 1)
    finally:
        aside.rename(directory)
    assert gateway.ask(county="Essex").status == 200
    taken = gateway.count("worker_reloaded")
    os.kill(gateway.pid, signal.SIGHUP)
    gateway.wait_for_event("worker_reloaded", taken + WORKERS)
    assert gateway.ask(county="Essex").status == 200


def test_no_value_or_key_is_in_the_log(gateway):
    assert not [line for line in gateway.events if line["event"] in {"failed", "uncaught"}]
    assert gateway.ask(county="Essex").status == 200
    for secret in ("Essex", KEY, hashed(KEY), "a secret of"):
        assert secret not in gateway.log
