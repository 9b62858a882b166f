"""A provider that is a table in PostgreSQL.

Names are quoted and values are parameters, sent as text: the server reads them as the column's type. Every statement is
a separate read-only transaction. PostgreSQL's messages are not passed on, because they quote values.
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
from incrowd.gateway.config.settings import PostgresProvider
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
# Rows that libpq buffers while streaming; older versions support only one.
ROWS_AT_ONCE = 16 if psycopg.capabilities.has_stream_chunked() else 1
# Types that JSON has too. All others are returned as PostgreSQL's text, except those with a loader below.
JSON_TYPES = frozenset({"bool", "int2", "int4", "int8", "oid", "float4", "float8", "json", "jsonb"})
LONGEST_NUMBER = 300
# A text or number that cannot be read as the column's type. From version 15 on the server also names the parameter.
DOES_NOT_FIT = frozenset({"22P02", "22P03", "22003", "22007", "22008", "22021", "22P05"})
SAYS_WHICH = 150_000
_PARAMETER = re.compile(r"\$(\d{1,5})\b")
MOST_QUERIES = 1000  # composed statements that are cached: one for each set of names

Connection = AsyncConnection[DictRow]
_encode = msgspec.json.encode


class _NumberLoader(Loader):
    """Loads exact numbers as JSON numbers where those are exact: 39.00 and 39 are one value."""

    def load(self, data: Buffer) -> int | float | str:
        """Return 39 for 39.00, 0.5 for 0.50, and the text of a number with too many digits or of NaN."""
        text = bytes(data).decode()
        if len(text) > LONGEST_NUMBER or text[-1].isalpha():
            return text
        shortest = text.rstrip("0").rstrip(".") if "." in text else text
        if "." not in shortest:
            return int(shortest)
        return float(shortest) if Decimal(repr(float(shortest))) == Decimal(shortest) else shortest


class _PaddedLoader(TextLoader):
    """Loads fixed-width text without its padding, which comparisons in PostgreSQL ignore."""

    def load(self, data: Buffer) -> bytes | str:
        """Return the text without trailing blanks."""
        return super().load(bytes(data).rstrip(b" "))


@dataclass(frozen=True, slots=True, repr=False)
class Statement:
    """A statement, the columns that it compares and their values."""

    query: bytes
    names: tuple[str, ...]
    values: list[str]


class PostgresSource:
    """A table in PostgreSQL. Connections are made on first use, and again after a failure.

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
        """Return all rows that match what is sent, or as many as the budget allows. No header is forwarded."""
        names = tuple(sent)
        statement = Statement(self._query(names), names, [_text(name, value) for name, value in sent.items()])
        try:
            async with asyncio.timeout(self._config.timeout) as clock, self._places:
                read = partial(self._read, statement, clock)
                try:
                    return await read()
                except TryAgainError as failure:
                    return await try_again(read, self._config.retries, failure)
        except TimeoutError:
            raise ProviderError.late(self._config.timeout) from None

    async def ready(self) -> bool:
        """Return whether the database answers; no table is read."""
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
        """Close all connections."""
        self._closed = True
        await self._close_idle()

    async def _close_idle(self) -> None:
        while self._idle:
            await self._idle.pop().close()

    async def _read(self, statement: Statement, clock: asyncio.Timeout) -> Fetched:
        """Make one attempt; if the connection breaks, other idle ones may be stale too and are closed."""
        try:
            async with self._connection(clock) as connection:
                try:
                    return await self._stream(connection, statement)
                except psycopg.DataError as error:
                    raise _data_problem(error, statement.names, connection.info.server_version) from None
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
            raise ProviderError(f"PostgreSQL refused the query (SQLSTATE {error.sqlstate})") from None
        except UnicodeError:
            raise ProviderError("a text in PostgreSQL is not valid Unicode") from None

    async def _stream(self, connection: Connection, statement: Statement) -> Fetched:
        """Read row by row, within the budget."""
        budget = self._config.budget
        room = Room(budget)
        rows: list[dict[str, Any]] = []
        nbytes = 0
        stream = connection.cursor().stream(statement.query, statement.values, size=ROWS_AT_ONCE)
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
        """Lend a connection. Meanwhile, the timeout shuts its socket down instead of cancelling the task.

        An interrupted psycopg requests cancellation from the server, which takes long if the server hangs; a working
        server has its own timeout anyway.
        """
        connection = await self._clean_idle() or await self._connect()
        deadline = clock.when()
        timer = asyncio.get_running_loop().call_later(_seconds_left(clock), _shut_down, connection)
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
        """Return an idle connection on which no data has arrived since its last answer; others are closed."""
        while self._idle:
            connection = self._idle.pop()
            if not _has_unread_data(connection):
                return connection
            await connection.close()
        return None

    async def _connect(self) -> Connection:
        async with asyncio.timeout(self._config.timeout / 2):
            connection = await AsyncConnection.connect(
                self._config.dsn,
                autocommit=True,
                prepare_threshold=None,  # poolers such as PgBouncer may run each statement in another session
                row_factory=dict_row,
                cursor_factory=AsyncRawCursor,
                application_name="incrowd",
                client_encoding="utf8",
                options=self._options,
            )
        _register_loaders(connection)
        return connection


def _session_options(config: PostgresProvider) -> str:
    """Return the settings of every session: those of the dsn, and ours after them."""
    try:
        given = conninfo_to_dict(config.dsn).get("options") or ""
    except psycopg.Error:
        raise BadInputError(
            "the provider's 'dsn' cannot be read; write postgresql://user@host/database"
        ) from None
    milliseconds = max(1, round(config.timeout * 1000))
    ours = f"-c default_transaction_read_only=on -c statement_timeout={milliseconds} -c datestyle=ISO"
    return f"{given} {ours}".strip()


def _compose(config: PostgresProvider, names: tuple[str, ...]) -> bytes:
    """Return the statement that selects the rows that equal one value per name; at most one row more than the budget."""
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
    """Return the text of a value, if PostgreSQL can store it."""
    text = plain_text(name, value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ProviderError.unsendable(name) from None
    if "\0" in text:
        raise ProviderError.unsendable(name)
    return text


def _data_problem(error: psycopg.DataError, names: tuple[str, ...], version: int) -> ProviderError:
    """Return the error for invalid data: in the value that was sent, or in the table itself."""
    place = _failed_parameter(error.diag.context or "")
    if 0 < place <= len(names):
        return _unfit(f"parameter '{names[place - 1]}'")
    if version < SAYS_WHICH and names and error.sqlstate in DOES_NOT_FIT:
        return _unfit("a parameter" if len(names) > 1 else f"parameter '{names[0]}'")
    return ProviderError(f"PostgreSQL reported an error in the provider's data (SQLSTATE {error.sqlstate})")


def _failed_parameter(context: str) -> int:
    """Return the number of the parameter that the server could not read, from the last line of its context."""
    numbers = _PARAMETER.findall(context.rpartition("\n")[2])
    return int(numbers[0]) if numbers else 0


def _unfit(what: str) -> ProviderError:
    message = f"{what} does not fit its column in PostgreSQL: give a value of the column's type and range"
    return ProviderError(message, code="bad_request", status=400)


def _register_loaders(connection: Connection) -> None:
    """Convert every value to a type that JSON has."""
    adapters = connection.adapters
    for kind in adapters.types:
        if kind.name not in JSON_TYPES:
            adapters.register_loader(kind.oid, TextLoader)
    set_json_loads(_load_json, connection)
    adapters.register_loader("numeric", _NumberLoader)
    adapters.register_loader("bpchar", _PaddedLoader)


def _load_json(data: str | bytes) -> Any:
    return decode_value(data.encode() if isinstance(data, str) else bytes(data))


def _has_unread_data(connection: Connection) -> bool:
    """Return whether data has arrived or the connection has ended: it would be taken for part of the next answer."""
    if connection.closed:
        return True
    kernel = select.poll()
    kernel.register(connection.fileno(), select.POLLIN | select.POLLPRI)
    return bool(kernel.poll(0))


def _seconds_left(clock: asyncio.Timeout) -> float:
    return (clock.when() or 0.0) - asyncio.get_running_loop().time()


def _shut_down(connection: Connection) -> None:
    """Shut a connection's socket down, so that the waiting task fails at once."""
    with (
        contextlib.suppress(OSError, psycopg.Error),
        socket.socket(fileno=os.dup(connection.fileno())) as line,
    ):
        line.shutdown(socket.SHUT_RDWR)
