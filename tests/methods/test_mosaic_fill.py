"""A unit of many labels is filled as one whose labels fit a word is: the same tiles, found in another way."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.methods.mosaic import fill as compiled

LABELS = 12


def plain():
    """Return the module as Python runs it: its helpers can only be called by kernels."""
    spec = spec_from_file_location("plain_fill", compiled.__file__)
    module = module_from_spec(spec)
    with patch("incrowd.kernels.jit.helper", lambda function: function):
        spec.loader.exec_module(module)
    return module


FILL = plain()
tiles = st.frozensets(st.integers(0, LABELS - 1), min_size=2, max_size=4)
worths = st.integers(1, 40).map(lambda eighths: eighths / 8)


def arrays(found):
    """Return tiles with their worth, the most worth first."""
    found = sorted(found, key=lambda one: -one[1])
    first = np.cumsum([0, *(len(tile) for tile, _ in found)])
    label = np.array([one for tile, _ in found for one in sorted(tile)], dtype=np.int32)
    return first, label, np.array([worth for _, worth in found])


@given(st.lists(st.tuples(tiles, worths), min_size=1, max_size=14))
def test_both_ways_choose_the_same_tiles(found):
    first, label, worth = arrays(found)
    short, value = FILL._filled_short(FILL._masks(first, label), worth)
    chosen, same = FILL._filled_long(first, label, LABELS, worth)
    assert chosen.tolist() == short.tolist()
    assert same == pytest.approx(value)
    held = np.concatenate([label[first[i] : first[i + 1]] for i in np.flatnonzero(chosen)])
    assert len(held) == len(set(held))
    assert value == pytest.approx(worth[chosen].sum())


def test_a_tile_that_pushes_two_out_comes_in_where_they_are_worth_less():
    first, label, worth = arrays([({0, 1}, 3.0), ({1, 2, 3}, 2.75), ({2, 3}, 1.0), ({0, 4}, 2.0)])
    for chosen, value in (
        FILL._filled_short(FILL._masks(first, label), worth),
        FILL._filled_long(first, label, LABELS, worth),
    ):
        assert value == 4.75
        assert chosen.tolist() == [False, True, True, False]  # by worth: {0, 1}, {1, 2, 3}, {0, 4}, {2, 3}
