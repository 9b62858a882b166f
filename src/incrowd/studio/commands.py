"""What the studio does, as a line to type and as lines of Python: every job is such a command."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from incrowd.studio.dials import CHOICES, COLUMNS, FORM, goal_of, method_of, said, takes_whole_queries
from incrowd.studio.projects import Project

if TYPE_CHECKING:
    from incrowd.jobs.spec import Options

__all__ = [
    "Places",
    "anonymize_command",
    "attack_command",
    "audit_command",
    "check_choices",
    "columns_of",
    "input_options",
    "look_command",
    "options_of",
    "python_lines",
    "risk_command",
    "shell_line",
]

EXPOSING = 20
LACKING = 100
WRITTEN = ("private_map", "certificate")
"""Switches that Python has where a release is written."""
REPORTED = ("mosaic", "flock", "partition")
"""Methods that know person by person what they publish, so that originals can be shown beside it."""


class Places(NamedTuple):
    """Where a release and its private map go."""

    out: Path
    private: Path

    def series(self, project: Project) -> Path:
        """Return where it is kept what was released of a project before, if it is a series."""
        return self.private.parent / f"{project.id}-series"

    @property
    def map(self) -> Path:
        """The private map."""
        return self.private / "map.parquet"

    @property
    def moves(self) -> Path:
        """The words that had been moved when the release was begun: later moves are none of it."""
        return self.private / "moves.tsv"

    @property
    def report(self) -> Path:
        """The private report: originals beside what is published of them."""
        return self.private / "report.html"


def shell_line(arguments: Sequence[str]) -> str:
    """Return a command as it can be typed."""
    return shlex.join(["incrowd", *arguments])


def input_options(project: Project) -> list[str]:
    """Return the options that say how a project's input is written; ``anonymize``, ``audit`` and ``risk`` take them."""
    columns = columns_of(project)
    spelled = [f"{role}={name}" for role, name in columns.items()]
    options = ["--columns", ",".join(spelled)] if columns else []
    for dial, text in said(FORM, project.reading):
        options += [dial.option, text]
    return options


def anonymize_command(project: Project, places: Places) -> list[str]:
    """Return the command that makes the release."""
    return [*_job(project), *_moves(project, places), "--out", str(places.out), *_outputs(project, places)]


def look_command(project: Project) -> list[str]:
    """Return the command that says what would be done, and writes nothing."""
    return [*_job(project), *_moves(project), "--dry-run", "--lacking", str(LACKING)]


def audit_command(project: Project, places: Places) -> list[str]:
    """Return the command that recounts a release, against the originals where the private map is there: it says how they are written."""
    command = ["audit", str(places.out)]
    if places.map.exists():
        command += ["--original", project.source, "--private-map", str(places.map)]
    return command


def risk_command(project: Project) -> list[str]:
    """Return the command that attacks the data as they are, with the items and units that were chosen."""
    options: list[str] = []
    for dial, text in said(CHOICES, project.choices):
        if dial.name in ("items", "unit", "taxonomy", "unlisted", "kinds", "memory"):
            options += [dial.option, text]
    if takes_whole_queries(project.choices):
        options += ["--items", "queries"]
    return ["risk", project.source, *options, *input_options(project), "--exposing", str(EXPOSING)]


def attack_command(project: Project, places: Places) -> list[str]:
    """Return the command that attacks a release: its manifest and its map say how the data are read."""
    options = ["--private-map", str(places.map)] if places.map.exists() else input_options(project)
    return ["risk", project.source, "--release", str(places.out), *options]


def python_lines(project: Project, places: Places) -> str:
    """Return the same job in Python."""
    choices = project.choices
    reading: dict[str, Any] = {dial.name: text for dial, text in said(FORM, project.reading)}
    if columns := columns_of(project):
        reading["columns"] = columns
    arguments = {
        dial.argument: _value(dial.name, text) for dial, text in said(CHOICES, choices) if dial.argument
    }
    if not choices.get("method"):
        arguments = {"goal": goal_of(choices), **arguments}
    if moves := _moves(project, places):
        arguments["moves"] = moves[-1]
    left_out = [
        dial.option
        for dial, text in said(CHOICES, choices)
        if dial.argument is None and dial.name not in WRITTEN and text != "no"
    ]
    written: dict[str, Any] = {}
    flags = _switches(project)
    if "private_map" in flags:
        written["private_map"] = str(places.map)
        if method_of(choices) in REPORTED:
            written["private_report"] = str(places.report)
    if "certificate" in flags:
        written["certificate"] = True
    lines = ["import incrowd as ic", "", _call("log = ic.read_log", project.source, reading)]
    lines += [_call("release = ic.anonymize", _Name("log"), arguments)]
    lines += [_call("release.write", str(places.out), written)]
    lines += [f"print(ic.audit({str(places.out)!r}).holds)"]
    if left_out:
        lines.insert(1, f"# The command line alone has {', '.join(left_out)}.")
    return "\n".join(lines)


def check_choices(project: Project, places: Places) -> None:
    """Refuse choices that the job would refuse before it reads its input; raises `BadInputError` in the job's words."""
    from incrowd.jobs.spec import read_job

    read_job(options_of(project, places))


def options_of(project: Project, places: Places) -> Options:
    """Return the job of a project's release as the options that the command line would make of it."""
    from incrowd.core.memory import machine_memory
    from incrowd.jobs.spec import Options

    given: dict[str, Any] = {"memory": machine_memory()}
    given |= {dial.name: text for dial, text in said(FORM, project.reading)}
    chosen = said(CHOICES, project.choices)
    given |= {dial.name: text for dial, text in chosen if dial.method is None and dial.kind != "switch"}
    given["parameters"] = {dial.name: text for dial, text in chosen if dial.method is not None}
    if columns := columns_of(project):
        given["columns"] = ",".join(f"{role}={name}" for role, name in columns.items())
    if not given.get("method"):
        given["goal"] = goal_of(project.choices)
    if "never" in given:
        given["never"] = Path(given["never"])
    if moves := _moves(project):
        given["moves"] = Path(moves[-1])
    if "text_forms" in given:
        given["text_forms"] = [part.strip() for part in given["text_forms"].split(",")]
    flags = _switches(project)
    given["certificate"] = "certificate" in flags
    if "series" in flags:
        given["series"] = places.series(project)
    return Options(project.source, places.out, dry_run=True, **given)


def _job(project: Project) -> list[str]:
    """Return the command but for what it writes."""
    command = ["anonymize", project.source]
    if not project.choices.get("method"):
        command += ["--goal", goal_of(project.choices)]
    for dial, text in said(CHOICES, project.choices):
        if dial.method is not None:
            command += ["--set", f"{dial.name}={text}"]
        elif dial.kind != "switch":
            command += [dial.option, text]
    return [*command, *input_options(project)]


def _moves(project: Project, places: Places | None = None) -> list[str]:
    """Return the option that names the words that were moved: those of the project, or as they were when the release was begun."""
    if not project.moves:
        return []
    from incrowd.studio.moved import takes_moves

    begun = places is not None and places.moves.exists()
    return (
        ["--moves", str(places.moves) if places and begun else project.moves] if takes_moves(project) else []
    )


def _outputs(project: Project, places: Places) -> list[str]:
    flags = _switches(project)
    options = ["--private-map", str(places.map)] if "private_map" in flags else []
    if "private_map" in flags and method_of(project.choices) in REPORTED:
        options += ["--private-report", str(places.report)]
    options += ["--series", str(places.series(project))] if "series" in flags else []
    return [*options, "--certificate"] if "certificate" in flags else options


def _switches(project: Project) -> set[str]:
    """Return the switches that are on."""
    return {
        dial.name for dial, text in said(CHOICES, project.choices) if dial.kind == "switch" and text == "yes"
    }


def columns_of(project: Project) -> dict[str, str]:
    """Return the columns that were named, by their roles."""
    return {dial.name: text for dial, text in said(COLUMNS, project.reading)}


class _Name(str):
    """A name in Python, which is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _call(function: str, first: str, keywords: dict[Any, Any]) -> str:
    given = [repr(first), *(f"{name}={value!r}" for name, value in keywords.items())]
    return f"{function}({', '.join(given)})"


def _value(name: str, text: str) -> Any:
    """Return a text as the number that it is, where Python takes one."""
    if name in ("k", "cap"):
        return int(text) if text.isdecimal() else text
    if name in ("confidence", "specificity"):
        try:
            return float(text)
        except ValueError:
            return text
    return text
