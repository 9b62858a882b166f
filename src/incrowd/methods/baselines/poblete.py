"""Removes queries with few documents or with a named target, then queries that share clicks with others.

Poblete, Spiliopoulou & Baeza-Yates, "Privacy-preserving query log mining for business confidentiality protection", ACM
Transactions on the Web 2010, as Batet et al. (Information Sciences 2013, section 2) describe it. Without a search
engine, the distinct addresses that any user clicked after a query stand for the documents it returns, which are far
fewer than an engine returns.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.events import QueryEvents
from incrowd.core.types import Bools, Ints32, Ints64
from incrowd.errors import check_count
from incrowd.methods.baselines import Bags, bags_of, hosts_of

__all__ = ["Survivors", "check_poblete", "poblete"]


class Survivors(NamedTuple):
    """The queries (positions in the texts) that are kept, and how many were removed for which reason first."""

    stays: Bools
    few_documents: int
    well_targeted: int
    few_sites: int
    linked: int


def poblete(events: QueryEvents, *, k_documents: int, kp: int) -> Survivors:
    """Remove vulnerable queries, then queries that share clicks with others.

    Parameters
    ----------
    events
        The query events with their clicks.
    k_documents
        The least number of distinct clicked addresses of a query.
    kp
        The least number of distinct sites of these addresses.
    """
    check_poblete(k_documents=k_documents, kp=kp)
    documents = _clicked(events)
    query = np.repeat(np.arange(len(events.texts), dtype=np.int32), np.diff(documents.start))
    hosts = hosts_of(events.sites)
    few = np.diff(documents.start) < k_documents
    named = ~few & _names_its_target(events.texts, hosts, query, documents.query)
    narrow = ~few & ~named & (_sites_of(hosts, query, documents.query, len(events.texts)) < kp)
    stays = ~(few | named | narrow)
    links = _linking(documents, stays)
    stays[links] = False
    return Survivors(stays, int(few.sum()), int(named.sum()), int(narrow.sum()), len(links))


def check_poblete(*, kp: int, k_documents: int = 1, **_: object) -> None:
    """Refuse parameters out of range."""
    check_count("k_documents", k_documents)
    check_count("kp", kp)


def _clicked(events: QueryEvents) -> Bags:
    """Return the distinct addresses clicked after each query; a bag's entries are addresses here."""
    query = np.repeat(events.query, np.diff(events.clicks))
    return bags_of(query, events.site, 1, len(events.texts))


def _names_its_target(texts: pa.Array, hosts: pa.Array, query: Ints32, site: Ints32) -> Bools:
    """Return which queries contain the words of a clicked address's host, one after another."""
    said, named = _spaced(texts.take(pa.array(query))), _spaced(hosts.take(pa.array(site)))
    pairs = zip(said.to_pylist(), named.to_pylist(), strict=True)
    hit = np.fromiter((name.strip() != "" and name in text for text, name in pairs), np.bool_, len(query))
    found = np.zeros(len(texts), dtype=np.bool_)
    found[query[hit]] = True
    return found


def _spaced(texts: pa.Array) -> pa.Array:
    """Return texts with one blank on either side of each word, so that only whole words match."""
    framed = pc.binary_join_element_wise("", texts.cast(pa.string()), "", " ")
    return pc.replace_substring_regex(framed, r"[^\pL\pN]+", " ")


def _sites_of(hosts: pa.Array, query: Ints32, site: Ints32, queries: int) -> Ints64:
    """Count the distinct sites clicked after each query."""
    code = np.asarray(pc.dictionary_encode(hosts).indices, dtype=np.int32)
    return np.diff(bags_of(query, code[site], 1, queries).start)


def _linking(documents: Bags, alive: Bools) -> list[int]:
    """Remove queries until no two share an address: the one with most links first, of equals the first by text.

    Two queries are linked once for each address they share, so a query's links are ``others`` added up over its
    addresses. Each query is in the heap of its most shared address, ordered by its links at other addresses, because all
    queries of one address lose a link there at the same time. One more heap holds the tops of all. Numbers only
    fall, so outdated entries are found when they come up.
    """
    own = {
        int(q): documents.query[documents.start[q] : documents.start[q + 1]].tolist()
        for q in np.flatnonzero(alive & (np.diff(documents.start) > 0))
    }
    visited = np.concatenate([np.array(at, dtype=np.int64) for at in own.values()] or [np.zeros(0, np.int64)])
    others = (np.bincount(visited) - 1).tolist()
    waiting: dict[int, list[tuple[int, int]]] = {}
    for q, addresses in own.items():
        hottest = max(addresses, key=lambda at: (others[at], -at))
        waiting.setdefault(hottest, []).append((-_elsewhere(addresses, hottest, others), q))
    for heap in waiting.values():
        heapq.heapify(heap)
    return _removals(own, others, waiting)


def _removals(
    own: dict[int, list[int]], others: list[int], waiting: dict[int, list[tuple[int, int]]]
) -> list[int]:
    """Remove the most linked query until no link is left; see `_linking`."""
    tops = [(heap[0][0] - others[at], heap[0][1], at) for at, heap in waiting.items()]
    heapq.heapify(tops)
    removed: list[int] = []
    while tops and tops[0][0] < 0:
        shown = tops[0]
        at = shown[2]
        rest, q = _refreshed(waiting[at], own, others, at)
        if (rest - others[at], q, at) != shown:
            heapq.heapreplace(tops, (rest - others[at], q, at))
            continue
        removed.append(q)
        for address in own[q]:
            others[address] -= 1
        heapq.heappop(waiting[at])
        heapq.heappop(tops)
        if waiting[at]:
            rest, q = _refreshed(waiting[at], own, others, at)
            heapq.heappush(tops, (rest - others[at], q, at))
    return removed


def _refreshed(
    heap: list[tuple[int, int]], own: dict[int, list[int]], others: list[int], at: int
) -> tuple[int, int]:
    """Bring a heap's top up to date, and return it."""
    while True:
        rest, q = heap[0]
        now = -_elsewhere(own[q], at, others)
        if now == rest:
            return heap[0]
        heapq.heapreplace(heap, (now, q))


def _elsewhere(addresses: list[int], hottest: int, others: list[int]) -> int:
    """Count a query's links over all its addresses but one."""
    return sum(others[at] for at in addresses if at != hottest)
