"""What attacks found, in words: for certificates, the terminal and notebooks."""

from __future__ import annotations

from pathlib import Path

import pytest

from attacks.made_up import after_side, before_side, figure, risk_of_shop
from incrowd.attacks.rates import Interval
from incrowd.attacks.result import ATTACKS, GROUPS, QUESTIONS, Side, worst_of
from incrowd.attacks.shown import NAMES, certificate_rows, interval_in_words, parts_of
from incrowd.cli.risk_view import SHORT, show_risk


def test_a_certificate_has_a_line_for_each_question():
    lines = [row.in_public for row in certificate_rows(after_side())]
    assert lines == ["Singling out: at most 5%", "Linkability: at most 75%", "Inference: at most 10%"]
    rows = [(row.risk, row.interval, row.tries, row.control) for row in certificate_rows(after_side())]
    assert rows == [
        ("3.1%", "1.8% to 4.5%", "1,000", "0.0%"),
        ("56.0%", "55.6% to 56.4%", "77,512", ""),
        ("2.5%", "0.0% to 8.6%", "1,000", "20.0%"),
    ]
    attacks = [row.attack for row in certificate_rows(after_side())]
    assert attacks[0] == (
        "3.1% of 1,000 people are singled out by their rarest items (10 known items); in the control group 0.0%."
    )
    assert attacks[1].endswith("in two releases together.")


def test_what_was_not_measured_is_said_and_not_harmless():
    rows = certificate_rows(Side({"halves": figure(0.3, tries=0)}))
    assert [row.in_public for row in rows] == [f"{NAMES[group]}: not measured" for group in QUESTIONS]


def test_one_person_more_does_not_show_on_a_certificate():
    """Of 1,000 people, from 40 to 60 who are singled out: the certificate says one of few things."""
    said = {certificate_rows(Side({"unicity": figure(n / 1_000)}))[0].in_public for n in range(40, 61)}
    assert said == {"Singling out: at most 10%"}
    for value, most in ((0.0, "1%"), (0.97, "100%"), (1.0, "100%")):
        assert certificate_rows(Side({"halves": figure(value)}))[1].at_most == most


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.0, 0.00384, "0.0% to 0.4%"),
        (0.0, 0.00001, "0.0% to 0.1%"),
        (0.0129, 0.2, "1.2% to 20.0%"),
        (0.9999, 1.0, "99.9% to 100.0%"),
        (0.007, 0.029, "0.7% to 2.9%"),
    ],
)
def test_intervals_are_rounded_outwards(low, high, said):
    assert interval_in_words(Interval(low, high)) == said


def test_the_headline_is_the_highest_risk_of_those_that_count():
    side = before_side(marketer=figure(1.0), one_more_item={1: figure(0.5, 0.4), 3: figure(0.45, 0.1)})
    assert side.headline("singling_out").attack.name == "unicity_rarest"
    assert (side.headline("inference").known, side.risk("inference")) == (3, pytest.approx(0.35 / 0.9))
    assert worst_of(side.found["one_more_item"])[0] == 3
    assert side.headline("minimality") is side.worst("minimality") is None
    for group in QUESTIONS:
        assert side.headline(group).figure is side.worst(group)


def test_rows_are_of_some_known_items_and_of_those_that_make_a_light():
    before = before_side(unicity_rarest={p: figure(1.0 if p in (6, 9) else 0.5) for p in range(1, 11)})
    (part, *_) = parts_of(risk_of_shop(before=before), (3,))
    known = {attack.name: [row.known for row in rows] for attack, rows in part.attacks}
    assert known["unicity"] == [3]
    assert known["unicity_rarest"] == [3, 9, 10]  # of 6 and 9 with the same risk before, 9
    assert [row.makes_light for row in part.rows if row.makes_light] == [{"before"}, {"after"}]


def test_every_attack_has_short_words_and_every_group_a_name():
    assert set(SHORT) == {attack.name for attack in ATTACKS}
    assert set(NAMES) == set(GROUPS)
    assert max(len(words.format(10)) for words in SHORT.values()) <= 31


def printed(capsys, monkeypatch, risk, *out):
    monkeypatch.setenv("COLUMNS", "80")
    show_risk(risk, *out)
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_the_terminal_shows_lights_in_words_and_each_attack_on_one_line(capsys, monkeypatch):
    lines = printed(capsys, monkeypatch, risk_of_shop())
    assert len(lines) <= 38
    assert lines[0] == "shop<1>.dat: 77,512 people, released with method flock, k = 5."
    assert "Singling out red 100.0% (99.6% to 100.0%) green 3.1% (1.8% to 4.5%)" in lines
    assert "Inference red 44.3% (37.3% to 50.5%) green? 2.5% (0.0% to 8.6%)" in lines
    assert "known items 1 2 3 4 5 6 7 8 9 10" in lines
    assert "two halves are linked 71.0% 33.0% 25.0% 10.7% (3.2% to 17.5%)" in lines
    assert any(line.startswith("one more guessed with 3 items 42.0% 22.0%") for line in lines), "the light's"
    assert not any("9 rarest" in line for line in lines), "only the light before"
    assert "unprinted item is proven - 5.0% - 5.0% (4.8% to 5.2%)" in lines
    assert any(line.startswith("Not run (before and after): have a sensitive item") for line in lines)
    assert any(line.startswith("A low figure is a lower bound") for line in lines)


def test_the_terminal_shows_raw_data_alone(capsys, monkeypatch):
    lines = printed(capsys, monkeypatch, risk_of_shop(released=False))
    assert "shop<1>.dat: 77,512 people, the data as they are, no release, k = 5." in lines
    assert printed(capsys, monkeypatch, risk_of_shop(), Path("risk.html"))[-1] == "Page: risk.html"
    assert "two halves are linked 71.0% 20.0% 63.7% (58.8% to 68.2%)" in lines
    empty = printed(capsys, monkeypatch, risk_of_shop(released=False, before=Side({})))
    assert "Singling out not measured" in empty
    assert "known items 1 2" not in " ".join(empty)


def test_names_cannot_control_the_terminal(capsys, monkeypatch):
    lines = printed(capsys, monkeypatch, risk_of_shop(name="a\x1b[2Jb", method="m\x1b[2J"))
    assert "\x1b[2J" not in "".join(lines)


def test_a_notebook_shows_it_escaped():
    shown = risk_of_shop()._repr_html_()
    assert "shop&lt;1&gt;.dat" in shown
    assert "<td>Can a person be singled out?</td><td>red: 100.0%</td><td>green: 3.1%</td>" in shown
    assert (
        "<td>have one more item that is guessed right</td><td>61.0% (10 known)</td><td>22.0% (3 known)</td>"
        in shown
    )
    assert "<td></td><td>56.0%</td>" in shown
    nothing = risk_of_shop(released=False, before=Side({"halves": figure(0, tries=0)}))._repr_html_()
    assert nothing.count("<td>not measured</td>") == 3
    assert "<td>nobody to try</td>" in nothing
