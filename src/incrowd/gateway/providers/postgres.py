"""A provider that is a table in PostgreSQL.

Names are quoted and values are parameters, sent as text: the server reads them as the column's type. Every statement is
a read-only transaction of its own. Nothing that PostgreSQL says is passed on, because it quotes values.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import select
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, cast

import msgspec
import psycopg
from psycopg import AsyncConnection, AsyncRawCursor, sql
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import set_json_loads
from psycopg.types.string import TextLoader

from incrowd.errors import BadInputError
from incrowd.gateway.config import PostgresProvider
from incrowd.gateway.providers.base import (
    OVER_BUDGET,
    Fetched,
    ProviderError,
    TryAgainError,
    plain_text,
    try_again,
)
from incrowd.gateway.providers.decode import Room, decode_value

__all__ = ["PostgresSource"]

PROBE_SECONDS = 1.0
# Rows that the client library holds at once while they stream in; older ones can do no better than one.
ROWS_AT_ONCE = 16 if psycopg.capabilities.has_stream_chunked() else 1
# What JSON has too. Every other type becomes the text that PostgreSQL writes, except for those with a loader below.
JSON_TYPES = frozenset({"bool", "int2", "int4", "int8", "oid", "float4", "float8", "json", "jsonb"})
LONGEST_NUMBER = 300
# A text or number that cannot be read as the column's type. From version 15 on the server also says which parameter it was.
DOES_NOT_FIT = frozenset({"22P02", "22P03", "22003", "22007", "22008", "22021", "22P05"})
SAYS_WHICH = 150_000
_PARAMETER = re.compile(r"\$(\d{1,5})\b")
MOST_QUERIES = 1000  # that are kept composed: one for each set of names

Connection = AsyncConnection[DictRow]
_encode = msgspec.json.encode


class _NumberLoader(Loader):
    """Exact numbers become JSON numbers where those hold them exactly: 39.00 and 39 are one value."""

    def load(self, data: Buffer) -> int | float | str:
        """Return 39 for 39.00, 0.5 for 0.50, and the text of what has too many digits or is no number."""
        text = bytes(data).decode()
        if len(text) > LONGEST_NUMBER or text[-1].isalpha():
            return text
        shortest = text.rstrip("0").rstrip(".") if "." in text else text
        if "." not in shortest:
            return int(shortest)
        return float(shortest) if Decimal(repr(float(shortest))) == Decimal(shortest) else shortest


class _PaddedLoader(TextLoader):
    """Fixed-width text comes without its padding, which comparisons in PostgreSQL ignore."""

    def load(self, data: Buffer) -> bytes | str:
        """Return the text without trailing blanks."""
        return super().load(bytes(data).rstrip(b" "))


@dataclass(frozen=True, slots=True, repr=False)
class Errand:
    """A statement, the names that it compares and their values."""

    query: bytes
    names: tuple[str, ...]
    values: list[str]


class PostgresSource:
    """A table in PostgreSQL. It is connected to when it is first needed, and again when it was away.

    Parameters
    ----------
    config
        The table, its columns and how to connect.
    """

    def __init__(self, config: PostgresProvider) -> None:
        self._config = config
        self._query = lru_cache(MOST_QUERIES)(partial(_compose, config))
        self._options = _session_options(config)
        self._places = asyncio.Semaphore(config.connections)
        self._idle: list[Connection] = []
        self._closed = False

    async def fetch(self, sent: Mapping[str, Any], headers: Mapping[str, str]) -> Fetched:  # noqa: ARG002
        """Return all rows that equal what is sent, or as many as the budget allows. No header is passed on."""
        names = tuple(sent)
        errand = Errand(self._query(names), names, [_text(name, value) for name, value in sent.items()])
        try:
            async with asyncio.timeout(self._config.timeout) as clock, self._places:
                read = partial(self._read, errand, clock)
                try:
                    return await read()
                except TryAgainError as failure:
                    return await try_again(read, self._config.retries, failure)
        except TimeoutError:
            raise ProviderError.late(self._config.timeout) from None

    async def ready(self) -> bool:
        """Tell whether the database answers; no table is read."""
        try:
            async with (
                asyncio.timeout(PROBE_SECONDS) as clock,
                self._places,
                self._connection(clock) as connection,
            ):
                await connection.execute("SELECT 1")
        except (psycopg.Error, OSError, TimeoutError):
            return False
        return True

    async def close(self) -> None:
        """Let all connections go."""
        self._closed = True
        await self._close_idle()

    async def _close_idle(self) -> None:
        while self._idle:
            await self._idle.pop().close()

    async def _read(self, errand: Errand, clock: asyncio.Timeout) -> Fetched:
        """Make one attempt; a connection that breaks may have been an old one, so those are let go with it."""
        try:
            async with self._connection(clock) as connection:
                try:
                    return await self._stream(connection, errand)
                except psycopg.DataError as error:
                    raise _data_problem(error, errand.names, connection.info.server_version) from None
        except psycopg.errors.QueryCanceled:
            raise TimeoutError from None
        except TimeoutError:
            raise TryAgainError(ProviderError.late(self._config.timeout / 2)) from None
        except (psycopg.OperationalError, OSError):
            if _seconds_left(clock) <= 0:
                raise TimeoutError from None
            await self._close_idle()
            raise TryAgainError(ProviderError.unreachable()) from None
        except psycopg.Error as error:
            raise ProviderError(f"PostgreSQL refuses the query (SQLSTATE {error.sqlstate})") from None
        except UnicodeError:
            raise ProviderError("a text in PostgreSQL is not proper Unicode") from None

    async def _stream(self, connection: Connection, errand: Errand) -> Fetched:
        """Take row by row, and no more than the budget."""
        budget = self._config.budget
        room = Room(budget)
        rows: list[dict[str, Any]] = []
        nbytes = 0
        stream = connection.cursor().stream(errand.query, errand.values, size=ROWS_AT_ONCE)
        missing = ""
        async with aclosing(cast("AsyncGenerator[DictRow]", stream)):
            async for row in stream:
                text = _encode(row)
                room.take(text, [row])
                if len(rows) == budget.rows:
                    missing = f"{OVER_BUDGET} {budget.rows} rows"
                elif nbytes + len(text) > budget.bytes:
                    missing = f"{OVER_BUDGET} {budget.bytes} bytes"
                else:
                    missing = room.over
                if missing:
                    break
                nbytes += len(text)
                rows.append(row)
        return Fetched(rows, not missing, missing, nbytes, pages=1)

    @asynccontextmanager
    async def _connection(self, clock: asyncio.Timeout) -> AsyncIterator[Connection]:
        """Lend a connection. While it is out, the clock cuts it instead of interrupting who waits for it.

        An interrupted psycopg asks the server to cancel, and would wait long for one that hangs; a server in
        order keeps to its own timeout anyway.
        """
        connection = await self._clean_idle() or await self._connect()
        deadline = clock.when()
        timer = asyncio.get_running_loop().call_later(_seconds_left(clock), _cut, connection)
        clock.reschedule(None)
        try:
            yield connection
        finally:
            timer.cancel()
            clock.reschedule(deadline)
            if self._closed or connection.info.transaction_status != TransactionStatus.IDLE:
                await connection.close()
            else:
                self._idle.append(connection)

    async def _clean_idle(self) -> Connection | None:
        """Return an idle connection on which nothing has arrived since its last answer; others are closed."""
        while self._idle:
            connection = self._idle.pop()
            if not _is_spoilt(connection):
                return connection
            await connection.close()
        return None

    async def _connect(self) -> Connection:
        async with asyncio.timeout(self._config.timeout / 2):
            connection = await AsyncConnection.connect(
                self._config.dsn,
                autocommit=True,
                prepare_threshold=None,  # poolers such as PgBouncer may give each statement to another session
                row_factory=dict_row,
                cursor_factory=AsyncRawCursor,
                application_name="incrowd",
                client_encoding="utf8",
                options=self._options,
            )
        _register_loaders(connection)
        return connection


def _session_options(config: PostgresProvider) -> str:
    """Return the settings of every session: what the address asks for, and ours after it."""
    try:
        asked = conninfo_to_dict(config.dsn).get("options") or ""
    except psycopg.Error:
        raise BadInputError(
            "the provider's 'dsn' cannot be read; write postgresql://user@host/database"
        ) from None
    milliseconds = max(1, round(config.timeout * 1000))
    ours = f"-c default_transaction_read_only=on -c statement_timeout={milliseconds} -c datestyle=ISO"
    return f"{asked} {ours}".strip()


def _compose(config: PostgresProvider, names: tuple[str, ...]) -> bytes:
    """Return the statement that selects the rows that equal one value per name; one row more than the budget."""
    query = sql.SQL("SELECT {} FROM {}").format(
        sql.SQL(", ").join(map(sql.Identifier, config.columns)), sql.Identifier(*config.table.split("."))
    )
    if names:
        equal = [
            sql.SQL("{} = {}").format(sql.Identifier(name), sql.SQL(f"${place}"))
            for place, name in enumerate(names, start=1)
        ]
        query += sql.SQL(" WHERE ") + sql.SQL(" AND ").join(equal)
    if config.order:
        query += sql.SQL(" ORDER BY ") + sql.SQL(", ").join(map(sql.Identifier, config.order))
    return (query + sql.SQL(" LIMIT {}").format(sql.Literal(config.budget.rows + 1))).as_bytes(None)


def _text(name: str, value: object) -> str:
    """Return the text of a value, which PostgreSQL must be able to hold."""
    text = plain_text(name, value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ProviderError.unsendable(name) from None
    if "\0" in text:
        raise ProviderError.unsendable(name)
    return text


def _data_problem(error: psycopg.DataError, names: tuple[str, ...], version: int) -> ProviderError:
    """Return whose mistake an error in the data is: that of the value that was sent, or the table's own."""
    place = _failed_parameter(error.diag.context or "")
    if 0 < place <= len(names):
        return _unfit(f"parameter '{names[place - 1]}'")
    if version < SAYS_WHICH and names and error.sqlstate in DOES_NOT_FIT:
        return _unfit("a parameter" if len(names) > 1 else f"parameter '{names[0]}'")
    return ProviderError(f"PostgreSQL finds a fault in the provider's data (SQLSTATE {error.sqlstate})")


def _failed_parameter(context: str) -> int:
    """Return which parameter the server could not read; it says so in the last line of where it was, in any language."""
    numbers = _PARAMETER.findall(context.rpartition("\n")[2])
    return int(numbers[0]) if numbers else 0


def _unfit(what: str) -> ProviderError:
    message = f"{what} does not fit its column in PostgreSQL: give a value of the column's type and range"
    return ProviderError(message, code="bad_request", status=400)


def _register_loaders(connection: Connection) -> None:
    """Make every value one that JSON has."""
    adapters = connection.adapters
    for kind in adapters.types:
        if kind.name not in JSON_TYPES:
            adapters.register_loader(kind.oid, TextLoader)
    set_json_loads(_load_json, connection)
    adapters.register_loader("numeric", _NumberLoader)
    adapters.register_loader("bpchar", _PaddedLoader)


def _load_json(data: str | bytes) -> Any:
    return decode_value(data.encode() if isinstance(data, str) else bytes(data))


def _is_spoilt(connection: Connection) -> bool:
    """Tell whether anything has arrived, or the connection has ended: it would be taken for the beginning of the next answer."""
    if connection.closed:
        return True
    kernel = select.poll()
    kernel.register(connection.fileno(), select.POLLIN | select.POLLPRI)
    return bool(kernel.poll(0))


def _seconds_left(clock: asyncio.Timeout) -> float:
    return (clock.when() or 0.0) - asyncio.get_running_loop().time()


def _cut(connection: Connection) -> None:
    """Shut a connection's socket down, so that whoever waits for it is told at once."""
    with (
        contextlib.suppress(OSError, psycopg.Error),
        socket.socket(fileno=os.dup(connection.fileno())) as line,
    ):
        line.shutdown(socket.SHUT_RDWR)
