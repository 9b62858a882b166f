"""Parameters that cannot be meant: exit code 2, one line with the remedy, nothing written."""

from __future__ import annotations

import pytest

from cli.helpers import call, command, refused, visible


@pytest.fixture
def refusal(log, tmp_path):
    """Return the line that refuses a run on the usual log with the given options."""

    def run(*options, k=3):
        out = tmp_path / "release"
        before = visible(tmp_path)
        line = refused(call("anonymize", "--method=flock", log, "--out", out, "--k", k, *options), out)
        assert visible(tmp_path) == before
        return line

    return run


@pytest.mark.parametrize("k", ["x", "2.0", "", "1e3", "five"])
def test_k_that_is_no_integer(refusal, k):
    assert refusal(k=k) == f"k must be an integer (got '{k}')"


@pytest.mark.parametrize("k", [1, 0, -3])
def test_k_below_two(refusal, k):
    assert refusal(k=k) == f"k must be at least 2 (got {k})"


def test_k_above_the_number_of_records(refusal):
    line = refusal(k=21)
    assert "k must be at most 20" in line
    assert "(got 21)" in line


@pytest.mark.parametrize(
    ("options", "names", "suggests"),
    [
        (["--method", "partitoin"], "method", "partition"),
        (["--taxonomy", "wordnett"], "taxonomy", "wordnet"),
        (["--taxonomy", "balancd:5"], "taxonomy", "balanced:5"),
        (["--items", "noun"], "items", "nouns"),
        (["--unit", "sesion:30m"], "unit", "session"),
        (["--format", "aoll"], "format", "aol"),
        (["--unlisted", "kep"], "unlisted", "keep"),
        (["--columns", "usr=AnonID"], "columns", "user"),
        (["--method", "partition", "--set", "publsh=bag"], "publsh", "publish"),
        (["--method", "partition", "--set", "publish=bags"], "publish", "bag"),
        (["--write", "jsnl"], "write", "jsonl"),
        (["--metod", "partition"], "--metod", "--method"),
        (["--private-mop", "map"], "--private-mop", "--private-map"),
    ],
)
def test_an_unknown_word_is_named_and_the_nearest_suggested(refusal, options, names, suggests):
    line = refusal(*options)
    assert names in line
    assert f"'{suggests}'" in line
    assert "did you mean" in line.lower()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--unlisted", "name", "--items", "queries"], "use --items nouns and --taxonomy wordnet"),
        (["--unlisted", "name", "--taxonomy", "balanced:5"], "use --items nouns and --taxonomy wordnet"),
        (["--taxonomy", "balanced:1"], "fan-out F from 2 to"),
        (["--taxonomy", "balanced"], "balanced:5"),
        (["--taxonomy", "balanced:x"], "balanced:5"),
        (["--taxonomy", "balanced:99999999999999999999"], "balanced:F"),
        (["--taxonomy", "no/such/file.tsv"], "file that exists"),
        (["--unit", "session"], "session:30m"),
        (["--unit", "session:-3m"], "session:30m"),
        (["--items", "raw"], "nouns, terms, queries"),
        (["--set", "publish"], "NAME=VALUE"),
        (["--memory", "lots"], "4GB"),
        (["--memory", "1KB"], "at least"),
        (["--seed", "x"], "--seed"),
        (["--columns", "user=nobody"], "nobody"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_the_remedy(refusal, options, says):
    assert says in refusal(*options)


def test_an_unknown_command_suggests_the_nearest():
    assert "'anonymize'" in refused(call("anonymise", "x"))
    assert "'check'" in refused(call("taxonomy", "chek", "x"))


def test_sessions_of_baskets_are_refused(baskets, tmp_path):
    out = tmp_path / "release"
    line = refused(
        call("anonymize", "--method=flock", baskets, "--out", out, "--k", 2, "--unit", "session:30m"), out
    )
    assert "baskets" in line


@pytest.mark.parametrize("arguments", [[], ["taxonomy"]])
def test_no_command_at_all_shows_the_help(arguments):
    ran = call(*arguments)
    shown = ran.out + ran.err
    assert "Commands:\n" in shown
    assert not shown.startswith("incrowd: ")


def test_a_mistake_of_a_real_process_is_one_line_without_a_traceback(log, tmp_path):
    ran = command(
        "anonymize", "--method=suppress", "--items=queries", log, "--out", tmp_path / "release", "--k", 1
    )
    assert refused(ran, tmp_path / "release") == "k must be at least 2 (got 1)"
