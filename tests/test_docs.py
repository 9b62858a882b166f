"""The documents stay true: the CLI page is made from --help, links lead somewhere, examples run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.helpers import call
from incrowd.cli.app import cli
from incrowd.logs.synth.generate import write_log
from incrowd.metrics import Losses, Utility
from incrowd.release.files.page import LOSS_NOTES, UTILITY_NOTES
from incrowd.studio.screens import SCREENS

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


def test_every_screen_of_the_studio_has_a_picture():
    """Made by scripts/picture_studio.py."""
    page = (ROOT / "docs/studio.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"\(images/studio-(.+)\.png\)", page))
    assert shown == {"start", *(screen.slug for screen in SCREENS)}
    assert shown == {file.stem.removeprefix("studio-") for file in ROOT.glob("docs/images/studio-*.png")}


def test_every_command_in_the_docs_exists():
    named = set()
    for page in PAGES:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            for command in re.findall(r"^incrowd (\w+)", block, re.MULTILINE):
                assert command in cli.commands, f"{page.name}: incrowd {command}"
                named.add(command)
    assert {"anonymize", "audit", "compare"} <= named  # the search does find them


def blocks_of(page: Path) -> list[str]:
    """Return what a page tells its reader to type."""
    return re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


# Who starts tests has run one of them; the others are run by test_wheel.py and gateway/test_serving.py, in ways that end.
ELSEWHERE = ("make demo", "make test", "pip install ", "incrowd gateway --demo")
FOR_A_SHELL = "|&;<>()$`*?[~{"  # what a shell would take for something else than a word


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_every_command_runs_as_it_is_printed(page, tmp_path, monkeypatch):
    """A shell runs the first one; the others are called here, where words need to be looked up only once."""
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks_of(ROOT / page) for line in block.splitlines()]
    first, *others = [line for line in lines if not line.startswith(ELSEWHERE)]
    assert len(others) >= 4  # the search does find them
    run_in_a_shell(first)
    for line in others:
        program, *arguments = shlex.split(line, comments=True)
        assert program == "incrowd", line
        assert not set(FOR_A_SHELL) & set("".join(arguments)), line
        ran = call(*arguments)
        assert ran.code == 0, f"{line}: {ran.err}"


def run_in_a_shell(line):
    """Run a command as its reader does who has installed the program."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", line], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, f"{line}: {ran.stderr}"


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial.md"])
def test_the_python_example_runs(page, tmp_path, monkeypatch):
    code = re.search(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "searches.tsv.gz", users=60, seed=3)
    names: dict = {}
    exec(compile(code[1], page, "exec"), names)
    assert names["ic"].audit("release").holds
    shutil.rmtree("release")


def test_the_picture_of_the_imports_is_drawn_from_the_code(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    from draw_imports import draw, page_with, rooms  # noqa: PLC0415 - a script, not a package

    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert page_with(text, draw(rooms())) == text, "run python scripts/draw_imports.py"


def test_architecture_names_every_room():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for path in (ROOT / "src/incrowd").iterdir():
        if path.is_dir() and (path / "__init__.py").exists() and path.name != "data":
            assert f"| `{path.name}" in text, path.name


def test_the_files_that_the_architecture_names_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    for name in re.findall(r"`([a-z_/]+\.py)`", text):
        assert (ROOT / "src/incrowd" / name).exists() or (ROOT / name).exists(), name


PAPERS = sorted((ROOT / "docs/papers").glob("*.md"))
NOT_CODE = {"www.", "myexample.com", "www.example.com/x", "structure.rdf.u8"}
FILE_OF_A_PAPER = re.compile(
    r"\bALGORITHMS\b|\b[\w-]+\.txt(?=,? (section|definition|table|figure|equation|algorithm|example))"
    r"|\b(partition|clump|ssc|semantic-microaggregation|query-generalizer)\.txt",
    re.IGNORECASE,
)


def code_files():
    """Return the text of every Python file, by its path in the package or in the project."""
    package = {path.relative_to(ROOT / "src/incrowd"): path for path in (ROOT / "src/incrowd").rglob("*.py")}
    others = {
        path.relative_to(ROOT): path
        for place in ("tests", "benchmarks")
        for path in (ROOT / place).rglob("*.py")
        if path != Path(__file__)
    }
    return {str(name): path.read_text(encoding="utf-8") for name, path in (package | others).items()}


def stale_references(text, files):
    """Return the backticked files and names of a page that the code does not have.

    A name in the list behind a file (`` `a/b.py`: `one`, `two` `` or `` `a/b.one`, `two` ``) must be in that file, any
    other name in some file.
    """
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [token for file, token in references(text, files) if not is_current(token, file, files)]


def references(text, files):
    """Yield each backticked token, with the file that it belongs to where there is one."""
    file, last = None, 0
    for found in re.finditer(r"`([^`\n]+)`", text):
        between, token, last = text[last : found.start()], found[1], found.end()
        own, _ = split_reference(token, files)
        file = own or (file if between in {": ", ", ", " and "} else None)
        yield file, token


def split_reference(token, files):
    """Return the file that a token names (None: none) and the names behind it."""
    if token.endswith(".py"):
        return next((file for file in files if f"/{file}".endswith(f"/{token}")), None), []
    path, *names = token.split(".")
    if "/" in path and f"{path}.py" in files:
        return f"{path}.py", names
    return None, [token]


def is_current(token, file, files):
    """Return whether a token is no code, or a file or name that exists."""
    if token in NOT_CODE or not re.fullmatch(r"\w[\w/.-]*(\(\))?", token):
        return True
    named, names = split_reference(token.removesuffix("()"), files)
    if named:
        return all(has_name(files[named], name) for name in names)
    if "/" in token or token.endswith(".py"):
        return (ROOT / "src/incrowd" / token).exists() or (ROOT / token).exists()
    owner, _, name = names[0].rpartition(".")
    if owner.startswith("incrowd"):
        return (ROOT / "src" / names[0].replace(".", "/")).exists()
    if owner:
        holders = [
            text for file, text in files.items() if Path(file).stem == owner or f"class {owner}" in text
        ]
        return any(has_name(text, name) for text in holders)
    is_name = token.endswith("()") or "_" in name or name != name.lower()
    return not is_name or any(has_name(text, name) for text in ([files[file]] if file else files.values()))


def has_name(text, name):
    return re.search(rf"\b{name}\b", text) is not None


@pytest.mark.parametrize("page", PAPERS, ids=lambda page: page.name)
def test_files_and_names_in_the_notes_on_papers_exist(page):
    assert stale_references(page.read_text(encoding="utf-8"), code_files()) == []


@pytest.mark.parametrize(
    ("text", "stale"),
    [
        ("`metrics/losses.py`: `measure_losses` and `Losses`", []),
        ("`metrics/losses.py`: `measure_losses`, `clump_rows`", ["clump_rows"]),
        ("`metrics/losses.measure_losses`, `clump_rows`", ["clump_rows"]),
        ("`kernels/arrays.Tree.weight` in `arrays.py`", []),
        ("`metrics/losses.py` and then `clump_rows`", []),
        ("`kernels/clump.py`", ["kernels/clump.py"]),
        ("`kernels/lcg.ancestor_rows`, `kernels/lcg.gone_rows`", ["kernels/lcg.gone_rows"]),
        ("`Taxonomy.lm`, `Taxonomy.nowhere`", ["Taxonomy.nowhere"]),
        ("`losses.measure_losses`, `choices.easiest`", ["choices.easiest"]),
        ("`gone_with_the_wind()` and `publish=bag`", ["gone_with_the_wind()"]),
    ],
)
def test_stale_references_are_found(text, stale):
    assert stale_references(text, code_files()) == stale


def test_papers_are_cited_by_authors_and_venue():
    for path in [
        *(ROOT / "src").rglob("*.py"),
        *(ROOT / "src").rglob("*.html"),
        *(ROOT / "docs").rglob("*.md"),
    ]:
        found = FILE_OF_A_PAPER.search(path.read_text(encoding="utf-8"))
        assert found is None, f"{path.relative_to(ROOT)}: {found and found[0]}"


def test_the_glossary_explains_every_measure_by_its_plain_name_and_its_key():
    text = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    for key in (*Losses.__struct_fields__, *Utility.__struct_fields__):
        assert f"`{key}`" in text, key
    for title, _ in (*LOSS_NOTES.values(), *UTILITY_NOTES.values()):
        plain, _, short = title.lower().removesuffix(")").partition(" (")
        assert f"| {plain} ({short}" in text.lower() or f"| {plain} |" in text.lower(), title
