"""The risk lab attacked: data of nearly nobody, forged folders, limits that mean nothing, runs that are interrupted."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import incrowd as ic
from cli.helpers import call, refused
from incrowd.errors import BadInputError
from incrowd.jobs.attacks import attack_published
from incrowd.jobs.risk import attack_release
from incrowd.jobs.risk_options import RiskOptions
from incrowd.jobs.spec import IN_MEMORY
from incrowd.release.private_map import records_digest

HOW = ("--items", "terms", "--taxonomy", "balanced:3", "--k", 3)


def log_of(path, queries):
    lines = [f"{name},{query}" for name, query in queries]
    path.write_text("\n".join(["user,query", *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A log of thirty people, and releases of it: of tiles, and of records."""
    place = tmp_path_factory.mktemp("attacked")
    log = log_of(
        place / "log.csv", [(f"p{i}", f"word{i % 7} other{i % 5} third{i % 3} own{i}") for i in range(30)]
    )
    for method in ("mosaic", "flock"):
        ran = call(
            "anonymize", log, "--out", place / method, "--method", method, "--private-map", place / f"{method}.map", *HOW
        )  # fmt: skip
        assert ran.code == 0, ran.err
    return place


def test_one_person_is_singled_out_and_needs_no_k_people(tmp_path):
    log = log_of(tmp_path / "one.csv", [("p", "apple pear plum")])
    ran = call("risk", log, "--items", "terms", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["before"]["singling_out"]["unicity"]["1"] == 1
    assert ran.json["before"]["lights"]["singling_out"] == "red"
    assert "one.csv: 1 person, the data as they are" in call("risk", log, "--items", "terms").out


def test_people_who_are_all_equal_are_not_singled_out_and_what_cannot_be_told_is_not_green(tmp_path):
    log = log_of(tmp_path / "equal.csv", [(f"p{i}", "apple pear plum cherry") for i in range(20)])
    ran = call("risk", log, "--items", "terms", "--json")
    assert ran.json["before"]["singling_out"]["risk"] == 0
    assert ran.json["before"]["inference"]["risk"] is None
    assert ran.json["before"]["lights"]["inference"] is None
    refusal = call(
        "anonymize", log, "--out", tmp_path / "out", "--method", "flock", "--max-risk", "inference=1", *HOW
    )
    assert refusal.code == 1
    assert "inference could not be measured" in refusal.err
    assert not (tmp_path / "out").exists()


def test_a_control_group_that_cannot_be_made_is_said_on_terminal_page_and_json(place, tmp_path):
    """mosaic needs 10 k people: without the control group there are fewer."""
    asked = ("risk", place / "log.csv", "--release", place / "mosaic", "--private-map", place / "mosaic.map")
    ran = call(*asked, "--out", tmp_path / "risk.html")
    assert ran.code == 0, ran.err
    assert "Not run (after): the control group: no release could be made" in " ".join(ran.out.split())
    assert "the control group (after): no release could be made" in (tmp_path / "risk.html").read_text()


def test_a_map_in_the_folder_of_a_release_names_everybody(place, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(place / "flock", copy)
    asked = ("risk", place / "log.csv", "--release", copy, "--private-map", place / "flock.map", "--json")
    clean = call(*asked).json["after"]
    assert (clean["singling_out"]["named"], clean["singling_out"]["named_tries"]) == (0, 30)
    (copy / "more").mkdir()
    shutil.copy(place / "flock.map", copy / "more" / "notes.txt")
    found = call(*asked).json["after"]
    assert found["singling_out"]["named"] == found["singling_out"]["risk"] == 1
    assert found["lights"]["singling_out"] == "red"


def forged(place, tmp_path, method, bags):
    """A release of a method whose files say that each owner has some items, with a map that is right; return how to ask for it."""
    copy = tmp_path / "forged"
    shutil.copytree(place / method, copy)
    file = copy / ("tiles.parquet" if method == "mosaic" else "records.parquet")
    schema = pq.read_schema(file)
    columns = {"items": [bag for bag, _ in bags], "exact": [[True] * len(bag) for bag, _ in bags]}
    columns |= {"counts": [[1] * len(bag) for bag, _ in bags], "people": [1] * len(bags), "units": [1] * len(bags)}  # fmt: skip
    columns["order"] = [[] for _ in bags]
    pq.write_table(pa.table({name: columns[name] for name in schema.names}, schema=schema), file)
    old = pq.read_schema(place / f"{method}.map")
    notes = {**old.metadata, b"records": records_digest(copy).encode()}
    lines = [[owner for _, owner in bags], [*range(len(bags))]]
    pq.write_table(pa.table(lines, schema=old.with_metadata(notes)), tmp_path / "forged.map")
    return "--release", copy, "--private-map", tmp_path / "forged.map", "--draws", 30, "--json"


@pytest.mark.parametrize("method", ["mosaic", "flock"])
def test_a_copy_is_fully_broken_and_nothing_is_harmless(place, tmp_path, method):
    with ic.read_log(place / "log.csv") as log:
        rows = log.transactions(unit="user", items="terms")
    bags = sorted((sorted(rows.row(i)), rows.owners[i].as_py()) for i in range(len(rows)))
    ran = call("risk", place / "log.csv", *forged(place, tmp_path, method, bags))
    assert ran.code == 0, ran.err
    before, after = ran.json["before"], ran.json["after"]
    singled = after["singling_out"]
    assert singled["at_risk"] == singled["marketer"] == singled["prosecutor_highest"] == 1
    for name in ("unicity", "unicity_rarest", "reidentified"):
        assert singled[name]["4"] == before["singling_out"][name]["4"] == 1
    assert after["inference"]["one_more_item"]["3"] == before["inference"]["one_more_item"]["3"] > 0.9
    assert after["lights"]["singling_out"] == after["lights"]["inference"] == "red"
    shutil.rmtree(tmp_path / "forged")
    ran = call("risk", place / "log.csv", *forged(place, tmp_path, method, []))
    assert ran.code == 0, ran.err
    after = ran.json["after"]
    for group in ("singling_out", "linkability", "inference", "minimality"):
        for name, value in after[group].items():
            if not name.endswith(("_interval", "_tries", "_control")):
                assert not any(value.values() if isinstance(value, dict) else [value]), name
    assert "red" not in after["lights"].values()
    assert "amber" not in after["lights"].values()


def test_another_k_changes_who_counts_as_singled_out_and_not_the_control(place, monkeypatch):
    """The control group is attacked with a release like the one at hand, whatever k is asked for."""
    ks = []

    def attack(subject, published, made, plan):
        ks.append((made.k, plan.setting.k))
        return attack_published(subject, published, made, plan)

    monkeypatch.setattr("incrowd.jobs.risk.attack_published", attack)
    asked = ("--release", place / "flock", "--private-map", place / "flock.map", "--json")
    own, larger = (call("risk", place / "log.csv", *asked, "--k", k).json for k in (3, 9))
    assert ks == [(3, 3), (3, 9)]
    assert (own["k"], larger["k"]) == (3, 9)
    assert own["after"]["singling_out"]["at_risk"] == 0 < larger["after"]["singling_out"]["at_risk"]


def test_kernels_are_loaded_before_a_release_that_was_made_here_is_attacked():
    data = ic.Transactions.from_rows([["a", "b"], ["a", "c"]] * 6)
    release = ic.anonymize(data, "balanced:2", method="flock", k=3)
    steps = []
    listener = SimpleNamespace(step=steps.append, reading=lambda *_: None)
    attack_release(release, RiskOptions(IN_MEMORY, most=3), listener)
    assert steps[-1] == "attack"
    assert steps[-2] in {"load", "compile"}


@pytest.mark.parametrize("method", ["mosaic", "flock"])
def test_owners_that_were_exchanged_and_other_people_of_the_same_names_are_refused(place, tmp_path, method):
    """Attacks would find nothing, and that would look harmless."""
    table = pq.read_table(place / f"{method}.map")
    names = table["owner"].to_pylist()
    exchanged = table.set_column(0, table.schema.field(0), [names[7:] + names[:7]])
    pq.write_table(exchanged, tmp_path / "exchanged.map")
    asked = ("--release", place / method, "--private-map")
    said = refused(call("risk", place / "log.csv", *asked, tmp_path / "exchanged.map"))
    assert "labels that are not of their items" in said
    assert "word" not in said
    others = [(f"p{i}", f"word{(i + 3) % 7} other{(i + 1) % 5} third{i % 3} own{29 - i}") for i in range(30)]
    said = refused(call("risk", log_of(tmp_path / "other.csv", others), *asked, place / f"{method}.map"))
    assert "not of their items" in said
    strangers = [(f"p{i}", f"strange{i % 4} foreign{i % 9}") for i in range(30)]
    said = refused(call("risk", log_of(tmp_path / "far.csv", strangers), *asked, place / f"{method}.map"))
    assert "originals do not have" in said or "not of their items" in said


def test_a_map_with_rows_that_the_release_does_not_have_is_refused(place, tmp_path):
    table = pq.read_table(place / "mosaic.map")
    rows = [row + 10_000 for row in table["row"].to_pylist()]
    pq.write_table(table.set_column(1, table.schema.field(1), [rows]), tmp_path / "far.map")
    asked = ("--release", place / "mosaic", "--private-map", tmp_path / "far.map")
    assert "rows that this one does not have" in refused(call("risk", place / "log.csv", *asked))


@pytest.mark.parametrize("method", ["mosaic", "flock"])
def test_a_map_that_leaves_out_rows_is_refused(place, tmp_path, method):
    """Whose rows are not said would not be attacked, however much these tell."""
    table = pq.read_table(place / f"{method}.map")
    part = table.filter(pc.not_equal(table["row"], table["row"][0]))
    pq.write_table(part, tmp_path / "part.map")
    asked = ("--release", place / method, "--private-map", tmp_path / "part.map")
    assert "does not say whose 1 of the" in refused(call("risk", place / "log.csv", *asked))


@pytest.mark.parametrize("column", ["owner", "row"])
def test_a_map_of_records_names_each_owner_and_each_record_once(place, tmp_path, column):
    table = pq.read_table(place / "flock.map")
    again = table.slice(0, 1)
    if column == "owner":  # the rows are all there, and one of them is said to be of somebody else's owner
        again = again.set_column(1, table.schema.field(1), [[table["row"][1].as_py()]])
        table = pa.concat_tables([table.slice(0, 1), again, table.slice(2)])
    else:
        again = again.set_column(0, table.schema.field(0), [["p_more"]])
        table = pa.concat_tables([table, again])
    pq.write_table(table, tmp_path / "twice.map")
    asked = ("--release", place / "flock", "--private-map", tmp_path / "twice.map")
    assert "names an owner or a record twice" in refused(call("risk", place / "log.csv", *asked))


@pytest.mark.parametrize(
    "text", ["", ",", "singling_out=0.1,", "singling_out=0.1,singling_out=0.9", "inference=nan"]
)
def test_limits_that_mean_nothing_are_refused(place, tmp_path, text):
    said = refused(call("anonymize", place / "log.csv", "--out", tmp_path / "out", "--max-risk", text, *HOW))
    assert "max" in said
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_interrupted_during_attacks_leaves_nothing(place, tmp_path, monkeypatch):
    def interrupt(*_):
        assert list(tmp_path.iterdir()), "the draft is there"
        raise KeyboardInterrupt

    monkeypatch.setattr("incrowd.jobs.run.attack_draft", interrupt)
    asked = ("--out", tmp_path / "out", "--attack", "--certificate", "--private-map", tmp_path / "map")
    ran = call("anonymize", place / "log.csv", "--method", "flock", *asked, *HOW)
    assert ran.code != 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", [{"draws": 0}, {"seed": -1}, {"population": 0}, {"private_map": "x.map"}])
def test_python_refuses_what_the_command_line_does(place, given):
    with pytest.raises(BadInputError):
        ic.risk(place / "log.csv", items="terms", **given)


def test_a_release_that_was_made_here_holds_its_data(place):
    data = ic.Transactions.from_rows([["a", "b"]] * 6)
    release = ic.anonymize(data, "balanced:2", method="flock", k=3)
    with pytest.raises(BadInputError, match="drop private_map"):
        ic.risk(release, private_map=place / "flock.map")
    with pytest.raises(BadInputError, match="draws must be at least 1"):
        ic.risk(release, draws=0)
