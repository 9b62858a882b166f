from __future__ import annotations

import csv
import json
import random
import re

import pytest

from cli.helpers import aol_log, call, only_line, refused, visible
from incrowd.core.rounding import four_digits
from incrowd.errors import BadInputError, ClaimError
from incrowd.jobs import compare as comparison
from incrowd.jobs.settings import parse_ks, parse_methods
from incrowd.release.model import Release

FILES = {"compare.json", "compare.csv", "compare.html"}
METHODS = "partition:publish=set,partition:publish=bag"
SECRET = "zyxwvsecret"
LOSSES = ("ncp", "ggd_norm", "ic_norm", "kept_exactly", "blm", "avg_length", "avg_level")
COUNTS = ("groups", "k_min", "withheld", "seconds", "peak_mb")


@pytest.fixture(scope="module")
def baskets(tmp_path_factory):
    """Nine baskets with repeats; one of them holds what nobody else has."""
    path = tmp_path_factory.mktemp("in") / "baskets.dat"
    path.write_text("milk bread\n" * 4 + "milk beer beer\n" * 4 + f"bread {SECRET}\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def compared(baskets, tmp_path_factory):
    """A comparison in which k = 50 is impossible."""
    out = tmp_path_factory.mktemp("out") / "compared"
    ran = call("compare", baskets, "--methods", METHODS, "--k", "2,3,50", "--out", out, "--json")
    assert ran.code == 0, ran.err
    return out, ran.json


def compare(baskets, out, *more, methods="partition", ks="2,3"):
    return call("compare", baskets, "--methods", methods, "--k", ks, "--out", out, *more)


def test_every_method_runs_with_every_k_and_says_why_it_cannot(compared):
    _, said = compared
    assert [(run["parameters"]["publish"], run["k"]) for run in said["runs"]] == [
        ("set", 2), ("set", 3), ("set", 50), ("bag", 2), ("bag", 3), ("bag", 50),
    ]  # fmt: skip
    for run in said["runs"]:
        if run["k"] == 50:
            assert run["holds"] is run["promise"] is run["ggd_norm"] is run["bound"] is None
            assert run["error"] == "k must be at most 9, the number of records that hold anything (got 50)"
        else:
            assert run["holds"] is True
            assert run["error"] is None
            assert (
                run["promise"] == f"Every published record is shared by at least {run['k']} original records."
            )
            assert all(run[name] is not None for name in (*LOSSES, *COUNTS))
            assert run["k_min"] >= run["k"]
            assert run["bound"]["ggd_norm"] <= run["ggd_norm"]
            assert run["seconds"] > 0


def test_a_run_says_what_anonymize_says(compared, baskets, tmp_path):
    for run in compared[1]["runs"]:
        if run["k"] == 50:
            continue
        publish = f"publish={run['parameters']['publish']}"
        alone = call(
            "anonymize",
            baskets,
            "--k",
            run["k"],
            "--method",
            "partition",
            "--set",
            publish,
            "--out",
            tmp_path / "one",
            "--json",
            "--force",
        ).json
        assert {name: run[name] for name in LOSSES} == {
            name: four_digits(alone["loss"][name]) for name in LOSSES
        }
        assert run["bound"]["ggd_norm"] == four_digits(alone["bound"]["ggd_norm"])
        assert [run[name] for name in COUNTS[:3]] == [alone[name] for name in COUNTS[:3]]


def test_measures_of_use_are_those_of_anonymize(compared, baskets, tmp_path):
    run = next(run for run in compared[1]["runs"] if run["k"] == 3)
    options = ("--k", 3, "--method", "partition", "--set", f"publish={run['parameters']['publish']}")
    alone = call("anonymize", baskets, *options, "--out", tmp_path / "one", "--json").json["use"]
    assert run["use"] == {name: value and four_digits(value) for name, value in alone.items()}


def test_bags_lose_less_than_sets_by_ggd(compared):
    by_run = {(run["parameters"]["publish"], run["k"]): run for run in compared[1]["runs"]}
    assert by_run["bag", 3]["ggd_norm"] < by_run["set", 3]["ggd_norm"]


def test_the_files_say_what_the_screen_says(compared):
    out, said = compared
    assert visible(out) == FILES
    written = json.loads((out / "compare.json").read_text(encoding="utf-8"))
    assert written["runs"] == said["runs"]
    rows = list(csv.DictReader((out / "compare.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["label"] for row in rows] == [run["label"] for run in said["runs"]]
    assert [row["parameters"] for row in rows] == [f"publish={p}" for p in ("set",) * 3 + ("bag",) * 3]
    assert [row["ggd_norm"] and float(row["ggd_norm"]) for row in rows] == [
        "" if run["ggd_norm"] is None else run["ggd_norm"] for run in said["runs"]
    ]
    assert [row["bound"] and float(row["bound"]) for row in rows] == [
        "" if run["bound"] is None else run["bound"]["ggd_norm"] for run in said["runs"]
    ]


def test_the_table_shows_runs_and_reasons(baskets, tmp_path):
    ran = compare(baskets, tmp_path / "compared", methods=METHODS, ks="3,50")
    assert ran.code == 0
    assert ran.err == ""
    lines = ran.out.splitlines()
    (line,) = (line for line in lines if line.split()[:2] == ["partition:publish=bag", "3"])
    assert line.split()[2] == "holds"
    assert "%" in line
    (line,) = (line for line in lines if line.split()[:2] == ["partition:publish=bag", "50"])
    assert line.split()[2:] == ["failed"]
    assert "partition:publish=bag with k = 50: k must be at most 9" in ran.out
    assert "Different promises" not in ran.out


@pytest.fixture(scope="module")
def with_tiles(tmp_path_factory):
    """Tiles and records of eighty baskets, and what the screen says."""
    directory = tmp_path_factory.mktemp("tiles")
    dice, goods = random.Random(2), ["milk", "bread", "beer", "butter", "eggs", "soap", "tea", "rice"]
    lines = [" ".join(dice.sample(goods, dice.randint(1, 4))) for _ in range(80)] + [f"bread {SECRET}"]
    (directory / "shop.dat").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ran = compare(directory / "shop.dat", directory / "out", methods="flock,mosaic,suppress", ks="3,5")
    assert ran.code == 0, ran.err
    return directory / "out", ran.out


def test_tiles_are_compared_too(with_tiles):
    out, _ = with_tiles
    said = json.loads((out / "compare.json").read_text(encoding="utf-8"))
    assert said["data"] == "shop.dat"
    tiles = [run for run in said["runs"] if run["method"] == "mosaic"]
    assert [(run["k"], run["kind"], run["holds"]) for run in tiles] == [
        (3, "k-anonymous tiles", True),
        (5, "k-anonymous tiles", True),
    ]
    for run in tiles:
        assert all(run[name] is None for name in (*LOSSES, "bound", "recall", "sdist", "linkage"))
        assert all(run[name] is not None for name in (*COUNTS, "people_min"))
        assert run["use"]["kept_exactly"] > 0.9
        assert run["people_min"] >= run["k"]
    rows = list(csv.DictReader((out / "compare.csv").read_text(encoding="utf-8").splitlines()))
    (row,) = (row for row in rows if (row["label"], row["k"]) == ("mosaic", "5"))
    assert float(row["use_items_error"]) == tiles[1]["use"]["items_error"]
    assert (row["ggd_norm"], row["use_trend_error"]) == ("", "")
    assert "use" not in row


def test_the_screen_and_the_page_decide(with_tiles):
    out, screen = with_tiles
    page = (out / "compare.html").read_text(encoding="utf-8")
    (best,) = re.findall(r"Best at k = 3: .*? whole people\.", " ".join(screen.split()))
    assert best.startswith("Best at k = 3: mosaic for counts of items")
    assert "; flock for " in best
    assert "suppress" not in best
    assert best in page
    (line,) = (line for line in screen.splitlines() if line.split()[:2] == ["mosaic", "5"])
    assert line.split()[2] == "holds"
    assert SECRET not in page


def test_different_promises_stand_apart(baskets, tmp_path):
    ran = compare(baskets, tmp_path / "compared", methods="suppress,partition")
    assert ran.code == 0, ran.err
    assert "Different promises: do not rank" in ran.out
    assert ran.out.index("k-anonymity") < ran.out.index("Nothing is promised") < ran.out.index("suppress")
    page = (tmp_path / "compared" / "compare.html").read_text(encoding="utf-8")
    assert "must not be ranked against each other" in page


def test_a_run_that_publishes_nothing_is_a_failed_one(baskets, tmp_path):
    ran = compare(baskets, tmp_path / "compared", "--json", methods="suppress", ks="2,9")
    assert ran.code == 0, ran.err
    assert [run["holds"] for run in ran.json["runs"]] == [
        None,
        None,
    ]  # nothing is promised, and nothing is there
    assert [run["error"] is None for run in ran.json["runs"]] == [True, False]
    assert "leaves nothing to publish" in ran.json["runs"][1]["error"]


def test_no_secret_is_in_the_directory(compared):
    out, said = compared
    assert said["input"]["items"] == 4  # the secret was read
    for path in out.iterdir():
        assert SECRET.encode() not in path.read_bytes().lower()


def test_lines_that_cannot_be_read_are_listed_beside_the_directory(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("user,query\n" + "1,milk\n2,milk\n" * 2 + f"{SECRET}\n", encoding="utf-8")
    ran = compare(log, tmp_path / "compared", "--items", "queries", ks="2")
    assert ran.code == 0, ran.err
    assert f"Rejected lines: {tmp_path / 'rejects.jsonl'}" in ran.out
    (reject,) = map(json.loads, (tmp_path / "rejects.jsonl").read_text().splitlines())
    assert reject["line"] == 6
    assert SECRET not in ran.out


def test_if_nothing_can_run_nothing_is_written(baskets, tmp_path):
    line = refused(compare(baskets, tmp_path / "compared", "--json", ks="50,60"), tmp_path / "compared")
    assert "k must be at most 9" in line


def test_if_every_run_fails_the_first_reason_is_told(baskets, tmp_path, monkeypatch):
    def impossible(*_args, **_options):
        raise MemoryError

    monkeypatch.setattr(comparison, "anonymized", impossible)
    line = refused(compare(baskets, tmp_path / "compared"), tmp_path / "compared")
    assert (
        line == "no method could run; partition with k = 2: not enough memory for this method on this input"
    )


def test_a_promise_that_does_not_hold_is_shown_and_is_exit_code_1(baskets, tmp_path, monkeypatch):
    write = Release.write

    def lie(release, path, **options):
        if release.claim.k == 3:
            raise ClaimError("the audit does not confirm the release")
        return write(release, path, **options)

    monkeypatch.setattr(Release, "write", lie)
    ran = compare(baskets, tmp_path / "compared", "--json")
    assert ran.code == 1
    assert [run["holds"] for run in ran.json["runs"]] == [True, False]
    assert ran.json["runs"][1]["error"] == "the audit does not confirm the release"


@pytest.mark.parametrize(
    ("methods", "ks", "words"),
    [
        ("partitoin", "2", "did you mean 'partition'?"),
        ("partition:publihs=bag", "2", "did you mean 'publish'?"),
        ("partition:publish=bga", "2", "publish must be one of"),
        ("partition:publish", "2", "NAME=VALUE"),
        (",", "2", "--methods must name a method"),
        ("partition", "2,five", "k must be an integer (got 'five')"),
        ("partition", "1,2", "k must be at least 2 (got 1)"),
        ("partition", ",", "--k must hold a number"),
    ],
)
def test_bad_lists_are_one_line(baskets, tmp_path, methods, ks, words):
    assert words in refused(compare(baskets, tmp_path / "out", methods=methods, ks=ks), tmp_path / "out")


@pytest.mark.parametrize(
    "option", [("--unit", "house"), ("--unlisted", "burn"), ("--taxonomy", "balanced:x")]
)
def test_bad_options_are_one_line(baskets, tmp_path, option):
    refused(compare(baskets, tmp_path / "out", *option), tmp_path / "out")


def test_a_directory_is_replaced_only_by_force_and_only_if_it_is_a_comparison(baskets, tmp_path):
    out = tmp_path / "compared"
    assert compare(baskets, out).code == 0
    assert "exists" in only_line(compare(baskets, out).err)
    assert compare(baskets, out, "--force", ks="4").code == 0
    assert [run["k"] for run in json.loads((out / "compare.json").read_bytes())["runs"]] == [4]
    (out / "mine.txt").write_text("keep", encoding="utf-8")
    assert "was not written by incrowd" in only_line(compare(baskets, out, "--force").err)
    assert visible(out) == FILES | {"mine.txt"}


def test_a_release_is_not_replaced(baskets, tmp_path):
    assert call("anonymize", "--method=flock", baskets, "--k", 2, "--out", tmp_path / "release").code == 0
    assert "was not written by" in only_line(compare(baskets, tmp_path / "release", "--force").err)


def test_a_file_of_the_same_name_is_not_replaced(baskets, tmp_path):
    out = tmp_path / "mine"
    out.mkdir()
    (out / "compare.json").write_text('{"format": "mine"}', encoding="utf-8")
    assert "was not written by" in only_line(compare(baskets, out, "--force").err)
    assert visible(out) == {"compare.json"}


def test_nothing_else_is_left(baskets, tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    assert compare(baskets, tmp_path / "compared").code == 0
    assert visible(tmp_path) == {"compared", "scratch"}
    assert visible(scratch) == set()


def test_methods_are_read_with_their_parameters():
    settings = parse_methods(" partition , partition:publish=bag;, partition:publish=bag")
    assert [(s.label, s.method.name, s.parameters) for s in settings] == [
        ("partition", "partition", {"publish": "set"}),
        ("partition:publish=bag", "partition", {"publish": "bag"}),
    ]
    assert parse_ks("10, 2,5,2", settings) == [2, 5, 10]
    with pytest.raises(BadInputError, match="k must hold a number"):
        parse_ks(None, settings)
    assert parse_ks(None, parse_methods("korolova,korolova:eps=2")) == []


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Forty users of whom all ask for one thing."""
    users = {user: ["dog food", "dog food", "cats" if user % 2 else "horse riding"] for user in range(40)}
    return aol_log(tmp_path_factory.mktemp("in") / "log.tsv", users)


def test_methods_of_different_items_ask_which(log, tmp_path):
    line = refused(compare(log, tmp_path / "out", methods="flock,korolova,partition,erola"), tmp_path / "out")
    assert "methods korolova, erola need --items concepts" in line
    assert "flock, partition would take nouns" in line
    line = refused(
        compare(log, tmp_path / "out", "--items", "nouns", methods="flock,erola"), tmp_path / "out"
    )
    assert "method erola needs concepts: drop --items nouns" in line


def test_baskets_are_refused_for_methods_that_need_queries(baskets, tmp_path):
    line = refused(compare(baskets, tmp_path / "out", methods="flock,erola,korolova"), tmp_path / "out")
    assert "methods erola, korolova need a query log, and baskets.dat holds baskets" in line


def test_a_method_has_the_same_input_alone_and_among_others(log, tmp_path):
    among = compare(
        log, tmp_path / "a", "--items", "concepts", "--json", methods="flock,korolova:eps=20;delta=0.009"
    ).json
    alone = compare(log, tmp_path / "b", "--items", "concepts", "--json", methods="flock").json
    assert among["items"] == alone["items"]
    assert [run["ggd_norm"] for run in among["runs"][:2]] == [run["ggd_norm"] for run in alone["runs"]]
    default = compare(log, tmp_path / "c", "--json", methods="flock").json
    assert (default["items"]["kind"], among["items"]["kind"]) == ("nouns", "concepts")


def test_a_method_without_k_runs_once_and_its_numbers_are_private(log, tmp_path):
    methods = "partition,korolova:eps=20;delta=0.009"
    ran = compare(log, tmp_path / "a", "--items", "concepts", methods=methods, ks="2,3,5")
    assert ran.code == 0, ran.err
    said = json.loads((tmp_path / "a" / "compare.json").read_text(encoding="utf-8"))
    assert [(run["method"], run["k"], run["private"]) for run in said["runs"]] == [
        ("partition", 2, False), ("partition", 3, False), ("partition", 5, False), ("korolova", None, True),
    ]  # fmt: skip
    noisy = said["runs"][-1]
    assert noisy["error"] is noisy["holds"] is None
    assert noisy["promise"]
    (line,) = (line for line in ran.out.splitlines() if line.strip().startswith("korolova"))
    assert line.split()[1:3] == ["-", "-"], "no k, and no green light"
    assert "for the owner only" in ran.out.replace("\n", " ")
    assert "for the owner only" in said["private"]
    page = (tmp_path / "a" / "compare.html").read_text(encoding="utf-8")
    assert "for the owner only" in page
    assert "cannot be recounted" in page
    rows = list(csv.DictReader((tmp_path / "a" / "compare.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["k"] for row in rows] == ["2", "3", "5", ""]


def test_only_methods_without_k_need_none(log, tmp_path):
    ran = call("compare", log, "--methods", "korolova:eps=20;delta=0.009", "--out", tmp_path / "a", "--json")
    assert ran.code == 0, ran.err
    assert [run["k"] for run in ran.json["runs"]] == [None]
    assert "--k must hold a number" in only_line(
        call("compare", log, "--methods", "flock", "--out", tmp_path / "b").err
    )


def test_the_table_and_the_page_name_the_input(baskets, log, tmp_path):
    words = "unit record, items raw, taxonomy balanced:5"
    ran = compare(baskets, tmp_path / "a")
    assert words in ran.out
    assert words in (tmp_path / "a" / "compare.html").read_text(encoding="utf-8")
    ran = compare(log, tmp_path / "b", "--items", "queries", "--unit", "session:30m")
    assert "unit session:1800, items queries, taxonomy balanced:5" in ran.out


def test_measures_have_four_digits(compared):
    _, said = compared
    names = (*LOSSES, "recall", "sdist", "information_loss", "linkage")
    measures = [run[name] for run in said["runs"] for name in names if run[name] is not None]
    assert len(measures) > len(LOSSES)
    assert measures == [float(f"{measure:.4g}") for measure in measures]
