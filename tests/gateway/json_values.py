"""JSON values for Hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st


def json_scalars(texts):
    """Return a strategy of JSON values that hold no others."""
    return st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=False, allow_infinity=False),
        texts,
    )


def json_values(texts, max_leaves):
    """Return a strategy of JSON values whose texts and names come from another strategy."""
    return st.recursive(
        json_scalars(texts),
        lambda parts: st.lists(parts, max_size=4) | st.dictionaries(texts, parts, max_size=4),
        max_leaves=max_leaves,
    )
