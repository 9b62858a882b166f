"""Checks of a manifest: every statement follows from the parameters and files, or is rounded as it must be."""

from __future__ import annotations

import json
from pathlib import Path

from incrowd.auditing.result import Audit
from incrowd.core.promises import FOLLOWING, Settings, promised, read_settings
from incrowd.core.rounding import at_least
from incrowd.errors import ClaimError
from incrowd.release.files.manifest import Headed, Manifest, SpelledClaim, Versions, account_of

__all__ = ["check_heading", "check_manifest"]

BY_CLUSTERS = frozenset(["flock", "partition"])


def check_manifest(directory: Path, manifest: Manifest, result: Audit) -> Settings:
    """Check that the manifest is spelt in its only way, and derive again what follows from its parameters."""
    here = Versions.here()
    if manifest.versions != here:
        raise ClaimError(
            f"the release was written by other versions than these (incrowd {here.incrowd}, pyarrow {here.pyarrow}), and its "
            "files can be compared only with the same: install those that its manifest names"
        )
    settings = read_settings(manifest.method, manifest.parameters)
    with result.checking("the manifest says what follows from its parameters, in its only spelling"):
        written = (directory / "manifest.json").read_bytes()
        claim = promised(settings, distinct=manifest.claim.distinct)
        result.require(
            wrong=manifest.claim.claim != claim,
            problem="the claim is not the one of this method and parameters",
        )
        result.require(
            wrong=manifest.claim != SpelledClaim.of(manifest.claim.claim),
            problem="the manifest's words, or what is not promised, are not those of its claim",
        )
        account = account_of(settings, claim, manifest.counts)
        result.require(
            wrong=manifest.account != account, problem="the manifest's account is not what its numbers say"
        )
        result.require(
            wrong=json.dumps(manifest.parameters) != json.dumps(settings.spelled),
            problem="the manifest's parameters are not spelt as they are",
        )
        _check_follows(settings, result)
        check_heading(manifest, result)
        _check_numbers(directory, manifest, settings, result)
        result.require(
            wrong=not result.problems and written != manifest.text().encode(),
            problem="manifest.json is not spelt as a manifest is: a key stands twice, or it holds something else",
        )
    return settings


def _check_follows(settings: Settings, result: Audit) -> None:
    """Check that only a release of people, by a method that can, follows others, and promises no more of all than of itself."""
    common = settings.common
    wrong = settings.method not in FOLLOWING or common.unit != "user"
    result.require(
        wrong=common.follows is not None and (wrong or common.follows > common.k),
        problem="the manifest says that the release follows others, which this method and unit do not, or with a larger k",
    )


def check_heading(manifest: Headed, result: Audit) -> None:
    """Check the form of title and date. What they say is the publisher's word, which nothing can confirm."""
    problem = manifest.heading.problem
    result.require(wrong=problem is not None, problem=f"the manifest's {problem}")


def _check_numbers(directory: Path, manifest: Manifest, settings: Settings, result: Audit) -> None:
    """Check that figures have no more digits than may leave, and that no number speaks of fewer than k."""
    figures = [manifest.losses, manifest.utility, manifest.bound, manifest.use]
    result.require(
        wrong=not all(figure.canonical for figure in figures if figure is not None),
        problem="the manifest's figures have more digits than may leave",
    )
    measured = settings.recountable
    result.require(
        wrong=(manifest.losses is not None) != measured or (manifest.utility is not None and not measured),
        problem="the manifest has figures that its records do not determine, or lacks those that they do",
    )
    in_parts = (directory / "records.parquet").is_dir()
    result.require(
        wrong=not measured if manifest.use is not None else measured and not in_parts,
        problem="the manifest's measures of use are not those of its method",
    )
    counts, least = manifest.counts, manifest.claim.claim.least
    numbers = (counts.withheld, counts.people_min)
    result.require(
        wrong=any(number != at_least(least, number if isinstance(number, int) else 0) for number in numbers),
        problem=f"the manifest has a number below {least} that it must not disclose",
    )
    bins, bound = manifest.lengths, manifest.bound
    edges = [one.least for one in bins]
    wrong = (
        not edges or edges[0] != 1 or edges != sorted(set(edges)) or any(edge & (edge - 1) for edge in edges)
    )
    alone = len(bins) > 1 and any(one.records < least for one in bins)
    result.require(
        wrong=wrong or alone or sum(one.records for one in bins) != counts.records_out,
        problem="the manifest's lengths are not those of its records, in bins of at least k",
    )
    result.require(
        wrong=bound is not None and not 0 < bound.rows <= counts.records_out,
        problem="the manifest's bound was found from more records than there are",
    )
    result.require(
        wrong=in_parts and manifest.method not in BY_CLUSTERS,
        problem="records.parquet is in parts, which this method does not write",
    )
