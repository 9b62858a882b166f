"""Converts written times to seconds since 1970 (UTC); unreadable times become null.

A time without a zone is taken as UTC: only differences between the times of one log matter.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["excite_times", "written_times"]

_EPOCH = r"^[0-9]{1,11}$"
_EPOCH_WITH_FRACTION = re.compile(r"[-+]?\d{1,11}(\.\d*)?", re.ASCII)
_ISO = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d.*)?", re.ASCII)
_YEAR_ONE = -62_135_596_800
_LEAST, _BEYOND = (0, 1, 1, 0, 0, 0), (100, 13, 32, 24, 60, 60)  # of year, month, day, hour, minute, second
_CENTURY_BREAK = 70  # 70..99 are 19xx, 00..69 are 20xx


def written_times(texts: pa.StringArray) -> pa.Int64Array:
    """Read ISO 8601 times (blank or ``T``, with or without a zone) and seconds since 1970."""
    texts = pc.ascii_trim_whitespace(texts)
    if pc.all(pc.match_substring_regex(texts, _EPOCH), min_count=0).as_py():
        return pc.cast(texts, pa.int64())
    try:
        seconds = pc.cast(pc.cast(texts, pa.timestamp("s")), pa.int64())
    except pa.ArrowInvalid:
        return _one_by_one(texts)
    return seconds if pc.min(seconds).as_py() >= _YEAR_ONE else _one_by_one(texts)


def excite_times(texts: pa.StringArray) -> pa.Int64Array:
    """Read times written as ``yymmddhhmmss``."""
    texts = pc.ascii_trim_whitespace(texts)
    valid = np.array(pc.match_substring_regex(texts, "^[0-9]{12}$"), dtype=np.bool_)
    number = np.array(pc.cast(pc.if_else(pa.array(valid), texts, "0"), pa.int64()))
    parts = [number // 100**place % 100 for place in range(5, -1, -1)]
    for part, least, beyond in zip(parts, _LEAST, _BEYOND, strict=True):
        valid &= (part >= least) & (part < beyond)
    year, month, day, hour, minute, second = parts
    year = np.where(year >= _CENTURY_BREAK, 1900, 2000) + year
    first_of_month = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    date = first_of_month.astype("datetime64[D]") + (day - 1)
    valid &= date.astype("datetime64[M]") == first_of_month  # no 30th of February
    seconds = date.astype("datetime64[s]").astype(np.int64) + hour * 3600 + minute * 60 + second
    return pa.array(seconds, mask=~valid)


def _one_by_one(texts: pa.StringArray) -> pa.Int64Array:
    return pa.array([_seconds(text) for text in texts.to_pylist()], pa.int64())


def _seconds(text: str | None) -> int | None:
    if text and _EPOCH_WITH_FRACTION.fullmatch(text):
        return math.floor(float(text))
    if not text or not _ISO.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return math.floor((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
