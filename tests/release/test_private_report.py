"""The private report: originals beside what is published, for the owner alone, and without a trace in the release."""

from __future__ import annotations

import re
import stat

import numpy as np
import pytest

import incrowd as ic
from browser import opened
from cli.helpers import call
from incrowd.errors import BadInputError
from incrowd.release.private_report import is_report
from incrowd.release.publication import Publication
from incrowd.release.shares import CLASS, ITSELF, WITHHELD, choose_people, fates_of

HOSTILE = "<script>document.title='taken-over'</script>"
ROWS = [["milk", "bread"]] * 20 + [["milk", "beer"]] * 20 + [["milk", HOSTILE]] + [["unicorn"]] * 2 + [[]]


def made(method="mosaic", rows=ROWS, **parameters):
    data = ic.Transactions.from_rows(rows)
    return ic.anonymize(data, ic.balanced(data, 2), k=3, method=method, **parameters)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    place = tmp_path_factory.mktemp("report")
    release = made()
    release.write(place / "with", private_report=place / "private.html")
    release.write(place / "without")
    return place


def test_only_its_owner_can_read_it_and_it_says_that_it_is_private(written):
    assert stat.S_IMODE((written / "private.html").stat().st_mode) == 0o600
    page = (written / "private.html").read_text(encoding="utf-8")
    assert "PRIVATE: this page shows originals" in page
    assert is_report(written / "private.html")
    assert not is_report(written / "with/report.html")
    assert not is_report(written / "missing")


def test_what_is_withheld_is_marked(written):
    page = (written / "private.html").read_text(encoding="utf-8")
    assert '<del class="item">unicorn</del>' in page
    assert '<span class="item">milk</span>' in page
    assert "<b>nothing</b>" in page


def test_the_release_is_the_same_with_and_without_it(written):
    names = {path.name for path in (written / "with").iterdir()}
    assert names == {path.name for path in (written / "without").iterdir()}
    for name in names:
        assert (written / "with" / name).read_bytes() == (written / "without" / name).read_bytes()
    assert b"unicorn" not in b"".join(path.read_bytes() for path in (written / "with").iterdir())


def test_an_item_that_is_a_script_is_shown_and_not_run(written, tmp_path):
    page = (written / "private.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "taken-over" in page
    assert re.findall("<title>(probe: .*?)</title>", opened(page, tmp_path)) == ["probe: nothing"]


@pytest.mark.parametrize("method", ["flock", "partition", "clump", "ssc", "apriori", "suppress"])
def test_records_have_one_too(method, tmp_path):
    release = made(method)
    release.write(tmp_path / "out", private_report=tmp_path / "private.html")
    page = (tmp_path / "private.html").read_text(encoding="utf-8")
    assert page.count("<h2>") == 21  # twenty people, and what was done
    assert "taken-over" in page


def test_fates_are_those_of_a_naive_count():
    for method in ("mosaic", "flock"):
        release = made(method)
        data, tree, shares = release.transactions, release.taxonomy, release.shares
        fates = fates_of(data, tree, shares)
        leaves = tree.leaves_of(data.items)
        for row in range(len(data)):
            nodes = [
                int(node)
                for one in shares.held[shares.start[row] : shares.start[row + 1]]
                for node in shares.nodes[shares.bounds[one] : shares.bounds[one + 1]]
            ]
            for place in range(data.indptr[row], data.indptr[row + 1]):
                leaf = leaves[place]
                over = any(node <= leaf < tree.end[node] for node in nodes)
                assert fates[place] == (ITSELF if leaf in nodes else CLASS if over else WITHHELD)


def test_people_are_chosen_by_the_seed_and_each_once():
    data = ic.Transactions.from_rows([["a"] * 1 + [f"b{n % 7}"] * 2 for n in range(100)])
    fates = np.zeros(len(data.items), dtype=np.int32)
    some, same, others = (choose_people(data, fates, seed) for seed in (1, 1, 2))
    assert some == same
    assert some != others
    assert len({one.person for one in some}) == len(some) == 20
    few = ic.Transactions.from_rows([["a"], ["b"], []])
    assert {one.person for one in choose_people(few, np.zeros(2, dtype=np.int32), 0)} == {0, 1}


@pytest.fixture
def log(tmp_path):
    (tmp_path / "log.csv").write_text(
        "user,query\n" + "".join(f"p{n},{word} wine\n" for n in range(40) for word in ("red", "white"))
    )
    return tmp_path / "log.csv"


def run(log, report, *options):
    return call(
        "anonymize",
        log,
        "--method",
        "flock",
        "--k",
        3,
        "--out",
        log.parent / "out",
        "--private-report",
        report,
        *options,
    )


def test_it_is_refused_inside_the_release_and_where_something_is(log, tmp_path):
    inside = run(log, tmp_path / "out" / "private.html")
    assert inside.code == 2
    assert "must not lie inside the release" in inside.err.splitlines()[-1]
    (tmp_path / "mine.html").write_text("<p>mine</p>")
    for options in ((), ("--force",)):
        taken = run(log, tmp_path / "mine.html", *options)
        assert taken.code == 2
        assert "exists" in taken.err.splitlines()[-1]
    assert (tmp_path / "mine.html").read_text() == "<p>mine</p>"
    same = run(log, tmp_path / "one", "--private-map", tmp_path / "one")
    assert same.code == 2
    assert "must be different files" in same.err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_force_replaces_an_older_one(log, tmp_path):
    assert run(log, tmp_path / "private.html").code == 0
    before = (tmp_path / "private.html").read_bytes()
    assert run(log, tmp_path / "private.html").code == 2
    ran = run(log, tmp_path / "private.html", "--force", "--private-map", tmp_path / "map")
    assert ran.code == 0, ran.err
    assert (tmp_path / "private.html").read_bytes() == before
    assert call("audit", tmp_path / "out", "--private-map", tmp_path / "map", "--original", log).code == 0


def test_a_list_has_none(log, tmp_path):
    ran = run(log, tmp_path / "private.html", "--method", "korolova")
    assert ran.code == 2
    assert "drop --private-report" in ran.err.splitlines()[-1]


def test_nothing_is_left_behind_when_it_fails(tmp_path, monkeypatch):
    release = made()

    def break_off(*_: object) -> None:
        raise BadInputError("no")

    monkeypatch.setattr(Publication, "_audited", break_off)
    with pytest.raises(BadInputError, match="no"):
        release.write(
            tmp_path / "out", private_report=tmp_path / "private.html", private_map=tmp_path / "map"
        )
    monkeypatch.undo()
    monkeypatch.setattr(Publication, "_write_report", break_off)
    with pytest.raises(BadInputError, match="no"):
        release.write(
            tmp_path / "out", private_report=tmp_path / "private.html", private_map=tmp_path / "map"
        )
    assert list(tmp_path.iterdir()) == []
