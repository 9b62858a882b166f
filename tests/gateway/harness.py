"""A real gateway in processes of its own, made from a configuration; and something to ask it with."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
import urllib.parse
import urllib.request
from collections import Counter
from pathlib import Path

import yaml

from helpers import free_port, until
from incrowd.gateway.config.config import load_config
from incrowd.gateway.ops.ledgers import init_ledger

KEY = "alice's own key 0123456789"
SECRET = "a secret of the gateway's operator"
PATIENCE = 60


def key_of(name):
    """Return the key of a person by their name, or of a row by its number."""
    return f"the key of {name} 0123456789"


def hashed(key):
    return hashlib.sha256(key.encode()).hexdigest()


def configuration(table, provider, **changes):
    """Return a configuration that protects income and asks one provider at /loans; `changes` replace its parts."""
    config = {
        "listen": {"port": free_port()},
        "table": {"file": str(table), "settle": "300ms"},
        "privacy": {"protect": ["income:l=3"], "secret": SECRET},
        "people": [{"name": "alice", "key_sha256": hashed(KEY)}],
        "providers": {"loans": provider},
        "routes": [
            {
                "path": "/loans",
                "provider": "loans",
                "parameters": {
                    "county": "quasi",
                    "race": "quasi",
                    "gender": "quasi",
                    "income": "quasi",
                    "q": "passthrough",
                    "email": "block",
                },
                "sort": ["id"],
            }
        ],
    }
    return config | changes


def make_ledger_once(file):
    """Make the ledger of a configuration, unless there is one, or what is left of one."""
    source = load_config(file).ledger
    if not source.file.exists() and not source.marker.exists():
        init_ledger(file)


class Reply:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json["error"]["code"]


class RunningGateway:
    """The gateway's process, from outside. Use it in a `with` block.

    Parameters
    ----------
    folder
        Where its configuration and log go.
    config
        The configuration, as `configuration` makes it.
    ready
        Wait until /readyz says yes; else only until the process answers.
    environment
        Variables to add.
    """

    def __init__(self, folder, config, *, ready=True, environment=None):
        self.file = Path(folder) / "gateway.yaml"
        self.config = config
        self.write(config)
        if config.get("ledger"):
            make_ledger_once(self.file)
        self.log_file = Path(folder) / "gateway.log"
        self.port = config["listen"]["port"]
        self.tls = None
        with self.log_file.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "incrowd", "gateway", "--config", str(self.file)],
                stderr=log,
                stdout=log,
                env={**os.environ, **(environment or {})},
            )
        if config["listen"].get("tls"):
            self.tls = ssl.create_default_context()
            self.tls.check_hostname = False
            self.tls.verify_mode = ssl.CERT_NONE
        self._path = "/readyz" if ready else "/healthz"

    def __enter__(self):
        try:
            self.wait(self._path)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def pid(self):
        return self._process.pid

    @property
    def workers(self):
        """The process ids of the workers, which are those children that are not the standard library's helper."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text(encoding="utf-8").split()
        command = {int(child): Path(f"/proc/{child}/cmdline").read_bytes() for child in children}
        return [child for child, words in command.items() if b"spawn_main" in words]

    @property
    def alive(self):
        return self._process.poll() is None

    @property
    def log(self):
        return self.log_file.read_text(encoding="utf-8")

    @property
    def events(self):
        """The log's lines; a line that is not JSON is an error."""
        return [json.loads(line) for line in self.log.splitlines()]

    def write(self, config):
        """Write the configuration anew, whole."""
        draft = self.file.with_suffix(".draft")
        draft.write_text(yaml.safe_dump(config), encoding="utf-8")
        draft.replace(self.file)

    def reload(self, config):
        """Write the configuration anew and wait until every worker has taken it over."""
        before = self.count("worker_reloaded")
        self.config = config
        self.write(config)
        self.wait_for_event("worker_reloaded", before + config["listen"].get("workers", 1))

    def count(self, event):
        """Return how often something happened, by the log."""
        return len(self.events_named(event))

    def events_named(self, event):
        """Return the log's lines of one event; the others, which may be many, are not read."""
        name = f'"event":"{event}"'
        return [json.loads(line) for line in self.log.splitlines() if name in line]

    def metrics(self):
        """Return what the metrics port says: the sum over the labels of each metric, by its name."""
        text = self.metrics_text()
        sums = Counter()
        for line in text.splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                sums[name] += float(value)
                sums[name.partition("{")[0]] += float(value) if "{" in name else 0
        return sums

    def metrics_text(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.config['metrics']['port']}/metrics") as answer:
            return answer.read().decode()

    def stop(self, signal_number=signal.SIGTERM, seconds=PATIENCE):
        """Send a signal and return the exit code; it must end in so many seconds."""
        self._process.send_signal(signal_number)
        return self._process.wait(seconds)

    def wait(self, path, status=200):
        self.until(lambda: self.request("GET", path, key=None).status == status, f"{path} is {status}")

    def wait_for_event(self, event, count=1):
        self.until(lambda: self.count(event) >= count, event)

    def until(self, holds, what):
        """Wait until something holds, as long as the process runs; show its log if it never does."""

        def look():
            assert self.alive, "the gateway has ended"
            with contextlib.suppress(OSError, http.client.HTTPException, json.JSONDecodeError):
                return holds()
            return False

        try:
            until(look, what, PATIENCE)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log}") from None

    def ask(self, path="/loans", key=KEY, headers=None, **parameters):
        """Ask with a GET."""
        query = urllib.parse.urlencode(parameters)
        return self.request("GET", f"{path}?{query}" if query else path, key=key, headers=headers)

    def post(self, parameters, path="/loans", key=KEY, headers=None):
        """Ask with a POST."""
        body = parameters if isinstance(parameters, bytes) else json.dumps(parameters).encode()
        return self.request("POST", path, body=body, key=key, headers=headers)

    def request(self, method, target, *, body=None, key=KEY, headers=None):
        if self.tls:
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=self.tls)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        sent = {"Authorization": f"Bearer {key}"} if key is not None else {}
        with contextlib.closing(connection):
            connection.request(method, target, body, {**sent, **(headers or {})})
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read())
