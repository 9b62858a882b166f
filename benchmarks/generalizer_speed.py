"""The query generalizer: building cubes, and the time from a query to a decision.

    python benchmarks/generalizer_speed.py [--rows 10000000] [--queries 20000] [--passes 5] [--strategy strict]

UCI Adult if the public data is in ``INCROWD_DATA`` (default ``../shared/data`` from the project's root), a synthetic
table of six attributes with skewed values, and one of ten, for which no cube fits. Each attribute is protected in
turn (l = 2 or more). Queries copy a random row; each other attribute is fixed with probability 2/3, or always
("all fixed", the slowest). A time is of one call, from a dict of texts to a decision whose query to
send was read; the best of several passes over the same queries, since the machine is shared.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from incrowd.generalizer import (
    STRICT,
    Attribute,
    AuxiliaryTable,
    Counter,
    Policy,
    Schema,
    choose_counter,
    describe,
    encode,
    generalize,
    predicted_bytes,
    schema_of,
)
from public_data import DATA, read_adult

ADULT = {"workclass": 1, "education": 3, "marital-status": 5, "race": 8, "sex": 9, "income": 14}
SIX = (236, 206, 9, 14, 7, 4)
TEN = (236, 206, 50, 30, 14, 9, 7, 4, 3, 2)
MEMORY = 2_000_000_000
FIXED = 2 / 3


def make_table(domains: Sequence[int], rows: int, seed: int = 1) -> AuxiliaryTable:
    """Return a synthetic table in which the i-th value of an attribute is about 1/i as frequent as the first."""
    chance = np.random.default_rng(seed)
    attributes, columns = [], {}
    for place, size in enumerate(domains):
        name = f"q{place}"
        attributes.append(Attribute(name, tuple(f"value {number}" for number in range(size))))
        bounds = np.cumsum(1 / np.arange(1, size + 1))
        columns[name] = np.searchsorted(bounds[:-1] / bounds[-1], chance.random(rows)).astype(np.uint8)
    return AuxiliaryTable(Schema(tuple(attributes)), rows, columns)


def make_queries(table: AuxiliaryTable, protected: str, many: int, fixed: float) -> list[dict[str, str]]:
    """Copy random rows, with each attribute that is not protected kept with some probability."""
    chance = np.random.default_rng(2)
    names = [name for name in table.schema.names if name != protected]
    picked = chance.integers(table.rows, size=many)
    keep = chance.random((many, len(names))) < fixed
    texts = [[str(table.schema[name].domain[code]) for code in table.columns[name][picked]] for name in names]
    return [
        {name: texts[place][query] for place, name in enumerate(names) if keep[query, place]}
        for query in range(many)
    ]


def latencies(
    counter: Counter,
    queries: Sequence[dict[str, str]],
    policies: Sequence[Policy],
    passes: int,
    strategy: str,
) -> tuple[float, float]:
    """Return p50 and p99 in microseconds, of the best pass; what strict keeps of templates is computed before."""
    for query in queries if strategy == STRICT else queries[:200]:
        generalize(query, counter, policies, strategy=strategy)
    best = (float("inf"), float("inf"))
    for _ in range(passes):
        times = np.empty(len(queries))
        for number, query in enumerate(queries):
            start = time.perf_counter_ns()
            _ = generalize(query, counter, policies, strategy=strategy).kept
            times[number] = time.perf_counter_ns() - start
        p50, p99 = np.percentile(times, [50, 99]) / 1000
        best = min(best, (float(p50), float(p99)))
    return best


def policy_of(table: AuxiliaryTable, name: str) -> tuple[Policy, ...]:
    """Return the policy with l as a third of the attribute's values, at least two."""
    return (Policy.of_diversity(name, max(2, len(table.schema[name].domain) // 3)),)


def peak() -> str:
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB"


def measure(title: str, table: AuxiliaryTable, directory: Path, options: argparse.Namespace) -> None:
    """Print a line for each protected attribute, and what all cubes together take."""
    print(f"\n## {title}: {table.rows:,} rows; before: peak {peak()}\n")
    print(
        "| protected | cells as predicted | built s | p50 us | p99 us | all fixed: p50 us | p99 us | peak |"
    )
    print("|---|---|---|---|---|---|---|---|")
    spent = 0.0
    for name in table.schema.names:
        needed = predicted_bytes(table.schema, table.rows, [name])
        start = time.perf_counter()
        counter = choose_counter(table, [name], memory=MEMORY, directory=directory)
        built = time.perf_counter() - start
        spent += built
        times = [
            latencies(
                counter,
                make_queries(table, name, options.queries, fixed),
                policy_of(table, name),
                options.passes,
                options.strategy,
            )
            for fixed in (FIXED, 1)
        ]
        shown = " | ".join(f"{number:.1f}" for pair in times for number in pair)
        print(f"| {name} | {needed / 1e6:,.1f} MB | {built:.2f} | {shown} | {peak()} |")
    files = sum(path.stat().st_size for path in directory.glob("*.cube"))
    assert files == predicted_bytes(table.schema, table.rows, table.schema.names)
    print(f"\nAll cubes: built in {spent:.1f} s; {files:,} bytes, exactly as predicted.")
    start = time.perf_counter()
    counter = choose_counter(table, table.schema.names, memory=MEMORY, directory=directory)
    print(f"Opened and checked again in {time.perf_counter() - start:.2f} s. {describe(counter)}")


def measure_fallback(table: AuxiliaryTable, strategy: str) -> None:
    """Print what ten attributes cost."""
    name = table.schema.names[-3]
    counter = choose_counter(table, [name], memory=MEMORY)
    print(f"\n## Ten attributes: {table.rows:,} rows\n\n{describe(counter)}\n")
    print("| fixed | p50 ms | p99 ms |\n|---|---|---|")
    for fixed, title in ((FIXED, "2/3"), (1, "all")):
        queries = make_queries(table, name, 20, fixed)
        p50, p99 = latencies(counter, queries, policy_of(table, name), 1, strategy)
        print(f"| {title} | {p50 / 1000:.1f} | {p99 / 1000:.1f} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--queries", type=int, default=20_000)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--strategy", default=STRICT)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        if (DATA / "tables/adult.data").exists():
            for title, columns in (("UCI Adult", ADULT), ("UCI Adult with age", {"age": 0, **ADULT})):
                table = read_adult(DATA, columns, numbers=["age"])
                measure(title, encode(table, schema_of(table)), Path(directory) / title, options)
        made = make_table(SIX, options.rows)
        measure("Derived", made, Path(directory) / "made", options)
    measure_fallback(make_table(TEN, options.rows), options.strategy)


if __name__ == "__main__":
    main()
