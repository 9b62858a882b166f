"""A real gateway whose ledger is lost, restored from an old copy or full: nothing is sent until it is right again."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sqlite3

import pytest

from cli.helpers import call
from gateway.harness import RunningGateway, configuration, hashed, key_of
from gateway.small_town import people, provider, write_table
from gateway.upstream import Upstream

NAMES = [f"person {number}" for number in range(6)]
COMPANIONS = ("", "-wal", "-shm")


class Town:
    """A gateway, the provider behind it, and its ledger's files."""

    def __init__(self, folder, gateway, upstream):
        self.folder = folder
        self.gateway = gateway
        self.upstream = upstream
        self.ledger = folder / "state" / "ledger.sqlite"
        self.marker = folder / "elsewhere" / "marker"

    def ask(self, **query):
        """Let every person send a query; it must be answered."""
        for name in NAMES:
            reply = self.gateway.ask(key=key_of(name), **query)
            assert reply.status == 200, reply.body

    def assert_closed(self, reason):
        """No request gets an answer, nothing reaches the provider, and the log says why."""
        self.upstream.steer()
        for name in NAMES:
            for query in ({"county": "Essex"}, {"race": "White"}, {"gender": "Female"}):
                reply = self.gateway.ask(key=key_of(name), **query)
                assert (reply.status, reply.code) == (503, "unavailable")
                assert self.gateway.ask("/preview/loans", key=key_of(name), **query).status == 503
        assert self.gateway.ask("/readyz", key=None).status == 503
        assert self.gateway.ask("/healthz", key=None).status == 200
        assert self.upstream.received == []
        self.gateway.until(
            lambda: any(reason in each.get("reason", "") for each in self.gateway.events), reason
        )

    def copy(self, name, companions=COMPANIONS):
        """Copy the ledger as it is; return where the copy is."""
        copied = self.folder / name
        copied.mkdir()
        for companion in companions:
            file = self.ledger.with_name(self.ledger.name + companion)
            if file.exists():
                shutil.copyfile(file, copied / file.name)
        return copied

    def put(self, copied):
        """Replace the ledger by a copy; None takes it away."""
        for companion in COMPANIONS:
            target = self.ledger.with_name(self.ledger.name + companion)
            source = copied / target.name if copied else None
            if source and source.exists():
                shutil.copyfile(source, target)
                target.chmod(0o600)
            else:
                target.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def upstream():
    with Upstream(people()) as upstream:
        yield upstream


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lost")
    for name in ("state", "elsewhere"):
        (folder / name).mkdir()
    return folder


@pytest.fixture(scope="module")
def settings(folder, upstream):
    return configuration(
        write_table(folder),
        provider(upstream.url),
        ledger={
            "file": str(folder / "state" / "ledger.sqlite"),
            "marker": str(folder / "elsewhere" / "marker"),
        },
        people=[{"name": name, "key_sha256": hashed(key_of(name))} for name in NAMES],
    )


@pytest.fixture(scope="module")
def used(folder, settings, upstream):
    """A gateway whose ledger is lost after some use, with a new worker."""
    with RunningGateway(folder, settings) as gateway:
        town = Town(folder, gateway, upstream)
        town.ask(county="Essex")
        checkpoint(town.ledger)
        old = town.copy("old", ("",))
        town.ask(race="Black")
        bare, newest = town.copy("bare", ("",)), town.copy("newest")
        town.put(None)
        (worker,) = gateway.workers
        os.kill(worker, signal.SIGKILL)
        gateway.until(lambda: gateway.workers not in ([], [worker]), "another worker")
        gateway.wait("/healthz")
        yield town, {"old": old, "without its log": bare, "newest": newest, "deleted": None}


@pytest.fixture
def town(used):
    return used[0]


@pytest.fixture
def copies(used):
    return used[1]


def checkpoint(ledger):
    """Move the log into the file, as the ledger itself does now and then."""
    with contextlib.closing(sqlite3.connect(ledger)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.mark.parametrize(
    ("lost", "reason"),
    [
        ("deleted", "is missing"),
        ("old", "older than its marker"),
        ("without its log", "older than its marker"),
    ],
)
def test_a_gateway_started_with_a_lost_ledger_sends_nothing(town, copies, lost, reason):
    town.put(copies[lost])
    town.assert_closed(reason)
    assert town.ledger.exists() is (lost != "deleted")


def test_with_the_right_files_back_it_serves_again_and_remembers(town, copies):
    town.put(copies["newest"])
    town.gateway.wait("/readyz")
    town.upstream.steer()
    preview = town.gateway.ask("/preview/loans", key=key_of(NAMES[0]), gender="Female")
    assert preview.code == "refused"  # with the county and the race that it knows of, that would be too much
    town.ask(county="Essex")
    assert len(town.upstream.received) == len(NAMES)


def test_a_ledger_rolled_back_under_a_running_gateway_closes_it(town, copies):
    checkpoint(town.ledger)
    newest = town.ledger.read_bytes()
    town.ledger.write_bytes((copies["old"] / town.ledger.name).read_bytes())
    town.assert_closed("older than its marker")
    town.ledger.write_bytes(newest)
    town.gateway.wait("/readyz")
    town.ask(county="Essex")


def test_a_marker_taken_away_closes_the_gateway(town):
    aside = town.marker.with_name("aside")
    town.marker.rename(aside)
    try:
        # It is looked at once a second; /readyz may be red for another reason before.
        town.gateway.until(
            lambda: town.gateway.ask(key=key_of(NAMES[0]), county="Essex").status == 503, "it is closed"
        )
        town.assert_closed("marker is missing")
    finally:
        aside.rename(town.marker)
    town.gateway.wait("/readyz")
    town.ask(county="Essex")


def test_a_disk_too_full_to_write_turns_readyz_red(town):
    town.gateway.wait("/readyz")
    (worker,) = town.gateway.workers
    before = resource.prlimit(worker, resource.RLIMIT_FSIZE)
    resource.prlimit(worker, resource.RLIMIT_FSIZE, (16, before[1]))
    try:
        town.gateway.wait("/readyz", 503)
    finally:
        resource.prlimit(worker, resource.RLIMIT_FSIZE, before)
    town.gateway.wait("/readyz")


# The command line.


def incrowd(*words):
    return call("gateway", *words)


def test_a_ledger_is_made_by_the_command_line_and_checked(tmp_path, settings):
    for name in ("state", "elsewhere"):
        (tmp_path / name).mkdir()
    file, marker = tmp_path / "state" / "ledger.sqlite", tmp_path / "elsewhere" / "marker"
    config = tmp_path / "gateway.yaml"
    config.write_text(json.dumps(settings | {"ledger": {"file": str(file), "marker": str(marker)}}), "utf-8")
    missing = incrowd("--config", config, "--check")
    assert missing.code == 2
    assert "--init-ledger" in missing.out
    assert not file.exists()
    made = incrowd("--config", config, "--init-ledger")
    assert (made.code, len(made.out.splitlines())) == (0, 1)
    assert "no past disclosures" in made.out
    assert incrowd("--config", config, "--check").code == 0
    again = incrowd("--config", config, "--init-ledger")
    assert (again.code, again.out, len(again.err.splitlines())) == (2, "", 1)
    assert "already exists" in again.err
    marker.unlink()
    assert incrowd("--config", config, "--check").code == 2
    trusted = incrowd("--config", config, "--trust-ledger", "--json")
    assert trusted.json == {"ledger": str(file), "marker": str(marker), "new": False}
    assert incrowd("--config", config, "--check").code == 0


def test_a_configuration_without_a_ledger_has_none_to_make(tmp_path, settings):
    config = tmp_path / "gateway.yaml"
    config.write_text(json.dumps({name: settings[name] for name in settings if name != "ledger"}), "utf-8")
    result = incrowd("--config", config, "--init-ledger")
    assert result.code == 2
    assert "ledger: there is none" in result.err


def test_one_thing_at_a_time(tmp_path):
    result = incrowd("--config", tmp_path / "gateway.yaml", "--init-ledger", "--check")
    assert result.code == 2
    assert "--init-ledger" in result.err
