"""Sites among words: the address without what is private in it, and the kind that its name or its suffix tells."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

__all__ = ["Site", "parse_site", "suffixes"]

# What sites are about, by the beginning or the end of their names. None of these is a matter of health or of sex.
TOPICS = {
    "site about travel": "travel hotel hotels airline airlines airways flight flights vacation cruise cruises tours",
    "site about news": "news newspaper times tribune gazette herald journal",
    "site about sports": "sports sport football soccer baseball basketball golf hockey racing",
    "site about music": "music songs lyrics radio guitar records",
    "site about films": "movie movies film films cinema video videos",
    "site about games": "games game gaming casino poker",
    "site about computers": "software computer computers download downloads hosting server shareware linux windows",
    "site about work": "jobs career careers employment resume",
    "site about money": "bank banking money loan loans mortgage insurance finance credit stocks",
    "site about cars": "cars auto autos motor motors truck trucks",
    "site about weather": "weather",
    "site about food": "food recipe recipes pizza wine coffee",
    "site about shopping": "shop shopping store stores mall auction auctions coupons",
    "site about homes": "homes realty realestate furniture garden",
    "site about learning": "school schools college university library dictionary homework",
    "site about animals": "pets dogs cats horses animals",
    "site about conversation": "chat forum forums greetings greeting cards dating",
}
_TOPIC_OF = {word: topic for topic, words in TOPICS.items() for word in words.split()}
_SHORTEST_TOPIC, _LONGEST_TOPIC = 4, max(map(len, _TOPIC_OF))
_BY_SUFFIX = {
    "com": "commercial site", "net": "commercial site", "biz": "commercial site", "info": "commercial site",
    "org": "site of an organization", "int": "site of an organization", "edu": "site of a school",
    "gov": "site of a government", "mil": "site of a government",
}  # fmt: skip
_OF_SCHOOLS, _OF_GOVERNMENTS = (
    frozenset(["ac", "edu", "sch", "k12"]),
    frozenset(["gov", "gob", "gouv", "mil"]),
)
# Domains of countries that are words or states as well: "what.is" and "boulder.co" are no addresses.
_WORDS_TOO = frozenset(
    "al am as at az be by co do ga id il in is it la ma md me mn mo ms mt my ne no pa sc sd so tn to us va".split()  # noqa: SIM905
)
_ADDRESS = re.compile(
    r"(?:(?P<scheme>[a-z]{3,5})(?::/{1,3}|//))?(?P<host>(?:[a-z0-9_-]+\.)+(?P<top>[a-z]{2,}))\.?(?::\d{1,5})?(?:[/?#].*)?",
    re.DOTALL,
)


class Site(NamedTuple):
    """The site of an address: the name below the public suffix, both together, and the label of the node above it."""

    name: str
    site: str
    parent: str


@cache
def suffixes() -> frozenset[str]:
    """Return the public suffixes of one and two labels."""
    text = (files("incrowd.data") / "suffixes.txt").read_text(encoding="ascii")
    return frozenset(line for line in text.splitlines() if not line.startswith("#"))


def parse_site(word: str, countries: dict[str, str]) -> Site | None:
    """Return the site that a word is the address of; None if it is none.

    Parameters
    ----------
    word
        In small letters.
    countries
        The label of the node of each country's sites, by the country's domain (``de``).
    """
    found = _ADDRESS.fullmatch(word)
    if not found or found["top"] not in suffixes():
        return None
    labels = found["host"].split(".")
    is_word = found["top"] in _WORDS_TOO and len(labels) < 3  # noqa: PLR2004
    is_usual = found["top"] in _BY_SUFFIX or (found["top"] in countries and not is_word)
    if not (found["scheme"] or labels[0] == "www" or is_usual):
        return None  # "node.js", "vol.one": no address that anybody would type so
    taken = 2 if ".".join(labels[-2:]) in suffixes() else 1
    if len(labels) <= taken or not labels[-taken - 1].strip("-_"):
        return None
    name, suffix = labels[-taken - 1], labels[-taken:]
    if name == "www":
        return None
    return Site(name, ".".join([name, *suffix]), _parent(name, suffix, countries))


def _parent(name: str, suffix: list[str], countries: dict[str, str]) -> str:
    """Return the node of a site: a school's or a government's by its suffix, else by its name, else by its suffix."""
    if suffix[0] in _OF_SCHOOLS:
        return "site of a school"
    if suffix[0] in _OF_GOVERNMENTS:
        return "site of a government"
    return _topic(name) or _BY_SUFFIX.get(suffix[-1]) or countries.get(suffix[-1], "web site")


def _topic(name: str) -> str | None:
    """Return the topic of the longest word that a name begins or ends with."""
    letters = name.replace("-", "").replace("_", "")
    for length in range(min(len(letters), _LONGEST_TOPIC), _SHORTEST_TOPIC - 1, -1):
        for part in (letters[:length], letters[-length:]):
            if part in _TOPIC_OF:
                return _TOPIC_OF[part]
    return None
