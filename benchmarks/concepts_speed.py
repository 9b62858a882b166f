"""From query text to concepts of WordNet: distinct queries a second on one core.

    python benchmarks/concepts_speed.py

On the queries of a made-up log, and on the Excite log's if the public data is in ``INCROWD_DATA`` (default
``../shared/data`` from the project's root).
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from incrowd.logs.synth.generate import write_log
from incrowd.taxonomy import wordnet_tree
from incrowd.text.concepts import Concepts, Knowledge, find_concepts
from incrowd.text.phrases import noun_phrases
from public_data import DATA

EXCITE = DATA / "logs/excite-small.log"
LINES = 1_000_000
RUNS = 3


def column(path: Path, number: int) -> pa.StringArray:
    """Return the distinct texts of one column of a file with tabs, without a header."""
    names = [str(i) for i in range(number + 1)]
    table = csv.read_csv(
        path,
        read_options=csv.ReadOptions(autogenerate_column_names=True, use_threads=False),
        parse_options=csv.ParseOptions(
            delimiter="\t", quote_char=False, invalid_row_handler=lambda _: "skip"
        ),
        convert_options=csv.ConvertOptions(
            include_columns=[f"f{names[-1]}"], column_types={f"f{names[-1]}": pa.string()}
        ),
    )
    return table[0].combine_chunks().unique()


def made_up_queries() -> pa.StringArray:
    """Return the distinct queries of a made-up log."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "log.tsv"
        write_log(path, lines=LINES, people="all")
        return column(path, 1)


def measure(name: str, queries: pa.StringArray, knowledge: Knowledge) -> str:
    """Run some times and return a line of the table."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        concepts = find_concepts(queries, knowledge)
        times.append(time.perf_counter() - start)
    start = time.perf_counter()
    noun_phrases(queries)
    phrases = time.perf_counter() - start
    return (
        f"{name:>8} {len(queries):>9,} {min(times):>9.3f} {phrases:>9.3f} "
        f"{len(queries) / min(times):>12,.0f} {share_with_any(concepts):>10.1%}"
    )


def share_with_any(concepts: Concepts) -> float:
    return float(np.mean(np.diff(concepts.start) > 0))


def main() -> None:
    pa.set_cpu_count(1)
    start = time.perf_counter()
    knowledge = Knowledge.of(wordnet_tree())
    print(f"WordNet's names learnt in {time.perf_counter() - start:.2f} s; one thread, best of {RUNS}")
    print(f"{'log':>8} {'queries':>9} {'s':>9} {'phrases,s':>9} {'queries/s':>12} {'recognised':>10}")
    print(measure("made up", made_up_queries(), knowledge))
    if EXCITE.is_file():
        print(measure("Excite", column(EXCITE, 2), knowledge))


if __name__ == "__main__":
    main()
