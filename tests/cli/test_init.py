"""``incrowd init``: asked on a real terminal, silent elsewhere; what it writes makes the release that its answers mean."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
import tomllib

import pytest

from cli.helpers import call, command, refused
from incrowd.cli.commands import anonymize
from incrowd.cli.config import keys_of
from incrowd.logs.synth.generate import write_log

PATIENCE = 60


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a working directory with one log in it."""
    write_log(tmp_path / "searches.tsv.gz", users=60, seed=3)
    (tmp_path / "notes.md").write_text("# Notes\n\nNothing, really: (yet).\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Terminal:
    """The program on a pseudo-terminal: what it shows, and what is typed there."""

    def __init__(self, *arguments, cwd):
        mine, its = pty.openpty()
        self._file = mine
        self._process = subprocess.Popen(
            [sys.executable, "-m", "incrowd", *arguments],
            stdin=its,
            stdout=its,
            stderr=its,
            cwd=cwd,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - so that Ctrl-C reaches it
        )
        os.close(its)
        self.shown = ""
        self._seen = 0

    def until(self, text):
        """Wait until a text is shown after what was seen before."""
        end = time.monotonic() + PATIENCE
        while text not in self.shown[self._seen :]:
            assert time.monotonic() < end, f"waited for {text!r} in vain: {self.shown!r}"
            assert self._read(), f"it ended before {text!r}: {self.shown!r}"
        self._seen = self.shown.index(text, self._seen) + len(text)

    def type(self, text):
        os.write(self._file, text.encode())

    def end(self):
        """Wait for the end and return the exit code."""
        while self._read():
            pass
        os.close(self._file)
        return self._process.wait(PATIENCE)

    def kill(self):
        self._process.kill()
        self._process.wait(PATIENCE)

    def _read(self):
        if not select.select([self._file], [], [], PATIENCE)[0]:
            return False
        try:
            data = os.read(self._file, 4096)
        except OSError:  # the other side is closed
            return False
        self.shown += data.decode().replace("\r\n", "\n")
        return bool(data)


@pytest.fixture
def on_terminal():
    """Return a function that starts the program on a terminal; what is still running in the end is killed."""
    started = []

    def start(*arguments, cwd):
        started.append(Terminal(*arguments, cwd=cwd))
        return started[-1]

    yield start
    for terminal in started:
        terminal.kill()


def settings_in(path):
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_three_questions_are_asked_on_a_terminal(place, on_terminal):
    terminal = on_terminal("init", cwd=place)
    terminal.until("1. What is the file? [searches.tsv.gz]: ")
    terminal.type("\n")
    terminal.until("It is read as aol in UTF-8, with a header line; columns user=AnonID")
    terminal.until("2. What will people do with the release?")
    terminal.until("[words]: ")
    terminal.type("people\n")
    terminal.until("3. How many people must share whatever is published? [5]: ")
    terminal.type("7\n")
    terminal.until("incrowd anonymize --config incrowd.toml --dry-run")
    assert terminal.end() == 0
    assert settings_in(place / "incrowd.toml") == {
        "input": "searches.tsv.gz",
        "out": "release",
        "goal": "people",
        "k": 7,
    }


def test_a_wrong_answer_is_asked_again(place, on_terminal):
    terminal = on_terminal("init", cwd=place)
    terminal.until("1. What is the file?")
    terminal.type("no.tsv\n")
    terminal.until("input no.tsv does not exist")
    terminal.type("notes.md\n")
    terminal.until("in no format that incrowd recognises")
    terminal.type("searches.tsv.gz\n")
    terminal.until("[words]: ")
    terminal.type("wrds\n")
    terminal.until("[words]: ")
    terminal.type("queries\n")
    terminal.until("[5]: ")
    terminal.type("1\n")
    terminal.until("[5]: ")
    terminal.type("\n")
    assert terminal.end() == 0
    assert (settings_in(place / "incrowd.toml")["goal"], settings_in(place / "incrowd.toml")["k"]) == (
        "queries",
        5,
    )


def test_an_option_answers_its_question(place, on_terminal):
    terminal = on_terminal("init", "--goal", "words", "--k", "4", "--input", "searches.tsv.gz", cwd=place)
    assert terminal.end() == 0
    assert "?" not in terminal.shown
    assert "No question was asked" not in terminal.shown
    assert settings_in(place / "incrowd.toml")["k"] == 4


def test_stopping_leaves_nothing(place, on_terminal):
    terminal = on_terminal("init", cwd=place)
    terminal.until("1. What is the file? [searches.tsv.gz]: ")
    time.sleep(0.5)  # until it reads what is typed
    terminal.type("\x03")
    assert terminal.end() == 130
    assert "stopped" in terminal.shown
    assert not (place / "incrowd.toml").exists()


def test_of_baskets_nobody_asks_for_queries(baskets, on_terminal):
    terminal = on_terminal("init", cwd=baskets.parent)
    terminal.until("1. What is the file? [baskets.dat]: ")
    terminal.type("\n")
    terminal.until("It is read as dat: baskets, one a line, in UTF-8.")
    terminal.until("[words]: ")
    assert "queries" not in terminal.shown
    terminal.type("\n")
    terminal.until("[5]: ")
    terminal.type("\n")
    assert terminal.end() == 0
    line = refused(call("init", baskets.parent / "b.toml", "--input", baskets, "--goal", "queries"))
    assert line == "goal must be one of words, people (got 'queries')"


def test_elsewhere_nothing_is_asked_and_the_defaults_are_told(place):
    ran = command("init", cwd=place, stdin=subprocess.DEVNULL)
    assert (ran.code, ran.err) == (0, "")
    assert (
        "No question was asked, as this is no terminal. Taken by default:\n  --input searches.tsv.gz --goal words --k 5\n"
        in ran.out
    )
    assert settings_in(place / "incrowd.toml")["input"] == "searches.tsv.gz"


def test_what_it_writes_makes_the_release_of_the_same_options(place):
    """Fixed seed: the same bytes."""
    assert call("init", "--goal", "queries", "--k", 4).code == 0
    from_file = call("anonymize", "--config", "incrowd.toml", "--seed", 7)
    assert from_file.code == 0, from_file.err
    typed = call("anonymize", "searches.tsv.gz", "--out", "typed", "--goal", "queries", "--k", 4, "--seed", 7)
    assert typed.code == 0, typed.err

    def contents(name):
        return {path.name: path.read_bytes() for path in (place / name).iterdir()}

    assert contents("release") == contents("typed")
    assert len(contents("typed")) >= 4


def test_every_option_is_there_with_a_line_on_it(place):
    call("init", "--columns", "user=AnonID,query=Query", "--format", "tsv")
    lines = (place / "incrowd.toml").read_text(encoding="utf-8").splitlines()
    for key in keys_of(anonymize):
        own = re.compile(rf"(# )?(\[{key}\]|{key} = .+)")
        (at,) = [number for number, line in enumerate(lines) if own.fullmatch(line)]
        assert lines[at - 1].startswith("# "), key
    assert settings_in(place / "incrowd.toml")["columns"] == ["user=AnonID", "query=Query"]
    assert settings_in(place / "incrowd.toml")["format"] == "tsv"
    assert any("secret" in line and "seed" in line for line in lines)


def test_a_default_that_is_uncommented_changes_nothing(place):
    call("init")
    path = place / "incrowd.toml"
    plain = call("anonymize", "--config", path, "--dry-run", "--json").json
    text = path.read_text(encoding="utf-8")
    defaults = re.compile(r"""^# ([a-z-]+ = (?:true|false|"[^."]+"))$""", re.MULTILINE)
    assert len(defaults.findall(text)) >= 5
    path.write_text(defaults.sub(r"\1", text), encoding="utf-8")
    assert set(settings_in(path)) > {"sets", "format", "force", "keep-rejected", "engine"}
    same = call("anonymize", "--config", path, "--dry-run", "--json").json
    assert {**same, "estimate": None} == {**plain, "estimate": None}


def test_a_file_is_replaced_only_if_asked_and_if_it_is_ours(place):
    assert call("init").code == 0
    before = (place / "incrowd.toml").read_bytes()
    assert refused(call("init", "--k", 9)) == (
        "configuration incrowd.toml exists; choose another name, or use --force to replace it"
    )
    assert (place / "incrowd.toml").read_bytes() == before
    assert call("init", "--k", 9, "--force").code == 0
    assert settings_in(place / "incrowd.toml")["k"] == 9
    (place / "other.toml").write_text("k = 3\n")
    assert "was not written by incrowd" in refused(call("init", "other.toml", "--force"))
    assert (place / "other.toml").read_text() == "k = 3\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--input", "no.tsv"], "input no.tsv does not exist"),
        (["--input", "notes.md"], "notes.md is in no format that incrowd recognises"),
        (
            ["--goal", "wrds"],
            "goal must be one of words, queries, people (got 'wrds') (did you mean 'words'?)",
        ),
        (["--k", "1"], "k must be at least 2 (got 1)"),
        (["--format", "aol2"], "no file here looks like a log: name one with --input FILE"),
        (["nowhere/a.toml"], "configuration nowhere/a.toml: the directory above it does not exist"),
    ],
)
def test_what_is_refused_leaves_nothing(arguments, expected, place):
    before = sorted(place.iterdir())
    assert refused(call("init", *arguments)).startswith(expected)
    assert sorted(place.iterdir()) == before


def test_of_several_logs_one_has_to_be_named(place):
    write_log(place / "more.tsv", users=5, seed=1)
    assert refused(call("init")) == "2 files here look like logs: name one with --input FILE"
    assert refused(call("init", "--json")) == "2 files here look like logs: name one with --input FILE"


def test_the_input_is_named_as_seen_from_the_file(place):
    (place / "jobs").mkdir()
    assert call("init", "jobs/a.toml", "--input", "searches.tsv.gz", "--goal", "people").code == 0
    assert settings_in(place / "jobs/a.toml")["input"] == "../searches.tsv.gz"
    assert call("anonymize", "--config", "jobs/a.toml", "--k", 3, "--dry-run").code == 0
    assert call("init", "b.toml", "--input", place / "searches.tsv.gz").code == 0
    assert settings_in(place / "b.toml")["input"] == str(place / "searches.tsv.gz")


def test_the_release_gets_a_name_that_is_free(place):
    (place / "release").mkdir()
    (place / "release-2").symlink_to("nowhere")
    ran = call("init")
    assert settings_in(place / "incrowd.toml")["out"] == "release-3"
    assert "makes the release in release-3/" in ran.out


def test_names_with_quotes_and_odd_characters_survive(place):
    odd = 'a "log"\\ of\x7f \N{SNOWMAN}.tsv'
    (place / "searches.tsv.gz").rename(place / odd)
    assert call("init", "--input", odd).code == 0
    assert settings_in(place / "incrowd.toml")["input"] == odd


def test_json_tells_all_and_asks_nothing(place, on_terminal):
    terminal = on_terminal("init", "--json", cwd=place)
    assert terminal.end() == 0
    assert '"taken_by_default"' in terminal.shown
    found = call("init", "b.toml", "--k", 3, "--json").json
    assert (found["file"], found["k"], found["goal"]) == ("b.toml", 3, "words")
    assert found["taken_by_default"] == ["input", "goal"]
    assert found["recognised"]["columns"]["user"] == "AnonID"
