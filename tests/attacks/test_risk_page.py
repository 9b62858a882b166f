"""The page of what attackers get: lights in words, curves with bands, every attack with its control, and nothing to fetch."""

from __future__ import annotations

import html
import re

import pytest

from attacks.made_up import KNOWN, after_side, before_side, figure, risk_of_shop
from browser import drawn_charts, opened
from incrowd.attacks.page import risk_page
from incrowd.attacks.result import ATTACKS, Limits, Side, attack_named
from incrowd.jobs.risk import is_risk_page

ALL = ("random", "rarest", "recent")


def text_of(page):
    """Return what a reader sees, on one line."""
    body = page.partition("<main>")[2].partition("<script>")[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


def words_of(page):
    """Return the word of every light."""
    return re.findall(r'<span class="word (\w+)">([^<]+)</span>', page)


def row_of(page, title):
    """Return the cells of an attack's row."""
    (line,) = re.findall(rf'<tr><th class="title">{re.escape(title)}</th>(.*?)</tr>', page)
    return [re.sub("<[^>]+>", "", cell) for cell in re.findall("<td.*?</td>", line)]


@pytest.mark.parametrize(("released", "sides"), [(True, 2), (False, 1)])
def test_a_browser_draws_every_curve_with_its_band_and_fetches_nothing(tmp_path, released, sides):
    found = drawn_charts(opened(risk_page(risk_of_shop(released=released)), tmp_path))
    assert set(found) == set(ALL)
    for inside in found.values():
        assert len(re.findall('aria-roledescription="point"', inside)) == sides * len(KNOWN)
        assert len(re.findall('aria-roledescription="line mark"', inside)) == sides
        assert len(re.findall('aria-roledescription="area mark"', inside)) == sides
        assert not any("NaN" in path for path in re.findall(r' d="([^"]*)"', inside.partition("<script")[0]))


def test_the_lights_are_words_beside_their_colours():
    page = risk_page(risk_of_shop())
    assert words_of(page) == [
        ("red", "red"), ("green", "green"), ("red", "red"), ("red", "red"), ("red", "red"), ("green", "green"),
    ]  # fmt: skip
    lit = re.findall(r'<i class="(\w+)"></i>', page)
    assert lit == [word for _, word in words_of(page)], "one lamp is lit for each light"
    assert "Green: a risk of up to 5%. Amber: up to 20%. Red: more." in page


def test_other_limits_give_other_lights():
    page = risk_page(risk_of_shop(limits=Limits(0.025, 0.7)))
    assert [word for word, _ in words_of(page)] == ["red", "amber", "amber", "amber", "amber", "green"]
    assert "Green: a risk of up to 2.5%. Amber: up to 70%. Red: more." in page


def test_what_was_not_measured_has_no_light():
    nothing = Side({"halves": figure(0.0, tries=0)}, {"unicity": "nobody has <3> items"})
    page = risk_page(risk_of_shop(after=nothing))
    assert words_of(page)[1::2] == [("none", "not measured")] * 3
    assert "(after): nobody has &lt;3&gt; items" in page
    assert row_of(page, attack_named("halves").title)[5:] == ["-", "-", "-", "", "0"]


@pytest.mark.parametrize(
    ("share", "tries", "said"),
    [
        (0.0, 10, "The interval reaches red."),
        (0.1, 20, "The interval reaches green and red."),
        (0.3, 20, "The interval reaches amber."),
        (0.0, 10_000, None),
        (1.0, 1_000, None),
    ],
)
def test_an_interval_that_reaches_another_light_is_told(share, tries, said):
    text = text_of(
        risk_page(risk_of_shop(released=False, before=Side({"halves": figure(share, tries=tries)})))
    )
    assert ("The interval reaches" in text) == (said is not None)
    assert (said or "") in text


def test_every_attack_has_its_figures_control_risk_interval_and_tries():
    page = risk_page(risk_of_shop())
    assert row_of(page, attack_named("halves").title) == [
        "71.0%", "20.0%", "63.7%", "58.8% to 68.2%", "1,000", "33.0%", "25.0%", "10.7%", "3.2% to 17.5%", "1,000",
    ]  # fmt: skip
    assert row_of(page, attack_named("proven_items").title)[:5] == ["-", "-", "-", "", ""]
    assert "<b>63.7%</b>" in page, "it makes the light"
    assert "<b>10.7%</b>" not in page, "two releases make it"


def test_the_assumptions_of_what_was_run_and_the_reasons_for_what_was_not():
    text = text_of(risk_page(risk_of_shop()))
    found = {*before_side().found, *after_side().found}
    for attack in ATTACKS:
        assert (attack.assumes in text) == (attack.name in found), attack.name
    assert (
        "have a sensitive item that is guessed right (before and after): no list of sensitive items was given"
        in text
    )
    assert "have an item that planted accounts read off (after): the method would have to run again" in text


def test_it_says_what_it_is_about_and_that_it_is_private():
    page = risk_page(risk_of_shop())
    text = text_of(page)
    assert "What attackers get from shop<1>.dat" in text
    assert "shop<1>" not in page.partition("<script>")[0], "names are escaped"
    assert "77,512 people; released with method flock, k = 5." in text
    assert "Private, for the owner of the data" in text
    assert "A low figure is a lower bound" in text
    assert "no release" in text_of(risk_page(risk_of_shop(released=False)))


def test_a_log_without_times_has_two_curves():
    found = {name: found for name, found in before_side().found.items() if name != "unicity_recent"}
    page = risk_page(risk_of_shop(released=False, before=Side(found)))
    assert re.findall(r'class="chart" id="(\w+)"', page) == ["random", "rarest"]


def test_no_curve_no_heading():
    page = risk_page(risk_of_shop(released=False, before=Side({})))
    assert "single out?" not in text_of(page).partition("Can something")[2]
    assert "All attacks" not in page
    assert [word for word, _ in words_of(page)] == ["none"] * 3


def test_the_page_is_recognised(tmp_path):
    file = tmp_path / "risk.html"
    file.write_text(risk_page(risk_of_shop()), encoding="utf-8")
    assert is_risk_page(file)
    file.write_text("<p>another", encoding="utf-8")
    assert not is_risk_page(file)
    assert not is_risk_page(tmp_path / "missing")
