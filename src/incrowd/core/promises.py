"""The claims that each method may make with which parameters: a closed list that a manifest is checked against.

The audit runs no method. It uses this list: the names and types of every method's parameters, and the claim that
follows from them. A manifest that states anything else is rejected.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from incrowd.core.claims import MOST_DELTA, MOST_EPS, Claim, Distinct, Kind
from incrowd.core.kinds import KINDS as ITEM_KINDS
from incrowd.core.kinds import MAIN
from incrowd.errors import LARGEST_NUMBER, ClaimError

__all__ = [
    "FOLLOWING",
    "KINDS",
    "UNIT",
    "Common",
    "Dp",
    "Korolova",
    "Mosaic",
    "Parameters",
    "Poblete",
    "Settings",
    "Ssc",
    "Texts",
    "Verbatim",
    "promise_of",
    "promised",
    "read_settings",
    "takes_moves",
    "taxonomy_name",
]

Texts = Literal["none", "queries", "bags"]
Count = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_NUMBER)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Day = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")]
UNIT = r"^(record|user|query|day|week|session:[0-9]{1,12}|mini-session:[0-9]{1,9}/[0-9]{1,12})\Z"
_TAXONOMY = r"^(wordnet|balanced:[0-9]{1,9}|file)\Z"
_KIND = f"({'|'.join(ITEM_KINDS)})"
_KINDS = rf"^{_KIND}(,{_KIND})*\Z"
_EACH = rf"({MAIN}|{_KIND})"
_THRESHOLDS = rf"^({_EACH}(\+{_EACH})?=[0-9]{{1,9}}(,|\Z))*\Z"
_WEIGHTS = rf"^({_EACH}=[0-9]{{1,4}}(\.[0-9]{{1,6}})?(,|\Z))*\Z"


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The own parameters of a method that has none."""

    @property
    def verbatim_texts(self) -> bool:
        """Whether texts that a single person typed may be published, as in the papers."""
        return False


class Flock(Parameters, frozen=True, forbid_unknown_fields=True):
    """Of `flock`."""

    specificity: Share


class Partition(Parameters, frozen=True, forbid_unknown_fields=True):
    """Of `partition`."""

    publish: Literal["set", "bag", "lcg"]


class Clump(Parameters, frozen=True, forbid_unknown_fields=True):
    """Of `clump`."""

    criterion: Literal["increase", "total"]
    r: Count
    order: Literal["descending", "ascending", "random"]
    duplicates: Literal["keep", "drop"]


class Ssc(Parameters, frozen=True, forbid_unknown_fields=True):
    """Of `ssc`."""

    eps: Annotated[float, msgspec.Meta(ge=0)]
    omega: float | None
    model: Literal["perfect", "maximum"]
    order: Literal["ascending", "input", "farthest"]
    typical: Literal["medoid", "bags", "generalize"]
    terms: Literal["safe", "verbatim"]

    @property
    def verbatim_texts(self) -> bool:
        """Whether terms of a single person may be published."""
        return self.terms == "verbatim"


class Verbatim(Parameters, frozen=True, forbid_unknown_fields=True):
    """Of the methods that publish queries of a class."""

    verbatim: bool

    @property
    def verbatim_texts(self) -> bool:
        """Whether queries of a single person may be published."""
        return self.verbatim


class Microaggregation(Verbatim, frozen=True, forbid_unknown_fields=True):
    """Of `microaggregation`."""

    block_size: Count


class Korolova(Parameters, frozen=True, forbid_unknown_fields=True):
    """Of `korolova`."""

    d: Count
    eps: Annotated[float, msgspec.Meta(gt=0, le=MOST_EPS)]
    delta: Annotated[float, msgspec.Meta(gt=0, lt=MOST_DELTA)]


class Dp(Korolova, frozen=True, forbid_unknown_fields=True):
    """Of `dp`."""

    of: Literal["items", "pairs", "clicks", "weeks"]
    rounds: Annotated[int, msgspec.Meta(ge=1, le=3)]
    counts: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    since: Day | None
    weeks: Count | None


class Poblete(Parameters, frozen=True, forbid_unknown_fields=True):
    """Of `poblete`."""

    kp: Count


class Apriori(Parameters, frozen=True, forbid_unknown_fields=True):
    """Of `apriori`."""

    m: Annotated[int, msgspec.Meta(ge=1)]


class Mosaic(Parameters, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Of `mosaic`."""

    confidence: Annotated[float, msgspec.Meta(gt=0, le=1)]
    cap: Count
    counts: Literal["exact", "rounded"]
    longest: Annotated[int, msgspec.Meta(ge=2, le=LARGEST_NUMBER)] | None
    coarsest: Share
    generalize: bool
    effort: Literal["fast", "best"] | None
    aged: Count
    thresholds: Annotated[str, msgspec.Meta(pattern=_THRESHOLDS)] = ""
    weights: Annotated[str, msgspec.Meta(pattern=_WEIGHTS)] = ""


KINDS: Mapping[str, tuple[Kind, type[Parameters]]] = {
    "mosaic": ("k-anonymous tiles", Mosaic),
    "flock": ("k-anonymity", Flock),
    "partition": ("k-anonymity", Partition),
    "clump": ("k-anonymity", Clump),
    "ssc": ("k-anonymity", Ssc),
    "microaggregation": ("k-anonymity", Microaggregation),
    "navarro": ("k-anonymity", Verbatim),
    "erola": ("k-anonymity", Verbatim),
    "plain": ("k-anonymity", Verbatim),
    "korolova": ("differential privacy", Korolova),
    "dp": ("differential privacy", Dp),
    "poblete": ("none", Poblete),
    "apriori": ("k^m-anonymity", Apriori),
    "suppress": ("none", Parameters),
}

FOLLOWING = frozenset(["flock", "partition"])
"""Methods whose releases may follow an earlier one of the same people."""


class Common(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The parameters that all methods share: k and the seed, and how the input was read, where it was a file.

    `never` says that a list of words was left out, and not which. `moved` is how many published words hang below another class than the
    taxonomy has them, as the publisher chose. `first_day` and `last_day` are the first and the last on which k people were active.
    """

    k: Annotated[int, msgspec.Meta(ge=2)]
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    unit: Annotated[str, msgspec.Meta(pattern=UNIT)]
    taxonomy: Annotated[str, msgspec.Meta(pattern=_TAXONOMY)]
    items: Literal["nouns", "terms", "queries", "concepts", "raw"] | None = None
    sets: bool | None = None
    unlisted: Literal["keep", "name", "drop", "refuse"] | None = None
    kinds: Annotated[str, msgspec.Meta(pattern=_KINDS)] | None = None
    follows: Annotated[int, msgspec.Meta(ge=2)] | None = None
    never: bool = False
    moved: Count = 0
    first_day: Day | None = None
    last_day: Day | None = None


class Settings(NamedTuple):
    """A manifest's parameters, split into common and own ones, and checked."""

    method: str
    common: Common
    own: Parameters

    @property
    def texts(self) -> Texts:
        """Which published labels are not nodes of the taxonomy: none, queries, or bags of alternatives."""
        return _texts_of(self.own)

    @property
    def recountable(self) -> bool:
        """Whether losses can be measured again from the records and the originals."""
        return self.texts == "none" and not (isinstance(self.own, Ssc) and self.own.typical == "medoid")

    @property
    def spelled(self) -> dict[str, Any]:
        """The parameters as a manifest lists them."""
        return {**msgspec.to_builtins(self.common), **msgspec.to_builtins(self.own)}


def read_settings(method: str, parameters: Mapping[str, Any]) -> Settings:
    """Check the parameters that a manifest of records names: exactly the method's own and the common ones.

    Raises
    ------
    ClaimError
        A method or a parameter is unknown or missing, or a value is out of range.
    """
    if method not in KINDS:
        raise ClaimError("the manifest names a method that does not exist")
    shared = {name: value for name, value in parameters.items() if name in Common.__struct_fields__}
    rest = {name: value for name, value in parameters.items() if name not in shared}
    try:
        return Settings(method, msgspec.convert(shared, Common), msgspec.convert(rest, KINDS[method][1]))
    except msgspec.ValidationError as error:
        place = str(error).rpartition(" - at ")[2].strip("`$.")
        named = f" ('{place}')" if place in parameters else ""
        raise ClaimError(f"the manifest's parameters are not those of method {method}{named}") from None


def takes_moves(method: str, own: Mapping[str, Any]) -> bool:
    """Tell whether words may be moved for a method with its own parameters: it publishes nodes of the taxonomy, and a list with noise has no place to say it."""
    kind, parameters = KINDS[method]
    return kind != "differential privacy" and _texts_of(parameters(**own)) == "none"


def _texts_of(own: Parameters) -> Texts:
    """Return which published labels are not nodes of the taxonomy."""
    if isinstance(own, Verbatim | Poblete):
        return "queries"
    return "bags" if isinstance(own, Ssc) and own.typical == "bags" else "none"


def promise_of(method: str, own: Mapping[str, Any]) -> Kind:
    """Return the kind of promise that a method gives with its own parameters."""
    kind, parameters = KINDS[method]
    return "none" if parameters(**own).verbatim_texts else kind


def promised(settings: Settings, *, distinct: Distinct) -> Claim:
    """Return the claim that a method makes with these parameters."""
    method, common, own = settings
    kind = promise_of(method, msgspec.structs.asdict(own))
    queries = isinstance(own, Verbatim)
    typed = common.k if queries and kind != "none" else 1 if queries or method == "poblete" else None
    nearby = isinstance(own, Ssc) and own.typical == "medoid"
    return Claim(
        kind,
        common.k,
        common.unit.partition(":")[0],
        own.m if isinstance(own, Apriori) else None,
        distinct,
        math.floor(own.eps) if isinstance(own, Ssc) and nearby else None,
        "class" if queries else "owner",
        typed,
        aged=own.aged if isinstance(own, Mosaic) and own.aged > 1 else None,
        follows=common.follows,
    )


def taxonomy_name(name: str) -> str:
    """Return a taxonomy's name as it is published: ``file`` in place of a file's name, which is private."""
    return name if re.match(_TAXONOMY, name) else "file"
