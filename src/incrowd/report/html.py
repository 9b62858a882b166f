"""Self-contained pages: a template, its charts, and the library that draws them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from incrowd.report.vega import CONFIGS, Spec, library

__all__ = ["is_marked", "page", "render", "share"]

SMALL_SHARE = 0.01
MARKED_WITHIN = 1_000  # bytes from the beginning of a page


def render(
    name: str, specs: Mapping[str, Spec], datasets: Mapping[str, Any] | None = None, **shown: Any
) -> str:
    """Render a page.

    Parameters
    ----------
    name
        The template's file name; everything it shows is escaped.
    specs
        The chart for each place in the page, by the place's id.
    datasets
        Data that charts share, by name.
    **shown
        The template's variables.
    """
    return page(name, specs=specs, datasets=datasets or {}, configs=CONFIGS, library=library(), **shown)


def page(name: str, **shown: Any) -> str:
    """Render a page without charts: the template's file name and its variables."""
    return _environment().get_template(name).render(**shown)


def is_marked(path: Path, mark: bytes) -> bool:
    """Tell whether a file is a page that has a mark in its head, by which pages of one kind are known again."""
    try:
        with path.open("rb") as file:
            return mark in file.read(MARKED_WITHIN)
    except OSError:
        return False


def share(value: float) -> str:
    """Format a share as a percentage; small ones with more digits."""
    return f"{value:.1%}" if value == 0 or value >= SMALL_SHARE else f"{value:.2%}"


@cache
def _environment() -> jinja2.Environment:
    loader = jinja2.PackageLoader("incrowd.report", "templates")
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
