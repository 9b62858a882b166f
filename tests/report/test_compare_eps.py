"""The charts of use by eps: a line for each method of differential privacy, and one across for each other run."""

from __future__ import annotations

from test_compare_page import result_of, run_of

from incrowd.report.compare_charts import chart_rows, charts
from incrowd.report.compare_eps import eps_charts
from incrowd.report.compare_page import render_comparison

DP = "differential privacy"
ALL_EPS = (0.5, 1.0, 3.0)


def noisy(label, eps, error):
    values = {"kind": DP, "parameters": {"eps": eps, "d": 5}, "holds": None, "private": True, "k": None}
    return run_of(label, 2) | values | {"use_items_error": error}


def runs():
    made = [run_of("mosaic", k) | {"kind": "k-anonymous tiles"} for k in (5, 10)]
    made += [noisy(f"dp:eps={eps:g}", eps, 0.9 / (1 + eps)) for eps in ALL_EPS]
    return made + [noisy(f"korolova:d=3;eps={eps:g}", eps, 1 / (1 + eps)) for eps in ALL_EPS]


def test_methods_are_lines_along_eps_and_others_go_across():
    rows = chart_rows(runs())
    assert [row["family"] for row in rows][2:] == ["dp"] * 3 + ["korolova:d=3"] * 3
    assert [row["eps"] for row in rows] == [None] * 2 + [*ALL_EPS] * 2
    specs = eps_charts(rows)
    assert list(specs) == ["eps_items", "eps_pairs"]
    spec = specs["eps_items"]
    across, line, names, points = spec["layer"]
    assert spec["encoding"]["x"]["field"] == "eps"
    assert [(row["label"], row["eps"], row["use_items_error"]) for row in across["data"]["values"]] == [
        ("mosaic, k = 5", 0.5, 0.2), ("mosaic, k = 5", 3.0, 0.2), ("mosaic, k = 10", 0.5, 0.4), ("mosaic, k = 10", 3.0, 0.4),
    ]  # fmt: skip
    assert line["encoding"]["detail"] == {"field": "family"}
    assert {row["label"] for row in names["data"]["values"]} == {
        "mosaic, k = 5",
        "mosaic, k = 10",
        "dp",
        "korolova:d=3",
    }
    assert {"field": "eps", "title": "eps"} in points["encoding"]["tooltip"]


def test_a_method_with_several_eps_has_one_colour_and_is_joined_along_them():
    rows = chart_rows(runs())
    assert [(row["left"], row["right"]) for row in rows if row["family"] == "dp"] == [
        ("eps = 0.5", ""), ("", ""), ("", "eps = 3, dp"),
    ]  # fmt: skip
    assert charts(rows)["worth"]["encoding"]["color"]["scale"]["domain"] == ["mosaic", "dp", "korolova:d=3"]


def test_one_eps_makes_no_chart():
    assert eps_charts(chart_rows([run for run in runs() if run["parameters"].get("eps") != 3.0][:3])) == {}
    assert eps_charts(chart_rows([run_of("mosaic", 5)])) == {}


def test_the_page_has_a_section_for_them():
    page = render_comparison(result_of(("partition",)) | {"runs": runs()})
    assert "What eps costs" in page
    assert "by its specificity" not in page
    assert "What eps costs" not in render_comparison(result_of())
