"""The Open Directory's ``structure.rdf.u8`` as a taxonomy: its Topic elements, read as a stream."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn
from xml.parsers import expat

from incrowd.errors import BadInputError
from incrowd.taxonomy.matching import find_in_paths
from incrowd.taxonomy.sources.parsed import ParsedTaxonomy

__all__ = ["is_odp", "parse_odp"]

BLOCK_BYTES = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"
LOOK_BYTES = 1000


def is_odp(path: str | Path) -> bool:
    """Return whether a file begins like an RDF file of the Open Directory, plain or compressed with gzip."""
    try:
        with _opened(Path(path)) as file:
            return b"<RDF" in file.read(LOOK_BYTES)
    except (OSError, EOFError, zlib.error):
        return False


def parse_odp(path: str | Path) -> ParsedTaxonomy:
    """Read the categories of an Open Directory file, plain or compressed by gzip.

    A category is a Topic element; its ``r:id`` is its path (``Top/Sports/Water_Sports``), and that is its label.
    Children are in the order of the file; a missing category above a listed one is added.
    The topic with an empty path, with which some editions begin, is the root.
    """
    topics = _Topics(Path(path))
    try:
        with _opened(topics.path) as file:
            while block := file.read(BLOCK_BYTES):
                topics.parser.Parse(block)
        topics.parser.Parse(b"", True)  # noqa: FBT003 (expat takes it by position)
    except expat.ExpatError as error:
        topics.refuse(f"broken XML ({expat.ErrorString(error.code)})", error.lineno)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        topics.refuse("the compressed data ends or breaks here", topics.parser.CurrentLineNumber)
    except OSError as error:
        raise BadInputError(f"taxonomy {topics.path.name} cannot be read: {error.strerror}") from None
    if not topics.node:
        raise BadInputError(
            f"taxonomy {topics.path.name} has no Topic with a path; give the directory's structure.rdf.u8"
        )
    return topics.parsed


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with path.open("rb") as plain:
        compressed = plain.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        plain.seek(0)
        if not compressed:
            yield plain
            return
        with gzip.GzipFile(fileobj=plain) as unpacked:
            yield unpacked


class _Topics:
    """What the parser has seen so far: the categories in order, each with the number of its node."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parsed = ParsedTaxonomy(path, "paths", find_in_paths)
        self.node: dict[str, int] = {}
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._see_element
        # No document type means no entities, so a small file cannot expand into a huge one.
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype

    def refuse(self, problem: str, line: int) -> NoReturn:
        """Raise an error that says where reading stopped, and why."""
        raise BadInputError(
            f"taxonomy {self.path.name}: line {line}: {problem}; mend the file or get it again"
        )

    def _see_element(self, name: str, attributes: dict[str, str]) -> None:
        if name != "Topic":
            return
        path = attributes.get("r:id")
        if path is None:
            self.refuse("a Topic without r:id", self.parser.CurrentLineNumber)
        if path and path not in self.node:
            self._add(path)

    def _add(self, path: str) -> None:
        """Add a category, and before it those above it that are not there yet."""
        missing = [path]
        while (above := missing[-1].rpartition("/")[0]) not in self.node and above:
            missing.append(above)
        if not all(way.rpartition("/")[2].strip() for way in missing) or path.startswith("/"):
            self.refuse("a path with an empty step", self.parser.CurrentLineNumber)
        if self.node and not above:
            self.refuse("a path that begins with another root than the first", self.parser.CurrentLineNumber)
        parent = self.node.get(above, -1)
        for way in reversed(missing):
            self.node[way] = parent = self.parsed.add(way, self.parser.CurrentLineNumber, parent)

    def _refuse_doctype(self, *_: Any) -> None:
        self.refuse("a document type, which the directory's files do not have", self.parser.CurrentLineNumber)
