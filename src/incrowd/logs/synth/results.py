"""Pages of results in a made-up log: ten addresses a page, of which a person may click one.

A page is a *pattern* that belongs to the query's topic: which well-known sites stand where, which results lie on a path
of their site, and how sites are called that are named after what the query is about. An address has three pieces: a beginning,
one of the texts that a query has for addresses, and an end. So pages are one ``take`` of patterns, however many there are.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from incrowd.core.types import Bools, Floats, Ints32, Ints64
from incrowd.logs.synth.clicks import OF_ANYTHING, OF_TOPIC
from incrowd.logs.synth.draws import scrambled, some
from incrowd.logs.synth.queries import Queries
from incrowd.logs.synth.sites import BEFORE, BEHIND, ELSEWHERE, endings
from incrowd.logs.synth.strings import join_full_rows, join_rows
from incrowd.logs.synth.terms import NOTHING, Terms

__all__ = ["SHOWN", "Answers", "Patterns", "Shown"]

SHOWN = 10
PATTERNS = 128
# Shares: of well-known sites' results that lie on a path, of queries with results in another order, of clicks with a token.
ON_PATH, OTHER_ORDER, WITH_TOKEN = 0.6, 0.1, 0.01
# The two results that change places in the other order.
EXCHANGED = (3, 4)
# What stands between the beginning and the end of an address: nothing, the query's thing, or the path to it.
NO_TEXT, THING, PATH = range(3)
PATH_ENDS = ("", ".html", "/reviews", "/index.html")
MADE_PATHS = ("", "", "/products", "/about.html", "/forum")
SCHEME = "http://www."
# How addresses begin: behind the rank of a click, first on a page, and after another address.
CLICKED, FIRST, NEXT = range(3)
_BEGINNINGS = ("", f"\t{SCHEME}", f" {SCHEME}")


@dataclass(frozen=True, eq=False)
class Patterns:
    """The patterns of pages, in numbers of pieces.

    Parameters
    ----------
    terms
        The terms that addresses are made of.
    pieces
        The texts of beginnings (three times, as `_BEGINNINGS`) and of ends; the first is empty.
    beginnings, sites
        How many beginnings there are, and how many of them are well-known sites: once without a path, and then with one.
    address
        A row for each pattern, topic after topic: beginning, kind of text, and end of each of its addresses.
    has_path
        Which of these addresses have a path.
    """

    terms: Terms
    pieces: list[str]
    beginnings: int
    sites: int
    address: Ints32
    has_path: Bools

    @classmethod
    def of(cls, terms: Terms) -> Patterns:
        """Make the patterns; they are the same for every seed."""
        words = ["", *_list(terms, "site_words")]
        sites = _sites(terms)
        starts = [*words, *sites, *(f"{site}/" for site in sites)]
        behind = ["", *_list(terms, "site_ends")]
        ends = [
            f"{end}{domain}{path}"
            for end in behind
            for domain in (".com", ".net", ".org")
            for path in MADE_PATHS
        ]
        pieces = ["", *(before + start for before in _BEGINNINGS for start in starts), *PATH_ENDS, *ends]
        key = np.arange(len(terms.topics) * PATTERNS * SHOWN).reshape(-1, SHOWN)
        site = _site_numbers(terms, key)
        on_path = (site >= 0) & (scrambled(key, salt=5) < ON_PATH)
        word, end, path = _made_up(key, len(words), len(behind))
        first_end = 1 + len(_BEGINNINGS) * len(starts)
        address = np.zeros((*key.shape, 3), dtype=np.int32)
        address[..., 0] = 1 + np.where(site < 0, word, len(words) + site + len(sites) * on_path)
        address[..., 1] = np.where(site < 0, THING, np.where(on_path, PATH, NO_TEXT))
        address[..., 2] = first_end + np.where(
            site < 0, len(PATH_ENDS) + end, np.where(on_path, _below(key, len(PATH_ENDS), salt=6), 0)
        )
        return cls(terms, pieces, len(starts), len(sites), address, np.where(site < 0, path, on_path))

    @cached_property
    def things(self) -> pa.StringArray:
        """The texts of all terms in the name of a site."""
        return pa.array(self.terms.pieces, pa.string())

    @cached_property
    def paths(self) -> pa.StringArray:
        """The texts of all terms in a path, for pieces without blanks: of hardwood floors it is ``floors/hardwood``."""
        texts = list(self.terms.pieces)
        for piece, glued in zip(self.terms.pieces, self.terms.glued.tolist(), strict=True):
            words = ["".join(filter(str.isalnum, word)) for word in piece.split()]
            if len(words) > 1:
                texts[glued] = "/".join(reversed(words))
        return pa.array(texts, pa.string())

    def of_page(self, queries: Queries, query: Ints64, page: Ints64) -> Ints64:
        """Return the number of the pattern of each query's page; pages are counted from 0."""
        topic = queries.topic[query] % len(self.terms.topics)
        return topic * PATTERNS + _below(queries.key[query] * 64 + page, PATTERNS, salt=7)


@dataclass(frozen=True, eq=False)
class Shown:
    """What a chunk's lines show and click.

    Parameters
    ----------
    clicked
        The address of each click, without the beginning that all addresses have.
    pages
        The texts of pages, with a tab before them.
    page
        Which of them each line shows.
    """

    clicked: pa.StringArray
    pages: pa.StringArray
    page: Ints64


class Answers:
    """The results of a chunk's queries."""

    def __init__(self, patterns: Patterns, queries: Queries, rng: np.random.Generator) -> None:
        self.patterns, self.queries, self.rng = patterns, queries, rng
        count = len(queries.key)
        self.exchanged = some(rng, OTHER_ORDER, count)
        self.named = queries.known | (queries.site != NOTHING)
        texts = [
            pa.array(patterns.pieces, pa.string()),
            join_rows(patterns.things, queries.main),
            join_rows(patterns.paths, queries.main),
            self._names(),
        ]
        self.pieces = pa.concat_arrays(texts)
        self.first = np.cumsum([0, *map(len, texts[:-1])]).astype(np.int32)
        self.name = self.first[3] + np.cumsum(self.named) - 1

    def show(self, person: Ints64, query: Ints64, rank: Ints64) -> Shown:
        """Return what lines show and click, given whose they are, their queries, and the ranks of clicks (0 for none)."""
        page, slot = np.divmod(np.maximum(rank, 1) - 1, SHOWN)
        clicked = np.flatnonzero(rank)
        tokens = clicked[some(self.rng, WITH_TOKEN, len(clicked))]
        token = np.zeros(len(rank), dtype=np.int64)
        token[tokens] = len(self.pieces) + np.arange(len(tokens))
        has_path = self._address_has_path(query[tokens], page[tokens], slot[tokens])
        texts = _tokens(self.rng, person[tokens], has_path)
        pieces = pa.concat_arrays([self.pieces, pa.array(texts, pa.string())])

        every = np.arange(len(self.queries.key))
        common = join_full_rows(pieces, self._page(every, np.zeros_like(every)).reshape(len(every), -1))
        own = np.flatnonzero((page > 0) | (token > 0))
        rows = np.zeros((len(own), SHOWN, 4), dtype=np.int32)
        rows[:, :, :3] = self._page(query[own], page[own])
        rows[np.arange(len(own)), slot[own], 3] = token[own]
        shown = query.copy()
        shown[own] = len(every) + np.arange(len(own))
        address = self._addresses(query[clicked], page[clicked], slot[clicked])
        return Shown(
            clicked=join_rows(pieces, np.column_stack([address, token[clicked]])),
            pages=pa.concat_arrays([common, join_full_rows(pieces, rows.reshape(len(own), -1))]),
            page=shown,
        )

    def _page(self, query: Ints64, page: Ints64) -> Ints32:
        """Return the pieces of the addresses of pages."""
        rows = self.patterns.address[self.patterns.of_page(self.queries, query, page)]
        self._put_texts(rows, query[:, None])
        named = np.flatnonzero(self.named[query] & (page == 0))
        rows[named, 0] = self._named(query[named])
        exchanged = np.flatnonzero(self.exchanged[query])[:, None]
        rows[exchanged, EXCHANGED] = rows[exchanged, EXCHANGED[::-1]]
        rows[:, 0, 0] += FIRST * self.patterns.beginnings
        rows[:, 1:, 0] += NEXT * self.patterns.beginnings
        return rows

    def _addresses(self, query: Ints64, page: Ints64, slot: Ints64) -> Ints32:
        """Return the pieces of single addresses."""
        rows = self.patterns.address[
            self.patterns.of_page(self.queries, query, page), self._slot(query, slot)
        ]
        self._put_texts(rows, query)
        named = np.flatnonzero(self._is_name(query, page, slot))
        rows[named] = self._named(query[named])
        return rows

    def _address_has_path(self, query: Ints64, page: Ints64, slot: Ints64) -> Bools:
        pattern = self.patterns.of_page(self.queries, query, page)
        place = pattern, self._slot(query, slot)
        bare = self.patterns.address[*place, 1] == NO_TEXT
        has_path: Bools = self.patterns.has_path[place] | (bare & self.named[query])
        return has_path & ~self._is_name(query, page, slot)

    def _slot(self, query: Ints64, slot: Ints64) -> Ints64:
        """Return where in the pattern the result lies that is shown at a place of the page."""
        moved: Bools = self.exchanged[query] & np.isin(slot, EXCHANGED)
        return np.where(moved, sum(EXCHANGED) - slot, slot)

    def _is_name(self, query: Ints64, page: Ints64, slot: Ints64) -> Bools:
        """Return whether a result is the site or brand that the query names, which comes first."""
        is_name: Bools = self.named[query] & (page == 0) & (slot == 0)
        return is_name

    def _put_texts(self, rows: Ints32, query: Ints64) -> None:
        """Put the queries' texts in the place of their kinds.

        Of a site that a query does not name, such a query has a path: so no address is twice on its page.
        """
        kind = rows[..., 1]
        on_path = (kind == NO_TEXT) & self.named[query]
        rows[..., 0] += self.patterns.sites * on_path
        kind += PATH * on_path
        rows[..., 1] = np.where(kind == NO_TEXT, 0, self.first[kind] + query.astype(np.int32))

    def _named(self, query: Ints64) -> Ints64:
        """Return the pieces of the addresses of what queries name."""
        name = self.name[query]
        return np.stack([np.ones_like(name), name, np.zeros_like(name)], axis=1)

    def _names(self) -> pa.StringArray:
        """Return the addresses of what queries name, for those that name a site or a brand."""
        terms = self.patterns.terms
        site, main = (some_pieces[self.named] for some_pieces in (self.queries.site, self.queries.main))
        name = np.zeros((len(site), 5), dtype=np.int64)
        name[:, 0] = terms.glued[site]
        name[:, 1:4] = np.where((site == NOTHING)[:, None], main, NOTHING)
        return join_rows(self.patterns.things, np.column_stack([name, endings(terms, name)]))


def _tokens(rng: np.random.Generator, person: Ints64, has_path: Bools) -> list[str]:
    """Return what sites add to an address: a number of the visit, or of the person, that must never be published."""
    visit = rng.integers(0, 1 << 62, len(person)).tolist()
    of_person = rng.integers(0, 1 << 48, int(person.max(initial=0)) + 1)[person].tolist()
    by_visit = some(rng, 0.5, len(person)).tolist()
    return [
        f"{'' if path else '/'}?{f'session={number:016x}' if of_visit else f'user={own:012x}'}"
        for path, number, own, of_visit in zip(has_path.tolist(), visit, of_person, by_visit, strict=True)
    ]


def _site_numbers(terms: Terms, key: Ints64) -> Ints64:
    """Return the well-known site at each place of the patterns, numbered as `_sites` does, or -1."""
    kind = scrambled(key, salt=1)
    rows = np.arange(len(key))
    topic = rows // PATTERNS
    size = terms.size["sites"]
    first = np.append(0, np.cumsum(size))
    of_topic = _nth(kind < OF_TOPIC)
    of_topic = np.where(of_topic < size[topic][:, None], of_topic, -1)
    of_anything = _nth((kind >= OF_TOPIC) & (kind < OF_TOPIC + OF_ANYTHING))
    own = _shuffled(rows, size[topic])[rows[:, None], of_topic]
    general = terms.count("general_sites")
    other = _shuffled(rows + len(rows), np.full(len(rows), general))[rows[:, None], of_anything]
    hosts = np.array(_sites(terms))
    is_own = np.stack([np.isin(hosts[first[-1] :], hosts[a:b]) for a, b in itertools.pairwise(first)])
    site = np.where((of_anything >= 0) & ~is_own[topic[:, None], other], first[-1] + other, -1)
    return np.where(of_topic >= 0, first[topic][:, None] + own, site)


def _nth(wanted: Bools) -> Ints64:
    """Return for each place of a row how many wanted ones lie before it, or -1 if it is none."""
    return np.where(wanted, np.cumsum(wanted, axis=1) - 1, -1)


def _shuffled(row: Ints64, size: Ints64) -> Ints64:
    """Return for each row the numbers below its size in an order of its own, in which low ones tend to come first."""
    number = np.arange(int(size.max()))
    weight: Floats = scrambled(row[:, None] * 64 + number, salt=2) * (number + 1)
    return np.argsort(np.where(number < size[:, None], weight, np.inf), axis=1, kind="stable")


def _made_up(key: Ints64, words: int, ends: int) -> tuple[Ints64, Ints64, Bools]:
    """Return the word before, the end behind, and if there is a path, of made-up sites; those of one page differ.

    The steps between neighbours have no common factor with the numbers of words and ends.
    """
    slot = np.arange(SHOWN)
    row = key[:, :1]
    how = scrambled(key, salt=4)
    before = 1 + (_below(row, words - 1, salt=8) + 7 * slot) % (words - 1)
    behind = 1 + (_below(row, ends - 1, salt=9) + 3 * slot) % (ends - 1)
    kind = scrambled(key, salt=10)
    domain = np.where(kind < ELSEWHERE, 1 + (kind < ELSEWHERE / 3), 0)
    path = _below(key, len(MADE_PATHS), salt=11)
    behind = np.where(how >= 1 - BEHIND, behind, 0)
    has_path = np.array([bool(text) for text in MADE_PATHS])[path]
    return np.where(how < BEFORE, before, 0), (behind * 3 + domain) * len(MADE_PATHS) + path, has_path


def _below(key: Ints64, size: int, salt: int) -> Ints64:
    """Return a number below `size` that belongs to a key."""
    return (size * scrambled(key, salt)).astype(np.int64)


def _list(terms: Terms, name: str) -> list[str]:
    return terms.pieces[terms.first(name) :][: terms.count(name)]


def _sites(terms: Terms) -> list[str]:
    """Return the addresses of well-known sites: of those of the topics, then of those for anything."""
    of_topics = [
        terms.pieces[start + number]
        for start, size in zip(terms.start["sites"].tolist(), terms.size["sites"].tolist(), strict=True)
        for number in range(size)
    ]
    return [_host(site) for site in of_topics + _list(terms, "general_sites")]


def _host(site: str) -> str:
    name = "".join(letter for letter in site if letter.isalnum() or letter == ".")
    return name if "." in name else f"{name}.com"
