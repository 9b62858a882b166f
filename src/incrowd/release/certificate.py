"""Two pages beside a release that was audited: a certificate to print, and a dictionary of its columns and parameters.

Both are made from the files of the release and from what the audit found. So they can be made again from a written release, and say nothing that the
release does not. Only where the publisher had it attacked, the certificate says too what the attacks found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from incrowd.auditing.period import PERIOD
from incrowd.auditing.result import Audit
from incrowd.core.atomic import atomic_writes, check_free
from incrowd.errors import BadInputError, ClaimError, option
from incrowd.release.files.dictionary import (
    CLAIM,
    NUMBERS,
    PARAMETERS,
    Entry,
    columns_in,
    file_in_words,
    unit_in_words,
)
from incrowd.release.files.manifest import LIST_FORMAT, TILES_FORMAT, Manifest, format_of, read_manifest
from incrowd.release.files.parts import part_files
from incrowd.release.files.tiles import TileManifest
from incrowd.report.html import is_marked, page
from incrowd.report.risk_rows import RiskRow

__all__ = [
    "Pages",
    "certificate_page",
    "check_pages",
    "dictionary_page",
    "is_page",
    "pages_of",
    "write_pages",
]

MARK = b'content="incrowd certificate"'
CHUNK = 1 << 20


class Pages(NamedTuple):
    """Where the pages of a release are: beside it, under its name."""

    certificate: Path
    dictionary: Path


class HashedFile(NamedTuple):
    """A file of a release and the hash of its bytes; of one in parts, of all parts one after the other."""

    name: str
    sha256: str


def pages_of(out: Path) -> Pages:
    """Return where the pages of a release are."""
    out = out if out.name not in ("", "..") else out.resolve()
    return Pages(*(out.with_name(f"{out.name}.{kind}.html") for kind in Pages._fields))


def check_pages(out: Path, *, force: bool, wanted: bool = True) -> None:
    """Refuse pages that would replace another file, and those of an earlier release, which would lie beside one that they do not speak of."""
    if not wanted:
        for path in filter(is_page, pages_of(out)):
            raise BadInputError(
                f"{path} is of another release with this name: remove it, or use {option('certificate', value=True)}"
            )
        return
    for path in pages_of(out):
        check_free(path, force=force, ours=is_page, what=f"page {path.name}, which goes with the release,")


def is_page(path: Path) -> bool:
    """Tell whether a file is such a page."""
    return is_marked(path, MARK)


def write_pages(directory: Path, result: Audit, *, force: bool, attacked: Sequence[RiskRow] = ()) -> Pages:
    """Write the pages of a release that is there, both or none."""
    if format_of(directory) == LIST_FORMAT:
        raise BadInputError(
            f"{directory} is a list with noise, which no audit can confirm: it has no certificate"
        )
    if result.holds is not True:
        raise ClaimError(
            "the audit does not confirm the release, so no certificate was written"
            + (f": {result.problems[0]}" if result.problems else "")
        )
    check_pages(directory, force=force)
    pages = pages_of(directory)
    with atomic_writes([(path, is_page if force else None) for path in pages]) as drafts:
        for draft, text in zip(
            drafts, (certificate_page(directory, result, attacked), dictionary_page(directory)), strict=True
        ):
            draft.write_text(text, encoding="utf-8")
    return pages


def certificate_page(directory: Path, result: Audit, attacked: Sequence[RiskRow] = ()) -> str:
    """Return the certificate of the release in a directory, given what its audit found and, if it was attacked, what attacks did."""
    manifest = _manifest_of(directory)
    return page(
        "certificate.html",
        manifest=manifest,
        result=result,
        period=_period(manifest.parameters),
        window=getattr(manifest, "of_window", None),
        unit=unit_in_words(str(manifest.parameters["unit"])),
        unchecked=[*result.unproven, *result.unchecked],
        attacked=attacked,
        files=list(_hashes(directory, manifest.files)),
        mark=_mark(),
    )


def dictionary_page(directory: Path) -> str:
    """Return the dictionary of the release in a directory: every column, parameter and number that it has."""
    manifest = _manifest_of(directory)
    said = msgspec.to_builtins(manifest)
    main_first = sorted(
        manifest.files, key=lambda name: (not name.startswith(("tiles.p", "records.p")), name)
    )
    tables = [(name, file_in_words(name), columns_in(directory / name)) for name in main_first]
    numbers = {**said["counts"], **(said["use"] or {})}
    return page(
        "dictionary.html",
        manifest=manifest,
        tables=tables,
        parameters=_entries(
            said["parameters"], PARAMETERS, unit=unit_in_words(str(manifest.parameters["unit"]))
        ),
        claim=_entries({name: value for name, value in said["claim"].items() if value is not None}, CLAIM),
        numbers=_entries(numbers, NUMBERS),
        mark=_mark(),
    )


def _manifest_of(directory: Path) -> Manifest | TileManifest:
    kind = TileManifest if format_of(directory) == TILES_FORMAT else Manifest
    manifest: Manifest | TileManifest = read_manifest(directory, kind)
    return manifest


def _mark() -> str:
    return MARK.decode().partition('"')[2].rstrip('"')


def _period(parameters: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the first and the last day that a release names, if it names any."""
    return tuple(parameters[name] for name in PERIOD) if all(name in parameters for name in PERIOD) else None


def _entries(values: Mapping[str, Any], meanings: Mapping[str, str], **known: str) -> list[Entry]:
    """Return names and values with what they mean; a name without a meaning is left out."""
    return [
        Entry(name, _spelled(value), meanings[name].format(**known))
        for name, value in values.items()
        if name in meanings
    ]


def _spelled(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "nothing"}[value]
    return f"{value:,}" if isinstance(value, int) else str(value)


def _hashes(directory: Path, names: list[str]) -> Iterator[HashedFile]:
    """Yield every file of a release with its hash."""
    for name in names:
        parts = part_files(directory / name) if (directory / name).is_dir() else [directory / name]
        digest = hashlib.sha256()
        for part in parts:
            with part.open("rb") as file:
                while data := file.read(CHUNK):
                    digest.update(data)
        spelled = name if len(parts) == 1 else f"{name} ({len(parts):,} parts, one after the other)"
        yield HashedFile(spelled, digest.hexdigest())
