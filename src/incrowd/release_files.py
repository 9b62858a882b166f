"""The files of a release: exactly the listed ones, each a plain file of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from incrowd.textforms import TEXT_FORMS
from incrowd.verdict import Audit

__all__ = [
    "LIST_FILES",
    "RELEASE_FILES",
    "REQUIRED",
    "check_exactly",
    "check_files",
    "files_with",
    "text_forms_of",
]

REQUIRED = ("manifest.json", "records.parquet", "report.html", "taxonomy.parquet")
LIST_FILES = ("manifest.json", "queries.parquet", "report.html")
RELEASE_FILES = frozenset([*REQUIRED, *LIST_FILES, *(f"records.{form}" for form in TEXT_FORMS)])


def files_with(text_forms: Iterable[str]) -> list[str]:
    """Return the files of a release of records, as its manifest lists them."""
    return sorted([*REQUIRED, *(f"records.{form}" for form in set(text_forms))])


def text_forms_of(files: Iterable[str]) -> list[str]:
    """Return the text forms among a release's files."""
    return [form for form in TEXT_FORMS if f"records.{form}" in files]


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
