"""From a job's input to data on a taxonomy: both engines and the comparison walk this way until the method begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from incrowd.core.classes import filled_rows
from incrowd.core.history import Past
from incrowd.core.kinds import plain_texts
from incrowd.core.memory import Sizes, check_memory
from incrowd.core.own_files import is_file
from incrowd.core.transactions import Transactions, Weeks
from incrowd.errors import BadInputError, IncrowdError, option
from incrowd.jobs.anonymize import counted_by, make_release
from incrowd.jobs.clock import Clock, ProgressListener
from incrowd.jobs.settings import OF_KINDS
from incrowd.jobs.spec import IN_MEMORY, Job, names_words
from incrowd.kernels.jit import is_compiled, note_compiled
from incrowd.logs import Log, Unit, read_parts, rejects
from incrowd.logs.input import Input
from incrowd.logs.items import WHOLE_QUERIES
from incrowd.metrics.patterns import Pattern, measure_patterns
from incrowd.taxonomy import Attached, Taxonomy, Unlisted, attach, open_taxonomy
from incrowd.taxonomy.check import taxonomy_named
from incrowd.taxonomy.kinds import attach_kinds
from incrowd.text.never import NeverList

__all__ = [
    "attach_items",
    "attach_without",
    "build_rows",
    "check_left",
    "check_rows",
    "kernels_are_compiled",
    "knowledge_for",
    "knowledge_of",
    "load_kernels",
    "map_notes",
    "open_log",
    "place_input",
    "place_rows",
    "rejects_named",
    "taxonomy_for",
    "unlisted_by",
    "write_rejects",
]

TINY_TIMES = 10  # mosaic refuses fewer than 20 people
TINY_RARE = [["1"], ["2"], ["1", "3"]]  # rows that are like no other are grouped in ways of their own
TINY_LABELS = ["all", "pair", "1", "2", "3"]
TINY_PAST = Past([["1", "somebody"], ["2", "3"]], published=2, k=2)
TINY_PARENTS = np.array([-1, 0, 1, 1, 0], dtype=np.int32)
_LOADED: set[tuple[str, bool]] = set()
"""What this process has loaded: the names of kernels, and whether for a release that follows others."""


def open_log(job: Job, listener: ProgressListener) -> Log:
    """Read the job's input."""
    return read_parts(
        job.options.input,
        job.form,
        memory=job.options.memory,
        keep_rejected=job.options.keep_rejected,
        progress=listener.reading,
    )


def place_input(job: Job, log: Log, clock: Clock, *, events: bool = False) -> Attached:
    """Build the transactions and place them on the taxonomy; refuse if k people are not left."""
    with rejects_named(job, log):
        transactions = build_rows(job, log, clock, events=events)
        log.free_rows()
        return place_rows(job, transactions, clock)


def build_rows(
    job: Job, log: Log, clock: Clock, *, events: bool = False, tree: Taxonomy | None = None
) -> Transactions:
    """Build the transactions; refuse if nothing is left. Concepts are looked for in `tree`, where it is given."""
    clock.step("items")
    items = log.kind_of_items(job.items)
    transactions = log.transactions(
        unit=job.unit or Unit(),
        items=items,
        bags=not job.options.sets,
        knowledge=_unfitted(tree) if tree and items == "concepts" else knowledge_for(job, items),
        events=events,
        places=job.method.uses_places,
        kinds=job.kinds,
        never=job.never,
        named=unlisted_by(job, items, tree.name if tree else taxonomy_for(job, items)) == "name",
        window=job.taken and job.taken.window,
        progress=clock.listener.reading,
    )
    if not job.method.is_noisy:
        check_left(log, log.summary)
    return transactions


def place_rows(
    job: Job, transactions: Transactions, clock: Clock, *, tree: Taxonomy | None = None
) -> Attached:
    """Place transactions on the job's taxonomy, or on `tree`; refuse if k people are not left, or too little memory."""
    check_memory(
        Sizes.of(transactions),
        job.method.name,
        job.method.footprint,
        job.options.memory,
        is_secret=job.method.is_noisy,
    )
    clock.step("taxonomy")
    items = transactions.kind or ("raw" if transactions.unit == "record" else "terms")
    attached = attach_items(job, items, transactions, tree=tree)
    if job.k is not None and not job.method.is_noisy:
        filled_rows(counted_by(attached.transactions, job.options.distinct), job.k)
    return attached


@contextmanager
def rejects_named(job: Job, read: Input) -> Iterator[None]:
    """Let an error also say which lines were rejected, if any were, and write them down."""
    try:
        yield
    except IncrowdError as error:
        path, counts = write_rejects(job, read), read.rejected
        if not counts or job.method.is_noisy:  # whose messages tell no number of lines
            raise
        reason = max(counts, key=counts.__getitem__)
        total = f"{sum(counts.values()):,} lines were rejected, {counts[reason]:,} of them: {reason}"
        raise type(error)(f"{error} ({total}{f'; see {path}' if path else ''})") from None


def taxonomy_for(job: Job, items: str) -> str:
    """Return the taxonomy that was chosen, or the one that suits the items."""
    return job.options.taxonomy or ("balanced:5" if items in ("queries", "raw") else "wordnet")


def attach_items(
    job: Job, items: str, transactions: Transactions, *, tree: Taxonomy | None = None
) -> Attached:
    """Place the items on the job's taxonomy, or on `tree`; those of other kinds than words on the ladders of their kinds."""

    def attach_words(words: Transactions) -> Attached:
        if tree is not None:
            return _attach_to(job, items, words, tree)
        source = taxonomy_for(job, items)
        if job.method.is_noisy and not len(words.vocabulary):
            source = (
                "wordnet"  # no tree can be made of nothing, and to refuse would tell that there is nothing
            )
        return open_taxonomy(source, words, unlisted=unlisted_by(job, items, source), moves=job.moves)

    return attach_without(
        job.never, transactions, partial(attach_kinds, kinds=job.kinds, attach_words=attach_words)
    )


def attach_without(
    never: NeverList | None, transactions: Transactions, place: Callable[[Transactions], Attached]
) -> Attached:
    """Place the items on a taxonomy, but for those below a class whose name holds a word that is never published.

    What lies above a published item is published with it. To leave out the class alone would tell which it is.
    """
    attached = place(transactions)
    tree = attached.taxonomy
    if never is None:
        return attached
    named = never.found_in(plain_texts(tree.labels)) & ~tree.is_leaf
    if tree.made is not None:
        named &= ~tree.made  # their names are the program's own
    steps = np.bincount(np.flatnonzero(named), minlength=len(tree) + 1)
    steps -= np.bincount(tree.end[named], minlength=len(tree) + 1)
    held = (
        np.cumsum(steps)[tree.leaves_of(np.arange(len(attached.transactions.vocabulary), dtype=np.int32))] > 0
    )
    if not held.any():
        return attached
    note = f"Removed {int(held.sum()):,} distinct items below classes whose names hold a word that is never published."
    return place(attached.transactions.without_items(held, note=note))


def _attach_to(job: Job, items: str, transactions: Transactions, tree: Taxonomy) -> Attached:
    """Place the items on a tree that the caller has."""
    chosen = "keep" if job.method.is_noisy else job.options.unlisted
    unlisted = chosen or unlisted_by(job, items, tree.name) or "refuse"
    return attach_without(
        job.never, transactions, partial(attach, tree=tree, unlisted=unlisted, moves=job.moves)
    )


def _unfitted(tree: Taxonomy) -> Taxonomy:
    """Refuse a tree that was fitted to some items already: what a query means does not depend on data."""
    if tree.items is not None:
        raise BadInputError(
            f"items concepts needs a taxonomy that is not fitted to data: give {option('taxonomy', 'wordnet')} or a file"
        )
    return tree


def knowledge_for(job: Job, items: str) -> Taxonomy | None:
    """Return the tree in which the job looks for what queries mean, if it does."""
    return knowledge_of(taxonomy_for(job, items)) if items == "concepts" else None


def unlisted_by(job: Job, items: str, source: str) -> Unlisted | None:
    """Return what becomes of items that the taxonomy lacks; None where it lacks none, being made from them."""
    if job.options.unlisted == "name" and (source != "wordnet" or items in WHOLE_QUERIES):
        raise BadInputError(
            f"{option('unlisted', 'name')} is for single words and WordNet: use {option('items', 'nouns')} and {option('taxonomy', 'wordnet')}, or {option('unlisted', 'keep')}"
        )
    if source.startswith("balanced"):
        return None
    if job.method.is_noisy:  # to refuse would disclose something
        return "keep"
    if names_words(job, items, source):
        return "name"
    # Queries that mean nothing known are no mistake of the knowledge base.
    return job.options.unlisted or ("keep" if source == "wordnet" or items == "concepts" else "refuse")


def knowledge_of(source: str) -> Taxonomy:
    """Return the tree in which the meaning of queries is looked for."""
    if source.startswith("balanced"):
        raise BadInputError(
            f"items concepts needs a knowledge base: {option('taxonomy', 'wordnet')} or a file of categories"
        )
    return taxonomy_named(source)


def check_left(read: Input, counts: Mapping[str, int]) -> None:
    """Refuse an input of which there is nothing to publish, and say why; `counts` as in ``Log.summary``."""
    if counts["empty"] < counts["units"]:
        return
    if read.rows:
        raise BadInputError(
            f"nothing is left of {read.name}: no line holds an item of this kind; try another {option('items')}"
        )
    raise BadInputError(
        f"no line of {read.name} could be read as {read.format}; look at {option('format')} and {option('columns')}"
    )


def check_rows(job: Job, transactions: Transactions) -> None:
    """Refuse data that the method would refuse."""
    if job.method.check_data is not None:
        counted = counted_by(transactions, job.options.distinct)
        job.method.check_data(counted, k=job.k, **job.setting.parameters)


def write_rejects(job: Job, read: Input) -> Path | None:
    """Write the rejected lines next to the output, under a name that is free; nothing in a dry run, or where there is no output yet."""
    if not read.rejected or job.options.dry_run or job.options.out == IN_MEMORY:
        return None
    path = _free_path(job.options.out)
    rejects.write_rejects(path, read.rejected_rows())
    return path


def _free_path(out: Path) -> Path:
    """Return a free name for the rejected lines, next to the output."""
    path = out.absolute().parent / "rejects.jsonl"
    number = 1
    while path.exists() or path.is_symlink():
        number += 1
        path = path.with_name(f"rejects-{number}.jsonl")
    return path


def map_notes(job: Job, read: Input) -> dict[str, str]:
    """Return what reading the originals again takes; it goes into the private map, never into the release."""
    options = job.options
    notes = {"format": read.format, "columns": options.columns or "", "encoding": read.encoding}
    said = {
        "delimiter": job.form.delimiter,
        "time_format": job.form.time_format,
        "day": job.form.day,
        "segment": job.form.segment,
    }
    notes |= {name: value for name, value in said.items() if value is not None}
    if job.method.seed_is_secret:
        notes["seed"] = str(job.seed)
    if job.taken is not None:
        notes["events"] = str(job.taken.inside)
        notes["events_before"] = str(job.taken.before)
    if options.taxonomy and is_file(options.taxonomy):
        notes["taxonomy"] = str(Path(options.taxonomy).absolute())
    if options.never is not None and job.never is not None:
        notes |= {"never": str(options.never.absolute()), "never_sha256": job.never.digest}
    if job.moves is not None:
        notes["moves_sha256"] = job.moves.digest
        if isinstance(options.moves, Path):
            notes["moves"] = str(options.moves.absolute())
    return notes


def _kernels_of(job: Job) -> str:
    """Return a name for what the job compiles."""
    people = "-people" if job.counts_people or job.past is not None else ""  # which are merged alike
    return f"{job.setting.kernels}{people}"


def kernels_are_compiled(job: Job) -> bool:
    """Return whether an earlier run has compiled what the job needs."""
    return is_compiled(_kernels_of(job))


def load_kernels(job: Job) -> None:
    """Run the method on a tiny input, once in a process, so that compiling or loading its kernels is not counted as its time."""
    wanted = (_kernels_of(job), job.past is not None)
    if wanted in _LOADED:
        return
    tiny = [["1", "2"], ["1", "2"], ["2", "2", "3"], ["3"]] * TINY_TIMES + TINY_RARE
    people = [str(row // 2) for row in range(len(tiny))] if job.counts_people else None
    rows = Transactions.from_rows(tiny, people=people)
    if job.past is not None:
        rows = replace(rows, unit="user")
    number = len(rows)
    rows = replace(rows, weeks=Weeks(np.arange(number + 1), np.arange(number, dtype=np.int32) % 2, 2))
    if job.setting.reads.events:
        rows = rows.with_events()
    attached = attach(rows, Taxonomy.from_parents(TINY_PARENTS, pa.array(TINY_LABELS), name="tiny"))
    tree = attached.taxonomy
    with suppress(IncrowdError):  # there may be too little of it for the method
        k = None if job.method.is_noisy else 2
        past = None if job.past is None else TINY_PAST
        own = {name: value for name, value in job.setting.parameters.items() if name not in OF_KINDS}
        release = make_release(attached, job.method, job.method.read_parameters(own), k=k, past=past)
        _ = release.measures
    # Patterns are matched only where two items want the same one: here, two nodes want the root.
    measure_patterns([Pattern((1, 2), 1)], [Pattern((0,), 1)], tree, root_distance=tree.root_distance)
    note_compiled(_kernels_of(job))
    _LOADED.add(wanted)
