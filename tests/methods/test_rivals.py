"""The rivals of microaggregation as methods: what they publish, promise and lose."""

from __future__ import annotations

from collections import Counter

import pyarrow.parquet as pq
import pytest

import incrowd as ic
from cli.helpers import AOL_HEADER, call, refused
from incrowd.methods import PROMISES

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
        return read.transactions(items="concepts", asked=True)


def made(data, method, *, k=K, **settings):
    return ic.anonymize(data, ic.wordnet(data), k=k, method=method, **settings)


def published(release):
    return {item for row in release.table()["items"].to_pylist() for item in row}


@pytest.mark.parametrize("method", GROUPING)
def test_groups_publish_one_log_of_real_queries(data, method, tmp_path):
    release = made(data, method)
    assert release.write(tmp_path / "release").holds
    assert min(Counter(release.classes.of_row.tolist()).values()) >= K
    assert release.claim.speaks_of == "class"
    assert release.claim.typed_by == 1
    typed = set(data.asked.texts.to_pylist())
    names = set(release.taxonomy.names.to_pylist())
    assert published(release) <= typed | names
    assert published(release) & typed


def test_poblete_removes_what_is_vulnerable_and_promises_nothing(data, tmp_path):
    release = made(data, "poblete", k=2, kp=2)
    assert release.write(tmp_path / "release").holds
    assert PROMISES["poblete"] == release.claim.kind == "none"
    assert published(release) == {"red wine", "dogs"}
    assert release.counts.withheld == 0
    assert "name their target" in release.account[-1]
    assert published(made(data, "poblete", k=2, kp=4)) == {"red wine"}


def test_korolova_publishes_a_list_and_nobodys_record(data, tmp_path):
    release = made(data, "korolova", d=2, eps=4.0, delta=0.01)
    result = release.write(tmp_path / "release", private_map=tmp_path / "map")
    assert result.holds
    assert result.unchecked == ["the noise: it cannot be seen in the file"]
    assert release.claim.kind == "differential privacy"
    assert (release.claim.eps, release.claim.delta) == (4.0, 0.01)
    assert "factor of e^4" in release.claim.in_words
    assert "red wine" in published(release) <= {"red wine", "dogs"}
    assert pq.read_table(tmp_path / "map").num_rows == 0
    counts = release.counts
    assert (counts.records_in, counts.records_out, counts.withheld, counts.people_min) == (40, 1, 40, 0)
    ((*_, times),) = release.table()["counts"].to_pylist()
    assert 20 < times < 60  # forty, and noise of scale 1/2
    again = call("audit", tmp_path / "release")
    assert again.code == 0
    assert "Nothing speaks against" in again.out


def test_korolova_s_noise_is_not_drawn_again(data):
    draws = {
        made(data, "korolova", d=1, eps=0.5, delta=0.5, seed=1).table()["counts"].to_pylist()[0][0]
        for _ in range(12)
    }
    assert len(draws) > 1


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
        ("korolova", {"eps": 0}, "eps must be greater than 0"),
        ("korolova", {"delta": 1}, "delta must be between 0 and 1"),
        ("poblete", {"kp": 0}, "kp must be at least 1"),
        ("korolova", {"eps": 0.001}, "leaves nothing to publish with k = 3, d = 20, eps = 0.001"),
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
    methods = "microaggregation,navarro,erola,plain,poblete,korolova:eps=8;delta=0.1;d=1"
    ran = call("compare", log, "--methods", methods, "--k", "2,3", "--out", tmp_path / "compared", "--json")
    assert ran.code == 0, ran.err
    assert len(ran.json["runs"]) == 12
    assert all(run["holds"] for run in ran.json["runs"])
    assert {run["kind"] for run in ran.json["runs"]} == {"k-anonymity", "differential privacy", "none"}
