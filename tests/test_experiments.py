"""The papers' experiments run from end to end on a tiny size, and their tables and plots say the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import mean
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import incrowd as ic
from benchmark_scripts import BENCHMARKS, run_as_process, run_script, write_baskets

SETS = ("BMS-WebView-1", "BMS-WebView-2")
ROWS = 400


@pytest.fixture(scope="module")
def baskets(tmp_path_factory):
    """Return a directory with made-up sets in the place of the public ones."""
    directory = tmp_path_factory.mktemp("data")
    write_baskets(directory, SETS, ROWS, np.random.default_rng(7))
    return directory


def results(name: str, data: Path, out: Path) -> tuple[dict[str, dict], str]:
    """Run a script; return its measures by title and name, and what it printed."""
    done = run_script(name, "--quick", "--out", out, data=data)
    assert done.returncode == 0, done.stderr
    stem = name.replace("_", "-")
    measures = {}
    for experiment in json.loads((out / f"{stem}.json").read_text(encoding="utf-8")):
        for measure in experiment["measures"]:
            title = f"{measure['title'] or experiment['title']}: {measure['name']}"
            measures[title] = measure | {"x": experiment["x"], "drawn": experiment["drawn"]}
    plot = (out / f"{stem}.svg").read_text(encoding="utf-8")
    ET.fromstring(plot)
    check_tables(measures, done.stdout)
    check_plot(measures, plot)
    return measures, done.stdout


def check_tables(measures: dict[str, dict], printed: str) -> None:
    """Hold every printed number against the JSON."""
    for title, measure in measures.items():
        block = printed.split(f"### {title}\n\n")[1].split("\n\n", maxsplit=1)[0].splitlines()
        assert block[0].split(" | ")[1:] == f"{' | '.join(measure['lines'])} |".split(" | "), title
        for i, line in enumerate(block[2:]):
            numbers = [format(values[i], measure["form"]) for values in measure["lines"].values()]
            assert line.strip("| ").split(" | ")[1:] == numbers, title
        assert len(block) == 2 + len(measure["x"]), title


def check_plot(measures: dict[str, dict], plot: str) -> None:
    """Expect the title of each panel that is to be drawn, a white page, and nothing that changes by itself."""
    for title, measure in measures.items():
        assert (f"<!-- {title.rsplit(': ', 1)[0]} -->" in plot) is measure["drawn"], title
    assert "fill: #ffffff" in plot
    assert "dc:date" not in plot
    assert len(plot) < 300_000


def test_partition(baskets, tmp_path):
    measures, printed = results("reproduce_partition", baskets, tmp_path)
    assert {re.match(r"Figure \d", title)[0] for title in measures} == {f"Figure {n}" for n in range(3, 8)}
    rows = (baskets / f"transactions/{SETS[1]}.dat").read_text(encoding="ascii").splitlines()
    web2 = ic.Transactions.from_rows(row.split() for row in rows)
    trees = {fan_out: ic.balanced(web2, fan_out) for fan_out in (4, 5, 6, 10)}
    wanted = mean(ic.anonymize(web2, trees[f], k=25, method="partition").losses.ncp for f in (4, 5, 6))
    by_k = measures["Figure 5: effect of k: NCP"]
    assert by_k["lines"]["Partition"][by_k["x"].index(25)] == pytest.approx(wanted)
    by_f = measures["Figure 7: effect of f: NCP"]["lines"]["AA"]
    assert by_f[-1] == pytest.approx(ic.anonymize(web2, trees[10], k=10, method="apriori", m=4).losses.ncp)
    by_m = measures["Figure 4: effect of m: NCP"]["lines"]
    assert by_m["AA"] == sorted(by_m["AA"])
    assert by_m["AA"][0] < by_m["AA"][-1]
    assert len(set(by_m["Partition"])) == 1, "m is nothing to Partition"
    assert printed.count("loses 0.00%") == 2, "what is 10-anonymous already stays as it is"


def test_clump(baskets, tmp_path):
    measures, _ = results("reproduce_clump", baskets, tmp_path)
    for users in (100, 150, 300):
        loss = measures[f"Figure 3: {users} users: GGD / occurrences"]["lines"]
        length = measures[f"Figure 4: {users} users: items in a record"]["lines"]
        for criterion in ("total", "increase"):
            keep, drop = f"Clump1, {criterion}", f"Clump2, {criterion}"
            assert all(np.less(loss[keep], loss[drop])), "a copy that is dropped costs 1"
            assert all(np.greater(length[keep], length[drop]))
        assert all(np.less(loss["Partition, LCG"], loss["Partition"]))
    whole = measures["Figure 3: 300 users: GGD / occurrences"]["lines"]
    pruned = measures["Figure 3: tree of the nouns that occur: GGD / occurrences"]["lines"]
    assert whole.keys() == pruned.keys()
    assert whole != pruned
    by_r = measures["Figure 6: effect of r, k = 5: GGD / occurrences"]
    assert by_r["lines"]["Clump1, total"][by_r["x"].index(10)] == whole["Clump1, total"][0]
    wide = measures["Baskets, balanced:5, k = 5: GGD / occurrences"]["lines"]
    assert wide["Clump1, increase, r = 100"] != wide["Clump1, increase"]


def test_ssc(baskets, tmp_path):
    rng = np.random.default_rng(3)
    words = ["wine", "beer", "dog", "cat", "car", "boat", "shoe", "hat", "tea", "milk"]
    lines = [
        f"user{user}\t97091612{minute:02}00\t{' '.join(rng.choice(words, 2))}\n"
        for user in range(120)
        for minute in range(3)
    ]
    (baskets / "logs").mkdir()
    (baskets / "logs/excite-small.log").write_text("".join(lines), encoding="utf-8")
    measures, _ = results("reproduce_ssc", baskets, tmp_path)
    for data in ("made-up users", "made-up sessions", "Excite, sessions"):
        assert all(measures[f"{data}: {name}"]["drawn"] for name in ("bLM", "Recall", "sDist"))
    blm = measures["made-up sessions: bLM"]["lines"]
    assert blm["SSC"] == blm["SSC, generalized"], "bLM looks at what the terms stand for"
    assert all(np.less_equal(blm["Partition, LCG"], blm["LG(bag)"]))
    recall = measures["Excite, sessions: Recall"]["lines"]
    assert recall["SSC"][0] > recall["Clump"][0]


def test_microaggregation(baskets, tmp_path):
    measures, printed = results("reproduce_microaggregation", baskets, tmp_path)
    linked = measures["Figure 3: methods that group: RL, percent"]
    for values in linked["lines"].values():
        assert all(value <= 100 / k + 1e-9 for k, value in zip(linked["x"], values, strict=True))
    lost = measures["Figure 2: methods that group: L, percent"]["lines"]
    assert lost["microaggregation"][0] < lost["not semantic"][0]
    assert "Queries of one person only" in printed


def test_a_tree_of_the_occurring_items_only(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    from reproduce_clump import made_up_users, occurring_only  # noqa: PLC0415 - a script, not a package

    data = made_up_users(40)
    pruned = occurring_only(data)
    assert pruned.tree.leaf_count == len(pruned.rows.vocabulary) == len(np.unique(data.rows.items))
    for index in range(40):
        assert pruned.rows.row(index) == data.rows.row(index)
    for item in (0, len(pruned.rows.vocabulary) - 1):
        assert way_up(pruned, item) == way_up(data, position(data, pruned.rows.vocabulary[item].as_py()))


def position(data, item: str) -> int:
    return data.rows.vocabulary.to_pylist().index(item)


def way_up(data, item: int) -> list[str]:
    """Return the labels from an item's leaf to the root."""
    node, labels = data.tree.leaf_nodes[data.tree.item_leaf[item]], []
    while node >= 0:
        labels.append(data.tree.labels[int(node)].as_py())
        node = data.tree.parent[node]
    return labels


def test_the_same_numbers_give_the_same_bytes(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(BENCHMARKS)
    from plots import Experiment, Measure, Style, draw  # noqa: PLC0415 - a script, not a package

    experiment = Experiment("title", "k", [2, 5], [Measure("loss", ".1%", {"one": [0.1, 0.2]})])
    for name in ("a.svg", "b.svg"):
        draw([experiment], {"one": Style("#000000", "o")}, tmp_path / name, columns=1)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_without_the_data_it_says_what_to_set(tmp_path):
    done = run_as_process("reproduce_partition", "--quick", "--out", tmp_path / "out", data=tmp_path)
    assert done.returncode == 1
    assert done.stderr.strip().endswith("set INCROWD_DATA to the directory of the public data sets")
    assert len(done.stderr.splitlines()) == 1
