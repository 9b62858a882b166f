"""Random numbers of a shape, from uniform doubles and products alone.

That keeps the bytes of a made-up log the same on every machine, whereas a library's ``pow`` or ``exp`` could
differ in the last bit.
"""

from __future__ import annotations

import numpy as np

from incrowd.core.types import Bools, Floats, Ints64

__all__ = ["Shape", "powered", "scrambled", "skewed", "some", "stream", "weighted"]

Shape = int | tuple[int, ...]


def stream(seed: int, *number: int) -> np.random.Generator:
    """Return the numbered random stream of a seed; a number may have a second part."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=number)))


def skewed(rng: np.random.Generator, size: int | Ints64, *, power: int, shape: Shape | None = None) -> Ints64:
    """Draw numbers below `size`, low ones most often: the r-th has a weight near r ** (1 / power - 1), as Zipf's."""
    uniform = rng.random(np.shape(size) if shape is None else shape)
    return (size * powered(uniform, power)).astype(np.int64)


def weighted(rng: np.random.Generator, weight: Floats, count: int) -> Ints64:
    """Draw places in a list of weights, each as often as its weight says."""
    reached = np.cumsum(weight) / weight.sum()
    return np.minimum(np.searchsorted(reached, rng.random(count), side="right"), len(weight) - 1)


def powered(base: Floats, power: int) -> Floats:
    """Return a power by products."""
    result = base
    for _ in range(power - 1):
        result = result * base
    return result


def some(rng: np.random.Generator, share: float, count: int) -> Bools:
    """Draw which of `count` things happen, each with the same probability."""
    return rng.random(count) < share


def scrambled(key: Ints64, salt: int = 0) -> Floats:
    """Return for each key a number from 0 to 1 that looks random, and is the same for the same key."""
    mixed = ((key + salt * 7_919) % (1 << 31)) * 1_103_515_245 % (1 << 31)
    mixed = (mixed ^ (mixed >> 13)) * 1_000_003 % (1 << 31)
    return mixed / (1 << 31)
