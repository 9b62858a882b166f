"""What came of a job on a cluster, in the same shape as the local engine's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from incrowd.job import peak_megabytes
from incrowd.manifest import Manifest
from incrowd.verdict import Audit

__all__ = ["SparkOutcome"]


@dataclass(frozen=True)
class SparkOutcome:
    """What came of a job.

    Parameters
    ----------
    manifest, audit
        What the release says of itself, and what was found when it was recounted.
    summary, rejected, rejects_file
        What was counted while the input was read, rejected lines by reason, and where they are listed.
    listed, unlisted
        How many distinct items the taxonomy has and lacks.
    seconds, out
        What each step took, and where the release is.
    """

    manifest: Manifest
    audit: Audit
    summary: Mapping[str, int]
    rejected: Mapping[str, int]
    rejects_file: Path | None
    listed: int
    unlisted: int
    seconds: Mapping[str, float]
    out: Path

    def as_dict(self) -> dict[str, Any]:
        """Return the outcome as ``anonymize --json`` prints it; null is what a cluster does not measure."""
        said = self.manifest
        return {
            "method": said.method,
            "k": said.claim.k,
            **msgspec.structs.asdict(said.counts),
            "loss": dict(said.losses),
            "bound": None,
            "utility": None,
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
            "peak_rss_mb": peak_megabytes(),
            "claim": {
                **msgspec.to_builtins(said.claim.claim),
                "in_words": said.claim.in_words,
                "holds": self.audit.holds,
            },
            "parameters": dict(said.parameters),
            "input": dict(self.summary),
            "items": {"listed": self.listed, "unlisted": self.unlisted},
            "rejected": {
                "by_reason": dict(self.rejected),
                "file": str(self.rejects_file) if self.rejects_file else None,
            },
            "account": [step.partition(". ")[2] for step in said.account],
            "out": str(self.out),
        }

    def in_words(self) -> list[str]:
        """Return the outcome as lines for a terminal."""
        counts, losses, seconds = self.manifest.counts, self.manifest.losses, self.seconds
        steps = ", ".join(f"{name} {took:.1f}" for name, took in seconds.items() if took and name != "total")
        read = f"{self.summary['lines']:,} lines read, {self.summary['rejected']:,} rejected"
        unit = f"{counts.records_in:,} {self.manifest.claim.unit}s, {counts.withheld:,} of them withheld"
        out = f"{counts.records_out:,} records published, {counts.groups:,} distinct"
        lost = f"NCP {losses['ncp']:.2%}, GGD / occurrences {losses['ggd_norm']:.2%}"
        lines = [
            f"The audit confirms: {self.manifest.claim.in_words}",
            f"{read}; {unit}",
            f"{out}, the rarest shared by {counts.k_min:,}",
            f"{lost}, kept exactly {losses['kept_exactly']:.2%}",
            f"Took {seconds['total']:.1f} s ({steps}).",
            f"Release: {self.out}/",
        ]
        return lines + ([f"Rejects: {self.rejects_file}"] if self.rejects_file else [])
