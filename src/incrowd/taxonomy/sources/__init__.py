"""Where taxonomies come from; here, from a file of any supported form."""

from __future__ import annotations

from pathlib import Path

from incrowd.taxonomy.sources.files import parse_taxonomy
from incrowd.taxonomy.sources.odp import is_odp, parse_odp
from incrowd.taxonomy.sources.parsed import ParsedTaxonomy
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["parse_file", "read_taxonomy"]

_FORMS = ((is_odp, parse_odp),)  # a file of none of these forms is text


def read_taxonomy(path: str | Path) -> Taxonomy:
    """Read a taxonomy from a file.

    ``child TAB parent`` lines, ``Top/Sports/Surfing`` paths (a TAB and a count may follow), ``leaf;parent;...;*`` rows,
    ``A > B > C`` lists of categories with or without ids (as Google and Shopify publish them) and the Open Directory's
    ``structure.rdf.u8`` (plain or gzip) are recognised.
    """
    return parse_file(path).tree()


def parse_file(path: str | Path) -> ParsedTaxonomy:
    """Read a taxonomy file of any form, with its problems; its `tree` raises an error if there are any."""
    path = Path(path)
    return next((parse for is_form, parse in _FORMS if is_form(path)), parse_taxonomy)(path)
