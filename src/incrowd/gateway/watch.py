"""What the gateway counts about itself, for Prometheus.

Label values are names out of the configuration, statuses and codes; anything else is "other". So no metric can hold
a value of a query, and the number of series is bounded.

A request only notes what happened; several times a second, `Watch.add_up` makes counts of all notes at once, which
costs each request a fraction of what counting by itself would.

Every worker process writes its own files in one directory, and the parent process adds them up and serves them
on a port of their own. When a worker has died, its files are folded into those of process 0: counts never go back,
and the directory does not grow with every restart.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_left
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Sequence
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
CACHE = ("miss", "hit")
RELOADS = ("bad", "ok")
HTTP_STATUSES = (200, *dict.fromkeys(STATUSES.values()))
MICROSECONDS = (5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 1e-2, 0.1, 1.0)
MILLISECONDS = (1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)

# These parts of the library have no types.
CountsFile: Any = mmap_dict.MmapedDict
MultiProcessCollector: Any = multiprocess.MultiProcessCollector
make_file_values: Any = values.MultiProcessValue
FileValue: Any = make_file_values()


def _observe(histogram: Any, amounts: Sequence[float]) -> None:
    """Add many observations to a histogram at once, for which the library has no way."""
    histogram._sum.inc(sum(amounts))  # noqa: SLF001
    bounds = histogram._upper_bounds  # noqa: SLF001
    for place, count in Tally(bisect_left(bounds, amount) for amount in amounts).items():
        histogram._buckets[place].inc(count)  # noqa: SLF001


class Watch:
    """The metrics of one process.

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
        self._fetches = self._counter("provider_requests", "Fetches, also those that failed", "provider")
        self._rows = self._counter("provider_rows", "Rows fetched", "provider")
        self._bytes = self._counter("provider_bytes", "Bytes fetched", "provider")
        self._errors = self._counter("provider_errors", "Fetches that failed", "provider", "code")
        self._fetch_seconds = self._histogram("provider", "Whole fetches", MILLISECONDS, "provider")
        self._cache = self._counter("cache_requests", "Answers looked for in the cache", "result")
        self._ledger_errors = self._counter("ledger_errors", "Times the ledger could not be used")
        self._reloads = self._counter("reloads", "Configurations read while running", "result")
        self._answered: list[tuple[str, int, float]] = []
        self._decided: list[tuple[Decision, float]] = []
        self._fetched: list[tuple[str, int, int, float]] = []
        self._names: dict[str, set[str]] = {"route": set(), "provider": set(), "attribute": set()}
        self.learn(routes=[OTHER], providers=[OTHER], attributes=[OTHER])

    def learn(self, *, routes: Iterable[str], providers: Iterable[str], attributes: Iterable[str]) -> None:
        """Take the names of a configuration for label values; after a reload again, and old names stay.

        Every series begins at 0, so that whoever looks at its growth sees the first event too.
        """
        self._names["route"].update(routes)
        self._names["provider"].update(providers)
        self._names["attribute"].update(attributes)
        for route in self._names["route"]:
            self._request_seconds.labels(route)
            for status in (*HTTP_STATUSES, OTHER):
                self._requests.labels(route, str(status))
        for provider in self._names["provider"]:
            for counter in (self._fetches, self._rows, self._bytes, self._fetch_seconds):
                counter.labels(provider)
            for code in (*STATUSES, OTHER):
                self._errors.labels(provider, code)
        for attribute in self._names["attribute"]:
            self._dropped.labels(attribute)
        for counter, results in ((self._decisions, OUTCOMES), (self._cache, CACHE), (self._reloads, RELOADS)):
            for result in results:
                counter.labels(result)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Note a request that was answered."""
        self._answered.append((route, status, seconds))

    def decided(self, decision: Decision, seconds: float) -> None:
        """Note what was decided, and how long that took."""
        self._decided.append((decision, seconds))

    def fetched(self, provider: str, rows: int, nbytes: int, seconds: float) -> None:
        """Note an answer of a provider."""
        self._fetched.append((provider, rows, nbytes, seconds))

    def provider_failed(self, provider: str, code: str, seconds: float) -> None:
        """Note a fetch that brought no answer, by the code of its error."""
        self.fetched(provider, 0, 0, seconds)
        self._errors.labels(self._known("provider", provider), code if code in STATUSES else OTHER).inc()

    def cache(self, *, found: bool) -> None:
        """Count a look into the cache."""
        self._cache.labels(CACHE[found]).inc()

    def ledger_failed(self) -> None:
        """Count a ledger that could not be read or written."""
        self._ledger_errors.inc()

    def reloaded(self, *, good: bool) -> None:
        """Count a configuration that was read while running."""
        self._reloads.labels(RELOADS[good]).inc()

    def add_up(self) -> None:
        """Count what was noted since the last time."""
        answered, self._answered = self._answered, []
        decided, self._decided = self._decided, []
        fetched, self._fetched = self._fetched, []
        self._count_requests(answered)
        self._count_decisions(decided)
        self._count_fetches(fetched)

    def _count_requests(self, answered: Sequence[tuple[str, int, float]]) -> None:
        for (route, status), count in Tally((route, status) for route, status, _ in answered).items():
            shown = str(status) if status in HTTP_STATUSES else OTHER
            self._requests.labels(self._known("route", route), shown).inc(count)
        for route in {route for route, _, _ in answered}:
            seconds = [seconds for its, _, seconds in answered if its == route]
            _observe(self._request_seconds.labels(self._known("route", route)), seconds)

    def _count_decisions(self, decided: Sequence[tuple[Decision, float]]) -> None:
        _observe(self._decide_seconds, [seconds for _, seconds in decided])
        # A question that is asked again has the same decision, and what it says takes some reading.
        distinct = {id(decision): decision for decision, _ in decided}
        outcomes: Tally[str] = Tally()
        dropped: Tally[str] = Tally()
        for which, count in Tally(id(decision) for decision, _ in decided).items():
            outcomes[_outcome(distinct[which])] += count
            for name in distinct[which].dropped:
                dropped[self._known("attribute", name)] += count
        for outcome, count in outcomes.items():
            self._decisions.labels(outcome).inc(count)
        for name, count in dropped.items():
            self._dropped.labels(name).inc(count)

    def _count_fetches(self, fetched: Sequence[tuple[str, int, int, float]]) -> None:
        for provider in {provider for provider, *_ in fetched}:
            name = self._known("provider", provider)
            rows, nbytes, seconds = zip(*(each for its, *each in fetched if its == provider), strict=True)
            self._fetches.labels(name).inc(len(rows))
            self._rows.labels(name).inc(sum(rows))
            self._bytes.labels(name).inc(sum(nbytes))
            _observe(self._fetch_seconds.labels(name), seconds)

    def _known(self, kind: str, name: str) -> str:
        return name if name in self._names[kind] else OTHER

    def _counter(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(f"incrowd_{name}", f"{what}.", labels, registry=self.registry)

    def _histogram(self, name: str, what: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        title = f"incrowd_{name}_seconds"
        return Histogram(title, f"{what}, in seconds.", labels, registry=self.registry, buckets=buckets)


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
        values.ValueClass = FileValue


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
