"""Mini-sessions: at most so many queries, the last at most so long after the first, against a naive reading of that sentence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.errors import BadInputError
from incrowd.logs import parse_unit
from incrowd.logs.mini_sessions import find_starts
from incrowd.logs.read import read_log

QUERIES = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(-30, 60), st.sampled_from("xyz")), max_size=30, unique=True
)


def cut(queries, most, within):
    """Cut queries (person, time, text) one by one, as a person would."""
    parts = []
    for person, time, text in sorted(queries):
        last = parts[-1] if parts else None
        if last and last[0][0] == person and len(last) < most and time <= last[0][1] + within:
            last.append((person, time, text))
        else:
            parts.append([(person, time, text)])
    return parts


@given(QUERIES, st.integers(1, 5), st.integers(0, 40))
def test_they_are_cut_as_the_sentence_says(queries, most, within):
    ordered = sorted(queries)
    person = np.array([ord(one[0]) for one in ordered], dtype=np.int64)
    time = np.array([one[1] for one in ordered], dtype=np.int64)
    starts = find_starts(person, time, most, within)
    firsts = [ordered[place] for place in np.flatnonzero(starts)]
    assert firsts == [part[0] for part in cut(queries, most, within)]


@settings(max_examples=25, deadline=None)
@given(QUERIES, st.integers(1, 4), st.integers(0, 40), st.integers(1, 5))
def test_a_log_becomes_units_whatever_the_size_of_its_batches(queries, most, within, rows):
    lines = [f"{person}\t{1000 + time}\t{text}{time}\n" for person, time, text in queries]
    naive = cut([(person, 1000 + time, f"{text}{time}") for person, time, text in queries], most, within)
    seen = dict.fromkeys(part[0][0] for part in naive)
    expected = [
        (f"{person}#{number}", {text: 1 for _, _, text in part})
        for person in seen
        for number, part in enumerate((part for part in naive if part[0][0] == person), 1)
    ]
    if not queries:
        return
    with pytest.MonkeyPatch.context() as patch, made_of("user\ttime\tquery\n" + "".join(lines)) as log:
        patch.setattr("incrowd.logs.store._BATCH_ROWS", rows)
        made = log.transactions(unit=f"mini-session:{most}/{within}s", items="queries")
    assert [(owner, made.row(i)) for i, owner in enumerate(made.owners.to_pylist())] == expected
    assert made.unit == f"mini-session:{most}/{within}"


def made_of(text):
    import tempfile  # noqa: PLC0415 - for this helper alone
    from pathlib import Path  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "log.tsv"
        path.write_text(text, encoding="utf-8")
        return read_log(str(path), format="tsv")


def test_a_pause_as_long_as_allowed_does_not_cut_and_a_longer_one_does():
    with made_of("user\ttime\tquery\na\t0\tx1\na\t600\tx2\na\t601\tx3\n") as log:
        made = log.transactions(unit="mini-session:5/10m", items="queries")
    assert [made.row(i) for i in range(len(made))] == [{"x1": 1, "x2": 1}, {"x3": 1}]


def test_a_log_without_times_is_refused():
    with made_of("user\tquery\na\tdog\n") as log, pytest.raises(BadInputError, match="needs times"):
        log.transactions(unit="mini-session:5/10m")


@pytest.mark.parametrize(
    "text",
    [
        "mini-session",
        "mini-session:5",
        "mini-session:0/10m",
        "mini-session:5/10w",
        "mini-session:5/4000d",
        "mini:5/10m",
    ],
)
def test_what_is_no_mini_session_is_refused_with_an_example(text):
    with pytest.raises(BadInputError, match=r"mini-session:5/10m|ten years"):
        parse_unit(text)
