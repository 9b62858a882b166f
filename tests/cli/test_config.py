"""Options in a TOML file: every option has its key, the command line wins, and what cannot be meant is refused."""

from __future__ import annotations

import click
import pytest

from cli.helpers import aol_log, call, command, refused
from incrowd.cli.commands import anonymize
from incrowd.cli.config import ONLY_TYPED, InputArgument, config_option, key_of, keys_of, kind_of
from incrowd.cli.options import INPUT

EXAMPLES = {
    "true or false": True,
    "a table of names and values": {"specificity": 0.5},
    "a text or a list of texts": ["a.tsv", "b.tsv"],
    "a whole number": 7,
    "a list of texts, or one text with commas": ["one", "two"],
    "a day, as 2026-04-01": "2026-04-01",
    "a text": "some text",
}


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a configuration."""

    def written(text, name="incrowd.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written


def read(path, *arguments):
    """Return the parameters of 'anonymize' as they are after reading a configuration."""
    return anonymize.make_context("anonymize", ["--config", str(path), *map(str, arguments)]).params


def test_every_option_has_its_key(write):
    """Derived from the command, so that no option is forgotten: each is given in a file and arrives."""
    options = [one for one in anonymize.params if key_of(one) not in ONLY_TYPED]
    assert len(options) >= 27
    for option in options:
        key, value = key_of(option), EXAMPLES[kind_of(option).words]
        if isinstance(option, click.Option):
            assert f"--{key}" in option.opts
        table = isinstance(value, dict)
        spelled = str(value).lower() if isinstance(value, bool) else repr(value)
        said = "[set]\nspecificity = 0.5\n" if table else f"{key} = {spelled}\n"
        path = write(said if key == "input" else 'input = "x"\n' + said)
        given = read(path)[option.name]
        expected = {
            bool: value,
            dict: {"specificity": "0.5"},
            int: {7, "7"},
            list: "one,two",
        }.get(type(value), value)
        if isinstance(expected, set):
            assert given in expected, key
        elif key == "input":
            assert given == tuple(str(path.parent / one) for one in value)
        elif isinstance(option.type, click.Path) or key == "taxonomy":
            assert str(given) == str(path.parent / value), key
        else:
            assert given == expected, key


def test_what_says_how_a_command_is_called_has_no_key(write):
    assert {key_of(one) for one in anonymize.params} - set(keys_of(anonymize)) == {
        "config",
        "profile",
        "dry-run",
        "lacking",
        "json",
    }
    line = refused(call("anonymize", "--config", write("k = 3\njson = true\n")))
    assert line.endswith("incrowd.toml line 2: json is for the command line only (--json): remove it")


def test_hyphens_and_underscores_are_the_same_key(write, tmp_path):
    for key in ("private-map", "private_map"):
        assert read(write(f'input = "x"\n{key} = "map"\n'))["private_map"] == tmp_path / "map"
    line = refused(call("anonymize", "--config", write('private-map = "a"\nprivate_map = "b"\n')))
    assert "line 2: private-map is there twice" in line


def test_a_job_from_a_file_alone_is_the_job_of_the_command_line(tmp_path, write):
    aol_log(tmp_path / "log.tsv")
    config = write(
        'input = "log.tsv"\nout = "from-file"\nk = 3\nmethod = "flock"\nwrite = ["csv", "jsonl"]\nseed = 7\n'
        'sets = true\ntitle = "Made up"\ndate = 2026-04-01\n[set]\nspecificity = 0.25\n'
    )
    done = command("anonymize", "--config", config, cwd=tmp_path.parent)
    assert done.code == 0, done.err
    typed = call(
        *("anonymize", tmp_path / "log.tsv", "--out", tmp_path / "typed", "--k", 3, "--method=flock"),
        *("--write", "csv,jsonl", "--seed", 7, "--sets", "--title", "Made up", "--date", "2026-04-01"),
        *("--set", "specificity=0.25"),
    )
    assert typed.code == 0, typed.err
    assert contents(tmp_path / "from-file") == contents(tmp_path / "typed")


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_the_command_line_wins(write, tmp_path):
    config = write(
        'input = "file.tsv"\nk = 3\nseed = 1\nmethod = "flock"\n[set]\nspecificity = 0.5\nother = "x"\n'
    )
    given = read(config, "typed.tsv", "--k", 9, "--set", "specificity=1")
    assert (given["input"], given["k"], given["seed"]) == (("typed.tsv",), "9", 1)
    assert given["settings"] == {"specificity": "1", "other": "x"}  # parameter by parameter
    assert read(config)["input"] == (str(tmp_path / "file.tsv"),)


@pytest.mark.parametrize(
    ("said", "typed", "method"),
    [
        ('goal = "people"', ("--method", "partition"), "partition"),
        ('method = "partition"', ("--goal", "people"), "flock"),
    ],
)
def test_a_goal_and_a_method_overrule_each_other(said, typed, method, log, write):
    found = call("anonymize", log, "--config", write(f"{said}\nk = 3\n"), *typed, "--dry-run", "--json")
    assert found.json["method"] == method


def test_a_file_that_says_both_is_refused_as_on_the_command_line(log, write):
    config = write('goal = "people"\nmethod = "partition"\n')
    assert refused(call("anonymize", log, "--config", config, "--dry-run")).startswith("give --goal, which")


def test_files_are_beside_the_file_that_names_them(write, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    config = write(
        'input = "~/log.tsv"\nout = "/there/release"\nseries = "../ledger"\ntaxonomy = "balanced:5"\n'
    )
    given = read(config)
    assert given["input"] == ("/home/me/log.tsv",)
    assert str(given["out"]) == "/there/release"
    assert given["series"] == tmp_path / "../ledger"
    assert given["taxonomy"] == "balanced:5"
    assert read(write('input = "x"\ntaxonomy = "wordnet"\n'))["taxonomy"] == "wordnet"
    assert read(write('input = "x"\ntaxonomy = "tree.txt"\n'))["taxonomy"] == str(tmp_path / "tree.txt")
    assert read(write('input = "hdfs://host/log"\n'))["input"] == ("hdfs://host/log",)
    assert read(write('input = "-"\n'))["input"] == ("-",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "k = 3\n\ngaol = 'words'\n",
            "line 3: there is no option 'gaol' (did you mean 'goal'?); there are: input, out",
        ),
        ("# k = 3\nk = '3'\n", "line 2: k must be a whole number (got a text)"),
        ("k = 3.5\n", "line 1: k must be a whole number (got a number)"),
        ("k = true\n", "line 1: k must be a whole number (got true or false)"),
        ("seed = '123456789'\n", "line 1: seed must be a whole number (got a text)"),
        ("force = 'yes'\n", "line 1: force must be true or false (got a text)"),
        ("sets = 1\n", "line 1: sets must be true or false (got a number)"),
        ("method = ['flock']\n", "line 1: method must be a text (got a list)"),
        ("title = 2024\n", "line 1: title must be a text (got a number)"),
        ("write = [1]\n", "line 1: write must be a list of texts, or one text with commas (got a list)"),
        ("date = 2026-04-01T10:00:00\n", "line 1: date must be a day, as 2026-04-01 (got a time)"),
        ("set = 'publish=bag'\n", "line 1: set must be a table of names and values (got a text)"),
        ("[set]\npublish = ['bag']\n", "line 1: set must be a table of names and values (got a table)"),
        ("[out]\na = 1\n", "line 1: out must be a text (got a table)"),
        ("[anonymize]\nk = 3\n", "line 1: there is no option 'anonymize'"),
        ("k = \n", " is not TOML: Invalid value (at line 1, column 5)"),
        ("k = 3\nk = 4\n", " is not TOML: Cannot overwrite a value (at line 2"),
        ("k = " + "[" * 100_000, " is not TOML that can be read"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_file_line_and_key(text, expected, log, write):
    config = write(text)
    line = refused(call("anonymize", log, "--config", config, "--dry-run"))
    assert line.startswith(str(config))
    assert expected in line
    assert "123456789" not in line  # a seed may be secret


def test_a_file_that_is_none_is_refused(log, tmp_path, write):
    def line(path):
        return refused(call("anonymize", log, "--config", path, "--dry-run"))

    assert line(tmp_path / "no.toml").endswith(
        "no.toml does not exist: give a TOML file, as 'incrowd init' makes one"
    )
    assert "is a directory" in line(tmp_path)
    (tmp_path / "log.gz").write_bytes(b"\x1f\x8b\xff\xfe")
    assert "is not UTF-8" in line(tmp_path / "log.gz")
    assert "is too large for a file of options" in line(write("# " + "x" * 2**20))


def test_nobody_reads_a_record_in_the_refusal_of_an_input_taken_for_a_configuration(tmp_path):
    log = aol_log(tmp_path / "log.tsv", {1: ["secret disease"]})
    assert "secret" not in refused(call("anonymize", log, "--config", log, "--dry-run"))


def test_bad_values_are_refused_as_on_the_command_line(log, write):
    config = write('method = "flok"\n')
    assert "(did you mean 'flock'?)" in refused(call("anonymize", log, "--config", config, "--dry-run"))


def test_without_input_in_either_place_it_is_missing(write):
    assert refused(call("anonymize", "--config", write("k = 3\n"), "--dry-run")).startswith(
        "Missing argument 'INPUT...'"
    )


def test_several_inputs_may_be_named_in_a_list(write, tmp_path):
    @click.command()
    @click.argument("inputs", nargs=-1, required=True, cls=InputArgument, type=INPUT, metavar="INPUT...")
    @config_option
    def join(inputs):
        click.echo(",".join(inputs))

    def joined(*arguments):
        with join.make_context("join", [*map(str, arguments)]) as context:
            return context.params["inputs"]

    config = write('input = ["a.tsv", "b.tsv"]\n')
    assert joined("--config", config) == (str(tmp_path / "a.tsv"), str(tmp_path / "b.tsv"))
    assert joined("--config", write('input = "a.tsv"\n')) == (str(tmp_path / "a.tsv"),)
    assert joined("--config", config, "c.tsv", "d.tsv") == ("c.tsv", "d.tsv")
    with pytest.raises(click.MissingParameter):
        joined()
