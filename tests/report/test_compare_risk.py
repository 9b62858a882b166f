"""Use against risk on the page of a comparison: it comes first, and only where releases were attacked."""

from __future__ import annotations

import re

import pytest
from test_compare_page import KS, result_of, run_of, tiles_of

from browser import drawn_charts, opened
from incrowd.report.compare_charts import chart_rows, charts
from incrowd.report.compare_measures import RISKS, columns_of, flat
from incrowd.report.compare_page import render_comparison
from incrowd.report.compare_risk import risk_chart
from incrowd.report.compare_table import as_text, shown_columns

HOW = {"most": 300, "green": 0.05, "amber": 0.2}
BASE = {"partition": 0.09, "apriori:m=2": 0.3, "suppress": 0.9, "mosaic": 0.0}
SWITCH = """<script>setTimeout(() => {
  const select = document.querySelector("#risk select");
  select.value = "risk_inference";
  select.dispatchEvent(new Event("change", {bubbles: true}));
}, 2500);</script></body>"""


def attacked(runs, risks=tuple(RISKS)):
    """Return runs with risks: singling out falls with k, inference is a third of it."""
    by_name = {"risk_singling_out": 1.0, "risk_linkability": 0.5, "risk_inference": 1 / 3}
    parts = {name: by_name[name] for name in risks}
    return [attacked_run(run, parts) if run["promise"] else run for run in runs]


def attacked_run(run, parts):
    """Return a run with risks, each with an interval from its half to a little more."""
    found = {name: BASE[run["label"]] * part / run["k"] for name, part in parts.items()}
    ends = {name: [value / 2, value + 0.01] for name, value in found.items()}
    return flat(run | found | {"risk_intervals": ends})


def attacked_result(**more):
    result = result_of()
    runs = [*result["runs"], *(tiles_of(k) for k in KS)]
    return {**result, "risk": HOW, "runs": attacked(runs, **more)}


def points_in(inside):
    """Return where points are, from left to right."""
    found = re.findall(r'aria-roledescription="point"[^>]*transform="translate\(([\d.]+),([\d.]+)\)"', inside)
    return sorted((float(x), float(y)) for x, y in found)


def test_the_picture_to_decide_by_comes_first_and_has_a_point_for_every_run(tmp_path):
    page = render_comparison(attacked_result())
    found = drawn_charts(opened(page, tmp_path))
    assert next(iter(found)) == "risk"
    assert page.index('id="risk"') < page.index("Which method for which question")
    points = points_in(found["risk"])
    assert len(points) == 4 * len(KS)
    bars = re.findall('aria-roledescription="rule mark"', found["risk"])
    assert len(bars) == len(points) + 2, "an interval for every point, and where the lights change"
    texts = re.findall("<text[^>]*>([^<]+)</text>", found["risk"])
    for label in BASE:
        assert f"10 {label}" in texts
        assert label in texts, "the legend"
    assert {"amber", "red"} <= set(texts), "where the lights change"
    assert texts.count("2") == 4, "k beside the points"


def test_the_reader_chooses_whose_risk_is_drawn(tmp_path):
    page = render_comparison(attacked_result())
    (tmp_path / "first").mkdir()
    first = points_in(drawn_charts(opened(page, tmp_path / "first"))["risk"])
    page = "".join([page.rpartition("</body>")[0], SWITCH, "</html>"])
    second = points_in(drawn_charts(opened(page, tmp_path))["risk"])
    assert len(first) == len(second)
    zero = first[0][0]
    assert second[-1][0] - zero == pytest.approx((first[-1][0] - zero) / 3**0.5, rel=0.02)


def test_a_comparison_without_attacks_is_as_ever():
    page = render_comparison(result_of())
    assert 'id="risk"' not in page
    assert "lower bound of what attackers" not in page
    assert ">singled out</th>" not in page
    assert risk_chart(chart_rows(result_of()["runs"]), HOW) == {}


def test_risks_stand_in_the_tables():
    result = attacked_result()
    page = render_comparison(result)
    for title in ("singled out", "linked", "inferred"):
        assert f'<th class="number">{title}</th>' in page
    (line,) = re.findall('<tr title="[^"]*"><td>partition</td><td class="number">2</td>.*', page)
    assert '<td class="number">4.5%</td><td class="number">2.2%</td><td class="number">1.5%</td>' in line
    assert set(RISKS) <= set(shown_columns(result["runs"]))
    assert not set(RISKS) & set(shown_columns(result_of()["runs"]))
    text = as_text(result["runs"], 80)
    assert max(map(len, text.splitlines())) <= 80
    assert re.search(r"partition +2 holds .* 4\.5% +2\.2% +1\.5%", text)
    assert "3 known" not in page
    assert set(columns_of(result["runs"])) >= set(RISKS)


def test_the_colours_are_those_of_the_other_charts_and_lights_are_where_they_begin():
    rows = chart_rows(attacked_result()["runs"])
    (spec,) = risk_chart(rows, HOW).values()
    assert spec["encoding"]["color"]["scale"] == charts(rows)["worth"]["encoding"]["color"]["scale"]
    assert [one["at"] for one in spec["layer"][0]["data"]["values"]] == [0.05, 0.2]
    low, high = spec["encoding"]["x"]["scale"]["domain"]
    assert -0.01 < low < 0
    assert 0.45 < high < 0.8


def test_a_light_that_no_run_comes_near_is_not_drawn():
    rows = chart_rows(attacked([run_of("partition", 10)]))
    (spec,) = risk_chart(rows, HOW).values()
    assert not any("data" in layer for layer in spec["layer"])


def test_one_measured_question_is_no_choice():
    rows = chart_rows(attacked_result(risks=["risk_linkability"])["runs"])
    (spec,) = risk_chart(rows, HOW).values()
    assert spec["params"] == [{"name": "asked", "value": "risk"}]
    for end in ("", "_low", "_high"):
        assert all(row[f"risk{end}"] == row[f"risk_linkability{end}"] for row in rows)
