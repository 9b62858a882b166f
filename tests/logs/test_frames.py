"""Data that Python holds is read as a file is: frames of other libraries, Arrow, rows and lists of items."""

from __future__ import annotations

import csv
from collections import namedtuple
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import incrowd as ic
from incrowd.logs.frames import read

NAMES = ("user", "query", "time", "url")
START = datetime(2024, 5, 1, 8, 0, 0)  # noqa: DTZ001 - times of logs have no zone
WORDS = ("red car", "blue car", "car hire", "train times", "bus")


def bytes_in(directory):
    """Return the bytes of every file of a release."""
    return {file.name: file.read_bytes() for file in directory.iterdir()}


def made_up_rows():
    """Return the queries of sixty people on several days, as tuples; some rows are bad."""
    rows = [
        (f"u{person:02}", WORDS[(person + day) % 5], START + timedelta(days=day, minutes=person), "")
        for person in range(60)
        for day in range(4)
    ]
    rows.insert(7, (None, "no one's", START, ""))
    rows.insert(9, ("u01", None, START, "www.example.com"))
    rows.insert(11, ("u02", "when", None, ""))
    return rows


ROWS = made_up_rows()


def as_dicts():
    return [dict(zip(NAMES, row, strict=True)) for row in ROWS]


def as_columns():
    return {name: [row[place] for row in ROWS] for place, name in enumerate(NAMES)}


def as_arrow():
    return pa.table(as_columns())


def as_pandas(**kinds):
    frame = pytest.importorskip("pandas", reason="pandas is not installed").DataFrame(as_columns())
    return frame.astype(kinds)


def as_polars():
    return pytest.importorskip("polars", reason="polars is not installed").DataFrame(as_columns())


def as_polars_categories():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    return as_polars().cast({"user": polars.Categorical, "query": polars.Categorical})


class Capsule:
    """Offers one of Arrow's PyCapsule methods and nothing else."""

    def __init__(self, data, method):
        setattr(type(self), method, lambda _, schema=None: getattr(data, method)(schema))


class Stream(Capsule):
    pass


class Array(Capsule):
    pass


FORMS = {
    "dicts": as_dicts,
    "iterator": lambda: iter(as_dicts()),
    "columns": as_columns,
    "arrow": as_arrow,
    "reader": lambda: as_arrow().to_reader(50),
    "stream": lambda: Stream(as_arrow(), "__arrow_c_stream__"),
    "array": lambda: Array(as_arrow().combine_chunks().to_batches()[0], "__arrow_c_array__"),
    "pandas": as_pandas,
    "pandas categories": lambda: as_pandas(user="category", query="category"),
    "pandas index": lambda: as_pandas().set_index("user"),
    "polars": as_polars,
    "polars categories": as_polars_categories,
    "named tuples": lambda: [namedtuple("Query", NAMES)(*row) for row in ROWS],  # noqa: PYI024
}


def write_csv(path):
    """Write the same rows to a file."""
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(NAMES)
        writer.writerows(["" if value is None else value for value in row] for row in ROWS)
    return path


@pytest.fixture(scope="module")
def from_file(tmp_path_factory):
    """Return the bytes of the file's release, and the rejected lines."""
    place = tmp_path_factory.mktemp("frames")
    with ic.read(write_csv(place / "log.csv")) as log:
        rejected = [{**row, "line": row["line"] - 1} for row in log.rejected_rows()]  # a file has a header
        ic.anonymize(log, k=2, seed=3).write(place / "release")
    return bytes_in(place / "release"), rejected


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_release_of_the_file(form, from_file, tmp_path):
    with ic.read(FORMS[form]()) as log:
        assert (list(log.rejected_rows()), log.rows, log.has_times) == (from_file[1], 241, True)
        assert dict(log.rejected) == {"no user": 1, "unparsable time": 1}
        ic.anonymize(log, k=2, seed=3).write(tmp_path / "release")
    assert bytes_in(tmp_path / "release") == from_file[0]


def test_tuples_need_names(from_file, tmp_path):
    ic.anonymize(ic.read(ROWS, names=NAMES), k=2, seed=3).write(tmp_path / "release")
    assert bytes_in(tmp_path / "release") == from_file[0]
    with pytest.raises(ic.BadInputError, match=r"names=\['user', 'query'\]"):
        ic.read(ROWS)


def seconds_of(times, **columns):
    """Return the seconds since 1970 that some times are read as."""
    data = {"user": [f"u{i}" for i in range(len(times))], "query": ["x"] * len(times), "time": times}
    with read(data, **columns) as log:
        return log.store.table('SELECT time FROM events ORDER BY "user"').column(0).to_pylist()


EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("time", "seconds"),
    [
        (datetime(2020, 1, 1, 5, 6, 7), 1577855167),  # noqa: DTZ001
        (datetime(2020, 1, 1, 5, 6, 7, 999, UTC), 1577855167),
        (datetime(2020, 1, 1, 7, 6, 7, tzinfo=EAST), 1577855167),
        (date(2020, 1, 1), 1577836800),
        ("2020-01-01T05:06:07Z", 1577855167),
        ("2020-01-01 07:06:07+02:00", 1577855167),
        (1577855167, 1577855167),
        (1577855167.9, 1577855167),
        (np.int64(1577855167), 1577855167),
    ],
)
def test_times_of_all_kinds(time, seconds):
    assert seconds_of([time]) == [seconds]
    assert seconds_of([time, date(2020, 1, 1)]) == [seconds, 1577836800]  # kinds may be mixed in rows


@pytest.mark.parametrize(
    "kind", [pa.timestamp("s"), pa.timestamp("ns", "Europe/Berlin"), pa.date32(), pa.float64(), pa.int64()]
)
def test_times_of_arrow_types(kind):
    day = pa.array([1577836800], pa.int64())
    if not pa.types.is_floating(kind):
        day = day.cast(pa.timestamp("s")).cast(kind) if pa.types.is_date(kind) else day
    times = (
        day.cast(pa.timestamp("s", "UTC")).cast(kind)
        if pa.types.is_timestamp(kind) and kind.tz
        else day.cast(kind)
    )
    with read(pa.table({"user": ["a"], "query": ["x"], "time": times})) as log:
        assert log.store.row("SELECT time FROM events") == (1577836800,)


def test_numbers_are_the_same_users_whatever_their_type():
    owners = []
    for ids in ([1, 2], [1.0, 2.0], ["1", "2"], pa.array([1, 2], pa.uint8()), [np.int32(1), "2"]):
        with read({"user": ids, "query": ["x", "y"]}) as log:
            owners.append(log.transactions(items="queries").owners.to_pylist())
    assert owners == [["1", "2"]] * 5


def test_values_of_several_types_in_a_pandas_column():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"user": [1, "b", None], "query": ["x", "y", "z"], "other": [{1}, "s", 3.5]})
    with read(frame) as log:
        assert log.transactions().owners.to_pylist() == ["1", "b"]
        assert list(log.rejected_rows()) == [{"file": None, "line": 3, "reason": "no user", "text": None}]


def test_columns_are_named():
    data = {"who": ["a"], "said": ["red car"], "at": ["2020-01-01 00:00:00"]}
    with read(data, user="who", query="said", time="at") as log:
        assert log.has_times
        assert log.transactions(items="terms").row(0) == {"car": 1, "red": 1}


BASKETS = [["milk", "bread"], ["milk"], [], ["bread", "milk", "milk"]] * 20


def basket_forms():
    yield "lists", BASKETS, {}
    yield "arrow", pa.table({"x": BASKETS}), {"items": "x"}
    yield "rows", [{"x": basket} for basket in BASKETS], {"items": "x"}
    yield "users", pa.table({"u": [f"{i:03}" for i in range(80)], "x": BASKETS}), {"items": "x", "user": "u"}


@pytest.mark.parametrize(
    ("data", "how"), [form[1:] for form in basket_forms()], ids=[form[0] for form in basket_forms()]
)
def test_baskets_of_every_form_give_the_release_of_the_file(data, how, tmp_path):
    (tmp_path / "x.dat").write_text("\n".join(map(" ".join, BASKETS)) + "\n", encoding="utf-8")
    for name, given in (("file", tmp_path / "x.dat"), ("data", ic.read(data, **how))):
        ic.anonymize(given, k=2, goal="people").write(tmp_path / name)
    assert bytes_in(tmp_path / "data") == bytes_in(tmp_path / "file")


def test_baskets_of_frames():
    for name in ("pandas", "polars"):
        library = pytest.importorskip(name, reason=f"{name} is not installed")
        with read(library.DataFrame({"x": BASKETS}), items="x") as log:
            assert [dict(row) for row in log.transactions()[:4]] == [
                {"bread": 1, "milk": 1},
                {"milk": 1},
                {},
                {"bread": 1, "milk": 2},
            ]


def test_baskets_in_long_form():
    data = {"basket": [2, 1, 2, None, 3, 4], "sku": ["ice cream", "milk", "milk", "bread", None, "  "]}
    with read(data, items="sku", user="basket") as log:
        rows = log.transactions()
        assert rows.owners.to_pylist() == ["1", "2", "4"]
        assert [dict(row) for row in rows] == [{"milk": 1}, {"ice cream": 1, "milk": 1}, {}]
        assert {row["line"]: row["reason"] for row in log.rejected_rows()} == {4: "no user", 5: "no items"}
        assert (log.users, rows.unit, rows.kind) == (3, "record", "raw")


def test_a_row_without_a_list_is_rejected_and_its_number_stays_its_name():
    with read([{"x": ["a"]}, {"x": None}, {"x": ["b", None]}], items="x") as log:
        assert log.transactions().owners.to_pylist() == ["1", "3"]
        assert list(log.rejected_rows()) == [{"file": None, "line": 2, "reason": "no items", "text": None}]


def test_what_cannot_be_seen_is_removed_from_items_too():
    with read([["a\u200bb", "ab", "e\u0301"]]) as log:
        assert log.transactions().row(0) == {"ab": 2, "\u00e9": 1}


def test_half_a_character_is_replaced():
    with read([["a\ud800"]]) as log:
        assert list(log.transactions().row(0)) == ["a\ufffd"]


@pytest.mark.parametrize(
    ("data", "how", "says"),
    [
        ([], {}, "data has no rows"),
        (
            pa.table({"user": pa.array([], pa.string()), "query": pa.array([], pa.string())}),
            {},
            "data has no rows",
        ),
        (pa.array([1]), {}, "data cannot be read as a table"),
        (5, {}, "data must be a table, rows or a path .got int."),
        ([["a"], 5], {}, "row 2 of data is no list of items"),
        ([{"user": "secret"}, 5], {}, "row 2 of data is no mapping"),
        ([("secret", "x"), ("y",)], {"names": ["user", "query"]}, "row 2 of data has not 2 values"),
        ([{"user": "a", "query": {"secret": 1}}], {}, "row 1 of data has a dict in column 'query'"),
        ({"user": ["secret"], "query": []}, {}, "not of one length"),
        (
            {"user": ["a"], "text": ["b"], "q2": ["c"]},
            {"query": "q3"},
            "no column 'q3' for the query .did you mean 'q2'",
        ),
        (
            {"query": ["b"]},
            {},
            r"no column that looks like the user: found query; choose with columns .user=NAME.",
        ),
        (
            {"secret": [1], "x": [2]},
            {},
            r"data has no column that looks like the user: choose with columns .user=NAME.",
        ),
        ({"user": ["a"], "secret 12.5 x": ["b"]}, {}, "data has no column that looks like the query: choose"),
        ({"x": [["a"]]}, {"items": "y"}, "data has no column 'y'"),
        ({"x": [["a"]]}, {"items": "x", "user": "u"}, r"data has no column 'u': name another \(user=NAME\)"),
        ({"x": [["a"]], "t": [1]}, {"items": "x", "time": "t"}, "baskets have no time"),
        (pa.table({"user": [{"secret": 1}], "query": ["x"]}), {}, "column 'user' is not text"),
        (pa.table({"x": [[{"secret": 1}]]}), {"items": "x"}, "column 'x' is not text"),
        ("log.csv", {"items": "x"}, "items is for tables and rows"),
    ],
)
def test_what_cannot_be_read_is_refused_without_its_content(data, how, says):
    with pytest.raises(ic.BadInputError, match=says) as caught:
        ic.read(data, **how)
    assert "secret" not in str(caught.value)
    assert "--" not in str(caught.value)


def test_a_broken_stream_is_refused_without_its_content():
    schema = pa.schema([("user", pa.string()), ("query", pa.string())])

    def batches():
        yield pa.record_batch([["secret"], ["x"]], schema=schema)
        raise pa.ArrowInvalid("secret")

    with pytest.raises(ic.BadInputError, match="cannot be read as a table") as caught:
        ic.read(pa.RecordBatchReader.from_batches(schema, batches()))
    assert "secret" not in str(caught.value)


def test_progress_counts_rows():
    seen = []
    read(as_arrow(), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(243, 243)]


def test_several_files_are_one_log(tmp_path):
    parts = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path, user in zip(parts, ("x", "y"), strict=True):
        path.write_text(f"user,query\n{user},red car\n", encoding="utf-8")
    for given, users in ((parts[0], ["x"]), ([parts[0]], ["x"]), (parts, ["x", "y"]), (tmp_path, ["x", "y"])):
        with ic.read(given) as log:
            assert log.transactions().owners.to_pylist() == users


def test_texts_of_times_are_understood_as_those_of_files_are():
    rows = {"user": ["a", "b"], "query": ["x", "y"], "time": ["3/31/2006 11:59 PM", "4/1/2006 1:00 AM"]}
    with ic.read(rows) as log:
        assert log.store.table("SELECT time FROM events ORDER BY time").column(0).to_pylist() == [
            1143849540,
            1143853200,
        ]
    with ic.read({**rows, "time": ["23:59", "01:00"]}, day="2006-03-31") as log:
        assert log.store.row("SELECT max(time) FROM events") == (1143849540,)
    with pytest.raises(ic.BadInputError, match="time_format"):
        ic.read({**rows, "time": ["3/4/2006", "4/3/2006"]})
    with ic.read({**rows, "time": ["3/4/2006", "4/3/2006"]}, time_format="%d/%m/%Y") as log:
        assert log.store.row("SELECT min(time) FROM events") == (1141430400,)


@pytest.mark.parametrize(
    "users", [[7, 7.0, "7", "7.0", np.float32(7), np.int64(7), Decimal("7.00")], [7e15, 7 * 10**15]]
)
def test_a_number_is_one_person_however_it_is_written(users):
    with read({"user": users, "query": ["x"] * len(users)}) as log:
        assert len(log.transactions().owners) == 1
    with read({"who": users, "what": ["x"] * len(users)}, user="who", items="what") as log:
        assert len(log.transactions().owners) == 1


def test_a_column_of_floats_has_the_ids_of_one_of_integers():
    ids = [49_170_000_101.0, 1e15, 2.0**62, -0.0, 0.5]
    with read(pa.table({"user": [*ids, float("nan")], "query": ["x"] * 6})) as log:
        owners = set(log.transactions().owners.to_pylist())
        assert dict(log.rejected) == {"no user": 1}
    assert owners == {"49170000101", "1000000000000000", str(2**62), "0", "0.5"}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"format": "aol"}, "format is for files"),
        ({"encoding": "gbk"}, "encoding is for files"),
        ({"delimiter": ";"}, "delimiter is for files"),
        ({"names": ["user", "query"]}, "drop names"),
        ({"time_format": "%d"}, "times already: drop time_format"),
        ({"day": "2024-05-01"}, "times already: drop time_format and day"),
    ],
)
@pytest.mark.parametrize("form", ["pandas", "arrow"])
def test_what_would_have_no_effect_on_a_table_is_refused(form, said, message):
    with pytest.raises(ic.BadInputError, match=message):
        read(FORMS[form](), **said)


def test_what_is_said_of_times_or_names_that_are_not_there_is_refused(tmp_path):
    with pytest.raises(ic.BadInputError, match="no column of times that day could be for"):
        read({"user": ["a"], "query": ["x"]}, day="2024-05-01")
    with pytest.raises(ic.BadInputError, match="no column of times that time_format could be for"):
        read([["milk"]], time_format="%d")
    with pytest.raises(ic.BadInputError, match="drop names"):
        read(as_dicts(), names=NAMES)
    with pytest.raises(ic.BadInputError, match="names is for rows of tuples"):
        read(write_csv(tmp_path / "log.csv"), names=NAMES)


def test_the_day_may_be_told_apart_from_the_month_late(monkeypatch):
    monkeypatch.setattr("incrowd.core.frames.BATCH_ROWS", 2)
    assert seconds_of(["3/4/2006"] * 4 + ["31/3/2006"]) == [1144022400] * 4 + [1143763200]
    with pytest.raises(ic.BadInputError, match="may begin with the month or with the day"):
        seconds_of(["3/4/2006"] * 5)


def test_lengths_of_time_are_no_times():
    with pytest.raises(ic.BadInputError, match=r"column 'time' holds no times \(it is duration\)"):
        read(pa.table({"user": ["a"], "query": ["x"], "time": pa.array([5], pa.duration("s"))}))
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    months = pandas.period_range("2006-01", periods=1, freq="M")
    with pytest.raises(ic.BadInputError, match="column 'time' holds no times"):
        read(pandas.DataFrame({"user": ["a"], "query": ["x"], "time": months}))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"user": "secret", "query": ["x"]}, "not each of its values is a column"),
        ({"user": 5, "query": ["x"]}, "not each of its values is a column"),
        (
            {"user": [10**5000], "query": ["x"]},
            "row 1 of data has a number in column 'user' that is too long",
        ),
    ],
)
def test_values_that_are_no_texts_are_refused_without_a_traceback(data, message):
    with pytest.raises(ic.BadInputError, match=message) as error:
        read(data)
    assert "secret" not in str(error.value)
    for odd in ("Infinity", "sNaN"):
        read({"user": [Decimal(odd), "a"], "query": ["x", "y"]}).close()
    with pytest.raises(ic.BadInputError, match="has no column"):
        read(as_columns(), user=["user"])


def test_queries_that_are_taken_for_paths_are_not_quoted():
    with pytest.raises(
        ic.BadInputError, match=r"^none of the 2 texts of data is a file: give paths"
    ) as caught:
        ic.read(["mirabel quench", "red car"])
    assert "mirabel" not in str(caught.value)
