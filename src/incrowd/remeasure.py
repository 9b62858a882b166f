"""What a manifest says of the originals, measured again from the written records and the originals."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from incrowd.auditor import Figured, Originals
from incrowd.claims import Claim
from incrowd.lengths import lengths_of
from incrowd.methods.classes import WITHHELD, Classes
from incrowd.metrics import bound_of, measure_losses, measure_utility
from incrowd.originals import Written
from incrowd.promises import Settings
from incrowd.record_table import Label
from incrowd.release_manifest import figures_of, told_withheld

__all__ = ["measure_again"]


def measure_again(
    originals: Originals, settings: Settings, claim: Claim, written: Written, node_of: Mapping[Label, int]
) -> Figured:
    """Measure what the manifest of a release says of its originals."""
    data, tree = originals.transactions, originals.taxonomy
    classes = _classes(originals, written, node_of)
    shown = classes.of_row != WITHHELD
    lengths = lengths_of(data, shown, claim.least)
    again = settings.recountable
    figures = figures_of(
        measure_losses(data, tree, classes) if again else None,
        measure_utility(data, tree, classes) if again else None,
        bound_of(data, tree, classes, claim) if again else None,
        lengths,
    )
    silent = len(np.unique(data.person[~shown]))
    return Figured(msgspec.to_builtins(figures), told_withheld(classes.withheld, silent, claim.least))


def _classes(originals: Originals, written: Written, node_of: Mapping[Label, int]) -> Classes:
    """Return the written records as classes of the originals' rows."""
    nodes: list[int] = []
    counts: list[int] = []
    start = [0]
    for labels, times in written.records:
        bag = sorted(zip((node_of[label] for label in labels), times, strict=True))
        nodes += [node for node, _ in bag]
        counts += [count for _, count in bag]
        start.append(len(nodes))
    record_of_row = np.append(np.array(written.record_of_row, dtype=np.int32), WITHHELD)
    return Classes(
        record_of_row[np.array(originals.row_of, dtype=np.int64)],  # row -1 is the last entry: withheld
        np.array(start, dtype=np.int64),
        np.array(nodes, dtype=np.int32),
        np.array(counts, dtype=np.int32),
    )
