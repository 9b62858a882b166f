"""The wheel, as somebody who has nothing else gets it: installed, read-only, without a home."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Root may write everywhere; without its capabilities it is a user like any other.
PLAIN_USER = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place():
    """A directory that everybody may enter (pytest's own are closed to others)."""
    with tempfile.TemporaryDirectory(prefix="incrowd-wheel-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def wheel(place):
    pytest.importorskip("build", reason="building the wheel takes the package 'build'")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", place, ROOT]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = place.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(place, wheel):
    """A new environment with the wheel in it, read-only. The libraries below it are those of this one."""
    home = place / "environment"
    venv.create(home, with_pip=False, symlinks=True)
    (packages,) = home.glob("lib/python*/site-packages")
    shutil.unpack_archive(wheel, packages, "zip")
    for name in libraries():
        (packages / name.name).symlink_to(name)
    yield home, packages
    subprocess.run(["chmod", "-R", "u+w", home], check=True)


def libraries():
    """Return what is installed here but for the product: an index of packages may be out of reach."""
    here = Path(sysconfig.get_path("purelib"))
    return [path for path in here.iterdir() if "incrowd" not in path.name and path.suffix != ".pth"]


def read_only(home):
    subprocess.run(["chmod", "-R", "a-w,a+rX", home], check=True)


def run(home, script, *arguments, cwd):
    """Run a script in the new environment, with no home directory and no right to write there."""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("root may write everywhere, and there is no setpriv to take that away")
    return subprocess.run(
        [
            *(PLAIN_USER if os.geteuid() == 0 else []),
            home / "bin" / "python",
            "-c",
            script,
            *map(str, arguments),
        ],
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(cwd)},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def incrowd(home, cwd, *arguments):
    """Run a command; return its JSON result and what it said on the way."""
    ran = run(home, "from incrowd.cli import main; main()", *arguments, "--json", cwd=cwd)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout), ran.stderr


def job(home, cwd, name):
    """Run the job with a claim whose kernels are compiled soonest; each has a directory of its own, so that none is beside another."""
    (cwd / name).mkdir()
    return incrowd(home, cwd, "anonymize", "log.tsv", "--method=apriori", f"--out={name}/release")


def test_the_wheel_holds_wordnet_its_notice_and_the_licence(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        notices = [name for name in names if name.endswith("WORDNET-LICENSE.txt")]
        texts = [archive.read(name).decode() for name in notices]
        sizes = {name: archive.getinfo(name).file_size for name in names if name.startswith("incrowd/data/")}
    assert notices
    assert all("Princeton University" in text for text in texts)
    assert max(sizes.values()) > 100_000  # the nouns themselves
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("licenses/src/incrowd/data/WORDS-LICENSES.txt") for name in names)
    assert {
        "incrowd/data/words.arrow",
        "incrowd/data/suffixes.txt",
        "incrowd/data/chinese.tsv",
    } <= sizes.keys()
    assert wheel.stat().st_size < 12_000_000
    assert "incrowd/py.typed" in names
    assert "incrowd/report/templates/report.html" in names
    assert {
        "incrowd/studio/templates/layout.html",
        "incrowd/studio/static/studio.js",
        "incrowd/data/htmx.min.js",
    } <= {*names}
    assert any(name.endswith("licenses/src/incrowd/data/HTMX-LICENSE.txt") for name in names)
    assert not [name for name in names if name.split("/")[0] in ("tests", "benchmarks", "docs")]


def test_the_wheel_is_small(wheel):
    assert wheel.stat().st_size < 8_000_000


def test_a_job_runs_from_a_read_only_place_without_a_home(installed, place):
    home, packages = installed
    read_only(home)
    own = place / "own"
    own.mkdir()
    writing = run(home, "import sys; open(sys.argv[1], 'w')", packages / "incrowd" / "x", cwd=own)
    assert "PermissionError" in writing.stderr  # it is read-only indeed
    before = {path for path in packages.rglob("*") if not path.is_symlink()}
    incrowd(home, own, "synth", "--users=60", "--out=log.tsv")
    first, said = job(home, own, "first")
    assert first["claim"]["holds"] is True
    assert "compiling" in said  # the first run says why it takes long
    second, said = job(home, own, "second")
    assert said == ""  # what was compiled is found again
    assert second["loss"] == first["loss"]
    assert second["seconds"]["total"] < first["seconds"]["total"]
    assert {path for path in packages.rglob("*") if not path.is_symlink()} == before


def test_it_is_the_wheel_that_runs(installed, place):
    home, packages = installed
    script = "import incrowd.cli; print(incrowd.__file__, incrowd.__version__)"
    ran = subprocess.run(
        [home / "bin" / "python", "-c", script], cwd=place, capture_output=True, text=True, check=True
    )
    path, version = ran.stdout.split()
    assert Path(path).is_relative_to(packages)
    assert version in next(place.glob("*.whl")).name


def test_the_wheel_can_be_installed_by_pip(wheel, place):
    pytest.importorskip("pip", reason="this environment has no pip")
    target = place / "target"
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", target, wheel]
    installed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert installed.returncode == 0, installed.stderr
    (scripts,) = target.glob("incrowd-*.dist-info/entry_points.txt")
    assert "incrowd = incrowd.cli:main" in scripts.read_text()
