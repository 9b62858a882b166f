"""Information loss: what the papers measure, on one scale for every method."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from incrowd.kernels.arrays import leaf_rows, tree_arrays
from incrowd.kernels.generalize import what_is_kept
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
        Global generalization distance (clump.txt, Definition 2): LM of what is published, and 1 for every
        occurrence that is not.
    ggd_norm
        `ggd` by original occurrences.
    ic_norm
        The same with IC(v) = log leaves(v) / log M in place of LM: it cares about exact terms.
    kept_exactly
        Share of the occurrences that are published as the very item.
    blm
        Bag-valued LM (ssc.txt, section V-A); for methods that generalize it equals `ggd_norm`.
    avg_length
        Items in a published record, on average.
    avg_level
        Level of a published item, on average; the root's is 1.
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
    kept = what_is_kept(rows, tree, classes.of_row, classes.start, classes.nodes, classes.counts)
    occurrences = max(transactions.occurrences, 1)
    published_rows = max(int(np.count_nonzero(classes.of_row != WITHHELD)), 1)
    published = _over_rows(classes, np.ones(len(classes.nodes)))
    suppressed = transactions.occurrences - published
    ggd = suppressed + _over_rows(classes, taxonomy.lm[classes.nodes])
    return Losses(
        ncp=(kept.weight / taxonomy.leaf_count + kept.lost) / occurrences,
        ggd=ggd,
        ggd_norm=ggd / occurrences,
        ic_norm=(suppressed + _over_rows(classes, taxonomy.ic[classes.nodes])) / occurrences,
        kept_exactly=kept.exactly / occurrences,
        blm=ggd / occurrences,
        avg_length=published / published_rows,
        avg_level=_over_rows(classes, taxonomy.level[classes.nodes].astype(np.float64)) / max(published, 1.0),
    )


def _over_rows(classes: Classes, value: npt.NDArray[np.float64]) -> float:
    """Sum a value of the published nodes over all published rows, copies counted."""
    return float((classes.per_class(value * classes.counts) * classes.sizes).sum())
