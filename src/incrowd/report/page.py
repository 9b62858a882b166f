"""``report.html``: one page that says what was published, under which promise, at what loss.

The page is made from what is published and from counts; no original record is at hand here.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import jinja2
import numpy as np
import numpy.typing as npt

from incrowd.manifest import Manifest
from incrowd.methods.classes import Classes
from incrowd.records import Records
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["render_report", "share", "template"]

SAMPLE_RECORDS = 12
MOST_PUBLISHED = 20
SIZE_BINS = 12
SMALL_SHARE = 0.01

LOSS_NOTES = {
    "ncp": (
        "NCP",
        "Uncertainty of each original item, 0 % to 100 %. It forgives copies that collapse into one.",
    ),
    "ggd_norm": (
        "GGD / occurrences",
        "Generalization distance: also charges for every item that is no longer there.",
    ),
    "ic_norm": ("IC loss", "The same on a logarithmic scale: it cares whether the exact term survived."),
    "kept_exactly": ("Kept exactly", "Share of the original items that are published as the very item."),
}


class Bar(NamedTuple):
    """One bar of a chart: what it is, how much, and its length in percent of the longest."""

    label: str
    value: int
    width: float


def render_report(manifest: Manifest, records: Records, taxonomy: Taxonomy, classes: Classes) -> str:
    """Render the page of a release."""
    return template("report.html").render(
        manifest=manifest,
        counts=manifest.counts,
        losses=[(*LOSS_NOTES[name], share(manifest.losses[name])) for name in LOSS_NOTES],
        lengths=manifest.losses,
        sizes=_class_sizes(records.sizes),
        levels=_levels(taxonomy, classes),
        items=_most_published(records),
        sample=_sample(records),
    )


@cache
def template(name: str) -> jinja2.Template:
    """Return one of the pages' templates; everything it shows is escaped."""
    loader = jinja2.PackageLoader("incrowd.report", "templates")
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    return environment.get_template(name)


def share(value: float) -> str:
    """Write a share as a percentage; small ones with more digits."""
    return f"{value:.1%}" if value == 0 or value >= SMALL_SHARE else f"{value:.2%}"


def _bars(labels: list[str], values: list[int]) -> list[Bar]:
    longest = max(values, default=0) or 1
    return [Bar(label, value, 100 * value / longest) for label, value in zip(labels, values, strict=True)]


def _class_sizes(sizes: npt.NDArray[np.int64]) -> list[Bar]:
    """Count distinct records by how many share them, in bins that double."""
    smallest, largest = int(sizes.min()), int(sizes.max())
    edges = [smallest, smallest + 1]
    while edges[-1] <= largest and len(edges) < SIZE_BINS:
        edges.append(edges[-1] * 2)
    edges[-1] = max(edges[-1], largest + 1)
    counts = np.histogram(sizes, bins=edges)[0].tolist()
    names = [f"{a:,}" if b == a + 1 else f"{a:,} to {b - 1:,}" for a, b in pairwise(edges)]
    return _bars(names, counts)


def _levels(taxonomy: Taxonomy, classes: Classes) -> list[Bar]:
    """Count published items by their level in the taxonomy."""
    weight = np.repeat(classes.sizes, np.diff(classes.start)) * classes.counts
    counts = np.bincount(taxonomy.level[classes.nodes], weights=weight).astype(int).tolist()[1:]
    names = [f"{level}" for level in range(1, len(counts) + 1)]
    if names:
        names[0] += " (root)"
    return _bars(names, counts)


def _most_published(records: Records) -> list[Bar]:
    """Return the labels that most records carry."""
    rows = np.bincount(
        records.rank, weights=np.repeat(records.sizes, np.diff(records.start)), minlength=len(records.labels)
    ).astype(int)
    top = np.argsort(-rows, kind="stable")[:MOST_PUBLISHED]
    return _bars([records.labels[int(i)].as_py() for i in top], rows[top].tolist())


def _sample(records: Records) -> list[tuple[int, list[tuple[str, int]]]]:
    """Return a few published records, evenly spaced through the table, with how many share each."""
    chosen = np.unique(np.linspace(0, len(records) - 1, min(SAMPLE_RECORDS, len(records))).astype(np.int64))
    columns = records.expand(chosen).to_pydict()
    bags = [list(zip(*row, strict=True)) for row in zip(columns["items"], columns["counts"], strict=True)]
    return list(zip(records.sizes[chosen].tolist(), bags, strict=True))
