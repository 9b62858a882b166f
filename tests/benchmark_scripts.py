"""The scripts in `benchmarks/`, as programs and as modules, and made-up data in the place of the public sets."""

from __future__ import annotations

import importlib.util
import io
import os
import runpy
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import pytest

__all__ = ["BENCHMARKS", "Ran", "loaded_script", "run_as_process", "run_script", "write_baskets"]

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


class Ran(NamedTuple):
    """What a script left: its exit code and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def run_script(name: str, *options: object, data: Path | None = None) -> Ran:
    """Run a script to its end in this process, which has loaded most of what it needs; `data` is where it looks for the public sets."""
    path, out, err = BENCHMARKS / f"{name}.py", io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        own_modules(),
        warnings.catch_warnings(),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        warnings.simplefilter("default")
        patch.delenv("INCROWD_DATA", raising=False)
        if data is not None:
            patch.setenv("INCROWD_DATA", str(data))
        patch.setattr(sys, "argv", [str(path), *map(str, options)])
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        code: object = 0
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as leave:
            code = leave.code or 0
            if isinstance(code, str):
                err.write(f"{code}\n")
    return Ran(code if isinstance(code, int) else 1, out.getvalue(), err.getvalue())


@contextmanager
def own_modules() -> Iterator[None]:
    """Let scripts import the modules that they share anew, which remember where the data is; set others' aside meanwhile."""
    aside = taken_out()
    try:
        yield
    finally:
        taken_out()
        sys.modules.update(aside)


def taken_out() -> dict[str, ModuleType]:
    """Take the scripts out of the modules that are imported, and return them."""
    names = [name for name, module in sys.modules.items() if is_script(module)]
    return {name: sys.modules.pop(name) for name in names}


def is_script(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).parent == BENCHMARKS


def run_as_process(name: str, *options: object, data: Path) -> subprocess.CompletedProcess[str]:
    """Run a script as its user does."""
    command = [sys.executable, BENCHMARKS / f"{name}.py", *map(str, options)]
    environment = {**os.environ, "INCROWD_DATA": str(data)}
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
