"""The attacks of benchmarks/known_attacks.py find what a hand-made example holds, and the whole script runs."""

from __future__ import annotations

import numpy as np
import pytest

import incrowd as ic
from benchmark_scripts import loaded_script, run_script, write_baskets

TITLES = ("Two releases of the same people", "Downcoding", "Planted accounts", "Homogeneity")


@pytest.fixture(scope="module")
def attacks():
    with loaded_script("known_attacks") as module:
        yield module


def released(rows, *, k=2, method="flock", fan_out=2, owners=None, **how):
    transactions = ic.Transactions.from_rows(rows, owners=owners)
    return ic.anonymize(transactions, ic.balanced(transactions, fan_out), k=k, method=method, **how)


# --- two releases ---


def test_classes_that_cross_leave_everybody_alone(attacks):
    """Two releases of classes {1, 2}, {3, 4} and {1, 3}, {2, 4} have one person in common each time."""
    owners = ["1", "2", "3", "4"]
    first = released([["a"], ["a"], ["b"], ["b"]], owners=owners)
    second = released([["a"], ["b"], ["a"], ["b"]], owners=owners)
    assert attacks.together(first, second, 2) == (4, 1.0, 1.0, 1)


def test_the_same_release_twice_says_no_more_than_once(attacks):
    release = released([["a"], ["a"], ["b"], ["b"], ["b"]])
    assert attacks.together(release, release, 2) == (5, 0.0, 0.0, 3)


def test_only_people_who_are_in_both_count_in_whatever_order(attacks):
    first = released([["a"], ["a"], ["a"], ["b"], ["b"], []], owners=["1", "2", "3", "4", "5", "6"])
    second = released([["c"], ["c"], ["d"], ["d"], ["d"]], owners=["6", "3", "2", "1", "7"])
    # 1 and 2 share both records, 3 is alone; 4 and 5 are missing in the second, 6 holds nothing in the first.
    people, below, alone, median = attacks.together(first, second, 2)
    assert (people, median) == (3, 2)
    assert below == alone == pytest.approx(1 / 3)


def test_records_that_say_the_same_are_one_class_to_a_reader(attacks):
    release = released([["a"]] * 7, k=3, method="partition")
    assert set(attacks.record_of(release).tolist()) == {0}


# --- downcoding ---


def test_two_leaves_below_a_printed_pair_both_occur(attacks):
    """In a tree of two leaves 'anything' is printed for a and b: one person has a, another has b."""
    assert attacks.downcoded(released([["a"], ["b"]])) == (1.0, 1.0, 2, 2)


def test_with_a_larger_fan_out_nothing_is_proven(attacks):
    assert attacks.downcoded(released([["a"], ["b"], ["c"]], k=3, fan_out=5)) == (0.0, 0.0, 0, 0)


def test_only_the_people_of_the_class_count(attacks):
    # Items 1 to 4 in pairs: the class of 1 and 2 is given away, those of 3 are printed anyway.
    found = attacks.downcoded(released([["1"], ["2"], ["3"], ["3"], ["4"], ["4"]]))
    assert found == (pytest.approx(2 / 6), pytest.approx(1 / 3), 2, 2)


def test_what_is_printed_is_not_proven(attacks):
    # Both have a and b, and one more of them: 'a, b, anything' is printed.
    assert attacks.downcoded(released([["a", "a", "b"], ["a", "b", "b"]])).proven == 0


def test_a_statement_that_is_false_is_seen_to_be_false(attacks, monkeypatch):
    release = released([["a"], ["b"]])
    monkeypatch.setattr(attacks, "most_of_each", lambda *_: {})
    assert attacks.downcoded(release)[2:] == (2, 0)


# --- planted accounts ---


def test_copies_of_a_target_isolate_it_and_a_stranger_does_not(attacks):
    bags = [["a", "b"], ["c"], ["c"], ["d"], ["d"], ["e"], ["e"]]
    rows = ic.Transactions.from_rows(bags)
    tree = ic.balanced(rows, 2)
    how = {"k": 3, "method": "flock"}
    assert attacks.plant(rows, tree, {0: ["a", "b"]}, {0: "b"}, **how) == (1, 1.0, 1.0)
    # Fakes that copy others: three people have c and d, so the target is not with them.
    found = attacks.plant(rows, tree, {0: ["c"]}, {0: "b"}, **how)
    assert (found.alone, found.printed) == (0.0, 0.0)


def test_a_target_like_others_is_not_alone(attacks):
    rows = ic.Transactions.from_rows([["a", "b"]] * 3 + [["c"]] * 3)
    found = attacks.plant(rows, ic.balanced(rows, 2), {0: ["a", "b"]}, {}, k=3, method="flock")
    assert (found.alone, found.printed) == (0.0, 0.0)


def test_the_targets_are_drawn_with_half_of_their_items_and_two_guesses(attacks):
    bags = [["a", "b", "c", "d"], ["e"], ["b", "f"], ["a", "e", "f"]] * 3
    rows = ic.Transactions.from_rows(bags)
    drawn = attacks.draw_attacks(rows, 100)
    assert sorted(one.target for one in drawn) == [0, 2, 3, 4, 6, 7, 8, 10, 11]
    for one in drawn:
        assert sorted(one.everything) == bags[one.target]
        assert len(one.half) == len(bags[one.target]) // 2
        assert one.right in bags[one.target]
        assert one.right not in one.half
        assert one.wrong not in bags[one.target]
    assert drawn == attacks.draw_attacks(rows, 100)


# --- homogeneity ---


def test_exact_items_are_counted_by_people_and_classes(attacks):
    # Two classes: three people who have x and nothing else, four who have no item in common.
    release = released([["x"], ["x"], ["x"], ["a", "b"], ["b", "c"], ["y"], ["c"]], k=3, fan_out=5)
    assert release.counts.groups == 2
    found = attacks.homogeneous(release)
    assert found.classes == 0.5
    assert found.people == found.everything == pytest.approx(3 / 7)


def test_part_of_a_record_is_not_all_of_it(attacks):
    found = attacks.homogeneous(released([["a", "b"], ["a", "c"]], fan_out=5))
    assert found == (1.0, 1.0, 0.0)


# --- the script ---


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a directory with made-up sets in the place of the public ones."""
    directory = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(5)
    write_baskets(directory, ("BMS-WebView-1", "BMS-WebView-2", "retail"), 90, rng)
    (directory / "logs").mkdir()
    words = ["wine", "beer", "dog", "cat", "car", "boat", "shoe", "hat", "tea", "milk"]
    lines = (
        f"user{n % 40}\t97091612{n % 60:02}00\t{' '.join(rng.choice(words, 2))}\n"
        + f"user{n % 40}\t970917000000\t{rng.choice(words)}\n" * (n % 9 == 0)
        for n in range(200)
    )
    (directory / "logs/excite-small.log").write_text("".join(lines), encoding="utf-8")
    return directory


def test_the_whole_script_on_a_tiny_size(data):
    done = run_script("known_attacks", "--quick", "--data", data)
    assert done.returncode == 0, done.stderr
    tables = dict(part.split("\n\n", 1) for part in done.stdout.split("### ")[1:])
    assert tuple(tables) == TITLES
    cells = {
        title: [line.strip("| ").split(" | ") for line in table.splitlines()[2:] if line]
        for title, table in tables.items()
    }
    assert {title: len(lines) for title, lines in cells.items()} == dict(
        zip(TITLES, (25, 24, 10, 10), strict=True)
    )
    assert all(line[-1] == line[-2] for line in cells["Downcoding"])  # what is proven is true
    assert any(line[-1] != "0" for line in cells["Downcoding"])
    shares = [cell for lines in cells.values() for line in lines for cell in line if cell.endswith(" %")]
    assert all(0 <= float(share.removesuffix(" %")) <= 100 for share in shares)


def test_data_that_is_not_there_is_named(tmp_path):
    done = run_script("known_attacks", "--quick", "--data", tmp_path)
    assert done.returncode == 1
    assert "does not exist; set INCROWD_DATA to the directory of the public data sets" in done.stderr
