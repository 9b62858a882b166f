"""A changed configuration or table takes effect without a lost request, and a bad one changes nothing."""

from __future__ import annotations

import http.client
import io
import json
import os
import pickle
import signal
import threading
import time

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from gateway.harness import KEY, RunningGateway, configuration, hashed
from gateway.upstream import Upstream
from helpers import free_port
from incrowd.errors import BadInputError
from incrowd.gateway.config.config import load_config
from incrowd.gateway.server.connections import Limits
from incrowd.gateway.server.handover import Inbox
from incrowd.gateway.server.prepared import prepare
from incrowd.gateway.server.serve import WorkerFactory
from incrowd.generalizer.synthetic import synthetic_loans

WORKERS = 2
LOANS = synthetic_loans(2_000)


@pytest.fixture(scope="module")
def old_and_new():
    rows = [{"id": number, **row} for number, row in enumerate(synthetic_loans(300).to_pylist())]
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
            time.sleep(0.02)
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
    sending = threading.Thread(target=lambda: replies.append(gateway.ask(county="Essex")))
    sending.start()
    gateway.until(lambda: old.received, "the request is under way")
    gateway.reload(gateway.first | {"providers": {"loans": provider(new)}})
    assert not replies
    sending.join()
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
    lines = gateway.events_named("reload_failed")
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
    pq.write_table(synthetic_loans(2_500, seed=1), folder / "draft.parquet")
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
    gateway.config = gateway.first | {"table": {"file": str(late), "settle": "300ms"}}
    gateway.write(gateway.config)
    gateway.wait_for_event("reload_failed", failed + 1)
    pq.write_table(synthetic_loans(2_500, seed=1), folder / "draft.parquet")
    (folder / "draft.parquet").replace(late)
    gateway.wait_for_event("worker_reloaded", taken + WORKERS)
    assert gateway.count("reload_failed") == failed + 1


def test_changed_people_get_in_and_out_at_every_worker(gateway):
    bob = "bob's own key 0123456789"
    assert gateway.ask(key=bob).status == 401
    gateway.reload(gateway.first | {"people": [{"name": "bob", "key_sha256": hashed(bob)}]})
    for _ in range(20):  # new connections, so that both workers get requests
        assert gateway.ask(key=bob).status == 200
        assert gateway.ask(key=KEY).status == 401


def test_a_key_is_taken_back_also_while_the_table_changes_all_the_time(gateway, folder):
    table, over = folder / "people.parquet", threading.Event()

    def touch():
        while not over.wait(0.05):
            os.utime(table)

    writer = threading.Thread(target=touch)
    writer.start()
    try:
        gateway.reload({**gateway.first, "people": [{"name": "alice", "key_sha256": hashed("another key")}]})
        assert {gateway.ask(county="Essex").status for _ in range(8)} == {401}
    finally:
        over.set()
        writer.join()


def test_a_worker_whose_cubes_were_just_replaced_starts_and_waits_for_the_new_ones(folder, tmp_path):
    config = load_config(folder / "gateway.yaml")
    config = replace(config, table=replace(config.table, cache=tmp_path))
    factory = WorkerFactory(prepare(config), Inbox(tmp_path / "note"), None, Limits(10, 10))
    travelled = pickle.dumps(factory)
    assert pickle.loads(travelled).unpickle_state().prepared.protection is not None
    for cube in tmp_path.glob("*.cube"):
        cube.unlink()
        cube.write_bytes(b"another one")
    assert pickle.loads(travelled).unpickle_state().prepared.protection is None


def test_what_needs_a_restart_is_said(gateway):
    gateway.reload(gateway.first | {"log": "warning"})
    gateway.wait_for_event("restart_needed")
    assert gateway.ask(county="Essex").status == 200


def test_the_parent_goes_on_looking_whatever_fails(gateway, folder):
    """Here its own directory for new states is missing for a while."""
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


def pieces_of(table, count):
    """Return a table as text, in pieces that mostly do not end with a line."""
    target = io.BytesIO()
    pacsv.write_csv(table, target)
    text = target.getvalue()
    size = -(-len(text) // count)
    return [text[start : start + size] for start in range(0, len(text), size)]


def write_slowly(file, pieces, pause):
    with file.open("wb") as target:
        for piece in pieces:
            target.write(piece)
            target.flush()
            time.sleep(pause)


@pytest.fixture
def text_table(gateway, tmp_path):
    """Let the gateway count on a table in text, which can be read at any length."""
    file = tmp_path / "people.csv"
    file.write_bytes(b"".join(pieces_of(LOANS, 1)))
    gateway.reload(gateway.first | {"table": {"file": str(file), "settle": "1s"}})
    return file


def guesses(gateway):
    return gateway.ask("/preview/loans", county="Essex").json["guesses"]["income"]["before"]


def test_a_table_that_is_being_written_is_not_taken_before_it_is_whole(gateway, text_table):
    before, failed, taken = guesses(gateway), gateway.count("reload_failed"), gateway.count("worker_reloaded")
    writing = threading.Thread(
        target=write_slowly, args=(text_table, pieces_of(synthetic_loans(2_500, seed=1), 8), 0.3)
    )
    writing.start()
    while writing.is_alive():
        assert guesses(gateway) == before
        time.sleep(0.1)
    gateway.wait_for_event("worker_reloaded", taken + WORKERS)
    assert gateway.count("reload_failed") == failed
    assert guesses(gateway) != before


def test_a_table_that_lost_most_of_its_rows_is_not_taken_unless_it_may_shrink(gateway, text_table, folder):
    before, failed = guesses(gateway), gateway.count("reload_failed")
    text_table.write_bytes(b"".join(pieces_of(synthetic_loans(900), 1)))
    gateway.wait_for_event("reload_failed", failed + 1)
    said = gateway.events_named("reload_failed")[-1]["reason"]
    assert "table.file: has 900 rows, and had 2,000 before" in said
    assert guesses(gateway) == before
    config = load_config(gateway.file)
    with pytest.raises(BadInputError, match="may_shrink"):
        prepare(config)  # as the next start would
    gateway.reload(gateway.config | {"table": {**gateway.config["table"], "may_shrink": True}})
    assert guesses(gateway) != before
    assert prepare(config).protection
    assert (folder / ".incrowd-cubes").is_dir()


def test_a_table_that_is_written_on_while_the_gateway_starts_closes_it(old_and_new, tmp_path):
    file, pieces = tmp_path / "people.csv", pieces_of(LOANS, 12)
    whole_lines = b"".join(pieces[:2]).rpartition(b"\n")[0] + b"\n"
    rest = b"".join(pieces)[len(whole_lines) :]
    file.write_bytes(whole_lines)
    soon = time.time_ns() + 3600 * 10**9
    os.utime(
        file, ns=(soon, soon)
    )  # by its time it was just written, however long the gateway takes to start
    config = configuration(file, provider(old_and_new[0])) | {"table": {"file": str(file), "settle": "30s"}}
    with RunningGateway(tmp_path, config, ready=False) as gateway:
        with file.open("ab") as target:
            target.write(rest)
        gateway.wait_for_event("not_ready")
        gateway.wait("/readyz", 503)
        assert gateway.ask(county="Essex").status == 503
        os.utime(file, ns=(0, file.stat().st_mtime_ns - 60 * 10**9))  # as if it had been still for a minute
        gateway.wait("/readyz")
        assert gateway.ask(county="Essex").status == 200


def test_no_value_or_key_is_in_the_log(gateway):
    assert not [line for line in gateway.events if line["event"] in {"failed", "uncaught"}]
    assert gateway.ask(county="Essex").status == 200
    for secret in ("Essex", KEY, hashed(KEY), "a secret of"):
        assert secret not in gateway.log
