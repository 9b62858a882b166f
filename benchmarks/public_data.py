"""The public data sets: where they are, the options of the scripts that read them, and UCI Adult as a table."""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

import pyarrow as pa

__all__ = ["DATA", "existing", "read_adult", "read_options"]

DATA = Path(os.environ.get("INCROWD_DATA", Path(__file__).resolve().parents[1] / "../shared/data"))


def read_options(description: str | None) -> argparse.Namespace:
    """Read ``--quick`` and ``--data``."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tiny size, to test that it runs")
    parser.add_argument("--data", type=Path, default=DATA, help="directory of the public data sets")
    return parser.parse_args()


def existing(path: Path) -> Path:
    """Return the path of a file, or end with the remedy if it does not exist."""
    if not path.is_file():
        sys.exit(f"{path} does not exist; set INCROWD_DATA to the directory of the public data sets")
    return path


def read_adult(
    directory: Path, columns: Mapping[str, int], rows: int | None = None, *, numbers: Collection[str] = ()
) -> pa.Table:
    """Read some columns of UCI Adult, by their places; those in `numbers` as numbers, the others as text."""
    with existing(directory / "tables/adult.data").open(encoding="ascii", newline="") as file:
        people = [line for line in csv.reader(file, skipinitialspace=True) if line][:rows]
    return pa.table(
        {
            name: [int(person[place]) if name in numbers else person[place] for person in people]
            for name, place in columns.items()
        }
    )
