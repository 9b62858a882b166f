"""The attacks of benchmarks/series_attacks.py on small data: they work where numbers can be subtracted, and not on days of a series."""

from __future__ import annotations

import random

import pytest

from benchmark_scripts import loaded_script
from incrowd.logs.synth.generate import write_log

PEOPLE = [f"p{person}" for person in range(400)]
OTHERS = {"barn": range(0, 120, 2), "floors": range(1, 120, 2)}


@pytest.fixture(scope="module")
def attacks():
    with loaded_script("series_attacks") as module:
        yield module


@pytest.fixture
def series_of(attacks, tmp_path):
    """Make a series of hand-made days: which people of the series type which word on each. The control group types another one."""
    names = sorted(PEOPLE)
    random.Random(attacks.SEED).shuffle(names)

    def made(*days: dict[str, range]):
        lines = ["AnonID\tQuery\tQueryTime\tItemRank\tClickURL"]
        for number, words in enumerate(days):
            said = [(names[person], word) for word, people in words.items() for person in people]
            said += [(name, "pottery") for name in names[200:]]
            lines += [f"{name}\t{word}\t2006-03-0{number + 1} 10:00:00\t\t" for name, word in said]
            # A word of everybody, which is withheld, so that all are there.
            lines += [f"{name}\tcloset\t2006-03-0{number + 1} 20:00:00\t\t" for name in names]
        path = tmp_path / "log.tsv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return names, attacks.made_series(path, len(days))

    return made


def test_people_who_come_again_can_be_subtracted_and_others_cannot(attacks, series_of):
    """If everybody who typed a word types it again, and a few more, the difference is these few; nothing says that they did."""
    _, same = series_of({**OTHERS, "school": range(120, 150)}, {**OTHERS, "school": range(120, 153)})
    found = attacks.small_differences(*same.days)
    assert (found.small, found.right, found.chance) == (1, 1, 0)
    _, other = series_of({**OTHERS, "school": range(120, 150)}, {**OTHERS, "school": range(150, 183)})
    assert attacks.small_differences(*other.days)[1:3] == (1, 0)


def test_a_word_that_appears_is_told_of_and_who_joined_may_have_it(attacks, series_of):
    names, made = series_of(OTHERS, {**OTHERS, "reunion": range(120, 127)})
    assert attacks.told(*made.days) == (1, 1)
    found = attacks.newcomers(made, frozenset(names[120:127]))
    assert found == (1, 1, 0, 0)
    _, made = series_of(OTHERS, {**OTHERS, "reunion": range(120, 129)})
    assert attacks.told(*made.days) == (1, 0)  # of five people at least


def test_the_same_tile_is_held_again_by_people_of_habits(attacks, series_of):
    _, made = series_of(OTHERS, OTHERS)
    linked = attacks.relinked(*made.days, attacks.control_data(made.days), 200)
    assert linked.again == 1
    assert linked.anyway == 0.5
    assert linked.equal > 0.7


def test_a_series_of_made_up_users_has_every_event_once(attacks, tmp_path):
    path = tmp_path / "log.tsv"
    write_log(path, users=260)
    made = attacks.made_series(path, 3)
    assert made.events == made.lines > 1_000
    assert sum(len(day.release.transactions) for day in made.days) >= len(made.whole.release.transactions)
    assert len(attacks.known_rows(made)) == 8
