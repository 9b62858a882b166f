"""Distances of rows by the spelling, time and clicks of their queries.

Navarro-Arribas, Torra, Erola & Castellà-Roca, "User k-anonymity for privacy preserving data mining of query logs",
Information Processing and Management 2012.

The distance of two query events is the mean of five distances, each from 0 to 1: time, clicked domain, edits of
letters, edits of terms, and length. All pairs of events count, so lower bounds from bit masks are used to compare as
few pairs as possible in full. They never change the result.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.events import QueryEvents
from incrowd.core.ragged import list_ids
from incrowd.core.types import Bools, Floats, Ints32, Ints64, Words64
from incrowd.kernels.bits import ones
from incrowd.kernels.jit import helper, kernel
from incrowd.methods.baselines import Bags, bags_of, events_by_cluster, hosts_of, ranks_within

__all__ = ["navarro_distances", "navarro_prototypes"]


PARTS = 5.0  # the distances that are averaged
ROWS_A_TASK = 8
WORD = 64
CLASSES, REPEATS = 42, 3  # letters of a mask: 42 kinds, each up to three times, are 126 bits of two words
FIRST_BIT, ALL_BITS, NO_BIT = np.uint64(1), np.uint64(2**64 - 1), np.uint64(0)


class Lists(NamedTuple):
    """Lists of numbers: list i is ``item[start[i]:start[i + 1]]``."""

    start: Ints64
    item: Ints32


class Span(NamedTuple):
    """One list of them: from `first` to before `stop`."""

    first: int
    stop: int


class Texts(NamedTuple):
    """The distinct queries: their letters and terms, how many of each, and bit masks of both."""

    letters: Lists
    terms: Lists
    letter_count: Ints64
    term_count: Ints64
    low: Words64
    high: Words64
    term_mask: Words64
    hidden_terms: Ints64  # terms of a text that share their bit with another one of it


class EventRows(NamedTuple):
    """The query events of each row, by text: time from 0 to 1, text, sites clicked and a mask of them."""

    start: Ints64
    time: Floats
    text: Ints32
    sites: Lists
    site_mask: Words64


class Workspace(NamedTuple):
    """Spelling distances found so far: a lower bound for each text, whether it is exact, and working arrays."""

    spelt: Floats
    exact: Bools
    bound: Floats
    places: Words64
    line: Ints64


def navarro_distances(events: QueryEvents) -> Floats:
    """Return the distances of rows: each event's distance to the other row's nearest event, averaged over both rows.

    Rows without events are at distance 0 from each other and at distance 1 from all others.
    """
    rows = len(events.start) - 1
    apart = np.zeros((rows, rows))
    if len(events) == 0:
        return apart
    texts, compared = _texts(events.texts), _event_rows(events)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        tasks = [
            threads.submit(_one_way, first, min(first + ROWS_A_TASK, rows), texts, compared, apart)
            for first in range(0, rows, ROWS_A_TASK)
        ]
        for task in tasks:
            task.result()
    many = np.diff(events.start)
    for row in range(rows):  # both directions at once, row by row
        both = (apart[row, row:] + apart[row:, row]) / (PARTS * np.maximum(many[row] + many[row:], 1))
        apart[row, row:] = apart[row:, row] = both
    return apart


def navarro_prototypes(events: QueryEvents, of_row: Ints32, rng: np.random.Generator) -> Bags:
    """Return one log for each cluster, in which queries are as frequent as in the cluster.

    A cluster's query events are sorted by query, and every s-th is taken from a random start, where s is the number of
    its rows: a query with n events is published n / s times, rounded up or down at random.

    Parameters
    ----------
    events
        The query events.
    of_row
        The cluster of each row, from 0; -1 for rows that are not published.
    rng
        The random generator.
    """
    owner, order, size = events_by_cluster(events, of_row, events.query)
    # A cluster with fewer events than rows still publishes one.
    first = rng.integers(0, np.clip(np.bincount(owner, minlength=len(size)), 1, np.maximum(size, 1)))
    taken = ranks_within(owner) % size[owner] == first[owner]
    return bags_of(owner[taken], events.query[order[taken]], 1, len(size))


def _texts(texts: pa.Array) -> Texts:
    """Split queries into letters and terms."""
    letters, terms = _letters(texts), _terms(texts)
    low, high = _letter_masks(letters)
    count = np.diff(terms.start)
    shown = np.diff(bags_of(list_ids(terms.start), terms.item % WORD, 1, len(texts)).start)
    return Texts(letters, terms, np.diff(letters.start), count, low, high, _masks(terms), count - shown)


def _event_rows(events: QueryEvents) -> EventRows:
    """Scale times to the log's span, give numbers to sites, and put equal texts of a row side by side."""
    order = np.lexsort((events.query, list_ids(events.start)))
    since = events.time - events.time.min()
    host = np.asarray(pc.dictionary_encode(hosts_of(events.sites)).indices, dtype=np.int32)
    place = np.argsort(order)[list_ids(events.clicks)]
    clicked = bags_of(place, host[events.site], 1, len(events))
    sites = Lists(clicked.start, clicked.query)
    time = since[order] / max(int(since.max()), 1)
    return EventRows(events.start, time, events.query[order], sites, _masks(sites))


def _letters(texts: pa.Array) -> Lists:
    """Return the letters of texts, numbered by how common they are: common ones get bits of their own in masks."""
    points = np.frombuffer("".join(texts.to_pylist()).encode("utf-32-le"), dtype=np.uint32)
    _, code, often = np.unique(points, return_inverse=True, return_counts=True)
    rank = np.empty(len(often), dtype=np.int32)
    rank[np.argsort(-often, kind="stable")] = np.arange(len(often))
    return Lists(_starts(pc.utf8_length(texts)), rank[code])


def _terms(texts: pa.Array) -> Lists:
    """Return the terms of texts: what stands between blanks."""
    words = pc.utf8_split_whitespace(texts)
    term = pc.dictionary_encode(pc.list_flatten(words)).indices
    return Lists(_starts(pc.list_value_length(words)), np.asarray(term, dtype=np.int32))


def _starts(sizes: pa.Array) -> Ints64:
    """Return the starts of lists of these sizes, stored one after another."""
    return np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))]).astype(np.int64)


def _letter_masks(letters: Lists) -> tuple[Words64, Words64]:
    """Return masks of each text's letters with repetitions: a bit for a kind's first, second and third occurrence."""
    text, kind = list_ids(letters.start), letters.item % CLASSES
    order = np.lexsort((kind, text))
    repeat = ranks_within((text * CLASSES + kind)[order])
    bit = (kind[order] + CLASSES * repeat)[repeat < REPEATS]
    text = text[order][repeat < REPEATS]
    halves = []
    for half in range(2):
        inside = bit // WORD == half
        mask = np.zeros(len(letters.start) - 1, dtype=np.uint64)
        np.bitwise_or.at(mask, text[inside], FIRST_BIT << (bit[inside] % WORD).astype(np.uint64))
        halves.append(mask)
    return halves[0], halves[1]


def _masks(lists: Lists) -> Words64:
    """Return a mask for each list: lists whose masks have no common bit have no common item."""
    mask = np.zeros(len(lists.start) - 1, dtype=np.uint64)
    np.bitwise_or.at(mask, list_ids(lists.start), FIRST_BIT << (lists.item % WORD).astype(np.uint64))
    return mask


@kernel
def _one_way(first: int, stop: int, texts: Texts, events: EventRows, apart: Floats) -> None:
    """Add up the distances of each event of some rows to every row's nearest event."""
    many, kinds = len(texts.low), np.max(texts.letters.item) + 1 if len(texts.letters.item) > 0 else 0
    work = Workspace(
        np.empty(many),
        np.empty(many, np.bool_),
        np.empty(len(events.text)),
        np.zeros(kinds, np.uint64),
        np.empty(np.max(texts.letter_count) + 2, np.int64),  # no text has more terms than letters and one
    )
    for row in range(first, stop):
        for one in range(events.start[row], events.start[row + 1]):
            text = events.text[one]
            if one == events.start[row] or text != events.text[one - 1]:
                _bound_spelling(texts, text, work.spelt, work.exact)
                _note_places(texts.letters, text, work.places)
            _bound(events, one, work.spelt, work.bound)
            _add_nearest(texts, events, one, work, apart[row])
            if one + 1 == events.start[row + 1] or text != events.text[one + 1]:
                _forget_places(texts.letters, text, work.places)


@helper
def _bound_spelling(texts: Texts, one: int, spelt: Floats, exact: Bools) -> None:
    """Write lower bounds of a text's distances to all others: by length, which is exact, by terms and by letters."""
    letter_count, term_count, hidden_terms = texts.letter_count, texts.term_count, texts.hidden_terms
    low, high, mask = texts.low, texts.high, texts.term_mask
    for two in range(len(spelt)):
        letters = max(letter_count[one], letter_count[two], 1)
        terms = max(term_count[one], term_count[two], 1)
        longer = abs(letter_count[one] - letter_count[two])
        common = ones(mask[one] & mask[two]) + hidden_terms[one]
        # One edit adds at most one letter and removes at most one.
        gone = ones(low[one] & ~low[two]) + ones(high[one] & ~high[two])
        come = ones(low[two] & ~low[one]) + ones(high[two] & ~high[one])
        spelt[two] = (longer + max(gone, come, longer)) / letters + max(terms - common, 0) / terms
        exact[two] = False


@helper
def _bound(events: EventRows, one: int, spelt: Floats, bound: Floats) -> None:
    """Write lower bounds of an event's distances to all others."""
    time, text, mask = events.time, events.text, events.site_mask
    for two in range(len(bound)):
        elsewhere = mask[one] & mask[two] == NO_BIT and mask[one] | mask[two] != NO_BIT
        bound[two] = abs(time[one] - time[two]) + (1.0 if elsewhere else 0.0) + spelt[text[two]]


@helper
def _add_nearest(texts: Texts, events: EventRows, one: int, work: Workspace, sums: Floats) -> None:
    """Add an event's distances to every row's nearest event; 1 for rows without events.

    Only events whose bound is below the best so far are compared in full. Sums are built in the same order as their
    bounds, so that rounding does not put a sum below its bound. Arrays are passed one by one, because passing a tuple
    of arrays would update reference counts at every call.
    """
    start, time, text, mask = events.start, events.time, events.text, events.site_mask
    site_start, site = events.sites.start, events.sites.item
    letter_start, letter = texts.letters.start, texts.letters.item
    term_start, term, term_mask = texts.terms.start, texts.terms.item, texts.term_mask
    spelt, exact, bound, places, line = work.spelt, work.exact, work.bound, work.places, work.line
    own_letters, own_terms = _span(letter_start, text[one]), _span(term_start, text[one])
    own_sites = Span(site_start[one], site_start[one + 1])
    for row in range(len(start) - 1):
        best, likely = PARTS, _least(bound, start[row], start[row + 1])
        for turn in range(start[row] - 1 if likely >= 0 else start[row], start[row + 1]):
            # With the most likely one first, most others are ruled out.
            two = turn if turn >= start[row] else likely
            if bound[two] >= best:
                continue
            if not exact[text[two]]:
                theirs = text[two]
                spelt[theirs] = _letters_apart(letter, own_letters, _span(letter_start, theirs), places, line)
                if term_mask[text[one]] & term_mask[theirs] == NO_BIT:
                    spelt[theirs] += 1.0
                else:
                    spelt[theirs] += _terms_apart(term, own_terms, _span(term_start, theirs), line)
                exact[theirs] = True
            total = abs(time[one] - time[two])
            if mask[one] | mask[two] != NO_BIT:
                total += _elsewhere(site, own_sites, Span(site_start[two], site_start[two + 1]))
            best = min(best, total + spelt[text[two]])
        sums[row] += best


@helper
def _least(bound: Floats, first: int, stop: int) -> int:
    """Return where the least bound is, or -1."""
    least = first if first < stop else -1
    for at in range(first + 1, stop):
        if bound[at] < bound[least]:
            least = at
    return least


@helper
def _elsewhere(site: Ints32, mine: Span, theirs: Span) -> float:
    """Return 0 if two lists of sites have a common one, else 1."""
    for one in range(mine.first, mine.stop):
        for two in range(theirs.first, theirs.stop):
            if site[one] == site[two]:
                return 0.0
    return 1.0


@helper
def _letters_apart(letter: Ints32, one: Span, two: Span, places: Words64, line: Ints64) -> float:
    """Return the sum of the distances by length and by edits of letters."""
    if 0 < _size(one) <= WORD:
        edits = _columns(letter, two, _size(one), places)
    else:
        edits = _table(letter, one, two, line)
    return (abs(_size(one) - _size(two)) + edits) / max(_size(one), _size(two), 1)


@helper
def _terms_apart(term: Ints32, one: Span, two: Span, line: Ints64) -> float:
    """Return the distance by edits of terms."""
    return _table(term, one, two, line) / max(_size(one), _size(two), 1)


@helper
def _size(span: Span) -> int:
    return span.stop - span.first


@helper
def _span(start: Ints64, at: int) -> Span:
    return Span(start[at], start[at + 1])


@helper
def _note_places(letters: Lists, text: int, places: Words64) -> None:
    """Store where each letter occurs in a text; of a long text, in its beginning."""
    first = letters.start[text]
    for at in range(first, min(letters.start[text + 1], first + WORD)):
        places[letters.item[at]] |= FIRST_BIT << np.uint64(at - first)


@helper
def _forget_places(letters: Lists, text: int, places: Words64) -> None:
    for at in range(letters.start[text], letters.start[text + 1]):
        places[letters.item[at]] = NO_BIT


@helper
def _columns(letter: Ints32, text: Span, size: int, places: Words64) -> int:
    """Return the edit distance of the stored letters to a text, a column of the table at a time (Myers; Hyyrö 2003)."""
    rises, falls, last = ALL_BITS, NO_BIT, np.uint64(size - 1)
    edits = size
    for at in range(text.first, text.stop):
        equal = places[letter[at]]
        straight = equal | falls
        across = (((equal & rises) + rises) ^ rises) | equal
        up, down = falls | ~(across | rises), rises & across
        edits += int((up >> last) & FIRST_BIT) - int((down >> last) & FIRST_BIT)
        up, down = (up << FIRST_BIT) | FIRST_BIT, down << FIRST_BIT
        rises, falls = down | ~(straight | up), up & straight
    return edits


@helper
def _table(item: Ints32, one: Span, two: Span, line: Ints64) -> int:
    """Return the edit distance of two lists, a line of the table at a time."""
    width = two.stop - two.first
    for column in range(width + 1):
        line[column] = column
    for mine in range(one.first, one.stop):
        corner = line[0]
        line[0] += 1
        for column in range(width):
            swapped = corner if item[mine] == item[two.first + column] else corner + 1
            corner = line[column + 1]
            line[column + 1] = min(swapped, corner + 1, line[column] + 1)
    return int(line[width])
