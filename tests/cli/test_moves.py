"""--moves from the command line: whole jobs, their audits, comparisons and attacks, and every place that takes or refuses it."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

import incrowd as ic
from cli.helpers import aol_log, call, refused

PEOPLE = 40
QUERIES = ["jaguar price", "truck price", "lion park", "zorblax park", "jaguar park"]
MOVES = "# cars are meant\njaguar\tlion\njaguar\tmotor vehicle\nzorblax\tbig cat\nunheard\tcar\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Forty people who type two of five queries each, and a list of moves."""
    directory = tmp_path_factory.mktemp("moves")
    lines = [
        f"p{person},2006-03-{number + 1:02} 10:00:00,{query}"
        for person in range(PEOPLE)
        for number, query in enumerate(QUERIES)
        if (number + person) % 5 < 2
    ]
    (directory / "log.csv").write_text("\n".join(["user,time,query", *lines]) + "\n", encoding="utf-8")
    (directory / "moves.tsv").write_text(MOVES, encoding="utf-8")
    return directory


def anonymize(place, out, *options):
    wanted = ("--k", 3, "--moves", place / "moves.tsv", "--seed", 3, "--private-map", out.with_name("map"))
    return call("anonymize", place / "log.csv", "--out", out, *wanted, *options, "--json")


def parents_in(out):
    rows = pq.read_table(out / "taxonomy.parquet").to_pylist()
    return {row["label"]: row["parent"] for row in rows if row["exact"]}


@pytest.mark.parametrize("unlisted", ["name", "keep"])
@pytest.mark.parametrize("method", ["mosaic", "flock", "partition"])
def test_a_whole_job_and_its_audit(place, tmp_path, method, unlisted):
    out = tmp_path / "out"
    given = ("--method", method, "--items", "terms", "--unlisted", unlisted)
    own = () if method == "mosaic" else ("--unit", "session:30m")
    ran = anonymize(place, out, *given, *own)
    assert ran.code == 0, ran.err
    assert ran.json["items"]["moved"] == 2
    assert any(
        "taxonomy wordnet" in line and "2 of them where they were moved to" in line
        for line in ran.json["account"]
    )
    parents = parents_in(out)
    assert (parents.get("jaguar"), parents.get("zorblax")) == ("motor vehicle", "big cat")
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["parameters"]["moved"] == 2
    everything = b"".join(path.read_bytes() for path in out.iterdir())
    assert not any(text in everything for text in (b"unheard", b"moves.tsv"))
    original = ("--original", place / "log.csv", "--private-map", tmp_path / "map")
    proven = call("audit", out, *original, "--json")
    assert proven.json["confirmed"], proven.out
    assert "2 published words hang below another class than the taxonomy has them" in proven.json["checks"]


@pytest.fixture(scope="module")
def release(place, tmp_path_factory):
    out = tmp_path_factory.mktemp("released") / "out"
    ran = anonymize(place, out, "--items", "terms")
    assert ran.code == 0, ran.err
    return out


def original(place, release):
    return ("--original", place / "log.csv", "--private-map", release.with_name("map"))


def test_a_file_that_has_changed_or_gone_is_refused(place, release, tmp_path):
    noted = place / "moves.tsv"
    kept = tmp_path / "kept.tsv"
    kept.write_text(MOVES, encoding="utf-8")
    given = original(place, release)
    try:
        noted.write_text(MOVES + "park\tcar\n", encoding="utf-8")
        line = refused(call("audit", release, *given))
        assert line.startswith(
            "the moved words have changed since the release was made: give the file as it was"
        )
        assert "changed since" in refused(call("risk", place / "log.csv", "--release", release, *given[2:]))
        assert call("audit", release, *given, "--moves", kept, "--json").json["confirmed"]
        noted.unlink()
        line = refused(call("audit", release, *given))
        assert line.endswith("their file is not where it was: give it with --moves FILE")
    finally:
        noted.write_text(MOVES, encoding="utf-8")
    assert call("audit", release, *given, "--json").json["confirmed"]
    assert "needs --original" in refused(call("audit", release, "--moves", kept))


def test_a_release_made_without_moves_takes_none(place, tmp_path):
    out = tmp_path / "out"
    options = ("--k", 3, "--items", "terms", "--private-map", tmp_path / "map")
    assert call("anonymize", place / "log.csv", "--out", out, *options).code == 0
    assert "moved" not in call("show", out, "--json").json["parameters"]
    line = refused(call("audit", out, *original(place, out), "--moves", place / "moves.tsv"))
    assert line == "the release was made without moved words: drop --moves"


def test_moves_of_which_no_word_is_published_are_not_named(place, tmp_path):
    """What is private of a list stays so, also that there was one."""
    out, moves = tmp_path / "out", tmp_path / "moves.tsv"
    moves.write_text("unheard\tcar\n", encoding="utf-8")
    plain, seed = tmp_path / "plain", ("--seed", 3)
    given = ("anonymize", place / "log.csv", "--k", 3, "--items", "terms", *seed)
    made = call(*given, "--out", out, "--moves", moves, "--private-map", tmp_path / "map", "--json")
    assert (made.code, made.json["items"]["moved"]) == (0, 0)
    assert call(*given, "--out", plain).code == 0
    for path in plain.iterdir():
        assert (out / path.name).read_bytes() == path.read_bytes(), path.name
    assert call("audit", out, *original(place, out), "--json").json["confirmed"]


def test_a_dry_run_and_a_configuration(place):
    config = place / "job.toml"
    config.write_text('input = "log.csv"\nmoves = "moves.tsv"\nk = 3\n', encoding="utf-8")
    plan = call("anonymize", "--config", config, "--dry-run", "--json").json
    assert (plan["would_run"], plan["taxonomy"]["moved"]) == (True, 2)
    assert (
        "distinct items hang where they were moved to"
        in call("anonymize", "--config", config, "--dry-run").out
    )


def test_a_comparison_and_an_attack(place, release, tmp_path):
    given = ("--methods", "mosaic,flock", "--k", "3", "--items", "terms", "--moves", place / "moves.tsv")
    assert call("compare", place / "log.csv", *given, "--out", tmp_path / "compared").code == 0
    found = call("risk", place / "log.csv", "--release", release, *original(place, release)[2:], "--json")
    assert found.code == 0, found.err
    assert call("risk", place / "log.csv", "--moves", place / "moves.tsv", "--k", 3, "--json").code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--taxonomy", "balanced:5"), "taxonomy balanced:5 is made from the items of the data"),
        (("--items", "queries"), "taxonomy balanced:5 is made from the items of the data"),
        (("--method", "dp"), "method dp does not take moved words: drop --moves"),
        (("--method", "microaggregation"), "method microaggregation does not take moved words: drop --moves"),
    ],
)
def test_where_moves_have_no_place(place, tmp_path, options, said):
    assert refused(anonymize(place, tmp_path / "out", *options), tmp_path / "out").startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("jaguar\tcar\nzorblax\tvehicel\n", "line 2: wordnet has no such class: say 'vehicle'"),
        ("jaguar car\n", "line 1 has no tab: write a word, a tab and the class"),
        (
            "\n\njaguar\tcar\njohnsmith\tcar\n",
            "line 4: with --unlisted name that word is published as another",
        ),
    ],
)
def test_a_wrong_line_is_refused_before_the_log_is_read(place, tmp_path, text, said, monkeypatch):
    monkeypatch.setattr("incrowd.jobs.run.open_log", lambda *_: pytest.fail("it was read"))
    path = tmp_path / "moves.tsv"
    path.write_text(text, encoding="utf-8")
    options = ("--moves", path, "--unlisted", "name")
    line = refused(anonymize(place, tmp_path / "out", *options), tmp_path / "out")
    assert line.startswith(f"moves {path} {said}")
    assert "zorblax" not in line
    assert "johnsmith" not in line


def test_a_taxonomy_file(tmp_path):
    tree, moves = tmp_path / "tree.tsv", tmp_path / "moves.tsv"
    tree.write_text("pet\tthing\ndog\tpet\ncats\tpet\nfood\tthing\nfish\tfood\n", encoding="utf-8")
    moves.write_text("dog\tfood\nzorblax\tpet\n", encoding="utf-8")
    log, out = aol_log(tmp_path / "log.tsv"), tmp_path / "out"
    given = ("--taxonomy", tree, "--items", "terms", "--goal", "people", "--unlisted", "drop")
    made = call("anonymize", log, "--out", out, *given, "--moves", moves, "--private-map", tmp_path / "map")
    assert made.code == 0, made.err
    parents = parents_in(out)
    assert (parents["dog"], parents["zorblax"], parents["cats"]) == ("food", "pet", "pet")
    alone = call("audit", out, "--json").json
    assert "which words were moved, and how many: only the originals show it" in alone["unchecked"]
    proven = call("audit", out, "--original", log, "--private-map", tmp_path / "map", "--json").json
    assert proven["confirmed"]
    assert "which words were moved, and how many: only the originals show it" not in proven["unchecked"]


def test_where_a_moved_word_is(place):
    shown = call("taxonomy", "show", "wordnet", "--find", "jaguar", "--moves", place / "moves.tsv")
    assert "It was moved below 'motor vehicle'; the taxonomy has it below 'big cat'." in " ".join(
        shown.out.split()
    )
    shape = call("taxonomy", "show", "wordnet", "--moves", place / "moves.tsv", "--json").json
    assert shape["moved_words"] == 3
    assert "moved_words" not in call("taxonomy", "show", "wordnet", "--json").json


def test_python_takes_a_mapping_or_a_file(place, release, tmp_path):
    moves = {"jaguar": "motor vehicle", "zorblax": "big cat"}
    with ic.read_log(str(place / "log.csv"), format="csv") as log:
        made = [
            ic.anonymize(log, k=3, seed=3, items="terms", moves=given)
            for given in (moves, place / "moves.tsv", str(place / "moves.tsv"))
        ]
    for number, one in enumerate(made):
        one.write(tmp_path / str(number))
        for path in release.iterdir():
            assert (tmp_path / str(number) / path.name).read_bytes() == path.read_bytes()
    given = {"original": str(place / "log.csv"), "private_map": release.with_name("map")}
    assert ic.audit(release, **given).confirmed
    with pytest.raises(ic.BadInputError, match="moved words have changed since the release was made"):
        ic.audit(release, **given, moves=moves)
    with pytest.raises(ic.BadInputError, match="moves needs original"):
        ic.audit(release, moves=moves)
    made[0].write(tmp_path / "again", private_map=tmp_path / "map")
    given["private_map"] = tmp_path / "map"
    with pytest.raises(ic.BadInputError, match=r"made with moved words: give them with moves=FILE"):
        ic.audit(tmp_path / "again", **given)
    assert ic.audit(tmp_path / "again", **given, moves=moves).confirmed
    compared = ic.compare(str(place / "log.csv"), methods="flock", k=3, items="terms", moves=moves)
    assert len(compared.runs) == 1
    assert ic.risk(str(place / "log.csv"), k=3, moves=moves).as_dict()
