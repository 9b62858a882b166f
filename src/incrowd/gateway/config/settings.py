"""The structs of a gateway's configuration, with the names of the YAML file.

Durations are in seconds, sizes in bytes, and paths are absolute. `incrowd.gateway.config.reading` fills the structs and
uses the descriptions here in its errors; `incrowd.gateway.config.rules` checks that they are consistent.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from msgspec import Meta, Struct

from incrowd.gateway.config.units import parse_duration, parse_size
from incrowd.generalizer.policy import Policy

__all__ = [
    "Budget",
    "Cache",
    "ClientTls",
    "Config",
    "CursorPages",
    "Hidden",
    "HiddenBytes",
    "HttpProvider",
    "LedgerSource",
    "LinkPages",
    "Listen",
    "Metrics",
    "OffsetPages",
    "Page",
    "Parameter",
    "Person",
    "PostgresProvider",
    "Privacy",
    "Provider",
    "Rate",
    "Route",
    "Sample",
    "ServerTls",
    "TableSource",
]


class Hidden(str):
    """A text that no repr shows. `inline` says that it was in the configuration file itself."""

    __slots__ = ("inline",)
    inline: bool

    def __new__(cls, text: str = "", *, inline: bool = False) -> Self:
        """Hide a text."""
        hidden = super().__new__(cls, text)
        hidden.inline = inline
        return hidden

    def __repr__(self) -> str:
        return "Hidden()"


class HiddenBytes(bytes):
    """Bytes that no repr shows. `inline` says that they were in the configuration file itself."""

    inline: bool

    def __new__(cls, text: bytes = b"", *, inline: bool = False) -> Self:
        """Hide bytes."""
        hidden = super().__new__(cls, text)
        hidden.inline = inline
        return hidden

    def __repr__(self) -> str:
        return "HiddenBytes()"


_POINTER = r"(/([^~/]|~[01])*)"
_SQL_NAME = "[A-Za-z_][A-Za-z0-9_]{0,62}"

Text = Annotated[str, Meta(min_length=1, pattern=r"\A[^\x00-\x1f\x7f]+\Z", description="text on one line")]
Count = Annotated[int, Meta(ge=1, description="a whole number from 1")]
Retries = Annotated[int, Meta(ge=0, le=10, description="a whole number from 0 to 10")]
Port = Annotated[int, Meta(ge=1, le=65_535, description="a port from 1 to 65535")]
Share = Annotated[float, Meta(gt=0, lt=1, description="a number between 0 and 1, such as 0.001")]
Duration = Annotated[float, Meta(gt=0, description="longer than 0", extra={"read": parse_duration})]
HeadTimeout = Annotated[
    float, Meta(ge=0.1, le=3_600, description="from 100ms to 1h", extra={"read": parse_duration})
]
Size = Annotated[int, Meta(ge=1, description="more than 0 bytes", extra={"read": parse_size})]
SizeOrNone = Annotated[int, Meta(ge=0, extra={"read": parse_size})]
Pointer = Annotated[
    str, Meta(pattern=rf"\A{_POINTER}*\Z", description='a JSON pointer such as /items, or "" for all of it')
]
FieldPointer = Annotated[
    str, Meta(pattern=rf"\A{_POINTER}+\Z", description="a JSON pointer into a row, such as /county")
]
NextPointer = Annotated[
    str,
    Meta(pattern=rf"\A({_POINTER}+|header)\Z", description="a JSON pointer such as /links/next, or header"),
]
SortField = Annotated[
    str,
    Meta(
        pattern=r"\A[^-/,][^,]*\Z",
        description="a row's field such as amount, without a slash or a sign before it",
    ),
]
HeaderName = Annotated[
    str,
    Meta(pattern=r"\A[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z", description="a header's name such as accept-language"),
]
SqlName = Annotated[
    str, Meta(pattern=rf"\A{_SQL_NAME}\Z", description="a plain name such as income: letters, digits and _")
]
SqlTable = Annotated[
    str,
    Meta(
        pattern=rf"\A({_SQL_NAME}\.)?{_SQL_NAME}\Z",
        description="a table such as loans or public.loans, in plain names",
    ),
]
RoutePath = Annotated[
    str, Meta(pattern=r"\A(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+\Z", description="a path such as /loans")
]
KeyHash = Annotated[
    str,
    Meta(
        pattern=r"\A[0-9A-Fa-f]{64}\Z",
        description="the 64 hex digits of the key's SHA-256",
        extra={"hidden": True},
    ),
]
DomainValue = Annotated[str | int | float | bool, Meta(description="text, a number, true or false")]
Derived = Meta(extra={"derived": True})
"""Marks a field that the file cannot set."""


class _Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all settings: immutable, without unknown fields."""


class ServerTls(_Settings, frozen=True, kw_only=True):
    """TLS for clients. With `clients`, only clients with a certificate of that authority may connect."""

    certificate: Path
    key: Path
    clients: Path | None = None


class Listen(_Settings, frozen=True, kw_only=True):
    """Where clients connect, and how many connections there may be, divided among the workers."""

    host: Text = "127.0.0.1"
    port: Port = 8080
    workers: Count = 1
    tls: ServerTls | None = None
    head_timeout: HeadTimeout = 10.0
    connections: Count = 10_000
    connections_per_address: Count = 1_000


class Metrics(_Settings, frozen=True, kw_only=True):
    """Where Prometheus connects."""

    host: Text = "127.0.0.1"
    port: Port = 9464


class Sample(_Settings, frozen=True, kw_only=True):
    """Count on a sample of the table, with a lower bound that is wrong with at most this probability."""

    rows: Count
    error: Share = 0.001


class TableSource(_Settings, frozen=True, kw_only=True):
    """The auxiliary table: what an outsider may know about people.

    `columns` names the columns of a text file that has no header. Without `attributes`, every column is used. A changed
    file is read once it has not changed for the duration `settle`; one with less than half the rows only with `may_shrink`.
    """

    file: Path
    columns: tuple[Text, ...] = ()
    attributes: tuple[Text, ...] = ()
    domains: dict[Text, tuple[DomainValue, ...]] = {}
    ladders: dict[Text, Path] = {}
    memory: SizeOrNone = 2 * 10**9
    cache: Path = Path(".incrowd-cubes")
    sample: Sample | None = None
    settle: Duration = 5.0
    may_shrink: bool = False


class Privacy(_Settings, frozen=True, kw_only=True):
    """What must stay hard to guess, and how queries are generalized."""

    removed: ClassVar[dict[str, str]] = {
        "strict": "there is no such field any more: strict is a strategy, and the default; remove it, or write strategy: strict"
    }

    protect: tuple[Policy, ...]
    strategy: Literal["strict", "brute-force", "best-fit", "worst-fit", "random-fit", "least-rows"] = "strict"
    secret: HiddenBytes = HiddenBytes()


class LedgerSource(_Settings, frozen=True, kw_only=True):
    """The ledger: where disclosures of each person to each provider are stored.

    The default for `marker` is a file in the configuration's directory. `parts` says whether every part of a person's
    disclosures must be private, or only all of them together.
    """

    file: Path
    marker: Path | None = None
    time_to_live: Duration = 90 * 86_400.0
    parts: bool = True


class Person(_Settings, frozen=True, kw_only=True):
    """A person who may send queries. Without policies of their own, the default policies apply."""

    name: Text
    key_sha256: KeyHash
    protect: tuple[Policy, ...] = ()


class ClientTls(_Settings, frozen=True, kw_only=True):
    """TLS for a provider: the authority to trust, and the gateway's certificate."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


class OffsetPages(_Settings, frozen=True, kw_only=True, tag_field="kind", tag="offset"):
    """Pages addressed by the number of rows before them."""

    offset: Text = "offset"
    limit: Text = "limit"
    size: Count = 500
    total: Pointer | None = None


class CursorPages(_Settings, frozen=True, kw_only=True, tag_field="kind", tag="cursor"):
    """Pages addressed by a cursor in the previous answer."""

    next: FieldPointer
    cursor: Text = "cursor"
    limit: Text | None = None
    size: Count | None = None


class LinkPages(_Settings, frozen=True, kw_only=True, tag_field="kind", tag="link"):
    """Pages addressed by a link in the previous answer or its ``Link`` header."""

    next: NextPointer


class Budget(_Settings, frozen=True, kw_only=True):
    """The most that one fetch may return."""

    rows: Count = 100_000
    bytes: Size = 50 * 10**6


class HttpProvider(_Settings, frozen=True, kw_only=True, tag_field="kind", tag="http"):
    """A provider that answers in JSON over HTTP. `insecure` allows plain HTTP to another machine."""

    url: Text
    send: Literal["query", "json"] = "query"
    headers: dict[HeaderName, Hidden] = {}
    forward: tuple[HeaderName, ...] = ()
    tls: ClientTls | None = None
    insecure: bool = False
    rows: Pointer = ""
    truncated: FieldPointer | None = None
    key: FieldPointer | None = None
    pages: OffsetPages | CursorPages | LinkPages | None = None
    timeout: Duration = 10.0
    retries: Retries = 2
    budget: Budget = Budget()


class PostgresProvider(_Settings, frozen=True, kw_only=True, tag_field="kind", tag="postgresql"):
    """A provider that is a table in PostgreSQL."""

    dsn: Hidden
    table: SqlTable
    columns: tuple[SqlName, ...]
    order: tuple[SqlName, ...] = ()
    timeout: Duration = 10.0
    retries: Retries = 2
    budget: Budget = Budget()
    connections: Count = 4


Provider = HttpProvider | PostgresProvider


class Parameter(_Settings, frozen=True, kw_only=True):
    """How a parameter is handled. ``race: quasi`` is short for ``race: {use: quasi}``.

    Once loaded, a quasi parameter has an attribute, a field and a name to send for each rung of its ladder; one
    that passes through has one name to send; a blocked one may have a field to filter the answer by.
    """

    shorthand: ClassVar[str] = "use"

    use: Literal["quasi", "passthrough", "block"]
    attribute: Text = ""
    field: FieldPointer = ""
    send: tuple[Text, ...] = ()


class Page(_Settings, frozen=True, kw_only=True):
    """The default and the largest number of rows in an answer."""

    size: Count = 50
    most: Count = 500


class Route(_Settings, frozen=True, kw_only=True):
    """A path for queries, its provider and its parameters."""

    path: RoutePath
    provider: Text
    parameters: dict[Text, Parameter]
    partial: bool = False
    sort: tuple[SortField, ...] = ()
    page: Page = Page()


class Cache(_Settings, frozen=True, kw_only=True):
    """The cache of answers, by generalized query, for each person or shared by all."""

    shared: bool = False
    entries: Count = 1000
    bytes: Size = 100 * 10**6
    time_to_live: Duration = 60.0


class Rate(_Settings, frozen=True, kw_only=True):
    """How many requests a person may send."""

    requests: Count
    per: Duration = 60.0


class Config(_Settings, frozen=True, kw_only=True):
    """A gateway's configuration, read and checked. `file` is where it was read from."""

    table: TableSource
    privacy: Privacy
    people: tuple[Person, ...]
    providers: dict[Text, Provider]
    routes: tuple[Route, ...]
    listen: Listen = Listen()
    metrics: Metrics | None = None
    log: Literal["debug", "info", "warning", "error"] = "info"
    ledger: LedgerSource | None = None
    cache: Cache | None = None
    rate: Rate | None = None
    body: Size = 64 * 10**3
    file: Annotated[Path, Derived] = Path("gateway.yaml")
