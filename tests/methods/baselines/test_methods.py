"""What microaggregation is compared with, as methods: what they publish, promise and lose."""

from __future__ import annotations

import contextlib
from collections import Counter

import pytest

import incrowd as ic
from cli.helpers import AOL_HEADER, call, refused
from incrowd.methods.registry import METHODS
from strategies import taxonomy_of

GROUPING = ("navarro", "erola", "plain")
SECRET = "zyxwv vwxyz"
K = 3


def line(user, query, minute, url=""):
    return f"{user}\t{query}\t2006-03-01 10:{minute:02}:00\t{1 if url else ''}\t{url}\n"


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Forty people; everybody asks for red wine, which leads to four sites; ten also ask for dogs; one has a secret."""
    path = tmp_path_factory.mktemp("in") / "log.tsv"
    lines = [line(user, "red wine", 1, f"http://www.site{user % 4}.com/{user % 4}") for user in range(40)]
    lines += [line(user, "dogs", 2, f"http://kennel{user % 3}.org") for user in range(10)]
    lines += [line(user, f"thing {user}", 3) for user in range(40)]
    lines += [line(7, SECRET, 4), line(8, "kennel1", 5, "http://kennel1.org")]
    path.write_text(AOL_HEADER + "".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def data(log):
    with ic.read_log(log) as read:
        return read.transactions(items="concepts", events=True)


def made(data, method, *, k=K, **settings):
    return ic.anonymize(data, ic.wordnet(data), k=k, method=method, **settings)


def published(release):
    return {item for row in release.table()["items"].to_pylist() for item in row}


@pytest.mark.parametrize("method", GROUPING)
def test_groups_publish_one_log_of_real_queries(data, method, tmp_path):
    release = made(data, method, verbatim=True)
    assert release.write(tmp_path / "release").problems == []
    assert min(Counter(release.classes.of_row.tolist()).values()) >= K
    assert release.claim.speaks_of == "class"
    typed = set(data.events.texts.to_pylist())
    names = set(release.taxonomy.names.to_pylist())
    assert published(release) <= typed | names
    assert published(release) & typed


@pytest.mark.parametrize("method", GROUPING)
def test_verbatim_publishes_single_people_s_queries_and_promises_nothing(data, method):
    release = made(data, method, verbatim="true")
    if method != "plain":  # it prefers what the group has in common
        assert any(label.startswith("thing ") for label in published(release))
    assert (release.claim.kind, release.claim.k, release.claim.typed_by) == ("none", K, 1)
    assert any("a single person typed" in line for line in release.claim.not_promised)
    assert release.parameters["verbatim"] is True


@pytest.mark.parametrize("method", GROUPING)
def test_what_is_published_by_default_is_common(data, method, tmp_path):
    release = made(data, method)
    assert release.write(tmp_path / "release").problems == []
    assert (release.claim.kind, release.claim.typed_by) == ("k-anonymity", K)
    assert {"red wine"} < published(release)
    assert not any(label.startswith("thing ") for label in published(release))
    assert SECRET not in published(release)
    assert "typed by at least 3 people" in release.account[-1]


WORDS = {"thing": ["food", "beast"], "food": ["wine", "tea"], "beast": ["dog", "cat", "rat"]}


def small(rows, method, *, k=2, people=None, distinct=None, unlisted="refuse", **settings):
    """Return what one group of all rows publishes; every item is a query."""
    data = ic.Transactions.from_rows(rows, people=people).with_events()
    leaves = {leaf: [] for family in WORDS.values() for leaf in family}
    tree = taxonomy_of({**leaves, **WORDS})
    return ic.anonymize(data, tree, k=k, method=method, distinct=distinct, unlisted=unlisted, **settings)


@pytest.mark.parametrize("method", GROUPING)
def test_a_rare_query_is_published_as_the_nearest_common_name_above_it(method):
    assert published(small([["wine"], ["tea"]], method)) == {"food"}
    assert published(small([["wine"], ["tea"]], method, verbatim=True)) < {"wine", "tea"}


@pytest.mark.parametrize("method", GROUPING)
def test_where_only_the_root_is_common_nothing_is_published(method):
    with pytest.raises(ic.BadInputError, match="leaves nothing to publish"):
        small([["wine"], ["dog"]], method)


@pytest.mark.parametrize("method", [*GROUPING, "microaggregation"])
def test_people_are_counted_also_where_classes_count_records(method, tmp_path):
    """Three sessions of one person are three records, and one person."""
    rows, people = [["wine"], ["wine"], ["wine"], ["tea"]], ["a", "a", "a", "b"]
    release = small(rows, method, people=people, distinct="records")
    assert published(release) == {"food"}
    assert release.write(tmp_path / "release").problems == []


def test_poblete_removes_what_is_vulnerable_and_promises_nothing(data, tmp_path):
    release = made(data, "poblete", k=2, kp=2)
    assert release.write(tmp_path / "release").problems == []
    assert METHODS["poblete"].promise == release.claim.kind == "none"
    assert published(release) == {"red wine", "dogs"}
    assert release.counts.withheld == 0
    assert "name their target" in release.account[-1]
    assert published(made(data, "poblete", k=2, kp=4)) == {"red wine"}


def list_of(release):
    """Return what is published where no record is anybody's: {query: noisy count}."""
    queries, counts = (column.to_pylist() for column in release.table().columns)
    assert queries == sorted(set(queries))
    return dict(zip(queries, counts, strict=True))


def test_korolova_publishes_a_list_and_nobodys_record(data):
    release = made(data, "korolova", k=None, d=2, eps=4.0, delta=0.009)
    assert release.claim.kind == "differential privacy"
    assert (release.claim.eps, release.claim.delta) == (4.0, 0.009)
    assert "factor of e^4" in release.claim.in_words
    assert "red wine" in list_of(release).keys() <= {"red wine", "dogs"}
    assert 20 < list_of(release)["red wine"] < 60  # forty, and noise of scale 1/2
    assert release.classes.withheld == 40


def test_korolova_s_noise_is_not_drawn_again(data):
    draws = {
        tuple(list_of(made(data, "korolova", d=1, eps=0.5, delta=0.009, seed=1)).values()) for _ in range(12)
    }
    assert len(draws) > 1


def listed(queries, *, tree=None, eps=20.0, delta=0.009):
    """Return what is published of rows of queries with little noise, as {query: count}."""
    data = ic.Transactions.from_rows(queries).with_events()
    release = ic.anonymize(data, tree or ic.balanced(data, 2), method="korolova", d=1, eps=eps, delta=delta)
    return release, list_of(release)


def test_korolova_needs_neither_k_nor_people_nor_a_tree_with_meaning():
    release, found = listed([["common"]] * 60 + [["rare"]])
    assert list(found) == ["common"]
    assert abs(found["common"] - 60) < 10
    assert "k" not in release.parameters
    unfit, found = listed([["common"]] * 60 + [["rare"]], tree=taxonomy_of({"root": ["other"], "other": []}))
    assert list(found) == ["common"]
    assert unfit.claim.kind == "differential privacy"


def test_korolova_publishes_an_empty_list_where_nothing_passes():
    """A refusal would be an answer without noise: it must not depend on the data."""
    tree = taxonomy_of({"root": ["a", "b"], "a": [], "b": []})
    for queries in ([["a"], ["b"]], [["a"]], [[], []], []):
        release, found = listed(queries, tree=tree, eps=0.1, delta=1e-12)  # so often may noise alone pass
        assert found == {}
        assert release.classes.sizes.tolist() == [1]


def test_korolova_publishes_the_words_that_were_typed_whatever_the_tree_calls_them():
    """Whether a label is in the tree may depend on one person; what is published must not."""
    tree = taxonomy_of({"root": ["fine wine", "x"], "fine wine": ["wine"], "wine": [], "x": []})
    assert list(listed([["wine"]] * 60 + [["x"]], tree=tree)[1]) == ["wine"]
    assert list(listed([["root"]] * 60 + [["x"]], tree=tree)[1]) == ["root"]


def test_what_korolova_says_does_not_depend_on_the_data():
    """Two logs that differ by one person, and one of a person without queries: the same words, but for the list."""
    rows = [["common"]] * 60
    releases = [listed(some)[0] for some in (rows, [*rows, ["rare"]], [*rows, []])]
    assert len({release.classes.notes for release in releases}) == 1
    assert len({str(release.claim) + str(release.parameters) for release in releases}) == 1
    assert [list(list_of(release)) for release in releases] == [["common"]] * 3


def test_korolova_refuses_rows_that_are_not_people():
    data = ic.Transactions.from_rows([["a"], ["a"]], people=["one", "one"]).with_events()
    with pytest.raises(ic.BadInputError, match="so that a row is a person"):
        ic.anonymize(data, ic.balanced(data, 2), method="korolova")


def test_all_other_methods_have_the_k_of_the_command_line(data):
    for method in set(ic.METHODS) - {"korolova"}:
        with contextlib.suppress(ic.BadInputError):  # some need more people than there are
            assert made(data, method, k=None).claim.k in (5, None)
    assert made(data, "partition", k=None).claim.k == 5


def test_losses_risk_and_words(data):
    for method in (*GROUPING, "microaggregation", "poblete"):
        settings = {"kp": 2} if method == "poblete" else {}
        release = made(data, method, k=2, **settings)
        assert 0 <= release.utility.linkage <= 100
        assert 0 <= release.utility.information_loss <= 100
        assert 0 <= release.losses.kept_exactly <= 1


def test_linkage_of_groups_is_at_most_one_in_k(data):
    for method in (*GROUPING, "microaggregation"):
        assert made(data, method).utility.linkage <= 100 / K + 1e-9


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        ("korolova", {"d": 0}, "d must be between 1"),
        ("korolova", {"eps": 0}, "eps must be between"),
        ("korolova", {"eps": 20.5}, "eps must be between 0.000001 and 20"),
        ("korolova", {"delta": 0.01}, "delta must be greater than 0 and less than 0.01"),
        ("poblete", {"kp": 0}, "kp must be at least 1"),
        ("navarro", {"verbatim": "perhaps"}, "verbatim must be one of true, false"),
    ],
)
def test_parameters_out_of_range(data, method, settings, words):
    with pytest.raises(ic.BadInputError, match=words):
        made(data, method, **settings)


def test_korolova_wants_people(log, tmp_path):
    out = tmp_path / "release"
    ran = call("anonymize", log, "--out", out, "--method", "korolova", "--k", 2, "--unit", "session:30m")
    assert "use --unit user" in refused(ran, out)


@pytest.mark.parametrize("method", ["navarro", "erola", "plain", "poblete"])
def test_the_command_line_understands_queries_for_them(log, tmp_path, method):
    ran = call("anonymize", log, "--out", tmp_path / "release", "--method", method, "--k", 2, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["parameters"]["items"] == "concepts"


def test_compare_shows_them_side_by_side(log, tmp_path):
    methods = "microaggregation,navarro,erola:verbatim=true,plain,poblete"
    ran = call("compare", log, "--methods", methods, "--k", "2,3", "--out", tmp_path / "compared", "--json")
    assert ran.code == 0, ran.err
    assert len(ran.json["runs"]) == 10
    assert all(run["error"] is None for run in ran.json["runs"])
    assert {run["holds"] for run in ran.json["runs"] if run["kind"] == "none"} == {None}
    assert {run["method"]: run["kind"] for run in ran.json["runs"]} == {
        "microaggregation": "k-anonymity",
        "navarro": "k-anonymity",
        "plain": "k-anonymity",
        "erola": "none",
        "poblete": "none",
    }
    assert ran.json["runs"][-1]["kind"] == "none"  # those that promise nothing come last
