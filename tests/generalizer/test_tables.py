"""Auxiliary tables and ladders from files: what is read, and the one line for what cannot be."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from incrowd.errors import BadInputError
from incrowd.generalizer.synthetic import synthetic_loans
from incrowd.generalizer.tables import load_auxiliary, read_ladder, read_table, write_synthetic_table

PEOPLE = "county,age,zip\nEssex,39,01234\nDukes, 40,01235\n Essex ,39,01234\n"
LADDER = "Essex;Massachusetts;*\nDukes;Massachusetts;*\n"
COLUMNS = {"county": ["Essex", "Dukes", "Essex"], "age": [39, 40, 39], "zip": ["01234", "01235", "01234"]}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(PEOPLE, encoding="utf-8")
    Path("county.csv").write_text(LADDER, encoding="utf-8")


def write(name: str, content: str | bytes) -> Path:
    content = content.encode() if isinstance(content, str) else content
    path = Path(name)
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def said(function, *arguments, **options) -> str:
    with pytest.raises(BadInputError) as caught:
        function(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.tsv", "people.tsv.gz"])
def test_text_with_a_header_is_read_without_its_spaces(name):
    table = read_table(write(name, PEOPLE.replace(",", "\t") if ".tsv" in name else PEOPLE))
    assert table.to_pydict() == COLUMNS
    assert table.select(["age"]).to_pydict()["age"][0] + 1 == 40  # numbers, not digits


@pytest.mark.parametrize("name", ["people.data", "people.data.gz", "people.csv"])
def test_text_without_a_header_takes_names(name):
    body = "\n".join(PEOPLE.splitlines()[1:]) + "\n\n"
    assert read_table(write(name, body), names=["county", "age", "zip"]).to_pydict() == COLUMNS


def test_parquet_keeps_its_types():
    columns = {"county": ["Essex", "Dukes"], "share": [0.5, 1.0], "zip": ["01234", "1"]}
    pq.write_table(pa.table(columns), "people.parquet")
    assert read_table(Path("people.parquet")).to_pydict() == columns
    assert read_table(Path("people.parquet"), only=["zip", "county"]).column_names == ["zip", "county"]


def test_only_some_columns_in_the_given_order():
    assert read_table(Path("people.csv"), only=["zip", "county"]).column_names == ["zip", "county"]


def test_a_byte_order_mark_and_quotes_are_no_part_of_the_values():
    table = read_table(write("people.csv", b'\xef\xbb\xbf"county",age\n"Essex, Mass.",1\n'))
    assert table.to_pydict() == {"county": ["Essex, Mass."], "age": [1]}


def test_an_empty_value_is_missing_also_if_it_is_spaces():
    for cell in ("", "  ", '""'):
        table = read_table(write("people.csv", f"county,age\nEssex,1\n{cell},2\n"))
        assert table.column("county").null_count == 1
    message = said(load_auxiliary, Path("people.csv"))
    assert message.startswith("people.csv: attribute 'county' has 1 empty values; fill them")


def test_blocks_of_a_large_file_agree_on_what_a_number_is():
    rows = "".join(f"{number}\n" for number in range(400_000))
    assert pa.types.is_integer(load_type(write("numbers.csv", "n\n" + rows)))
    assert pa.types.is_string(load_type(write("numbers.csv", "n\n" + rows + "none\n")))


def load_type(file: Path) -> pa.DataType:
    kind = read_table(file).column("n").type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
def test_a_ladder_is_read_and_the_star_on_top_is_left_out(delimiter):
    text = "Essex;Massachusetts;*\n\nDukes; Massachusetts;*\n".replace(";", delimiter)
    assert read_ladder(write("l.csv", text)) == {"Essex": ("Massachusetts",), "Dukes": ("Massachusetts",)}


def test_a_star_that_is_not_on_top_of_all_stays():
    ladder = read_ladder(write("l.csv", "47906;4790*;*\n47907;4790*;479**\n"))
    assert ladder == {"47906": ("4790*", "*"), "47907": ("4790*", "479**")}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "l.csv: is empty; give a line for each value, such as Essex;Massachusetts"),
        ("\n\n", "l.csv: is empty; give a line for each value, such as Essex;Massachusetts"),
        (
            "a;x;y\n\nb;x\n",
            "l.csv: line 3: has 2 fields; give every value the same number of coarser values, at least one",
        ),
        (
            "a\nb\n",
            "l.csv: line 1: has 1 fields; give every value the same number of coarser values, at least one",
        ),
        ("a;x\nb;\n", "l.csv: line 2: field 2 is empty; fill it"),
        ("a;x\nb;x\na;y\n", "l.csv: line 3: the value is the same as in line 1; keep one"),
        (b"a;\xff\n", "l.csv: is not UTF-8 text; convert it, as with iconv -t UTF-8"),
        ('a;"x\n', "l.csv: cannot be read as lines of fields; check its quotes"),
    ],
)
def test_a_bad_ladder_is_one_line(text, line):
    assert said(read_ladder, write("l.csv", text)) == line


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("t.csv", "a,b\n1,2\n3\n", "t.csv: row 3: has 1 values instead of 2; correct it"),
        ("t.csv.gz", "a,b\n1,2\n3,secret,5\n", "t.csv.gz: row 3: has 3 values instead of 2; correct it"),
        ("t.csv", b"a,b\n1,2\n3,\xff\n", "t.csv: is not UTF-8 text; convert it, as with iconv -t UTF-8"),
        ("t.csv", b"a,\xff\n1,2\n", "t.csv: is not UTF-8 text; convert it, as with iconv -t UTF-8"),
        ("t.csv", "a,\n1,2\n", "t.csv: column 2 has no name; name it in the first line"),
        ("t.csv", "a,a\n1,2\n", "t.csv: two columns have the same name; rename one"),
        ("t.csv", "", "t.csv: is empty or begins with an empty line; name the columns in its first line"),
        (
            "t.csv",
            "\na,b\n",
            "t.csv: is empty or begins with an empty line; name the columns in its first line",
        ),
        (
            "t.csv",
            "a,b\n",
            "t.csv: has no rows; give a table with people in it",
        ),
        ("t.data", "1,2\n", "t.data: has no header; name its columns"),
        (
            "t.parquet",
            "no parquet",
            "t.parquet: is damaged or does not have the format that its name says; write it again",
        ),
        ("t.xlsx", "", "t.xlsx: must end in .parquet, .csv, .tsv or .data (text also with .gz); convert it"),
    ],
)
def test_a_bad_table_is_one_line_without_a_cell(name, content, line):
    assert said(load_auxiliary, write(name, content)) == line


def test_a_file_that_is_no_gzip_or_half_of_one_is_one_line():
    Path("t.csv.gz").write_bytes(b"a,b\n1,2\n")
    assert (
        said(read_table, Path("t.csv.gz"))
        == "t.csv.gz: is damaged or does not have the format that its name says; write it again"
    )
    Path("t.csv.gz").write_bytes(gzip.compress(os.urandom(1000))[:500])
    assert said(read_table, Path("t.csv.gz")).startswith("t.csv.gz: is ")


def test_a_missing_file_or_a_directory_is_one_line():
    for function in (load_auxiliary, read_ladder):
        assert said(function, Path("no.csv")) == "no.csv: does not exist; give a file that is there"
        assert said(function, Path()) == ".: is a directory; give a file"
    assert said(load_auxiliary, Path("no.parquet")) == "no.parquet: does not exist; give a file that is there"


def test_a_column_that_is_not_there_is_named_with_the_nearest():
    assert said(load_auxiliary, Path("people.csv"), names=["country"]) == (
        "people.csv: has no column 'country'; there are county, age, zip (did you mean 'county'?)"
    )


def test_an_auxiliary_table_has_codes_domains_and_ladders():
    table = load_auxiliary(
        Path("people.csv"),
        names=("age", "county"),
        domains={"county": ["Dukes", "Essex"]},
        ladders={"county": Path("county.csv")},
    )
    assert table.rows == 3
    assert table.schema.names == ("age", "county")
    assert table.schema["age"].domain == (39, 40)
    assert table.schema["county"].ladder == (("Massachusetts", "Massachusetts"),)
    assert table.columns["county"].tolist() == [1, 0, 1]


def test_a_domain_may_have_words_where_the_table_has_numbers():
    table = load_auxiliary(Path("people.csv"), names=["age"], domains={"age": [39, 40, "unknown"]})
    assert table.schema["age"].domain == ("39", "40", "unknown")
    assert table.columns["age"].tolist() == [0, 1, 0]


def test_a_domain_may_have_numbers_where_the_table_has_words():
    table = load_auxiliary(write("t.csv", "age\n39\nold\n"), domains={"age": [39, 40, "old"]})
    assert table.schema["age"].domain == ("39", "40", "old")


def test_what_the_schema_refuses_names_the_file():
    message = said(load_auxiliary, Path("people.csv"), domains={"county": ["Essex"]})
    assert message == "people.csv: attribute 'county': 1 rows have values outside its domain; add them to it"
    write("county.csv", "Essex;Massachusetts\n")
    message = said(load_auxiliary, Path("people.csv"), ladders={"county": Path("county.csv")})
    assert message == "people.csv: attribute 'county': 1 of its values are not on its ladder; add them"
    message = said(load_auxiliary, Path("people.csv"), domains={"county2": ["Essex"]})
    assert message == (
        "people.csv: there is no attribute 'county2' to give values to (did you mean 'county'?)"
    )


@pytest.mark.data
def test_the_adult_table_is_read(data_dir):
    names = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"]
    names += ["relationship", "race", "sex", "capital-gain", "capital-loss", "hours", "country", "income"]
    table = load_auxiliary(data_dir / "tables/adult.data", columns=names, names=["age", "race", "income"])
    assert table.rows == 32_561
    assert table.schema["income"].domain == ("<=50K", ">50K")
    assert len(table.schema["race"].domain) == 5
    assert table.schema["age"].domain[0] == 17


@pytest.mark.parametrize("name", ["made.csv", "made.parquet"])
def test_a_made_table_is_read_back_as_it_was_made(tmp_path, name):
    file = tmp_path / name
    write_synthetic_table(file, rows=500, seed=3)
    made, read = synthetic_loans(500, 3), load_auxiliary(file)
    assert read.rows == 500
    for column in made.column_names:
        attribute = read.schema[column]
        assert [attribute.domain[code] for code in read.columns[column]] == made[column].to_pylist()


def test_a_made_table_replaces_nothing_unasked(tmp_path):
    file = tmp_path / "made.csv"
    file.write_text("mine")
    with pytest.raises(BadInputError, match="exists; choose another name"):
        write_synthetic_table(file, rows=5)
    assert file.read_text() == "mine"
    write_synthetic_table(file, rows=5, overwrite=True)
    assert len(file.read_text().splitlines()) == 6


@pytest.mark.parametrize(
    ("name", "rows", "line"), [("a.txt", 5, "name it so"), ("a.csv", 0, "loans must be at least 1")]
)
def test_what_no_table_can_be_made_of(tmp_path, name, rows, line):
    with pytest.raises(BadInputError, match=line):
        write_synthetic_table(tmp_path / name, rows=rows)
    assert not (tmp_path / name).exists()
