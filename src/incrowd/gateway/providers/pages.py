"""Reading an answer that comes in pages to its end: what to ask for next, and whether everything came.

A walk makes no requests. It says what to add to the first one, and `advance` looks at each page: does another
one follow (`parameters` or `link` say which), and if not, is the answer whole (`missing` is empty) or not?
What contradicts itself or is not where the configuration says is an error: a cursor that comes again, a link to
another host, a page that does not say whether another one follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from yarl import URL

from incrowd.gateway.config import CursorPages, HttpProvider, LinkPages, OffsetPages
from incrowd.gateway.pointers import MISSING, compile_pointer
from incrowd.gateway.providers.base import ProviderError
from incrowd.gateway.providers.links import next_link
from incrowd.online.schema import text_of

__all__ = ["Page", "Walk", "plan_walk"]

Find = Callable[[Any], Any]

MOST_EMPTY_PAGES = 100  # in a row, each of which says that more will come
HEADER = "header"
LONGEST_PLACE = 8190
"""Characters of a cursor or link: it goes into a request's first line, and long ones keep the event loop busy for seconds."""
LARGEST_KEY = 2**64
"""Numbers from here on are no keys: their texts take long to make."""
Key = str | tuple[str]
CHANGED = "the provider's rows changed while they were read"
UNPROVEN = "nothing shows that the provider's rows stayed as they were between pages (see 'total' and 'key')"


@dataclass(slots=True)
class Page:
    """One page: its rows, the whole JSON document, and the ``Link`` headers that came with it."""

    rows: list[dict[str, Any]]
    document: Any
    links: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Marks:
    """Where pages say what they hold: whether rows were kept back, how many there are, and which row is which."""

    truncated: Find | None
    total: Find | None
    key: Find | None


class Walk:
    """An answer in one page; the base of those in several.

    Parameters
    ----------
    marks
        What to look at in each page.
    """

    def __init__(self, marks: _Marks) -> None:
        self.parameters: dict[str, Any] = {}
        self.link: URL | None = None
        self.missing = ""
        self._marks = marks
        self._keys: set[Key] = set()

    def advance(self, page: Page) -> bool:
        """Take note of a page and tell whether to read another one. Rows that came before are taken out of it."""
        truncated = self._is_truncated(page)
        more = self._go_on(page)
        if self._marks.key and self._has_repeats(page, self._marks.key):
            self.missing = self.missing or CHANGED
        if truncated:
            self.missing = "the provider says that it has more rows"
        return more and not self.missing

    def _go_on(self, page: Page) -> bool:  # noqa: ARG002 - walks with pages look at it
        """Tell whether another page follows."""
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
        """Keep the rows that are new, and tell whether there were others."""
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
    """Return a row's key; a number's as a text by itself, for a provider can choose numbers that all have one hash."""
    key = find(row)
    if type(key) is str:
        return key
    if type(key) is not float and (type(key) is not int or abs(key) >= LARGEST_KEY):
        raise ProviderError("the provider's answer has a row without a text or number where 'key' points to")
    return (text_of(key),)


class _OffsetWalk(Walk):
    """Pages by the number of rows before them.

    Without a total only an empty page is the last one: a page with fewer rows than asked may just show that the
    provider sends no more at once. With a key, each page begins with the last row of the page before. If that row is
    where it was, then no row that was there all the time has moved from one side of it to the other.
    """

    def __init__(self, marks: _Marks, pages: OffsetPages) -> None:
        super().__init__(marks)
        self._pages = pages
        self._total: int | None = None
        self._read = self._full_pages = 0
        self._last: list[dict[str, Any]] = []
        self._overlap: list[Key] = []  # the key of the row that must come again
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
        self.missing = self._complaint(page, size)
        if self.missing or self._is_last(page):
            return False
        self._prepare_next(page)
        return True

    def _is_joined(self, page: Page) -> bool:
        """Tell whether a page begins where the one before ended, and take out what both have."""
        if self._is_confirming:
            return not page.rows
        if self._overlap:
            find = self._marks.key
            if not find or not page.rows or _key_of(page.rows[0], find) != self._overlap[0]:
                return False
            page.rows = page.rows[1:]
        return True

    def _prepare_next(self, page: Page) -> None:
        """Ask for what follows, from the last row on if there is a key; where nothing followed, ask without it."""
        find = self._marks.key
        self._is_confirming = bool(self._overlap and not page.rows)
        if self._is_confirming:
            self._overlap = []
        elif find:
            self._overlap = [_key_of(page.rows[-1], find)]
        self._last = page.rows
        self._ask()

    def _complaint(self, page: Page, size: int) -> str:
        """Return what shows that the rows so far are not the right ones."""
        if not self._totals_agree(page):
            return CHANGED
        if page.rows and page.rows == self._last:
            page.rows = []  # what comes twice counts once
            return "the provider sent the same page again"
        if self._total is None:
            return self._complaint_without_total(page, size)
        if self._read > self._total:
            return "the provider sent more rows than it counts"
        return "" if page.rows or self._read == self._total else "the provider sent fewer rows than it counts"

    def _complaint_without_total(self, page: Page, size: int) -> str:
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
        """Read the total, if there should be one, and hold it against the one before."""
        if self._marks.total is None:
            return True
        total = self._marks.total(page.document)
        if type(total) is not int or total < 0:
            raise ProviderError("the provider's answer has no total number of rows where 'total' points to")
        if self._total is None:
            self._total = total
        return total == self._total


class _OnwardWalk(Walk):
    """Pages of which each says where the next one is."""

    def __init__(self, marks: _Marks) -> None:
        super().__init__(marks)
        self._seen: set[str] = set()
        self._empty = 0

    def _note(self, page: Page, place: str) -> None:
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
    """Tell whether a page says that it is the last one. It must say so: nothing at all may be a mistake in a name."""
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
    """Return where a link leads, which must be the same provider."""
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
    """Return a function that begins the walk of a query: the texts in the query string of its first request."""
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
