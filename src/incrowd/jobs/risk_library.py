"""``incrowd.risk``: the risk lab on data of any kind, with the defaults of the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from incrowd.attacks.result import Risk
from incrowd.core.memory import machine_memory
from incrowd.core.transactions import Transactions
from incrowd.core.types import Progress
from incrowd.errors import BadInputError, option
from incrowd.jobs.library import Listener, opened
from incrowd.jobs.moved import given_moves
from incrowd.jobs.risk import attack_release, run_risk
from incrowd.jobs.risk_options import RiskOptions, check_numbers, parse_limits
from incrowd.jobs.spec import IN_MEMORY, Job
from incrowd.logs import Log
from incrowd.logs.formats.columns import MORE_ROLES, ROLES
from incrowd.release.model import Release
from incrowd.release.tiles import TileRelease

__all__ = ["risk"]


def risk(
    data: object,
    release: str | os.PathLike[str] | None = None,
    *,
    private_map: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    series: str | os.PathLike[str] | None = None,
    second: tuple[str | os.PathLike[str], str | os.PathLike[str]] | None = None,
    k: int | None = None,
    unit: str | None = None,
    items: str | None = None,
    taxonomy: str | os.PathLike[str] | None = None,
    moves: str | os.PathLike[str] | Mapping[str, str] | None = None,
    draws: int = 1_000,
    seed: int = 0,
    sensitive: str | os.PathLike[str] | None = None,
    population: int | None = None,
    planted: bool = False,
    limits: tuple[float, float] | None = None,
    memory: str | int | None = None,
    progress: Progress | None = None,
    **columns: str,
) -> Risk:
    """Run attacks on data and on a release of it: who is singled out, what is linked, what is inferred.

    Parameters
    ----------
    data
        A release that was made in this process, which holds its originals; or whatever :func:`incrowd.read` takes, or a log that was read.
    release, private_map
        The directory of a release of these data, and the map that was written with it.
    series
        The directory of a series of releases, to attack all of them together; `private_map` is then a list, with one map for each.
    second
        Another release of the same people and its map, to attack both together.
    k, draws, seed
        Fewer candidates than k single a person out (the release's, else 5); how many people to attack for each figure, and how they are drawn.
    unit, items, taxonomy, moves
        As for :func:`incrowd.anonymize`, where there is no release to say it.
    sensitive, population
        A file of words, or classes of the taxonomy, as ``"disease,religion"``; and of how many people those in the data are a sample.
    planted, limits
        Whether to run the method again with planted accounts; and shares of people up to which a light is green, and amber.
    memory, progress, **columns
        The most memory for reading, what is called with (done, of all), and columns `user`, `query` and so on, as for :func:`incrowd.read`.

    The result shows itself as a table; ``as_dict()`` has all figures.
    """
    how: dict[str, Any] = {"k": k, "most": draws, "seed": seed, "population": population, "planted": planted}
    how |= {"sensitive": _text(sensitive), "limits": parse_limits(limits and ",".join(map(str, limits)))}
    reading = {"unit": unit, "items": items, "taxonomy": _text(taxonomy), "moves": given_moves(moves)}
    how["reading"] = {**reading, "memory": str(memory or machine_memory())}
    paths = map(_path, (release, series, *(second or (None, None))))
    how |= dict(zip(("release", "series", "second_release", "second_map"), paths, strict=True))
    how["private_maps"] = _paths(private_map)
    options = RiskOptions(IN_MEMORY, **how)
    return _attacked(data, options, columns, Listener(progress))


def _text(given: str | os.PathLike[str] | None) -> str | None:
    return None if given is None else os.fspath(given)


def _path(given: str | os.PathLike[str] | None) -> Path | None:
    return None if given is None else Path(given)


def _paths(given: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None) -> tuple[Path, ...]:
    if given is None or isinstance(given, (str, os.PathLike)):
        return () if given is None else (Path(given),)
    return tuple(map(Path, given))


def _attacked(data: object, options: RiskOptions, columns: Mapping[str, str], listener: Listener) -> Risk:
    """Run the attacks on what was given."""
    unknown = next((name for name in columns if name not in (*ROLES, *MORE_ROLES)), None)
    if unknown is not None:
        raise BadInputError(f"risk has no argument '{unknown}': help(incrowd.risk) lists them")
    if isinstance(data, (Release, TileRelease)):
        given = {"release": options.release, "series": options.series, "private_map": options.private_map}
        for name in (name for name, path in given.items() if path is not None):
            raise BadInputError(f"a release that was made here holds its data: drop {option(name)}")
        check_numbers(options)
        return attack_release(data, options, listener)
    if isinstance(data, Transactions):
        raise BadInputError(
            "transactions do not say how they were read: give the log, or a release made of them"
        )

    def opening(job: Job) -> AbstractContextManager[Log]:
        wanted: dict[str, Any] = {**columns, "kinds": job.kinds} if job.kinds else dict(columns)
        return opened(data, job.options.memory, listener.reading, wanted)

    return run_risk(options, listener, opening)
