"""The page of a release of tiles: what it shows follows from the published file, and a browser draws it without a script."""

from __future__ import annotations

import re

import msgspec
import pytest

from browser import opened
from cli.helpers import call
from incrowd.core.claims import Claim
from incrowd.core.kinds import typed
from incrowd.errors import BadInputError
from incrowd.release.files.heading import read_heading
from incrowd.release.files.telling import drawing_of, risk_of, telling_tiles, tiles_of_kinds
from incrowd.release.files.tiles import Tile
from incrowd.report.graph import draw
from incrowd.report.summary import summary_of
from incrowd.report.use import purposes

HOSTILE = "<script>document.title='taken-over'</script>"
TITLE = "Searches & <b>more</b>"


def tile(text: str, people: int, units: int | None = None) -> Tile:
    return Tile(tuple(sorted((word, word[0] != "^") for word in text.split())), people, units or people)


TILES = [
    tile("ask jeeves", 20, 30),
    tile("ask", 5, 6),
    tile("the", 400, 900),
    tile("the cat", 60, 80),
    tile("cat", 50),
    tile("high reunion school", 9, 10),
    tile("school", 90),
    tile("high", 8),
]


def test_tiles_that_surprise_come_before_frequent_ones():
    found = telling_tiles(TILES, 10)
    assert [one.tile.labels[0][0] for one in found] == ["ask", "high", "cat"]
    assert found[0].share == 2 * 30 / (36 + 30)
    assert telling_tiles(TILES, 1) == found[:1]
    assert telling_tiles([tile("alone", 9)], 5) == []


def test_words_are_shown_with_most_other_kinds_and_once():
    def of_kinds(words: str, people: int, **kinds: str) -> Tile:
        others = [(typed(kind, text.strip("^")), text[0] != "^") for kind, text in kinds.items()]
        return Tile((*tile(words, 1).labels, *sorted(others)), people, people)

    tiles = [
        of_kinds("depot home", 57, url="homedepot.com", week="2006-W10"),
        of_kinds("depot home", 75, url="homedepot.com", week="2006-W13"),
        of_kinds("depot home", 90, url="homedepot.com"),
        of_kinds("buy best", 45, url="bestbuy.com", week="2006-W17"),
        of_kinds("floors", 200, url="floors.com", place="^US"),
        of_kinds("", 900, url="a.com", week="2006-W09", place="US/TX"),
        of_kinds("^drink", 901, week="2006-W10", url="b.com"),
        *TILES,
    ]
    found = [one.in_words for one in tiles_of_kinds(tiles, 10)]
    assert found == [
        "depot, home | homedepot.com | 2006-W13",
        "best, buy | bestbuy.com | 2006-W17",
        "floors | floors.com | \u2039US\u203a",
    ]
    assert [one.people for one in tiles_of_kinds(tiles, 1)] == [75]
    assert tiles_of_kinds(TILES, 10) == tiles_of_kinds([], 10) == []


def test_risk_is_what_the_published_numbers_say():
    risk = risk_of(TILES, 5)
    assert (risk.people_min, risk.at_k, risk.tiles) == (5, 1, 8)
    assert risk.surest == 1.0  # whoever holds jeeves holds ask
    assert risk_of([tile("alone", 9)], 5).surest == 0


def test_boxes_lie_apart_and_within_the_drawing():
    hubs = [tile(f"hub{n} leaf{n}x{m}{'水' * 5 * n}", 50 - m) for n in range(9) for m in range(9)]
    drawing = drawing_of(hubs)
    assert len(drawing.boxes) == 64
    assert len(drawing.lines) == 8 * 7
    for number, one in enumerate(drawing.boxes):
        assert one.x - one.width / 2 + 1 >= 0
        assert one.x + one.width / 2 <= drawing.width + 1
        assert 12 <= one.y <= drawing.height - 12
        for other in drawing.boxes[:number]:
            apart = abs(one.x - other.x) >= (one.width + other.width) / 2 or abs(one.y - other.y) >= 24
            assert apart, (one, other)
    assert drawing_of(list(reversed(hubs))) == drawing
    assert draw([], []).lines == []


def test_a_heading_is_checked_and_nothing_is_found_out():
    assert read_heading(None, None) == (None, None)
    assert read_heading("Über Märkte", "2026-02-28") == ("Über Märkte", "2026-02-28")
    for title in ("", " x", "two\nlines", "x" * 121, "hid\u200bden", "tab\tbed", "\udc80"):
        with pytest.raises(BadInputError, match="title must be one line"):
            read_heading(title, None)
    for date in ("2026-02-30", "26-02-01", "20260201", "today"):
        with pytest.raises(BadInputError, match="date must be a day"):
            read_heading(None, date)


@pytest.mark.parametrize(
    "claim",
    [
        Claim("k-anonymous tiles", 7, "session", distinct="people"),
        Claim("k-anonymous tiles", 7, "user", distinct="people"),
        Claim("k-anonymity", 7, "session"),
        Claim("k-anonymity", 7, "user", speaks_of="class"),
        Claim("k^m-anonymity", 7, "record", m=2),
    ],
)
def test_a_summary_is_short_and_names_k(claim):
    summary = summary_of(claim)
    assert any("7" in line for line in summary.promised)
    assert all(len(line) < 160 for line in summary.published + summary.promised)


def test_where_nothing_is_promised_the_summary_says_so():
    assert summary_of(Claim("none", 5, "user")).promised[0].startswith("Nothing.")


def test_each_purpose_has_a_measure_or_a_no():
    nothing = purposes({}, "No.", people_are_served=False)
    assert not any(one.served for one in nothing)
    use = {
        "items_error": 0.1,
        "pairs_recall": 0.5,
        "pairs_error": 0.2,
        "trend_error": 0.3,
        "clicks_recall": 0.4,
    }
    served = {one.name: one.answer for one in purposes(use, "Yes.", people_are_served=True)}
    assert "10.0%" in served["Counts"]
    assert "50.0%" in served["Pairs"]
    assert served["Trends"].startswith("No: no times")
    assert "30.0%" in served["Trends"]
    assert "40.0%" in served["Clicks"]
    assert served["Whole people"] == "Yes."


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    place = tmp_path_factory.mktemp("page")
    rows = [f"{HOSTILE} ads", "milk bread", "milk bread", "milk", "beer"] * 12
    (place / "secret-customer.dat").write_text("\n".join(rows) + "\n", encoding="utf-8")
    options = (
        "--format",
        "dat",
        "--method",
        "mosaic",
        "--k",
        3,
        "--set",
        "confidence=1",
        "--out",
        place / "out",
        "--date",
        "2026-11-16",
    )
    ran = call("anonymize", place / "secret-customer.dat", *options, "--title", TITLE)
    assert ran.code == 0, ran.err
    return place / "out"


def test_a_browser_draws_the_page_and_runs_nothing(written, tmp_path):
    page = (written / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    dom = opened(page, tmp_path)
    assert "taken-over" not in "".join(re.findall("<title>.*?</title>", dom.partition("<svg")[0]))
    assert len(re.findall("<rect ", dom)) >= 4
    assert "<h1>Searches &amp; &lt;b&gt;more&lt;/b&gt;</h1>" in dom
    assert "2026-11-16" in dom
    assert "secret-customer" not in "".join(
        path.read_bytes().decode(errors="replace") for path in written.iterdir()
    )


def test_the_audit_knows_title_and_date(written):
    assert call("audit", written).code == 0
    said = msgspec.json.decode((written / "manifest.json").read_bytes())
    assert (said["title"], said["date"]) == (TITLE, "2026-11-16")


@pytest.mark.parametrize("option", [("--title", "two\nlines"), ("--date", "yesterday")])
def test_a_bad_heading_is_refused_in_one_line(option, tmp_path):
    (tmp_path / "rows.dat").write_text("a b\n" * 50)
    ran = call("anonymize", tmp_path / "rows.dat", "--k", 3, "--out", tmp_path / "out", *option)
    assert ran.code == 2
    assert "must be" in ran.err.splitlines()[-1]
    assert not (tmp_path / "out").exists()
