"""The runs of a comparison: which methods with which k, and what came of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from incrowd.claims import Kind, check_k
from incrowd.errors import BadInputError
from incrowd.methods import promise_of, read_parameters
from incrowd.metrics import Bound

__all__ = ["Run", "Setting", "parse_ks", "parse_methods"]


class Setting(NamedTuple):
    """A method with its own parameters, as ``partition:publish=bag`` names them."""

    label: str
    method: str
    parameters: Mapping[str, str]

    @property
    def kind(self) -> Kind:
        """What the method promises with these parameters."""
        return promise_of(self.method, read_parameters(self.method, self.parameters))

    @property
    def takes_k(self) -> bool:
        """Whether k means something to the method: noise does not know it."""
        return self.kind != "differential privacy"


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


def parse_methods(text: str) -> list[Setting]:
    """Read a list as ``partition,partition:publish=bag``; several parameters are separated by ``;``."""
    settings: dict[object, Setting] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        setting = _setting(part)
        own = read_parameters(setting.method, setting.parameters)
        settings.setdefault((setting.method, *own.items()), setting)
    if not settings:
        raise BadInputError("--methods must name a method, as in --methods partition,partition:publish=bag")
    return list(settings.values())


def parse_ks(text: str | None, methods: Sequence[Setting]) -> list[int]:
    """Read a list as ``2,5,10``; the result ascends. It may be missing if no method takes k."""
    if text is None and not any(setting.takes_k for setting in methods):
        return []
    ks = sorted({check_k(part.strip()) for part in (text or "").split(",") if part.strip()})
    if not ks:
        raise BadInputError("--k must hold a number, as in --k 2,5,10")
    return ks


def _setting(text: str) -> Setting:
    """Read one method with its parameters."""
    method, _, rest = (part.strip() for part in text.partition(":"))
    parameters = {}
    for part in filter(None, map(str.strip, rest.split(";"))):
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or not name:
            raise BadInputError(
                f"--methods takes parameters as NAME=VALUE, as in partition:publish=bag (got '{part}')"
            )
        parameters[name] = value
    given = ";".join(f"{name}={value}" for name, value in parameters.items())
    return Setting(f"{method}:{given}" if given else method, method, parameters)
