"""Reading an answer that comes in pages to its end: what to ask for next, and whether everything came.

A walk makes no requests. It says what to add to the first one, and `advance` looks at each page: does another
one follow (`parameters` or `link` say which), and if not, is the answer whole (`missing` is empty) or not?
What contradicts itself is an error: a cursor that comes again, a link to somebody else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from yarl import URL

from incrowd.gateway.config import CursorPages, LinkPages, OffsetPages
from incrowd.gateway.pointers import MISSING, compile_pointer
from incrowd.gateway.providers.base import ProviderError

__all__ = ["Page", "Pages", "Walk", "next_link", "plan_walk"]

Pages = OffsetPages | CursorPages | LinkPages

MOST_EMPTY_PAGES = 100  # in a row, each of which says that more will come
HEADER = "header"
# RFC 8288: <target>; name=token; name="quoted", <target>...
_LINK = re.compile(r'<([^>]*)>((?:\s*;\s*[^\s=;,"]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,"]*))?)*)')
_RELATION = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]+))', re.IGNORECASE)


@dataclass(slots=True)
class Page:
    """One page: its rows, the whole JSON document, and the ``Link`` headers that came with it."""

    rows: list[dict[str, Any]]
    document: Any
    links: Sequence[str] = ()


class Walk:
    """An answer in one page; the base of those in several."""

    def __init__(self) -> None:
        self.parameters: dict[str, Any] = {}
        self.link: URL | None = None
        self.missing = ""

    def advance(self, page: Page) -> bool:  # noqa: ARG002 - walks with pages look at it
        """Take note of a page and tell whether to read another one."""
        return False


class _OffsetWalk(Walk):
    """Pages by the number of rows before them.

    Without a total only an empty page is the last one: a page with fewer rows than asked may just show that the
    provider sends no more at once.
    """

    def __init__(self, pages: OffsetPages, total: Callable[[Any], Any] | None) -> None:
        super().__init__()
        self._pages = pages
        self._find_total = total
        self._total: int | None = None
        self._read = 0
        self._last: list[dict[str, Any]] = []
        self._ask()

    def _ask(self) -> None:
        self.parameters = {self._pages.offset: self._read, self._pages.limit: self._pages.size}

    def advance(self, page: Page) -> bool:
        self._read += len(page.rows)
        self.missing = self._complaint(page)
        if self.missing or self._is_last(page):
            return False
        self._last = page.rows
        self._ask()
        return True

    def _complaint(self, page: Page) -> str:
        """Return what shows that the rows so far are not the right ones."""
        if not self._totals_agree(page):
            return "the provider's rows changed while they were read"
        if page.rows and page.rows == self._last:
            page.rows.clear()  # what comes twice counts once
            return "the provider sent the same page again"
        if self._total is None:
            return "the provider sent more rows than a page has" if len(page.rows) > self._pages.size else ""
        if self._read > self._total:
            return "the provider sent more rows than it counts"
        return "" if page.rows or self._read == self._total else "the provider sent fewer rows than it counts"

    def _is_last(self, page: Page) -> bool:
        if self._total is None:
            return not page.rows
        return self._read == self._total

    def _totals_agree(self, page: Page) -> bool:
        """Read the total, if there should be one, and hold it against the one before."""
        if self._find_total is None:
            return True
        total = self._find_total(page.document)
        if type(total) is not int or total < 0:
            raise ProviderError("the provider's answer has no total number of rows where 'total' points to")
        if self._total is None:
            self._total = total
        return total == self._total


class _OnwardWalk(Walk):
    """Pages of which each says where the next one is."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[str] = set()
        self._empty = 0

    def _go_on(self, page: Page, place: str) -> None:
        """Refuse to go in circles, or through empty pages for ever."""
        if place in self._seen:
            raise ProviderError("the provider's pages have no end: one of them comes again")
        self._seen.add(place)
        self._empty = 0 if page.rows else self._empty + 1
        if self._empty >= MOST_EMPTY_PAGES:
            raise ProviderError(
                "the provider's pages have no end: they are empty and say that more will come"
            )


class _CursorWalk(_OnwardWalk):
    def __init__(self, pages: CursorPages, find: Callable[[Any], Any]) -> None:
        super().__init__()
        self._pages = pages
        self._find = find
        self._limit = {} if pages.limit is None or pages.size is None else {pages.limit: pages.size}
        self.parameters = self._limit

    def advance(self, page: Page) -> bool:
        cursor = self._find(page.document)
        if cursor is MISSING or cursor is None or cursor == "":
            return False
        if type(cursor) is not str and type(cursor) is not int:
            raise ProviderError("the provider's answer has no usable cursor where 'next' points to")
        self._go_on(page, str(cursor))
        self.parameters = {self._pages.cursor: cursor, **self._limit}
        return True


class _LinkWalk(_OnwardWalk):
    def __init__(self, find: Callable[[Page], Any], first: URL) -> None:
        super().__init__()
        self._find = find
        self._here = first
        self._seen.add(str(first))

    def advance(self, page: Page) -> bool:
        target = self._find(page)
        if target is MISSING or target is None or target == "":
            return False
        self.link = self._here = _follow(self._here, target)
        self._go_on(page, str(self.link))
        return True


def _follow(here: URL, target: object) -> URL:
    """Return where a link leads, which must be the same provider."""
    if not isinstance(target, str):
        raise ProviderError("the provider's answer has no usable link where 'next' points to")
    try:
        link = here.join(URL(target)).with_fragment(None)
        same = _address(link) == _address(here)
    except ValueError:
        raise ProviderError("the provider's link to the next page cannot be read") from None
    if not same:
        raise ProviderError("the provider's link to the next page leads to somebody else; it is not followed")
    return link


def _address(url: URL) -> tuple[str | int | None, ...]:
    return url.scheme, url.host, url.port, url.user, url.password


def next_link(headers: Sequence[str]) -> str | None:
    """Return the target of the link with the relation "next" in ``Link`` headers (RFC 8288)."""
    for header in headers:
        for target, parameters in _LINK.findall(header):
            relation = _RELATION.search(parameters)
            if relation and "next" in (relation[1] or relation[2] or "").lower().split():
                return str(target)
    return None


def plan_walk(pages: Pages | None) -> Callable[[URL, Mapping[str, str]], Walk]:
    """Return a function that begins a walk for an address and the query that goes with it."""
    if isinstance(pages, OffsetPages):
        total = None if pages.total is None else compile_pointer(pages.total)
        return lambda *_: _OffsetWalk(pages, total)
    if isinstance(pages, CursorPages):
        cursor = compile_pointer(pages.next)
        return lambda *_: _CursorWalk(pages, cursor)
    if isinstance(pages, LinkPages):
        find = _link_finder(pages.next)
        return lambda url, query: _LinkWalk(find, url.extend_query(query))
    only = Walk()
    return lambda *_: only


def _link_finder(where: str) -> Callable[[Page], Any]:
    if where == HEADER:
        return lambda page: next_link(page.links)
    find = compile_pointer(where)
    return lambda page: find(page.document)
