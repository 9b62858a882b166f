"""The attacks of benchmarks/mosaic_attacks.py on small hand-made data: each works without its answer, and not with it."""

from __future__ import annotations

import random

import pytest

from benchmark_scripts import loaded_script

FREQUENT = [f"word{i}" for i in range(40)]


@pytest.fixture(scope="module")
def attacks():
    with loaded_script("mosaic_attacks") as module:
        yield module


def people_with(attacks, units, days=None, **more):
    names = [f"p{row}" for row in range(len(units))]
    return attacks.Data("made up", [set(unit) for unit in units], names, days, **more)


def random_units(people=90, seed=1):
    """People with four frequent words each; the first has a word of their own beside them."""
    dice = random.Random(seed)
    units = [dice.sample(FREQUENT, 4) for _ in range(people)]
    units[0].append("secret")
    return units


def test_sure_rules_touch_nobody_with_confidence(attacks):
    data = people_with(attacks, [["a", "b"]] * 10 + [["c"]] * 50)
    assert attacks.sure_people(attacks.released(data, confidence=1.0)) == 10
    assert attacks.sure_people(attacks.released(data)) == 0


def test_four_planted_accounts_read_a_target_s_words_and_confidence_stops_them(attacks):
    data = people_with(attacks, random_units())
    four, nine = attacks.Planting(), attacks.Planting(more=True)
    off = {"longest": 10**6}
    assert attacks.covered(data, 1) == 1
    assert attacks.planted(data, four, 1, **off, confidence=1.0) >= 0.5
    assert attacks.planted(data, four, 1, **off) == 0
    assert attacks.planted(data, nine, 1, **off) >= 0.5
    assert attacks.planted(data, nine, 1, longest=5) <= 0.25


def test_planted_accounts_count_who_else_has_a_word(attacks):
    """Exact numbers say it, rounded ones now and then (they go up with a chance of 1 in 5), and young accounts publish nothing."""
    units = random_units()
    for row in range(1, 40):
        units[row].append(f"secret{row}")
    data = people_with(attacks, units, [5] * 90, unit="session:1800")
    assert attacks.counted_out(data, 2, 40) == 1
    assert 0 < attacks.counted_out(data, 2, 40, counts="rounded") < 0.5
    assert attacks.counted_out(data, 1, 40) == 0


def test_two_words_tell_a_third_of_people_who_are_not_in_the_release_too(attacks):
    data = people_with(attacks, [["a", "b", "c"]] * 100 + [["a"], ["b"], ["c"]] * 40)
    halves = data.halves()
    found = attacks.two_word_rules(*halves, attacks.released(halves[0]))
    assert found.people > 0.3
    assert found.inside == found.control == 1


def test_young_accounts_read_nothing_and_old_ones_do(attacks):
    """What `aged` does is to make planted accounts dearer: k - 1 that are old enough undo any promise about k."""
    data = people_with(attacks, random_units(), [5] * 90, unit="session:1800")
    parts = attacks.Planting(more=True, parts=True)
    assert attacks.planted(data, parts, 1, aged=1) >= 0.5
    assert attacks.planted(data, parts, 1) == 0
    assert attacks.planted(data, parts._replace(days=2), 1) >= 0.5


def test_counts_of_a_day_more_are_subtracted_unless_they_are_rounded(attacks):
    units = [["a", "b"] if row % 2 else ["c"] for row in range(120)] + [["a"], ["c"], ["c"]]
    data = people_with(attacks, units, late=frozenset({120, 121, 122}))
    assert attacks.a_day_more(data, confidence=1.0) == (1.0, 0.0)
    rounded = attacks.a_day_more(data, confidence=1.0, counts="rounded")
    assert rounded.isolated <= 0.5
    assert rounded.hidden >= 0.5


def test_another_k_of_the_same_data_changes_no_number_of_a_word(attacks):
    data = people_with(attacks, random_units(200))
    first, second = (attacks.released(data, k=k, cap=10**6) for k in (5, 6))
    assert attacks.units_of(first) != {}
    assert attacks.small_differences(first, second) == {}


def test_one_person_makes_no_tile_with_a_cap(attacks):
    units = [["a", "b"]] * 40 + [["c"]] * 60
    person = ["heavy"] * 31 + [f"p{row}" for row in range(69)]
    data = attacks.Data("made up", [set(unit) for unit in units], person, None, unit="session:1800")
    release = attacks.released(data, confidence=1.0)
    assert attacks.dominated(release, 10**6) == 0.5
    assert attacks.dominated(release, 3) == 0
    ((units_of_tile, people),) = [
        (tile.units, tile.people) for tile in release.published if ("a", True) in tile.labels
    ]
    assert (units_of_tile, people) == (12, 10)


def test_people_of_the_release_are_guessed_hardly_better_than_those_who_are_not_in_it(attacks):
    """Words are independent here, so what helps is chance that the tiles have in common with their holders."""
    units = random_units(1200, seed=3)
    data = people_with(attacks, units)
    halves = data.halves()
    guesser = attacks.Guesser(attacks.released(halves[0]).published, 10**6)
    known = attacks.known_items(*halves, guesser, 2)
    assert known.people == 600
    assert known.inside < known.control + 0.1
    assert known.raw > known.inside + 0.2


def test_tiles_of_a_person_are_not_told_by_their_numbers(attacks):
    data = people_with(attacks, random_units(600, seed=4))
    assert attacks.relinked(data, 3_000).alone == pytest.approx(0.5, abs=0.04)


def test_all_tables_are_printed(attacks, capsys, monkeypatch):
    monkeypatch.setattr(attacks, "TARGETS", 1)
    sessions = people_with(attacks, random_units(140), [5] * 140, late=frozenset({7}), unit="session:1800")
    attacks.print_everything([sessions, people_with(attacks, random_units(140), late=frozenset({9}))])
    printed = capsys.readouterr().out
    for title in (
        "Known items",
        "Sure rules",
        "Planted accounts",
        "Two releases",
        "Re-linking",
        "Dominance",
    ):
        assert f"### {title}\n" in printed
