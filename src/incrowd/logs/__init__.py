"""Query logs and basket files of many formats, read into transactions without holding them in memory."""

from __future__ import annotations

from incrowd.logs.files import Inputs
from incrowd.logs.form import FORMATS, InputForm, read_form
from incrowd.logs.formats.columns import parse_columns
from incrowd.logs.items import ITEMS
from incrowd.logs.log import Log
from incrowd.logs.read import (
    first_lines,
    first_records,
    format_of,
    look_at,
    read_baskets,
    read_log,
    read_parts,
)
from incrowd.logs.rejects import Rejects
from incrowd.logs.units import Unit, parse_unit

__all__ = [
    "FORMATS",
    "ITEMS",
    "InputForm",
    "Inputs",
    "Log",
    "Rejects",
    "Unit",
    "first_lines",
    "first_records",
    "format_of",
    "look_at",
    "parse_columns",
    "parse_unit",
    "read_baskets",
    "read_form",
    "read_log",
    "read_parts",
]
