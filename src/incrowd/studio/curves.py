"""Live curves of use and risk: estimated on a sample in a process of their own, and kept in the project's folder."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace
from starlette.requests import Request as Asked
from starlette.responses import Response
from starlette.routing import Route

from incrowd.core.own_files import is_file
from incrowd.errors import IncrowdError
from incrowd.report.vega import Spec
from incrowd.studio.dials import CHOICES, FORM, goal_of, method_of, said
from incrowd.studio.estimating import Answer, Request
from incrowd.studio.folder import Folder, read_struct, write_struct
from incrowd.studio.pages import chart, fragment, project_of, studio_of, whole_number
from incrowd.studio.projects import Project
from incrowd.version import __version__

__all__ = ["KS", "ROUTES", "Curves"]

KS = (2, 5, 10, 25, 50)
LARGEST_K = 1_000
IDLE_SECONDS = 600.0
HEIGHT = 220
# What changes neither the sample nor what is made of it.
WITHOUT_EFFECT = {
    "k",
    "title",
    "date",
    "text_forms",
    "memory",
    "max_risk",
    "certificate",
    "private_map",
}
MEASURES = (
    ("kept", "words kept", "Of all words, how many are published as themselves."),
    ("pairs", "pairs found", "Of the 1,000 most frequent pairs of words, how many an analyst still finds."),
    ("singled", "people singled out", "Whom three known words lead to, or to fewer than k people."),
)
DASHES = {"words kept": [1, 0], "pairs found": [8, 4], "people singled out": [2, 2]}


class Wanted(NamedTuple):
    """A curve: its project as it would be saved, its marks, where it is kept, and the k that is chosen (None: it is no number)."""

    project: Project
    sample: str
    path: Path
    k: int | None

    @property
    def ks(self) -> list[int]:
        """The k to estimate, the chosen one first."""
        chosen = () if self.k is None else (self.k,)
        return list(dict.fromkeys((*chosen, *KS)))


class Curves:
    """A process that estimates, started when it is first asked and ended when it has had nothing to do for a while.

    Only the newest request waits: who moves a dial wants no curve of where it was.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: Request | None = None
        self._busy: str | None = None
        self._thread: threading.Thread | None = None

    def ask(self, request: Request) -> None:
        """Ask for an estimate; it is written to the file that the request names."""
        with self._changed:
            if self._busy == _key(request):
                return
            self._waiting = request
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="curves", daemon=True)
                self._thread.start()

    def _serve(self) -> None:
        process: subprocess.Popen[bytes] | None = None
        while (request := self._next()) is not None:
            with suppress(OSError, IncrowdError):  # a full disk: the page goes on waiting
                if process is None or process.poll() is not None:
                    process = _start()
                if not _answered(process, request):
                    process.kill()
                    process.communicate()  # closes its pipes, too
                    process = None
                    _say_that_it_ended(request)
            with self._changed:
                self._busy = None
        if process is not None:
            process.communicate()  # its input ends, and so does it

    def _next(self) -> Request | None:
        """Return the newest request; None once there was none for a while."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._waiting is not None, IDLE_SECONDS):
                self._thread = None
                return None
            request, self._waiting = self._waiting, None
            self._busy = None if request is None else _key(request)
            return request


def _start() -> subprocess.Popen[bytes]:
    """Start the process; it ends with its input, or with the studio, however that ends."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "incrowd.studio.estimating"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "INCROWD_PARENT": str(os.getpid())},
        start_new_session=True,
    )


def _answered(process: subprocess.Popen[bytes], request: Request) -> bool:
    """Send a request, and wait for the answer; tell whether there is one, or the process ended instead."""
    assert process.stdin is not None  # noqa: S101
    assert process.stdout is not None  # noqa: S101
    try:
        process.stdin.write(msgspec.json.encode(request) + b"\n")
        process.stdin.flush()
        return bool(process.stdout.readline())
    except OSError:
        return False


def _say_that_it_ended(request: Request) -> None:
    """Write down that there is no answer, where one was asked for."""
    if request.ks:
        write_struct(
            Path(request.path), Answer(error="it ended before it was done, maybe for want of memory")
        )


def _key(request: Request) -> str:
    return f"{request.path} {request.ks}"


def wanted_of(folder: Folder, project: Project, values: dict[str, str]) -> Wanted:
    """Return the curve of some choices, which may not be saved yet."""
    choices = {name: text for name, text in values.items() if text.strip()}
    chosen = {dial.name: text for dial, text in said(CHOICES, choices) if dial.name not in WITHOUT_EFFECT}
    chosen |= {"goal": goal_of(choices), "method": method_of(choices)}
    own = {dial.name for dial in CHOICES if dial.method is not None}
    data = {
        "files": _files(project, chosen),
        "reading": {dial.name: t for dial, t in said(FORM, project.reading)},
    }
    data |= {"columns": project.reading, "version": __version__}
    of_sample = {name: text for name, text in chosen.items() if name not in own}
    sample, whole = _mark({**data, "chosen": of_sample}), _mark({**data, "chosen": chosen, "ks": KS})
    number = whole_number(choices.get("k", "5"))
    k = number if number is not None and 2 <= number <= LARGEST_K else None  # noqa: PLR2004
    place = folder.projects / project.id / "curves"
    place.mkdir(mode=0o700, exist_ok=True)
    choices |= {"k": "5"}  # whatever was typed, it is no part of the sample
    return Wanted(replace(project, choices=choices), sample, place / f"{whole}.json", k)


def _files(project: Project, chosen: dict[str, str]) -> list[tuple[str, int, int]]:
    """Return the files that a curve depends on, with their sizes and times."""
    from incrowd.logs.files import find_parts

    try:
        paths = [part.path for part in find_parts(project.source)]
    except IncrowdError:
        paths = []
    named = [chosen[name] for name in ("taxonomy", "never") if name in chosen]
    named += [project.moves] if project.moves else []
    found = []
    for path in (*paths, *(Path(name) for name in named if is_file(name))):
        with suppress(FileNotFoundError):  # it was removed meanwhile
            status = path.stat()
            spelled = os.fsencode(path).decode(errors="backslashreplace")  # a name need not be UTF-8
            found.append((spelled, status.st_size, status.st_mtime_ns))
    return found


def _mark(value: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()[:20]


def show(request: Asked) -> Response:
    """Show the curve of the choices on the page, as far as it is known; request what is not."""
    studio, project = studio_of(request), project_of(request)
    values = dict(request.query_params) or project.choices
    wanted = wanted_of(studio.folder, project, values)
    answer = read_struct(wanted.path, Answer)
    missing = answer is None or (not answer.error and any(str(k) not in answer.points for k in wanted.ks))
    ks = (
        wanted.ks if missing else []
    )  # where all is known, the sample is read, so that a dial that moves finds it there
    _curves(request).ask(Request(project=wanted.project, sample=wanted.sample, ks=ks, path=str(wanted.path)))
    rows = [] if answer is None else _rows(answer)
    return fragment(
        "_curves.html",
        project=project,
        answer=answer,
        missing=missing,
        rows=rows,
        chosen=wanted.k,
        measures=MEASURES,
        mark=wanted.path.stem,
    )


def drawn(request: Asked) -> Response:
    """Answer with the chart of a curve."""
    mark = request.path_params["mark"]
    folder, project = studio_of(request).folder, project_of(request)
    path = folder.projects / project.id / "curves" / f"{mark}.json"
    answer = (read_struct(path, Answer) if mark.isalnum() else None) or Answer()
    return chart(_spec(_rows(answer), whole_number(request.query_params.get("k", ""))))


def _curves(request: Asked) -> Curves:
    """Return the process of this studio."""
    state = request.app.state
    if not hasattr(state, "curves"):
        state.curves = Curves()
    curves: Curves = state.curves
    return curves


def _rows(answer: Answer) -> list[dict[str, Any]]:
    """Return the points, the smallest k first."""
    points = sorted((int(k), point) for k, point in answer.points.items())
    return [
        {"k": k, **dict(zip(("kept", "pairs", "singled"), point or (None, None, None), strict=True))}
        for k, point in points
    ]


def _ends(rows: list[dict[str, Any]]) -> list[int]:
    """Return the smallest and the largest k."""
    return [rows[0]["k"], rows[-1]["k"]] if rows else [KS[0], KS[-1]]


def _spec(rows: list[dict[str, Any]], k: int | None) -> Spec:
    """Return a line for each measure over k, with a mark where k is."""
    titles = [title for _, title, _ in MEASURES]
    values = [
        {"k": row["k"], "measure": title, "share": row[name]}
        for row in rows
        if row["kept"] is not None
        for name, title, _ in MEASURES
    ]
    x = {
        "field": "k",
        "type": "quantitative",
        "title": "k: people who share it",
        "scale": {"type": "log", "nice": False, "domain": _ends(rows)},
        "axis": {"values": [row["k"] for row in rows], "format": "d", "grid": False},
    }
    y = {
        "field": "share",
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [0, 1]},
        "axis": {"format": "~%", "tickCount": 5},
    }
    key = {"title": None, "orient": "bottom", "columns": 1, "symbolType": "stroke", "symbolSize": 400}
    colour = {
        "field": "measure",
        "type": "nominal",
        "sort": titles,
        "legend": key,
        "scale": {"domain": titles},
    }
    dash = {**colour, "scale": {"domain": titles, "range": [DASHES[title] for title in titles]}}
    tip = [
        {"field": "k"},
        {"field": "measure", "title": "measure"},
        {"field": "share", "title": "share", "format": ".1%"},
    ]
    chosen = {
        "data": {"values": [] if k is None else [{"k": k}]},
        "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.5},
        "encoding": {"x": {"field": "k", "type": "quantitative"}, "color": {"value": "#888"}},
    }
    return {
        "data": {"values": values},
        "width": "container",
        "height": HEIGHT,
        "layer": [
            chosen,
            {
                "mark": {"type": "line", "strokeWidth": 2.5, "point": {"filled": True, "size": 50}},
                "encoding": {"x": x, "y": y, "color": colour, "strokeDash": dash, "tooltip": tip},
            },
        ],
    }


ROUTES = (
    Route("/p/{project}/curves", show),
    Route("/p/{project}/curves/{mark}.json", drawn),
)
