"""The warning about other releases near a new one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from incrowd.core.neighbours import releases_near
from incrowd.errors import BadInputError

__all__ = ["names_beside", "warn_of_releases"]

MOST_NAMES = 5


def names_beside(out: Path, sources: Sequence[str], series: Path | None = None) -> list[str]:
    """Return the names of the releases near a new one, safe to print; those of its series are looked at by the series itself.

    Call it before the job runs: with ``--force`` it may replace one of them.
    """
    own = _places_of(series) if series is not None else set()
    near = {path for source in sources for path in releases_near(out, Path(source))}
    found = {path for path in near if path.absolute() not in own}
    return [_printable(path.name) for path in sorted(found, key=lambda path: (path.name, str(path)))]


def _places_of(series: Path) -> set[Path]:
    """Return where releases of a series were written; none if it is not there, or the job is about to refuse it."""
    from incrowd.release.series import Series

    with suppress(BadInputError, OSError):
        return {Path(one.place) for one in Series(series, read_only=True).releases if one.place is not None}
    return set()


PUBLISH_ONE = "Two releases of the same people may say more together than each does alone: publish one."
IN_BUDGET = "Those that the budget has recorded keep its promise together; any other of the same people may say more together with them: do not publish both."


def warn_of_releases(names: Sequence[str], budget: Path | None = None) -> None:
    """Warn on stderr that several releases of the same people reveal more together, but for those of one budget."""
    if not names:
        return
    listed = ", ".join(names[:MOST_NAMES])
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    one = len(names) == 1
    click.secho(
        f"incrowd: warning: there {'is a release' if one else 'are releases'} beside: {listed}{more}\n"
        f"{PUBLISH_ONE if budget is None else IN_BUDGET} What to do otherwise: docs/claims.md",
        fg="yellow",
        err=True,
    )


def _printable(name: str) -> str:
    """Replace characters that could control a terminal."""
    return "".join(character if character.isprintable() else "?" for character in name)
