"""The gateway's metrics, for Prometheus.

Label values are names from the configuration, statuses and codes; anything else is "other". So no metric can contain
a value of a query, and the number of series is bounded.

A request only records what happened; several times a second, `GatewayMetrics.add_up` counts all records at once, which
costs a fraction of counting each request by itself. The parent process adds up the counts of the workers
(`incrowd.gateway.ops.shared_counts`) and serves them on a separate port.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.registry import Collector

from incrowd.errors import BadInputError
from incrowd.gateway.ops.shared_counts import Counts, CountsFile, Kind, SumOfProcesses
from incrowd.gateway.requests.problems import STATUSES
from incrowd.generalizer.decision import Decision

__all__ = ["CountedDecision", "GatewayMetrics", "MetricsServer", "start_metrics"]

OTHER = "other"
OUTCOMES = ("as_asked", "generalized", "refused")
CACHE = ("miss", "hit")
RELOADS = ("bad", "ok")
CLOSE_REASONS = ("address", "total", "unread")
HTTP_STATUSES = (200, *dict.fromkeys(STATUSES.values()))
MICROSECONDS = (5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 1e-2, 0.1, 1.0)
MILLISECONDS = (1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)

KINDS = (
    Kind("requests", "Requests answered", ("route", "status")),
    Kind("request", "Whole requests", ("route",), MILLISECONDS),
    Kind("decisions", "Queries by decision", ("outcome",)),
    Kind("decide", "Decisions on what may be sent", (), MICROSECONDS),
    Kind("dropped_attributes", "Attributes that were not sent", ("attribute",)),
    Kind("provider_requests", "Fetches, including failed ones", ("provider",)),
    Kind("provider_rows", "Rows fetched", ("provider",)),
    Kind("provider_bytes", "Bytes fetched", ("provider",)),
    Kind("provider_errors", "Fetches that failed", ("provider", "code")),
    Kind("provider", "Whole fetches", ("provider",), MILLISECONDS),
    Kind("cache_requests", "Cache lookups", ("result",)),
    Kind("ledger_errors", "Times the ledger could not be used"),
    Kind("ledger_created", "Ledgers used for the first time, without past disclosures"),
    Kind("ledger_expired", "Expired entries of the ledger that were erased"),
    Kind("ledger_clock_jumps", "Jumps of the system clock that the ledger ignored"),
    Kind("reloads", "Configurations read while running", ("result",)),
    Kind("connections_open", "Open connections of clients, measured once in a while", gauge=True),
    Kind(
        "connections_closed",
        "Connections closed by the gateway, too many or with an unread answer",
        ("reason",),
    ),
)


class CountedDecision(NamedTuple):
    """What is counted about a decision: one of `OUTCOMES`, and the attributes that are not sent."""

    outcome: str
    dropped: tuple[str, ...]

    @classmethod
    def of(cls, decision: Decision) -> Self:
        """Return what is counted about a decision."""
        if decision.refused:
            return cls("refused", decision.dropped)
        generalized = decision.dropped or any(decision.rungs.values())
        return cls("generalized" if generalized else "as_asked", decision.dropped)


class GatewayMetrics:
    """The metrics of one process.

    Parameters
    ----------
    directory
        Where the processes write their counts (see `start_metrics`); None counts in this process only.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._counts = Counts(KINDS)
        self._file = None if directory is None else CountsFile(directory)
        self.registry = CollectorRegistry()
        self.registry.register(self._counts)
        self._answered: list[tuple[str, int, float]] = []
        self._decided: list[tuple[CountedDecision, float]] = []
        self._fetched: list[tuple[str, int, int, float]] = []
        self._connections: deque[tuple[int, Mapping[str, int]]] = deque()
        self._names: dict[str, set[str]] = {"route": set(), "provider": set(), "attribute": set()}
        self.learn(routes=[OTHER], providers=[OTHER], attributes=[OTHER])

    def learn(self, *, routes: Iterable[str], providers: Iterable[str], attributes: Iterable[str]) -> None:
        """Use the names of a configuration as label values; called again after a reload, and old names stay.

        Every series starts at 0, so that its rate includes the first event.
        """
        self._names["route"].update(routes)
        self._names["provider"].update(providers)
        self._names["attribute"].update(attributes)
        begin = self._counts.begin
        for route in self._names["route"]:
            begin("request", route)
            for status in (*HTTP_STATUSES, OTHER):
                begin("requests", route, str(status))
        for provider in self._names["provider"]:
            for name in ("provider_requests", "provider_rows", "provider_bytes", "provider"):
                begin(name, provider)
            for code in (*STATUSES, OTHER):
                begin("provider_errors", provider, code)
        for attribute in self._names["attribute"]:
            begin("dropped_attributes", attribute)
        for name, results in (
            ("decisions", OUTCOMES),
            ("cache_requests", CACHE),
            ("reloads", RELOADS),
            ("connections_closed", CLOSE_REASONS),
        ):
            for result in results:
                begin(name, result)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Record an answered request."""
        self._answered.append((route, status, seconds))

    def decided(self, counted: CountedDecision, seconds: float) -> None:
        """Record a decision, and how long it took."""
        self._decided.append((counted, seconds))

    def fetched(self, provider: str, rows: int, nbytes: int, seconds: float) -> None:
        """Record an answer of a provider."""
        self._fetched.append((provider, rows, nbytes, seconds))

    def provider_failed(self, provider: str, code: str, seconds: float) -> None:
        """Record a failed fetch, by the code of its error."""
        self.fetched(provider, 0, 0, seconds)
        known = code if code in STATUSES else OTHER
        self._counts.add("provider_errors", self._known("provider", provider), known)

    def cache(self, *, found: bool) -> None:
        """Count a cache lookup."""
        self._counts.add("cache_requests", CACHE[found])

    def ledger_failed(self) -> None:
        """Count a ledger that could not be read or written."""
        self._counts.add("ledger_errors")
        self._publish()  # at once: it is rare, and no request is answered meanwhile

    def ledger_created(self) -> None:
        """Count a ledger that was used for the first time."""
        self._counts.add("ledger_created")
        self._publish()

    def ledger_expired(self, entries: int) -> None:
        """Count expired entries that were erased."""
        self._counts.add("ledger_expired", amount=entries)

    def ledger_clock_jumped(self) -> None:
        """Count a jump of the system clock that the ledger ignored."""
        self._counts.add("ledger_clock_jumps")
        self._publish()

    def reloaded(self, *, good: bool) -> None:
        """Count a configuration that was read while running."""
        self._counts.add("reloads", RELOADS[good])
        self.add_up()

    def connections(self, count: int, closed: Mapping[str, int]) -> None:
        """Record how many connections there are, and how many were closed for which reason; from any thread."""
        self._connections.append((count, closed))

    def add_up(self) -> None:
        """Count what was recorded since the last call, and write the counts for the parent."""
        answered, self._answered = self._answered, []
        decided, self._decided = self._decided, []
        fetched, self._fetched = self._fetched, []
        self._count_requests(answered)
        self._count_decisions(decided)
        self._count_fetches(fetched)
        self._count_connections()
        self._publish()

    def _publish(self) -> None:
        if self._file:
            self._file.write(self._counts)

    def _count_requests(self, answered: Sequence[tuple[str, int, float]]) -> None:
        for (route, status), count in Tally((route, status) for route, status, _ in answered).items():
            shown = str(status) if status in HTTP_STATUSES else OTHER
            self._counts.add("requests", self._known("route", route), shown, amount=count)
        for route in {route for route, _, _ in answered}:
            seconds = [seconds for its, _, seconds in answered if its == route]
            self._counts.observe("request", self._known("route", route), seconds=seconds)

    def _count_decisions(self, decided: Sequence[tuple[CountedDecision, float]]) -> None:
        self._counts.observe("decide", seconds=[seconds for _, seconds in decided])
        outcomes: Tally[str] = Tally()
        dropped: Tally[str] = Tally()
        for counted, count in Tally(counted for counted, _ in decided).items():
            outcomes[counted.outcome] += count
            for name in counted.dropped:
                dropped[self._known("attribute", name)] += count
        for outcome, count in outcomes.items():
            self._counts.add("decisions", outcome, amount=count)
        for name, count in dropped.items():
            self._counts.add("dropped_attributes", name, amount=count)

    def _count_fetches(self, fetched: Sequence[tuple[str, int, int, float]]) -> None:
        for provider in {provider for provider, *_ in fetched}:
            name = self._known("provider", provider)
            rows, nbytes, seconds = zip(*(each for its, *each in fetched if its == provider), strict=True)
            self._counts.add("provider_requests", name, amount=len(rows))
            self._counts.add("provider_rows", name, amount=sum(rows))
            self._counts.add("provider_bytes", name, amount=sum(nbytes))
            self._counts.observe("provider", name, seconds=seconds)

    def _count_connections(self) -> None:
        while self._connections:
            count, closed = self._connections.popleft()
            self._counts.put("connections_open", amount=count)
            for reason, number in closed.items():
                self._counts.add("connections_closed", reason, amount=number)

    def _known(self, kind: str, name: str) -> str:
        return name if name in self._names[kind] else OTHER


class MetricsServer:
    """The port that Prometheus scrapes, served by its own threads."""

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
    """Serve the workers' counts from their parent process; call it before they start.

    Parameters
    ----------
    host, port
        Where to listen; port 0 takes a free one.
    directory
        Where each worker's ``GatewayMetrics(directory)`` writes. It must belong to this gateway only: counts of an
        earlier run are removed.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for file in directory.iterdir():
        file.unlink()
    return MetricsServer(host, port, SumOfProcesses(directory, KINDS))
