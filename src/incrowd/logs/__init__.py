"""Logs: files of many formats, read into transactions without holding them in memory."""

from __future__ import annotations

from incrowd.logs.columns import parse_columns
from incrowd.logs.formats import FORMATS
from incrowd.logs.log import ITEMS, Log
from incrowd.logs.read import format_of, read_baskets, read_log
from incrowd.logs.rejects import Rejects
from incrowd.logs.units import parse_unit

__all__ = [
    "FORMATS",
    "ITEMS",
    "Log",
    "Rejects",
    "format_of",
    "parse_columns",
    "parse_unit",
    "read_baskets",
    "read_log",
]
