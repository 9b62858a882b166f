"""Compile the kernels of all methods, on all cores: tests that run side by side would compile the same ones, each for itself.

Usage: python scripts/compile_kernels.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec

from incrowd.jobs.attack_kernels import load_attacks
from incrowd.jobs.data import kernels_are_compiled, load_kernels
from incrowd.jobs.settings import parse_methods
from incrowd.jobs.spec import IN_MEMORY, Options, check_input
from incrowd.kernels.jit import cache_directory

# It has next to no kernels of its own; those that measure a release are what most methods need.
SHARED = "suppress"
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
    "plain",
)
# Where k counts people, of whom one may have several records, classes are merged, which takes kernels of its own.
UNITS = (None, "session:30m")

# What an executor of Spark's compiles, in a process that keeps it where executors do.
FOR_EXECUTORS = """
from incrowd.spark import losses, people
from incrowd.spark.flock import measure
from incrowd.spark.partition import parts

for module in (losses, people, measure):
    module.compile_kernels()
for publish in ("set", "bag", "lcg"):
    parts.compile_kernels(publish)
"""


ATTACKS = "attacks"


def compile_for(method: str) -> None:
    """Compile what a method and the measures of its releases need, or the attacks, as the first run would."""
    if method == ATTACKS:
        load_attacks()
        return
    settings = parse_methods(method)
    for unit in UNITS:
        job = check_input(Options(IN_MEMORY, IN_MEMORY, unit=unit), settings)
        if not kernels_are_compiled(job):
            load_kernels(job)


def compile_for_executors() -> None:
    """Give executors of Spark's the kernels that are compiled now, and compile the few that they alone need."""
    from incrowd.spark.session import kernels_place  # noqa: PLC0415 - only where Spark is installed

    here, place = cache_directory(), kernels_place()
    if here is not None and not (place / here.name).exists():
        place.mkdir(mode=0o700, exist_ok=True)
        shutil.copytree(here, place / here.name)
    keeping = os.environ | {"INCROWD_CACHE_DIR": str(place)}
    subprocess.run([sys.executable, "-c", FOR_EXECUTORS], env=keeping, check=True)  # noqa: S603 - our own lines


if __name__ == "__main__":
    # Once: processes that need the same kernel at the same time compile it each for itself.
    compile_for(SHARED)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_for, (*LONGEST, ATTACKS)))
    if find_spec("pyspark"):
        compile_for_executors()
