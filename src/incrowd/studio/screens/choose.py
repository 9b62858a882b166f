"""Choose: what the release is for, how many people must share what is in it, and the dials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from incrowd.errors import BadInputError
from incrowd.studio.commands import anonymize_command, check_choices, python_lines, shell_line
from incrowd.studio.dials import CHOICES, MAIN, MORE, goal_of, method_of
from incrowd.studio.folder import Folder
from incrowd.studio.inputs import is_baskets
from incrowd.studio.pages import Form, error_by_field, fragment, page, posted, project_of, see, studio_of
from incrowd.studio.projects import Project, change_project
from incrowd.studio.releases import places_of, trial_places
from incrowd.studio.screen import Screen

__all__ = ["SCREEN"]

GOALS = {
    "words": (
        "Words together",
        "For statistics, spelling, suggestions: exact counts of small sets of words.",
    ),
    "queries": (
        "Whole queries",
        "For search quality: only queries that enough people typed, as they typed them.",
    ),
    "people": ("Whole people", "For studies of behaviour: every person stays one record, made coarser."),
}
FIELDS = ["goal", *(dial.name for dial in CHOICES)]


def show(request: Request) -> Response:
    """Show the choices."""
    project = project_of(request)
    return _page(request, project, project.choices)


def _page(
    request: Request, project: Project, values: Mapping[str, str], errors: dict[str, str] | None = None
) -> Response:
    from incrowd.methods.registry import GOALS as QUESTIONS
    from incrowd.methods.registry import METHODS

    offered = [name for name in QUESTIONS if name != "queries" or not is_baskets(project)]
    methods = [("", "the goal's")]
    methods += [(name, f"{name}: {one.promise}") for name, one in METHODS.items() if one.use == "publishing"]
    return page(
        request,
        "choose.html",
        status=422 if errors else 200,
        project=project,
        screen=SCREEN,
        charts=True,
        goals=[
            (name, *GOALS[name], goal.question, goal.method)
            for name, goal in QUESTIONS.items()
            if name in offered
        ],
        goal=goal_of(values),
        main=MAIN,
        more=[dial._replace(values=tuple(methods)) if dial.name == "method" else dial for dial in MORE],
        values=values,
        errors=errors or {},
        opened=any(values.get(dial.name) for dial in MORE if dial.kind != "switch")
        or any(dial.name in (errors or {}) for dial in MORE),
        **_lines(studio_of(request).folder, replace(project, choices=dict(values))),
    )


def _lines(folder: Folder, project: Project) -> dict[str, Any]:
    """Return the command and the lines of Python for a project, with a name that stands for the next release."""
    places = places_of(folder, "NAME")
    return {
        "command": shell_line(anonymize_command(project, places)),
        "python": python_lines(project, places),
        "method": method_of(project.choices),
    }


def preview(request: Request, form: Form) -> Response:
    """Show the command of choices that are not saved yet."""
    project = replace(project_of(request), choices=_values(form))
    return fragment("_lines.html", **_lines(studio_of(request).folder, project))


def save(request: Request, form: Form) -> Response:
    """Save the choices, if a job would take them."""
    from incrowd.core.memory import parse_memory

    studio, project = studio_of(request), project_of(request)
    values = _values(form)
    try:
        check_choices(replace(project, choices=values), trial_places(studio.folder))
        if "memory" in values:
            parse_memory(values["memory"])
    except BadInputError as error:
        return _page(request, project, values, error_by_field(error, FIELDS))
    change_project(studio.folder, project, choices=values)
    return see(f"/p/{project.id}/run")


def _values(form: Form) -> dict[str, str]:
    """Return what the form says; a switch that is off says so, as its default is on."""
    values = {name: form[name].strip() for name in FIELDS if form.get(name, "").strip()}
    return values | {dial.name: form.get(dial.name, "no") for dial in CHOICES if dial.kind == "switch"}


SCREEN = Screen(
    "choose",
    "Choose",
    "No release is good for everything: the more exactly it answers one question, the less it can say about another. Say what it is for, and how many people must share whatever is published.",
    (
        Route("/p/{project}/choose", show),
        Route("/p/{project}/choose", posted(save), methods=["POST"]),
        Route("/p/{project}/choose/preview", posted(preview), methods=["POST"]),
    ),
)
