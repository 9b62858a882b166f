"""What --check finds out: largest l, policies that can be met, memory, and warnings."""

from __future__ import annotations

import itertools
import json
import socket
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.errors import BadInputError
from incrowd.gateway.config.check import check, show
from incrowd.gateway.config.config import load_config
from incrowd.gateway.server.prepared import prepare
from incrowd.generalizer import Policy, generalize
from incrowd.generalizer.counters import choose_counter
from incrowd.generalizer.ledger.ledger import Ledger
from incrowd.generalizer.ledger.store import create_ledger
from incrowd.generalizer.tables import load_auxiliary

SECRET = "correct-horse-battery-staple"
LEDGER = (
    "ledger: there is none, so queries are not linked: two that are private one by one may identify a person together; "
    "add ledger: {file: ledger.sqlite} and privacy.secret, then use --init-ledger"
)
UNCUT = (
    "providers.loans: neither pages nor truncated is set: if the provider truncates long answers, it cannot be noticed; "
    "set one of them, or make sure that it never does"
)


def shifting(but: str = "") -> str:
    return (
        f"providers.loans.key: there is none: not all rows that shift between offset pages can be noticed{but}; "
        "name a field that is different in every row"
    )


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{county},{race},{n % 4}" for n in range(3) for county in ("Essex", "Dukes") for race in "AB"]
    Path("people.csv").write_text("\n".join(["county,race,income", *rows, "Kings,A,0\n"]), encoding="utf-8")
    Path("county.csv").write_text("Essex;MA;*\nDukes;MA;*\nKings;NY;*\n", encoding="utf-8")
    Path("elsewhere").mkdir()
    create_ledger("ledger.sqlite", marker="elsewhere/marker", secret=SECRET.encode())


def tree_of(**changes: object) -> dict:
    loans = {"kind": "http", "url": "https://provider.example/", "key": "/id", "pages": {"kind": "offset"}}
    county = {"use": "quasi", "send": ["county", "state"]}
    return {
        "table": {"file": "people.csv", "ladders": {"county": "county.csv"}},
        "privacy": {"protect": ["income:l=2"], "secret": SECRET},
        "ledger": {"file": "ledger.sqlite", "marker": "elsewhere/marker"},
        "people": [{"name": "alice", "key_sha256": "a" * 64}],
        "providers": {"loans": loans},
        "routes": [
            {"path": "/loans", "provider": "loans", "parameters": {"county": county, "race": "quasi"}}
        ],
    } | changes


def checked(**changes: object):
    Path("gateway.yaml").write_text(yaml.safe_dump(tree_of(**changes), sort_keys=False), encoding="utf-8")
    Path("gateway.yaml").chmod(0o600)
    return check(load_config(Path("gateway.yaml")))


def test_it_says_what_the_table_can_give():
    # Incomes: 5 times 0, 4 times 1, 4 times 2: G = (5 + 8 + 12) / 13.
    result = checked()
    county, race, income = result.attributes
    assert result.rows == 13
    assert (county.values, county.rungs, county.protected) == (3, 2, False)
    assert (race.values, race.rungs, race.entropy) == (2, 1, Fraction(7 + 2 * 6, 13))
    assert (income.entropy, income.largest_l, income.protected) == (Fraction(25, 13), 2, True)
    assert [(each.who, each.reach) for each in result.policies] == [("people without their own", "always")]
    assert (result.warnings, result.errors, result.good) == ((), (), True)


@pytest.mark.parametrize(
    ("protect", "reach"),
    [
        ("income:g=25/13", "always"),
        ("income:l=3", "sometimes"),
        ("income:g=2.000000001", "never"),
        ("income:l=4", "never"),
    ],
)
def test_a_policy_is_met_always_sometimes_or_never(protect, reach):
    result = checked(privacy={"protect": [protect], "secret": SECRET})
    assert result.policies[0].reach == reach
    assert result.good is (reach != "never")
    assert bool(result.warnings) is (reach == "sometimes")


def test_a_policy_that_cannot_be_met_is_an_error_line_with_the_remedy():
    people = [{"name": "alice", "key_sha256": "a" * 64, "protect": ["race:l=2", "income:l=4"]}]
    result = checked(people=people)
    assert result.errors == (
        (
            "people[0].protect[1]: every query would be refused: income takes 1.92 guesses among all rows "
            "and the policy requires 5/2; use l=2 at most"
        ),
    )
    assert result.warnings == (
        (
            "people[0].protect[0]: queries may be refused, even the query for all rows: race takes 1.46 guesses among all rows "
            "and the policy requires 3/2; use l=1 at most"
        ),
    )
    assert [each.who for each in result.policies] == ["people without their own", "alice", "alice"]


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=12))
def test_up_to_the_largest_l_no_query_is_refused_and_what_is_never_met_always_refuses(rows):
    text = "\n".join(["county,race,income", *(",".join(map(str, row)) for row in rows)])
    Path("people.csv").write_text(text + "\n", encoding="utf-8")
    parameters = {"county": "quasi", "race": "quasi"}
    routes = [{"path": "/loans", "provider": "loans", "parameters": parameters}]
    income = checked(table={"file": "people.csv"}, routes=routes).attributes[2]
    table = load_auxiliary(Path("people.csv"))
    domains = [(None, *table.schema[name].domain) for name in ("county", "race")]
    queries = [dict(zip(("county", "race"), values, strict=True)) for values in itertools.product(*domains)]
    for wanted in (income.largest_l, income.largest_l + 1, income.occurring + 1):
        policy = Policy.of_diversity("income", wanted)
        refused = {generalize(query, table, [policy], strategy="worst-fit").refused for query in queries}
        assert (wanted <= income.largest_l) is (income.reach(policy) == "always")
        if income.reach(policy) == "always":
            assert refused == {False}
        if income.reach(policy) == "never":
            assert refused == {True}


def spoil(how):
    """Bring the ledger into a state that cannot serve; return what the configuration says of it."""
    file, marker = Path("ledger.sqlite"), Path("elsewhere/marker")
    if how == "never made":
        file.unlink()
        marker.unlink()
    elif how == "missing":
        file.unlink()
    elif how == "no marker":
        marker.unlink()
    elif how == "no ledger":
        file.write_bytes(b"This is a diary. " * 100)
    elif how == "another secret":
        file.unlink()
        marker.unlink()
        create_ledger(file, marker=marker, secret=b"another secret of enough bytes")
    elif how == "readable":
        file.chmod(0o644)
    elif how == "old":
        old = file.read_bytes()
        with Ledger(file, marker=marker, secret=SECRET.encode(), time_to_live=3600) as ledger:
            ledger.disclose("alice", "loans", {"race": "0/A"})
        file.write_bytes(old)
    directory = "nowhere/" if how == "no directory" else ""
    return {"file": f"{directory}ledger.sqlite", "marker": "elsewhere/marker"}


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("never made", ["there is no ledger", "--init-ledger", "no past disclosures"]),
        ("missing", ["is missing", "restore the newest ledger"]),
        ("no marker", ["elsewhere/marker is missing", "--trust-ledger"]),
        ("no directory", ["nowhere/ledger.sqlite", "No such file or directory"]),
        ("no ledger", ["not a ledger", "move it away"]),
        ("another secret", ["another secret"]),
        ("readable", ["chmod 600"]),
        ("old", ["older than its marker", "write 0 of 1", "restore the newest one"]),
    ],
)
def test_a_ledger_that_cannot_serve_is_an_error_and_nothing_is_made(how, words):
    ledger = spoil(how)
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    result = checked(ledger=ledger)
    (error,) = result.errors
    assert error.startswith("ledger: ")
    assert not result.good
    for word in words:
        assert word in error
    after = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    del after[Path("gateway.yaml")]
    assert after == before


def test_a_marker_beside_the_ledger_is_warned_of():
    create_ledger("here.sqlite", marker="here.sqlite.marker", secret=SECRET.encode())
    result = checked(ledger={"file": "here.sqlite"})
    (warning,) = result.warnings
    assert warning.startswith("ledger.marker: is in the ledger's directory")
    assert result.good


@pytest.mark.parametrize(
    ("source", "kind"),
    [({}, "cube"), ({"memory": 0}, "scan"), ({"memory": 0, "sample": {"rows": 5}}, "sample")],
)
def test_it_foretells_who_counts(source, kind):
    result = checked(table={"file": "people.csv", "ladders": {"county": "county.csv"}, **source})
    table = load_auxiliary(Path("people.csv"), ladders={"county": Path("county.csv")})
    config = load_config(Path("gateway.yaml"))
    counter = choose_counter(table, ["income"], memory=config.table.memory, sample=config.table.sample)
    assert result.memory.counter == counter.kind == kind
    if kind == "cube":
        assert result.memory.cubes == counter.nbytes


CAUTIONS = [
    ({"ledger": None}, [LEDGER]),
    (
        {"ledger": {"file": "ledger.sqlite", "marker": "elsewhere/marker", "parts": False}},
        [
            (
                "ledger.parts: only all disclosures together are private, and a part of them (a pair of queries, a session) may disclose a protected attribute; use parts: true"
            )
        ],
    ),
    (
        {"listen": {"host": "0.0.0.0"}, "metrics": {"host": "10.0.0.1"}},
        [
            (
                "listen.tls: there is none and other machines can connect: keys and queries can be read in transit; add tls, or listen "
                "on 127.0.0.1 behind a proxy that has it"
            ),
            "metrics.host: metrics have no key and no TLS, and other machines can connect; use 127.0.0.1 or a firewall",
        ],
    ),
    ({"listen": {"host": "localhost"}, "metrics": {"host": "::1"}}, []),
    (
        {"providers": {"loans": {"kind": "http", "url": "HTTP://provider.example/", "insecure": True}}},
        [
            "providers.loans.url: plain http: what is sent can be read in transit; use https",
            UNCUT,
        ],
    ),
    (
        {"providers": {"loans": {"kind": "http", "url": "https://a/", "pages": {"kind": "offset"}}}},
        [shifting(", and without pages.total either, several pages are never an exact answer")],
    ),
    (
        {
            "providers": {
                "loans": {"kind": "http", "url": "https://a/", "pages": {"kind": "offset", "total": "/n"}}
            }
        },
        [shifting()],
    ),
    (
        {
            "providers": {
                "loans": {"kind": "http", "url": "https://a/", "pages": {"kind": "cursor", "next": "/n"}}
            }
        },
        [],
    ),
    (
        {
            "providers": {
                "loans": {"kind": "http", "url": "https://a/", "truncated": "/more"},
                "spare": {"kind": "postgresql", "dsn": "host=db", "table": "t", "columns": ["a"]},
                "local": {"kind": "postgresql", "dsn": "host=/run", "table": "t", "columns": ["a"]},
                "safe": {
                    "kind": "postgresql",
                    "dsn": "postgresql://db/x?sslmode=verify-full",
                    "table": "t",
                    "columns": ["a"],
                },
            }
        },
        [
            "providers.spare: no route uses it; remove it or add a route",
            "providers.spare.dsn: the connection may be unencrypted; add sslmode=verify-full",
            "providers.local: no route uses it; remove it or add a route",
            "providers.safe: no route uses it; remove it or add a route",
        ],
    ),
    (
        {
            "routes": [
                {
                    "path": "/loans",
                    "provider": "loans",
                    "parameters": {"race": "passthrough", "q": "passthrough"},
                }
            ]
        },
        [
            (
                "routes[0].parameters.race: passes through unchanged although it is an attribute of the table: it is disclosed without being counted; use quasi"
            )
        ],
    ),
]


@pytest.mark.parametrize(("changes", "lines"), CAUTIONS)
def test_it_warns(changes, lines):
    result = checked(**changes)
    assert list(result.warnings) == lines
    assert result.good


def leaky_table():
    """Town 0 is hard enough to guess from but for its bakers: who sends "town 0" alone is a baker."""
    rows = [("town 0", "clerk", income) for income in "ab" * 4] + [("town 0", "baker", "a")] * 4
    rows += [("town 1", "clerk", income) for income in "ab" * 4]
    return "\n".join(",".join(row) for row in [("town", "trade", "income"), *rows]) + "\n"


def leaky(strategy: str):
    Path("people.csv").write_text(leaky_table(), encoding="utf-8")
    parameters = {"town": "quasi", "trade": "quasi", "income": "quasi"}
    return checked(
        table={"file": "people.csv"},
        privacy={"protect": ["income:g=1.3"], "secret": SECRET, "strategy": strategy},
        routes=[{"path": path, "provider": "loans", "parameters": parameters} for path in ("/a", "/b")],
    )


def test_it_says_what_is_left_to_a_provider_that_knows_the_algorithm(capsys):
    result = leaky("worst-fit")
    every, any_ = result.exposures
    assert (every.route, every.protects, every.parameters, every.rows) == (
        "/a",
        "income:g=13/10",
        "every parameter",
        20,
    )
    assert (every.found.known, every.found.refused) == (0.2, 0)
    assert every.found.fetched == pytest.approx((8 * 8 + 8 * 8 + 4 * 12) / 400)
    assert any_.parameters == "any of them"
    assert any_.found.known == pytest.approx((4 * 4 + 2 * 4) / (20 * 9))  # bakers who ask with trade at all
    # Without the template: "town 0" by all who ask for it and the bakers (32 to 8), and everything (20 to 8).
    assert any_.found.unknown == pytest.approx((40 + 28) / (20 * 9))
    assert result.warnings == (
        (
            "privacy.strategy: what worst-fit drops depends on the values of queries, which discloses something: for a "
            "provider that knows the table and the algorithm, income:g=13/10 does not hold after 37.8 % of the "
            "disclosures of /a; use strategy: strict"
        ),
    )
    assert result.good
    assert result.as_dict()["minimality"][0]["below_template_known"] == 0.2
    show(result)
    shown = capsys.readouterr().out
    assert "Strategy worst-fit: disclosures below the policy for a provider that knows the table" in shown
    assert ["every", "parameter", "20.0", "%", "20.0", "%", "0.0", "%", "44.0", "%"] in [
        line.split()[2:] for line in shown.splitlines()
    ]


def test_strict_leaves_nothing_and_needs_no_warning(capsys):
    result = leaky("strict")
    assert all((each.found.known, each.found.unknown) == (0, 0) for each in result.exposures)
    assert result.warnings == ()
    show(result)
    assert "Strategy strict: disclosures below the policy" in capsys.readouterr().out


def test_a_large_table_is_looked_at_by_a_sample_and_that_is_said(monkeypatch, capsys):
    monkeypatch.setattr("incrowd.gateway.config.exposure.WORK", 9 * 12)
    monkeypatch.setattr("incrowd.gateway.config.exposure.LEAST_ROWS", 8)
    result = leaky("worst-fit")
    assert [each.rows for each in result.exposures] == [20, 12]
    show(result)
    assert "by a sample of 12 rows or more" in capsys.readouterr().out
    monkeypatch.setattr("incrowd.gateway.config.exposure.LEAST_ROWS", 100)
    monkeypatch.setattr("incrowd.gateway.config.exposure.WORK", 40)
    result = leaky("worst-fit")
    assert result.exposures == ()
    show(result)
    assert "was not computed: there are too many generalizations" in capsys.readouterr().out


def test_it_warns_of_secrets_that_others_may_read(monkeypatch):
    monkeypatch.setenv("TOKEN", "token")
    for name in ("server.pem", "server.key"):
        Path(name).write_text("", encoding="utf-8")
    headers = {"X-Api-Key": "abc", "Accept": "text/json", "X-Token": {"env": "TOKEN"}}
    loans = {"kind": "http", "url": "https://a/", "headers": headers, "truncated": "/more"}
    houses = {"kind": "postgresql", "dsn": "host=/run password=abc", "table": "t", "columns": ["race"]}
    routes = tree_of()["routes"] + [
        {"path": "/houses", "provider": "houses", "parameters": {"race": "quasi"}}
    ]
    tls = {"certificate": "server.pem", "key": "server.key"}
    changes = {"providers": {"loans": loans, "houses": houses}, "routes": routes, "listen": {"tls": tls}}
    Path("server.key").chmod(0o604)
    key = Path.cwd() / "server.key"
    assert checked(**changes).warnings == (
        f"listen.tls.key: all users of this machine may read it; chmod 600 {key}",
    )
    key.chmod(0o640)
    config = load_config(Path("gateway.yaml"))
    assert check(config).warnings == ()
    Path("gateway.yaml").chmod(0o640)
    end = ": is written in a file that other users may read; use {env: NAME} or {file: PATH}, or chmod 600"
    places = ["privacy.secret", "providers.loans.headers.x-api-key", "providers.houses.dsn"]
    assert list(check(config).warnings) == [place + end for place in places]


def test_a_table_that_does_not_agree_is_an_error():
    with pytest.raises(
        BadInputError, match=r"gateway.yaml: privacy.protect\[0\]: the table has no attribute 'wage'"
    ):
        checked(privacy={"protect": ["wage:l=2"], "secret": SECRET})
    with pytest.raises(BadInputError, match=r"none.csv: does not exist; give a file that is there"):
        checked(table={"file": "none.csv", "ladders": {"county": "county.csv"}})


def test_a_table_without_a_header_takes_its_columns_from_the_configuration():
    Path("people.data").write_text("Essex, A, 1\nDukes, B, 2\n", encoding="utf-8")
    table = {
        "file": "people.data",
        "columns": ["county", "race", "income"],
        "ladders": {"county": "county.csv"},
    }
    assert checked(table=table).rows == 2


def test_it_is_shown_and_is_json(capsys):
    people = [{"name": "alice", "key_sha256": "a" * 64, "protect": ["income:l=4"]}]
    result = checked(people=people, ledger=None)
    found = json.loads(json.dumps(result.as_dict()))
    assert found["good"] is False
    assert found["attributes"][2] == {
        "name": "income",
        "values": 3,
        "occurring": 3,
        "rungs": 1,
        "entropy": "25/13",
        "largest_l": 2,
        "protected": True,
    }
    assert found["policies"][1] == {
        "where": "people[0].protect[0]",
        "who": "alice",
        "attribute": "income",
        "minimum": "5/2",
        "reachable": "never",
    }
    assert found["memory"]["counter"] == "cube"
    assert found["warnings"] == [LEDGER]
    show(result)
    shown = capsys.readouterr().out
    assert "13 rows in the auxiliary table" in shown
    assert "entropies are looked up in cubes" in shown
    assert f"warning: {LEDGER}" in shown
    assert "error: people[0].protect[0]: every query would be refused" in shown
    assert "gateway.yaml must not be used" in shown
    assert SECRET not in shown
    show(checked())
    assert "gateway.yaml can be used" in capsys.readouterr().out


LOANS = {"kind": "http", "url": "https://provider.example/loans", "pages": {"kind": "offset"}}
HOUSES = {
    "kind": "postgresql",
    "dsn": "host=/run dbname=houses",
    "table": "houses",
    "columns": ["county", "race"],
}
ONE = "is the same as loans, but disclosures to one do not count for the other"


@pytest.mark.parametrize(
    ("first", "second", "one"),
    [
        (LOANS, LOANS, True),
        (LOANS, {**LOANS, "url": "https://Provider.example:443/loans?kind=old"}, True),
        (LOANS, {**LOANS, "url": "https://provider.example/houses"}, False),
        (HOUSES, {**HOUSES, "table": "public.houses", "dsn": "dbname=houses host=/run"}, True),
        (HOUSES, {**HOUSES, "table": "flats"}, False),
    ],
)
def test_two_providers_that_are_one_get_a_warning(first, second, one):
    routes = [
        {"path": f"/{name}", "provider": name, "parameters": {"race": "quasi"}}
        for name in ("loans", "others")
    ]
    warnings = checked(providers={"loans": first, "others": second}, routes=routes).warnings
    assert any(line.startswith(f"providers.others: {ONE}") for line in warnings) is one


def startup_errors(**changes: object):
    """Return what keeps a configuration from serving on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    tree = tree_of(**{"listen": {"port": port}, **changes})
    Path("gateway.yaml").write_text(yaml.safe_dump(tree), encoding="utf-8")
    before = sorted(Path.cwd().rglob("*"))
    errors = check(load_config(Path("gateway.yaml")), machine=True).errors
    assert sorted(Path.cwd().rglob("*")) == before
    return errors


def test_what_can_serve_has_no_obstacles_and_nothing_is_left_behind():
    assert startup_errors() == ()


def test_a_directory_for_cubes_that_cannot_be_made_is_an_error_only_if_it_is_needed():
    table = {"file": "people.csv", "ladders": {"county": "county.csv"}, "cache": "people.csv/cubes"}
    (error,) = startup_errors(table=table)
    assert error.startswith("table.cache: no file can be created in ")
    (error,) = startup_errors(table={**table, "cache": "/proc/cubes"})
    assert error.startswith("table.cache: no file can be created in /proc/cubes")
    assert startup_errors(table={**table, "memory": 0}) == ()


def test_addresses_that_cannot_be_had_are_errors():
    listen, metrics = {"host": "192.0.2.1"}, {"host": "no-such-host.invalid"}
    first, second = startup_errors(listen=listen, metrics=metrics)
    assert first.startswith(
        "listen: cannot listen on 192.0.2.1, port 8080 (Cannot assign requested address); "
    )
    assert second.startswith("metrics: cannot listen on no-such-host.invalid, port 9464 (")


def test_files_of_providers_that_cannot_be_read_are_errors():
    Path("ca.pem").write_text("garbage", encoding="utf-8")
    (error,) = startup_errors(providers={"loans": {**LOANS, "tls": {"ca": "ca.pem"}}})
    assert error.startswith("providers.loans: the provider's 'tls'")
    houses = {**HOUSES, "columns": ["county", "race", "state"], "dsn": "dbname=x sslrootcert=/absent.pem"}
    (error,) = startup_errors(providers={"loans": houses})
    assert error.startswith("providers.loans: dsn: sslrootcert cannot be read (")


@pytest.mark.parametrize("parts", [None, True, False])
def test_parts_of_what_was_disclosed_count_as_the_ledger_says(parts):
    """Of the people in Essex of race A nine of ten have income 0; with the sex as well, one of two."""
    groups = {"1,1,1,0": 1, "1,1,1,1": 1, "1,1,0,0": 8, "1,0,0,1": 8, "0,1,0,1": 8, "0,0,0,0": 8}
    lines = [line for line, people in groups.items() for _ in range(people)]
    Path("people.csv").write_text("\n".join(["county,race,sex,income", *lines]) + "\n", encoding="utf-8")
    parameters = dict.fromkeys(("county", "race", "sex"), "quasi")
    checked(
        table={"file": "people.csv"},
        ledger={"file": "ledger.sqlite"} | ({} if parts is None else {"parts": parts}),
        routes=[{"path": "/loans", "provider": "loans", "parameters": parameters}],
    )
    prepared = prepare(load_config(Path("gateway.yaml")))
    policies = prepared.config.people[0].protect
    past = {"county": frozenset({"0/1"}), "sex": frozenset({"0/1"})}
    decision = prepared.protection.decide({"race": 1}, policies, disclosed=past)
    assert decision.kept == ({"race": 1} if parts is False else {})
