"""Lists of method dp on the written bytes: what they hold, and that nothing beside them depends on the data."""

from __future__ import annotations

import json
import re
import shutil
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import incrowd as ic
from cli.helpers import AOL_HEADER, call, only_line, problems_of
from incrowd.core import frames, memory
from incrowd.core.spending import spend
from incrowd.errors import BadInputError
from incrowd.methods.dp import method as dp_method
from incrowd.methods.dp.entries import entries_of
from incrowd.release.files.noisy_list import FORMS, ListParameters, NoisyList, Union, list_manifest, list_page
from incrowd.release.publication import is_release

SITES = ["http://wine.example", "http://rome.example"]
LISTS = {
    "items": ("--items", "terms"),
    "queries": ("--items", "queries"),
    "pairs": ("--set", "of=pairs"),
    "clicks": ("--set", "of=clicks"),
    "weeks": ("--set", "of=weeks", "--set", "since=2006-02-27", "--set", "weeks=3"),
}
NEIGHBOURS = {
    "nobody more": {},
    "one with a secret": {"zoe": ["leprosy clinic", "zorblax", "red wine", "old rome"]},
    "one with sixty queries": {"zoe": [f"only zoe{n}" for n in range(60)]},
    "one who typed a blank": {"zoe": [" "]},
    "one whose lines are broken": {
        "zoe": ["caf\udce9 \U0010ffffweek\x1f2006-W10", "a\x00b\u202e", "\t\t\t\t", "too long " * 150_000]
    },
}
OPTIONS = ("--method", "dp", "--set", "eps=4", "--set", "d=4")
WEEKS = LISTS["weeks"]


def log(path, more=()):
    people = {f"u{n}": ["red wine", "old rome", "milk"][: 1 + n % 3] for n in range(240)} | dict(more)
    lines = [
        f"{user}\t{query}\t2006-03-01 10:{minute:02}:00\t1\t{SITES[minute % 2]}\n"
        for user, queries in people.items()
        for minute, query in enumerate(queries)
    ]
    path.write_bytes((AOL_HEADER + "".join(lines)).encode("utf-8", "surrogateescape"))
    return path


def seeded(seed):
    """Return words for tests, which anybody could draw again."""
    dice = np.random.default_rng(seed)
    return lambda count: dice.integers(0, 2**64, count, dtype=np.uint64)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Releases of logs that differ by one person, of all kinds of lists, with noise that tests can draw again."""
    made = {}
    for more, people in NEIGHBOURS.items():
        where = tmp_path_factory.mktemp("runs")
        source = log(where / "log.tsv", people)
        for name, how in LISTS.items():
            (where / name).mkdir()
            words = seeded([*name.encode()])
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(dp_method, "noisy_list", partial(dp_method.noisy_list, words=words))
                ran = call("anonymize", source, "--out", where / name / "release", *OPTIONS, *how)
            assert ran.code == 0, ran.err
            made[name, more] = (where / name / "release", ran)
    return made


@pytest.mark.parametrize(
    ("name", "time", "lines"),
    [
        ("log.tsv", "2006-03-01 10:00:00", [b"zoe\t" + b"\xff\xfe" * 2_000 + b"\t2006-03-01 10:00:00"]),
        ("log.csv", "03/14/2006 10:00", [b'zoe,"open,03/14/2006 10:00'] * 2),
        ("log.csv", "03/04/2006 10:00", [b"zoe,milk,13/04/2006 10:00"]),
    ],
    ids=["bytes", "quotes", "times"],
)
def test_no_line_of_a_person_decides_for_others(tmp_path, name, time, lines):
    """Nor whether there is a release: what is refused or counted is the same with one person more."""
    between = "\t" if name.endswith(".tsv") else ","
    said = []
    for more in ([], lines):
        rows = [between.join((f"u{n}", "red wine", time)).encode() for n in range(5_000)]
        for number, line in enumerate(more):
            rows.insert(3_000 + 1_000 * number, line)
        source = tmp_path / name
        source.write_bytes(b"\n".join([between.join(("user", "query", "time")).encode(), *rows]) + b"\n")
        out = tmp_path / f"run{len(more)}" / "release"
        out.parent.mkdir()
        ran = call("anonymize", source, "--out", out, *OPTIONS)
        counts = [row["count"] for row in table_of(out).to_pylist()] if ran.code == 0 else []
        said.append((ran.code, ran.err, len(counts)))
        assert all(abs(count - 5_000) < 100 for count in counts)
    assert said[0] == said[1]


def test_in_python_no_line_decides_for_others_either(tmp_path, monkeypatch):
    monkeypatch.setattr(frames, "BATCH_ROWS", 100)  # so many rows are the first ones of a table
    times = ["03/04/2006 10:00"] * 400 + ["13/04/2006 10:00"]
    rows = pa.table({"user": [f"u{n}" for n in range(401)], "query": ["red wine"] * 401, "time": times})
    with pytest.raises(BadInputError, match="may begin with the month or with the day"):
        ic.anonymize(rows, method="dp", eps=10.0)
    path = tmp_path / "log.tsv"
    lines = [f"u{n}\tred wine\n".encode() for n in range(6_000)]
    path.write_bytes(b"user\tquery\n" + b"".join(lines) + b"zoe\t" + b"\xff" * 4_000 + b"\n")
    assert len(ic.anonymize(path, method="dp", eps=10.0).table()) == 2
    with pytest.raises(BadInputError, match="is not UTF-8"):
        ic.anonymize(path, method="flock")


def table_of(directory):
    (path,) = directory.glob("*.parquet")
    return pq.read_table(path)


@pytest.mark.parametrize("name", LISTS)
def test_every_byte_beside_the_list_is_the_same_for_neighbours(runs, name):
    seen = set()
    for more in NEIGHBOURS:
        directory, ran = runs[name, more]
        said = {path.name: path.read_bytes() for path in directory.iterdir() if path.suffix != ".parquet"}
        out = ran.out.replace(str(directory), "OUT").replace("\n", " ")
        out = re.sub(
            rf"{len(table_of(directory)):,} (items|pairs|weekly counts) published", "N published", out
        )
        seen.add((*sorted(said.items()), "".join(out.split()), ran.err))
    assert len(seen) == 1
    assert len(next(iter(seen))) == 4


@pytest.mark.parametrize("name", LISTS)
def test_the_list_has_what_many_have_and_not_what_one_has(runs, name):
    for more in NEIGHBOURS:
        text = str(table_of(runs[name, more][0]).to_pydict())
        assert "wine" in text
        assert not any(secret in text for secret in ("zoe", "zorblax", "leprosy"))


def test_counts_are_numbers_of_people_with_the_noise_that_is_said(runs):
    error = spend(d=4, eps=4.0, delta=1e-6, rounds=3, counts=0.25).error
    lists = {name: table_of(runs[name, "nobody more"][0]).to_pylist() for name in LISTS}
    counts = {row["item"]: row["count"] for row in lists["queries"]}
    for query, people in {"red wine": 240, "old rome": 160, "milk": 80}.items():
        assert abs(counts[query] - people) < 6 * error
    words = {row["item"]: row["count"] for row in lists["items"]}
    assert abs(words["wine"] - (160 + 80 * 4 / 5)) < 6 * error + 15
    pairs = {(row["item_a"], row["item_b"]): row["count"] for row in lists["pairs"]}
    expected = 80 + 80 * 4 / 6 + 80 * 4 / 10  # of one, six and ten pairs of a person at most four count
    assert abs(pairs["red", "wine"] - expected) < 6 * error + 30
    clicks = {(row["query"], row["address"]): row["count"] for row in lists["clicks"]}
    assert abs(clicks["red wine", SITES[0]] - 240) < 6 * error
    assert ("red wine", SITES[1]) not in clicks
    by_week = {(row["item"], row["week"]): row["count"] for row in lists["weeks"]}
    weeks = spend(d=4, eps=4.0, delta=1e-6, rounds=3, counts=0.25, weeks=3)
    assert {week for _, week in by_week} == {"2006-W09", "2006-W10", "2006-W11"}
    assert abs(by_week["wine", "2006-W09"] - (160 + 80 * 4 / 5)) < 6 * weeks.error + 15
    assert abs(by_week["wine", "2006-W10"]) < 6 * weeks.error


def test_the_manifest_says_what_a_reader_needs_and_counts_nothing(runs):
    said = json.loads((runs["pairs", "nobody more"][0] / "manifest.json").read_text())
    assert said["method"] == "dp"
    assert said["parameters"] == {
        "d": 4,
        "eps": 4.0,
        "delta": 1e-06,
        "unit": "user",
        "union": {"of": "pairs", "items": "terms", "rounds": 3, "counts": 0.25, "within": "session:1800"},
    }
    assert said["files"] == ["manifest.json", "pairs.parquet", "report.html"]
    assert "counts" not in said
    page = (runs["pairs", "nobody more"][0] / "report.html").read_text()
    assert "in 19 of 20 cases at most" in page
    assert "cannot be recounted" in page


@pytest.mark.parametrize("name", LISTS)
def test_the_audit_finds_nothing_wrong_and_confirms_nothing(runs, name):
    found = call("audit", runs[name, "nobody more"][0], "--json").json
    assert (found["holds"], found["confirmed"], found["problems"]) == (None, False, [])


@pytest.fixture
def copy(runs, tmp_path):
    shutil.copytree(runs["items", "one with a secret"][0], tmp_path / "release")
    return tmp_path / "release"


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        ((), "method", "korolova"),
        (("parameters",), "d", 10_001),
        (("parameters",), "eps", 0.001),
        (("parameters",), "delta", 1e-13),
        (("parameters", "union"), "rounds", 4),
        (("parameters", "union"), "counts", 0),
        (("parameters", "union"), "within", "session:1800"),
        (("parameters", "union"), "people", 240),
        (("parameters", "union"), "of", "pairs"),
    ],
)
def test_a_manifest_that_says_anything_else_is_refused(copy, where, name, value):
    said = json.loads((copy / "manifest.json").read_text())
    place = said
    for step in where:
        place = place[step]
    place[name] = value
    (copy / "manifest.json").write_text(json.dumps(said, indent=2) + "\n")
    assert "damaged" in problems_of(copy) or "is not the one" in problems_of(copy)


def test_a_list_that_claims_another_eps_is_not_the_one_of_its_page(copy):
    text = (copy / "manifest.json").read_text()
    (copy / "manifest.json").write_text(text.replace('"eps": 4.0', '"eps": 2.0'))
    assert "manifest.json is not the one" in problems_of(copy)


@pytest.mark.parametrize(
    ("items", "counts", "words"),
    [
        (["b", "a"], [5, 5], "out of order"),
        (["a", "a"], [5, 5], "twice"),
        (["a", "b"], [5, 0], "a count of 0 or less"),
        (["a", None], [5, 5], "nothing in it"),
        (["a\u200b", "b"], [5, 5], "cannot be seen"),
    ],
)
def test_a_list_in_another_form(copy, items, counts, words):
    NoisyList(FORMS["items"], (pa.array(items),), pa.array(counts, pa.int64())).write(copy / "items.parquet")
    assert words in problems_of(copy)


@pytest.mark.parametrize(
    "pairs", [[("wine", "milk")], [("milk", "milk")], [("milk", "wine"), ("wine", "milk")]]
)
def test_a_pair_has_one_order(runs, tmp_path, pairs):
    """Two orders of a pair could say what nobody published."""
    shutil.copytree(runs["pairs", "nobody more"][0], tmp_path / "release")
    columns = tuple(map(pa.array, zip(*pairs, strict=True)))
    counts = pa.array([5] * len(pairs), pa.int64())
    NoisyList(FORMS["pairs"], columns, counts).write(tmp_path / "release/pairs.parquet")
    assert "a pair whose items are out of order or the same" in problems_of(tmp_path / "release")


@pytest.mark.parametrize("rows", [slice(1, None), slice(0, 2), slice(0, 0)])
def test_a_list_by_week_has_every_week_of_every_item(runs, tmp_path, rows):
    """An item without some weeks would tell in which nobody has it."""
    shutil.copytree(runs["weeks", "nobody more"][0], tmp_path / "release")
    table = table_of(tmp_path / "release")[rows]
    columns = [column.combine_chunks() for column in table.columns]
    NoisyList(FORMS["weeks"], tuple(columns[:2]), columns[2]).write(tmp_path / "release/weeks.parquet")
    assert ("without some of the weeks" in problems_of(tmp_path / "release")) == bool(len(table))


def test_weeks_are_not_those_of_the_data(tmp_path):
    """What is before or after the weeks that were asked for does not count, and a person who is early or late moves nothing."""
    source = log(tmp_path / "log.tsv")
    text = source.read_text().replace("2006-03-01", "2006-03-09")
    late = "".join(f"late{n}\tblack milk\t2007-01-0{n % 9 + 1} 10:00:00\t\t\n" for n in range(99))
    source.write_text(text + late)
    ran = call("anonymize", source, "--out", tmp_path / "release", *OPTIONS, *WEEKS)
    assert ran.code == 0, ran.err
    counts = {(row["item"], row["week"]): row["count"] for row in table_of(tmp_path / "release").to_pylist()}
    assert ("black", "2006-W10") not in counts
    assert counts["wine", "2006-W10"] > 100 > counts["wine", "2006-W09"]


def test_a_budget_is_charged_once_for_all_weeks(tmp_path):
    source = log(tmp_path / "log.tsv")
    budget = tmp_path / "budget"
    assert call("budget", budget, "--eps", 5, "--delta", 1e-5).code == 0
    ran = call("anonymize", source, "--out", tmp_path / "r", *OPTIONS, *WEEKS, "--budget", budget, "--json")
    assert ran.code == 0, ran.err
    spending = spend(d=4, eps=4.0, delta=1e-6, rounds=3, counts=0.25, weeks=3)
    assert ran.json["budget"]["rho_spent"] == pytest.approx(spending.rho)
    assert len(ran.json["budget"]["releases"]) == 1


@pytest.mark.parametrize("name", LISTS)
def test_every_list_is_known_as_a_release(runs, tmp_path, name):
    """What is none cannot be replaced by --force, and is not in an archive."""
    shutil.copytree(runs[name, "nobody more"][0], copy := tmp_path / "copy")
    assert is_release(copy)


def test_weeks_are_for_logs(tmp_path):
    (tmp_path / "x.dat").write_text("a b\n" * 9)
    ran = call("anonymize", tmp_path / "x.dat", "--out", tmp_path / "r", *OPTIONS, *WEEKS)
    assert ran.code == 2
    assert "of=weeks is for logs with times" in only_line(ran.err)
    with pytest.raises(BadInputError, match="give the log for of=weeks"):
        ic.anonymize(ic.Transactions.from_rows([["a"]]), method="dp", of="weeks", since="2006-03-01", weeks=2)
    line = only_line(
        call(
            "compare",
            tmp_path / "x.dat",
            "--methods",
            "dp:of=weeks;since=2006-03-01;weeks=2",
            "--out",
            tmp_path / "c",
        ).err
    )
    assert "of=weeks cannot be compared" in line


def test_raw_data_beside_the_list(copy):
    (copy / "queries.parquet").write_bytes((copy / "items.parquet").read_bytes())
    assert "no part of a release" in problems_of(copy)


def test_show_and_tables_give_the_list(runs):
    shown = call("show", runs["clicks", "nobody more"][0])
    assert shown.code == 0
    assert "red wine" in shown.out
    assert SITES[0] in shown.out
    assert list(ic.tables(runs["items", "nobody more"][0])) == ["items"]
    pairs = ic.tables(runs["clicks", "nobody more"][0])["pairs"].table()
    assert pairs.column_names == ["query", "address", "noisy_count"]


def test_in_python_people_may_have_several_rows():
    rows = [["a", "b"], ["b", "c"]] * 300
    people = [f"p{n // 2}" for n in range(600)]
    data = ic.Transactions.from_rows(rows, people=people)
    release = ic.anonymize(data, method="dp", eps=10.0, d=4)
    assert release.claim.unit == "user"
    found = {row["item"]: row["count"] for row in release.table().to_pylist()}
    assert all(abs(found[item] - 300) < 60 for item in "abc")
    pairs = ic.anonymize(data, method="dp", eps=10.0, d=4, of="pairs").table().to_pylist()
    assert [(row["item_a"], row["item_b"]) for row in pairs] == [("a", "b"), ("b", "c")]


def test_what_a_person_has_does_not_depend_on_others():
    rows = [["a", "b"], ["b", "c"], ["a", "b", "c"]]
    data = ic.Transactions.from_rows(rows, people=["x", "x", "y"])
    for of, expected in {"items": [3, 3], "pairs": [2, 3]}.items():
        assert np.diff(entries_of(data, of, d=9).people.start).tolist() == expected


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (("--set", "eps=0.001"), "eps must be between 0.01 and 20"),
        (("--set", "eps=nan"), "eps must be between 0.01 and 20"),
        (("--set", "delta=0.01"), "delta must be at least 1e-12 and less than 0.01"),
        (("--set", "delta=1e-13"), "delta must be at least 1e-12"),
        (("--set", "d=0"), "d must be between 1 and 10,000 (got 0)"),
        (("--set", "rounds=4"), "rounds must be between 1 and 3 (got 4)"),
        (("--set", "counts=0"), "counts must be greater than 0"),
        (("--set", "counts=1e-9", "--set", "eps=0.01", "--set", "d=10000"), "leaves next to nothing"),
        (("--set", "of=people"), "of must be one of"),
        (("--set", "of=weeks"), "of=weeks needs since (a day of the first week"),
        (("--set", "since=2006-03-01"), "since and weeks are for of=weeks"),
        ((*WEEKS, "--set", "weeks=521"), "weeks must be between 1 and 520 (got 521)"),
        ((*WEEKS, "--set", "since=2006-3-1"), "since must be a day"),
        ((*WEEKS, "--set", "since=9999-12-30", "--set", "weeks=9"), "since must be a day"),
        ((*WEEKS, "--unit", "user"), "of=weeks counts by week: drop --unit user"),
        (
            ("--seed", "5"),
            "method dp takes no seed, for noise that can be drawn again protects nobody: drop --seed 5",
        ),
        (("--series", "S"), "--series looks for overlaps in the data"),
        (("--unit", "session:30m", "--distinct", "records"), "method dp protects people"),
        (("--attack",), "--attack would print"),
        (("--never", "x"), "does not take a list of words"),
        (("--private-map", "m"), "publishes a list"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(tmp_path, how, says):
    source = log(tmp_path / "log.tsv")
    ran = call("anonymize", source, "--out", tmp_path / "release", "--method", "dp", *how)
    assert ran.code == 2
    assert says in only_line(ran.err)
    assert not (tmp_path / "release").exists()


def test_clicks_need_a_query_log():
    data = ic.Transactions.from_rows([["a"]])
    with pytest.raises(BadInputError, match="of=clicks needs a query log"):
        ic.anonymize(data, method="dp", of="clicks")


def test_an_empty_list_is_published_too(tmp_path):
    """To refuse it would tell that nothing is common."""
    source = tmp_path / "log.tsv"
    for query in ("alone", " "):
        source.write_text(f"{AOL_HEADER}one\t{query}\t2006-03-01 10:00:00\t\t\nbroken\n")
        for name, how in LISTS.items():
            out = tmp_path / f"{name}{len(query)}"
            ran = call("anonymize", source, "--out", out, "--method", "dp", *how)
            assert ran.code == 0, ran.err
            assert len(table_of(out)) == 0
            assert "Nothing reached the threshold: it takes data of more people" in " ".join(ran.out.split())


def test_too_little_memory_is_refused_without_a_number_of_the_data(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "BASE", 10**9)
    options = ("--out", tmp_path / "release", *OPTIONS, "--memory", "640MB")
    ran = call("anonymize", log(tmp_path / "log.tsv"), *options)
    assert ran.code == 2
    line = "memory of 640MB is too little for this input with method dp: give more (--memory 16GB)"
    assert only_line(ran.err) == line


def test_the_form_is_a_function_of_the_parameters():
    union = Union(of="items", items="terms", rounds=3, counts=0.25, within=None)
    manifest = list_manifest(ListParameters(d=10, eps=1.0, delta=1e-6, unit="user", union=union))
    assert "standard deviation 27.61" in manifest.account[2]
    assert list_page(manifest) == list_page(manifest)


def test_compare_puts_it_beside_mosaic_and_korolova_at_several_eps(tmp_path):
    source = log(tmp_path / "log.tsv")
    options = ("--eps", "4, 0.02,4", "--k", 5, "--out", tmp_path / "out", "--json")
    ran = call("compare", source, "--methods", "mosaic,dp:d=3,korolova:d=3,dp:eps=2", *options)
    assert ran.code == 0, ran.err
    assert ran.json["items"]["kind"] == "queries"  # what all can list
    runs = {run["label"]: run for run in ran.json["runs"]}
    assert list(runs) == [
        "mosaic",
        "dp:d=3;eps=0.02",
        "dp:d=3;eps=4",
        "korolova:d=3;eps=0.02",
        "korolova:d=3;eps=4",
        "dp:eps=2",
    ]
    assert not any(run["error"] for run in runs.values())
    for method in ("dp", "korolova"):
        small, large = (runs[f"{method}:d=3;eps={eps}"] for eps in (0.02, 4))
        assert small["private"]
        assert small["k"] is None
        assert large["use"]["items_error"] < small["use"]["items_error"]
        assert large["use"]["items_error"] < 0.5
    page = (tmp_path / "out/compare.html").read_text()
    assert page.count('id="eps_items"') == page.count('id="eps_pairs"') == 1


@pytest.mark.parametrize("methods", ["dp,flock", "flock,dp"])
def test_compare_places_words_alike_in_whatever_order_methods_are_named(tmp_path, methods):
    """Words that WordNet lacks have the places that methods of records say they have."""
    source = log(tmp_path / "log.tsv", {f"v{n}": ["zorblaxes", "kmart"] for n in range(9)})
    ran = call("compare", source, "--methods", methods, "--k", 5, "--out", tmp_path / "out", "--json")
    assert ran.code == 0, ran.err
    assert [run["error"] for run in ran.json["runs"]] == [None, None]


@pytest.mark.parametrize(
    ("methods", "eps", "says"),
    [
        ("mosaic", "1", "--eps is for methods dp and korolova: name one, or drop it"),
        ("dp", "one", "--eps must hold numbers, as in --eps 0.5,1,3 (got 'one')"),
        ("dp", ",", "--eps must hold numbers"),
        ("dp", "0.5,50", "eps must be between 0.01 and 20"),
    ],
)
def test_eps_that_say_nothing_are_refused(tmp_path, methods, eps, says):
    source = log(tmp_path / "log.tsv")
    ran = call("compare", source, "--methods", methods, "--eps", eps, "--k", 5, "--out", tmp_path / "out")
    assert ran.code == 2
    assert says in only_line(ran.err)
