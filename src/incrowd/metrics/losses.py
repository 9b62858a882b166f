"""Information loss: the papers' measures, on one scale for every method (docs/glossary.md)."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np

from incrowd.core.classes import WITHHELD, Classes, Generalizations
from incrowd.core.rounding import four_digits
from incrowd.core.shown import html_table
from incrowd.core.transactions import Transactions
from incrowd.core.types import Floats
from incrowd.kernels.arrays import leaf_rows, tree_arrays
from incrowd.kernels.generalize import what_is_kept
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Losses", "Sums", "losses_from", "measure_losses"]


class Losses(msgspec.Struct, frozen=True):
    """How much of the data a release lost. Shares are of the original item occurrences.

    Parameters
    ----------
    ncp
        Item uncertainty, the normalized certainty penalty (He & Naughton, VLDB 2009, section 3.2). Copies that
        collapse into one cost nothing.
    ggd
        Generalization loss, the group generalization distortion (Milani Fard & Wang, SECRYPT 2010, Definition 3): LM
        of each published node, and 1 for each occurrence that is not published.
    ggd_norm
        `ggd` divided by the number of original occurrences.
    ic_norm
        Logarithmic loss: `ggd_norm` with IC(v) = log leaves(v) / log M in place of LM. Losing an exact term costs more.
    kept_exactly
        Share of the occurrences that are published as the exact item.
    blm
        Bag-valued LM (Liu & Wang, ICDM 2010, section V-A): LM of the lowest node above all items that a published one
        stands for, and 1 for each occurrence that is not published. It equals `ggd_norm`.
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

    def __repr__(self) -> str:
        said = (f"{name}={four_digits(value):g}" for name, value in msgspec.structs.asdict(self).items())
        return f"Losses({', '.join(said)})"

    def _repr_html_(self) -> str:
        rows = ((name, f"{four_digits(value):g}") for name, value in msgspec.structs.asdict(self).items())
        return html_table("Losses (docs/glossary.md)", rows)


class Sums(NamedTuple):
    """What losses are made of, added up over all rows.

    Parameters
    ----------
    occurrences
        Item occurrences in the originals.
    weight, lost, exactly
        What is kept of them; see :func:`incrowd.kernels.generalize.what_is_kept`.
    rows, copies
        Published records, and the items in them.
    lm, ic, level
        Of what the published items stand for.
    """

    occurrences: int
    weight: int
    lost: int
    exactly: int
    rows: int
    copies: float
    lm: float
    ic: float
    level: float


def losses_from(sums: Sums, leaves: int) -> Losses:
    """Return what is lost, given sums over the rows and how many leaves the taxonomy has."""
    occurrences = max(sums.occurrences, 1)
    suppressed = sums.occurrences - sums.copies
    ggd = suppressed + sums.lm
    return Losses(
        ncp=(sums.weight / leaves + sums.lost) / occurrences,
        ggd=ggd,
        ggd_norm=ggd / occurrences,
        ic_norm=(suppressed + sums.ic) / occurrences,
        kept_exactly=sums.exactly / occurrences,
        blm=ggd / occurrences,
        avg_length=sums.copies / max(sums.rows, 1),
        avg_level=sums.level / max(sums.copies, 1.0),
    )


def measure_losses(transactions: Transactions, taxonomy: Taxonomy, classes: Classes) -> Losses:
    """Measure what the classes lose of the transactions. A withheld row loses all its items."""
    rows, tree = leaf_rows(transactions, taxonomy), tree_arrays(taxonomy)
    meant = classes.generalization
    kept = what_is_kept(rows, tree, classes.readers, *meant)
    exactly = kept.exactly
    if classes.stands_for is not None and classes.alternatives is None:  # items of others may be equal
        exactly = what_is_kept(
            rows, tree, classes.of_row, classes.start, classes.nodes, classes.counts
        ).exactly
    copies = _over_rows(classes, meant, np.ones(len(meant.nodes)))
    lm, ic = (_over_rows(classes, meant, value[meant.nodes]) for value in (taxonomy.lm, taxonomy.ic))
    if classes.speaks_of == "class":  # no generalization: an item is kept exactly, or not at all
        lm = ic = copies - exactly
    level = _over_rows(classes, meant, taxonomy.level[meant.nodes].astype(np.float64))
    published = int(np.count_nonzero(classes.of_row != WITHHELD))
    sums = Sums(transactions.occurrences, kept.weight, kept.lost, exactly, published, copies, lm, ic, level)
    return losses_from(sums, taxonomy.leaf_count)


def _over_rows(classes: Classes, bags: Generalizations, value: Floats) -> float:
    """Sum a value over the nodes that all published rows show, copies counted; nothing is lost of who has no row."""
    total = np.concatenate(([0.0], np.cumsum(value * bags.counts)))
    rows = classes.sizes if classes.left is None else classes.present
    return float((np.diff(total[bags.start]) * rows).sum())
