"""Which items are sensitive, as the owner says it."""

from __future__ import annotations

from incrowd.core.transactions import Transactions
from incrowd.jobs.subject import sensitive_leaves
from incrowd.taxonomy import open_taxonomy


def test_many_classes_are_no_name_of_a_file():
    """A list of classes may be longer than the name of any file."""
    data = Transactions.from_rows([["dog", "jaguar"], ["truck"]])
    attached = open_taxonomy("wordnet", data)
    classes = ["big cat", "dog", "motor vehicle", "truck"] * 20
    assert len(",".join(classes)) > 255
    found = sensitive_leaves(",".join(classes), attached)
    assert found[attached.taxonomy.item_leaf].all()
    assert not sensitive_leaves("big cat", attached)[attached.taxonomy.item_leaf].all()
