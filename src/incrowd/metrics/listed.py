"""What a list of pairs with noisy counts is of use for: two items that are together, or a query with a clicked address."""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np
import pyarrow as pa

from incrowd.core.classes import Classes, Seconds
from incrowd.core.ragged import list_ids
from incrowd.core.tiles import Tiles
from incrowd.core.transactions import Transactions
from incrowd.metrics.use import MOST_FREQUENT, Use, use_of_classes, use_of_tiles
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["use_of_list_of_pairs", "use_of_weekly_list"]


def use_of_list_of_pairs(data: Transactions, tree: Taxonomy, classes: Classes, second: Seconds) -> Use:
    """Measure a list of pairs: an analyst reads each as so many units that have both, and knows nothing else of single items."""
    counts = classes.counts.astype(np.int64)
    nodes = np.sort(np.stack([classes.nodes, second.nodes], axis=1), axis=1)
    start = np.arange(len(counts) + 1, dtype=np.int64) * 2
    nobody = np.zeros(len(data) + 1, dtype=np.int64)
    tiles = Tiles(
        start, nodes.ravel().astype(np.int32), counts, counts, nobody, np.zeros(0, np.int32), withheld=0
    )
    use = use_of_tiles(data, tree, tiles)
    recall = use.clicks_recall if data.events is None else _clicks_recall(data, classes, second)
    return msgspec.structs.replace(use, kept_exactly=None, links_kept=None, clicks_recall=recall)


def use_of_weekly_list(data: Transactions, tree: Taxonomy, classes: Classes, weeks: int) -> Use:
    """Measure a list of counts by week: an analyst adds the weeks up."""
    counts = np.maximum(classes.counts.astype(np.int64).reshape(-1, weeks).sum(axis=1), 1)
    texts = None if classes.texts is None else classes.texts.take(pa.array(np.arange(len(counts)) * weeks))
    return use_of_classes(data, tree, Classes.of_list(len(data), classes.nodes[::weeks], texts, counts))


def _clicks_recall(data: Transactions, classes: Classes, second: Seconds) -> float | None:
    """Return how many of the most frequent pairs of a query and an address are among those with the largest counts."""
    events = data.events
    if events is None or not len(events.site):
        return None
    event = list_ids(events.clicks)
    row = np.searchsorted(events.start, event, side="right") - 1
    entries = np.unique(np.stack([row, events.query[event], events.site]), axis=1)
    own = Counter(zip(entries[1].tolist(), entries[2].tolist(), strict=True))
    texts, sites = events.texts.to_pylist(), events.sites.to_pylist()
    frequent = [(texts[query], sites[site]) for (query, site), _ in own.most_common(MOST_FREQUENT)]
    listed = zip(_texts(classes), second.texts.to_pylist(), classes.counts.tolist(), strict=True)
    guessed = sorted(listed, key=lambda pair: -pair[2])[:MOST_FREQUENT]
    found = {(query, site) for query, site, _ in guessed}
    return sum(pair in found for pair in frequent) / len(frequent)


def _texts(classes: Classes) -> list[str]:
    return [] if classes.texts is None else list(classes.texts.to_pylist())
