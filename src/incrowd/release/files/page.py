"""``report.html``: one page that says what was published, under which promise, at what loss.

The page is made from the other files of the release and from nothing else: the audit makes it again and compares.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from incrowd.core.claims import PARTS, plural_of
from incrowd.core.rounding import spelled
from incrowd.release.files.charts import charts
from incrowd.release.files.digest import Digest
from incrowd.release.files.manifest import Manifest
from incrowd.release.files.records import Label
from incrowd.release.files.telling import special_first
from incrowd.report.bound import bound_note
from incrowd.report.html import render, share
from incrowd.report.summary import summary_of
from incrowd.report.use import Purpose, purposes

__all__ = ["render_report"]

LOSS_NOTES = {
    "ggd_norm": (
        "Generalization loss (GGD)",
        "How much detail is lost for each original item; an item that is not published, also a collapsed copy, costs 1.",
    ),
    "ncp": (
        "Item uncertainty (NCP)",
        "How uncertain each original item has become. Copies that collapse into one cost nothing.",
    ),
    "ic_norm": (
        "Logarithmic loss (IC)",
        "Generalization loss on a logarithmic scale: losing the exact term costs more.",
    ),
    "kept_exactly": ("Kept exactly", "Share of the original items that are published unchanged."),
}
UTILITY_NOTES = {
    "recall": (
        "Pattern recall (Recall)",
        "Of the 100 most frequent closed patterns, the share of items that the release's patterns still have.",
    ),
    "sdist": (
        "Pattern distance (sDist)",
        "Taxonomy steps per item from those patterns to the nearest pattern of the release; 0 is best.",
    ),
    "information_loss": (
        "Change of user groups (L)",
        "How differently people are grouped by similar interests before and after; 0 is best.",
    ),
    "linkage": (
        "Record linkage (RL)",
        "A risk: share of records re-linked to their owners by an attacker who has the originals; 0 is best.",
    ),
}


def render_report(manifest: Manifest, digest: Digest, levels: Mapping[Label, int]) -> str:
    """Render the page of a release; see :func:`incrowd.release.files.charts.charts`."""
    return render(
        "report.html",
        charts(manifest, digest, levels),
        manifest=manifest,
        summary=summary_of(manifest.claim),
        purposes=_purposes(manifest),
        at_k=digest.fewer_than(manifest.claim.claim.least + 1),
        linkage=_linkage(manifest),
        counts=manifest.counts,
        losses=_losses(manifest),
        units=plural_of(manifest.claim.unit),
        is_part=manifest.claim.unit in PARTS,
        sample=_sample(digest),
        number=spelled,
    )


def _purposes(manifest: Manifest) -> list[Purpose]:
    """Return what the records can be used for."""
    use = manifest.use
    return purposes(
        {} if use is None else msgspec.to_builtins(use), _whole_people(manifest), people_are_served=True
    )


def _whole_people(manifest: Manifest) -> str:
    """Say how much of whole people is left."""
    claim, losses = manifest.claim, manifest.losses
    one = "person" if claim.unit == "user" else claim.unit
    said = f"Each {one} is one record"
    if claim.speaks_of == "class":
        said += ", which describes all who share it together"
    if losses is None:
        return f"{said}; what is lost is not measured."
    return f"{said}; {share(losses.kept_exactly)} of the items are published as themselves, {share(losses.ggd_norm)} of the detail is lost."


def _linkage(manifest: Manifest) -> str:
    return "not measured" if manifest.utility is None else share(manifest.utility.linkage / 100)


def _losses(manifest: Manifest) -> list[tuple[str, str, str]]:
    """Return each measure's name, what it means, and its value for people."""
    losses, utility = manifest.losses, manifest.utility
    if losses is None:
        return []
    values = {name: share(getattr(losses, name)) for name in LOSS_NOTES}
    if utility is not None:
        values |= {
            "recall": share(utility.recall),
            "sdist": f"{utility.sdist:.2f}",
            "information_loss": share(utility.information_loss / 100),
            "linkage": share(utility.linkage / 100),
        }
    bound = None if manifest.bound is None else msgspec.structs.asdict(manifest.bound)
    more = {"ggd_norm": bound_note(bound)}
    notes = LOSS_NOTES | UTILITY_NOTES
    return [(notes[name][0], notes[name][1] + more.get(name, ""), value) for name, value in values.items()]


def _sample(digest: Digest) -> list[tuple[int, list[tuple[str, bool, int]]]]:
    """Return a few published records, each by what is special in it, with how many share it; the most special first."""
    chosen = [(special_first(*record, digest.rows_with), size) for _, size, record in digest.sample]
    chosen.sort(key=lambda one: ([digest.rows_with[label] for label, _ in one[0]], one[0]))
    return [(size, [(text, exact, count) for (text, exact), count in record]) for record, size in chosen]
