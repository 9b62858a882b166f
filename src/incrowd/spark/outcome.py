"""What came of a job on a cluster, in the same shape as the local engine's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from incrowd.claims import Claim
from incrowd.job import peak_megabytes
from incrowd.metrics import Losses
from incrowd.release_manifest import Counts
from incrowd.verdict import Audit

__all__ = ["SparkOutcome"]


@dataclass(frozen=True)
class SparkOutcome:
    """What came of a job.

    Parameters
    ----------
    method, parameters, claim, counts, losses, account
        What was done, what is promised, and what was counted and measured. For the owner.
    audit
        What was found when the release was recounted.
    summary, rejected, rejects_file
        What was counted while the input was read, rejected lines by reason, and where they are listed.
    listed, unlisted
        How many distinct items the taxonomy has and lacks.
    seconds, out
        What each step took, and where the release is.
    """

    method: str
    parameters: Mapping[str, Any]
    claim: Claim
    counts: Counts
    losses: Losses
    account: Sequence[str]
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
        return {
            "method": self.method,
            "k": self.claim.k,
            "claim": {
                **msgspec.to_builtins(self.claim),
                "in_words": self.claim.in_words,
                "not_promised": list(self.claim.not_promised),
                "holds": self.audit.holds,
            },
            "parameters": dict(self.parameters),
            "out": str(self.out),
            **msgspec.structs.asdict(self.counts),
            "loss": msgspec.to_builtins(self.losses),
            "bound": None,
            "utility": None,
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
            "peak_rss_mb": peak_megabytes(),
            "input": dict(self.summary),
            "items": {"listed": self.listed, "unlisted": self.unlisted},
            "rejected": {
                "by_reason": dict(self.rejected),
                "file": str(self.rejects_file) if self.rejects_file else None,
            },
            "account": list(self.account),
        }

    def in_words(self) -> list[str]:
        """Return the outcome as lines for a terminal."""
        counts, losses, seconds = self.counts, self.losses, self.seconds
        steps = ", ".join(f"{name} {took:.1f}" for name, took in seconds.items() if took and name != "total")
        read = f"{self.summary['lines']:,} lines read, {self.summary['rejected']:,} rejected"
        unit = f"{counts.records_in:,} {self.claim.unit}s, {counts.withheld:,} of them withheld"
        out = f"{counts.records_out:,} records published, {counts.groups:,} distinct"
        lost = f"NCP {losses.ncp:.2%}, GGD / occurrences {losses.ggd_norm:.2%}"
        lines = [
            f"The audit confirms: {self.claim.in_words}",
            *(f"  - {caveat}" for caveat in self.claim.not_promised),
            f"{read}; {unit}",
            f"{out}, the rarest shared by {counts.k_min:,}",
            f"{lost}, kept exactly {losses.kept_exactly:.2%}",
            f"Took {seconds['total']:.1f} s ({steps}).",
            f"Release: {self.out}/",
        ]
        return lines + ([f"Rejects: {self.rejects_file}"] if self.rejects_file else [])
