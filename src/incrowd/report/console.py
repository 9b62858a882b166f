"""The console for terminal output."""

from __future__ import annotations

from rich.console import Console

__all__ = ["plain_console"]


def plain_console() -> Console:
    """Return a console that prints names and paths as they are."""
    return Console(markup=False, highlight=False)
