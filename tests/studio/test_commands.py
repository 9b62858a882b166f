"""What the page shows is what runs: options that exist, in both languages."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys
from html import unescape

import pytest
from msgspec.structs import replace

import incrowd as ic
from incrowd.cli.commands import anonymize
from incrowd.errors import BadInputError
from incrowd.methods.registry import METHODS
from incrowd.studio.commands import (
    Places,
    anonymize_command,
    check_choices,
    look_command,
    python_lines,
    shell_line,
)
from incrowd.studio.dials import CHOICES, FORM
from incrowd.studio.folder import Folder, slug_of
from incrowd.studio.pages import _environment, error_by_field
from incrowd.studio.projects import Project
from incrowd.studio.screens import SCREENS
from incrowd.studio.shown import masked, seconds_in_words, size_in_words


@pytest.fixture
def places(tmp_path):
    (tmp_path / "private").mkdir()
    return Places(tmp_path / "release", tmp_path / "private")


def project(source="log.tsv", reading=None, **choices):
    return Project(
        id="p-1", name="log.tsv", created=0, source=str(source), reading=reading or {}, choices=choices
    )


def test_no_two_dials_and_no_dial_and_a_screen_are_called_the_same():
    names = [dial.label for dial in CHOICES] + [screen.title for screen in SCREENS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("dial", [*CHOICES, *FORM], ids=lambda dial: dial.name)
def test_every_dial_is_an_option_and_an_argument(dial):
    if dial.method is not None:
        assert dial.name in METHODS[dial.method].parameters
        return
    assert dial.option in {flag for option in anonymize.params for flag in option.opts}
    if dial.argument is not None:
        function = ic.read_log if dial in FORM else ic.anonymize
        assert dial.argument in inspect.signature(function).parameters


def test_a_command_is_copied_as_it_is_though_its_options_are_kept_from_breaking():
    line = "incrowd x --k 5 'a  --b <i>' --title 'It'\"'\"'s  & --' --json"
    page = str(_environment().get_template("_code.html").module.whole_options(line))
    assert '<span class="whole">--title</span>' in page
    assert unescape(re.sub("<[^>]*>", "", page)) == line


def test_a_command_says_all_that_was_chosen_and_nothing_else(places):
    chosen = project(
        "my log.csv",
        {"user": "who", "query": "what is it", "format": "csv"},
        goal="words",
        k="7",
        cap="2",
        specificity="1",
        title="It's ours",
        certificate="no",
    )
    assert anonymize_command(chosen, places) == [
        *("anonymize", "my log.csv", "--goal", "words", "--k", "7", "--set", "cap=2", "--title", "It's ours"),
        *("--columns", "user=who,query=what is it", "--format", "csv"),
        *("--out", str(places.out), "--private-map", str(places.map)),
        *("--private-report", str(places.report)),
    ]
    line = shell_line(look_command(chosen))
    assert shlex.split(line)[1:] == look_command(chosen)
    assert line.endswith("--dry-run --lacking 100")


def test_a_method_replaces_the_goal_and_a_list_with_noise_has_no_private_map(places):
    command = anonymize_command(project(goal="people", method="dp", confidence="1"), places)
    assert command == ["anonymize", "log.tsv", "--method", "dp", "--out", str(places.out)]


def test_a_series_is_kept_apart_from_its_releases(places):
    command = anonymize_command(project(series="yes", window="new"), places)
    series = command[command.index("--series") + 1]
    assert series == str(places.private.parent / "p-1-series")
    assert "# The command line alone has --series." in python_lines(project(series="yes"), places)
    assert "alone" not in python_lines(project(series="no", certificate="yes"), places)


def test_the_lines_of_python_make_the_release(places, baskets, capsys):
    lines = python_lines(project(baskets, goal="people", k="3", title="T"), places)
    assert "# The command line alone has --title." in lines
    exec(compile(lines, "lines", "exec"), {})
    assert capsys.readouterr().out == "True\n"
    assert places.map.exists()
    assert places.out.with_name("release.certificate.html").exists()


def test_an_error_is_put_beside_the_field_that_it_names_first():
    names = ["k", "confidence", "text_forms", "time_format", "private_map"]
    for text, field in (
        ("k must be at least 2 (got 1)", "k"),
        ("--write takes jsonl", "text_forms"),
        ("drop --time-format, or k", "time_format"),
        ("log.tsv is empty", ""),
    ):
        assert error_by_field(BadInputError(text), names) == {field: text}


@pytest.mark.parametrize("name", ["never", "moves"])
def test_a_file_that_can_have_no_such_name_is_refused_in_the_words_of_its_option(places, name):
    long = "x" * 300
    given = project(**{name: long}) if name == "never" else replace(project(), moves=long)
    with pytest.raises(BadInputError, match=rf"{name} {long} cannot be read \(File name too long\)"):
        check_choices(given, places)


def test_the_first_page_needs_nothing_heavy():
    """It is there within a second: what takes long to import is not imported."""
    script = "import sys, incrowd.cli.app, incrowd.studio.serve; print({'numpy', 'pyarrow', 'numba', 'duckdb'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path.touch(), "is a file: name a folder"),
        (lambda _: None, "the directory above it does not exist"),
    ],
)
def test_a_folder_that_cannot_be_used_is_refused_in_one_line(tmp_path, make, said):
    place = tmp_path / "work" if "file" in said else tmp_path / "no" / "work"
    make(place)
    command = [sys.executable, "-m", "incrowd", "studio", place, "--no-browser"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert said in ran.stderr


def test_names_are_safe_in_addresses_and_files(tmp_path):
    assert [slug_of(text) for text in ("Meine Suche 2006!", "../../etc", "日本", "x" * 90)] == [
        "meine-suche-2006",
        "etc",
        "data",
        "x" * 40,
    ]
    folder = Folder(tmp_path / "work")
    assert [folder.take_name("projects", "a") for _ in range(2)] == ["a-1", "a-2"]
    for name in ("..", "a-1/..", "A-1", "", ".a"):
        assert folder.named("projects", name) is None
    assert folder.named("projects", "a-1") == folder.projects / "a-1"
    assert os.listdir(folder.jobs) == []  # noqa: PTH208


def test_numbers_are_in_words():
    assert [seconds_in_words(value) for value in (0.25, 42, 600, 10_000)] == [
        "0.2 s",
        "42 s",
        "10 min",
        "2.8 h",
    ]
    assert [size_in_words(value) for value in (12, 1234, 256e6, 2.3e9)] == [
        "12 B",
        "1.2 kB",
        "256 MB",
        "2.3 GB",
    ]
    assert masked("dog food 5€") == "••• •••• •€"
