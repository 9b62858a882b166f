"""Information loss: what the papers measure, on one scale for every method."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from incrowd.kernels.arrays import leaf_rows, tree_arrays
from incrowd.kernels.generalize import what_is_kept
from incrowd.kernels.lcg import Generalizations
from incrowd.methods.classes import WITHHELD, Classes
from incrowd.taxonomy.tree import Taxonomy
from incrowd.transactions import Transactions

__all__ = ["Losses", "measure_losses"]


class Losses(msgspec.Struct, frozen=True):
    """How much of the data a release lost. Shares are of the original item occurrences.

    Parameters
    ----------
    ncp
        Normalized certainty penalty (partition.txt, section 3.2). It forgives copies that collapse into one.
    ggd
        Group generalization distortion (clump.txt, Definition 3): LM of what is published, and 1 for every
        occurrence that is not.
    ggd_norm
        `ggd` by original occurrences.
    ic_norm
        The same with IC(v) = log leaves(v) / log M in place of LM: it cares about exact terms.
    kept_exactly
        Share of the occurrences that are published as the very item.
    blm
        Bag-valued LM (ssc.txt, section V-A): LM of the least node above all items that a published one stands
        for, and 1 for every occurrence that is not published. It equals `ggd_norm`.
    avg_length
        Items in a published record, on average.
    avg_level
        Level of what a published item stands for, on average; the root's is 1.
    """

    ncp: float
    ggd: float
    ggd_norm: float
    ic_norm: float
    kept_exactly: float
    blm: float
    avg_length: float
    avg_level: float


def measure_losses(transactions: Transactions, taxonomy: Taxonomy, classes: Classes) -> Losses:
    """Measure what the classes lose of the transactions. A row that is withheld loses all it has."""
    rows, tree = leaf_rows(transactions, taxonomy), tree_arrays(taxonomy)
    meant = classes.generalization
    kept = what_is_kept(rows, tree, classes.readers, *meant)
    exactly = kept.exactly
    if classes.stands_for is not None and classes.alternatives is None:  # others' items may be the very same
        exactly = what_is_kept(
            rows, tree, classes.of_row, classes.start, classes.nodes, classes.counts
        ).exactly
    occurrences = max(transactions.occurrences, 1)
    published_rows = max(int(np.count_nonzero(classes.of_row != WITHHELD)), 1)
    published = _over_rows(classes, meant, np.ones(len(meant.nodes)))
    suppressed = transactions.occurrences - published
    ggd = suppressed + _over_rows(classes, meant, taxonomy.lm[meant.nodes])
    ic = suppressed + _over_rows(classes, meant, taxonomy.ic[meant.nodes])
    if (
        classes.speaks_of == "class"
    ):  # what is published is no generalization: it is kept as such, or not at all
        ggd = ic = float(transactions.occurrences - exactly)
    return Losses(
        ncp=(kept.weight / taxonomy.leaf_count + kept.lost) / occurrences,
        ggd=ggd,
        ggd_norm=ggd / occurrences,
        ic_norm=ic / occurrences,
        kept_exactly=exactly / occurrences,
        blm=ggd / occurrences,
        avg_length=published / published_rows,
        avg_level=_over_rows(classes, meant, taxonomy.level[meant.nodes].astype(np.float64))
        / max(published, 1.0),
    )


def _over_rows(classes: Classes, bags: Generalizations, value: npt.NDArray[np.float64]) -> float:
    """Sum a value of the nodes of each class's bag over all published rows, copies counted."""
    total = np.concatenate(([0.0], np.cumsum(value * bags.counts)))
    return float((np.diff(total[bags.start]) * classes.sizes).sum())
