"""The files that an input consists of: several paths, patterns, folders and archives become parts, in the order of their names."""

from __future__ import annotations

import glob
import os
import re
import stat
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from incrowd.errors import BadInputError, option

__all__ = ["Inputs", "PartFile", "check_no_spreadsheet", "find_parts", "listed", "name_of", "short_names"]

Inputs = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""One path, or several: files, folders, patterns as ``logs/*.gz``, or .zip archives."""

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_STORES = {"s3": "aws s3 cp", "s3a": "aws s3 cp", "gs": "gcloud storage cp", "hdfs": "hdfs dfs -get"}
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
_SPREADSHEET_MEMBER = "[Content_Types].xml"
_HIDDEN = (".", "_")  # the second as in folders that Spark and Hadoop write
_ENCRYPTED = 1


class PartFile(NamedTuple):
    """One file of an input: its path, its name within an archive if it lies in one, and what messages call it."""

    path: Path
    member: str | None = None
    name: str = ""


def find_parts(given: Inputs) -> list[PartFile]:
    """Return the files of an input, ordered by their names; refuse what is no file, and one that comes twice."""
    found = [part for path in listed(given) for part in _parts_of(os.fspath(path))]
    if not found:
        raise BadInputError("no input was given: name at least one file")
    _check_once(found)
    return sorted(_named(found), key=lambda part: part.name)


def name_of(given: Inputs, parts: Sequence[PartFile]) -> str:
    """Return what an input of several parts is called."""
    if len(parts) == 1:
        return parts[0].name
    paths = listed(given)
    return Path(paths[0]).absolute().name if len(paths) == 1 else f"{len(parts):,} files"


def check_no_spreadsheet(text: str) -> None:
    """Refuse a path that ends as those of spreadsheets do."""
    if text.lower().endswith(_SPREADSHEETS):
        raise _spreadsheet(Path(text))


def short_names(paths: Sequence[str]) -> list[str]:
    """Return as much of the ends of some paths as tells them apart, wherever they are read from."""
    split = [path.split("/") for path in paths]
    for depth in range(1, max(map(len, split)) + 1):
        names = ["/".join(path[-depth:]) for path in split]
        if len(set(names)) == len(names):
            return names
    return list(paths)


def _check_address(text: str) -> None:
    """Refuse an address of a file that is elsewhere, and say how to get it."""
    if address := _ADDRESS.match(text):
        how = _STORES.get(address[1].lower(), "curl -O")
        raise BadInputError(
            f"input {text} is an address: fetch the file first ({how}), and give its path; {option('engine', 'spark')} reads from stores"
        )


def listed(given: Inputs) -> list[str | os.PathLike[str]]:
    """Return the paths of an input as they were given."""
    return [given] if isinstance(given, (str, os.PathLike)) else list(given)


def _parts_of(text: str) -> Iterator[PartFile]:
    _check_address(text)
    path = Path(text)
    if path.is_dir():
        yield from _of_folder(path)
    elif path.exists():
        yield from _of_file(path)
    elif glob.has_magic(text):
        yield from _of_pattern(text)
    else:
        raise BadInputError(f"input {text} does not exist")


def _of_folder(folder: Path) -> Iterator[PartFile]:
    """Yield the files in a folder that are not hidden and not empty; folders in it are left alone."""
    entries = [entry for entry in sorted(folder.iterdir()) if not entry.name.startswith(_HIDDEN)]
    files = [entry for entry in entries if _is_filled_file(entry)]
    if not files:
        raise BadInputError(
            f"input {folder} is a directory without a file to read: give files, or a pattern as '{folder}/*/*.gz'"
        )
    for file in files:
        yield from _of_file(file)


def _of_pattern(pattern: str) -> Iterator[PartFile]:
    names = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 - a path has no patterns that begin at the root
    files = [Path(name) for name in names if not Path(name).is_dir()]
    if not files:
        raise BadInputError(f"input {pattern} does not exist, and as a pattern it fits no file")
    for file in files:
        yield from _of_file(file)


def _of_file(path: Path) -> Iterator[PartFile]:
    """Yield a file itself, or the files in it if it is an archive."""
    check_no_spreadsheet(path.name)
    if not path.is_file() or not _first_bytes(path).startswith(_ZIP_MAGICS):
        yield PartFile(path)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError):
        raise BadInputError(f"{path.name} is a damaged archive: get a whole copy of the file") from None
    if any(member.filename == _SPREADSHEET_MEMBER for member in members):
        raise _spreadsheet(path)
    yield from _of_archive(path, members)


def _of_archive(path: Path, members: Iterable[zipfile.ZipInfo]) -> Iterator[PartFile]:
    kept = [member for member in members if not member.is_dir() and not _is_hidden(member.filename)]
    if not kept:
        raise BadInputError(f"{path.name} is an archive without a file: give one with records")
    for member in kept:
        if member.flag_bits & _ENCRYPTED:
            raise BadInputError(f"{path.name} is encrypted: unpack it first, and give the files")
        yield PartFile(path, member.filename)


def _is_hidden(member: str) -> bool:
    return any(folder.startswith(_HIDDEN) for folder in member.split("/"))


def _is_filled_file(path: Path) -> bool:
    status = path.stat()
    return stat.S_ISREG(status.st_mode) and status.st_size > 0


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4)
    except OSError as error:
        raise BadInputError(f"{path.name} cannot be opened: {os.strerror(error.errno or 5)}") from None


def _spreadsheet(path: Path) -> BadInputError:
    return BadInputError(f"{path.name} is a spreadsheet: save it as CSV in UTF-8, and give that file")


def _check_once(parts: Sequence[PartFile]) -> None:
    """Refuse a file that was given twice, by whatever paths: its people would be counted as they are not."""
    seen: set[tuple[int, int, str | None]] = set()
    for part in parts:
        try:
            status = part.path.stat()
        except OSError:  # what cannot be read is refused when it is opened
            continue
        key = (status.st_dev, status.st_ino, part.member)
        if key in seen:
            raise BadInputError(f"input {part.path} is given twice: name each file once")
        seen.add(key)


def _named(parts: Sequence[PartFile]) -> list[PartFile]:
    """Call each part by the end of its path, and within an archive by its name there."""
    files = list(dict.fromkeys(part.path.absolute().as_posix() for part in parts))
    short = dict(zip(files, short_names(files), strict=True))
    return [
        part._replace(
            name=short[part.path.absolute().as_posix()] + (f":{part.member}" if part.member else "")
        )
        for part in parts
    ]
