"""Everything that sharing search data takes, together: profile, kinds, window, series, list of words, certificate, audit, tables."""

from __future__ import annotations

import re

import pyarrow.parquet as pq
import pytest

from cli.helpers import call, refused

HEADER = "User\tQuery\tTime\tURL\tPlace"
PAGES = ("homedepot.com/floors", "classmates.com", "nasa.gov/moon")
QUERIES = ("hardwood floors", "high school", "forbidden moon")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log of sixteen days, in which 120 people look for three things in two towns; some words are on a list."""
    path = tmp_path_factory.mktemp("sharing") / "log.tsv"
    lines = [HEADER]
    for person in range(120):
        for day in range(1, 17):
            topic = (person + day) % 3
            place = "US/TX/Austin" if person % 2 else "US/TX/Dallas"
            at = f"2006-03-{day:02} {8 + person % 12:02}:{person % 60:02}:00"
            lines.append(f"p{person}\t{QUERIES[topic]}\t{at}\thttp://{PAGES[topic]}\t{place}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def made(log, tmp_path_factory):
    where = tmp_path_factory.mktemp("made")
    (where / "never.txt").write_text("# not for others\nforbidden\nnasa\n", encoding="utf-8")
    options = ("--profile", "search-sharing", "--never", where / "never.txt", "--series", where / "series")
    for day in (2, 15):
        ran = call(
            "anonymize", log, "--out", where / f"day-{day}", *options, "--window", f"2006-03-{day:02}..2006-03-{day:02}",
            "--private-map", where / f"map-{day}", "--json",
        )  # fmt: skip
        assert ran.code == 0, ran.err
    return where


def test_it_is_audited_with_everything_that_it_was_made_from(made, log):
    for day in (2, 15):
        ran = call(
            "audit", made / f"day-{day}", "--original", log, "--private-map", made / f"map-{day}", "--json"
        )
        assert ran.code == 0, ran.out
    assert call("audit", "--series", made / "series", "--json").code == 0


def test_a_word_of_the_list_is_in_no_kind(made):
    rows = pq.read_table(made / "day-15/tiles.parquet").to_pylist()
    texts = {text for row in rows for kind in ("items", "url", "place") for text in row[kind]}
    assert {"hardwood", "classmates.com", "moon", "US/TX/Austin"} <= texts
    assert not {text for text in texts if "forbidden" in text or "nasa" in text}
    assert all(row["people"] >= (50 if row["place"] else 10) for row in rows)


def test_the_certificate_names_the_window_and_the_hashes(made):
    page = (made / "day-15.certificate.html").read_text(encoding="utf-8")
    assert "2006-03-15T00:00:00Z" in page
    assert len(set(re.findall(r"\b[0-9a-f]{64}\b", page))) >= 4
    dictionary = (made / "day-15.dictionary.html").read_text(encoding="utf-8")
    assert all(f"{kind}_exact" in dictionary for kind in ("url", "week", "place"))


def test_an_overlapping_window_is_refused(made, log):
    ran = call(
        "anonymize", log, "--out", made / "again", "--profile", "search-sharing", "--series", made / "series", "--window", "2006-03-10..2006-03-16",
    )  # fmt: skip
    assert "overlaps 'day-15'" in refused(ran)
    assert not (made / "again").exists()


def test_tables_of_a_shared_release(made):
    assert call("tables", made / "day-15", "--out", made / "tables").code == 0
    pairs = pq.read_table(made / "tables/item_url.parquet").to_pylist()
    assert any(row["url"] == "classmates.com" and row["joint"] > 0 for row in pairs)
    assert (made / "tables/trends.parquet").exists()
