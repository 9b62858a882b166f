"""Options are spelt as the caller types them, and no message of the Python face speaks of flags."""

from __future__ import annotations

import pytest

import incrowd as ic
from cli.helpers import call
from incrowd.errors import option, options_as_flags


@pytest.mark.parametrize(
    ("name", "value", "argument", "flag"),
    [
        ("items", None, "items", "--items"),
        ("private_map", None, "private_map", "--private-map"),
        ("write", None, "text_forms", "--write"),
        ("unit", "user", "unit='user'", "--unit user"),
        ("taxonomy", "FILE", "taxonomy=FILE", "--taxonomy FILE"),
        ("k", [2, 5], "k=[2, 5]", "--k 2,5"),
        ("force", True, "force=True", "--force"),
        ("columns", {"user": "NAME", "query": "q"}, "user=NAME, query='q'", "--columns user=NAME,query=q"),
    ],
)
def test_an_option_is_spelt_as_it_is_typed(name, value, argument, flag):
    assert option(name, value) == argument
    with options_as_flags():
        assert option(name, value) == flag
    assert option(name, value) == argument


def test_the_command_line_leaves_pythons_spelling_behind(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    assert "--columns user=NAME" in call("anonymize", tmp_path / "x.csv", "--out", tmp_path / "out").err
    with pytest.raises(ic.BadInputError, match=r"\(user=NAME"):
        ic.read(tmp_path / "x.csv")


LOG = {"user": [f"u{i}" for i in range(40)], "query": ["red car", "bus"] * 20}
TX = ic.Transactions.from_rows([["a", "b"]] * 30 + [["c"]] * 30)


def written(place):
    """Return the directory of a release."""
    ic.anonymize(TX, k=2, goal="people").write(place / "release")
    return place / "release"


def indexed(place):
    """Return the index of a series without releases."""
    (place / "index.json").write_text(
        '{"format": "incrowd-series-index/1", "releases": []}', encoding="utf-8"
    )
    return place


BAD = {
    "read": [
        lambda _: ic.read("nowhere.csv"),
        lambda p: ic.read(p / "bad.csv"),
        lambda p: ic.read(p / "bad.csv", format="parquet"),
        lambda p: ic.read(p / "utf16.csv"),
        lambda p: ic.read(p / "good.csv", encoding="utf-16"),
        lambda p: ic.read(p / "good.csv", encoding="gbkk"),
        lambda p: ic.read(p / "good.csv", user="user", query="user"),
        lambda p: ic.read(p / "good.csv", time="when"),
        lambda p: ic.read(p / "twice.csv"),
        lambda p: ic.read(p / "x.dat", user="user"),
        lambda _: ic.read({"a": [1], "b": [2]}),
        lambda _: ic.read(LOG, user="usr"),
        lambda _: ic.read(LOG, memory="1MB"),
        lambda _: ic.read(LOG).transactions(unit="day"),
        lambda _: ic.read(LOG).transactions(unit="session"),
        lambda _: ic.read(LOG).transactions(items="noun"),
        lambda _: ic.read(LOG).transactions(items="terms", events=True),
        lambda _: ic.read([["a"]]).transactions(unit="day"),
    ],
    "read_log": [
        lambda p: ic.read_log(p / "bad.csv", columns={"user": "a"}),
        lambda p: ic.read_log(p / "bad.csv", format="aoll"),
    ],
    "read_baskets": [lambda p: ic.read_baskets(p / "nothing.dat")],
    "read_taxonomy": [lambda p: ic.read_taxonomy(p / "bad.csv")],
    "balanced": [lambda _: ic.balanced(TX, 1)],
    "tables": [lambda _: ic.tables("nowhere"), lambda p: ic.tables(p / "bad.csv")],
    "anonymize": [
        lambda _: ic.anonymize(LOG, k=2, window="2006"),
        lambda _: ic.anonymize(LOG, k=2, window="new"),
        lambda _: ic.anonymize(LOG, k=2, window=".."),
        lambda _: ic.anonymize(TX, k=2, window=".."),
        lambda _: ic.anonymize(LOG, k=2, window="..", goal="people"),
        lambda _: ic.anonymize(LOG, kinds="weather"),
        lambda _: ic.anonymize(LOG, kinds="url"),
        lambda _: ic.anonymize(LOG, kinds="url", goal="people"),
        lambda _: ic.anonymize(LOG, kinds=["place"], place="nowhere"),
        lambda _: ic.anonymize(TX, kinds="url"),
        lambda _: ic.anonymize(LOG, thresholds="url=9"),
        lambda _: ic.anonymize(LOG, k=1),
        lambda _: ic.anonymize(LOG, k=[2]),
        lambda _: ic.anonymize(LOG, goal="people", method="flock"),
        lambda _: ic.anonymize(LOG, goal=5),
        lambda _: ic.anonymize(LOG, method=5),
        lambda _: ic.anonymize(LOG, method="flok"),
        lambda _: ic.anonymize(LOG, items=5),
        lambda _: ic.anonymize(LOG, unit=5),
        lambda _: ic.anonymize(LOG, unit="session:30m"),
        lambda _: ic.anonymize(LOG, taxonomy=5),
        lambda _: ic.anonymize(LOG, taxonomy="wordnt"),
        lambda _: ic.anonymize(LOG, taxonomy="balanced:x"),
        lambda _: ic.anonymize(LOG, taxonomy="balanced:5", items="concepts"),
        lambda _: ic.anonymize(LOG, ic.wordnet(TX), items="concepts"),
        lambda _: ic.anonymize(LOG, method="flock", aged=3),
        lambda _: ic.anonymize(LOG, k=2, aged=3),
        lambda _: ic.anonymize(LOG, distinct="records"),
        lambda _: ic.anonymize(LOG, method="korolova", unit="query"),
        lambda _: ic.anonymize(LOG, method="microaggregation", items="terms"),
        lambda _: ic.anonymize(LOG, method="microaggregation", sets=True),
        lambda _: ic.anonymize(LOG, memory="x"),
        lambda _: ic.anonymize(LOG, seed=-1),
        lambda p: ic.anonymize(LOG, str(p / "tree.tsv"), goal="people"),
        lambda _: ic.anonymize({"user": ["a"], "query": ["!"]}, k=2),
        lambda _: ic.anonymize([["a"]] * 30, goal="queries"),
        lambda _: ic.anonymize([["a"]] * 30, method="microaggregation"),
        lambda _: ic.anonymize(TX, method="microaggregation"),
        lambda _: ic.anonymize(TX, unit="user"),
        lambda _: ic.anonymize(TX, distinct="people", goal="people"),
        lambda p: ic.anonymize(TX, k=2, goal="people").write(p / "x.dat"),
        lambda p: ic.anonymize(TX, k=2, goal="people").write(p / "x.dat", force=True),
        lambda p: ic.anonymize(TX, k=2, goal="people").write(p / "new", text_forms=["xls"]),
        lambda p: ic.anonymize(LOG, method="korolova").write(p / "new", text_forms=["csv"]),
    ],
    "audit": [
        lambda _: ic.audit("nowhere"),
        lambda p: ic.audit(written(p), originals=ic.anonymize(TX, k=2, method="mosaic").originals),
        lambda p: ic.audit(written(p), user="u"),
        lambda p: ic.audit(written(p), original=LOG),
        lambda p: ic.audit(written(p), original=LOG, private_map=p / "x.dat"),
    ],
    "risk": [
        lambda _: ic.risk(TX),
        lambda _: ic.risk(LOG, k=1),
        lambda _: ic.risk(LOG, limits=(2, 1)),
        lambda _: ic.risk(LOG, sensitive="nonesuch"),
        lambda _: ic.risk(LOG, column="x"),
        lambda _: ic.risk(LOG, planted=True),
        lambda p: ic.risk(LOG, written(p)),
        lambda p: ic.risk(LOG, private_map=p / "x.dat"),
        lambda p: ic.risk(LOG, written(p), private_map=p / "x.dat"),
        lambda p: ic.risk(LOG, second=(p, p / "x.dat")),
        lambda p: ic.risk(ic.anonymize(TX, k=2, goal="people"), written(p)),
    ],
    "audit_series": [
        lambda _: ic.audit_series("nowhere"),
        lambda p: ic.audit_series(written(p)),
        lambda p: ic.audit_series(indexed(p), [p / "nowhere"]),
    ],
    "compare": [
        lambda _: ic.compare(LOG, methods=[]),
        lambda _: ic.compare(LOG, methods=["flock"]),
        lambda _: ic.compare(LOG, methods=["flok"], k=2),
        lambda _: ic.compare(LOG, methods=["partition:bag"], k=2),
        lambda _: ic.compare(LOG, methods=["flock", "navarro"], k=2),
        lambda _: ic.compare(LOG, methods=["navarro"], k=2, items="terms"),
        lambda _: ic.compare(TX, methods=["flock"], k=2, unit="user"),
        lambda p: ic.compare(TX, methods=["flock"], k=2).write(p / "x.dat"),
    ],
    "generalize": [
        lambda _: ic.generalize({"a": 1}, LOG, []),
        lambda _: ic.generalize({"a": 1}, LOG, "query"),
        lambda _: ic.generalize({"a": 1}, LOG, "x:l=2"),
        lambda _: ic.generalize({"a": 1}, LOG, "query:l=2"),
        lambda _: ic.generalize({"user": "u1"}, 5, "query:l=2"),
        lambda _: ic.generalize({"user": "u1"}, "nowhere.csv", "query:l=2"),
        lambda _: ic.generalize({"user": "u1"}, LOG, "query:l=2", strategy="random-fit"),
        lambda _: ic.generalize({"user": "u1"}, LOG, "query:l=2", strategy="x"),
    ],
}
VERBS = [name for name in dir(ic) if name in ic._HOME and name.islower() and not name.startswith("_")]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Go to a directory with files that are good or bad."""
    texts = {
        "bad.csv": "a,b\n1,2\n",
        "good.csv": "user,query\nu1,dog\nu2,cat\n",
        "twice.csv": "user,query,user\nu1,dog,u2\n",
        "x.dat": "1 2\n2 3\n",
        "tree.tsv": "dog\tanimal\ncat\tanimal\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "utf16.csv").write_text(texts["good.csv"] * 9, encoding="utf-16")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "wordnet"])  # it takes no option
def test_no_message_of_the_python_face_speaks_of_flags(verb, place):
    assert BAD[verb]
    for number, call_it in enumerate(BAD[verb]):
        with pytest.raises(ic.IncrowdError) as caught:
            call_it(place)
        assert "--" not in str(caught.value), f"{verb} {number}"
