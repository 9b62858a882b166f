"""The gateway under load, compared to a pass-through proxy, and its memory over five minutes.

Run: python benchmarks/gateway_load.py [--seconds 2] [--rounds 15] [--half-seconds 20]
     python benchmarks/gateway_load.py --soak [SECONDS]
Four processes on the loopback interface: load generator, gateway or proxy (one worker each), provider. The speed of
machines varies over time: in each of many short rounds every server is measured, in alternating order, and compared to the proxy
of the same round; the median of these ratios counts. Prints Markdown tables; exits with 1 if a request failed or an answer was
wrong, if the gateway with its default settings answers fewer than 0.76 of the proxy's requests per second (0.5 if all
queries are new), if one answer in a hundred takes 20 ms or more at half of that load, or if memory or open files grow.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "load"))

from stage import PEOPLE, Server, Stage, open_files, resident_bytes

PROXY = "pass-through proxy"
DEFAULT = "gateway"
NEW_QUERIES = "gateway, new queries"
SHARES = {DEFAULT: 0.76, NEW_QUERIES: 0.5}
"""The least shares of the proxy's throughput."""
SLOWEST = 20.0
"""Milliseconds for 99 of 100 answers at half load."""
SOAK_SECONDS = 300
GROWTH, SLACK = 1.05, 5e6
LEDGER = {"ledger": {"file": "ledger.sqlite"}}


@dataclass(frozen=True)
class Contender:
    """A server to measure, and the queries to send."""

    server: Server
    queries: Path


def contenders(stage: Stage, stack: contextlib.ExitStack) -> dict[str, Contender]:
    """Start all servers; most get the same queries again and again, one gets only new ones."""
    some, new = stage.queries(500), stage.queries(20_000, wide=True)
    # Every person has sent their two queries before, so that the ledger need not write them again.
    known = stage.queries(2 * PEOPLE, own=True)
    return {
        PROXY: Contender(stack.enter_context(stage.proxy()), some),
        "the same over the gateway's connections": Contender(stack.enter_context(stage.proxy("own")), some),
        DEFAULT: Contender(stack.enter_context(stage.gateway()), some),
        NEW_QUERIES: Contender(stack.enter_context(stage.gateway()), new),
        "gateway, log at warning, no metrics": Contender(
            stack.enter_context(stage.gateway(log="warning", metrics=None)), some
        ),
        "gateway with a ledger": Contender(stack.enter_context(stage.gateway(**LEDGER)), known),
    }


def measure(stage: Stage, seconds: float, rounds: int, half_seconds: float) -> bool:
    """Print throughput, and times at half of the gateway's load; return whether all is well."""
    with contextlib.ExitStack() as stack:
        those = contenders(stage, stack)
        for one in those.values():
            one.server.load(one.queries, min(seconds, 2))
        results: dict[str, list[dict[str, Any]]] = {name: [] for name in those}
        for number in range(rounds):
            for name in list(those)[:: -1 if number % 2 else 1]:
                results[name].append(those[name].server.load(those[name].queries, seconds))
        print_throughput(results)
        half = median(results[DEFAULT], "rate") / 2
        calm = {
            name: one.server.load(one.queries, half_seconds, rate=half)
            for name, one in those.items()
            if name in {PROXY, DEFAULT}
        }
        print_times(calm, half)
    everything = [each for those_results in results.values() for each in those_results] + list(calm.values())
    problems = [each["problems"] for each in everything if each["problems"]]
    print(f"\n{sum(each['requests'] for each in everything):,} requests, problems: {problems or 'none'}")
    fast = all(quartiles(shares(results, name))[1] >= least for name, least in SHARES.items())
    return fast and calm[DEFAULT]["p99"] < SLOWEST and not problems


def median(results: list[dict[str, Any]], what: str) -> float:
    return statistics.median(each[what] for each in results)


def print_throughput(results: dict[str, list[dict[str, Any]]]) -> None:
    print("\n| server | requests / s | of the proxy's | middle half | CPU us / request | p50 ms | p99 ms |")
    print("|---|---|---|---|---|---|---|")
    for name, those in results.items():
        low, middle, high = quartiles(shares(results, name))
        print(
            f"| {name} | {median(those, 'rate'):,.0f} | {middle:.2f} | {low:.2f} - {high:.2f} "
            f"| {median(those, 'cpu_us'):.0f} | {median(those, 'p50'):.1f} | {median(those, 'p99'):.1f} |"
        )


def shares(results: dict[str, list[dict[str, Any]]], name: str) -> list[float]:
    """Return a server's share of the proxy's throughput in each round."""
    return [each["rate"] / proxy["rate"] for each, proxy in zip(results[name], results[PROXY], strict=True)]


def quartiles(values: list[float]) -> list[float]:
    return statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3


def print_times(results: dict[str, dict[str, Any]], rate: float) -> None:
    print(
        f"\nAt {rate:,.0f} requests a second:\n\n| server | answered / s | p50 ms | p99 ms |\n|---|---|---|---|"
    )
    for name, each in results.items():
        print(f"| {name} | {each['rate']:,.0f} | {each['p50']:.2f} | {each['p99']:.2f} |")


def soak(stage: Stage, seconds: float) -> bool:
    """Send requests at half of the capacity, with ledger and a small cache; return whether memory stays flat."""
    cache = {"entries": 100, "bytes": "50KB", "time_to_live": "2s"}
    with stage.gateway(cache=cache, **LEDGER) as gateway:
        queries = stage.queries(2 * PEOPLE, own=True)
        capacity = gateway.load(queries, min(5, seconds / 4))["rate"]
        with gateway.start_load(queries, seconds, rate=capacity / 2) as client:
            samples = sample_usage(gateway, client)
            output, _ = client.communicate()
    result = Server.read(output)
    print(f"\n{result['requests']:,} requests at {capacity / 2:,.0f}/s, p99 {result['p99']:.1f} ms")
    print(
        f"problems: {result['problems'] or 'none'}\n\n| what | second minute | last minute | flat |\n|---|---|---|---|"
    )
    flat = [print_growth(name, [each[name] for each in samples]) for name in samples[0]]
    return all(flat) and not result["problems"]


def sample_usage(gateway: Server, client: subprocess.Popen[bytes]) -> list[dict[str, float]]:
    """Take a sample every second, until the load generator has ended."""
    parent, worker = gateway.process.pid, gateway.worker
    samples = []
    while client.poll() is None:
        samples.append(
            {
                "worker MB": resident_bytes(worker) / 1e6,
                "parent MB": resident_bytes(parent) / 1e6,
                "worker's open files": open_files(worker),
                "parent's open files": open_files(parent),
            }
        )
        time.sleep(1)
    return samples


def print_growth(name: str, values: list[float]) -> bool:
    """Compare the last minute with the second (of a shorter run: the last fifth with the second)."""
    size = max(min(60, len(values) // 5), 1)
    before, after = statistics.mean(values[size : 2 * size]), statistics.mean(values[-size:])
    flat = after <= before * GROWTH + (SLACK / 1e6 if name.endswith("MB") else 2)
    print(f"| {name} | {before:.1f} | {after:.1f} | {'yes' if flat else 'NO'} |")
    return flat


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=2, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--half-seconds", type=float, default=20, help="of the measurement at half load")
    parser.add_argument(
        "--soak", type=float, nargs="?", const=SOAK_SECONDS, help="soak for so many seconds instead"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="incrowd-load-") as folder:
        stage = Stage(Path(folder))
        with stage.provider():
            if options.soak:
                good = soak(stage, options.soak)
            else:
                good = measure(stage, options.seconds, options.rounds, options.half_seconds)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
