"""One query in one call decides as the command line does."""

from __future__ import annotations

import pytest

import incrowd as ic
from cli.helpers import call
from incrowd.generalizer.synthetic import synthetic_loans
from incrowd.generalizer.tables import load_auxiliary, write_synthetic_table

QUERY = {"county": "Essex", "race": "Black", "gender": "Female"}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("simple") / "people.csv"
    write_synthetic_table(path, rows=2_000)
    return path


def test_a_table_of_any_form_gives_the_decision_of_the_command_line(file):
    table = synthetic_loans(2_000, 0)
    said = ",".join(f"{name}={value}" for name, value in QUERY.items())
    sent = call("generalize", file, "--query", said, "--protect", "income:l=5", "--json").json
    for form in (file, str(file), table, table.to_pydict(), load_auxiliary(file)):
        decision = ic.generalize(QUERY, form, "income:l=5")
        assert decision.reason == sent["reason"]
        assert {name: str(value) for name, value in decision.kept.items()} == {
            name: str(value) for name, value in sent["sent"].items()
        }


def test_a_frame_is_a_table(file):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.read_csv(file)
    assert ic.generalize(QUERY, frame, ["income:l=5"]) == ic.generalize(QUERY, file, "income:l=5")


def test_ladders_are_mappings_or_files(file, tmp_path):
    counties = sorted(set(synthetic_loans(2_000, 0).column("county").to_pylist()))
    (tmp_path / "ladder").write_text(
        "".join(f"{county};Massachusetts\n" for county in counties), encoding="utf-8"
    )
    by_file = ic.generalize(QUERY, file, "income:l=5", ladders={"county": tmp_path / "ladder"})
    by_mapping = ic.generalize(
        QUERY, file, "income:l=5", ladders={"county": dict.fromkeys(counties, ("Massachusetts",))}
    )
    assert by_file == by_mapping
    assert by_file.strategy == "strict"
    fewer = ic.generalize({"county": "Essex"}, file, "income:l=5", attributes=["county", "income"])
    assert set(fewer.kept) <= {"county"}
