"""Ladders: what lies above an item of each kind, from near to far. It follows from the item's text alone, never from other data.

An address lies below its page without parameters, its site and, where that says what kind of site it is, the site's ending
(``.gov``, ``.co.uk``); a day below its week and year; a place below the regions around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.clean import clean_texts
from incrowd.core.kinds import KINDS

__all__ = ["ROOT", "clean_items", "count_misspelled", "way_up", "way_up_from_class"]

ROOT = "*"
"""What stands at the top of each kind: anything of it. It is never published."""

# Endings below which people register names: co.uk, com.au, ac.jp. A list of all is long and changes; these are nearly all of those in use.
_SECOND_LEVEL = frozenset(
    {
        "ac",
        "co",
        "com",
        "edu",
        "gob",
        "gov",
        "govt",
        "go",
        "id",
        "mil",
        "ne",
        "net",
        "nhs",
        "or",
        "org",
        "sch",
    }
)
_ANYTHING = frozenset({".biz", ".com", ".info", ".net"})  # endings that say nothing of a site
_COUNTRY = 2  # letters of the ending
_PARTS_OF_DAY = 6  # hours
_RANK = re.compile(r"(.*) #([0-9]{1,4})")
_NUMBERS = re.compile(r"[0-9.]+|\[.*")
_PORT = re.compile(r":[^\]]*$")
_SPELLED = {
    "hour": re.compile(r"([01]\d|2[0-3]):00", re.ASCII),
    "day": re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
    "week": re.compile(r"\d{4}-W(0[1-9]|[1-4]\d|5[0-3])", re.ASCII),
    "month": re.compile(r"\d{4}-(0[1-9]|1[0-2])", re.ASCII),
}
_CLASSES = {
    "hour": re.compile(r"(00:00-06|06:00-12|12:00-18|18:00-24):00"),
    "day": re.compile(rf"{_SPELLED['week'].pattern}|\d{{4}}", re.ASCII),
    "week": re.compile(r"\d{4}", re.ASCII),
    "month": re.compile(r"\d{4}(-Q[1-4])?", re.ASCII),
}


def way_up(kind: str, text: str) -> tuple[str, ...]:
    """Return what lies above an item of a kind, the nearest first, without the root.

    Examples
    --------
    >>> way_up("url", "www.homedepot.com/floors?page=2")
    ('www.homedepot.com/floors', 'homedepot.com')
    >>> way_up("url", "www.nasa.gov")
    ('nasa.gov', '.gov')
    >>> way_up("day", "2006-03-31"), way_up("place", "US/TX/Austin")
    (('2006-W13', '2006'), ('US/TX', 'US'))
    """
    return _LADDERS[kind](text)


def way_up_from_class(kind: str, text: str) -> tuple[str, ...]:
    """Return what lies above a class of a kind, the nearest first, without the root.

    Examples
    --------
    >>> way_up_from_class("url", "nasa.gov"), way_up_from_class("day", "2006-W13")
    (('.gov',), ('2006',))
    """
    if KINDS[kind].role == "time":
        return (text[:4],) if len(text) > len("2006") and kind in ("day", "month") else ()
    if kind in ("url", "shown"):
        ways = () if text.startswith(".") else _above_address(text)
        return ways[ways.index(text) + 1 :] if text in ways else ways
    return way_up(kind, text)


def count_misspelled(kind: str, texts: Sequence[str], *, exact: bool) -> int:
    """Count the texts that can be no items of a kind, or no classes above one, as this program writes them."""
    pattern = (_SPELLED if exact else _CLASSES).get(kind)
    if pattern is not None:
        is_day = kind == "day" and exact
        return sum(not pattern.fullmatch(text) or (is_day and not _is_day(text)) for text in texts)
    endings = kind in ("url", "shown") and not exact
    rest = pa.array([text for text in texts if not (endings and text.startswith("."))], pa.string())
    same = pc.fill_null(pc.equal(clean_items(kind, rest), rest), fill_value=False)
    return len(rest) - int(pc.sum(same).as_py() or 0)


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _above_address(text: str) -> tuple[str, ...]:
    page = text.partition("?")[0]
    site = _site_of(_PORT.sub("", page.partition("/")[0]))
    ending = "" if _NUMBERS.fullmatch(site) else "".join(site.partition(".")[1:])
    kind = (ending,) if ending and ending not in _ANYTHING else ()
    return (*((page,) if page not in (text, site) else ()), site, *kind)


def _site_of(host: str) -> str:
    """Return the name that was registered: the last two parts of a host, or three below endings such as co.uk."""
    if _NUMBERS.fullmatch(host):
        return host
    parts = host.split(".")
    below_country = len(parts) > _COUNTRY and len(parts[-1]) == _COUNTRY and parts[-2] in _SECOND_LEVEL
    return ".".join(parts[-3:] if below_country else parts[-2:])


def _above_shown(text: str) -> tuple[str, ...]:
    found = _RANK.fullmatch(text)
    address = found[1] if found else text
    return (
        *((address,) if found and address != _above_address(address)[0] else ()),
        *_above_address(address),
    )


def _above_hour(text: str) -> tuple[str, ...]:
    first = int(text[:2]) // _PARTS_OF_DAY * _PARTS_OF_DAY
    return (f"{first:02}:00-{first + _PARTS_OF_DAY:02}:00",)


def _above_day(text: str) -> tuple[str, ...]:
    year, week, _ = date.fromisoformat(text).isocalendar()
    return f"{year:04}-W{week:02}", f"{year:04}"


def _above_week(text: str) -> tuple[str, ...]:
    return (text.partition("-")[0],)


def _above_month(text: str) -> tuple[str, ...]:
    year, _, month = text.partition("-")
    return f"{year}-Q{(int(month) + 2) // 3}", year


def _above_path(text: str) -> tuple[str, ...]:
    parts = text.split("/")
    return tuple("/".join(parts[:length]) for length in range(len(parts) - 1, 0, -1))


def _above_language(text: str) -> tuple[str, ...]:
    language = text.partition("-")[0]
    return (language,) if language != text else ()


_LADDERS: Mapping[str, Callable[[str], tuple[str, ...]]] = {
    "url": _above_address,
    "shown": _above_shown,
    "hour": _above_hour,
    "day": _above_day,
    "week": _above_week,
    "month": _above_month,
    "place": _above_path,
    "device": _above_path,
    "language": _above_language,
}


def clean_items(kind: str, texts: pa.Array) -> pa.Array:
    """Return texts of a column as items of a kind, null where there is none; what means the same is written in one way.

    Addresses lose scheme, fragment, a closing slash and the case of the host; places and devices may be written with `/`, `>`, `|` or `,`
    between their parts, the largest first.
    """
    cleaned = _CLEANERS.get(kind, _as_they_are)(clean_texts(texts))
    # Small letters may take more code points than large ones, and blanks of any number look alike.
    return _filled(
        clean_texts(pc.utf8_trim_whitespace(pc.replace_substring_regex(cleaned, r"[\s\p{Z}]+", " ")))
    )


def _addresses(texts: pa.Array) -> pa.Array:
    bare = pc.replace_substring_regex(pc.utf8_trim_whitespace(texts), r"^[A-Za-z][A-Za-z0-9+.-]*://", "")
    bare = pc.replace_substring_regex(bare, r"^[^/?#@]*@", "")  # the name of a user
    bare = pc.replace_substring_regex(bare, r"#.*$", "")
    host = pc.utf8_lower(pc.struct_field(pc.extract_regex(bare, r"^(?P<host>[^/?]*)"), "host"))
    rest = pc.struct_field(pc.extract_regex(bare, r"(?s)^[^/?]*(?P<rest>.*)$"), "rest")
    rest = pc.replace_substring_regex(rest, r"/+$", "")
    host = pc.utf8_trim(pc.replace_substring_regex(host, r"\.{2,}", "."), ".")
    whole = pc.binary_join_element_wise(host, rest, "")
    return pc.if_else(pc.match_substring_regex(host, r"^(:|$)"), None, whole)  # no host at all


def _ranked(texts: pa.Array) -> pa.Array:
    """Return addresses with their ranks behind them."""
    rank = pc.struct_field(pc.extract_regex(texts, r" #(?P<rank>[0-9]{1,4})$"), "rank")
    address = _addresses(pc.replace_substring_regex(texts, r" #[0-9]*$", ""))
    return pc.if_else(pc.is_valid(rank), pc.binary_join_element_wise(address, rank, " #"), address)


def _paths(texts: pa.Array) -> pa.Array:
    one = pc.replace_substring_regex(texts, r"[\s\p{Z}]*[/>|,]+[\s\p{Z}]*", "/")
    path = pc.utf8_trim(pc.utf8_trim_whitespace(one), "/")
    return pc.if_else(
        pc.match_substring_regex(path, r"(^|/)\*?(/|$)"), None, path
    )  # a part that is the root's name, or none


def _languages(texts: pa.Array) -> pa.Array:
    return pc.replace_substring(pc.utf8_lower(pc.utf8_trim_whitespace(texts)), "_", "-")


def _as_they_are(texts: pa.Array) -> pa.Array:
    return texts


def _filled(texts: pa.Array) -> pa.Array:
    """Return texts with null for those that say nothing, or would look like the root of their kind."""
    return pc.if_else(pc.is_in(texts, value_set=pa.array(["", ROOT])), None, texts)


_CLEANERS: Mapping[str, Callable[[pa.Array], pa.Array]] = {
    "url": _addresses,
    "shown": _ranked,
    "place": _paths,
    "device": _paths,
    "language": _languages,
}
