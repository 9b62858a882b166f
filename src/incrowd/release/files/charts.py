"""The charts of a release's report, from what is published and from its manifest alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from incrowd.release.files.digest import Digest
from incrowd.release.files.manifest import Bin, Manifest
from incrowd.release.files.records import Label, shown
from incrowd.report.vega import Spec

__all__ = ["charts"]

MOST_PUBLISHED = 20
BAR_STEP = 24


def charts(manifest: Manifest, digest: Digest, levels: Mapping[Label, int]) -> dict[str, Spec]:
    """Return the specification of each chart, by the name of its place in the page.

    Parameters
    ----------
    manifest, digest
        The release, and its records in sums.
    levels
        The level of each published label in the published taxonomy.
    """
    measured = {
        "loss": _bars(*_losses(manifest), "share", ".1%"),
        "fate": _bars(*_fate(manifest), "share of the original items", ".1%"),
    }
    return (measured if manifest.losses is not None else {}) | {
        "sizes": _bars(*_class_sizes(digest), "distinct records", ","),
        "levels": _bars(*_levels(digest, levels), "published items", ","),
        "lengths": _lengths(digest, manifest.lengths),
        "items": _bars(*_most_published(digest), "records", ","),
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
    losses = manifest.losses
    values = [0.0] * 3 if losses is None else [losses.ggd_norm, losses.ncp, losses.ic_norm]
    return ["generalization loss (GGD)", "item uncertainty (NCP)", "logarithmic loss (IC)"], values


def _fate(manifest: Manifest) -> tuple[list[str], list[float]]:
    """Return what became of the original items."""
    kept = 0.0 if manifest.losses is None else manifest.losses.kept_exactly
    return ["published as such", "published as something more general, or not"], [kept, 1 - kept]


def _class_sizes(digest: Digest) -> tuple[list[str], list[int]]:
    """Count distinct records by how many share them, in bins that double."""
    smallest, largest = min(digest.sizes), max(digest.sizes)
    edges = [smallest, smallest + 1]
    while edges[-1] <= largest:
        edges.append(edges[-1] * 2)
    sizes, numbers = list(digest.sizes), list(digest.sizes.values())
    counts = np.histogram(sizes, bins=_whole(edges), weights=numbers)[0]
    return _bin_names(edges), counts.astype(int).tolist()


def _levels(digest: Digest, levels: Mapping[Label, int]) -> tuple[list[str], list[int]]:
    """Count published items by their level in the published taxonomy."""
    counts = [0] * max(levels.values(), default=1)
    for label, copies in digest.copies.items():
        counts[levels[label] - 1] += copies
    names = [f"level {level}" for level in range(1, len(counts) + 1)]
    names[0] += " (the root)"
    return names, counts


def _most_published(digest: Digest) -> tuple[list[str], list[int]]:
    """Return the labels that most records carry."""
    top = sorted(digest.rows_with.items(), key=lambda one: (-one[1], one[0]))[:MOST_PUBLISHED]
    return [shown(label) for label, _ in top], [rows for _, rows in top]


def _lengths(digest: Digest, before: Sequence[Bin]) -> Spec:
    """Return how many records have how many items, before and after; the last bin is open."""
    edges = [one.least for one in before]
    names = [*_bin_names(edges), f"{edges[-1]:,} or more"]
    lengths, rows = list(digest.lengths), list(digest.lengths.values())
    after = np.histogram(lengths, bins=[*_whole(edges), np.inf], weights=rows)[0].astype(int).tolist()
    values = [
        {"length": name, "when": when, "records": count}
        for when, counts in (("before", [one.records for one in before]), ("after", after))
        for name, count in zip(names, counts, strict=True)
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


def _whole(edges: Sequence[int]) -> list[float]:
    """Return edges between whole numbers: the last bin of a histogram would else take in its upper edge."""
    return [edge - 0.5 for edge in edges]


def _bin_names(edges: Sequence[int]) -> list[str]:
    return [f"{a:,}" if b == a + 1 else f"{a:,} to {b - 1:,}" for a, b in pairwise(edges)]
