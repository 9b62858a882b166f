"""Query logs and basket files of many formats, read into transactions without holding them in memory."""

from __future__ import annotations

from incrowd.logs.formats.columns import parse_columns
from incrowd.logs.formats.detect import FORMATS
from incrowd.logs.items import ITEMS
from incrowd.logs.log import Log
from incrowd.logs.read import format_of, read_baskets, read_log
from incrowd.logs.rejects import Rejects
from incrowd.logs.units import Unit, parse_unit

__all__ = [
    "FORMATS",
    "ITEMS",
    "Log",
    "Rejects",
    "Unit",
    "format_of",
    "parse_columns",
    "parse_unit",
    "read_baskets",
    "read_log",
]
