"""Programs of our own start without libraries that they do not use; whoever imports the package keeps them."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from incrowd.cli.app import main
from incrowd.core.left_out import UNUSED, leave_out_unused, let_in_again

# Runs the program, then says what it has imported, and imports what it had left out.
PROGRAM = """
import sys
from incrowd.cli import main
from incrowd.core.left_out import UNUSED, let_in_again
try:
    main()
except SystemExit as left:
    assert not left.code, left.code
print("imported:", *sorted(UNUSED & set(sys.modules)))
let_in_again()
import pandas, pyarrow, scipy
print(len(pyarrow.table({"a": [1, 2]}).to_pandas()))
"""


def test_a_job_imports_neither_and_both_can_be_let_in_again(tmp_path):
    """Reading makes Arrow look for pandas, kernels make Numba look for SciPy."""
    (tmp_path / "baskets.dat").write_text("milk bread\n" * 4 + "milk beer\n" * 4, encoding="utf-8")
    job = ["anonymize", tmp_path / "baskets.dat", "--out", tmp_path / "out", "--k=2", "--method=partition"]
    done = subprocess.run([sys.executable, "-c", PROGRAM, *job], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["imported:", "2"]


def test_a_call_from_python_leaves_imports_alone():
    before = list(sys.meta_path)
    with pytest.raises(SystemExit):
        main(["--version"])
    assert sys.meta_path == before


def test_what_is_left_out_cannot_be_found_until_it_is_let_in(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.delitem(sys.modules, "pandas", raising=False)
    leave_out_unused()
    leave_out_unused()
    with pytest.raises(ModuleNotFoundError, match="pandas is left out of this program"):
        __import__("pandas")
    let_in_again()
    assert not any(type(finder).__module__ == leave_out_unused.__module__ for finder in sys.meta_path)
    assert {"pandas", "scipy"} == UNUSED


def test_what_a_library_has_not_imported_yet_is_left_out_too(monkeypatch):
    """Numba imports SciPy for its version before a worker of the gateway can leave it out, and its linear algebra later."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    import scipy  # noqa: PLC0415 - it is there already, as in a worker

    monkeypatch.delitem(sys.modules, "scipy.linalg.cython_blas", raising=False)
    leave_out_unused()
    with pytest.raises(ModuleNotFoundError, match=r"scipy\.linalg.* is left out of this program"):
        import_module("scipy.linalg.cython_blas")
    assert sys.modules["scipy"] is scipy
