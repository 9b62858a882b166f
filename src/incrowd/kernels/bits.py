"""Bits of words, as sets of small numbers."""

from __future__ import annotations

import numpy as np

from incrowd.kernels.jit import helper

__all__ = ["ones"]


@helper
def ones(word: np.uint64) -> int:
    """Count the bits of a word that are set, in a form that compilers turn into one instruction (Warren, Hacker's Delight, section 5-1)."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
