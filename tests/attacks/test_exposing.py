"""Which items expose people."""

from __future__ import annotations

from incrowd.attacks.attacked import Setting
from incrowd.attacks.exposing import exposure
from incrowd.attacks.people import People
from incrowd.core.transactions import Transactions
from incrowd.taxonomy import Attached, balanced


def test_items_that_lead_to_one_person_with_one_more():
    """Everybody has a and b; c is of two people who have it with different other items; d and e are of one person each."""
    rows = Transactions.from_rows([["a", "b"], ["a", "b"], ["c", "d"], ["c", "e"]])
    attached = Attached(rows, balanced(rows, 2), 0, 0)
    found = exposure(attached, People.of(attached.transactions, attached.taxonomy), Setting(2, 10), most=5)
    assert (found.items_of_one, found.people_with_one) == (2, 2)
    assert [one._asdict() for one in found.items] == [
        {"item": "c", "people": 2, "tried": 2, "singled_out": 2}
    ]
    assert found.as_dict()["items"][0]["item"] == "c"


def test_an_item_that_many_have_and_few_are_found_by_comes_last():
    """Ten people have a, and all but two the same other item; c is of four people, each with an item of their own."""
    common = [["a", "b"]] * 8 + [["a", "x"], ["a", "y"]]
    rows = Transactions.from_rows([*common, *(["c", f"own {i}"] for i in range(4))])
    attached = Attached(rows, balanced(rows, 2), 0, 0)
    found = exposure(attached, People.of(attached.transactions, attached.taxonomy), Setting(2, 20), most=5)
    assert [(one.item, one.singled_out, one.tried) for one in found.items] == [("c", 4, 4), ("a", 2, 10)]
