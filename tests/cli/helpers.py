"""The command line as a user meets it: called in this process for speed, or as a process of its own."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import visible
from incrowd.cli.app import main

__all__ = [
    "AOL_HEADER",
    "Ran",
    "aol_line",
    "aol_log",
    "call",
    "command",
    "only_line",
    "problems_of",
    "refused",
    "start",
    "visible",
]

AOL_HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"


@dataclass(frozen=True)
class Ran:
    """What a run left: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on stdout; anything else beside it is an error."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


def call(*arguments: object) -> Ran:
    """Run the program in this process."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as leave:
            code = leave.code
    return Ran(code or 0, out.getvalue(), err.getvalue())


def problems_of(directory: object) -> str:
    """Return what an audit finds wrong with a release, which it must."""
    ran = call("audit", directory, "--json")
    assert ran.code == 1
    return " | ".join(ran.json.get("problems") or [ran.json.get("error") or ""])


def command(*arguments: object, **options: Any) -> Ran:
    """Run the program as a process of its own, to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "incrowd", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def start(script: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Start a Python script (it ends by calling the program) and return the process."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def only_line(text: str) -> str:
    """Return the one line that a failed run prints, without the program's name."""
    (line,) = text.splitlines()
    assert line.startswith("incrowd: ")
    assert "Traceback" not in text
    return line.removeprefix("incrowd: ")


def refused(ran: Ran, out: Path | None = None) -> str:
    """Check that a run failed as bad input must, leaving nothing at or beside `out`; return its line."""
    line = only_line(ran.err)
    assert ran.code == 2, line
    assert ran.out == "" or ran.json == {"error": line, "exit_code": 2}
    if out is not None:
        assert not out.exists()
        assert not list(out.parent.glob(f".{out.name}*"))
    return line


def aol_line(user: object, query: str, time: str = "2006-03-01 10:00:00") -> str:
    return f"{user}\t{query}\t{time}\t\t\n"


def aol_log(path: Path, rows: dict[object, list[str]] | None = None) -> Path:
    """Write a log in AOL's format: by default twenty users who ask for the same three things."""
    rows = rows or {user: ["dog food", "cats", "the zorblax"] for user in range(101, 121)}
    lines = [aol_line(user, query) for user, queries in rows.items() for query in queries]
    path.write_text(AOL_HEADER + "".join(lines), encoding="utf-8")
    return path
