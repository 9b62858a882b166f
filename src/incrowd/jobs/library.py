"""The verbs of the Python face on data of any kind, with the defaults of the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from incrowd.core.claims import LEAST_K, Distinct
from incrowd.core.kinds import parse_kinds
from incrowd.core.memory import machine_memory
from incrowd.core.transactions import Transactions
from incrowd.core.types import Progress
from incrowd.errors import BadInputError, option
from incrowd.jobs.clock import Clock
from incrowd.jobs.compare import Comparison, Read, any_needs_events, compared
from incrowd.jobs.data import build_rows, place_rows, rejects_named
from incrowd.jobs.moved import given_moves
from incrowd.jobs.run import anonymized, run_method
from incrowd.jobs.settings import Setting, parse_ks, parse_methods
from incrowd.jobs.spec import (
    IN_MEMORY,
    Job,
    Options,
    check_input,
    read_choices,
    settled,
)
from incrowd.jobs.windows import taken_of
from incrowd.logs import Log
from incrowd.logs.formats.columns import MORE_ROLES, ROLES
from incrowd.logs.frames import read
from incrowd.release.model import Release
from incrowd.release.tiles import TileRelease
from incrowd.taxonomy import Attached, Taxonomy, Unlisted

__all__ = ["Listener", "anonymize", "compare", "opened"]

Tree = Taxonomy | str | os.PathLike[str] | None


def anonymize(
    data: object,
    taxonomy: Tree = None,
    *,
    k: int | None = None,
    goal: str | None = None,
    method: str | None = None,
    unit: str | None = None,
    items: str | None = None,
    kinds: str | Sequence[str] | None = None,
    sets: bool = False,
    seed: int | None = None,
    unlisted: Unlisted | None = None,
    moves: str | os.PathLike[str] | Mapping[str, str] | None = None,
    distinct: Distinct | None = None,
    previous: str | os.PathLike[str] | None = None,
    window: str | None = None,
    budget: str | os.PathLike[str] | None = None,
    memory: str | int | None = None,
    progress: Progress | None = None,
    **parameters: Any,
) -> Release | TileRelease:
    """Anonymize data. What is not said is chosen as ``incrowd anonymize`` does, by what the data are.

    Parameters
    ----------
    data
        Whatever :func:`incrowd.read` takes, a log that was read, or transactions.
    taxonomy
        A tree over the items, ``"wordnet"``, ``"balanced:5"`` or a file; by default one that suits the items.
    k
        How many people must share whatever is published, at least 2 (default 5). Differential privacy has no use for it.
    goal, method
        What the release is for: ``"words"`` (the default), ``"queries"`` or ``"people"``; or a name in :data:`incrowd.METHODS`.
    unit, items, sets
        What is protected as one, what an item is, and whether an item counts once a record. Transactions have units and items.
    kinds
        Further kinds of items that a unit has, as ``"url,week,place"``: they are published with the words where k people share all.
    seed
        The same seed gives the same bytes. Without it 0, but for mosaic a secret one, which ``release.parameters`` has. It has no effect on the noise of ``dp`` and ``korolova``.
    unlisted, moves
        What to do with items that the taxonomy lacks: ``"name"`` (a parent that names their kind; the default for words on WordNet), ``"keep"`` (a branch of their own; the default for other items on WordNet and for trees that were fitted to items; always with differential privacy), ``"drop"`` or ``"refuse"`` (the default for a file); and words that hang below other classes than the taxonomy has them: ``{"jaguar": "motor vehicle"}``, or a file with a word, a tab and the class on each line.
    distinct
        What k counts where one person may have several rows: ``"people"`` (the default then) or ``"records"``.
    previous, window
        The private map of the last release of the same people, which this one follows (methods flock and partition, by user); and to take only the events of some time, as ``"2006-03-01..2006-03-31"`` (UTC; a day means all of it, either side may be open). For mosaic.
    budget, memory, progress
        The budget to which a differentially private release is charged (``incrowd budget``); the most memory that the job may take (three quarters of the machine's); and what is called with (rows done, rows in all).
    **parameters
        The method's own parameters, as ``publish="bag"``; and `user`, `query`, `time`, `url`, `place` and so on: columns, as for :func:`incrowd.read`.
    """
    columns = {role: parameters.pop(role) for role in (*ROLES, *MORE_ROLES) if role in parameters}
    how: dict[str, Any] = {"k": k, "goal": goal, "method": method, "seed": seed, "unlisted": unlisted}
    how |= {"distinct": distinct, "sets": sets, "kinds": ",".join(parse_kinds(kinds)) or None, "unit": unit}
    how |= {"parameters": parameters, "items": items, "window": window, "budget": budget}
    how |= {"previous": previous, "moves": given_moves(moves)}
    job = _as_fitted(read_choices(_options(taxonomy, memory, **how)), taxonomy)
    with Clock(Listener(progress)) as clock:
        return _released(data, columns, job, _tree(taxonomy), clock)


def _released(
    data: object, columns: Mapping[str, str], job: Job, tree: Taxonomy | None, clock: Clock
) -> Release | TileRelease:
    """Make the release of a job on data, or on transactions: how these came about is not known, and no part of the release."""
    progress = clock.listener.reading
    if columns and isinstance(data, (Log, Transactions)):
        raise BadInputError(f"these data were read already: drop {option(next(iter(columns)))}")
    if isinstance(data, Transactions):
        if job.asked is not None:
            raise BadInputError(
                f"transactions have no times of events: drop {option('window')}, or give the log"
            )
        if job.kinds and job.options.kinds is None:
            raise BadInputError("transactions have no weeks: give the log for of=weeks")
        attached = place_rows(job, _as_given(data, job.options), clock, tree=tree)
        return run_method(job, attached, progress)
    wanted = {
        **columns,
        **({"kinds": job.kinds} if job.kinds else {}),
        "by_first_lines": job.form.by_first_lines,
    }
    with opened(data, job.options.memory, progress, wanted) as log, rejects_named(job, log):
        job = settled(job, log)
        if job.asked is not None:
            job = replace(job, taken=taken_of(job.asked, log, job.k or 1))
        rows = build_rows(job, log, clock, events=job.setting.reads.events, tree=tree)
        attached = place_rows(job, rows, clock, tree=tree)
    return anonymized(job, str(job.items), attached, progress)


def compare(
    data: object,
    taxonomy: Tree = None,
    *,
    methods: str | Sequence[str],
    k: int | Sequence[int] | None = None,
    eps: float | Sequence[float] | None = None,
    unit: str | None = None,
    items: str | None = None,
    sets: bool = False,
    seed: int | None = None,
    unlisted: Unlisted | None = None,
    moves: str | os.PathLike[str] | Mapping[str, str] | None = None,
    distinct: Distinct | None = None,
    risk: bool = False,
    memory: str | int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run several methods with several k on the same data.

    Parameters
    ----------
    data, taxonomy, unit, items, sets, seed, unlisted, moves, distinct, memory
        As for :func:`incrowd.anonymize`; the methods share them. By default a unit is a user.
    methods
        Names of methods; parameters behind a colon, as ``"partition:publish=bag"``, several of them separated by ``;``.
    k, eps
        One or several: methods of differential privacy, which have no k, run with every eps, unless they say their own.
    risk
        Attack every release too: the risk that a person is singled out, linked, or that something is inferred.
    progress
        Called with (runs done, runs in all).

    Returns
    -------
    Comparison
        It shows itself as a table; ``write`` makes the page, ``to_pandas`` gives all numbers.
    """
    names = methods if isinstance(methods, str) else ",".join(_names(methods))
    settings = parse_methods(names, _listed(eps))
    ks = parse_ks(_listed(k), settings)
    how: dict[str, Any] = {"sets": sets, "seed": seed, "unlisted": unlisted, "distinct": distinct}
    how["moves"] = given_moves(moves)
    options = _options(taxonomy, memory, unit=unit, items=items, **how)
    job = replace(_as_fitted(check_input(options, settings), taxonomy), k=min(ks, default=LEAST_K))
    with Clock(Listener(progress)) as clock:
        attached, source = _placed(data, job, settings, _tree(taxonomy), clock)
        return compared(job, attached, source, settings, ks, clock=clock, risk=risk)


def _placed(
    data: object, job: Job, settings: Sequence[Setting], tree: Taxonomy | None, clock: Clock
) -> tuple[Attached, Read]:
    """Return what several methods work on, and what is said of it."""
    if isinstance(data, Transactions):
        rows = _as_given(data, job.options)
        source = Read("data", _counts_of(rows), rows.kind or "raw")
    else:
        with opened(data, job.options.memory, None) as log, rejects_named(job, log):
            rows = build_rows(job, log, clock, events=any_needs_events(settings), tree=tree)
            source = Read(log.name, log.summary, log.kind_of_items(job.items))
    return place_rows(job, rows, clock, tree=tree), source


class Listener:
    """Passes the progress of a job on to a function."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress

    def step(self, name: str) -> None:
        """Take note that a step begins."""

    def reading(self, done: int, total: int) -> None:
        """Tell how much is done."""
        if self._progress:
            self._progress(done, total)


def _options(taxonomy: Tree, memory: str | int | None, *, unit: object = None, **given: Any) -> Options:
    """Return what was given as the options of a job that reads and writes no file."""
    paths = [name for name in ("budget", "previous") if given.get(name) is not None]
    given |= {name: Path(given[name]) for name in paths}
    return Options(
        IN_MEMORY,
        IN_MEMORY,
        taxonomy=None if taxonomy is None or isinstance(taxonomy, Taxonomy) else _name_of(taxonomy),
        memory=machine_memory() if memory is None else str(memory),
        unit=None if unit is None else str(unit),
        **given,
    )


def _as_fitted(job: Job, taxonomy: Tree) -> Job:
    """Let a job keep words as they are if the caller's tree was fitted to some: WordNet knows their kinds no more."""
    fitted = isinstance(taxonomy, Taxonomy) and taxonomy.name == "wordnet" and taxonomy.items is not None
    if not fitted or job.options.unlisted is not None:
        return job
    return replace(job, options=replace(job.options, unlisted="keep"))


def _tree(taxonomy: Tree) -> Taxonomy | None:
    """Return a taxonomy that the caller has."""
    return taxonomy if isinstance(taxonomy, Taxonomy) else None


def _name_of(taxonomy: object) -> str:
    """Return the name or the file of a taxonomy."""
    if not isinstance(taxonomy, (str, os.PathLike)):
        raise BadInputError(
            f"taxonomy must be a Taxonomy, wordnet, balanced:F or a file (got {type(taxonomy).__name__})"
        )
    return os.fspath(taxonomy)


def opened(
    data: object, memory: str, progress: Progress | None, columns: Mapping[str, Any] | None = None
) -> AbstractContextManager[Log]:
    """Return a log that is closed when it was read here; one that the caller has stays open."""
    if isinstance(data, Log):
        return nullcontext(data)
    return read(data, memory=memory, progress=progress, **(columns or {}))


def _listed(values: float | Sequence[float] | None) -> str | None:
    """Return one or several numbers as the command line takes them."""
    if values is None:
        return None
    return ",".join(map(str, values if isinstance(values, Sequence) else [values]))


def _names(methods: object) -> list[str]:
    """Return the names of methods as texts."""
    if not isinstance(methods, Iterable):
        raise BadInputError(f"methods must be names, as ['mosaic', 'flock'] (got {type(methods).__name__})")
    return [str(name) for name in methods]


def _as_given(data: Transactions, options: Options) -> Transactions:
    """Return transactions as sets where that is wanted; refuse to choose again what they have."""
    for name, value in (("unit", options.unit), ("items", options.items), ("kinds", options.kinds)):
        if value is not None:
            raise BadInputError(
                f"transactions have their {name} already: drop {option(name)}, or give the log"
            )
    return data.as_sets() if options.sets else data


def _counts_of(data: Transactions) -> Mapping[str, int]:
    """Return the counts of transactions under the names of a log's summary."""
    return {
        "units": len(data),
        "items": len(data.vocabulary),
        "occurrences": data.occurrences,
        "empty": data.empty_rows,
    }
