"""Compile the kernels of all methods, on all cores: tests that run side by side would compile the same ones, each for itself.

Usage: python scripts/compile_kernels.py
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor

from incrowd.jobs.data import kernels_are_compiled, load_kernels
from incrowd.jobs.spec import IN_MEMORY, Options, check_input, parse_methods

# The longest first, so that no core waits for the last one.
LONGEST = (
    "mosaic:effort=best",
    "flock",
    "microaggregation",
    "ssc",
    "partition",
    "apriori",
    "clump",
    "navarro",
)


def compile_for(method: str) -> None:
    """Compile what a method and the measures of its releases need, as its first run would."""
    settings = parse_methods(method)
    job = check_input(Options(IN_MEMORY, IN_MEMORY), settings)
    if not kernels_are_compiled(job):
        load_kernels(job)


if __name__ == "__main__":
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_for, LONGEST))
