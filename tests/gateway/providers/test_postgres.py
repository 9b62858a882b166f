from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import struct
import threading
import time

import msgspec
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.providers.helpers import expect_failure, failure, fetch, table, using
from helpers import until, until_async
from incrowd.errors import BadInputError
from incrowd.gateway.config.settings import Budget, Hidden
from incrowd.gateway.providers import ProviderError
from incrowd.gateway.providers.postgres import _data_problem

SECRET = "Essex-and-nobody-else"
PEOPLE = [{"id": number, "county": f"county {number % 3}", "age": 20 + number % 5} for number in range(25)]
COLUMNS = ("id", "county", "age")
QUERIES = "SELECT state, query FROM pg_stat_activity WHERE application_name = 'incrowd'"


@pytest.fixture(scope="module")
def people(postgres):
    postgres.execute("CREATE TABLE people (id int PRIMARY KEY, county text, age smallint, note varchar(9))")
    for person in PEOPLE:
        postgres.execute("INSERT INTO people VALUES (%(id)s, %(county)s, %(age)s)", person)
    yield postgres
    postgres.execute("DROP TABLE people")


def of_people(people, **settings):
    return table(people, columns=COLUMNS, order=("id",), **settings)


def test_rows_that_equal_all_that_is_sent_are_fetched(people):
    fetched = fetch(of_people(people), {"county": "county 1", "age": 21})
    assert fetched.rows == [PEOPLE[1], PEOPLE[16]]
    assert (fetched.complete, fetched.missing, fetched.pages) == (True, "", 1)
    assert fetched.nbytes == sum(len(msgspec.json.encode(row)) for row in fetched.rows)


def test_nothing_sent_asks_for_all_rows(people):
    assert fetch(of_people(people)).rows == PEOPLE
    assert fetch(table(people, columns=("age",))).rows == [{"age": person["age"]} for person in PEOPLE]


def test_a_table_may_be_in_a_schema(people):
    assert fetch(table(people, "public.people", columns=COLUMNS, order=("id",))).rows == PEOPLE
    expect_failure(table(people, "absent.people"), "provider_error", 502, "SQLSTATE 42P01")


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.text("ab'\\%$\"; é", max_size=3), st.booleans()), max_size=30
    ),
    data=st.data(),
)
@settings(max_examples=20)
def test_random_tables_are_filtered_as_python_does(postgres, rows, data):
    postgres.execute(
        'DROP TABLE IF EXISTS "random"; CREATE TABLE "random" (id serial, a int, b text, c boolean)'
    )
    for row in rows:
        postgres.execute('INSERT INTO "random" (a, b, c) VALUES (%s, %s, %s)', row)
    known = [dict(zip("abc", row, strict=True)) for row in rows]
    options = {name: st.sampled_from([row[name] for row in known] or [0]) for name in "abc"} if known else {}
    sent = data.draw(st.fixed_dictionaries({}, optional=options))
    fetched = fetch(table(postgres, "random", columns=("a", "b", "c"), order=("id",)), sent)
    assert fetched.rows == [row for row in known if sent.items() <= row.items()]


@pytest.mark.parametrize(
    "value",
    ["'; DROP TABLE people; --", "county 1' OR '1'='1", "%s", "%(x)s", "$1", "\\", "{}", '"', "ä€😀", ""],
)
def test_a_value_is_never_sql(people, value):
    assert fetch(of_people(people), {"county": value}).rows == []
    assert len(people.execute("SELECT id FROM people")) == 25


@pytest.mark.parametrize(
    "name",
    [
        'county" = county OR "county',
        "county; DROP TABLE people",
        "1=1) OR (county",
        "co%sunty",
        "%",
        "$1",
        "a'b",
    ],
)
def test_a_name_is_never_sql(people, name):
    expect_failure(of_people(people), "provider_error", 502, "SQLSTATE 42703", {name: SECRET})
    assert len(people.execute("SELECT id FROM people")) == 25


@pytest.mark.parametrize("name", ['a"b', "a%sb", "a;b", "a{}b", "$1", "Sélect"])
def test_strange_names_that_do_exist_are_found(postgres, name):
    quoted = '"' + name.replace('"', '""') + '"'
    postgres.execute(f"DROP TABLE IF EXISTS strange; CREATE TABLE strange ({quoted} int)".encode())
    postgres.execute("INSERT INTO strange VALUES (1), (2)")
    assert fetch(table(postgres, "strange", columns=(name,), order=(name,)), {name: 2}).rows == [{name: 2}]


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"county": "county 1", "age": SECRET}, "parameter 'age' does not fit"),
        ({"age": SECRET, "county": "county 1"}, "parameter 'age' does not fit"),
        ({"age": 10**12}, "parameter 'age' does not fit"),
        ({"age": 21.5}, "parameter 'age' does not fit"),
        ({"age": f"{SECRET} $2\n$2", "county": "$2"}, "parameter 'age' does not fit"),
        ({"age": 21, "county": f"{SECRET}\0"}, "parameter 'county' must be"),
        ({"age": 21, "county": f"{SECRET}\ud800"}, "parameter 'county' must be"),
    ],
)
def test_a_value_that_does_not_fit_is_the_persons_mistake_and_not_shown(people, sent, words):
    error = failure(of_people(people), sent)
    assert (error.code, error.status) == ("bad_request", 400)
    assert words in str(error)
    assert SECRET not in f"{error!r} {error.__cause__!r}"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("date", "2024-02-30"),
        ("date", "soon"),
        ("timestamp", "2024-13-01"),
        ("uuid", "1"),
        ("boolean", "maybe"),
        ("double precision", "1e999"),
        ("jsonb", '{"$1": $1'),
        ("int[]", "{1"),
        ("inet", "256.0.0.1"),
    ],
)
def test_the_parameter_that_does_not_fit_is_named_whatever_the_columns_type(postgres, kind, value):
    postgres.execute(f"DROP TABLE IF EXISTS fits; CREATE TABLE fits (a int, v {kind})".encode())
    config = table(postgres, "fits", columns=("a",))
    expect_failure(config, "bad_request", 400, "parameter 'v' does not fit", {"a": 1, "v": value})


@pytest.mark.parametrize("column", ["1 / (id - id)", "('x' || id)::int"])
def test_a_fault_in_the_tables_own_data_is_not_the_persons_mistake(people, column):
    people.execute(f"CREATE OR REPLACE VIEW faulty AS SELECT {column} AS v, county FROM people".encode())
    config = table(people, "faulty", columns=("v",))
    expect_failure(config, "provider_error", 502, "error in the provider's data", {"county": "county 1"})
    expect_failure(config, "provider_error", 502, "error in the provider's data", {"v": 1})
    expect_failure(config, "provider_error", 502, "error in the provider's data")
    people.execute("DROP VIEW faulty")


def test_a_server_that_does_not_say_which_parameter_is_believed_by_its_code():
    error = psycopg.errors.InvalidTextRepresentation(SECRET)
    assert _data_problem(error, ("age",), 140_000).status == 400
    assert "a parameter does not fit" in str(_data_problem(error, ("age", "county"), 140_000))
    assert _data_problem(error, ("age", "county"), 150_000).status == 502
    assert _data_problem(psycopg.errors.DivisionByZero(), ("age",), 140_000).status == 502


@pytest.mark.parametrize("value", [None, [SECRET], {"a": 1}])
def test_a_value_without_a_text_is_not_sent(people, value):
    assert failure(of_people(people), {"county": value}).status == 400


def test_after_an_error_the_connection_serves_on(people):
    async def twice(provider):
        with pytest.raises(ProviderError):
            await provider.fetch({"age": SECRET}, {})
        return await provider.fetch({}, {}), len(sessions(people))

    fetched, connections = using(of_people(people), twice)
    assert (fetched.rows, connections) == (PEOPLE, 1)


def sessions(postgres):
    return postgres.execute(QUERIES)


def napping(postgres):
    """Return the queries that are under way in the view of slow rows."""
    return postgres.execute("SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'")


VALUES = {
    "smallint": ("39", 39),
    "bigint": ("-9000000000000000000", -9000000000000000000),
    "double precision": ("0.1", 0.1),
    "real": ("0.1", 0.1),
    "boolean": ("true", True),
    "numeric": ("12345678901234567890123", 12345678901234567890123),
    "numeric(10,2)": ("39.00", 39),
    "numeric(11,2)": ("-12.50", -12.5),
    "numeric(30,20)": ("0.12345678901234567891", "0.12345678901234567891"),
    "decimal": ("NaN", "NaN"),
    "text": ("a 'b'", "a 'b'"),
    "char(5)": ("ab", "ab"),
    "date": ("2024-02-29", "2024-02-29"),
    "timestamp": ("infinity", "infinity"),
    "timestamp(0)": ("2024-02-29 12:00:00", "2024-02-29 12:00:00"),
    "time": ("12:00:00", "12:00:00"),
    "interval": ("1 day", "1 day"),
    "uuid": ("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000001"),
    "bytea": ("\\x00ff", "\\x00ff"),
    "inet": ("127.0.0.1", "127.0.0.1"),
    "int4range": ("[1,3)", "[1,3)"),
    "jsonb": ('{"a": [1, null]}', {"a": [1, None]}),
    "int[]": ("{1,NULL}", [1, None]),
    "numeric[]": ("{1.50,2}", [1.5, 2]),
    "date[]": ("{2024-02-29}", ["2024-02-29"]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_values_of_every_type_are_ones_of_json(postgres, kind):
    text, value = VALUES[kind]
    postgres.execute(f"DROP TABLE IF EXISTS kinds; CREATE TABLE kinds (v {kind})".encode())
    postgres.execute(f"INSERT INTO kinds VALUES (%s::text::{kind}), (NULL)".encode(), [text])
    fetched = fetch(table(postgres, "kinds", columns=("v",), order=("v",)))
    assert fetched.rows == [{"v": value}, {"v": None}]
    assert type(fetched.rows[0]["v"]) is type(value)
    assert json.loads(msgspec.json.encode(fetched.rows)) == fetched.rows
    assert fetch(table(postgres, "kinds", columns=("v",)), {"v": text}).rows == [{"v": value}]


@pytest.mark.parametrize("rows", [1, 24, 25, 26])
def test_the_budget_in_rows_ends_the_fetch(people, rows):
    fetched = fetch(of_people(people, budget=Budget(rows=rows)))
    assert fetched.rows == PEOPLE[:rows]
    assert fetched.complete == (rows >= 25)
    assert ("rows" in fetched.missing) == (rows < 25)


def test_the_budget_in_bytes_ends_the_fetch_and_the_query(postgres):
    postgres.execute("CREATE VIEW wide AS SELECT repeat('x', 1000000) AS text FROM generate_series(1, 500)")

    async def fetch_and_look(provider):
        fetched = await provider.fetch({}, {})
        return (
            fetched,
            sessions(postgres),
            (await provider.fetch({"text": "none"}, {})).rows,
        )

    config = table(postgres, "wide", columns=("text",), budget=Budget(bytes=3_500_000), timeout=30.0)
    fetched, activity, after = using(config, fetch_and_look)
    assert (len(fetched.rows), fetched.complete) == (3, False)
    assert "3500000 bytes" in fetched.missing
    assert [state for state, _ in activity] == ["idle"]
    assert after == []


def test_memory_is_counted_while_rows_come(postgres):
    postgres.execute(
        "CREATE OR REPLACE VIEW nested AS SELECT ('[' || repeat('[],', 5000) || '[]]')::json AS v"
        " FROM generate_series(1, 1000)"
    )
    fetched = fetch(table(postgres, "nested", columns=("v",), budget=Budget(bytes=8_000_000)))
    assert not fetched.complete
    assert fetched.missing.startswith("the answer has more than 64000000 bytes when decoded")
    assert 50 < len(fetched.rows) < 300


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("""'{"a": 1, "a": 2}'::json""", "same name twice"),
        ("'[1e999]'::json", "not JSON"),
        ("to_json(repeat('x', 8000000))", "too large"),
        ("('[' || repeat('1,', 250000) || '1]')::json", "too large"),
    ],
)
def test_json_in_a_column_that_cannot_be_read_is_an_error(postgres, column, words):
    postgres.execute(f"DROP VIEW IF EXISTS doubtful; CREATE VIEW doubtful AS SELECT {column} AS v".encode())
    expect_failure(table(postgres, "doubtful", columns=("v",)), "provider_error", 502, words)


SLOW = "CREATE OR REPLACE VIEW slow AS SELECT 1 AS id, pg_sleep({})::text AS nap FROM generate_series(1, 3)"


def test_a_slow_query_is_given_up_in_time_on_both_sides(postgres):
    postgres.execute(SLOW.format(60).encode())
    expect_failure(
        table(postgres, "slow", columns=("id", "nap"), timeout=0.4), "provider_timeout", 504, "0.4 seconds"
    )
    # The query would go on for three minutes: that it ends sooner is the promise.
    until(lambda: not sessions(postgres))


def test_a_server_that_hangs_is_given_up_in_time(people):
    async def freeze(provider):
        await provider.fetch({}, {})
        people.freeze()
        try:
            async with asyncio.timeout(60):  # three waits of 0.8 seconds; the server would never answer
                with pytest.raises(ProviderError) as connected:
                    await provider.fetch({"county": SECRET}, {})
                with pytest.raises(ProviderError) as connecting:
                    await provider.fetch({"county": SECRET}, {})
                assert not await provider.ready()
        finally:
            people.thaw()
        assert {connected.value.code, connecting.value.code} == {"provider_timeout"}
        assert "0.4 seconds" in str(connecting.value)  # a half is for connecting, and there is no other try
        return await provider.fetch({}, {})

    assert using(of_people(people, timeout=0.8, retries=0), freeze).rows == PEOPLE


def test_a_database_that_is_down_cannot_be_reached_and_comes_back(people):
    async def down_and_up(provider):
        assert not await provider.ready()
        with pytest.raises(ProviderError, match="cannot be reached") as caught:
            await provider.fetch({"county": SECRET}, {})
        assert (caught.value.code, caught.value.status) == ("provider_error", 502)
        people.start()
        assert await provider.ready()
        fetched = await provider.fetch({}, {})
        people.stop()
        assert not await provider.ready()
        people.start()
        again = await asyncio.gather(*(provider.fetch({}, {}) for _ in range(9)))  # with stale connections
        people.stop()
        people.start()
        again.append(await provider.fetch({}, {}))
        return [one.rows for one in (fetched, *again)]

    people.stop()
    try:
        answers = using(of_people(people, retries=1, connections=3), down_and_up)
    finally:
        people.start()
    assert answers == [PEOPLE] * 11


def test_no_more_connections_are_made_than_allowed(people):
    people.execute(SLOW.format(0.05).encode())

    async def crowd(provider):
        fetches = [asyncio.create_task(provider.fetch({}, {})) for _ in range(8)]
        seen = []

        def all_done():
            seen.append(len(sessions(people)))
            return all(fetch.done() for fetch in fetches)

        await until_async(all_done)
        await asyncio.gather(*fetches)
        return max(seen), seen[-1]

    assert using(table(people, "slow", columns=("id", "nap"), connections=2), crowd) == (2, 2)
    until(lambda: not sessions(people))


def test_waiting_for_a_connection_counts_as_time(people):
    people.execute(SLOW.format(0.2).encode())

    async def crowd(provider):
        return await asyncio.gather(*(provider.fetch({}, {}) for _ in range(4)), return_exceptions=True)

    config = table(people, "slow", columns=("id", "nap"), connections=1, timeout=1.0)
    first, *others = using(config, crowd)
    assert first.complete
    assert [getattr(other, "code", None) for other in others] == ["provider_timeout"] * 3


def test_a_fetch_that_is_cancelled_stops_and_others_go_on(people):
    people.execute(SLOW.format(60).encode())

    async def cancel(provider):
        task = asyncio.create_task(provider.fetch({}, {}))
        await until_async(lambda: napping(people))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await provider.ready()

    assert using(table(people, "slow", columns=("id", "nap"), connections=1), cancel)
    until(lambda: not sessions(people))


def test_a_provider_closed_during_a_fetch_lets_its_connection_go_afterwards(people):
    people.execute(SLOW.format(0.3).encode())

    async def close_early(provider):
        task = asyncio.create_task(provider.fetch({}, {}))
        await until_async(lambda: napping(people))
        await provider.close()
        return (await task).complete, list(provider._idle)

    assert using(table(people, "slow", columns=("id", "nap")), close_early) == (True, [])


def test_nothing_can_be_written(people):
    people.execute("CREATE TABLE IF NOT EXISTS diary (entry text)")
    people.execute(
        "CREATE OR REPLACE FUNCTION write() RETURNS int LANGUAGE sql AS"
        " $$ INSERT INTO diary VALUES ('was here'); SELECT 1 $$;"
        " CREATE OR REPLACE VIEW writing AS SELECT write() AS id"
    )
    expect_failure(table(people, "writing", columns=("id",)), "provider_error", 502, "SQLSTATE 25006")
    assert people.execute("SELECT * FROM diary") == []


def test_the_sessions_settings_are_ours_after_those_of_the_address(people):
    people.execute("CREATE OR REPLACE VIEW settings AS SELECT name, setting FROM pg_settings")
    options = "options='-c work_mem=4321kB -c statement_timeout=0 -c default_transaction_read_only=off'"
    config = table(
        people, "settings", columns=("name", "setting"), dsn=Hidden(f"{people.dsn} {options}"), timeout=7.5
    )
    found = {row["name"]: row["setting"] for row in fetch(config).rows}
    assert found["statement_timeout"] == "7500"
    assert (found["work_mem"], found["application_name"]) == ("4321", "incrowd")
    assert (found["default_transaction_read_only"], found["transaction_read_only"]) == ("on", "on")


def test_what_the_library_logs_holds_no_value(people, caplog):
    caplog.set_level(logging.DEBUG)
    failure(of_people(people), {"age": SECRET})
    fetch(of_people(people), {"county": SECRET})
    assert SECRET not in caplog.text


def test_an_address_that_cannot_be_read_is_refused_without_showing_it(people):
    with pytest.raises(BadInputError, match="'dsn'") as caught:
        fetch(of_people(people, dsn=Hidden("password=hunter2 nonsense")))
    assert "hunter2" not in str(caught.value)


class Stray:
    """A server that answers each query with its value, and sends additional data once the first was answered."""

    dsn = "host=127.0.0.1 port={} user=x dbname=x sslmode=disable gssencmode=disable"

    def __init__(self, stray):
        self._stray = [stray]
        self.sent = threading.Event()
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.dsn = self.dsn.format(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._talk, args=(peer,), daemon=True).start()

    def _talk(self, peer):
        with contextlib.suppress(OSError), peer, peer.makefile("rb") as stream:
            self._serve(peer, stream)

    def _serve(self, peer, stream):
        read(stream)  # the startup message
        settings = b"".join(
            message(b"S", each) for each in (b"server_version\x0015.0\0", b"client_encoding\0UTF8\0")
        )
        peer.sendall(message(b"R", bytes(4)) + settings + message(b"Z", b"I"))
        while kind := stream.read(1):
            content = read(stream)
            if kind == b"B":  # it holds the value, and zeros follow
                sought = content[content.index(b"county") :].partition(b"\0")[0]
            elif kind == b"S":
                peer.sendall(result(sought))
                if self._stray:
                    time.sleep(0.05)  # so that it comes by itself
                    peer.sendall(self._stray.pop())
                    self.sent.set()


def read(stream):
    return stream.read(struct.unpack("!I", stream.read(4))[0] - 4)


def message(kind, content=b""):
    return kind + struct.pack("!I", len(content) + 4) + content


def result(text):
    column = b"county\0" + struct.pack("!IhIhih", 0, 0, 25, -1, -1, 0)
    row = struct.pack("!HI", 1, len(text)) + text
    answer = [
        (b"1", b""),
        (b"2", b""),
        (b"T", b"\0\1" + column),
        (b"D", row),
        (b"C", b"SELECT 1\0"),
        (b"Z", b"I"),
    ]
    return b"".join(message(*each) for each in answer)


@pytest.mark.parametrize(
    "stray", [result(b"another"), message(b"Z", b"I")], ids=["answer", "end of an answer"]
)
def test_a_connection_on_which_anything_arrived_is_not_used_again(stray):
    async def ask(provider):
        answers = []
        for number in range(3):
            answers += (await provider.fetch({"county": f"county {number}"}, {})).rows
            await until_async(server.sent.is_set)
        return answers

    with Stray(stray) as server:
        answers = using(table(server, columns=("county",)), ask)
        assert [row["county"] for row in answers] == ["county 0", "county 1", "county 2"]
        assert server.connections == 2
