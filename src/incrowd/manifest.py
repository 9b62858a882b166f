"""What a release says of itself: ``manifest.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from incrowd.claims import Claim, Promise
from incrowd.errors import BadInputError, ClaimError

__all__ = ["RELEASE_FORMAT", "Counts", "Manifest", "SpelledClaim", "read_manifest"]

RELEASE_FORMAT = "incrowd-release/1"


class SpelledClaim(Promise, frozen=True, kw_only=True):
    """A claim with its words."""

    in_words: str
    not_promised: list[str]

    @classmethod
    def of(cls, claim: Claim) -> SpelledClaim:
        """Spell a claim out."""
        return cls(
            **msgspec.structs.asdict(claim), in_words=claim.in_words, not_promised=list(claim.not_promised)
        )

    @property
    def claim(self) -> Claim:
        """The claim itself."""
        return Claim(**{name: getattr(self, name) for name in Claim.__struct_fields__})


class Counts(msgspec.Struct):
    """How many records came in, went out and were withheld; distinct ones; the smallest class; labels.

    `k_min` is the least number of records in a class, `people_min` the least number of different people.
    """

    records_in: int
    records_out: int
    withheld: int
    groups: int
    k_min: int
    people_min: int
    labels: int


class Manifest(msgspec.Struct):
    """Method, parameters, claim, counts, losses, utility, the bound of GGD, version, and a numbered account of what was done."""

    format: str
    incrowd: str
    method: str
    parameters: dict[str, Any]
    claim: SpelledClaim
    counts: Counts
    losses: dict[str, float]
    utility: dict[str, float]
    account: list[str]
    bound: dict[str, int | float] | None = None

    def text(self) -> str:
        """Return the manifest as it is written."""
        return json.dumps(msgspec.to_builtins(self), indent=2, ensure_ascii=False) + "\n"


def read_manifest(directory: Path) -> Manifest:
    """Read a release's manifest, or say that the directory is not a release.

    Raises
    ------
    BadInputError
        There is no manifest, or it is another program's.
    ClaimError
        It is one of ours, but it does not say what a release must say.
    """
    try:
        said = msgspec.json.decode((directory / "manifest.json").read_bytes())
    except OSError:
        raise BadInputError(
            f"{directory} is not a release: it has no manifest.json that can be read"
        ) from None
    except msgspec.DecodeError:
        raise BadInputError(f"{directory}: manifest.json is not valid JSON") from None
    if not isinstance(said, dict) or said.get("format") != RELEASE_FORMAT:
        raise BadInputError(f"{directory}: manifest.json is not of format {RELEASE_FORMAT}")
    try:
        return msgspec.convert(said, Manifest)
    except msgspec.ValidationError as error:
        place = str(error).rpartition(" - at ")[2].strip("`$.")
        raise ClaimError(
            f"{directory}: manifest.json is damaged at '{place}', so its claim cannot be checked"
        ) from None
