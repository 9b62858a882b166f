"""Words that are one typing error apart."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.taxonomy.words.spelling import LONGEST, Spelling, are_one_error_apart

words = st.text("abc", min_size=1, max_size=6)


def reference(one, other):
    """All words that one error makes of a word, the first letter left alone."""
    made = {one[:i] + one[i + 1 :] for i in range(1, len(one))}
    made |= {one[:i] + letter + one[i:] for i in range(1, len(one) + 1) for letter in "abc"}
    made |= {one[:i] + letter + one[i + 1 :] for i in range(1, len(one)) for letter in "abc"}
    made |= {one[:i] + one[i + 1] + one[i] + one[i + 2 :] for i in range(1, len(one) - 1)}
    return other in made - {one}


@given(words, words)
def test_one_error_apart(one, other):
    assert are_one_error_apart(one, other) == reference(one, other)


@settings(deadline=None)
@given(st.lists(words, max_size=20), st.lists(words, max_size=20))
def test_near_words_are_all_that_are_one_error_apart(known, typed):
    expected = {one: sorted({other for other in known if reference(one, other)}) for one in typed}
    assert Spelling.of(pa.array(known, pa.string())).near(typed) == {
        one: near for one, near in expected.items() if near
    }


@pytest.mark.parametrize("word", ["", "a", "a" * (LONGEST + 1)])
def test_words_of_any_length(word):
    assert Spelling.of(pa.array([word, "restaurant"])).near([word, "resturant"]) == {
        "resturant": ["restaurant"]
    }
