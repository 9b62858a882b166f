"""Removal of vulnerable and linked queries, against a search that looks at everything again each time."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.core.events import QueryEvents
from incrowd.errors import BadInputError
from incrowd.methods.baselines.poblete import Survivors, poblete

Asking = tuple[int, str, list[str]]  # time, query, clicked addresses


def log_of(rows: list[list[Asking]]) -> QueryEvents:
    """Return a log as the product holds it."""
    rows = [sorted(row, key=lambda asking: asking[:2]) for row in rows]
    flat = [asking for row in rows for asking in row]
    texts = sorted({query for _, query, _ in flat})
    sites = sorted({site for *_, clicked in flat for site in clicked})
    text_of = {text: i for i, text in enumerate(texts)}
    site_of = {site: i for i, site in enumerate(sites)}
    clicks = [sorted({site_of[site] for site in clicked}) for *_, clicked in flat]
    return QueryEvents(
        start=np.cumsum([0, *map(len, rows)]),
        query=np.array([text_of[query] for _, query, _ in flat], dtype=np.int32),
        time=np.array([when for when, *_ in flat], dtype=np.int64),
        clicks=np.cumsum([0, *map(len, clicks)]),
        site=np.array([site for own in clicks for site in own], dtype=np.int32),
        texts=pa.array(texts, pa.string()),
        sites=pa.array(sites, pa.string()),
        concept_start=np.zeros(len(texts) + 1, dtype=np.int64),
        concept=np.zeros(0, dtype=np.int32),
    )


def staying(found: Survivors, events: QueryEvents) -> set[str]:
    return set(events.texts.filter(pa.array(found.stays)).to_pylist())


def unlinked(clicked: dict[str, set[str]]) -> set[str]:
    """Remove the query with the most links, counted anew each time, until none has any."""
    left = dict(clicked)
    while True:
        visits = Counter(site for sites in left.values() for site in sites)
        links = {query: sum(visits[site] - 1 for site in sites) for query, sites in left.items()}
        worst = min(left, key=lambda query: (-links[query], query), default=None)
        if worst is None or links[worst] == 0:
            return set(left)
        del left[worst]


clicks = st.lists(st.sampled_from([f"http://s{i % 5}.org/{i}" for i in range(9)]), max_size=4)
events = st.tuples(st.integers(0, 3), st.sampled_from([f"q{i}" for i in range(12)]), clicks)


@given(st.lists(st.lists(events, max_size=6), min_size=1, max_size=5), st.integers(1, 3), st.integers(1, 3))
def test_what_stays_is_what_the_slow_search_leaves(rows, k_documents, kp):
    events = log_of(rows)
    clicked: dict[str, set[str]] = {text: set() for text in events.texts.to_pylist()}
    for _, query, sites in (asking for row in rows for asking in row):
        clicked[query] |= set(sites)
    wide = {
        query: sites
        for query, sites in clicked.items()
        if len(sites) >= k_documents and len({site.split("/")[2] for site in sites}) >= kp
    }
    found = poblete(events, k_documents=k_documents, kp=kp)
    assert staying(found, events) == unlinked(wide)
    assert found.few_documents == sum(len(sites) < k_documents for sites in clicked.values())
    assert found.few_documents + found.few_sites == len(clicked) - len(wide)
    assert found.linked == len(wide) - int(found.stays.sum())


@given(st.lists(st.sets(st.integers(0, 12), min_size=1, max_size=5), min_size=1, max_size=25))
def test_the_order_of_removal_is_that_of_the_slow_search_on_dense_graphs(lists):
    rows = [[(0, f"q{i:02d}", [f"http://{site}.org" for site in own])] for i, own in enumerate(lists)]
    events = log_of(rows)
    found = poblete(events, k_documents=1, kp=1)
    clicked = {query: set(sites) for row in rows for _, query, sites in row}
    assert staying(found, events) == unlinked(clicked)


@pytest.mark.parametrize(
    ("query", "targeted"),
    [
        ("www.example.com", True),
        ("example.com prices", True),
        ("http://example.com/shop", True),
        ("example com", True),
        ("example", False),
        ("myexample.com", False),
        ("example.community", False),
    ],
)
def test_a_query_that_names_its_site_is_removed(query, targeted):
    events = log_of([[(0, query, ["http://www.example.com/shop"])]])
    found = poblete(events, k_documents=1, kp=1)
    assert found.well_targeted == targeted
    assert found.stays.tolist() == [not targeted]


def test_clicks_of_all_people_stand_for_what_a_query_returns():
    rows = [[(0, "a", ["http://x.org"])], [(0, "a", ["http://y.org"])], [(0, "b", [])]]
    assert staying(poblete(log_of(rows), k_documents=2, kp=2), log_of(rows)) == {"a"}


def test_an_address_that_everybody_clicked_takes_no_quadratic_time():
    many = 20_000
    rows = [[(0, f"q{i}", ["http://hot.org", f"http://{i % 100}.org"][: 1 + i % 2]) for i in range(many)]]
    events = log_of(rows)
    began = time.process_time()
    found = poblete(events, k_documents=1, kp=1)
    # All pairs would be 200 million; this takes about a second of the processor's time.
    assert time.process_time() - began < 15
    assert found.stays.sum() == 1


@pytest.mark.parametrize("wrong", [{"k_documents": 0}, {"kp": 0}, {"kp": -3}])
def test_parameters_out_of_range_get_one_line(wrong):
    (name, value), *_ = wrong.items()
    with pytest.raises(BadInputError) as caught:
        poblete(log_of([[]]), **({"k_documents": 1, "kp": 1} | wrong))
    assert str(caught.value) == f"{name} must be at least 1 (got {value})"
