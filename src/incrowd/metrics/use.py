"""What a release is of use for: how far off an analyst's counts of items and pairs are, made from what is published alone.

A release is a multiset of sets of labels (:mod:`incrowd.metrics.published`) over N units. An analyst who counts an item x takes the
units that are published with x, and for each published node v above it the units of v, shared equally among the leaves below v.
How often two items are together is estimated as :mod:`incrowd.metrics.together` says: from whole records, or from pieces of units that are together
as often as by chance. Where nothing published says when, an analyst spreads n'(x) evenly over the weeks of the log.
Where there are items of several kinds, all measures but the last two are of words alone.

The analyst is assumed to know N, the number of all units, where chance is reckoned with: tiles say two digits of it, lists nothing.
"""

from __future__ import annotations

import msgspec
import numpy as np

from incrowd.core.classes import Classes
from incrowd.core.ragged import list_sums
from incrowd.core.tiles import Tiles
from incrowd.core.transactions import Transactions, Weeks
from incrowd.core.types import Bools, Floats, Ints32, Ints64
from incrowd.kernels.jit import kernel
from incrowd.metrics.published import (
    ExactSets,
    Kept,
    PublishedSets,
    exact_sets,
    kept_of_classes,
    kept_of_tiles,
    sets_of_classes,
)
from incrowd.metrics.together import Counts, FromPieces, FromRecords, OfOriginals, estimated_units
from incrowd.metrics.top_pairs import Pairs, first_of, top_pairs
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Use", "use_of_classes", "use_of_tiles"]

MOST_FREQUENT = 1_000
TREND_ITEMS = 100


class Use(msgspec.Struct, frozen=True):
    """Measures of use; None where one has no meaning.

    Parameters
    ----------
    kept_exactly
        The share of all items of units that are published as themselves. None of a list, which has no one's items.
    items_error
        How far off counts are, on average over the 1,000 most frequent items: abs(n - n') / max(n, n').
    pairs_recall, pairs_error
        How many of the 1,000 most frequent pairs are among the 1,000 that an analyst takes for such, and how far off their counts
        are, as for items.
    links_kept
        Pairs of items that are published as themselves and together, of all pairs of items in units. None of a list.
    trend_error
        How far off weekly counts are, on average over the weeks and the 100 most frequent items. None where the log has no times or
        fewer than two weeks.
    clicks_recall
        How many of the 1,000 most frequent pairs of an item and a clicked address are among the 1,000 that an analyst takes for
        such; 0 where clicks are not published, and None where the log has none.
    """

    kept_exactly: float | None
    items_error: float
    pairs_recall: float
    pairs_error: float
    links_kept: float | None
    trend_error: float | None
    clicks_recall: float | None


def use_of_classes(data: Transactions, tree: Taxonomy, classes: Classes) -> Use:
    """Measure what published records, or a list of noisy counts, are of use for.

    Parameters
    ----------
    data, tree
        The units, and the taxonomy that their items are attached to.
    classes
        What is published of them.
    """
    published = sets_of_classes(classes, tree)
    exact, leaf, units = (
        exact_sets(published, tree),
        _leaf_ranks(data, tree),
        estimated_units(published, tree),
    )
    kept = kept_of_classes(data.indptr, leaf, classes, exact, tree.leaf_count)
    if classes.copies is not None:  # a list does not say what is beside a query
        return _measured(data, leaf, FromPieces(exact, units, len(data)), kept, tree)
    return _measured(data, leaf, FromRecords(published, tree, units), kept, tree)


def use_of_tiles(data: Transactions, tree: Taxonomy, tiles: Tiles) -> Use:
    """Measure what tiles are of use for; their units may be rounded, or count people a few times only."""
    published = PublishedSets.of(tiles.start, tiles.nodes, tiles.units)
    exact = exact_sets(published, tree)
    words = exact_sets(published, tree, only=_of_kind(None, tree))
    kept = kept_of_tiles(words, np.bincount(tiles.held, minlength=len(tiles)))
    read = FromPieces(exact, estimated_units(published, tree), len(data))
    return _measured(data, _leaf_ranks(data, tree), read, kept, tree)


def _leaf_ranks(data: Transactions, tree: Taxonomy) -> Ints32:
    assert tree.item_leaf is not None  # noqa: S101 - the items are attached
    return tree.item_leaf[data.items]


def _of_kind(kind: str | None, tree: Taxonomy) -> Bools:
    """Tell which leaves are of a kind; None: words."""
    if tree.kind is None:
        return np.full(tree.leaf_count, kind is None)
    found: Bools = tree.kind[tree.leaf_nodes] == (0 if kind is None else 1 + tree.kinds.index(kind))
    return found


def _measured(data: Transactions, leaf: Ints32, read: Counts, kept: Kept | None, tree: Taxonomy) -> Use:
    """Hold what an analyst counts against what there is."""
    own = OfOriginals(ExactSets(data.indptr, leaf, np.ones(len(data), np.int64)), len(read.units))
    words = _of_kind(None, tree)
    top = first_of(np.where(words, own.units, 0), MOST_FREQUENT)
    frequent = top_pairs(own, MOST_FREQUENT, (words, words))
    lengths = list_sums(data.indptr, words[leaf].astype(np.int64))
    return Use(
        kept_exactly=kept and _share(kept.items, int(lengths.sum())),
        items_error=_error(own.units[top], read.units[top]),
        pairs_recall=_recall(frequent, top_pairs(read, MOST_FREQUENT, (words, words))),
        pairs_error=_error(frequent.units, _estimates_of(frequent, read)),
        links_kept=kept and _share(kept.links, (lengths * (lengths - 1) // 2).sum()),
        trend_error=_trend_error(data, own, read, top[:TREND_ITEMS], tree),
        clicks_recall=_clicks_recall(data, own, read, words, tree),
    )


def _recall(frequent: Pairs, guessed: Pairs) -> float:
    """Return how many of the most frequent pairs are among those that an analyst takes for such."""
    found = set(zip(guessed.first.tolist(), guessed.second.tolist(), strict=True))
    pairs = list(zip(frequent.first.tolist(), frequent.second.tolist(), strict=True))
    return _share(sum(pair in found for pair in pairs), len(pairs))


def _clicks_recall(
    data: Transactions, own: OfOriginals, read: Counts, words: Bools, tree: Taxonomy
) -> float | None:
    """Return how many of the most frequent pairs of a word (or query) and a clicked address are found."""
    if "url" not in tree.kinds:
        return 0.0 if data.has_clicks else None
    among = words, _of_kind("url", tree)
    return _recall(top_pairs(own, MOST_FREQUENT, among), top_pairs(read, MOST_FREQUENT, among))


def _share(part: float, of: float) -> float:
    """Return a share, at most 1: published numbers that were rounded up can exceed what there is."""
    return min(float(part / of), 1.0) if of else 1.0


def _error(counted: Floats, estimated: Floats) -> float:
    """Return the mean of abs(n - n') / max(n, n'); where both are 0, nothing is off."""
    larger = np.maximum(counted, estimated)
    off = np.divide(np.abs(counted - estimated), larger, out=np.zeros_like(larger), where=larger > 0)
    return float(off.mean()) if off.size else 0.0


def _estimates_of(pairs: Pairs, read: Counts) -> Floats:
    """Return the estimates of some pairs."""
    items = np.unique(np.concatenate((pairs.first, pairs.second)))
    return read.together(items)[np.searchsorted(items, pairs.first), np.searchsorted(items, pairs.second)]


def _trend_error(
    data: Transactions, own: OfOriginals, read: Counts, top: Ints64, tree: Taxonomy
) -> float | None:
    """Return how far off the counts of some leaves are, week by week; None where nothing says when."""
    if "week" not in tree.kinds:
        return data.weeks and _error_if_even(data.weeks, own, read.units, top)
    weeks = np.flatnonzero(_of_kind("week", tree))
    both = np.sort(np.concatenate((top, weeks)))  # words come first
    at = np.searchsorted(both, top)[:, None], np.searchsorted(both, weeks)
    return _error(own.together(both)[at], read.together(both)[at])


def _error_if_even(weeks: Weeks, own: OfOriginals, estimated: Floats, top: Ints64) -> float:
    """Return how far off the counts of some leaves are, week by week, if each is spread evenly."""
    place = np.full(len(estimated), -1, dtype=np.int32)
    place[top] = np.arange(len(top), dtype=np.int32)
    counted = _count_weeks(
        own.sets.start, place[own.sets.leaf], weeks.start, weeks.week, (len(top), weeks.number)
    )
    return _error(counted, np.broadcast_to(estimated[top, None] / weeks.number, counted.shape))


@kernel
def _count_weeks(
    start: Ints64, place: Ints32, week_start: Ints64, week: Ints32, shape: tuple[int, int]
) -> Floats:
    """Count units by item and week; a unit of several weeks counts in each of them, in equal parts."""
    counted = np.zeros(shape)
    for row in range(len(start) - 1):
        active = week_start[row + 1] - week_start[row]
        for i in range(start[row], start[row + 1]):
            if place[i] >= 0:
                for at in range(week_start[row], week_start[row + 1]):
                    counted[place[i], week[at]] += 1 / active
    return counted
