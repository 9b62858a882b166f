"""What is special in a record comes first, on the page and on the terminal."""

from __future__ import annotations

import re

import incrowd as ic
from cli.helpers import call
from incrowd.release.files.telling import special_first

ROWS = [["bread", "milk"]] * 5 + [["apple", "bread", "milk", "zither"]] * 3


def test_what_the_fewest_records_have_comes_first_then_items_then_what_there_is_more_of():
    rows_with = {("a", False): 3, ("b", True): 9, ("c", True): 3, ("d", True): 3}
    labels = sorted(rows_with)
    assert special_first(labels, [7, 1, 1, 2], rows_with) == [
        (("d", True), 2),
        (("c", True), 1),
        (("a", False), 7),
        (("b", True), 1),
    ]


def test_records_are_shown_by_what_is_special_in_them(tmp_path):
    rows = ic.Transactions.from_rows(ROWS)
    ic.anonymize(rows, ic.balanced(rows, 2), k=3, method="suppress").write(tmp_path / "release")
    page = (tmp_path / "release" / "report.html").read_text("utf-8").partition("Some published records")[2]
    assert re.findall(r'class="item">(\w+)', page) == ["apple", "zither", "bread", "milk", "bread", "milk"]
    assert not ic.audit(tmp_path / "release").problems
    shown = call("show", tmp_path / "release").out
    assert "3  apple · zither · bread · milk" in shown
    assert "5  bread · milk" in shown
