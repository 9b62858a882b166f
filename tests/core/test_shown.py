"""What objects show in a notebook is escaped."""

from __future__ import annotations

from incrowd.core.shown import html_lines, html_table


def test_everything_is_escaped():
    html = html_table("<t>", [("<a>", "<b>")], ["<h>", "&"]) + html_lines(["<l>"])
    for sign in "tabhl":
        assert f"<{sign}>" not in html
        assert f"&lt;{sign}&gt;" in html


def test_without_a_header_the_first_cell_is_a_name():
    assert (
        html_table("t", [("a", 1234)])
        == "<p>t</p><table><tbody><tr><th>a</th><td>1,234</td></tr></tbody></table>"
    )
    assert "<tr><td>a</td>" in html_table("t", [("a", 1)], ["x", "y"])
