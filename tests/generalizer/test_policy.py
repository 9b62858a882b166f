"""Policies as people write them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from incrowd.errors import BadInputError
from incrowd.generalizer import Policy, parse_policies, parse_policy


@pytest.mark.parametrize(
    ("text", "attribute", "minimum"),
    [
        ("income:l=5", "income", Fraction(3)),
        ("income:l=4", "income", Fraction(5, 2)),
        ("income:l=1", "income", Fraction(1)),
        ("income:g=3", "income", Fraction(3)),
        ("income:g=2.1", "income", Fraction(21, 10)),
        ("income:g=7/4", "income", Fraction(7, 4)),
        ("a:b:g=2", "a:b", Fraction(2)),
    ],
)
def test_what_can_be_written(text, attribute, minimum):
    assert parse_policy(text) == Policy(attribute, minimum)


@pytest.mark.parametrize(
    "text",
    [
        *("", "income", "income:", "income=5", ":l=5", "income:k=5", "income:l", "income:l=2.5"),
        *("income:l=-3", "income:l=0", "income:l=1x", "income:g=", "income:g=nan", "income:g=1e999999999"),
        *("income:g=1/0", "income:g=1/2", "income:g=-2", "income:g=\N{FULLWIDTH DIGIT THREE}"),
    ],
)
def test_what_cannot_is_one_clear_line(text):
    with pytest.raises(BadInputError) as error:
        parse_policy(text)
    assert "\n" not in str(error.value)
    assert "protect" in str(error.value)


def test_a_requirement_is_exact_or_refused():
    with pytest.raises(BadInputError, match="Fraction"):
        Policy("income", 2.1)


def test_its_text_reads_back():
    policy = parse_policy("income:l=4")
    assert parse_policy(str(policy)) == policy


def test_one_policy_for_each_attribute():
    assert [policy.attribute for policy in parse_policies(["a:l=2", "b:l=3"])] == ["a", "b"]
    with pytest.raises(BadInputError, match="protect a: named more than once"):
        parse_policies(["a:l=2", "b:l=2", "a:g=2"])
