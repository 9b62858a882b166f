"""One run of a comparison: a method with a k, and what came of it."""

from __future__ import annotations

from typing import Any

import msgspec

from incrowd.core.claims import Kind
from incrowd.metrics import Bound

__all__ = ["Run"]


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One method with one k: what it promises, whether the audit confirms it, and what it loses.

    Losses and other measures have four digits.

    Parameters
    ----------
    label, method, parameters, k
        What ran; the parameters are the method's own, defaults included. k is None for a method that has none.
    kind, promise
        The kind of promise, and the promise as a sentence (none where the method failed).
    private
        Whether all numbers are the owner's alone: they are measured on the originals, and a promise of differential
        privacy does not cover them.
    holds
        Whether the audit of the written release confirms the promise; None where there is no release, and where noise
        leaves nothing to recount.
    error
        Why there is no release, or why the promise does not hold.
    ncp, ggd_norm, ic_norm, kept_exactly, blm, avg_length, avg_level
        See :class:`incrowd.metrics.Losses`.
    bound
        See :class:`incrowd.metrics.Bound`; None where it does not hold for a release of this kind.
    recall, sdist, information_loss, linkage
        See :class:`incrowd.metrics.Utility`.
    groups, k_min, people_min, withheld
        Distinct records, the least number of records and of different people in a class, records that are not
        published.
    seconds
        Of the method alone: no reading, no measuring, no audit.
    peak_mb
        The most memory that the process has had so far; it never falls from run to run.
    """

    label: str
    method: str
    parameters: dict[str, Any]
    k: int | None
    kind: Kind
    private: bool = False
    promise: str | None = None
    holds: bool | None = None
    error: str | None = None
    ncp: float | None = None
    ggd_norm: float | None = None
    ic_norm: float | None = None
    kept_exactly: float | None = None
    blm: float | None = None
    avg_length: float | None = None
    avg_level: float | None = None
    bound: Bound | None = None
    recall: float | None = None
    sdist: float | None = None
    information_loss: float | None = None
    linkage: float | None = None
    groups: int | None = None
    k_min: int | None = None
    people_min: int | None = None
    withheld: int | None = None
    seconds: float | None = None
    peak_mb: float | None = None

    @property
    def failed(self) -> bool:
        """Whether nothing came of it."""
        return self.promise is None

    @property
    def title(self) -> str:
        """What ran, for a message."""
        return self.label if self.k is None else f"{self.label} with k = {self.k}"
