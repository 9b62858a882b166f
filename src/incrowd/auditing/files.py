"""The files of a release: exactly the listed ones, each a plain file of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from incrowd.auditing.result import Audit
from incrowd.release.files.names import files_with, text_forms_of

__all__ = ["check_contents", "check_exactly", "check_files", "check_text"]


def check_files(directory: Path, listed: Sequence[str], result: Audit) -> None:
    """Check that a directory holds exactly the listed files, and that those are files and no links.

    Names are not quoted: they could be anything.
    """
    with result.checking("the directory holds the files of the release and nothing else"):
        result.require(
            wrong=list(listed) != files_with(text_forms_of(listed)),
            problem="the manifest lists other files than a release has",
        )
        _check_entries(directory, frozenset(listed), result)


def _check_entries(directory: Path, listed: frozenset[str], result: Audit) -> None:
    found = {entry.name: entry for entry in directory.iterdir()}
    strange = len(found.keys() - listed)
    result.require(
        wrong=bool(strange),
        problem=f"the directory holds {strange:,} entries that are no part of a release: remove them",
    )
    for name in sorted(listed):
        if name not in found:
            result.add_problem(f"{name} is missing or damaged")
        elif found[name].is_symlink():
            result.add_problem(f"{name} is a link: a release is made of files")
        elif name == "records.parquet" and found[name].is_dir():
            links = any(part.is_symlink() or not part.is_file() for part in found[name].iterdir())
            result.require(wrong=links, problem="records.parquet holds something that is no file")
        elif not found[name].is_file():
            result.add_problem(f"{name} is no file")


def check_exactly(directory: Path, files: Iterable[str], result: Audit) -> None:
    """Check that a directory holds exactly some files."""
    with result.checking("the directory holds the files of the release and nothing else"):
        _check_entries(directory, frozenset(files), result)


def check_contents(directory: Path, contents: Mapping[str, str], what: str, result: Audit) -> None:
    """Check some files byte for byte against what follows from the rest of a release."""
    for name, text in contents.items():
        result.require(
            wrong=(directory / name).read_bytes() != text.encode(),
            problem=f"{name} is not the one of {what}",
        )


def check_text(path: Path, lines: Iterable[str], result: Audit) -> None:
    """Check a text form byte for byte against what the rows of its Parquet file say."""
    expected = hashlib.sha256()
    for line in lines:
        expected.update(line.encode())
    with path.open("rb") as file:
        result.require(
            wrong=hashlib.file_digest(file, "sha256").digest() != expected.digest(),
            problem=f"{path.name} does not say what {path.stem}.parquet says",
        )
