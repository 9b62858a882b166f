"""What scripts rely on: one JSON object on stdout, progress elsewhere, quick help."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import incrowd
from cli.helpers import call, command, only_line, start
from incrowd.core.rounding import four_digits

COMMANDS = [
    ["demo"],
    ["anonymize"],
    ["audit"],
    ["certificate"],
    ["compare"],
    ["risk"],
    ["show"],
    ["tables"],
    ["methods"],
    ["budget"],
    ["generalize"],
    ["gateway"],
    ["synth"],
    ["init"],
    ["studio"],
    ["taxonomy"],
    ["taxonomy", "show"],
    ["taxonomy", "check"],
]
LOSSES = {"ncp", "ggd", "ggd_norm", "ic_norm", "kept_exactly", "blm", "avg_length", "avg_level"}
SECONDS = {"read", "taxonomy", "anonymize", "audit", "write", "total"}


def test_every_command_is_in_the_list_above():
    shown = call("--help").out.partition("Commands:\n")[2]
    assert {line.split()[0] for line in shown.splitlines()} == {words[0] for words in COMMANDS}


def test_anonymize_tells_all_that_scripts_rely_on(log, tmp_path):
    ran = call("anonymize", "--method=flock", log, "--out", tmp_path / "release", "--k", 3, "--json")
    assert ran.code == 0
    assert ran.err == ""
    result = ran.json
    assert {"method", "k", "records_in", "records_out", "withheld", "groups", "k_min", "claim"} <= set(result)
    assert set(result["loss"]) >= LOSSES
    assert set(result["seconds"]) >= SECONDS
    assert (result["method"], result["k"], result["records_in"], result["records_out"]) == (
        "flock",
        3,
        20,
        20,
    )
    assert result["claim"]["holds"] is True
    assert result["claim"]["k"] == 3
    assert result["peak_rss_mb"] > 10
    assert all(
        isinstance(value, (int, float)) for value in (*result["loss"].values(), *result["seconds"].values())
    )
    steps = sum(value for name, value in result["seconds"].items() if name != "total")
    assert steps == pytest.approx(result["seconds"]["total"], abs=0.01)


def test_the_losses_on_stdout_are_those_of_the_manifest(log, tmp_path):
    result = call("anonymize", "--method=flock", log, "--out", tmp_path / "release", "--k", 3, "--json").json
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert manifest["losses"] == {name: round(result["loss"][name], 4) for name in manifest["losses"]}
    assert set(result["loss"]) - set(manifest["losses"]) == {"ggd", "avg_length", "avg_level"}
    assert manifest["counts"]["avg_length"] == four_digits(result["loss"]["avg_length"])
    assert {name: four_digits(value) for name, value in result["bound"].items()} == manifest["bound"]
    assert set(result["bound"]) == {"ggd_norm", "error", "rows"}
    assert 0 <= result["bound"]["ggd_norm"] <= result["loss"]["ggd_norm"]
    assert (result["bound"]["error"], result["bound"]["rows"]) == (0, 20)
    exact = ("records_out", "groups", "k_min", "labels")
    assert [result[name] for name in exact] == [manifest["counts"][name] for name in exact]
    assert (result["withheld"], manifest["counts"]["withheld"]) == (0, "fewer than 3")
    assert call("show", tmp_path / "release", "--json").json == manifest


def test_a_release_that_has_no_bound_says_so_in_json_and_nothing_elsewhere(log, tmp_path):
    for method, has in (("partition", True), ("suppress", False)):
        out = tmp_path / method
        ran = call("anonymize", log, "--out", out, "--k", 3, "--method", method)
        assert ("no method can lose less than" in ran.out) is has
        assert ("no method can lose less than" in (out / "report.html").read_text(encoding="utf-8")) is has
        assert ("no method can lose less than" in call("show", out).out) is has
        assert (call("show", out, "--json").json["bound"] is not None) is has


def test_every_command_speaks_json(finished, tmp_path):
    taxonomy = tmp_path / "taxonomy.txt"
    taxonomy.write_text("milk\tfood\nbread\tfood\n")
    results = {
        "audit": call("audit", finished, "--json"),
        "show": call("show", finished, "--json"),
        "methods": call("methods", "--json"),
        "synth": call("synth", "--users", 3, "--out", tmp_path / "made.tsv", "--json"),
        "synth --loans": call("synth", "--loans", 30, "--out", tmp_path / "people.csv", "--json"),
        "generalize": call(
            *("generalize", tmp_path / "people.csv", "--query", "county=Middlesex"),
            *("--protect", "income:l=2", "--json"),
        ),
        "init": call("init", tmp_path / "a.toml", "--input", tmp_path / "made.tsv", "--json"),
        "dry run": call("anonymize", tmp_path / "made.tsv", "--dry-run", "--method=flock", "--k=2", "--json"),
        "taxonomy show": call("taxonomy", "show", taxonomy, "--json"),
        "taxonomy check": call("taxonomy", "check", taxonomy, "--json"),
    }
    assert {name for name, ran in results.items() if ran.code or ran.err or not ran.json} == set()
    assert results["audit"].json["holds"] is True
    assert results["taxonomy show"].json["leaves"] == 2
    assert results["taxonomy check"].json["problems"] == []
    assert results["synth"].json["users"] == 3
    assert results["synth --loans"].json["rows"] == 30
    assert results["generalize"].json["refused"] is False


@pytest.mark.parametrize(
    "arguments",
    [
        ["anonymize", "--method=flock", "no.tsv", "--out", "x", "--k", "2"],
        ["anonymize", "--method=flock", "no.tsv", "--out", "x", "--k", "one"],
        ["anonymize", "--wrong"],
        ["anonymize", "no.tsv", "--dry-run"],
        ["anonymize", "--config", "no.toml"],
        ["init", "--input", "no.tsv"],
        ["audit", "no"],
        ["show", "no"],
        ["synth", "--users", "0", "--out", "x"],
        ["synth", "--users", "5", "--loans", "5", "--out", "x.csv"],
        ["generalize", "no.csv", "--query", "a=1", "--protect", "b:l=2"],
        ["gateway"],
        ["gateway", "--config", "no.yaml"],
        ["taxonomy", "show", "no"],
        ["taxonomy", "check", "no"],
        ["methods", "more"],
        ["nonsense"],
    ],
)
def test_an_error_is_one_json_object_too(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = call(*arguments, "--json")
    assert ran.code == 2
    assert ran.json == {"error": only_line(ran.err), "exit_code": 2}


def test_problems_of_a_taxonomy_are_listed_with_their_lines(tmp_path):
    taxonomy = tmp_path / "taxonomy.txt"
    taxonomy.write_text("a\tb\nb\ta\nc\td\nc\te\n")
    ran = call("taxonomy", "check", taxonomy, "--json")
    assert ran.code == 2
    problems = ran.json["problems"]
    assert {"cycle" in kind["problem"]: kind["lines"] for kind in problems if kind["lines"]} == {
        True: [1],
        False: [4],
    }
    assert "line 4" in call("taxonomy", "check", taxonomy).out


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_names_every_option_and_shows_examples_as_they_are(words):
    ran = call(*words, "--help")
    assert ran.code == 0
    assert ran.err == ""
    assert ran.out.startswith("Usage: incrowd")
    assert "\\b" not in ran.out
    assert "\b" not in ran.out
    if words != ["taxonomy"]:
        assert "--json" in ran.out


def test_help_is_quick():
    """What takes long to import is not: help needs nothing of it."""
    script = (
        "import sys; from incrowd.cli.app import main\n"
        "try:\n    main(['anonymize', '--help'])\n"
        "except SystemExit as leave:\n    code = leave.code\n"
        "slow = {'numba', 'duckdb', 'pyarrow', 'pandas', 'pyspark', 'numpy'} & set(sys.modules)\n"
        "print(sorted(slow), file=sys.stderr); sys.exit(code)"
    )
    process = start(script)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    assert out.startswith("Usage: incrowd anonymize")
    assert err == "[]\n"


def test_the_version():
    assert call("--version").out == f"incrowd {incrowd.__version__}\n"


def test_a_real_process_prints_the_object_alone_and_keeps_quiet(log, tmp_path):
    ran = command(
        "anonymize",
        "--method=suppress",
        "--items=queries",
        log,
        "--out",
        tmp_path / "release",
        "--k",
        3,
        "--json",
    )
    assert ran.code == 0
    assert ran.err == ""
    assert ran.json["k_min"] >= 3


def test_a_reader_that_goes_away_is_no_error(finished):
    shell = f"{sys.executable} -m incrowd show {finished} --json | head -c 1"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("{", "")


def test_the_summary_is_for_people(log, tmp_path):
    ran = call("anonymize", "--method=flock", log, "--out", tmp_path / "release", "--k", 3)
    for part in (
        "The audit confirms: Every published record is shared by at least 3 users.",
        "20  users found",
        "distinct items listed in wordnet",
        "distinct items not listed (placed by their kind",
        "0  users withheld",
        f"Report:  {tmp_path / 'release' / 'report.html'}",
    ):
        assert part in ran.out


def test_show_tells_the_claim_and_what_it_is_not(finished):
    out = " ".join(call("show", finished).out.split())
    assert "Every published record is shared by at least 3 users." in out
    assert "it does not hide what all people of a class have in common" in out
    assert "What was done:" in out


def test_methods_lists_every_method_and_its_parameters():
    listed = {method["name"]: method for method in call("methods", "--json").json["methods"]}
    assert set(listed) == set(incrowd.METHODS)
    out = call("methods").out
    for name, method in listed.items():
        assert name in out
        assert f"--goal {method['goal']}: " in out
        assert method["promise"]
        assert method["purpose"].endswith(".")
        assert method["summary"].endswith(".")
