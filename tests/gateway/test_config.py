"""Configurations: what a good one becomes, and the exact line for each bad one."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path

import pytest
import yaml

from incrowd.errors import BadInputError
from incrowd.gateway.config.config import check_against, load_config
from incrowd.gateway.config.provider_rules import MAY_PASS
from incrowd.gateway.config.settings import (
    Budget,
    HttpProvider,
    LinkPages,
    OffsetPages,
    Parameter,
    PostgresProvider,
)
from incrowd.generalizer.policy import parse_policy
from incrowd.generalizer.tables import load_auxiliary

DOCS = Path(__file__).parents[2] / "docs/gateway.md"
SECRET = "correct-horse-battery-staple"
PASSWORD = "tr0ub4dor"
HASH = "6b3a55e0261b0304143f805a24924d0c1c44524821305f31d9277843b8a10f4e"
OTHER_HASH = "5994471abb01112afcc18159f6cc74b4f511b99806da59b3caf5a9c173cacfc5"
PEOPLE = "county,race,income\n" + "".join(
    f"{county},{race},{income}\n" for county in ("Essex", "Dukes") for race in "AB" for income in range(4)
)
GOOD = {
    "table": {
        "file": "people.csv",
        "attributes": ["county", "race", "income"],
        "ladders": {"county": "county.csv"},
    },
    "privacy": {"protect": ["income:l=3"], "secret": SECRET},
    "people": [
        {"name": "alice", "key_sha256": HASH.upper(), "protect": ["income:g=5/2"]},
        {"name": "bob", "key_sha256": OTHER_HASH},
    ],
    "providers": {
        "loans": {
            "kind": "http",
            "url": "https://provider.example/loans?format=json",
            "headers": {"Authorization": f"Bearer {PASSWORD}"},
            "forward": ["Accept-Language"],
            "pages": {"kind": "offset", "size": 10},
        },
        "houses": {
            "kind": "postgresql",
            "dsn": f"host=db password={PASSWORD}",
            "table": "public.houses",
            "columns": ["id", "county", "race"],
        },
    },
    "routes": [
        {
            "path": "/loans",
            "provider": "loans",
            "parameters": {
                "county": {"use": "quasi", "send": ["county", "state"]},
                "race": "quasi",
                "q": "passthrough",
                "email": "block",
                "name": {"use": "block", "field": "/name"},
            },
        },
        {"path": "/houses", "provider": "houses", "parameters": {"race": "quasi"}},
    ],
}
ABSENT = object()


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(PEOPLE, encoding="utf-8")
    Path("county.csv").write_text("Essex;Massachusetts;*\nDukes;Massachusetts;*\n", encoding="utf-8")


def load(tree: object) -> object:
    text = tree if isinstance(tree, str) else yaml.safe_dump(tree, sort_keys=False)
    Path("gateway.yaml").write_text(text, encoding="utf-8")
    return load_config(Path("gateway.yaml"))


def changed(place: str, value: object) -> dict:
    """Return the good configuration with another value at a place such as ``routes.0.path``."""
    tree = copy.deepcopy(GOOD)
    *way, last = [int(part) if part.isdigit() else part for part in place.split(".")]
    node = tree
    for part in way:
        node = node.setdefault(part, {}) if isinstance(node, dict) else node[part]
    if value is ABSENT:
        del node[last]
    else:
        node[last] = value
    return tree


def said(tree: object) -> str:
    with pytest.raises(BadInputError) as caught:
        load(tree)
    message = str(caught.value)
    assert "\n" not in message
    assert SECRET not in message
    assert PASSWORD not in message
    return message


def test_a_good_configuration_is_completed():
    config = load(GOOD)
    here = Path.cwd()
    assert config.file == here / "gateway.yaml"
    assert config.table.file == here / "people.csv"
    assert config.table.ladders == {"county": here / "county.csv"}
    assert config.table.cache == here / ".incrowd-cubes"
    assert config.table.memory == 2_000_000_000
    assert config.privacy.secret == SECRET.encode()
    assert config.privacy.protect == (parse_policy("income:l=3"),)
    assert config.people[0].protect == (parse_policy("income:g=5/2"),)
    assert config.people[1].protect == config.privacy.protect
    assert config.people[0].key_sha256 == HASH
    loans, houses = config.providers["loans"], config.providers["houses"]
    assert isinstance(loans, HttpProvider)
    assert loans.headers == {"authorization": f"Bearer {PASSWORD}"}
    assert loans.forward == ("accept-language",)
    assert loans.pages == OffsetPages(size=10)
    assert (loans.timeout, loans.retries, loans.budget) == (10.0, 2, Budget())
    assert isinstance(houses, PostgresProvider)
    assert houses.connections == 4
    assert config.routes[0].parameters == {
        "county": Parameter(use="quasi", attribute="county", field="/county", send=("county", "state")),
        "race": Parameter(use="quasi", attribute="race", field="/race", send=("race",)),
        "q": Parameter(use="passthrough", send=("q",)),
        "email": Parameter(use="block"),
        "name": Parameter(use="block", field="/name"),
    }
    assert (config.ledger, config.cache, config.rate, config.metrics) == (None, None, None, None)
    assert (config.listen.host, config.listen.port, config.listen.workers) == ("127.0.0.1", 8080, 1)
    assert config.body == 64_000


def test_the_example_in_the_docs_loads_and_agrees_with_a_table(monkeypatch):
    section = DOCS.read_text(encoding="utf-8").partition("## A complete configuration")[2]
    example = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)[1]
    for name in ("server.pem", "server.key", "people-ca.pem"):
        Path(name).write_text("", encoding="utf-8")
    Path("secret.key").write_text(f"{SECRET}\n", encoding="utf-8")
    Path("secret.key").chmod(0o600)
    rows = "".join(f"{n % 3},{n % 7},{('Dukes', 'Essex')[n % 2]},B,male\n" for n in range(50))
    Path("people.csv").write_text("loan,income,county,race,gender\n" + rows, encoding="utf-8")
    monkeypatch.setenv("LOANS_TOKEN", "Bearer token")
    monkeypatch.setenv("HOUSES_DSN", "host=db dbname=houses")
    config = load(example)
    source = config.table
    table = load_auxiliary(
        source.file, names=source.attributes, domains=source.domains, ladders=source.ladders
    )
    check_against(config, table.schema)
    assert config.ledger.time_to_live == 90 * 86_400
    assert config.table.domains["gender"] == ("female", "male", "unknown")
    # What is commented out in the example is right, too.
    for line in re.findall(r"# (pages: \{.*\})", example):
        both = example.replace(re.search(r"    (pages: .*)", example)[1], line)
        assert load(both).providers["loans"].pages != config.providers["loans"].pages
    assert load(example.replace("  # sample:", "  sample:")).table.sample.rows == 200_000


def test_it_travels_to_another_process_whole_and_shows_no_secret():
    config = load(GOOD)
    copied = pickle.loads(pickle.dumps(config))
    assert copied == config
    assert copied.providers["loans"].headers["authorization"].inline is True
    for shown in (repr(config), str(config), repr(copied), str(config.privacy), repr(config.providers)):
        for hidden in (SECRET, PASSWORD, HASH, OTHER_HASH):
            assert hidden not in shown


def test_secrets_come_from_the_environment_or_from_private_files(monkeypatch):
    monkeypatch.setenv("GATEWAY_SECRET", SECRET)
    assert load(changed("privacy.secret", {"env": "GATEWAY_SECRET"})).privacy.secret == SECRET.encode()
    Path("secret.key").write_bytes(SECRET.encode() + b"\r\n")
    Path("secret.key").chmod(0o600)
    secret = load(changed("privacy.secret", {"file": "secret.key"})).privacy.secret
    assert secret == SECRET.encode()
    assert secret.inline is False
    for mode in (0o640, 0o604, 0o620):
        Path("secret.key").chmod(mode)
        path = Path.cwd() / "secret.key"
        assert said(changed("privacy.secret", {"file": "secret.key"})) == (
            f"gateway.yaml: privacy.secret: others may read the secret in {path}; chmod 600 {path}"
        )


def test_only_plain_numbers_true_false_and_null_are_more_than_text():
    text = yaml.safe_dump(GOOD).replace(
        "attributes:", "domains: {race: [no, 01234, 1:30, 12, 1.5, true]}\n  attributes:"
    )
    assert load(text).table.domains["race"] == ("no", "01234", "1:30", 12, 1.5, True)
    assert load(GOOD | {"cache": None, "rate": None}).cache is None


def test_the_marker_lies_beside_the_configuration_unless_another_place_is_named():
    ledger = load(GOOD | {"ledger": {"file": "state/ledger.sqlite"}}).ledger
    assert (ledger.file, ledger.marker) == (
        Path("state/ledger.sqlite").absolute(),
        Path("ledger.sqlite.marker").absolute(),
    )
    ledger = load(GOOD | {"ledger": {"file": "ledger.sqlite", "marker": "elsewhere/marker"}}).ledger
    assert ledger.marker == Path("elsewhere/marker").absolute()


def test_strict_needs_no_secret_and_random_fit_does():
    tree = changed("privacy", {"protect": ["income:l=3"], "strategy": "strict"})
    assert load(tree).privacy.secret == b""
    tree["privacy"]["strategy"] = "random-fit"
    assert said(tree) == (
        "gateway.yaml: privacy.secret: is missing, and strategy random-fit needs it; add {file: secret.key}"
    )
    tree["privacy"] = {"protect": ["income:l=3"]}
    tree["ledger"] = {"file": "ledger.sqlite"}
    assert (
        said(tree)
        == "gateway.yaml: privacy.secret: is missing, and the ledger needs it; add {file: secret.key}"
    )


@pytest.mark.parametrize("url", ["http://localhost:1/", "http://127.0.0.9/a", "http://[::1]:80/"])
def test_plain_http_to_this_machine_is_no_danger(url):
    assert load(changed("providers.loans.url", url)).providers["loans"].url == url


def test_plain_http_elsewhere_needs_a_word():
    tree = changed("providers.loans.url", "http://provider.example/")
    assert said(tree) == (
        "gateway.yaml: providers.loans.url: plain http can be read in transit; use https, or set insecure: true"
    )
    tree["providers"]["loans"]["insecure"] = True
    assert load(tree).providers["loans"].insecure


def test_link_pages_follow_a_header_or_a_pointer():
    for where in ("header", "/links/next"):
        pages = (
            load(changed("providers.loans.pages", {"kind": "link", "next": where})).providers["loans"].pages
        )
        assert pages == LinkPages(next=where)


FORBIDDEN = [
    *["cookie", "authorization", "referer", "forwarded", "x-forwarded-for", "X-Forwarded-Host", "x-real-ip"],
    *[
        "x-api-key",
        "via",
        "origin",
        "user-agent",
        "host",
        "connection",
        "keep-alive",
        "te",
        "trailer",
        "upgrade",
    ],
    *["transfer-encoding", "proxy-authorization", "content-length", "range", "if-none-match", "From"],
    *[
        "x-user-id",
        "x-email",
        "x-session",
        "x-device",
        "x-request-id",
        "x-correlation-id",
        "traceparent",
        "x-a",
    ],
]


@pytest.mark.parametrize("name", FORBIDDEN)
def test_headers_that_tell_of_a_person_do_not_pass(name):
    assert said(changed("providers.loans.forward", ["accept", name])) == (
        f"gateway.yaml: providers.loans.forward[1]: {name.lower()} may identify the person; only {', '.join(MAY_PASS)} may "
        "pass. A header that is the same for all people belongs in headers"
    )


def test_headers_about_the_answer_may_pass_and_capitals_do_not_matter():
    loaded = load(changed("providers.loans.forward", [*MAY_PASS[:-1], MAY_PASS[-1].upper()]))
    assert loaded.providers["loans"].forward == MAY_PASS


LOANS = "gateway.yaml: providers.loans."
HOUSES = "gateway.yaml: providers.houses."
COUNTY = "gateway.yaml: routes[0].parameters.county"
BAD = [
    # names and types
    ("tabel", {}, "gateway.yaml: tabel: there is no such field (did you mean 'table'?)"),
    (
        "file",
        "x",
        "gateway.yaml: file: there is no such field; there are table, privacy, people, providers, routes, listen, metrics, log, ledger, cache, rate, body",
    ),
    ("table", ABSENT, "gateway.yaml: table: is missing; add it"),
    (
        "ledger",
        {"file": "ledger.sqlite", "time_to_live": "59m"},
        "gateway.yaml: ledger.time_to_live: is less than an hour: the provider remembers longer, and linked queries would not be noticed; give 1h or more",
    ),
    (
        "ledger",
        {"file": "ledger.sqlite", "marker": "./ledger.sqlite"},
        "gateway.yaml: ledger.marker: is the ledger itself; name a file in another directory",
    ),
    ("table", ["x"], "gateway.yaml: table: must be names with values, such as {name: value}"),
    ("table.file", ABSENT, "gateway.yaml: table.file: is missing; add it"),
    ("table.file", 7, "gateway.yaml: table.file: must be text: put it in quotes"),
    (
        "table.xyz",
        1,
        "gateway.yaml: table.xyz: there is no such field; there are file, columns, attributes, domains, ladders, memory, cache, sample, settle, may_shrink",
    ),
    ("routes.0.paht", "/x", "gateway.yaml: routes[0].paht: there is no such field (did you mean 'path'?)"),
    ("routes", {"path": "/"}, "gateway.yaml: routes: must be a list; put it in [ ]"),
    ("log", "loud", "gateway.yaml: log: must be one of debug, info, warning, error (got 'loud')"),
    (
        "privacy.strategy",
        "worstfit",
        "gateway.yaml: privacy.strategy: must be one of strict, brute-force, best-fit, worst-fit, random-fit, least-rows (got 'worstfit') (did you mean 'worst-fit'?)",
    ),
    (
        "privacy.strict",
        False,
        "gateway.yaml: privacy.strict: there is no such field any more: strict is a strategy, and the default; remove it, or write strategy: strict",
    ),
    ("body", "64kb", "gateway.yaml: body: must be a size such as 64KB, 50MB or 2GB"),
    ("body", 0, "gateway.yaml: body: must be more than 0 bytes"),
    ("rate", {"requests": 0}, "gateway.yaml: rate.requests: must be a whole number from 1"),
    ("rate", {"requests": 5, "per": "0s"}, "gateway.yaml: rate.per: must be longer than 0"),
    (
        "rate",
        {"requests": 5, "per": 60},
        "gateway.yaml: rate.per: must be a duration such as 500ms, 10s, 5m, 2h or 90d",
    ),
    ("cache", {"bytes": "0MB"}, "gateway.yaml: cache.bytes: must be more than 0 bytes"),
    # listening
    ("listen", {"port": 0}, "gateway.yaml: listen.port: must be a port from 1 to 65535"),
    ("listen", {"port": 65536}, "gateway.yaml: listen.port: must be a port from 1 to 65535"),
    ("listen", {"workers": 0}, "gateway.yaml: listen.workers: must be a whole number from 1"),
    (
        "metrics",
        {"port": 8080},
        "gateway.yaml: metrics.port: is the port that people connect to; give another one",
    ),
    ("listen", {"tls": {"certificate": "people.csv"}}, "gateway.yaml: listen.tls.key: is missing; add it"),
    (
        "listen",
        {"tls": {"certificate": "people.csv", "key": "no"}},
        "gateway.yaml: listen.tls.key: there is no file {here}/no; give one in PEM format",
    ),
    # table
    (
        "table.attributes",
        ["county", "race", "income", "race"],
        "gateway.yaml: table.attributes[3]: is named twice; keep one",
    ),
    (
        "table.columns",
        ["county", "races", "income"],
        "gateway.yaml: table.attributes[1]: is not in table.columns (did you mean 'races'?)",
    ),
    (
        "table.domains",
        {"rice": ["a"]},
        "gateway.yaml: table.domains.rice: the table has no attribute 'rice'; there are county, race, income (did you mean 'race'?)",
    ),
    ("table.domains", {"race": []}, "gateway.yaml: table.domains.race: is empty; give at least a value"),
    (
        "table.domains",
        {"race": [None]},
        "gateway.yaml: table.domains.race[0]: must be text, a number, true or false",
    ),
    (
        "table.ladders",
        {"rice": "r.csv"},
        "gateway.yaml: table.ladders.rice: the table has no attribute 'rice'; there are county, race, income (did you mean 'race'?)",
    ),
    ("table.memory", "-1GB", "gateway.yaml: table.memory: must be a size such as 64KB, 50MB or 2GB"),
    (
        "table.sample",
        {"rows": 100, "error": 1},
        "gateway.yaml: table.sample.error: must be a number between 0 and 1, such as 0.001",
    ),
    # privacy
    (
        "privacy.protect",
        [],
        "gateway.yaml: privacy.protect: is empty; give at least an attribute, as in [income:l=5]",
    ),
    ("privacy.protect", "income:l=3", "gateway.yaml: privacy.protect: must be a list; put it in [ ]"),
    (
        "privacy.protect",
        ["income"],
        "gateway.yaml: privacy.protect[0]: protect must look like income:l=5 or income:g=3 (got 'income')",
    ),
    (
        "privacy.protect",
        ["race:l=2", "race:l=3"],
        "gateway.yaml: privacy.protect[1]: the attribute is protected twice; keep the stricter one",
    ),
    (
        "privacy.protect",
        ["incme:l=2"],
        "gateway.yaml: privacy.protect[0]: the table has no attribute 'incme'; there are county, race, income (did you mean 'income'?)",
    ),
    (
        "privacy.secret",
        "fifteen-bytes-!",
        "gateway.yaml: privacy.secret: has 15 bytes, and 16 are needed; create one: openssl rand -hex 32",
    ),
    ("privacy.secret", "", "gateway.yaml: privacy.secret: is empty; give a secret"),
    (
        "privacy.secret",
        {"env": "NOT_SET_ANYWHERE"},
        "gateway.yaml: privacy.secret: the environment variable NOT_SET_ANYWHERE is not set; set it",
    ),
    (
        "privacy.secret",
        {"file": "no.key"},
        "gateway.yaml: privacy.secret: cannot read {here}/no.key: No such file or directory; give a file that is there and that this user may read",
    ),
    (
        "privacy.secret",
        {"env": "A", "file": "b"},
        "gateway.yaml: privacy.secret: must be {env: NAME}, {file: PATH} or text in quotes",
    ),
    # people
    ("people", [], "gateway.yaml: people: is empty; give at least a person"),
    ("people.1.name", "alice", "gateway.yaml: people[1].name: another person has the same name; rename one"),
    (
        "people.1.key_sha256",
        HASH,
        "gateway.yaml: people[1].key_sha256: another person has the same key; create one for each",
    ),
    (
        "people.0.key_sha256",
        SECRET,
        "gateway.yaml: people[0].key_sha256: must be the 64 hex digits of the key's SHA-256",
    ),
    (
        "people.0.key_sha256",
        HASH + "0",
        "gateway.yaml: people[0].key_sha256: must be the 64 hex digits of the key's SHA-256",
    ),
    ("people.0.key_sha256", ABSENT, "gateway.yaml: people[0].key_sha256: is missing; add it"),
    (
        "people.0.protect",
        ["incom:l=2"],
        "gateway.yaml: people[0].protect[0]: the table has no attribute 'incom'; there are county, race, income (did you mean 'income'?)",
    ),
    (
        "people.0.protect",
        ["race:l=2", "race:l=2"],
        "gateway.yaml: people[0].protect[1]: the attribute is protected twice; keep the stricter one",
    ),
    ("people.0.name", "a\nb", "gateway.yaml: people[0].name: must be text on one line"),
    # HTTP providers
    ("providers", {}, "gateway.yaml: providers: is empty; give at least a provider"),
    ("providers.loans.kind", ABSENT, LOANS + "kind: is missing; give one of http, postgresql"),
    (
        "providers.loans.kind",
        "htp",
        LOANS + "kind: must be one of http, postgresql (got 'htp') (did you mean 'http'?)",
    ),
    (
        "providers.loans.url",
        "ftp://provider.example",
        LOANS + "url: must be an address such as https://provider.example/loans",
    ),
    (
        "providers.loans.url",
        "https://",
        LOANS + "url: must be an address such as https://provider.example/loans",
    ),
    (
        "providers.loans.url",
        "https://a:99999/",
        LOANS + "url: must be an address such as https://provider.example/loans",
    ),
    (
        "providers.loans.url",
        f"https://u:{PASSWORD}@a/",
        LOANS + "url: must not hold a user or a password; put them into headers",
    ),
    (
        "providers.loans.url",
        "https://a/#b",
        LOANS + "url: must not have a fragment, which is never sent; remove it from # on",
    ),
    ("providers.loans.send", "get", LOANS + "send: must be one of query, json (got 'get')"),
    (
        "providers.loans.headers",
        {"a b": "c"},
        LOANS + "headers: must be a header's name such as accept-language",
    ),
    (
        "providers.loans.headers",
        {"a": 5},
        LOANS + "headers.a: must be {env: NAME}, {file: PATH} or text in quotes",
    ),
    (
        "providers.loans.headers",
        {"a": f"{PASSWORD}\n"},
        LOANS + "headers.a: must be text on one line without control characters",
    ),
    (
        "providers.loans.headers",
        {"a": "x", "A": "y"},
        LOANS + "headers.a: is given twice (case does not matter); keep one",
    ),
    (
        "providers.loans.headers",
        {"Host": "x"},
        LOANS + "headers.host: belongs to the connection, which the gateway makes; remove it",
    ),
    (
        "providers.loans.forward",
        ["a:b"],
        LOANS + "forward[0]: must be a header's name such as accept-language",
    ),
    ("providers.loans.forward", ["accept", "Accept"], LOANS + "forward[1]: is named twice; keep one"),
    (
        "providers.loans.headers",
        {"Accept-Language": "x"},
        LOANS + "forward[0]: accept-language is also in the provider's headers; keep one",
    ),
    (
        "providers.loans.rows",
        "items",
        LOANS + 'rows: must be a JSON pointer such as /items, or "" for all of it',
    ),
    (
        "providers.loans.truncated",
        "/a~2",
        LOANS + "truncated: must be a JSON pointer into a row, such as /county",
    ),
    ("providers.loans.timeout", "0ms", LOANS + "timeout: must be longer than 0"),
    ("providers.loans.retries", 11, LOANS + "retries: must be a whole number from 0 to 10"),
    ("providers.loans.budget", {"rows": 0}, LOANS + "budget.rows: must be a whole number from 1"),
    ("providers.loans.budget", {"bytes": "0KB"}, LOANS + "budget.bytes: must be more than 0 bytes"),
    (
        "providers.loans.pages",
        {"kind": "page"},
        LOANS + "pages.kind: must be one of offset, cursor, link (got 'page')",
    ),
    ("providers.loans.pages", {"kind": "cursor"}, LOANS + "pages.next: is missing; add it"),
    (
        "providers.loans.pages",
        {"kind": "cursor", "next": "/n", "limit": "l"},
        LOANS + "pages.limit: limit and size go together; give both or none",
    ),
    (
        "providers.loans.pages",
        {"kind": "offset", "limit": "offset"},
        LOANS + "pages.limit: must differ from pages.offset; rename one",
    ),
    ("providers.loans.key", "id", LOANS + "key: must be a JSON pointer into a row, such as /county"),
    (
        "providers.loans",
        {"kind": "http", "url": "https://a.example/", "key": "/id", "pages": {"kind": "offset", "size": 1}},
        LOANS
        + "pages.size: must be 2 or more with key: each page begins with the last row of the page before",
    ),
    (
        "providers.loans.pages",
        {"kind": "link", "next": "next"},
        LOANS + "pages.next: must be a JSON pointer such as /links/next, or header",
    ),
    (
        "providers.loans.tls",
        {"certificate": "people.csv"},
        LOANS + "tls: certificate and key go together; give both or none",
    ),
    (
        "providers.loans.tls",
        {"ca": "no.pem"},
        LOANS + "tls.ca: there is no file {here}/no.pem; give one in PEM format",
    ),
    (
        "providers.loans",
        {"kind": "http", "url": "http://localhost/", "tls": {}},
        LOANS + "tls: needs an https url; change the url or remove tls",
    ),
    # PostgreSQL providers
    (
        "providers.houses.dsn",
        f"pass {PASSWORD}",
        HOUSES + "dsn: must be like 'host=db dbname=loans user=gateway' or postgresql://db/loans",
    ),
    (
        "providers.houses.table",
        "houses; drop",
        HOUSES + "table: must be a table such as loans or public.loans, in plain names",
    ),
    (
        "providers.houses.table",
        "a.b.c",
        HOUSES + "table: must be a table such as loans or public.loans, in plain names",
    ),
    (
        "providers.houses.columns",
        ["id", 'a"b'],
        HOUSES + "columns[1]: must be a plain name such as income: letters, digits and _",
    ),
    (
        "providers.houses.columns",
        ["id\n"],
        HOUSES + "columns[0]: must be a plain name such as income: letters, digits and _",
    ),
    ("providers.houses.columns", [], HOUSES + "columns: is empty; name the columns to fetch"),
    ("providers.houses.columns", ["id", "id"], HOUSES + "columns: names a column twice; keep one"),
    (
        "providers.houses.columns",
        ["id"],
        "gateway.yaml: routes[1].parameters.race.field: must be one of the provider's columns: /id",
    ),
    ("providers.houses.connections", 0, HOUSES + "connections: must be a whole number from 1"),
    (
        "providers.houses.url",
        "x",
        HOUSES
        + "url: there is no such field; there are dsn, table, columns, order, timeout, retries, budget, connections",
    ),
    (
        "routes.1.parameters.race",
        {"use": "quasi", "send": ["r x"]},
        "gateway.yaml: routes[1].parameters.race.send[0]: must be a plain PostgreSQL column: letters, digits and _",
    ),
    (
        "routes.1.sort",
        ["price"],
        "gateway.yaml: routes[1].sort[0]: must be one of the provider's columns: id, county, race",
    ),
    # routes
    ("routes", [], "gateway.yaml: routes: is empty; give at least a route"),
    (
        "routes.0.provider",
        "loan",
        "gateway.yaml: routes[0].provider: there is no provider 'loan'; there are loans, houses (did you mean 'loans'?)",
    ),
    ("routes.0.path", "loans", "gateway.yaml: routes[0].path: must be a path such as /loans"),
    ("routes.0.path", "/", "gateway.yaml: routes[0].path: must be a path such as /loans"),
    ("routes.0.path", "/a/../b", "gateway.yaml: routes[0].path: must be a path such as /loans"),
    (
        "routes.0.path",
        "/preview/x",
        "gateway.yaml: routes[0].path: /preview is the gateway's own; choose another path",
    ),
    (
        "routes.0.path",
        "/healthz",
        "gateway.yaml: routes[0].path: /healthz is the gateway's own; choose another path",
    ),
    (
        "routes.0.path",
        "/openapi.json",
        "gateway.yaml: routes[0].path: /openapi.json is the gateway's own; choose another path",
    ),
    ("routes.1.path", "/loans", "gateway.yaml: routes[1].path: two routes cannot have the same path"),
    ("routes.0.page", {"size": 501}, "gateway.yaml: routes[0].page.size: must be at most page.most, 500"),
    (
        "routes.0.sort",
        ["-amount"],
        "gateway.yaml: routes[0].sort[0]: must be a row's field such as amount, without a slash or a sign before it",
    ),
    ("routes.0.sort", ["a", "a"], "gateway.yaml: routes[0].sort[1]: is named twice; keep one"),
    # parameters
    (
        "routes.0.parameters.county",
        "quasy",
        COUNTY + ".use: must be one of quasi, passthrough, block (got 'quasy') (did you mean 'quasi'?)",
    ),
    ("routes.0.parameters.county.send", "county", COUNTY + ".send: must be a list; put it in [ ]"),
    (
        "routes.0.parameters.county.field",
        "county",
        COUNTY + ".field: must be a JSON pointer into a row, such as /county",
    ),
    (
        "routes.0.parameters.county.attribute",
        "counti",
        COUNTY + ".send: must be a list of one name, since there is no ladder (got 2)",
    ),
    (
        "routes.0.parameters.offset",
        "block",
        "gateway.yaml: routes[0].parameters.offset: sort, offset, limit are the gateway's own; rename the parameter",
    ),
    (
        "routes.0.parameters.country",
        "quasi",
        "gateway.yaml: routes[0].parameters.country.attribute: the table has no attribute 'country'; there are county, race, income (did you mean 'county'?)",
    ),
    (
        "routes.0.parameters.income",
        "passthrough",
        "gateway.yaml: routes[0].parameters.income.use: a protected attribute must not pass through; use quasi or block",
    ),
    (
        "routes.0.parameters.q",
        {"use": "passthrough", "send": ["income"]},
        "gateway.yaml: routes[0].parameters.q.use: a protected attribute must not pass through; use quasi or block",
    ),
    (
        "routes.0.parameters.q",
        {"use": "passthrough", "field": "/q"},
        "gateway.yaml: routes[0].parameters.q.field: a passthrough parameter is not filtered here; remove it or use quasi",
    ),
    (
        "routes.0.parameters.q",
        {"use": "passthrough", "send": ["q", "r"]},
        "gateway.yaml: routes[0].parameters.q.send: must be a list of one name, since there is no ladder (got 2)",
    ),
    (
        "routes.0.parameters.q",
        {"use": "passthrough", "send": ["race"]},
        "gateway.yaml: routes[0].parameters.q.send[0]: routes[0].parameters.race sends this name too; choose another one",
    ),
    (
        "routes.0.parameters.q",
        {"use": "passthrough", "send": ["limit"]},
        "gateway.yaml: routes[0].parameters.q.send[0]: providers.loans sends this name too; choose another one",
    ),
    (
        "routes.0.parameters.q",
        {"use": "passthrough", "send": ["format"]},
        "gateway.yaml: routes[0].parameters.q.send[0]: providers.loans sends this name too; choose another one",
    ),
    (
        "routes.0.parameters.email",
        {"use": "block", "send": ["e"]},
        "gateway.yaml: routes[0].parameters.email.send: a blocked parameter is never sent; remove it",
    ),
    (
        "routes.0.parameters.email",
        {"use": "block", "attribute": "race"},
        "gateway.yaml: routes[0].parameters.email.attribute: only a quasi parameter has an attribute; remove it or use quasi",
    ),
    (
        "routes.0.parameters.r",
        {"use": "quasi", "attribute": "race"},
        "gateway.yaml: routes[0].parameters.r.attribute: routes[0].parameters.race already has this attribute; keep one",
    ),
    (
        "routes.0.parameters.5",
        "block",
        "gateway.yaml: routes[0].parameters: names must be text; put them in quotes",
    ),
]


@pytest.mark.parametrize(("place", "value", "line"), BAD, ids=[f"{n}-{bad[0]}" for n, bad in enumerate(BAD)])
def test_a_bad_configuration_is_one_line(place, value, line):
    assert said(changed(place, value)) == line.replace("{here}", str(Path.cwd()))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "gateway.yaml: is empty; see docs/gateway.md for an example"),
        ("- a\n", "gateway.yaml: must be names with values, such as {name: value}"),
        (
            "a: 1\nb: [1\n",
            "gateway.yaml: line 3: expected ',' or ']', but got '<stream end>' (see that line or the one above)",
        ),
        (
            "a: 1\nb: x: y\n",
            "gateway.yaml: line 2: mapping values are not allowed here (see that line or the one above)",
        ),
        ("log: info\nbody: 1KB\nlog: debug\n", "gateway.yaml: line 3: 'log' is given twice; keep one"),
        ("listen: {port: 1, port: 2}\n", "gateway.yaml: line 1: 'port' is given twice; keep one"),
        (
            "a: !!python/object:os.system x\n",
            "gateway.yaml: line 1: could not determine a constructor for the tag (see that line or the one above)",
        ),
        (
            f"a: *{PASSWORD}\n",
            "gateway.yaml: line 1: found undefined alias (see that line or the one above)",
        ),
        ("a: \x07\n", "gateway.yaml: cannot be read as YAML: save it as UTF-8 text"),
        (
            "a: 1\n---\nb: 2\n",
            "gateway.yaml: line 2: but found another document (see that line or the one above)",
        ),
    ],
)
def test_bad_yaml_is_one_line(text, line):
    assert said(text) == line


def test_deep_or_foreign_text_is_one_line():
    assert said("[" * 2000) == "gateway.yaml: cannot be read as YAML: save it as UTF-8 text"
    Path("gateway.yaml").write_bytes(b"log: \xff\n")
    with pytest.raises(
        BadInputError, match=r"\Agateway.yaml: cannot be read as YAML: save it as UTF-8 text\Z"
    ):
        load_config(Path("gateway.yaml"))


def test_a_missing_file_is_one_line():
    with pytest.raises(BadInputError) as caught:
        load_config(Path("none.yaml"))
    assert str(caught.value) == (
        f"{Path.cwd()}/none.yaml: cannot be read: No such file or directory; give a configuration file"
    )


def against(tree: dict) -> None:
    config = load(tree)
    check_against(config, load_auxiliary(config.table.file, ladders=config.table.ladders).schema)


def test_it_is_held_against_the_table_that_was_loaded():
    against(GOOD)
    tree = changed("table.attributes", ABSENT)
    tree["privacy"]["protect"] = ["incme:l=2"]
    with pytest.raises(BadInputError) as caught:
        against(tree)
    assert str(caught.value) == (
        "gateway.yaml: privacy.protect[0]: the table has no attribute 'incme'; there are county, race, income (did you mean 'income'?)"
    )
    tree = changed("routes.0.parameters.zip", "quasi")
    del tree["table"]["attributes"]
    with pytest.raises(
        BadInputError, match=r"gateway.yaml: routes\[0\].parameters.zip.attribute: the table has no "
    ):
        against(tree)


def test_each_rung_needs_its_name():
    with pytest.raises(BadInputError) as caught:
        against(changed("routes.0.parameters.county", "quasi"))
    assert str(caught.value) == (
        "gateway.yaml: routes[0].parameters.county.send: must be a list of 2 names, one for each rung of the ladder (got 1)"
    )


def test_strict_mode_tries_only_so_many_generalizations():
    names = [f"a{number}" for number in range(13)]
    Path("people.csv").write_text(
        ",".join([*names, "income"]) + "\n" + ",".join("1" * 14) + "\n", encoding="utf-8"
    )
    tree = changed("table", {"file": "people.csv"})
    tree["privacy"]["strategy"] = "strict"
    tree["routes"] = [{"path": "/loans", "provider": "loans", "parameters": dict.fromkeys(names, "quasi")}]
    with pytest.raises(BadInputError) as caught:
        against(tree)
    assert str(caught.value) == (
        "gateway.yaml: routes[0].parameters: have 8,192 generalizations and strategy strict tries at most 4,096; make fewer of them quasi"
    )
    tree["privacy"]["strategy"] = "worst-fit"
    against(tree)
