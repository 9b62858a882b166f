"""Compiled kernels on a worker: one process compiles, the others wait and then only read."""

from __future__ import annotations

import os
import subprocess
import sys

SLOW = """
import sys, time
from incrowd.spark.warm import warmed

def slow():
    begun = time.monotonic()
    time.sleep(0.3)
    print(begun, time.monotonic())

warmed("slow", slow)
warmed("slow", slow)
"""


def test_two_processes_never_compile_at_the_same_time(tmp_path):
    place = os.environ | {"INCROWD_CACHE_DIR": str(tmp_path / "kernels")}
    both = [
        subprocess.Popen([sys.executable, "-c", SLOW], env=place, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    times = [[float(one) for one in process.communicate()[0].split()] for process in both]
    assert [len(one) for one in times] == [2, 2]  # and once in each
    first, second = sorted(times)
    assert first[1] <= second[0]
