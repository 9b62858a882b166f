from __future__ import annotations

import re
from typing import get_args

import pytest

from browser import drawn_charts, opened
from incrowd.claims import Kind
from incrowd.comparison import Run
from incrowd.report.compare_charts import CHARTS, SHAPES, chart_rows, charts
from incrowd.report.compare_page import render_comparison

KINDS = {"partition": "k-anonymity", "apriori:m=2": "k^m-anonymity", "suppress": "none"}
KS = (2, 5, 10)
LARGEST = 5_000_000


def run_of(label, k, **values):
    numbers = {
        "ncp": 0.01 * k, "ggd_norm": 0.02 * k, "ic_norm": 0.03 * k, "kept_exactly": 1 / k, "blm": 0.02 * k,
        "avg_length": 3.0, "avg_level": 2.0, "recall": 1 / k, "sdist": 0.5 * k, "information_loss": 9.0 * k, "linkage": 100 / k, "groups": 100, "k_min": k, "people_min": k, "withheld": 0, "seconds": 0.1, "peak_mb": 9.0,
    }  # fmt: skip
    run = Run(
        label=label, method=label.partition(":")[0], parameters={}, k=k, kind=KINDS[label], promise="Shared.",
        holds=True, **numbers,
    )  # fmt: skip
    return {name: getattr(run, name) for name in run.__struct_fields__} | values


def result_of(labels=tuple(KINDS), ks=KS):
    runs = [run_of(label, k) for label in labels for k in ks]
    nothing = dict.fromkeys(name for name in runs[0] if name not in {"label", "method", "parameters", "kind"})
    runs.append(runs[-1] | nothing | {"k": 999, "error": "k must be at most <9>"})
    return {
        "incrowd": "1.0",
        "records": 1_234,
        "avg_length": 4.6,
        "taxonomy": {"name": "balanced:5", "leaves": 9, "levels": 3},
        "runs": runs,
    }


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


def test_the_page_says_what_each_measure_forgives():
    page = render_comparison(result_of())
    assert "does not charge for copies that collapse into one" in page
    assert "It forgives nothing" in page


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
