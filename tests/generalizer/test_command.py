"""``incrowd generalize``: the query generalizer on the terminal."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cli.helpers import call, command, refused
from golden import GOLDEN

EXAMPLE = GOLDEN["generalizer"]
QUERY = ",".join(f"{name}={value}" for name, value in EXAMPLE["query"].items())
SECRET = "mirabel.quench@example.org"


@pytest.fixture
def table(tmp_path):
    """The paper's table as a file."""
    file = tmp_path / "people.csv"
    with file.open("w", encoding="utf-8", newline="") as target:
        csv.writer(target).writerows([EXAMPLE["columns"], *EXAMPLE["rows"]])
    return file


def decided(table, *options, query=QUERY, protect="Income:g=2", code=0):
    """Return a decision as JSON."""
    ran = call("generalize", table, "--query", query, "--protect", protect, "--json", *options)
    assert ran.code == code, ran.err
    assert ran.err == ""
    return ran.json


def refusal(table, *options, query="Race=Black", protect="Income:g=2"):
    """Return the one line that says what is wrong; it shows no value."""
    ran = call("generalize", table, "--query", query, "--protect", protect, *options)
    assert "mirabel" not in ran.out + ran.err
    return refused(ran)


@pytest.mark.parametrize("strategy", ["brute-force", "worst-fit", "best-fit"])
def test_the_paper_s_example(table, strategy):
    kept = EXAMPLE["at_Gmin_2_derived"][strategy]
    decision = decided(table, "--strategy", strategy)
    assert decision["sent"] == {name: EXAMPLE["query"][name] for name in kept}
    assert decision["dropped"] == [name for name in EXAMPLE["query"] if name not in kept]
    assert decision["guesses"] == {
        "Income": {
            "needed": "2",
            "before": EXAMPLE["entropy_printed"],
            "after": EXAMPLE["lattice_derived"][",".join(kept)],
        }
    }
    assert decision["strategy"] == strategy


def test_the_whole_of_json(table):
    assert decided(table, "--strategy", "worst-fit") == {
        "refused": False,
        "sent": {"Loan": "$20k"},
        "coarser": [],
        "dropped": ["Race", "Gender"],
        "guesses": {"Income": {"needed": "2", "before": "4/3", "after": "2"}},
        "rows": {"before": 3, "after": 6},
        "strategy": "worst-fit",
        "reason": "Generalized (Race, Gender dropped) so that every policy is met.",
    }


def test_what_a_person_reads(table):
    ran = call("generalize", table, "--query", QUERY, "--protect", "Income:g=2", "--strategy", "worst-fit")
    assert (ran.code, ran.err) == (0, "")
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[0][:2] == ["Generalized", "(Race,"]
    assert ["Loan", "$20k", "$20k"] in lines
    assert ["Race", "Black", "not", "sent"] in lines
    assert ["Income", "2.00", "1.33", "2.00"] in lines
    assert ran.out.endswith("People who match the original query: 3; the query that is sent: 6.\n")


def test_what_may_be_sent_as_it_is(table):
    decision = decided(table, query="Race=Black", protect="Income:g=1.75")
    assert decision["sent"] == {"Race": "Black"}
    assert decision["dropped"] == []


def test_l_and_several_to_protect(table):
    rules = ("--protect", "Income:l=3", "--protect", "County:g=2")
    ran = call("generalize", table, "--query", QUERY, *rules, "--strategy", "worst-fit", "--json")
    guesses = ran.json["guesses"]
    assert {name: guess["needed"] for name, guess in guesses.items()} == {"Income": "2", "County": "2"}
    assert ran.json["sent"] == {"Loan": "$20k"}


def test_a_protected_attribute_is_never_sent(table):
    decision = decided(table, query="Income=$20k,Race=White", protect="Income:g=1")
    assert decision["sent"] == {"Race": "White"}
    assert decision["dropped"] == ["Income"]
    ran = call("generalize", table, "--query", "Income=$20k", "--protect", "Income:g=1")
    assert "People who match the original query, without protected attributes: 12" in ran.out


def test_refused_is_one_and_nothing_is_sent(table):
    decision = decided(table, protect="Income:l=50", code=1)
    assert decision["refused"]
    assert decision["sent"] == {}
    assert decision["guesses"]["Income"] == {"needed": "51/2", "before": "4/3", "after": None}
    ran = call("generalize", table, "--query", QUERY, "--protect", "Income:l=50")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith("Refused:")
    assert ran.out.count("not sent") == 3
    assert "the query that is sent" not in ran.out


def test_a_query_in_parts_with_commas_in_a_value(tmp_path):
    file = tmp_path / "people.tsv"
    rows = "".join(f"Essex, MA\ta=b\t{number % 4}\n" for number in range(8))
    file.write_text(f"place\tcode\tincome\n{rows}", encoding="utf-8")
    parts = ("--query", "place=Essex, MA,code=a=b")
    whole = call("generalize", file, *parts, "--protect", "income:g=2", "--json")
    assert whole.json["sent"] == {"place": "Essex, MA", "code": "a=b"}
    again = call(
        "generalize",
        file,
        "--query",
        " place = Essex, MA ",
        "--query",
        "code=a=b",
        "--protect",
        "income:g=2",
        "--json",
    )
    assert again.json == whole.json


def test_a_value_is_shown_as_it_is(tmp_path):
    file = tmp_path / "people.csv"
    file.write_text("place,income\n" + "[/b]é,1\n[/b]é,2\n" * 3, encoding="utf-8")
    ran = call("generalize", file, "--query", "place=[/b]é", "--protect", "income:g=1")
    assert ran.code == 0, ran.err
    assert ran.out.count("[/b]é") == 2


# What is read


def test_a_ladder(table, tmp_path):
    ladder = tmp_path / "race.csv"
    ladder.write_text("Black;Black or White;*\nWhite;Black or White;*\nAsian;Asian;*\n", encoding="utf-8")
    decision = decided(table, "--ladder", f"Race={ladder}", query="Race=Black")
    assert decision["sent"] == {"Race": "Black or White"}
    assert decision["coarser"] == ["Race"]
    assert decision["dropped"] == []
    assert decision["rows"] == {"before": 4, "after": 9}


def test_strict_looks_at_the_names_alone(table):
    queries = [f"Race={race},Gender={gender}" for race in ("Black", "White") for gender in ("Female", "Male")]
    for options in ((), ("--strategy", "strict")):
        kept = [tuple(decided(table, *options, query=query)["sent"]) for query in queries]
        assert len(set(kept)) == 1
        assert decided(table, *options, query=queries[0])["strategy"] == "strict"


def test_a_removed_option_says_what_to_use(table):
    assert refusal(table, "--strict").endswith(
        "--strict was removed: strict is a strategy and the default; use --strategy strict"
    )


def test_random_fit_draws_the_same_again(table, tmp_path):
    key = tmp_path / "secret.key"
    key.write_text("sixteen bytes or more\n", encoding="utf-8")
    options = ("--strategy", "random-fit", "--secret", key)
    assert decided(table, *options) == decided(table, *options)


def test_only_some_attributes(table):
    options = ("--attributes", "Race, Income", "--strategy", "worst-fit")
    assert decided(table, *options, query="Race=White")["sent"] == {"Race": "White"}
    assert "'Loan'" in refusal(table, "--attributes", "Race,Income", query="Loan=$20k")
    assert "'Income'" in refusal(table, "--attributes", "Race,Loan")


@pytest.mark.parametrize("order", ["x,y", "y,x"])
def test_of_what_is_as_good_the_attribute_named_first_is_kept(tmp_path, order):
    file = tmp_path / "people.csv"
    file.write_text("x,y,income\n1,1,7\n1,2,8\n2,1,8\n2,2,7\n", encoding="utf-8")
    decision = decided(file, "--attributes", f"{order},income", query="x=1,y=1", protect="income:g=1.5")
    assert decision["sent"] == {order[0]: 1}


@pytest.mark.parametrize("name", ["adult.data", "adult.data.gz", "adult.csv"])
def test_a_file_without_a_header(tmp_path, name):
    file = tmp_path / name
    rows = "".join(f"{30 + n % 2}, State-gov, {n % 4}K\n" for n in range(12)).encode()
    file.write_bytes(gzip.compress(rows) if name.endswith(".gz") else rows)
    options = ("--columns", "age, work, income")
    decision = decided(file, *options, query="work=State-gov,age=30", protect="income:g=2")
    assert decision["sent"] == {"work": "State-gov"}
    assert decision["rows"] == {"before": 6, "after": 12}


def test_parquet_with_values_that_json_has_not(tmp_path):
    file = tmp_path / "people.parquet"
    columns = {
        "day": [dt.date(2020, 1, 1)] * 4,
        "moment": [dt.datetime(2020, 1, 1, 12)] * 4,  # noqa: DTZ001 - as files have it
        "amount": [Decimal("1.50")] * 4,
        "owner": [True] * 4,
        "share": [0.5] * 4,
        "income": [1, 2, 3, 4],
    }
    pq.write_table(pa.table(columns), file)
    query = "day=2020-01-01,moment=2020-01-01 12:00:00,amount=1.50,owner=true,share=0.5"
    assert decided(file, query=query, protect="income:g=2")["sent"] == {
        "day": "2020-01-01",
        "moment": "2020-01-01 12:00:00",
        "amount": "1.50",
        "owner": True,
        "share": 0.5,
    }


# What is wrong


def test_a_file_that_does_not_exist_and_a_directory(tmp_path):
    assert refusal(tmp_path / "no.csv") == f"input {tmp_path / 'no.csv'} does not exist"
    assert "is a directory" in refusal(tmp_path)


def test_files_that_cannot_be_used(table, tmp_path):
    absent = tmp_path / "no.csv"
    assert "does not exist" in refusal(table, "--ladder", f"Race={absent}")
    assert "does not exist" in refusal(table, "--secret", absent)
    short = tmp_path / "short.csv"
    short.write_text(f"Black;{SECRET}\n", encoding="utf-8")
    assert "'Race': 2 of its values are not on its ladder" in refusal(table, "--ladder", f"Race={short}")
    assert "did you mean 'Race'" in refusal(table, "--ladder", f"Rce={short}")
    headless = tmp_path / "people.data"
    headless.write_text(f"{SECRET},1\n", encoding="utf-8")
    assert "name its columns" in refusal(headless)
    assert "row 1: has 2 values instead of 1" in refusal(headless, "--columns", "Race")
    other = tmp_path / "people.xlsx"
    other.write_text(SECRET, encoding="utf-8")
    assert "must end in" in refusal(other)


def test_an_unknown_attribute_is_named_and_an_unknown_value_is_not(table):
    line = refusal(table, query="Rac=Black")
    assert line.startswith("there is no attribute 'Rac'; there are Loan, Income, Race, Gender, County")
    assert "did you mean 'Race'" in line
    assert "'Incom'" in refusal(table, protect="Incom:g=2")
    assert refusal(table, query=f"Race={SECRET}") == (
        "attribute 'Race' has no such value; use one of its 3 values"
    )


@pytest.mark.parametrize("query", ["Race", "Race=", "=Black", f"{SECRET}", "", "Race= "])
def test_a_query_that_is_none(table, query):
    line = refusal(table, query=query)
    assert line == "--query takes NAME=VALUE, as in --query county=Essex"


def test_what_is_given_twice(table):
    assert "names 'Race' more than once" in refusal(table, "--query", f"Race={SECRET}")
    assert "Income: named more than once" in refusal(table, "--protect", "Income:l=2")


@pytest.mark.parametrize(
    "rule", ["Income", "Income:5", "Income:k=5", "Income:l=2.5", "Income:l=0", "Income:g=1/0"]
)
def test_a_rule_that_is_none(table, rule):
    assert "protect" in refusal(table, protect=rule)


def test_a_strategy_that_is_none_and_a_key_that_is_missing(table, tmp_path):
    assert "must be one of strict, brute-force" in refusal(table, "--strategy", "best")
    short = tmp_path / "short.key"
    short.write_text("tooshort\n", encoding="utf-8")
    for options in ((), ("--secret", short)):
        line = refusal(table, "--strategy", "random-fit", *options)
        assert line == "random-fit needs --secret FILE with at least 16 bytes in it"


@pytest.mark.parametrize("missing", ["--query", "--protect"])
def test_options_that_must_be_given(table, missing):
    given = {"--query": "Race=Black", "--protect": "Income:g=2"}
    words = [word for option, value in given.items() if option != missing for word in (option, value)]
    line = refused(call("generalize", table, *words))
    assert missing in line
    assert "--help" in line


def test_errors_as_json(table):
    assert "'Rac'" in refusal(table, "--json", query="Rac=Black")


def test_as_a_process_of_its_own(table):
    ran = command("generalize", table, "--query", QUERY, "--protect", "Income:l=50")
    assert (ran.code, ran.err) == (1, "")
    ran = command("generalize", table, "--query", f"Race={SECRET}", "--protect", "Income:l=5")
    assert refused(ran) == "attribute 'Race' has no such value; use one of its 3 values"
