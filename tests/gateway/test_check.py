"""What --check finds out: largest l, policies that can be met, memory, and warnings."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from incrowd.auxiliary import load_auxiliary
from incrowd.errors import BadInputError
from incrowd.gateway.check import check, show
from incrowd.gateway.config import load_config
from incrowd.online import Policy, generalize
from incrowd.online.counters import choose_counter

SECRET = "correct-horse-battery-staple"
LEDGER = (
    "ledger: there is none, so queries are not linked: two that are private one by one may single a person out together; "
    "add ledger: {file: ledger.sqlite}"
)
UNCUT = (
    "providers.loans: neither pages nor truncated is set: if the provider cuts long answers short, nobody can tell; "
    "set one of them, or be sure that it never does"
)


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{county},{race},{n % 4}" for n in range(3) for county in ("Essex", "Dukes") for race in "AB"]
    Path("people.csv").write_text("\n".join(["county,race,income", *rows, "Kings,A,0\n"]), encoding="utf-8")
    Path("county.csv").write_text("Essex;MA;*\nDukes;MA;*\nKings;NY;*\n", encoding="utf-8")


def tree_of(**changes: object) -> dict:
    loans = {"kind": "http", "url": "https://provider.example/", "pages": {"kind": "offset"}}
    county = {"use": "quasi", "send": ["county", "state"]}
    return {
        "table": {"file": "people.csv", "ladders": {"county": "county.csv"}},
        "privacy": {"protect": ["income:l=2"], "secret": SECRET},
        "ledger": {"file": "ledger.sqlite"},
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
    assert [(each.who, each.reach) for each in result.policies] == [("everybody without their own", "always")]
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
            "and 5/2 are asked for; ask for l=2 at most"
        ),
    )
    assert result.warnings == (
        (
            "people[0].protect[0]: queries may be refused, also the broadest one: race takes 1.46 guesses among all rows "
            "and 3/2 are asked for; ask for l=1 at most"
        ),
    )
    assert [each.who for each in result.policies] == ["everybody without their own", "alice", "alice"]


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=12))
def test_up_to_the_largest_l_nobody_is_refused_and_what_is_never_met_always_refuses(rows):
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
        refused = {generalize(query, table, [policy]).refused for query in queries}
        assert (wanted <= income.largest_l) is (income.reach(policy) == "always")
        if income.reach(policy) == "always":
            assert refused == {False}
        if income.reach(policy) == "never":
            assert refused == {True}


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
        {"privacy": {"protect": ["income:l=2"], "secret": SECRET, "strategy": "best-fit"}},
        [
            (
                "privacy.strategy: best-fit keeps as near to the requirement as it can, so what is dropped tells most to who "
                "knows the algorithm; use worst-fit or random-fit, or strict: true"
            )
        ],
    ),
    (
        {"privacy": {"protect": ["income:l=2"], "secret": SECRET, "strategy": "best-fit", "strict": True}},
        ["privacy.strategy: strict mode chooses by itself, best-fit is not used; remove it"],
    ),
    (
        {"listen": {"host": "0.0.0.0"}, "metrics": {"host": "10.0.0.1"}},
        [
            (
                "listen.tls: there is none and others can connect: keys and queries can be read on the way; add tls, or listen "
                "on 127.0.0.1 behind a proxy that has it"
            ),
            "metrics.host: metrics have no key and no TLS, and others can connect; use 127.0.0.1 or a firewall",
        ],
    ),
    ({"listen": {"host": "localhost"}, "metrics": {"host": "::1"}}, []),
    (
        {"providers": {"loans": {"kind": "http", "url": "HTTP://provider.example/", "insecure": True}}},
        [
            "providers.loans.url: plain http: everybody on the way can read what is sent; use https",
            UNCUT,
        ],
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
            "providers.spare.dsn: the connection may be plain; add sslmode=verify-full",
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
                "routes[0].parameters.race: passes through as it is though it is an attribute of the table: the provider sees it "
                "uncounted; use quasi"
            )
        ],
    ),
]


@pytest.mark.parametrize(("changes", "lines"), CAUTIONS)
def test_it_warns(changes, lines):
    result = checked(**changes)
    assert list(result.warnings) == lines
    assert result.good


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
        f"listen.tls.key: everybody on this machine may read it; chmod 600 {key}",
    )
    key.chmod(0o640)
    config = load_config(Path("gateway.yaml"))
    assert check(config).warnings == ()
    Path("gateway.yaml").chmod(0o640)
    end = ": is written in a file that others may read; use {env: NAME} or {file: PATH}, or chmod 600"
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
