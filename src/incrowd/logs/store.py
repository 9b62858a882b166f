"""A DuckDB database in a temporary directory, which spills to disk what does not fit in memory."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from incrowd.core.memory import format_memory, parse_memory
from incrowd.core.temporary import temporary_directory
from incrowd.errors import BadInputError, option
from incrowd.logs.formats.rows import event_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


__all__ = ["Store", "make_events"]

# The rest is for blocks on their way in, rows on their way out, and Python itself.
_DATABASE_SHARE = 0.2
_LEAST_DATABASE = 256 * 1024**2
_BATCH_ROWS = 250_000
_ALL = """
    SELECT 'VIEW', view_name FROM duckdb_views() WHERE NOT internal
    UNION ALL SELECT 'TABLE', table_name FROM duckdb_tables()
"""
LITTLE = 16 * 1024**2  # bytes of rows, for which no new database is worth its time
# The memory to suggest if it was too little: a multiple of it, and of the bytes read (as a log of 36 million lines took).
_MORE, _READING = 1.5, 1.4


class Store:
    """Tables on disk that are always deleted with this object.

    Parameters
    ----------
    memory
        How much memory the whole reading may take, as text.
    """

    def __init__(self, memory: str | int = "4GB") -> None:
        self.memory = parse_memory(memory)
        self._limit = max(int(self.memory * _DATABASE_SHARE), _LEAST_DATABASE)
        self._given = memory
        self._inserted = 0
        self._directory = temporary_directory()  # the spilled data is private
        with self._plain_errors():
            self._connection = self._connect()

    def _connect(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect(
            ":memory:",
            config={
                "memory_limit": f"{self._limit // 1024}KiB",
                "temp_directory": str(self._directory.path / "spilled"),
                "preserve_insertion_order": False,
                "checkpoint_threshold": "1000TB",  # rewriting the tables would take seconds and gain nothing
            },
        )
        connection.execute("SET enable_progress_bar = false")
        return connection

    @property
    def closed(self) -> bool:
        """Whether the tables were deleted."""
        return self._directory.removed

    def close(self) -> None:
        """Close the database and delete its files."""
        if not self.closed:
            self._connection.close()
            self._directory.remove()

    def run(self, sql: str, **views: pa.Table) -> None:
        """Execute a statement; `views` are Arrow tables that it may read by name."""
        with self._plain_errors(), self._cursor(views) as cursor:
            cursor.execute(sql)

    def keep_only(self, table: str) -> None:
        """Delete all tables but one, and free their memory.

        The database keeps memory for later tables; only closing it returns the memory to the system, which is worth it where there is much.
        """
        if self._inserted < LITTLE:
            self._drop_but(table)
        else:
            self._begin_anew_with(table)

    def _drop_but(self, table: str) -> None:
        with self._plain_errors(), self._cursor({}) as cursor:
            for kind, name in cursor.execute(_ALL).fetchall():
                if name != table:
                    cursor.execute(f"DROP {kind} {name}")

    def _begin_anew_with(self, table: str) -> None:
        file = self._directory.path / f"{table}.parquet"
        quoted = str(file).replace("'", "''")
        with self._plain_errors():
            self._connection.execute(f"COPY {table} TO '{quoted}' (FORMAT parquet)")
            self._connection.close()
            self._connection = self._connect()
            self._connection.execute(f"CREATE TABLE {table} AS FROM '{quoted}'")
        file.unlink()

    def insert(self, table: str, rows: pa.Table) -> None:
        """Append Arrow rows, whose columns are the table's, in order."""
        self._inserted += rows.nbytes
        self.run(f"INSERT INTO {table} FROM new_rows", new_rows=rows)

    def row(self, sql: str) -> tuple[Any, ...]:
        """Return the only row of a query."""
        with self._plain_errors(), self._cursor({}) as cursor:
            return tuple(cursor.execute(sql).fetchall()[0])

    def batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        """Yield a query's rows, some at a time; other statements may run in between."""
        with self._plain_errors(), self._cursor({}) as cursor:
            yield from cursor.sql(sql).to_arrow_reader(_BATCH_ROWS)

    def table(self, sql: str) -> pa.Table:
        """Return all of a query's rows."""
        with self._plain_errors(), self._cursor({}) as cursor:
            return cursor.sql(sql).to_arrow_table()

    @contextmanager
    def _cursor(self, views: dict[str, pa.Table]) -> Iterator[Any]:
        if self.closed:
            raise BadInputError("the log is closed: read it again (read_log)")
        cursor = self._connection.cursor()
        try:
            for name, rows in views.items():
                cursor.register(name, rows)
            yield cursor
        finally:
            cursor.close()

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """Turn the database's errors into one line that names the remedy and quotes no record."""
        try:
            yield
        except duckdb.OutOfMemoryException:  # also raised where there is no disk left to spill to
            enough = format_memory(max(_MORE * self.memory, _READING * self._inserted))
            raise BadInputError(
                f"memory of {self._given} is too small for this input: give {option('memory', enough)}, "
                f"or free space in {tempfile.gettempdir()} (TMPDIR)"
            ) from None
        except duckdb.IOException:
            raise BadInputError(
                f"{tempfile.gettempdir()} is full or not writable: free space there or set TMPDIR to another directory"
            ) from None
        except (duckdb.Error, pa.ArrowException) as error:
            raise BadInputError(
                f"the log could not be stored ({type(error).__name__}): please report this"
            ) from None


def make_events(store: Store, roles: Iterable[str]) -> None:
    """Make the table `events`, with the columns that are read from columns of these roles."""
    columns = (f'"{name}" {"BIGINT" if name == "time" else "VARCHAR"}' for name in event_columns(roles))
    store.run(f"CREATE TABLE events ({', '.join(columns)})")
