"""The documents stay true: the CLI page is made from --help, links lead somewhere, examples run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from incrowd.cli.app import cli
from incrowd.logs.synth import write_log

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
PAGES += [ROOT / "benchmarks/README.md"]


def test_the_cli_page_is_up_to_date():
    script = ROOT / "scripts/make_cli_reference.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_command_in_the_docs_exists():
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for command in re.findall(r"^incrowd (\w+)", block, re.MULTILINE):
                assert command in cli.commands, f"{page.name}: incrowd {command}"


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_the_python_example_runs(page, tmp_path, monkeypatch):
    code = re.search(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "searches.tsv.gz", users=60, seed=3)
    names: dict = {}
    exec(compile(code[1], page, "exec"), names)
    assert names["ic"].audit("release").holds
    shutil.rmtree("release")


def test_architecture_names_every_module():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for path in (ROOT / "src/incrowd").iterdir():
        if path.is_dir() and (path / "__init__.py").exists() and path.name != "data":
            assert f"{path.name}/" in text or f"`{path.name}`" in text, path.name
        elif path.suffix == ".py" and not path.name.startswith("__"):
            assert path.stem in text, path.name
