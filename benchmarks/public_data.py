"""The options of the scripts that read the public data sets."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

__all__ = ["read_options"]

DEFAULT = Path(__file__).resolve().parents[1] / "../shared/data"


def read_options(description: str | None) -> argparse.Namespace:
    """Read ``--quick`` and ``--data``."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tiny size, to test that it runs")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("INCROWD_DATA", DEFAULT)),
        help="directory of the public data sets",
    )
    return parser.parse_args()
