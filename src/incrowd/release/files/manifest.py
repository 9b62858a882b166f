"""What a release says of itself: ``manifest.json``, closed and typed, in one spelling.

Every field is derived from the others, recounted from the files, or recounted from the originals. There is no room
for anything else: an unknown field, a key that stands twice, another order or spelling is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Self

import msgspec
import pyarrow as pa

from incrowd.core.claims import Claim, Promise
from incrowd.core.promises import Settings
from incrowd.core.rounding import four_digits, spelled
from incrowd.errors import BadInputError, ClaimError
from incrowd.release.files.heading import Heading
from incrowd.version import __version__

__all__ = [
    "LIST_FORMAT",
    "RELEASE_FORMAT",
    "TILES_FORMAT",
    "Bin",
    "BoundFigures",
    "Figures",
    "Headed",
    "LossFigures",
    "Manifest",
    "PublishedCounts",
    "SpelledClaim",
    "UseFigures",
    "UtilityFigures",
    "Versions",
    "account_of",
    "canonical_text",
    "format_of",
    "read_manifest",
    "said_of_moves",
]

RELEASE_FORMAT = "incrowd-release/3"
LIST_FORMAT = "incrowd-list/1"
TILES_FORMAT: Final = "incrowd-tiles/3"
MOST_BYTES = 1024**2
OLDER_FORMATS = ("incrowd-release/1", "incrowd-release/2", "incrowd-tiles/1", "incrowd-tiles/2")
Few = int | Annotated[str, msgspec.Meta(pattern=r"^fewer than [0-9]{1,18}\Z")]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Figure = Annotated[float, msgspec.Meta(ge=0)]


class Closed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a manifest; a field that it does not have is refused."""


class SpelledClaim(Promise, frozen=True, kw_only=True, forbid_unknown_fields=True):
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


class PublishedCounts(Closed, frozen=True, forbid_unknown_fields=True):
    """Records published, distinct ones, how many share the rarest, labels, items a record and their level on average.

    `people_min` is the least number of different people who share a record; `withheld` counts records that are not
    published. Both say ``"fewer than k"`` where they speak of fewer than k people.
    """

    records_out: int
    groups: int
    k_min: int
    labels: int
    avg_length: Figure
    avg_level: Figure
    people_min: Few
    withheld: Few


class Figures(Closed, frozen=True, forbid_unknown_fields=True):
    """Measures on the originals, with four digits."""

    @classmethod
    def of(cls, measured: Mapping[str, Any]) -> Self:
        """Round what was measured."""
        return cls(**{name: _rounded(measured[name]) for name in cls.__struct_fields__})

    @property
    def canonical(self) -> bool:
        """Whether no figure has more digits than may leave."""
        return all(_rounded(value) == value for value in msgspec.structs.astuple(self))


def _rounded(value: Any) -> Any:
    return four_digits(value) if isinstance(value, float) else value


class LossFigures(Figures, frozen=True, forbid_unknown_fields=True):
    """See :class:`incrowd.metrics.Losses`: shares of the original items, with four decimals."""

    ncp: Share
    ggd_norm: Share
    ic_norm: Share
    kept_exactly: Share
    blm: Share

    @classmethod
    def of(cls, measured: Mapping[str, Any]) -> Self:
        """Round what was measured."""
        return cls(**{name: round(float(measured[name]), 4) for name in cls.__struct_fields__})


class UtilityFigures(Figures, frozen=True, forbid_unknown_fields=True):
    """See :class:`incrowd.metrics.Utility`."""

    recall: Share
    sdist: Figure
    information_loss: float
    linkage: Figure


class UseFigures(Figures, frozen=True, forbid_unknown_fields=True):
    """See :class:`incrowd.metrics.use.Use`."""

    kept_exactly: Share
    items_error: Share
    pairs_recall: Share
    pairs_error: Share
    links_kept: Share
    trend_error: Share | None
    clicks_recall: Share | None


class BoundFigures(Figures, frozen=True, forbid_unknown_fields=True):
    """See :class:`incrowd.metrics.Bound`."""

    ggd_norm: float
    error: Figure
    rows: int


class Bin(Closed, frozen=True, forbid_unknown_fields=True):
    """So many records had at least so many items, and fewer than the next bin's; the last bin is open."""

    least: Annotated[int, msgspec.Meta(ge=1)]
    records: int


class Versions(Closed, frozen=True, forbid_unknown_fields=True):
    """The program that wrote the release, and the library that wrote its Parquet files."""

    incrowd: str
    pyarrow: str

    @classmethod
    def here(cls) -> Versions:
        """Return the versions that run now."""
        return cls(__version__, pa.__version__)


class Headed(Closed, frozen=True, forbid_unknown_fields=True):
    """What every manifest begins with: its format, and what the publisher calls the release."""

    format: str
    title: str | None
    date: str | None

    @property
    def heading(self) -> Heading:
        """Title and date together."""
        return Heading(self.title, self.date)

    def text(self) -> str:
        """Return the manifest as it is written."""
        return canonical_text(self)


class Manifest(Headed, frozen=True, forbid_unknown_fields=True):
    """What a release of records says of itself."""

    versions: Versions
    files: list[str]
    method: str
    parameters: dict[str, bool | int | float | str | None]
    claim: SpelledClaim
    counts: PublishedCounts
    lengths: list[Bin]
    losses: LossFigures | None
    utility: UtilityFigures | None
    bound: BoundFigures | None
    use: UseFigures | None
    account: list[str]


def canonical_text(manifest: msgspec.Struct) -> str:
    """Return the only text that a manifest may have."""
    return json.dumps(msgspec.to_builtins(manifest), indent=2, ensure_ascii=False) + "\n"


def account_of(settings: Settings, claim: Claim, counts: PublishedCounts) -> list[str]:
    """Say what was done to the data, in order; all numbers are in the release anyway."""
    common, method = settings.common, settings.method
    steps = []
    if common.items is not None:
        copies = "each counted once" if common.sets else "repeats counted"
        steps.append(f"Read the input into one record for each {claim.unit}: {common.items}, {copies}.")
    dropped = " Items that it does not list were removed." if common.unlisted == "drop" else ""
    made = " Items that it does not list are in a branch of their own." if common.unlisted == "keep" else ""
    named = (
        " Words that it does not list are below the nodes that tell their kinds."
        if common.unlisted == "name"
        else ""
    )
    steps.append(f"Placed the items on the taxonomy {common.taxonomy}.{dropped}{made}{named}")
    steps.extend(said_of_moves(common.moved))
    shared = f"{counts.groups:,} distinct ones, each shared by at least {counts.k_min:,}"
    steps.append(f"Grouped the records by method {method}: {counts.records_out:,} are published, {shared}.")
    steps.append(f"Records with nothing to publish, withheld: {spelled(counts.withheld)}.")
    return [f"{number}. {step}" for number, step in enumerate(steps, 1)]


def said_of_moves(moved: int) -> list[str]:
    """Say that the publisher moved published words, if there are any."""
    if not moved:
        return []
    words = f"{moved:,} of the published words" if moved > 1 else "1 of the published words"
    return [
        f"The publisher moved {words}: below another class than the taxonomy has {'them' if moved > 1 else 'it'}."
    ]


def format_of(directory: Path) -> str:
    """Return the format that a release's manifest names, or say that the directory is not a release."""
    try:
        said = msgspec.json.decode(_manifest_bytes(directory))
    except OSError:
        raise BadInputError(
            f"{directory} is not a release: it has no manifest.json that can be read"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise BadInputError(f"{directory}: manifest.json is not valid JSON") from None
    found = said.get("format") if isinstance(said, dict) else None
    if found in OLDER_FORMATS:
        raise BadInputError(f"{directory} is of an older format ({found}): make the release again")
    formats = (RELEASE_FORMAT, TILES_FORMAT, LIST_FORMAT)
    if found not in formats:
        raise BadInputError(f"{directory}: manifest.json is not of format {', '.join(formats)}")
    return str(found)


def _manifest_bytes(directory: Path) -> bytes:
    """Read a manifest; a pipe, a device or a giant file is none."""
    path = directory / "manifest.json"
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        raise FileNotFoundError(path)
    return path.read_bytes()


def read_manifest(directory: Path, kind: type[Any] = Manifest) -> Any:
    """Read a release's manifest, or say that the directory is not a release.

    Raises
    ------
    BadInputError
        There is no manifest, or it is another program's.
    ClaimError
        It is one of ours, but it does not say what a release must say, or says more.
    """
    format_of(directory)
    try:
        return msgspec.json.decode(_manifest_bytes(directory), type=kind)
    except msgspec.ValidationError as error:
        place = re.sub(r"[^\w.\[\]]", "", str(error).rpartition(" - at ")[2]).strip(".")
        raise ClaimError(
            f"{directory}: manifest.json is damaged at '{place[:60]}', so its claim cannot be checked"
        ) from None
