"""``report.html``: one page that says what was published, under which promise, at what loss.

The page is made from what is published and from counts; no original record is at hand here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.manifest import Manifest
from incrowd.methods.classes import Classes
from incrowd.records import Records
from incrowd.report.bound import bound_note
from incrowd.report.html import render, share
from incrowd.report.release_charts import charts
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["Cost", "render_report"]

SAMPLE_RECORDS = 12

LOSS_NOTES = {
    "ggd_norm": (
        "GGD / occurrences",
        "Distance to the originals. It forgives nothing: what is gone, also a copy that collapsed, costs 1.",
    ),
    "ncp": (
        "NCP",
        "Uncertainty of each original item. It forgives copies that collapse: a shorter record costs nothing.",
    ),
    "ic_norm": ("IC loss", "As GGD on a logarithmic scale: it cares whether the exact term survived."),
    "kept_exactly": ("Kept exactly", "Share of the original items that are published as the very item."),
}
UTILITY_NOTES = {
    "recall": (
        "Recall of patterns",
        "Of the 100 most frequent closed patterns, the share of items that the release's patterns still have.",
    ),
    "sdist": (
        "sDist of patterns",
        "Steps in the taxonomy, for each of their items, to the nearest pattern of the release; 0 is best.",
    ),
    "information_loss": (
        "L, likeness lost",
        "How differently people fall into groups of like interests before and after; 0 is best.",
    ),
    "linkage": (
        "RL, record linkage",
        "A risk: how often who knows all originals links a record with the right one; 0 is best.",
    ),
}


class Cost(NamedTuple):
    """What a job took: seconds of each step, and the most memory of the whole process."""

    seconds: Mapping[str, float]
    peak_mb: float


def render_report(
    manifest: Manifest,
    records: Records,
    taxonomy: Taxonomy,
    classes: Classes,
    lengths: npt.NDArray[np.int64],
    *,
    cost: Cost | None = None,
) -> str:
    """Render the page of a release; `lengths` are those of the original records that hold anything."""
    return render(
        "report.html",
        charts(manifest, records, taxonomy, classes, lengths),
        manifest=manifest,
        counts=manifest.counts,
        losses=_losses(manifest),
        length_before=lengths.mean(),
        length_after=manifest.losses["avg_length"],
        level=manifest.losses["avg_level"],
        unit=manifest.claim.unit,
        sample=_sample(records),
        cost=cost,
    )


def _losses(manifest: Manifest) -> list[tuple[str, str, str]]:
    """Return each measure's name, what it means, and its value for people."""
    losses, utility = manifest.losses, manifest.utility
    shown = {name: share(losses[name]) for name in LOSS_NOTES} | {
        "recall": share(utility["recall"]),
        "sdist": f"{utility['sdist']:.2f}",
        "information_loss": share(utility["information_loss"] / 100),
        "linkage": share(utility["linkage"] / 100),
    }
    more = {"ggd_norm": bound_note(manifest.bound)}
    notes = LOSS_NOTES | UTILITY_NOTES
    return [(notes[name][0], notes[name][1] + more.get(name, ""), value) for name, value in shown.items()]


def _sample(records: Records) -> list[tuple[int, list[tuple[str, int]]]]:
    """Return a few published records, evenly spaced through the table, with how many share each."""
    chosen = np.unique(np.linspace(0, len(records) - 1, min(SAMPLE_RECORDS, len(records))).astype(np.int64))
    columns = records.expand(chosen).to_pydict()
    bags = [list(zip(*row, strict=True)) for row in zip(columns["items"], columns["counts"], strict=True)]
    return list(zip(records.sizes[chosen].tolist(), bags, strict=True))
