"""What the gateway counts about itself, for Prometheus.

Label values are names out of the configuration, statuses and codes; anything else is "other". So no metric can hold
a value of a query, and the number of series is bounded.

Every worker process writes its own files in one directory, and the parent process adds them up and serves them
on a port of their own. When a worker has died, its files are folded into those of process 0: counts never go back,
and the directory does not grow with every restart.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    mmap_dict,
    multiprocess,
    start_http_server,
    values,
)
from prometheus_client.registry import Collector

from incrowd.errors import BadInputError
from incrowd.gateway.problems import STATUSES
from incrowd.online.decision import Decision

__all__ = ["MetricsServer", "Watch", "start_metrics"]

DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
OTHER = "other"
RETIRED = 0  # the process number under which the files of dead workers are added up
OUTCOMES = ("as_asked", "generalized", "refused")
HTTP_STATUSES = (200, *dict.fromkeys(STATUSES.values()))
MICROSECONDS = (5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 1e-2, 0.1, 1.0)
MILLISECONDS = (1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)

# These parts of the library have no types.
CountsFile: Any = mmap_dict.MmapedDict
MultiProcessCollector: Any = multiprocess.MultiProcessCollector
make_file_values: Any = values.MultiProcessValue
FileValue: Any = make_file_values()


Add = Callable[[float], None]


class QuickValue(FileValue):  # type: ignore[misc]
    """A number in a file that only one thread of one process changes: without the library's lock and fork check."""

    def inc(self, amount: float) -> None:
        """Add to it."""
        self._value += amount
        self._file.write_value(self._key, self._value, 0.0)


def _adder(counter: Any) -> Add:
    """Return what adds to a counter, straight to its number: the library's way there costs several times as much."""
    add: Add = counter._value.inc  # noqa: SLF001
    return add


def _observer(histogram: Any) -> Add:
    """Return what adds an observation to a histogram, as straight."""
    bounds, total = histogram._upper_bounds, histogram._sum.inc  # noqa: SLF001
    buckets = [bucket.inc for bucket in histogram._buckets]  # noqa: SLF001

    def observe(amount: float) -> None:
        total(amount)
        buckets[bisect_left(bounds, amount)](1)

    return observe


class Watch:
    """The metrics of one process; every child that a request may need is looked up beforehand.

    Parameters
    ----------
    directory
        Where the processes' counts meet (see `start_metrics`); None counts in this process alone.
    """

    def __init__(self, directory: Path | None = None) -> None:
        if directory is not None:
            _share(directory)
        self.registry = CollectorRegistry()
        self._requests = self._counter("requests", "Requests answered", "route", "status")
        self._request_seconds = self._histogram("request", "Whole requests", MILLISECONDS, "route")
        self._decisions = self._counter("decisions", "Queries by what privacy made of them", "outcome")
        self._decide_seconds = self._histogram("decide", "Deciding what may be sent", MICROSECONDS)
        self._dropped = self._counter("dropped_attributes", "Attributes that were not sent", "attribute")
        self._observe_decide = _observer(self._decide_seconds)
        self._fetches = self._counter("provider_requests", "Fetches, also those that failed", "provider")
        self._rows = self._counter("provider_rows", "Rows fetched", "provider")
        self._bytes = self._counter("provider_bytes", "Bytes fetched", "provider")
        self._errors = self._counter("provider_errors", "Fetches that failed", "provider", "code")
        self._fetch_seconds = self._histogram("provider", "Whole fetches", MILLISECONDS, "provider")
        self._cache = self._counter("cache_requests", "Answers looked for in the cache", "result")
        self._ledger_errors = self._counter("ledger_errors", "Times the ledger could not be used")
        self._reloads = self._counter("reloads", "Configurations read while running", "result")
        self._outcome = {outcome: _adder(self._decisions.labels(outcome)) for outcome in OUTCOMES}
        self._cache_hit = {
            found: _adder(self._cache.labels(result)) for found, result in ((True, "hit"), (False, "miss"))
        }
        self._reload_good = {True: self._reloads.labels("ok"), False: self._reloads.labels("bad")}
        self._routes: dict[str, _RouteChildren] = {}
        self._providers: dict[str, _ProviderChildren] = {}
        self._attributes: dict[str, Add] = {}
        self.learn(routes=[OTHER], providers=[OTHER], attributes=[OTHER])

    def learn(self, *, routes: Iterable[str], providers: Iterable[str], attributes: Iterable[str]) -> None:
        """Take the names of a configuration for label values; after a reload again, and old names stay."""
        for name in routes:
            self._routes[name] = _RouteChildren(
                statuses={
                    status: _adder(self._requests.labels(name, str(status))) for status in HTTP_STATUSES
                },
                other=_adder(self._requests.labels(name, OTHER)),
                seconds=_observer(self._request_seconds.labels(name)),
            )
        for name in providers:
            self._providers[name] = _ProviderChildren(
                fetches=_adder(self._fetches.labels(name)),
                rows=_adder(self._rows.labels(name)),
                bytes=_adder(self._bytes.labels(name)),
                errors={code: _adder(self._errors.labels(name, code)) for code in (*STATUSES, OTHER)},
                seconds=_observer(self._fetch_seconds.labels(name)),
            )
        for name in attributes:
            self._attributes[name] = _adder(self._dropped.labels(name))

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        known = self._routes.get(route) or self._routes[OTHER]
        known.statuses.get(status, known.other)(1)
        known.seconds(seconds)

    def decided(self, decision: Decision, seconds: float) -> None:
        """Count what was decided, and the attributes that are not sent."""
        self._outcome[_outcome(decision)](1)
        self._observe_decide(seconds)
        for name in decision.dropped:
            (self._attributes.get(name) or self._attributes[OTHER])(1)

    def fetched(self, provider: str, rows: int, nbytes: int, seconds: float) -> None:
        """Count an answer of a provider."""
        known = self._providers.get(provider) or self._providers[OTHER]
        known.fetches(1)
        known.rows(rows)
        known.bytes(nbytes)
        known.seconds(seconds)

    def provider_failed(self, provider: str, code: str, seconds: float) -> None:
        """Count a fetch that brought no answer, by the code of its error."""
        known = self._providers.get(provider) or self._providers[OTHER]
        known.fetches(1)
        known.errors.get(code, known.errors[OTHER])(1)
        known.seconds(seconds)

    def cache(self, *, found: bool) -> None:
        """Count a look into the cache."""
        self._cache_hit[found](1)

    def ledger_failed(self) -> None:
        """Count a ledger that could not be read or written."""
        self._ledger_errors.inc()

    def reloaded(self, *, good: bool) -> None:
        """Count a configuration that was read while running."""
        self._reload_good[good].inc()

    def _counter(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(f"incrowd_{name}", f"{what}.", labels, registry=self.registry)

    def _histogram(self, name: str, what: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        title = f"incrowd_{name}_seconds"
        return Histogram(title, f"{what}, in seconds.", labels, registry=self.registry, buckets=buckets)


@dataclass(frozen=True, slots=True)
class _RouteChildren:
    """The children of one route's metrics."""

    statuses: Mapping[int, Add]
    other: Add
    seconds: Add


@dataclass(frozen=True, slots=True)
class _ProviderChildren:
    """The children of one provider's metrics."""

    fetches: Add
    rows: Add
    bytes: Add
    errors: Mapping[str, Add]
    seconds: Add


def _outcome(decision: Decision) -> str:
    if decision.refused:
        return "refused"
    return "generalized" if decision.dropped or any(decision.rungs.values()) else "as_asked"


def _share(directory: Path) -> None:
    """Let the metrics that are made from now on live in files, however this process was started.

    The library reads its environment variable when it is imported, which may have been too early.
    """
    os.environ[DIRECTORY] = str(directory)
    if values.ValueClass is values.MutexValue:
        values.ValueClass = QuickValue


class MetricsServer:
    """The port on which Prometheus asks; it answers in threads of its own."""

    def __init__(self, host: str, port: int, collector: Collector) -> None:
        registry = CollectorRegistry()
        registry.register(collector)
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except OSError as error:
            reason = error.strerror or "unknown host"
            raise BadInputError(
                f"metrics: cannot listen on {host}, port {port} ({reason}); choose another host or port"
            ) from None
        self.port = self._server.server_port

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def start_metrics(host: str, port: int, directory: Path) -> MetricsServer:
    """Serve what the workers count, from their parent process; call it before they start.

    Parameters
    ----------
    host, port
        Where to listen; port 0 takes a free one.
    directory
        Where each worker's ``Watch(directory)`` writes. It belongs to this gateway alone: counts that an
        earlier run left there are removed.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for file in directory.glob("*.db"):
        file.unlink()
    return MetricsServer(host, port, _Workers(directory))


class _Workers(Collector):
    """The sum of what all workers have counted, the dead ones too."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._turn = threading.Lock()  # two scrapes at once must not fold the same files

    def collect(self) -> Iterable[Any]:
        with self._turn:
            for kind in ("counter", "histogram"):
                self._retire(kind)
            # A worker may have made its file and not yet given it a size.
            files = [str(file) for file in self._directory.glob("*.db") if file.stat().st_size]
            merged: Iterable[Any] = MultiProcessCollector.merge(files)
            return merged

    def _retire(self, kind: str) -> None:
        """Fold the files of dead workers into one."""
        dead = [file for file in self._directory.glob(f"{kind}_*.db") if not _is_alive(file)]
        if not dead:
            return
        total = self._directory / f"{kind}_{RETIRED}.db"
        sums: dict[str, float] = defaultdict(float)
        for file in (total, *dead):
            if file.exists() and file.stat().st_size:
                for key, value, *_ in CountsFile.read_all_values_from_file(file):
                    sums[key] += value
        _write(total, sums)
        for file in dead:
            file.unlink()


def _is_alive(file: Path) -> bool:
    """Tell whether the process that a file is named after still runs."""
    process = int(file.stem.rpartition("_")[2])
    if process == RETIRED:
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _write(file: Path, sums: dict[str, float]) -> None:
    """Write counts to a file of the library's format, whole or not at all."""
    unfinished = file.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    counts = CountsFile(str(unfinished))
    for key, value in sums.items():
        counts.write_value(key, value, 0.0)
    counts.close()
    unfinished.replace(file)
