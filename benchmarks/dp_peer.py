"""PipelineDP's selection of items, for benchmarks/dp.py: run it in an environment that has pipeline-dp, with a basket file.

    python benchmarks/dp_peer.py FILE EPS DELTA D STRATEGY

Prints the items that it publishes, one a line. Every line of the file is a person.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pipeline_dp


def main() -> None:
    """Select items by one of PipelineDP's strategies."""
    file, eps, delta, most = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    rows = [(person, item) for person, line in enumerate(lines) for item in set(line.split())]
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=eps, total_delta=delta)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1]
    )
    parameters = pipeline_dp.SelectPartitionsParams(
        max_partitions_contributed=most,
        partition_selection_strategy=pipeline_dp.PartitionSelectionStrategy[sys.argv[5]],
    )
    found = engine.select_partitions(rows, parameters, extractors)
    accountant.compute_budgets()
    print("\n".join(sorted(found)))


if __name__ == "__main__":
    main()
