"""What a screen is."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.routing import Route

__all__ = ["Screen"]


@dataclass(frozen=True)
class Screen:
    """A step of the job.

    Parameters
    ----------
    slug, title
        Its part of the address, ``/p/PROJECT/SLUG``, and its name in the navigation.
    why
        Why this step, in two sentences; the page shows them below its title.
    routes
        Its page and everything that the page calls.
    """

    slug: str
    title: str
    why: str
    routes: tuple[Route, ...]
