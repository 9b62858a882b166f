"""Durations and sizes: what people write, exactly."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from incrowd.errors import BadInputError
from incrowd.gateway.config.units import parse_duration, parse_size, size_in_words

MILLISECONDS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
BYTES = {"B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4}
WHOLE = st.integers(0, 10**9 - 1)


@given(WHOLE, st.sampled_from(sorted(MILLISECONDS)))
@example(500, "ms")
@example(3, "ms")
def test_a_duration_is_the_double_nearest_to_what_was_written(number, unit):
    assert parse_duration(f"{number}{unit}") == float(Fraction(number * MILLISECONDS[unit], 1000))


@given(WHOLE, st.sampled_from(sorted(BYTES)))
@example(64, "KB")
def test_a_size_is_exact(number, unit):
    assert parse_size(f"{number}{unit}") == number * BYTES[unit]
    assert parse_size(number) == number


WORDS = st.text("0123456789.-+ msdhKMGTBi\n", max_size=6) | st.text(max_size=4)
THINGS = WORDS | st.integers(max_value=-1) | st.floats() | st.booleans() | st.none() | st.lists(st.integers())


@given(THINGS)
@example("10")
@example("1.5h")
@example("10 s")
@example("10s\n")
@example("10S")
@example("٣s")
def test_whatever_is_no_duration_is_refused_in_one_line(thing):
    if isinstance(thing, str) and re.fullmatch("[0-9]{1,9}(ms|s|m|h|d)", thing):
        return
    with pytest.raises(BadInputError, match=r"\Amust be a duration such as 500ms, 10s, 5m, 2h or 90d\Z"):
        parse_duration(thing)


@given(THINGS)
@example("64")
@example("64kb")
@example("64KiB")
@example(-1)
@example(True)  # noqa: FBT003
def test_whatever_is_no_size_is_refused_in_one_line(thing):
    if isinstance(thing, str) and re.fullmatch("[0-9]{1,9}(B|KB|MB|GB|TB)", thing):
        return
    with pytest.raises(BadInputError, match=r"\Amust be a size such as 64KB, 50MB or 2GB\Z"):
        parse_size(thing)


def test_sizes_in_words():
    written = {0: "0 B", 999: "999 B", 1000: "1.0 KB", 1_960_000_000: "2.0 GB", 5 * 10**15: "5,000.0 TB"}
    assert {size: size_in_words(size) for size in written} == written
