"""The scripts in `benchmarks/`, as programs and as modules, and made-up data in the place of the public sets."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import numpy as np

__all__ = ["BENCHMARKS", "loaded_script", "run_script", "write_baskets"]

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def run_script(name: str, *options: object, data: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a script to its end; `data` is where it looks for the public sets."""
    environment = {key: value for key, value in os.environ.items() if key != "INCROWD_DATA"}
    if data is not None:
        environment["INCROWD_DATA"] = str(data)
    command = [sys.executable, BENCHMARKS / f"{name}.py", *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@contextmanager
def loaded_script(name: str) -> Iterator[ModuleType]:
    """Import a script under its own name, and forget it afterwards."""
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(BENCHMARKS))  # as if it were run: scripts share modules
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(BENCHMARKS))
        del sys.modules[name]


def write_baskets(directory: Path, names: Iterable[str], rows: int, rng: np.random.Generator) -> None:
    """Write made-up baskets under the names of public sets, with their line ends."""
    (directory / "transactions").mkdir(exist_ok=True)
    for name in names:
        baskets = [np.unique(rng.zipf(1.5, size) % 60) for size in rng.integers(1, 6, rows)]
        text = "".join(" ".join(map(str, basket)) + "\r\n" for basket in baskets)
        (directory / f"transactions/{name}.dat").write_bytes(text.encode())
