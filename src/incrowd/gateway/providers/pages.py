"""Reading an answer in pages to its end: what to request next, and whether the answer is complete.

A walk makes no requests itself. It gives the parameters of the first one, and `advance` evaluates each page: whether
another one follows (`parameters` or `link` say which), and if not, whether the answer is complete (`missing` is empty).
Contradictions, and values that are not where the configuration says, are errors: a repeated cursor, a link to another
host, a page that does not say whether another one follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from yarl import URL

from incrowd.gateway.config.pointers import MISSING, compile_pointer
from incrowd.gateway.config.settings import CursorPages, HttpProvider, LinkPages, OffsetPages
from incrowd.gateway.providers.base import ProviderError
from incrowd.gateway.providers.links import next_link
from incrowd.generalizer.schema import text_of

__all__ = ["Page", "Walk", "plan_walk"]

Find = Callable[[Any], Any]

MOST_EMPTY_PAGES = 100  # in a row, each of which says that another one follows
HEADER = "header"
LONGEST_PLACE = 8190
"""Characters of a cursor or link: it goes into a request's first line, and a long one blocks the event loop for seconds."""
LARGEST_KEY = 2**64
"""Numbers from here on are not accepted as keys, since formatting them takes long."""
Key = str | tuple[str]
CHANGED = "the provider's rows changed while they were read"
UNPROVEN = (
    "it cannot be checked that the provider's rows did not change between pages (see 'total' and 'key')"
)


@dataclass(slots=True)
class Page:
    """One page: its rows, the whole JSON document, and the ``Link`` headers that came with it."""

    rows: list[dict[str, Any]]
    document: Any
    links: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Marks:
    """Where pages have their metadata: whether rows were left out, the total number, and the key of a row."""

    truncated: Find | None
    total: Find | None
    key: Find | None


class Walk:
    """An answer in one page, and the base class of answers in several.

    Parameters
    ----------
    marks
        Where pages have their metadata.
    """

    def __init__(self, marks: _Marks) -> None:
        self.parameters: dict[str, Any] = {}
        self.link: URL | None = None
        self.missing = ""
        self._marks = marks
        self._keys: set[Key] = set()

    def advance(self, page: Page) -> bool:
        """Evaluate a page and return whether to read another one. Rows that were received before are removed from it."""
        truncated = self._is_truncated(page)
        more = self._go_on(page)
        if self._marks.key and self._has_repeats(page, self._marks.key):
            self.missing = self.missing or CHANGED
        if truncated:
            self.missing = "the provider says that it has more rows"
        return more and not self.missing

    def _go_on(self, page: Page) -> bool:  # noqa: ARG002 - walks with pages look at it
        """Return whether another page follows."""
        return False

    def _is_truncated(self, page: Page) -> bool:
        if self._marks.truncated is None:
            return False
        flag = self._marks.truncated(page.document)
        if flag is not None and type(flag) is not bool:
            raise ProviderError(
                "the provider's answer has no true, false or null where 'truncated' points to"
            )
        return bool(flag)

    def _has_repeats(self, page: Page, find: Find) -> bool:
        """Keep the new rows, and return whether there were others."""
        new = []
        for row in page.rows:
            key = _key_of(row, find)
            if key not in self._keys:
                self._keys.add(key)
                new.append(row)
        repeats = len(new) < len(page.rows)
        page.rows = new
        return repeats


def _key_of(row: dict[str, Any], find: Find) -> Key:
    """Return a row's key; of a number its text in a tuple, since a provider could choose numbers with equal hashes."""
    key = find(row)
    if type(key) is str:
        return key
    if type(key) is not float and (type(key) is not int or abs(key) >= LARGEST_KEY):
        raise ProviderError("the provider's answer has a row without a text or number where 'key' points to")
    return (text_of(key),)


class _OffsetWalk(Walk):
    """Pages addressed by the number of rows before them.

    Without a total, only an empty page is the last one: a page with fewer rows than requested may only mean that the
    provider limits its pages. With a key, each page begins with the last row of the page before. If that row has not
    moved, no row that existed all the time has moved past it.
    """

    def __init__(self, marks: _Marks, pages: OffsetPages) -> None:
        super().__init__(marks)
        self._pages = pages
        self._total: int | None = None
        self._read = self._full_pages = 0
        self._last: list[dict[str, Any]] = []
        self._overlap: list[Key] = []  # the key of the row that must be repeated
        self._is_confirming = False
        self._ask()

    def _ask(self) -> None:
        offset = self._read - len(self._overlap)
        self.parameters = {self._pages.offset: offset, self._pages.limit: self._pages.size}

    def _go_on(self, page: Page) -> bool:
        size = len(page.rows)
        if not self._is_joined(page):
            self.missing = CHANGED
            return False
        self._read += len(page.rows)
        self._full_pages += bool(page.rows)
        self.missing = self._inconsistency(page, size)
        if self.missing or self._is_last(page):
            return False
        self._prepare_next(page)
        return True

    def _is_joined(self, page: Page) -> bool:
        """Return whether a page begins where the one before ended, and remove the row that both have."""
        if self._is_confirming:
            return not page.rows
        if self._overlap:
            find = self._marks.key
            if not find or not page.rows or _key_of(page.rows[0], find) != self._overlap[0]:
                return False
            page.rows = page.rows[1:]
        return True

    def _prepare_next(self, page: Page) -> None:
        """Request what follows, from the last row on if there is a key; confirm an empty page without it."""
        find = self._marks.key
        self._is_confirming = bool(self._overlap and not page.rows)
        if self._is_confirming:
            self._overlap = []
        elif find:
            self._overlap = [_key_of(page.rows[-1], find)]
        self._last = page.rows
        self._ask()

    def _inconsistency(self, page: Page, size: int) -> str:
        """Return what shows that the rows so far are not correct."""
        if not self._totals_agree(page):
            return CHANGED
        if page.rows and page.rows == self._last:
            page.rows = []  # repeated rows count once
            return "the provider sent the same page again"
        if self._total is None:
            return self._inconsistency_without_total(page, size)
        if self._read > self._total:
            return "the provider sent more rows than its total"
        return "" if page.rows or self._read == self._total else "the provider sent fewer rows than its total"

    def _inconsistency_without_total(self, page: Page, size: int) -> str:
        if size > self._pages.size:
            return "the provider sent more rows than a page has"
        if not page.rows and self._full_pages > 1 and not self._marks.key:
            return UNPROVEN
        return ""

    def _is_last(self, page: Page) -> bool:
        if self._total is None:
            return not page.rows and not self._overlap
        return self._read == self._total

    def _totals_agree(self, page: Page) -> bool:
        """Read the total, if configured, and compare it to the one before."""
        if self._marks.total is None:
            return True
        total = self._marks.total(page.document)
        if type(total) is not int or total < 0:
            raise ProviderError("the provider's answer has no total number of rows where 'total' points to")
        if self._total is None:
            self._total = total
        return total == self._total


class _OnwardWalk(Walk):
    """Pages that each say where the next one is."""

    def __init__(self, marks: _Marks) -> None:
        super().__init__(marks)
        self._seen: set[str] = set()
        self._empty = 0

    def _note(self, page: Page, place: str) -> None:
        """Refuse repeated pages and endless empty pages."""
        if place in self._seen:
            raise ProviderError("the provider's pages have no end: one of them is repeated")
        self._seen.add(place)
        self._empty = 0 if page.rows else self._empty + 1
        if self._empty >= MOST_EMPTY_PAGES:
            raise ProviderError(
                "the provider's pages have no end: they are empty and say that another one follows"
            )


class _CursorWalk(_OnwardWalk):
    def __init__(self, marks: _Marks, pages: CursorPages, find: Find) -> None:
        super().__init__(marks)
        self._pages = pages
        self._find = find
        self._limit = {} if pages.limit is None or pages.size is None else {pages.limit: pages.size}
        self.parameters = self._limit

    def _go_on(self, page: Page) -> bool:
        cursor = self._find(page.document)
        if _is_end(cursor):
            return False
        if type(cursor) is not str and type(cursor) is not int:
            raise ProviderError("the provider's answer has no usable cursor where 'next' points to")
        self._note(page, _short(str(cursor)))
        self.parameters = {self._pages.cursor: cursor, **self._limit}
        return True


class _LinkWalk(_OnwardWalk):
    def __init__(self, marks: _Marks, find: Callable[[Page], Any], first: URL) -> None:
        super().__init__(marks)
        self._find = find
        self._here = first
        self._seen.add(str(first))

    def _go_on(self, page: Page) -> bool:
        target = self._find(page)
        if _is_end(target):
            return False
        self.link = self._here = _follow(self._here, target)
        self._note(page, str(self.link))
        return True


def _is_end(following: object) -> bool:
    """Return whether a page says that it is the last one. It must say so explicitly: a missing field may be a wrong name."""
    if following is MISSING:
        raise ProviderError(
            "the provider's answer has nothing where 'next' points to; the last page must have null there"
        )
    return following is None or following == ""


def _short(place: str) -> str:
    if len(place) > LONGEST_PLACE:
        raise ProviderError(f"the provider's cursor or link has more than {LONGEST_PLACE} characters")
    return place


def _follow(here: URL, target: object) -> URL:
    """Return the address of a link, which must be at the same provider."""
    if not isinstance(target, str):
        raise ProviderError("the provider's answer has no usable link where 'next' points to")
    try:
        link = here.join(URL(_short(target))).with_fragment(None)
        same = _address(link) == _address(here)
    except ValueError:
        raise ProviderError("the provider's link to the next page cannot be read") from None
    if not same:
        raise ProviderError("the provider's link to the next page leads to another host; it is not followed")
    return link


def _address(url: URL) -> tuple[str | int | None, ...]:
    return url.scheme, url.host, url.port, url.user, url.password


def plan_walk(provider: HttpProvider) -> Callable[[Mapping[str, str]], Walk]:
    """Return a function that starts the walk of a query, given the texts in the query string of its first request."""
    pages = provider.pages
    total = pages.total if isinstance(pages, OffsetPages) else None
    marks = _Marks(_finder(provider.truncated), _finder(total), _finder(provider.key))
    if isinstance(pages, OffsetPages):
        return lambda _: _OffsetWalk(marks, pages)
    if isinstance(pages, CursorPages):
        cursor = compile_pointer(pages.next)
        return lambda _: _CursorWalk(marks, pages, cursor)
    if isinstance(pages, LinkPages):
        link, url = _link_finder(pages.next), URL(provider.url)
        return lambda texts: _LinkWalk(marks, link, url.extend_query(texts))
    return lambda _: Walk(marks)


def _finder(pointer: str | None) -> Find | None:
    return None if pointer is None else compile_pointer(pointer)


def _link_finder(where: str) -> Callable[[Page], Any]:
    if where == HEADER:
        return lambda page: next_link(page.links)
    find = compile_pointer(where)
    return lambda page: find(page.document)
