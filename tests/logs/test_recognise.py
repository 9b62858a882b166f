"""What is taken for baskets, and what is not: baskets are published word by word."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.errors import BadInputError
from incrowd.logs import format_of, read_log
from incrowd.logs.formats.columns import shape_of


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x", "1 2 3\n4\n"),
        ("x.log", "1 2 3\r\n\r\n4 5.5\r\n"),
        ("x.dat", "milk bread\nmilk beer beer\n"),
        ("x.dat", "milk\nbeer\n"),
        ("x.DAT.gz", "i1 i2 i3\ni4 i1\n"),
        ("x.basket", "whole_milk rye-bread m&m's café 7up\nMILK Beer\n"),
        ("x.dat", "a b c\nb d\n"),
        ("x.dat", "cafe\u0301 mi\u200blk\nदूध रोटी\n牛奶 面包\n"),
        ("x.dat", "10 2 milk\nbread 7\n"),
        ("x", "0 1 1\n1 0\n"),
        ("x", "1500000000 1500000001\n3\n"),
        ("x.dat", "a b\n" * 4),
        ("x.dat", "milk bread\n" * 5 + "milk beer beer\n" * 4),
        ("x", "1 2\n2 3\n3 1\n1 3\n"),  # every item stands in front somewhere
        ("x", "1 2\n3 4\n5 6\n5 6\n"),  # none comes back with other items
        ("x", "1 2\n1 3\n4 5\n"),  # too few to tell
    ],
)
def test_baskets_are_recognised(tmp_path, name, text):
    assert format_of(write(tmp_path / name, text)) == "dat"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x", "user|query|time\nmirabel|cats|2020-01-01\n"),
        ("x.dat", "user|query|time\nmirabel|cats|2020-01-01\n"),
        ("x.dat", "mirabel7|cats|2020-01-01\n"),
        ("x", "session;doc\nmirabel;d7\n"),
        ("x.dat", "session;doc\nmirabel;d7\n"),
        ("x.dat", "1,2\n"),
        ("x.dat", "1 2\n3,4 5\n"),
        ("x.dat", "1\t2\n3\t4\n"),
        ("x.txt", "Mirabel Quench lives in Boston. She is ill.\n"),
        ("x.dat", "Mirabel Quench lives in Boston\n"),
        ("x.dat", "mirabel is ill\n"),
        ("x.dat", "milk bread.\n"),
        ("x.dat", "Milk bread beer\n"),
        ("x", "milk bread\nbeer\n"),
        ("x.txt", "mirabel quench\n"),
        ("x.dat", "mirabel@example.org milk\n"),
        ("x.dat", "milk 2020-01-01\n"),
        ("x.dat", "milk 10:00\n"),
        ("x.dat", "user query\nmirabel cats\n"),
        ("x.dat", "basket things\n1 5\n2 7\n"),
        ("x.dat", "mirabel7 red shoes\nquench9 cats\n"),
        ("x.dat", "17 red shoes\n18 cats\n"),
        ("x", "17 4 1500000000\n18 4 1500000007\n"),
        ("x.dat", "0 1 1\n1 0 0\n"),
        ("x.dat", "\u200b\n"),
        ("x", "700 0\n700 1\n701 0\n702 2\n"),
        ("x", "700 0 5\n700 1 3\n701 0 4\n702 2 4\n"),
        ("x", "".join(f"{700 + row // 60} {row % 60}\n" for row in range(300))),  # one person in the first 50
        ("x.dat", "u702 item3\nu702 item4\nu703 item3\nu704 item3\n"),
        ("x.dat", "mirabel milk\nmirabel cats\nquench milk\nbob milk\n"),
        ("x", "person\tmember\twhen\nquench\tmirabel\t2020-01-01 10:00:00\n"),
        ("x.txt", "query\tmember\twhen\ncats\tmirabel01\t2020-01-01 10:00:00\n" * 3),
        ("x", "words\twhen\twho\ncats\t200101100000\tmirabel\n"),
        ("x", "quench\nmirabel\tcats\t2020-01-01 10:00:00\n"),
    ],
)
def test_everything_else_asks_for_the_format_and_shows_no_content(tmp_path, name, text):
    path = write(tmp_path / name, text)
    with pytest.raises(BadInputError) as caught:
        read_log(path)
    said = str(caught.value)
    assert "(format)" in said
    assert f"the shape '{shape_of(text.splitlines()[0])}'" in said
    shown = said.partition("the shape '")[2].partition("'")[0]
    assert re.fullmatch(r"([aA9]|[^a-zA-Z0-9])*", shown.replace("\\t", " "))
    assert not re.search("mirabel|quench|milk|cats", said, re.IGNORECASE)
    with read_log(path, format="dat") as log:  # who names it means it
        assert log.format == "dat"


@pytest.mark.parametrize("name", ["x.tsv", "x.csv"])
def test_other_names_in_front_of_rows_like_aol_s_ask_for_the_columns(tmp_path, name):
    path = write(tmp_path / name, "query\tmember\twhen\n" + "cat\tjohnsmith01\t2020-01-01 10:00:00\n" * 3)
    with pytest.raises(BadInputError, match=r"found query, member, when; .*user=NAME") as caught:
        read_log(path)
    assert "johnsmith" not in str(caught.value)
    with read_log(path, columns={"user": "member", "time": "when"}) as log:
        rows = log.store.table("SELECT * FROM events").to_pylist()
    assert {(row["user"], row["query"]) for row in rows} == {("johnsmith01", "cat")}


def test_a_bar_between_fields_is_csv_for_who_says_so(tmp_path):
    path = write(tmp_path / "x", "user|query\nalice|cats, dogs\n")
    with read_log(path, format="csv") as log:
        assert log.store.table("SELECT * FROM events").to_pylist()[0]["query"] == "cats, dogs"


@pytest.mark.parametrize(
    ("line", "shape"),
    [
        ("bob7|cats dog|2020-01-31", "aaa9|aaaa aaa|9999-99-99"),
        ("Mirabel   MIRABEL 123456\t日本語日本", "Aaaaa AAAA 9999\\taaaa"),
        ("é€\x1b[31m\u200b", "a??[99a?"),
        ("x," * 90, "a," * 30 + "..."),
        ("", ""),
    ],
)
def test_a_shape(line, shape):
    assert shape_of(line) == shape


@given(st.text())
def test_no_shape_says_anything(line):
    assert re.fullmatch(r"([aA9]|\\t|[^\w\x7f-\U0010ffff]|_)*", shape_of(line), re.ASCII | re.DOTALL)
    assert shape_of(line).isprintable()


@pytest.mark.data
def test_public_files_are_recognised(data_dir):
    for name in ("BMS-WebView-1.dat", "BMS-WebView-2.dat", "retail.dat"):
        assert format_of(data_dir / "transactions" / name) == "dat"
    assert format_of(data_dir / "logs" / "excite-small.log") == "excite"
    with pytest.raises(BadInputError, match="format"):
        format_of(data_dir / "transactions" / "groceries" / "Groceries.data")
