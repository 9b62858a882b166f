"""Access logs: who, when, and what was searched for or looked at."""

from __future__ import annotations

import pytest

from incrowd.errors import BadInputError
from incrowd.logs import format_of, read_log

TIME = "[10/Oct/2000:13:55:36 -0700]"


def rows_of(path, **options):
    with read_log(path, **options) as log:
        rows = log.store.table("SELECT * FROM events ORDER BY ALL").to_pylist()
        return rows, dict(log.rejected)


@pytest.fixture
def log(tmp_path):
    lines = [
        f'::1 - - {TIME} "GET /find?q=dog%20food HTTP/1.1" 200 2326',
        f'10.0.0.1 - ann smith {TIME} "POST /find?x=1&query=caf%C3%A9+au+lait&q= HTTP/1.1" 200 - "http://a/b" "Agent \\"7\\""',
        f'10.0.0.1 - - {TIME} "GET /find?q=dogs#top HTTP/1.1" 200 1 "-" "-"',
        f'10.0.0.2 - - {TIME} "GET /style.css HTTP/1.1" 304 0 "-" "-"',
        f'10.0.0.3 - - {TIME} "\\x16\\x03" 400 0 "-" "-"',
    ]
    path = tmp_path / "access.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_searches(log):
    rows, rejected = rows_of(log)
    assert [(row["user"], row["query"]) for row in rows] == [
        ("10.0.0.1", "café au lait"),
        ("10.0.0.1", "dogs"),
        ("10.0.0.2", ""),
        ("::1", "dog food"),
    ]
    assert {row["time"] for row in rows} == {971211336}
    assert rejected == {"not a line of an access log": 1}


def test_other_fields_can_be_chosen(log):
    rows, rejected = rows_of(log, columns={"user": "login", "query": "path", "url": "referer"})
    assert [(row["user"], row["query"], row["url"]) for row in rows] == [("ann smith", "/find", "http://a/b")]
    assert rejected == {"no user": 3, "not a line of an access log": 1}
    with pytest.raises(BadInputError, match="no column 'agent' for the url"):
        read_log(log, columns={"url": "agent"})


def test_a_line_that_only_looks_alike_is_no_access_log(tmp_path):
    path = tmp_path / "x"
    path.write_text('mirabel - - [today] said "GET lost"\n', encoding="utf-8")
    with pytest.raises(BadInputError, match="no format that incrowd recognises"):
        format_of(path)
