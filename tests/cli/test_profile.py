"""--profile: a file of options that the package brings along, read as --config is; the configuration and the command line win."""

from __future__ import annotations

import tomllib

import pytest

from cli.helpers import aol_log, call, refused
from incrowd.cli.commands import anonymize
from incrowd.cli.config import keys_of, profiles
from incrowd.cli.overruled import fitted_settings


def read(*arguments):
    """Return the parameters of 'anonymize' as they are after reading files."""
    return anonymize.make_context("anonymize", ["log.tsv", *map(str, arguments)]).params


def test_every_profile_says_only_what_there_is():
    assert "search-sharing" in profiles()
    for path in profiles().values():
        said = tomllib.loads(path.read_text(encoding="utf-8"))
        assert said.keys() <= keys_of(anonymize).keys()


def test_a_profile_is_read_by_its_name():
    given = read("--profile", "search-sharing")
    assert (given["k"], given["items"], given["unit"]) == ("10", "terms", "mini-session:5/10m")
    assert given["certificate"] is True
    assert given["settings"]["counts"] == "rounded"


@pytest.mark.parametrize("order", [("profile", "config"), ("config", "profile")])
def test_the_command_line_wins_over_the_configuration_and_that_over_the_profile(tmp_path, order):
    profile, config = tmp_path / "profile.toml", tmp_path / "config.toml"
    profile.write_text(
        'k = 3\nseed = 1\ntitle = "p"\n[set]\ncap = 1\nlongest = 9\naged = 1\n', encoding="utf-8"
    )
    config.write_text('k = 4\ntitle = "c"\n[set]\ncap = 2\naged = 2\n', encoding="utf-8")
    files = {"profile": profile, "config": config}
    typed = [one for name in order for one in (f"--{name}", files[name])]
    given = read(*typed, "--title", "typed", "--set", "aged=3")
    assert (given["title"], given["k"], given["seed"]) == ("typed", "4", 1)
    assert given["settings"] == {"cap": "2", "longest": "9", "aged": "3"}


def test_a_goal_of_the_configuration_overrules_a_method_of_the_profile(tmp_path, log):
    (tmp_path / "config.toml").write_text('goal = "people"\nk = 3\n', encoding="utf-8")
    (tmp_path / "profile.toml").write_text('method = "mosaic"\n', encoding="utf-8")
    files = ("--config", tmp_path / "config.toml", "--profile", tmp_path / "profile.toml")
    assert call("anonymize", log, *files, "--dry-run", "--json").json["method"] == "flock"


def test_an_unknown_profile_is_refused_with_those_that_there_are(log, tmp_path):
    line = refused(call("anonymize", log, "--out", tmp_path / "out", "--profile", "search-sharin"))
    assert "did you mean" in line or "search-sharing" in line
    assert f"search-sharing ({profiles()['search-sharing']})" in line
    assert "incrowd init --profile NAME" in line


def test_a_file_cannot_name_a_profile(log, tmp_path):
    (tmp_path / "config.toml").write_text('profile = "search-sharing"\n', encoding="utf-8")
    line = refused(call("anonymize", log, "--config", tmp_path / "config.toml", "--dry-run"))
    assert "profile is for the command line only (--profile): remove it" in line


def test_a_copy_can_be_made_changed_and_used(tmp_path, log, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = call("init", "mine.toml", "--profile", "search-sharing")
    assert ran.code == 0, ran.err
    text = (tmp_path / "mine.toml").read_text(encoding="utf-8")
    assert profiles()["search-sharing"].read_text(encoding="utf-8") in text
    (tmp_path / "mine.toml").write_text(text.replace("k = 10", "k = 2", 1), encoding="utf-8")
    found = call(
        "anonymize",
        log,
        "--profile",
        "mine.toml",
        "--kinds",
        "week",
        "--set",
        "thresholds=",
        "--dry-run",
        "--json",
    ).json
    assert (found["k"], found["unit"]) == (2, "mini-session:5/600")
    assert "exists" in refused(call("init", "mine.toml", "--profile", "search-sharing"))
    assert call("init", "mine.toml", "--profile", "search-sharing", "--force").code == 0
    line = refused(call("init", "other.toml", "--profile", "search-sharing", "--k", "7"))
    assert line == "--profile makes a copy as it is: drop --k, or say it in the copy"


def thresholds_with(*arguments):
    """Return the thresholds with which a job with the profile runs."""
    context = anonymize.make_context("anonymize", ["log.tsv", "--profile", "search-sharing", *arguments])
    given = context.params
    return fitted_settings(given["settings"], given, given["k"], context)["thresholds"]


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ("", "word=10,url=10,word+url=10,place=50"),
        ("--kinds url,week", "items=10,items+url=10,url=10"),
        ("--k 20", "place=50"),
        ("--k 60 --kinds week", ""),
        ("--k 5", "items=10,items+url=10,url=10,place=50"),
        ("--k 20 --set thresholds=word=10", "word=10"),
        ("--kinds week --set cap=2", "items=10"),
        ("--kinds week --set thresholds=place=50", "place=50"),
    ],
)
def test_other_kinds_or_another_k_leave_the_thresholds_that_still_say_something(options, left):
    """What is typed stays, and is refused if it does not fit."""
    assert thresholds_with(*options.split()) == left


def test_a_configuration_with_other_kinds_fits_the_profile_too(tmp_path):
    config = tmp_path / "mine.toml"
    config.write_text('kinds = "url"\nk = 12\n', encoding="utf-8")
    assert thresholds_with("--config", str(config)) == ""
    config.write_text('kinds = "url"\n[set]\nthresholds = "place=50"\n', encoding="utf-8")
    assert thresholds_with("--config", str(config)) == "place=50"  # beside each other: a mistake, and refused


def test_another_goal_chooses_its_own_items(log):
    def items(*options):
        options = ("--profile", "search-sharing", "--kinds", "week", *options)
        return call("anonymize", log, *options, "--dry-run", "--json").json["items"]

    assert items("--goal", "queries") == "queries"
    assert items("--goal", "queries", "--items", "terms") == items("--goal", "words") == "terms"


def test_the_profile_makes_a_release_with_its_pages(tmp_path):
    rows = {
        user: [f"{word} {other}" for word, other in zip("abcde"[user % 3 :], "vwxyz", strict=False)]
        for user in range(110)
    }
    log = aol_log(tmp_path / "log.tsv", rows)
    options = ("--profile", "search-sharing")
    assert "no column for the place" in refused(call("anonymize", log, "--out", tmp_path / "out", *options))
    ran = call("anonymize", log, "--out", tmp_path / "out", *options, "--kinds", "url,week", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["claim"]["k"] == 10
    assert ran.json["parameters"]["unit"] == "mini-session:5/600"
    assert ran.json["parameters"]["thresholds"] == "items=10,items+url=10,url=10"
    assert (tmp_path / "out.certificate.html").is_file()
    assert (tmp_path / "out.dictionary.html").is_file()
