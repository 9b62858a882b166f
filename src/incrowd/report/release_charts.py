"""The charts of a release's report, from what is published and from counts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from incrowd.manifest import Manifest
from incrowd.methods.classes import Classes
from incrowd.records import Records
from incrowd.report.vega import Spec
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["CHARTS", "bins_of_at_least", "charts"]

Ints = npt.NDArray[np.int64]

CHARTS = ("loss", "fate", "sizes", "levels", "lengths", "items")
MOST_PUBLISHED = 20
BAR_STEP = 24
LEAST_EDGES = 2


def charts(
    manifest: Manifest, records: Records, taxonomy: Taxonomy, classes: Classes, lengths: Ints
) -> dict[str, Spec]:
    """Return the specification of each chart, by the name of its place in the page.

    Parameters
    ----------
    manifest, records, taxonomy, classes
        The release.
    lengths
        How many items each original record that holds any had. They are shown in groups of at least k.
    """
    return {
        "loss": _bars(*_losses(manifest), "share", ".1%"),
        "fate": _bars(*_fate(manifest, int(lengths.sum())), "share of the original items", ".1%"),
        "sizes": _bars(*_class_sizes(records.sizes), "distinct records", ","),
        "levels": _bars(*_levels(taxonomy, classes), "published items", ","),
        "lengths": _lengths(records, lengths, manifest.claim.k),
        "items": _bars(*_most_published(records), "records", ","),
    }


def _bars(labels: Sequence[str], values: Sequence[float], what: str, form: str) -> Spec:
    """Return horizontal bars with their numbers beside them."""
    tooltip = [{"field": "label", "title": " "}, {"field": "value", "title": what, "format": form}]
    return {
        "data": {"values": [{"label": a, "value": b} for a, b in zip(labels, values, strict=True)]},
        "width": "container",
        "height": {"step": BAR_STEP},
        "encoding": {
            "y": {"field": "label", "type": "nominal", "sort": None, **_quiet(200)},
            # Room for the number at the end of the longest bar.
            "x": _amount("value", what, max([*values, 1e-9]) * 1.2),
            "tooltip": tooltip,
        },
        "layer": [
            {"mark": {"type": "bar", "cornerRadiusEnd": 2}},
            {
                "mark": {"type": "text", "align": "left", "dx": 4},
                "encoding": {"text": {"field": "value", "format": form}},
            },
        ],
    }


def _quiet(limit: int) -> Spec:
    return {"title": None, "axis": {"ticks": False, "domain": False, "labelLimit": limit, "labelPadding": 6}}


def _amount(field: str, title: str, highest: float) -> Spec:
    axis = {"labels": False, "ticks": False, "domain": False, "grid": False}
    scale = {"domain": [0, highest], "nice": False}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis}


def _losses(manifest: Manifest) -> tuple[list[str], list[float]]:
    names = {"ggd_norm": "GGD / occurrences", "ncp": "NCP", "ic_norm": "IC loss"}
    return list(names.values()), [manifest.losses[name] for name in names]


def _fate(manifest: Manifest, occurrences: int) -> tuple[list[str], list[float]]:
    """Return what became of the original items: published as such, as something more general, or not at all."""
    kept = manifest.losses["kept_exactly"]
    published = manifest.losses["avg_length"] * manifest.counts.records_out / max(occurrences, 1)
    names = ["published as such", "published as something more general", "not published"]
    if manifest.claim.speaks_of == "class":
        published = kept
    # With sets, an item that repeats counts as kept at every copy, though it is published once.
    return names, [kept, max(published - kept, 0.0), max(1 - max(published, kept), 0.0)]


def _class_sizes(sizes: Ints) -> tuple[list[str], list[int]]:
    """Count distinct records by how many share them, in bins that double."""
    smallest, largest = int(sizes.min()), int(sizes.max())
    edges = [smallest, smallest + 1]
    while edges[-1] <= largest:
        edges.append(edges[-1] * 2)
    return _bin_names(edges), np.histogram(sizes, bins=_whole(edges))[0].tolist()


def _levels(taxonomy: Taxonomy, classes: Classes) -> tuple[list[str], list[int]]:
    """Count published items by their level in the taxonomy."""
    weight = np.repeat(classes.sizes, np.diff(classes.start)) * classes.counts
    counts = np.bincount(taxonomy.level[classes.nodes], weights=weight).astype(int).tolist()[1:]
    names = [f"level {level}" for level in range(1, len(counts) + 1)]
    if names:
        names[0] += " (the root)"
    return names, counts


def _most_published(records: Records) -> tuple[list[str], list[int]]:
    """Return the labels that most records carry."""
    rows = np.bincount(
        records.rank, weights=np.repeat(records.sizes, np.diff(records.start)), minlength=len(records.labels)
    ).astype(int)
    top = np.argsort(-rows, kind="stable")[:MOST_PUBLISHED]
    return [records.labels[int(i)].as_py() for i in top], rows[top].tolist()


def _lengths(records: Records, before: Ints, k: int) -> Spec:
    """Return how many records have how many items, before and after."""
    after = np.repeat(_published_lengths(records), records.sizes)
    edges = bins_of_at_least(k, before, int(after.max(initial=1)))
    values = [
        {"length": name, "when": when, "records": count}
        for when, lengths in (("before", before), ("after", after))
        for name, count in zip(
            _bin_names(edges), np.histogram(lengths, bins=_whole(edges))[0].tolist(), strict=True
        )
    ]
    when = {"field": "when", "type": "nominal", "sort": None}
    return {
        "data": {"values": values},
        "width": "container",
        "height": {"step": BAR_STEP / 2, "for": "offset"},
        "mark": {"type": "bar", "cornerRadiusEnd": 2},
        "encoding": {
            "y": {"field": "length", "type": "nominal", "sort": None, **_quiet(200)},
            "yOffset": when,
            "x": {"field": "records", "type": "quantitative", "title": "records", "axis": {"tickCount": 5}},
            "color": {**when, "legend": {"title": None, "orient": "top"}},
            "tooltip": [{"field": "length"}, {"field": "when"}, {"field": "records", "format": ","}],
        },
    }


def _published_lengths(records: Records) -> Ints:
    """Return how many items each distinct record has, copies counted."""
    total = np.concatenate(([0], np.cumsum(records.counts, dtype=np.int64)))
    return np.diff(total[records.start])


def bins_of_at_least(k: int, values: Ints, largest: int) -> list[int]:
    """Return edges that double from 1, joined until each bin holds no original value, or at least k.

    One person with an odd number of items would otherwise be seen in the chart.
    """
    edges = [1, 2]
    while edges[-1] <= max(largest, int(values.max(initial=1))):
        edges.append(edges[-1] * 2)
    while len(edges) > LEAST_EDGES:
        counts = np.histogram(values, bins=_whole(edges))[0]
        lonely = np.flatnonzero((counts > 0) & (counts < k))
        if len(lonely) == 0:
            break
        del edges[max(lonely[-1], 1)]  # joined with the bin below it, or the lowest with the one above
    return edges


def _whole(edges: Sequence[int]) -> list[float]:
    """Return edges between whole numbers: the last bin of a histogram would else take in its upper edge."""
    return [edge - 0.5 for edge in edges]


def _bin_names(edges: Sequence[int]) -> list[str]:
    return [f"{a:,}" if b == a + 1 else f"{a:,} to {b - 1:,}" for a, b in pairwise(edges)]
