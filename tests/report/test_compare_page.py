from __future__ import annotations

import re
from itertools import pairwise
from typing import get_args

import msgspec
import pytest

from browser import drawn_charts, opened
from incrowd.core.claims import Kind
from incrowd.jobs.compare import Run
from incrowd.metrics.use import Use
from incrowd.report.compare_charts import SHAPES, chart_rows, charts
from incrowd.report.compare_choice import choices, in_words, shown_ks
from incrowd.report.compare_measures import flat
from incrowd.report.compare_page import KINDS as PROMISES
from incrowd.report.compare_page import SIGNS, render_comparison
from incrowd.report.line_names import names_beside
from incrowd.report.vega import PALETTES

USE_CHARTS = ("items", "pairs", "pair_counts", "kept")
LOSS_CHARTS = ("ggd", "ncp", "recall", "sdist", "loss", "linkage")
BY_K = (*USE_CHARTS, *LOSS_CHARTS, "time")
CHARTS = ("worth", "trade", *BY_K)
KINDS = {"partition": "k-anonymity", "apriori:m=2": "k^m-anonymity", "suppress": "none"}
KS = (2, 5, 10)
LARGEST = 5_000_000


def run_of(label, k, **values):
    numbers = {
        "ncp": 0.01 * k, "ggd_norm": 0.02 * k, "ic_norm": 0.03 * k, "kept_exactly": 1 / k, "blm": 0.02 * k,
        "use": Use(1 / k, 0.04 * k, 1 / k, 0.05 * k, 1 / k, None, None),
        "avg_length": 3.0, "avg_level": 2.0, "recall": 1 / k, "sdist": 0.5 * k, "information_loss": 9.0 * k, "linkage": 100 / k, "groups": 100, "k_min": k, "people_min": k, "withheld": 0, "seconds": 0.1, "peak_mb": 9.0,
    }  # fmt: skip
    run = Run(
        label=label, method=label.partition(":")[0], parameters={}, k=k, kind=KINDS.get(label, "k-anonymity"), promise="Shared.",
        holds=True, **numbers,
    )  # fmt: skip
    return flat(msgspec.to_builtins(run) | values)


def result_of(labels=tuple(KINDS), ks=KS):
    runs = [run_of(label, k) for label in labels for k in ks]
    nothing = dict.fromkeys(name for name in runs[0] if name not in {"label", "method", "parameters", "kind"})
    runs.append(runs[-1] | nothing | {"k": 999, "error": "k must be at most <9>"})
    return {
        "incrowd": "1.0",
        "data": "shop<1>.dat",
        "records": 1_234,
        "avg_length": 4.6,
        "unit": "user",
        "items": {"kind": "nouns", "listed": 7, "unlisted": 2, "other_case": 0},
        "taxonomy": {"name": "balanced:5", "leaves": 9, "levels": 3},
        "runs": runs,
    }


def curves(points=(0.5, 0.0, 1.0)):
    """Return a comparison of flock at some specificities with Partition; more is kept, and lost, the larger it is."""
    result = result_of(("partition",))
    for point in points:
        label = f"flock:specificity={point}" if point != 0.5 else "flock"
        result["runs"] += [
            run_of(label, k, parameters={"specificity": point})
            | {"kept_exactly": (1 + point) / 3 / k, "ggd_norm": (1 + point) * k / 100}
            for k in KS
        ]
    return result


def lines_in(inside):
    """Return the points that each line of a chart goes through, from left to right as drawn."""
    paths = re.findall(r'aria-roledescription="line mark"[^>]* d="M([^"]*)"', inside)
    return [[tuple(map(float, point.split(","))) for point in path.split("L")] for path in paths]


@pytest.mark.parametrize("labels_and_ks", [(tuple(KINDS), KS), (("partition",), (5,))], ids=["many", "one"])
def test_a_browser_draws_every_chart_and_fetches_nothing(tmp_path, labels_and_ks):
    labels, ks = labels_and_ks
    found = drawn_charts(opened(render_comparison(result_of(labels, ks)), tmp_path))
    assert set(found) == set(CHARTS)
    for name, inside in found.items():
        points = re.findall(r'aria-roledescription="point"[^>]*transform="translate\(([^)]*)\)"', inside)
        assert len(points) == len(labels) * len(ks), name
        assert not any("NaN" in point for point in points), name
        lines = re.findall(r'aria-roledescription="line mark"[^>]* d="M', inside)
        assert len(lines) == len(labels), name
        texts = re.findall("<text[^>]*>([^<]+)</text>", inside)
        for label in labels:
            assert any(text.split()[-1] == label for text in texts), f"{name} names {label}"


def test_the_page_names_no_place_to_fetch_from():
    page = render_comparison(result_of())
    assert len(page.encode()) < LARGEST
    head, _, rest = page.partition("<script>")
    body = head + rest.rpartition("</script>")[2]
    assert not re.search(r"""(src|href|action|url)\s*[=(]""", body)
    assert "default-src 'none'" in head
    specs = rest.rpartition("<script>")[2]
    assert "http" not in specs
    assert "sourceMappingURL" not in page


def test_the_page_tells_what_failed_and_why():
    page = render_comparison(result_of())
    assert "What did not work" in page
    assert '<td class="reason">k must be at most &lt;9&gt;</td>' in page


def test_the_page_says_how_collapsed_copies_count():
    page = render_comparison(result_of())
    assert "Copies that collapse into one cost nothing here" in page
    assert "a copy that collapsed into another, costs 1" in page


def test_the_page_says_what_no_method_can_beat():
    words = "no method can lose less than"
    result = result_of(("partition",), (10, 5))
    assert words not in render_comparison(result)
    for run in result["runs"][:2]:
        run["bound"] = {"ggd_norm": 0.004 * run["k"], "error": 0.0, "rows": 9}
    assert f"{words} 2.0% (k = 5), 4.0% (k = 10), unless it withholds records." in render_comparison(result)
    result["runs"][0]["bound"]["error"] = 0.001
    assert (
        f"{words} 2.0% (k = 5), 4.0% (k = 10), unless it withholds records; from samples"
        in render_comparison(result)
    )


def test_different_promises_are_marked_and_never_ranked():
    several, one = render_comparison(result_of()), render_comparison(result_of(("partition",)))
    words = "must not be ranked against each other"
    assert words in several
    assert words not in one
    marks = charts(chart_rows(result_of()["runs"]))["ggd"]["layer"][-1]["encoding"]["shape"]["scale"]
    kinds = list(dict.fromkeys(KINDS.values()))
    assert marks == {"domain": kinds, "range": [SHAPES[kind] for kind in kinds]}
    assert len(set(SHAPES.values())) == len(SHAPES) == len(get_args(Kind))


def test_ggd_and_ncp_share_one_scale():
    specs = charts(chart_rows(result_of()["runs"]))
    scales = [specs[name]["encoding"]["y"]["scale"] for name in ("ggd", "ncp")]
    assert scales[0] == scales[1] == {"domain": [0, pytest.approx(0.21)]}


def test_a_broken_promise_stands_out():
    result = result_of(("partition",), (2,))
    result["runs"][0] |= {"holds": False, "error": "the audit does not confirm it"}
    page = render_comparison(result)
    assert '<td class="bad">DOES NOT HOLD</td>' in page
    assert "the audit does not confirm it" in page


def test_a_curve_for_each_k_joins_the_specificities_of_one_method(tmp_path):
    trade = drawn_charts(opened(render_comparison(curves()), tmp_path))["trade"]
    assert len(re.findall('aria-roledescription="point"', trade)) == 4 * len(KS)
    lines = lines_in(trade)
    assert len(lines) == 1 + len(KS), "Partition by k, and flock at each k"
    for line in lines[-len(KS) :]:
        assert len(line) == 3
        assert line == sorted(line), "from the least specificity to the largest: ever more is kept"
    texts = re.findall("<text[^>]*>([^<]+)</text>", trade)
    for k in KS:
        assert texts.count(f"{k}, s = 0") == 1
    assert texts.count("s = 1") == len(KS) - 1
    assert [text for text in texts if text in {"partition", "flock"}] == ["partition", "flock"], "the legend"
    assert texts.count("s = 1, flock") == 1, "the name, once"


def test_a_point_tells_its_specificity():
    rows = chart_rows(curves()["runs"])
    tips = charts(rows)["trade"]["layer"][-1]["encoding"]["tooltip"]
    assert {"field": "specificity", "title": "specificity"} in tips
    assert [row["specificity"] for row in rows] == ["none"] * 3 + ["0.5"] * 3 + ["0"] * 3 + ["1"] * 3
    plain = charts(chart_rows(result_of()["runs"]))["trade"]["layer"][-1]["encoding"]["tooltip"]
    assert "specificity" not in [tip["field"] for tip in plain]


def test_a_method_has_one_colour_on_all_charts():
    result = curves()
    result["runs"] += [tiles_of(k) for k in KS]
    specs = charts(chart_rows(result["runs"]))
    domains = [spec["encoding"]["color"]["scale"]["domain"] for spec in specs.values()]
    assert set(specs) == set(CHARTS)
    assert all(domain == ["partition", "flock", "mosaic"] for domain in domains)
    fields = {spec["encoding"]["color"]["field"] for spec in specs.values()}
    assert fields == {"family"}, "all specificities of one method have its colour"


def test_the_colours_are_told_apart_by_colour_blind_people():
    """Okabe and Ito's hues, the first three as they are."""
    assert PALETTES["light"][:3] == ["#0072b2", "#d55e00", "#009e73"]
    assert len(set(PALETTES["light"])) == len(PALETTES["light"]) == len(PALETTES["dark"]) == 8


def test_other_parameters_make_another_curve():
    runs = [
        run_of(label, 5, parameters={"specificity": point, "rounds": rounds})
        for label, point, rounds in (
            ("flock:specificity=0", 0.0, 3),
            ("flock:specificity=1", 1.0, 3),
            ("flock:rounds=9;specificity=0", 0.0, 9),
            ("flock:specificity=1;rounds=9", 1.0, 9),
        )
    ]
    lines = [row["line"] for row in chart_rows(runs)]
    assert lines == ["flock, k = 5"] * 2 + ["flock:rounds=9, k = 5"] * 2


def test_one_specificity_is_no_curve():
    page = render_comparison(curves((1.0,)))
    assert "by its specificity" not in page
    assert "by its specificity" in render_comparison(curves())
    rows = chart_rows(curves((1.0,))["runs"])
    assert {row["family"] for row in rows} == {"partition", "flock:specificity=1.0"}
    assert [row["right"] for row in rows] == ["2", "5", "10 partition", "2", "5", "10 flock:specificity=1.0"]


def test_points_of_a_method_that_stand_together_share_one_name():
    def points(*places):
        return [
            {"line": "mosaic", "k": k, "right": name, "x": x, "y": y}
            for (k, name), (x, y) in zip([(2, "2"), (5, "5"), (10, "10 mosaic")], places, strict=True)
        ]

    def names(*places):
        return [row["right"] for row in names_beside(points(*places), ("x", (0, 1)), ("y", (0, 1)))]

    assert names((0.1, 0.1), (0.5, 0.1), (0.1, 0.9)) == ["2", "5", "10 mosaic"]
    assert names((0.1, 0.1), (0.5, 0.5), (0.502, 0.5)) == ["2", "", "5, 10 mosaic"]
    assert names((0.5, 0.5), (0.501, 0.5), (0.502, 0.51)) == ["", "", "2, 5, 10 mosaic"]
    assert names((0.5, 0.5), (0.5, 0.6), (0.5, 0.7)) == ["2", "5", "10 mosaic"]  # one above the other


def with_noise(result):
    """Add a run of a method that has no k."""
    noisy = run_of("korolova", 2) | {
        "k": None,
        "kind": "differential privacy",
        "private": True,
        "holds": None,
    }
    result["runs"] = [*result["runs"], noisy]
    return result


def test_a_run_without_k_is_in_the_table_and_marked_private():
    page = render_comparison(with_noise(result_of(("partition",))))
    assert '<td>korolova</td><td class="number">-</td><td class="soft">cannot be recounted</td>' in page
    assert page.count("for the owner only") == 1


def test_a_run_without_k_is_in_no_chart_by_k(tmp_path):
    result = with_noise(result_of(("partition",)))
    specs = charts(chart_rows(result["runs"]))
    assert {name for name, spec in specs.items() if spec["encoding"]["x"]["field"] != "k"} == {
        "worth",
        "trade",
    }
    assert specs["ggd"]["encoding"]["x"]["axis"]["values"] == list(KS)
    page = render_comparison(result)
    found = drawn_charts(opened(page, tmp_path))
    assert set(found) == set(CHARTS)
    points = {name: len(re.findall('aria-roledescription="point"', inside)) for name, inside in found.items()}
    assert points == dict.fromkeys(BY_K, len(KS)) | dict.fromkeys(("worth", "trade"), len(KS) + 1)


def test_a_page_without_any_k_has_no_charts_by_k(tmp_path):
    result = with_noise(result_of(("partition",)))
    result["runs"] = result["runs"][-1:]
    page = render_comparison(result)
    assert "by k</h2>" not in page
    assert set(charts(chart_rows(result["runs"]))) == {"worth", "trade"}
    assert set(drawn_charts(opened(page, tmp_path))) == {"worth", "trade"}


def tiles_of(k, **values):
    """Return a run of tiles, which have no losses."""
    lacking = ("ncp", "ggd_norm", "ic_norm", "kept_exactly", "blm", "avg_length", "avg_level")
    lacking += ("recall", "sdist", "information_loss", "linkage")
    use = Use(0.99, 0.01 * k, 0.9, 0.02 * k, 0.1, None, None)
    run = run_of("mosaic", k) | dict.fromkeys(lacking) | {"kind": "k-anonymous tiles"}
    return flat(run | {"use": msgspec.to_builtins(use)} | values)


def test_every_promise_is_described_and_has_a_sign():
    assert set(PROMISES) == set(SIGNS) == set(get_args(Kind))


def test_tiles_are_compared_by_what_they_have(tmp_path):
    result = result_of(("partition",))
    result["runs"] = [*(tiles_of(k) for k in KS), *result["runs"]]
    page = render_comparison(result)
    found = drawn_charts(opened(page, tmp_path))
    points = {name: len(re.findall('aria-roledescription="point"', inside)) for name, inside in found.items()}
    both = dict.fromkeys(("worth", "time", *USE_CHARTS), 2 * len(KS))
    assert points == both | dict.fromkeys(("trade", *LOSS_CHARTS), len(KS))
    (line,) = re.findall('<tr title="[^"]*"><td>mosaic</td><td class="number">2</td>.*', page)
    assert '<td class="number"></td>' in line, "a loss that has no meaning is an empty cell"


def test_a_page_of_tiles_alone_has_no_empty_places(tmp_path):
    result = result_of(("partition",))
    result["runs"] = [tiles_of(k) for k in KS]
    page = render_comparison(result)
    assert set(drawn_charts(opened(page, tmp_path))) == {"worth", "time", *USE_CHARTS}
    assert "What records lose" not in page
    assert '<th class="number">loss (GGD)</th>' not in page, "a column without numbers"
    assert '<th class="number">weekly counts off</th>' not in page


def test_the_page_decides_which_method_for_which_question():
    result = result_of()
    result["runs"] += [tiles_of(k) for k in KS]
    page = render_comparison(result)
    assert "Which method for which question" in page
    words = "Best at k = 5: mosaic for counts of items, frequent pairs, counts of pairs and items as themselves; partition for whole people."
    assert words in page
    table = page[page.index("Which method for which question") : page.index("These methods promise")]
    assert "suppress" not in table, "what promises nothing is no choice"
    for k in KS:
        assert f"<th>k = {k}</th>" in table


def test_the_best_of_each_promise_is_told_the_best_first():
    runs = [run_of(label, 5) for label in KINDS] + [tiles_of(5)]
    by_measure = {choice.question.measure: choice.answers for choice in choices(runs)}
    ((first, second, third),) = by_measure["use_items_error"]
    assert [(answer.label, answer.published) for answer in (first, second, third)] == [
        ("mosaic", "tiles"),
        ("partition", "whole records"),
        ("apriori:m=2", "records, m known"),
    ]
    assert (first.figure, first.verdict) == ("off by 5.0%", "good")
    ((whole, _),) = by_measure["ggd_norm"]
    assert whole == ("partition", "whole records", "10.0% of detail lost", "good")
    ((best, _, _),) = by_measure["use_kept_exactly"]
    assert best.figure == "99.0% kept"
    assert "use_trend_error" not in by_measure, "nobody measured it"


def test_runs_that_failed_or_broke_their_promise_are_no_choice():
    broken, failed = tiles_of(5, holds=False), tiles_of(5, promise=None)
    runs = [broken, failed, run_of("partition", 5)]
    assert in_words(runs).startswith("Best at k = 5: partition for counts of items")
    assert in_words([broken, failed]) == ""
    assert choices([broken]) == []
    assert "Which method for which question" not in render_comparison({**result_of(), "runs": [broken]})


def test_a_method_without_k_is_a_choice_at_every_k():
    runs = with_noise(result_of(("partition",)))["runs"]
    (answers, *_) = [choice.answers for choice in choices(runs)]
    assert all("korolova" in [answer.label for answer in some] for some in answers)


def test_of_many_k_three_are_decided_on():
    assert shown_ks([run_of("partition", k) for k in (2, 3, 4, 5)]) == [2, 3, 4, 5]
    assert shown_ks([run_of("partition", k) for k in (2, 3, 4, 5, 6, 7)]) == [2, 5, 7]
    assert shown_ks([]) == [None]


def test_the_page_names_the_data():
    page = render_comparison(result_of())
    assert "<h1>Methods compared on shop&lt;1&gt;.dat</h1>" in page
    assert "<title>incrowd: methods compared on shop&lt;1&gt;.dat</title>" in page


def test_names_at_the_ends_of_lines_do_not_cover_each_other():
    runs = [run_of(f"method{i}", k) for i in range(8) for k in KS]
    spec = charts(chart_rows(runs))["items"]
    high = spec["encoding"]["y"]["scale"]["domain"][1]
    (names,) = [layer["data"]["values"] for layer in spec["layer"] if "data" in layer]
    places = sorted(260 * name["use_items_error"] / high for name in names)
    assert len(places) == 8
    assert all(second - first > 12.9 for first, second in pairwise(places))
    assert places[-1] <= 260


def test_the_page_names_the_input():
    assert "unit user, items nouns, taxonomy balanced:5 (9 leaves, 3 levels)" in render_comparison(
        result_of()
    )


def test_a_list_has_no_whole_people():
    runs = with_noise(result_of(("partition",)))["runs"]
    (whole,) = [choice.answers for choice in choices(runs) if choice.question.short == "whole people"]
    assert [[answer.label for answer in some] for some in whole] == [["partition"]] * len(KS)
