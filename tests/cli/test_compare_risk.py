"""``compare --risk``: every release is attacked, and its risks are in all files; what attacks it stands elsewhere."""

from __future__ import annotations

import csv
import json

import pytest

import incrowd as ic
from cli.helpers import call
from incrowd.attacks.rates import Figure, Rate
from incrowd.attacks.result import Side
from incrowd.errors import BadInputError
from incrowd.jobs import compare as comparison
from incrowd.release.tiles import TileRelease

RISKS = ("risk_singling_out", "risk_linkability", "risk_inference")


@pytest.fixture
def baskets(tmp_path):
    """As many as tiles need."""
    path = tmp_path / "baskets.dat"
    path.write_text("milk bread\n" * 20 + "milk beer beer\n" * 20 + "bread\n" * 5, encoding="utf-8")
    return path


@pytest.fixture
def attacks(monkeypatch):
    """Attacks that find what a test can tell: 1 / k by singling out, a tenth of tiles by inference, and no linkability."""
    seen = []

    def risk_of(attached, release, *, k, most=300, seed=0):
        seen.append((release.method, k, most, seed))
        if release.method == "suppress":
            raise BadInputError("nothing can be attacked")
        tiles = isinstance(release, TileRelease)
        found = {"unicity": {1: Figure(Rate(0.0, 60)), 2: Figure(Rate(60 / k, 60))}}
        assert len(attached.transactions) == len(release.transactions)
        return Side(found | ({"one_more_item": {1: Figure(Rate(1, 10))}} if tiles else {}))

    monkeypatch.setattr(comparison, "risk_of", risk_of)
    return seen


def compare(baskets, out, *more, methods="flock,mosaic"):
    return call("compare", baskets, "--methods", methods, "--k", "2,3", "--out", out, "--seed", 4, *more)


def test_every_release_is_attacked_with_its_k_and_all_files_say_what_was_found(baskets, tmp_path, attacks):
    ran = compare(baskets, tmp_path / "out", "--risk", "--json")
    assert ran.code == 0, ran.err
    assert [one[:3] for one in attacks] == [
        ("flock", 2, 300),
        ("flock", 3, 300),
        ("mosaic", 2, 300),
        ("mosaic", 3, 300),
    ]
    wanted = [(0.5, None, None), (0.3333, None, None), (0.5, None, 0.1), (0.3333, None, 0.1)]
    assert [tuple(run[name] for name in RISKS) for run in ran.json["runs"]] == wanted
    assert ran.json["risk"] == {"most": 300, "green": 0.05, "amber": 0.2}
    assert json.loads((tmp_path / "out/compare.json").read_text())["risk"] == ran.json["risk"]
    with (tmp_path / "out/compare.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["risk_singling_out"] for row in rows] == ["0.5", "0.3333"] * 2
    assert [row["risk_inference"] for row in rows] == ["", "", "0.1", "0.1"]
    assert {row["risk_linkability"] for row in rows} == {""}
    low, high = Figure(Rate(30, 60)).risk_interval
    ends = [float(rows[0][f"risk_singling_out_{end}"]) for end in ("low", "high")]
    assert ends == [pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3)]
    assert ran.json["runs"][0]["risk_intervals"] == {"risk_singling_out": ends}
    assert 'id="risk"' in (tmp_path / "out/compare.html").read_text()


def test_without_it_nothing_is_attacked(baskets, tmp_path, attacks):
    ran = compare(baskets, tmp_path / "out", "--json")
    assert ran.code == 0, ran.err
    assert attacks == []
    assert "risk" not in ran.json
    assert all(run[name] is None for run in ran.json["runs"] for name in RISKS)
    assert 'id="risk"' not in (tmp_path / "out/compare.html").read_text()


def test_the_terminal_shows_it(baskets, tmp_path, attacks, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    ran = compare(baskets, tmp_path / "out", "--risk")
    assert ran.code == 0, ran.err
    assert "50.0%" in ran.out
    words = " ".join(ran.out.split())
    assert "at most 300 people were tried. Green up to 5%, amber up to 20%." in words
    assert len(attacks) == 4


@pytest.mark.usefixtures("attacks")
def test_what_cannot_be_attacked_is_measured_all_the_same_and_says_why(baskets, tmp_path):
    ran = compare(baskets, tmp_path / "out", "--risk", "--json", methods="suppress,flock")
    assert ran.code == 0, ran.err
    first, *_ = (run for run in ran.json["runs"] if run["method"] == "suppress")
    assert first["error"] == "the risk could not be measured: nothing can be attacked"
    assert first["ggd_norm"] is not None
    assert first["risk_singling_out"] is None


def test_python_has_it_too(attacks):
    data = ic.Transactions.from_rows([["milk", "bread"]] * 5 + [["beer", "milk"]] * 4)
    compared = ic.compare(data, ic.balanced(data, 2), methods=["flock"], k=[2, 3], risk=True)
    assert [run.risk_singling_out for run in compared.runs] == [0.5, 0.3333]
    assert compared.table()["risk_singling_out"].to_pylist() == [0.5, 0.3333]
    assert "risk: singled out" in compared._repr_html_()
    assert len(attacks) == 2
    ic.compare(data, ic.balanced(data, 2), methods=["flock"], k=[2])
    assert len(attacks) == 2


def test_real_attacks_find_that_what_protects_nothing_is_risky(baskets, tmp_path):
    rows = [f"a{i} b{i % 20} c{i % 7} d{i % 3}" for i in range(60)]
    baskets.write_text("\n".join(rows) + "\n", encoding="utf-8")
    ran = compare(baskets, tmp_path / "out", "--risk", "--json", methods="suppress,flock")
    assert ran.code == 0, ran.err
    risks = {(run["method"], run["k"]): run["risk_singling_out"] for run in ran.json["runs"]}
    assert risks["suppress", 3] is not None
    assert risks["flock", 3] < 0.1
