"""Flock's tables are made from end to end on a tiny size, and say what the library says."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

import incrowd as ic
from benchmark_scripts import BENCHMARKS, run_script, write_baskets

BASELINES = ("Partition + LCG", "Clump, total", "Clump, increase")
ITEMS = ("011", "012", "021", "111", "121")
ROWS = 60


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a directory with made-up sets in the place of the public ones."""
    directory = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(5)
    (directory / "transactions/groceries").mkdir(parents=True)
    write_baskets(directory, ("BMS-WebView-1", "BMS-WebView-2", "retail"), ROWS, rng)
    write_groceries(directory / "transactions/groceries", rng)
    (directory / "logs").mkdir()
    words = ["wine", "beer", "dog", "cat", "car", "boat", "shoe", "hat", "tea", "milk"]
    log = "".join(
        f"user{n % 40}\t9709161200{n % 60:02}\t{' '.join(rng.choice(words, 2))}\n" for n in range(200)
    )
    (directory / "logs/excite-small.log").write_text(log, encoding="utf-8")
    return directory


def write_groceries(directory: Path, rng: np.random.Generator) -> None:
    table = rng.integers(0, 3, (ROWS, len(ITEMS)))
    table[0] = [2, 0, 1, 0, 0]
    lines = ["\t".join(map(str, row)) + "\n" for row in table]
    (directory / "Groceries.data").write_text("".join(lines), encoding="ascii")
    for name, digits in (("Groceries", 3), ("Groceries.cat2", 2), ("Groceries.cat1", 1)):
        codes = sorted({item[:digits] for item in ITEMS})
        text = "".join(f"{code}\tname of {code}\tName\r\n" for code in codes)
        (directory / f"{name}.labels").write_bytes(text.encode())


@pytest.fixture(scope="module")
def made(data, tmp_path_factory):
    """Return the numbers, both tables, and what was printed."""
    out = tmp_path_factory.mktemp("out")
    done = run_script("flock_table", "--quick", "--out", out, data=data)
    assert done.returncode == 0, done.stderr
    numbers = json.loads((out / "flock.json").read_text(encoding="utf-8"))
    full, short = ((out / f"flock-{name}.md").read_text(encoding="utf-8") for name in ("full", "short"))
    assert done.stdout == f"{full}\n{short}\n"
    return numbers, full, short


def cells_of(table: str) -> list[list[str]]:
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def cases(numbers):
    return [list(same) for _, same in groupby(numbers, key=lambda result: (result["data"], result["k"]))]


def is_best(same, measure) -> bool:
    by_method = {result["method"]: result[measure] for result in same}
    sign = 1 if measure == "kept_exactly" else -1
    return all(sign * by_method["flock"] > sign * by_method[baseline] for baseline in BASELINES)


def percent(value: float, decimals: int) -> str:
    return f"{100 * value:.{decimals}f} %"


def test_the_full_table_holds_every_number(made):
    numbers, full, _ = made
    cells = cells_of(full)
    assert len(cells) == len(numbers) == 6 * 2 * 6
    for result, line in zip(numbers, cells, strict=True):
        assert line[2].removesuffix(" *") == result["method"]
        assert line[3:5] == [f"{result['ggd_norm']:.3f}", f"{result['ic_norm']:.3f}"]
        assert line[5:7] == [percent(result["kept_exactly"], 1), percent(result["ncp"], 2)]
        assert line[7:] == [f"{result['recall']:.2f}", f"{result['seconds']:.2f}"]


def test_a_star_means_best_on_all_three(made):
    numbers, full, short = made
    stars = [line[2].endswith("*") for line in cells_of(full) if line[2].startswith("flock") and line[0]]
    measures = ("ggd_norm", "ic_norm", "kept_exactly")
    wanted = [all(is_best(same, measure) for measure in measures) for same in cases(numbers)]
    assert stars == wanted
    assert 0 < sum(wanted) < len(wanted), "the sizes are so tiny that both happen"
    assert f"at once: {sum(wanted)} of {len(wanted)}." in short


@pytest.mark.parametrize(
    ("worse", "bold"),
    [
        ({}, (True, True, True)),
        ({"ggd_norm": 0.3}, (False, True, True)),
        ({"ic_norm": 0.6}, (True, False, True)),
        ({"kept_exactly": 0.1}, (True, True, False)),
    ],
    ids=["none", "GGD", "IC", "kept"],
)
def test_no_better_than_one_baseline_in_one_measure_is_not_best(monkeypatch, worse, bold):
    monkeypatch.syspath_prepend(BENCHMARKS)
    from flock_table import METHODS, Result, full_table, short_table  # noqa: PLC0415 - a script, not a package

    baseline = Result("some data, a tree", 5, "", 0.3, 0.6, 0.1, 0.05, 0.5, 1.0)
    results = [baseline._replace(method=name) for name in METHODS]
    results[0] = results[0]._replace(
        **{"ggd_norm": 0.2, "ic_norm": 0.5, "kept_exactly": 0.2, "ncp": 0.06} | worse
    )
    assert cells_of(full_table(results))[0][2] == ("flock" if worse else "flock *")
    short = short_table(results)
    assert tuple(cell.startswith("**") for cell in cells_of(short)[0][2:5]) == bold
    assert "Partition's item uncertainty is better in 1 of 1: some data (k = 5)." in short
    assert "Partition's pattern recall is better in 0 of 1." in short


def test_the_short_table_sets_flock_beside_its_baselines(made):
    numbers, _, short = made
    for same, line in zip(cases(numbers), cells_of(short), strict=True):
        by_method = {result["method"]: result for result in same}
        assert line[:2] == [same[0]["data"], str(same[0]["k"])]
        flock, partition, clump = line[2].split(" / ")
        assert flock.startswith("**") is is_best(same, "ggd_norm")
        values = [f"{by_method[name]['ggd_norm']:.3f}" for name in ("flock", *BASELINES)]
        assert [flock.strip("*"), partition, clump] == [*values[:2], min(values[2:])]


def test_it_says_where_partition_does_better(made):
    numbers, full, _ = made
    better = 0
    for same in cases(numbers):
        by_method = {result["method"]: result["ncp"] for result in same}
        better += by_method["Partition + LCG"] < by_method["flock"]
    assert f"Partition's item uncertainty is better in {better} of 12" in full


def test_the_numbers_are_those_of_the_library(made, data):
    text = (data / "transactions/retail.dat").read_text(encoding="ascii")
    rows = ic.Transactions.from_rows(line.split() for line in text.splitlines())
    settings = {"flock": {"method": "flock"}, "flock, s = 0": {"method": "flock", "specificity": 0.0}}
    settings["Partition + LCG"] = {"method": "partition", "publish": "lcg"}
    for name, setting in settings.items():
        losses = ic.anonymize(rows, ic.balanced(rows, 5), k=5, **setting).losses
        found = [n for n in made[0] if (n["data"][:6], n["k"], n["method"]) == ("retail", 5, name)]
        assert found[0]["ggd_norm"] == pytest.approx(losses.ggd_norm)
        assert found[0]["kept_exactly"] == pytest.approx(losses.kept_exactly)


def test_groceries_are_bags_on_their_own_levels(data, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import flock_table  # noqa: PLC0415 - a script, not a package

    monkeypatch.setattr(flock_table, "DATA", data)
    rows, tree = flock_table.groceries(None)
    assert len(rows) == ROWS
    assert rows.row(0) == {"011": 2, "021": 1}
    assert tree.leaf_count == len(ITEMS)
    leaf = tree.leaf_nodes[tree.item_leaf[rows.vocabulary.to_pylist().index("012")]]
    way = []
    while leaf >= 0:
        way.append(tree.labels[int(leaf)].as_py())
        leaf = tree.parent[leaf]
    assert way == ["012", "01", "0", "all"]


def test_without_the_data_it_says_what_to_set(tmp_path):
    done = run_script("flock_table", "--quick", "--data", "groceries", data=tmp_path)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("set INCROWD_DATA to the directory of the public data sets")
    assert len(done.stderr.splitlines()) == 1


def test_the_speed_table_has_a_line_for_each_size(data):
    done = run_script("flock_speed", "--quick", "--best-of", 1, data=data)
    assert done.returncode == 0, done.stderr
    lines = cells_of(done.stdout)
    assert [line[:2] for line in lines] == [
        ["made-up sessions, nouns, WordNet", "300"],
        ["made-up users, nouns, WordNet", "200"],
    ]
    assert float(lines[0][2]) < 10 < float(lines[1][2]), "a session has fewer nouns than a user"


def test_growth_is_told_beside_the_seconds(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    from flock_speed import Measured, shown  # noqa: PLC0415 - a script, not a package

    few, many = Measured(600, 4_200, 0.25, 0.5, 300), Measured(6_000, 42_000, 2.0, 4.5, 1_400)
    name = "| made-up sessions, nouns, WordNet"
    assert shown("sessions:600", few, None) == f"{name} | 600 | 7.0 | 0.25 | 0.50 | 119.0 | 300 |"
    assert (
        shown("sessions:6000", many, few)
        == f"{name} | 6,000 | 7.0 | 2.00 (8.0) | 4.50 (9.0) | 107.1 | 1,400 |"
    )
