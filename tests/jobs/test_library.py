"""The verbs of the Python face choose as the command line does, and give its bytes."""

from __future__ import annotations

from itertools import chain

import msgspec
import pytest

import incrowd as ic
from cli.helpers import call
from incrowd.logs.synth.generate import write_log


def bytes_in(directory):
    """Return the bytes of every file of a directory."""
    return {file.name: file.read_bytes() for file in directory.iterdir()}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    directory = tmp_path_factory.mktemp("library")
    write_log(directory / "log.tsv", users=60, seed=2, people="all")
    rows = (" ".join(str(n % m) for m in (2, 3, 5, 7)) for n in range(80))
    (directory / "x.dat").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (directory / "tree.tsv").write_text(
        "".join(f"{n}\t{'odd' if n % 2 else 'even'}\n" for n in range(7)) + "odd\tn\neven\tn\n"
    )
    return directory


SAID = [
    ("log.tsv", {}, []),
    ("log.tsv", {"goal": "people"}, ["--goal", "people"]),
    ("log.tsv", {"goal": "queries", "k": 2}, ["--goal", "queries", "--k", "2"]),
    (
        "log.tsv",
        {"method": "partition", "publish": "bag", "items": "terms", "unit": "day"},
        ["--method", "partition", "--set", "publish=bag", "--items", "terms", "--unit", "day"],
    ),
    ("x.dat", {}, []),
    (
        "x.dat",
        {"taxonomy": "tree.tsv", "method": "flock", "sets": True},
        ["--taxonomy", "tree.tsv", "--method", "flock", "--sets"],
    ),
]


@pytest.mark.parametrize("said", SAID)
def test_one_call_gives_the_bytes_of_the_command_line(said, place, tmp_path, monkeypatch):
    name, arguments, flags = said
    monkeypatch.chdir(place)
    assert call("anonymize", name, "--out", tmp_path / "command", "--seed", 7, *flags).code == 0
    ic.anonymize(name, seed=7, **arguments).write(tmp_path / "python")
    assert bytes_in(tmp_path / "python") == bytes_in(tmp_path / "command")


def test_a_log_stays_open_and_one_that_was_read_for_the_call_does_not(place):
    with ic.read(place / "log.tsv") as log:
        first, second = (ic.anonymize(log, seed=1).table() for _ in range(2))
        assert first == second
        assert not log.store.closed


def test_columns_may_be_named_in_the_call(tmp_path):
    usual = {"user": [str(n) for n in range(60)], "query": ["red car", "bus"] * 30}
    other = {"who": usual["user"], "text": ["-"] * 60, "typed": usual["query"]}
    made = [ic.anonymize(usual, seed=1), ic.anonymize(other, seed=1, user="who", query="typed")]
    for number, release in enumerate(made):
        release.write(tmp_path / str(number))
    assert bytes_in(tmp_path / "0") == bytes_in(tmp_path / "1")
    for data in (ic.read(usual), ic.read(usual).transactions()):
        with pytest.raises(ic.BadInputError, match="these data were read already: drop user"):
            ic.anonymize(data, user="who")


def test_an_error_says_what_was_rejected():
    data = {"user": ["a", "b", ""], "query": ["x"] * 3, "time": ["yesterday", "today", 5]}
    with pytest.raises(
        ic.BadInputError,
        match=r"could be read as table.*3 lines were rejected, 2 of them: unparsable time\)$",
    ):
        ic.anonymize(data, k=2)


@pytest.mark.parametrize("k", [None, 5])
def test_k_is_five_unless_it_is_given(place, k):
    assert ic.anonymize(place / "x.dat", k=k).claim.k == 5


def test_a_taxonomy_is_a_tree_a_name_or_a_file(place):
    file = place / "tree.tsv"
    made = [
        ic.anonymize(place / "x.dat", taxonomy, goal="people").table()
        for taxonomy in (file, str(file), ic.read_taxonomy(file))
    ]
    assert made[0] == made[1] == made[2]
    by_name = ic.anonymize(place / "x.dat", taxonomy="balanced:3", goal="people")
    assert by_name.taxonomy.name == "balanced:3"


def test_transactions_know_which_taxonomy_suits_them(place):
    names = {}
    for items in ("terms", "queries"):
        with ic.read(place / "log.tsv") as log:
            names[items] = ic.anonymize(log.transactions(items=items), k=2).taxonomy.name
    names["raw"] = ic.anonymize(ic.read(place / "x.dat").transactions()).taxonomy.name
    names["rows"] = ic.anonymize(ic.Transactions.from_rows([["a"], ["b"]] * 50)).taxonomy.name
    assert names == {"terms": "wordnet", "queries": "balanced:5", "raw": "balanced:5", "rows": "balanced:5"}


def test_transactions_of_a_release_are_no_file(place):
    release = ic.anonymize(ic.read(place / "x.dat").transactions())
    assert "items" not in release.parameters


def test_concepts_are_looked_for_in_the_callers_tree(tmp_path):
    (tmp_path / "t.tsv").write_text("cars\ttravel\nhotels\ttravel\nnew york\ttravel\n", encoding="utf-8")
    data = {"user": [f"u{n}" for n in range(20)], "query": ["cars", "hotels"] * 10}
    release = ic.anonymize(data, ic.read_taxonomy(tmp_path / "t.tsv"), k=2, goal="people", items="concepts")
    assert set(chain(*release.table().to_pydict()["items"])) <= {"cars", "hotels", "travel"}


@pytest.mark.parametrize("form", ["path", "log", "transactions"])
def test_a_comparison_has_the_numbers_of_the_command_line(form, place, tmp_path):
    data = place / "x.dat"
    if form != "path":
        data = ic.read(data)
    made = ic.compare(
        data if form != "transactions" else data.transactions(),
        methods=["flock", "partition:publish=bag"],
        k=[2, 5],
    )
    made.write(tmp_path / "python")
    ran = call(
        "compare",
        place / "x.dat",
        "--methods",
        "flock,partition:publish=bag",
        "--k",
        "2,5",
        "--out",
        tmp_path / "command",
    )
    assert ran.code == 0
    timed = {"seconds": None, "peak_mb": None}
    theirs = msgspec.json.decode((tmp_path / "command/compare.json").read_bytes())["runs"]
    ours = msgspec.json.decode((tmp_path / "python/compare.json").read_bytes())["runs"]
    assert [run | timed for run in ours] == [run | timed for run in theirs]
    assert (tmp_path / "python/compare.html").stat().st_size > 10_000


def test_a_comparison_shows_itself_as_a_table(place, tmp_path):
    made = ic.compare(place / "x.dat", methods="flock,mosaic", k=5)
    lines = repr(made).splitlines()
    assert sum("flock" in line and "holds" in line for line in lines) == 1
    assert all(len(line) <= 100 for line in lines if "holds" in line)
    assert made.table().column("method").to_pylist() == ["flock", "mosaic"]
    assert made._repr_html_().count("<tr>") == 3
    made.write(tmp_path / "page")
    with pytest.raises(ic.BadInputError, match="use force=True to replace it"):
        made.write(tmp_path / "page")
    made.write(tmp_path / "page", force=True)


def test_nothing_is_written_by_a_call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ic.anonymize(
        {"user": ["a", "b", "", *map(str, range(40))], "query": ["x y", "x y", "z", *["x y"] * 40]},
        k=2,
        goal="people",
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("goal", ["words", "people"])
def test_a_release_is_audited_against_its_originals(place, tmp_path, goal):
    release = ic.anonymize(place / "log.tsv", k=3, goal=goal)
    release.write(tmp_path / "out")
    alone = ic.audit(tmp_path / "out")
    found = ic.audit(tmp_path / "out", originals=release.originals, measure=release.figured)
    assert alone.holds
    assert found.holds
    assert found.confirmed
    assert len(found.checks) > len(alone.checks)
    other = ic.anonymize(place / "log.tsv", k=3, goal="people" if goal == "words" else "words").originals
    with pytest.raises(ic.BadInputError, match="originals are of another kind of release"):
        ic.audit(tmp_path / "out", originals=other)


def test_the_audit_of_tiles_does_look_at_the_originals(place, tmp_path):
    release = ic.anonymize(place / "log.tsv", k=3)
    release.write(tmp_path / "out")
    originals = release.originals
    false = originals._replace(
        transactions=originals.transactions.as_sets(), held=originals.held[::-1].copy()
    )
    assert ic.audit(tmp_path / "out", originals=false).problems
    assert "nothing measures them" in ic.audit(tmp_path / "out", originals=originals).unchecked[0]


def test_a_list_is_of_no_one(place, tmp_path):
    data = {"user": [str(n) for n in range(400)], "query": ["weather"] * 400}
    release = ic.anonymize(data, method="korolova", eps=2.0)
    release.write(tmp_path / "out")
    assert ic.audit(tmp_path / "out").holds is None
    with pytest.raises(ic.BadInputError, match="another kind"):
        ic.audit(tmp_path / "out", originals=ic.anonymize(place / "x.dat").originals)
    html = release._repr_html_()
    assert "weather" in html
    # Exact numbers are not promised: what is shown is what is published, a query and its noisy count.
    published = str(release.table().column("count")[0].as_py())
    assert "400" not in (html + repr(release)).replace(published, "")


@pytest.mark.parametrize("goal", ["words", "people", None])
@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_releases_are_frames(place, goal, name):
    library = pytest.importorskip(name, reason=f"{name} is not installed")
    data = {"user": [str(n) for n in range(400)], "query": ["weather"] * 400}
    release = (
        ic.anonymize(place / "x.dat", goal=goal) if goal else ic.anonymize(data, method="korolova", eps=2.0)
    )
    frame = getattr(release, f"to_{name}")()
    assert isinstance(frame, library.DataFrame)
    assert len(frame) == release.table().num_rows > 0
    assert list(frame.columns) == release.table().column_names
