"""The link to the next page in ``Link`` headers (RFC 8288).

Parsing takes linear time for any input. A header that cannot be parsed is an error and not the last page, since it may
have a link to another page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from incrowd.gateway.providers.base import ProviderError

__all__ = ["MOST_CHARACTERS", "next_link"]

MOST_CHARACTERS = 16_384  # of all Link headers of an answer together
# Possessive repetitions ("+" after a repetition) never backtrack, so matching takes linear time.
_SPACES = re.compile(r"[ \t]*+")
_COMMAS = re.compile(r"[ \t,]*+")
_TARGET = re.compile(r"<([^>]*+)>")
_PARAMETER = re.compile(
    r""";[ \t]*+
    (?:([!#$%&'*+.^_`|~0-9A-Za-z-]++)[ \t]*+
        (?:=[ \t]*+(?:"((?:[^"\\]++|\\.)*+)"|([^ \t;,"<>]*+)))?+
    )?+""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def next_link(headers: Sequence[str]) -> str | None:
    """Return the target of the link with the relation "next"; None if no header has one."""
    if sum(map(len, headers)) > MOST_CHARACTERS:
        raise ProviderError(f"the provider's Link headers have more than {MOST_CHARACTERS} characters")
    targets = set()
    for header in headers:
        for target, parameters in _links(header):
            if "next" in parameters.get("rel", "").lower().split():
                if "anchor" in parameters:
                    raise ProviderError(
                        "the provider's link to the next page has an anchor in another document"
                    )
                if not target:
                    raise ProviderError("the provider's link to the next page is empty")
                targets.add(target)
    if len(targets) > 1:
        raise ProviderError("the provider's Link headers name several next pages")
    return targets.pop() if targets else None


def _links(header: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Read a header's links: targets and their parameters."""
    place = _skip(_COMMAS, header, 0)
    while place < len(header):
        target = _TARGET.match(header, place)
        if target is None:
            raise _unreadable()
        parameters, place = _parameters(header, target.end())
        yield target[1], parameters
        place = _skip(_COMMAS, header, place)


def _parameters(header: str, place: int) -> tuple[dict[str, str], int]:
    """Read a link's parameters (the first of each name counts), and where they end."""
    found: dict[str, str] = {}
    while True:
        place = _skip(_SPACES, header, place)
        if place == len(header) or header[place] == ",":
            return found, place
        parameter = _PARAMETER.match(header, place)
        if parameter is None:
            raise _unreadable()
        name, quoted, plain = parameter.groups()
        if name:
            found.setdefault(name.lower(), plain or _ESCAPED.sub(r"\1", quoted or ""))
        place = parameter.end()


def _skip(what: re.Pattern[str], text: str, place: int) -> int:
    match = what.match(text, place)
    return match.end() if match else place


def _unreadable() -> ProviderError:
    return ProviderError("the provider's Link headers cannot be read, and may name a next page")
