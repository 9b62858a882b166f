"""Cubes on disk: written once, then mapped read-only, so that all workers share the pages.

A file has a header of one page (JSON), the rows of every cell, and the sums of every cell. It is used only if
its header matches the schema, the table's content and the format, and the numbers match the digests in the header.
A file that is damaged, truncated, stale or of another table is built again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import mmap
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from incrowd.errors import BadInputError
from incrowd.generalizer.cube.build import Slab, slabs
from incrowd.generalizer.cube.layout import HEADER_BYTES, Layout
from incrowd.generalizer.schema import AuxiliaryTable, text_of

try:
    import fcntl
except ImportError:  # not a Unix: two processes may both build, and both files are correct
    fcntl = None  # type: ignore[assignment]

__all__ = ["content_digest", "cube_path", "load_or_build", "map_again"]

_FORMAT = 1
_KIND = "incrowd cube"


def content_digest(table: AuxiliaryTable) -> str:
    """Return a digest that changes with the schema, the ladders and the rows of a table."""
    schema = [
        [each.name, [*map(text_of, each.domain)], [[*map(text_of, rung)] for rung in each.ladder]]
        for each in table.schema.attributes
    ]
    digest = hashlib.sha256(json.dumps([schema, table.rows]).encode())
    for name in table.schema.names:
        column = np.ascontiguousarray(table.columns[name])
        digest.update(column.dtype.str.encode())
        digest.update(column.data)
    return digest.hexdigest()


def cube_path(directory: Path, table: AuxiliaryTable, protected: str) -> Path:
    """Return the path of a cube's file. Tables with the same columns share one file, which the last one overwrites."""
    names = json.dumps([table.schema.names, protected]).encode()
    return directory / f"{hashlib.sha256(names).hexdigest()[:32]}.cube"


def load_or_build(path: Path, table: AuxiliaryTable, layout: Layout, content: str) -> tuple[Slab, str]:
    """Return the numbers of a cube, mapped from its file, and the file's fingerprint."""
    fingerprint = _fingerprint(layout, content)
    try:
        found = _load(path, layout, fingerprint)
        if found is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            with _lock(path.with_suffix(".lock")):
                found = _load(path, layout, fingerprint)  # another process may have built it meanwhile
                if found is None:
                    _write(path, slabs(table, layout), layout, fingerprint)
                    found = _load(path, layout, fingerprint)
    except OSError as error:
        raise BadInputError(
            f"the cube file {path} cannot be written: {error.strerror}; name another directory as cache"
        ) from None
    if found is None:
        raise BadInputError(f"the cube file {path} does not read as it was written; check the disk")
    return found, fingerprint


def map_again(path: Path, layout: Layout, fingerprint: str) -> Slab:
    """Map a file that was loaded before, possibly by another process, without checking its numbers again."""
    try:
        header = _header(path, layout, fingerprint)
    except OSError:
        header = None
    if header is None:
        raise BadInputError(
            f"the cube file {path} is not the one that was loaded before; load the table again"
        )
    return _mapped(path, layout)


def _fingerprint(layout: Layout, content: str) -> str:
    """Return a digest of everything that the numbers depend on."""
    parts = [_FORMAT, content, layout.protected, [axis.name for axis in layout.axes]]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _expected(layout: Layout, fingerprint: str) -> dict[str, Any]:
    """Return the header that a file must have."""
    return {
        "kind": _KIND,
        "format": _FORMAT,
        "fingerprint": fingerprint,
        "cells": layout.cells,
        "totals": layout.totals_type.str,
        "guesses": layout.guesses_type.str,
    }


def _header(path: Path, layout: Layout, fingerprint: str) -> dict[str, Any] | None:
    """Return the header of a file if it is the expected one, else None."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size != layout.nbytes:
            return None
        try:
            header = json.loads(file.read(HEADER_BYTES))
        except ValueError:
            return None
    if not isinstance(header, dict):
        return None
    expected = _expected(layout, fingerprint)
    return header if {name: header.get(name) for name in expected} == expected else None


def _load(path: Path, layout: Layout, fingerprint: str) -> Slab | None:
    """Map a file; None if there is none that passes all checks."""
    try:
        header = _header(path, layout, fingerprint)
    except FileNotFoundError:
        return None
    if header is None:
        return None
    numbers = _mapped(path, layout)
    digests = [hashlib.sha256(each.data).hexdigest() for each in numbers]
    return numbers if header.get("sha256") == digests else None


def _mapped(path: Path, layout: Layout) -> Slab:
    """Map the numbers of a file, read-only."""
    with path.open("rb") as file:
        pages = mmap.mmap(file.fileno(), layout.nbytes, access=mmap.ACCESS_READ)
    totals = np.frombuffer(pages, layout.totals_type, layout.cells, HEADER_BYTES)
    return totals, np.frombuffer(pages, layout.guesses_type, layout.cells, layout.guesses_start)


def _write(path: Path, parts: Iterable[Slab], layout: Layout, fingerprint: str) -> None:
    """Write a temporary file, then rename it: no reader sees an incomplete file under the final name."""
    # The lock excludes other writers; a file that an interrupted run left here is overwritten.
    draft = path.with_suffix(f".{os.getpid()}.new" if fcntl is None else ".new")
    descriptor = os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - it has no path any more
        file.truncate(layout.nbytes)
        places = [HEADER_BYTES, layout.guesses_start]
        digests = [hashlib.sha256(), hashlib.sha256()]
        for part in parts:
            for which, numbers in enumerate(part):
                file.seek(places[which])
                file.write(numbers.data)
                digests[which].update(numbers.data)
                places[which] += numbers.nbytes
        header = _expected(layout, fingerprint) | {"sha256": [digest.hexdigest() for digest in digests]}
        file.seek(0)
        file.write(json.dumps(header).encode().ljust(HEADER_BYTES))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Wait until no other process builds the same cube."""
    with path.open("ab") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)  # released when the file is closed
        yield
