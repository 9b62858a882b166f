"""One job's parts: what is asked for, the clock, and the way from the file to data on a taxonomy.

Anonymizing and comparing walk the same way until the method begins.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, Self, get_args

import numpy as np
import pyarrow as pa

from incrowd.anonymization import anonymize, counted_by
from incrowd.claims import Distinct
from incrowd.errors import BadInputError, IncrowdError, check_choice
from incrowd.kernels.jit import is_compiled, note_compiled
from incrowd.logs import ITEMS, Log, format_of, parse_columns, parse_unit, read_log
from incrowd.logs.encoding import UTF8, find_encoding
from incrowd.memory import check_memory
from incrowd.methods import ASKING, PROMISES, read_parameters
from incrowd.methods.classes import filled_rows
from incrowd.metrics.patterns import Pattern, measure_patterns
from incrowd.taxonomy import Grounded, Taxonomy, Unlisted, ground, open_taxonomy
from incrowd.taxonomy.check import taxonomy_named
from incrowd.transactions import Transactions

__all__ = [
    "Clock",
    "Job",
    "Watcher",
    "check_input",
    "kernels_are_compiled",
    "knowledge_of",
    "load_kernels",
    "map_notes",
    "nothing_left",
    "open_log",
    "peak_megabytes",
    "place_input",
    "rejects_path",
    "unlisted_by",
    "with_items",
    "with_rejects",
    "write_rejects",
]

TINY_LABELS = ["all", "pair", "1", "2", "3"]
TINY_PARENTS = np.array([-1, 0, 1, 1, 0], dtype=np.int32)
LARGEST_SEED = 2**63 - 1
STEPS = ("read", "items", "taxonomy", "compile", "load", "anonymize", "measure", "audit", "write")


class Watcher(Protocol):
    """Somebody who wants to see how the job goes on."""

    def step(self, name: str) -> None:
        """Tell that a step begins."""

    def reading(self, done: int, total: int) -> None:
        """Tell how many bytes of the input are read."""


@dataclass(frozen=True)
class Job:
    """What ``incrowd anonymize`` is asked to do; the fields are its options."""

    input: Path
    out: Path
    k: int | None = None
    method: str = "flock"
    taxonomy: str | None = None
    items: str | None = None
    unit: str = "user"
    sets: bool = False
    format: str = "auto"
    columns: str | None = None
    encoding: str = UTF8
    unlisted: Unlisted | None = None
    distinct: Distinct | None = None
    seed: int = 0
    parameters: Mapping[str, str] = field(default_factory=dict)
    text_forms: Sequence[str] = ()
    private_map: Path | None = None
    force: bool = False
    memory: str = "4GB"
    keep_rejected: bool = False
    engine: str = "local"
    master: str | None = None


class Clock:
    """Times the steps and tells the watcher."""

    def __init__(self, watcher: Watcher) -> None:
        self.seconds = dict.fromkeys((*STEPS, "total"), 0.0)
        self.watcher = watcher
        self._name = "read"
        self._begun = self._last = time.perf_counter()

    def __enter__(self) -> Self:
        self.watcher.step(self._name)
        return self

    def __exit__(self, *_: object) -> None:
        self._lap()
        self.seconds["total"] = self._last - self._begun

    def step(self, name: str) -> None:
        """End the step that runs and begin the next."""
        self._lap()
        self._name = name
        self.watcher.step(name)

    def done(self) -> dict[str, float]:
        """Return the seconds of each step that has run so far."""
        return {name: seconds for name, seconds in self.seconds.items() if seconds}

    def _lap(self) -> None:
        now = time.perf_counter()
        self.seconds[self._name] += now - self._last
        self._last = now


def peak_megabytes() -> float:
    """Return the most memory that this process has had."""
    # Linux counts for getrusage what the process had before it became this program: its parent's memory.
    with suppress(OSError, IndexError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return round(int(status.partition("VmHWM:")[2].split()[0]) / 1024, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes on macOS, in KiB elsewhere
    return round(peak / (1024**2 if sys.platform == "darwin" else 1024), 1)


def with_items(job: Job, methods: Iterable[str]) -> Job:
    """Return the job with the items that every method works on: those that were chosen, or the default of all.

    Raises
    ------
    BadInputError
        A method cannot use the items, or the defaults differ; the message names the methods and what to choose.
    """
    named = list(dict.fromkeys(methods))
    by_meaning = [name for name in named if name in ASKING]
    others = [name for name in named if name not in ASKING]
    if not by_meaning:
        return job
    need = _need(by_meaning)
    if job.sets:
        raise BadInputError(f"{need} queries as often as they were typed: drop --sets")
    if format_of(job.input, format=job.format, columns=_columns(job), encoding=job.encoding) == "dat":
        raise BadInputError(f"{need} a query log, and {job.input.name} holds baskets: choose another method")
    if job.items not in (None, "concepts"):
        rest = (
            "(all then need --items concepts), or leave it out"
            if others
            else "(it then uses --items concepts)"
        )
        raise BadInputError(f"{need} concepts: drop --items {job.items} {rest}")
    if job.items is None and others:
        raise BadInputError(
            f"one input for all methods: {need} --items concepts, and {', '.join(others)} would take nouns; "
            "choose --items concepts, or compare them apart"
        )
    return replace(job, items="concepts")


def _need(methods: Sequence[str]) -> str:
    return f"method {methods[0]} needs" if len(methods) == 1 else f"methods {', '.join(methods)} need"


def _columns(job: Job) -> dict[str, str] | None:
    return parse_columns(job.columns) if job.columns else None


def check_input(job: Job) -> None:
    """Refuse choices that do not exist, before anything is read."""
    parse_unit(job.unit)
    find_encoding(job.encoding)
    check_seed(job.seed)
    if job.items is not None:
        check_choice("items", job.items, ITEMS)
    for name, value, choice in (("unlisted", job.unlisted, Unlisted), ("distinct", job.distinct, Distinct)):
        if value is not None:
            check_choice(name, value, get_args(choice))


def check_seed(seed: int) -> None:
    """Refuse a seed that is no natural number of 63 bits."""
    if seed < 0:
        raise BadInputError(f"seed must be 0 or more (got {seed})")
    if seed > LARGEST_SEED:
        raise BadInputError(f"seed must be at most {LARGEST_SEED} (got {seed})")


def open_log(job: Job, watcher: Watcher) -> Log:
    """Read the job's input."""
    return read_log(
        job.input,
        format=job.format,
        columns=_columns(job),
        encoding=job.encoding,
        memory=job.memory,
        keep_rejected=job.keep_rejected,
        progress=watcher.reading,
    )


def place_input(job: Job, log: Log, clock: Clock, *, asked: bool = False) -> Grounded:
    """Build the transactions and place them on the taxonomy; refuse if k people are not left."""
    try:
        return _place(job, log, clock, asked=asked)
    except IncrowdError as error:
        raise with_rejects(error, log.rejects.counts, write_rejects(job, log)) from None


def _place(job: Job, log: Log, clock: Clock, *, asked: bool) -> Grounded:
    clock.step("items")
    transactions = log.transactions(
        unit=job.unit,
        items=job.items,
        bags=not job.sets,
        knowledge=knowledge_of(_taxonomy(job, log)) if job.items == "concepts" else None,
        asked=asked,
        progress=clock.watcher.reading,
    )
    log.let_go_of_rows()
    check_memory(transactions, job.method, job.memory)
    noisy = PROMISES[job.method] == "differential privacy"
    if transactions.empty_rows == len(transactions) and not noisy:
        raise BadInputError(nothing_left(job.input.name, log.format, log.rows))
    clock.step("taxonomy")
    source = _taxonomy(job, log)
    grounded = open_taxonomy(source, transactions, unlisted=unlisted_by(job, job.items, source))
    if job.k is not None and not noisy:
        filled_rows(counted_by(grounded.transactions, job.distinct), job.k)
    return grounded


def unlisted_by(job: Job, items: str | None, source: str) -> Unlisted | None:
    """Return what becomes of items that the taxonomy lacks; None where it lacks none, being made from them."""
    if source.startswith("balanced"):
        return None
    if PROMISES[job.method] == "differential privacy":  # to refuse would tell something
        return "keep"
    # Queries that mean nothing known are no mistake of the knowledge base.
    return job.unlisted or ("keep" if source == "wordnet" or items == "concepts" else "refuse")


def knowledge_of(source: str) -> Taxonomy:
    """Return the tree in which the meaning of queries is looked for."""
    if source.startswith("balanced"):
        raise BadInputError(
            "items concepts needs a knowledge base: --taxonomy wordnet or a file of categories"
        )
    return taxonomy_named(source)


def nothing_left(name: str, format_name: str, rows: int) -> str:
    """Say why there is nothing to publish."""
    if rows:
        return f"nothing is left of {name}: no line holds an item of this kind; try another --items"
    return f"no line of {name} could be read as {format_name}; look at --format and --columns"


def with_rejects(error: IncrowdError, counts: Mapping[str, int], path: Path | None) -> IncrowdError:
    """Return an error that also says which lines were rejected, if any were."""
    if path is None:
        return error
    reason = max(counts, key=counts.__getitem__)
    total = f"{sum(counts.values()):,} lines were rejected, {counts[reason]:,} of them: {reason}; see {path}"
    return type(error)(f"{error} ({total})")


def write_rejects(job: Job, log: Log) -> Path | None:
    """Write the rejected lines next to the output, under a name that is free."""
    if not log.rejects.counts:
        return None
    path = rejects_path(job.out)
    log.rejects.write(path)
    return path


def rejects_path(out: Path) -> Path:
    """Return a free name for the rejected lines, next to the output."""
    path = out.absolute().parent / "rejects.jsonl"
    number = 1
    while path.exists() or path.is_symlink():
        number += 1
        path = path.with_name(f"rejects-{number}.jsonl")
    return path


def map_notes(job: Job, format_name: str) -> dict[str, str]:
    """Return what reading the originals again takes; it goes into the private map, never into the release."""
    notes = {"format": format_name, "columns": job.columns or "", "encoding": find_encoding(job.encoding)}
    if job.taxonomy and Path(job.taxonomy).is_file():
        notes["taxonomy"] = str(Path(job.taxonomy).absolute())
    return notes


def _taxonomy(job: Job, log: Log) -> str:
    """Return the taxonomy asked for, or the one that suits the items."""
    if job.taxonomy is not None:
        return job.taxonomy
    return "balanced:5" if log.is_baskets or job.items == "queries" else "wordnet"


def _kernels_of(job: Job) -> str:
    """Return a name for what the job compiles: the method with its parameters."""
    own = map(str, read_parameters(job.method, job.parameters).values())
    return "-".join([job.method, *own, *(["people"] if _counts_people(job) else [])])


def _counts_people(job: Job) -> bool:
    return job.unit != "user" and job.distinct != "records"


def kernels_are_compiled(job: Job) -> bool:
    """Tell whether an earlier run has compiled what the job needs."""
    return is_compiled(_kernels_of(job))


def load_kernels(job: Job) -> None:
    """Run the method on next to nothing, so that compiling or loading its kernels is not counted as its time."""
    people = ["a", "a", "b", "b"] if _counts_people(job) else None
    rows = Transactions.from_rows([["1", "2"], ["1", "2"], ["2", "2", "3"], ["3"]], people=people)
    if job.method in ASKING:
        rows = rows.with_askings()
    own: Mapping[str, Any] = job.parameters
    tree = ground(rows, Taxonomy.from_parents(TINY_PARENTS, pa.array(TINY_LABELS), name="tiny")).taxonomy
    with suppress(IncrowdError):  # there may be too little of it for the method
        release = anonymize(rows, tree, k=2, method=job.method, **own)
        _ = release.losses, release.bound, release.utility
    # Patterns are matched only where two items want the same one: here, two nodes want the root.
    measure_patterns([Pattern((1, 2), 1)], [Pattern((0,), 1)], tree, far=tree.far)
    note_compiled(_kernels_of(job))
