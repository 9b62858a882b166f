"""Schemas, ladders and the encoded table; every error names the attribute and no value."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from incrowd.errors import BadInputError
from incrowd.generalizer import Attribute, Schema, encode, schema_of

TABLE = pa.table({"county": ["Essex", "Dukes", "Kent", "Essex"], "age": [39, 7, 39, 8]})
LADDER = {"Essex": ["MA", "east"], "Dukes": ["MA", "east"], "Kent": ["RI", "east"]}


def test_columns_are_small_integers_in_the_domains_order():
    table = encode(TABLE, schema_of(TABLE))
    assert table.rows == 4
    assert table.schema["age"].domain == (7, 8, 39)
    assert table.columns["age"].tolist() == [2, 0, 2, 1]
    assert table.columns["county"].dtype == np.uint8
    wide = pa.table({"n": pa.array(range(300))})
    assert encode(wide, schema_of(wide)).columns["n"].dtype == np.uint16


def test_dictionaries_are_read_as_their_values():
    coded = pa.table({"county": TABLE["county"].dictionary_encode()})
    assert encode(coded, schema_of(coded)).columns["county"].tolist() == [1, 0, 2, 1]


def test_values_are_known_by_their_text():
    age = schema_of(TABLE)["age"]
    assert age.code("39") == age.code(39) == 2


def test_names_choose_and_order():
    assert schema_of(TABLE, names=["age", "county"]).names == ("age", "county")
    assert schema_of(TABLE, names=["age"]).names == ("age",)


def test_agreement_is_the_lowest_common_rung():
    county = schema_of(TABLE, ladders={"county": LADDER})["county"]
    assert county.domain == ("Dukes", "Essex", "Kent")
    assert county.top == 3
    assert county.agreement(county.code("Essex")).tolist() == [1, 0, 2]
    assert county.agreement(county.code("Kent")).tolist() == [2, 2, 0]
    assert [county.value(1, rung) for rung in range(3)] == ["Essex", "MA", "east"]


def test_a_domain_may_be_wider_than_the_table():
    schema = schema_of(TABLE, domains={"age": [5, 7, 8, 39]})
    assert encode(TABLE, schema).columns["age"].tolist() == [3, 1, 3, 2]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"names": ["county", "agee"]}, "column 'agee' .did you mean 'age'"),
        ({"domains": {"agee": [1]}}, "no attribute 'agee'"),
        ({"domains": {"age": [7, 8]}}, "attribute 'age': 2 rows"),
        ({"domains": {"age": ["x", "y"]}}, "attribute 'age': its domain"),
        ({"domains": {"age": [7, 7, 8, 39]}}, "attribute 'age': two of its values"),
        ({"names": ["age", "age"]}, "different names"),
        ({"ladders": {"county": {"Essex": ["MA"]}}}, "attribute 'county': 2 of its values"),
        ({"ladders": {"county": LADDER | {"Kent": ["RI"]}}}, "attribute 'county': all values"),
        ({"ladders": {"county": LADDER | {"Dukes": ["MA", "west"]}}}, "attribute 'county': rung 2"),
    ],
)
def test_mistakes_are_one_line_without_values(parameters, message):
    with pytest.raises(BadInputError, match=message) as error:
        encode(TABLE, schema_of(TABLE, **parameters))
    assert "\n" not in str(error.value)
    assert not any(value in str(error.value) for value in ("Essex", "Dukes", "Kent", "39"))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array(["x", None]), "attribute 'a' has 1 empty values"),
        (pa.array([[1], [2]]), "attribute 'a' must have plain values"),
        (pa.nulls(2), "attribute 'a' must have plain values"),
    ],
)
def test_columns_that_cannot_be_used(column, message):
    with pytest.raises(BadInputError, match=message):
        schema_of(pa.table({"a": column}))


def test_unknown_values_are_not_repeated():
    with pytest.raises(BadInputError, match="attribute 'county' has no such value") as error:
        schema_of(TABLE)["county"].code("Secretshire")
    assert "Secretshire" not in str(error.value)


def test_reprs_show_no_domains():
    schema = schema_of(TABLE)
    assert "Essex" not in repr(schema) + repr(encode(TABLE, schema))


def test_a_ladder_must_fit_its_domain():
    with pytest.raises(BadInputError, match="rung 1 of its ladder must have one"):
        Attribute("a", (1, 2), (("x",),))
    with pytest.raises(BadInputError, match="at most 100 rungs"):
        Attribute("a", (1,), ((1,),) * 101)
    assert Schema((Attribute("a", (1, 2), (("x", "x"),)),))["a"].top == 2
