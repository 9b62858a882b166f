"""Where trees come from: any kind of file."""

from __future__ import annotations

from pathlib import Path

from incrowd.taxonomy.files import parse_taxonomy
from incrowd.taxonomy.odp import is_odp, read_odp
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["read_taxonomy"]


def read_taxonomy(path: str | Path) -> Taxonomy:
    """Read a taxonomy from a file.

    ``child TAB parent`` lines, ``Top/Sports/Surfing`` paths (a TAB and a count may follow), ``leaf;parent;...;*`` rows
    and the Open Directory's ``structure.rdf.u8`` (plain or gzip) are told apart by how they begin.
    """
    path = Path(path)
    return read_odp(path) if is_odp(path) else parse_taxonomy(path).tree()
