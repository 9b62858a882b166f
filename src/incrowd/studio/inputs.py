"""The input of a project, as far as its first bytes tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from incrowd.errors import IncrowdError
from incrowd.studio.commands import columns_of
from incrowd.studio.dials import FORM, said
from incrowd.studio.projects import Project
from incrowd.studio.shown import masked

if TYPE_CHECKING:
    from incrowd.jobs.plan import Recognised
    from incrowd.logs import InputForm

__all__ = ["first_rows_of", "is_baskets", "recognise_input", "size_of"]

FIRST_ROWS = 5
LINE = "line"
LONGEST_LINE = 400


def recognise_input(project: Project) -> Recognised:
    """Return how the input is written; raises `BadInputError` if that is not recognised, or was given wrongly."""
    from incrowd.jobs.plan import recognise

    return recognise(project.source, _form_of(project))


def is_baskets(project: Project) -> bool:
    """Tell whether the input holds baskets, as far as its first bytes show."""
    try:
        return recognise_input(project).is_baskets
    except IncrowdError:
        return False


def first_rows_of(project: Project, *, revealed: bool = False) -> list[dict[str, str]]:
    """Return the first records by the roles of their columns, as dots unless they are to be seen; whole lines where columns are not known."""
    from incrowd.logs import first_records

    try:
        records = first_records(project.source, _form_of(project), FIRST_ROWS)
    except IncrowdError:
        records = _first_lines(project)
    if revealed:
        return records
    return [{role: masked(text) for role, text in record.items()} for record in records]


def _first_lines(project: Project) -> list[dict[str, str]]:
    """Return the first lines of an input that is not understood: who sees them can say which column is whose."""
    from incrowd.logs import first_lines, read_form

    try:
        form = read_form({"encoding": project.reading["encoding"]} if "encoding" in project.reading else {})
        return [{LINE: line[:LONGEST_LINE]} for line in first_lines(project.source, form, FIRST_ROWS)]
    except IncrowdError:
        return []


def size_of(project: Project) -> int:
    """Return how many bytes the input has, as stored."""
    from incrowd.logs.files import find_parts

    try:
        return sum(part.path.stat().st_size for part in find_parts(project.source))
    except (IncrowdError, OSError):
        return 0


def _form_of(project: Project) -> InputForm:
    from incrowd.logs import read_form

    given: dict[str, Any] = {dial.name: text for dial, text in said(FORM, project.reading)}
    return read_form({**given, "columns": columns_of(project) or None})
