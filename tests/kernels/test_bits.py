"""Counting bits."""

from __future__ import annotations

import random

import numba
import numpy as np
import pytest

from incrowd.kernels.bits import ones

CHANCE = random.Random(7)


@numba.njit
def ones_of(word):
    """Call what only kernels call."""
    return ones(word)


@pytest.mark.parametrize("word", [0, 1, 1 << 63, (1 << 64) - 1, *(CHANCE.getrandbits(64) for _ in range(20))])
def test_ones_are_counted(word):
    assert ones_of(np.uint64(word)) == word.bit_count()
