"""Sites of a made-up log: those that everybody knows, those of a topic, and made-up ones that are named after things.

A site is a row of three pieces of its name. Made-up sites have a word before a thing's name, or behind it, or both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from incrowd.core.types import Ints64
from incrowd.logs.synth.draws import scrambled, skewed, some
from incrowd.logs.synth.people import draw_terms
from incrowd.logs.synth.terms import NOTHING, Terms

__all__ = ["Visits", "decorations", "endings"]

# Shares of sites searched for: known to all, known in the topic, or (the rest) made up.
FAMOUS, OF_TOPIC = 0.46, 0.14
# How many made-up sites several people may know, and the share of those among the made-up ones.
KNOWN_SITES, KNOWN = 8_000, 0.6
# The share of addresses that are typed from "www." on, and of the others those that lack the end, too.
IN_FULL, FAMOUS_BARE, MADE_BARE = 0.07, 0.9, 0.4
# Shares of made-up sites: named after a noun, with a word before it, and with a word behind it; and those not in .com.
AFTER_NOUN, BEFORE, BEHIND, ELSEWHERE = 0.5, 0.5, 0.6, 0.08


@dataclass(frozen=True, eq=False)
class Visits:
    """Queries for a site.

    Parameters
    ----------
    text
        The pieces of what is typed: five of them.
    main
        The pieces of the site's name in its address.
    site
        The piece of the site's name, if it is not made up.
    """

    text: Ints64
    main: Ints64
    site: Ints64

    @classmethod
    def draw(cls, terms: Terms, rng: np.random.Generator, topic: Ints64) -> Visits:
        """Draw a site that is searched for, for each entry of `topic`: by its name, or its address more or less in full."""
        count = len(topic)
        kind = rng.random(count)
        famous = terms.first("any sites") + skewed(rng, terms.count("any sites"), power=3, shape=count)
        of_topic = draw_terms(terms, rng, "sites", topic, power=2)
        made = kind >= FAMOUS + OF_TOPIC
        site = np.where(made, NOTHING, np.where(kind < FAMOUS, famous, of_topic))
        main = np.where(made[:, None], _made_up(terms, rng, topic), NOTHING)
        in_full = some(rng, IN_FULL, count)
        bare = ~in_full & (rng.random(count) < np.where(made, MADE_BARE, FAMOUS_BARE))
        text = np.zeros((count, 5), dtype=np.int64)
        text[:, 0] = np.where(in_full, terms.first("www"), NOTHING)
        text[:, 1:4] = main
        text[:, 1] += np.where(bare, site, terms.glued[site])
        main[:, 0] += terms.glued[site]
        text[:, 4] = np.where(bare, NOTHING, endings(terms, main))
        return cls(text, main, site)


def _made_up(terms: Terms, rng: np.random.Generator, topic: Ints64) -> Ints64:
    """Draw made-up sites; the better known ones are of any topic."""
    count = len(topic)
    known = some(rng, KNOWN, count)
    popular = skewed(rng, KNOWN_SITES, power=2, shape=count)
    number = np.where(known, popular, KNOWN_SITES + skewed(rng, 1 << 30, power=1, shape=count))
    topic = np.where(known, (len(terms.topics) * scrambled(number, salt=1)).astype(np.int64), topic)
    is_noun = scrambled(number, salt=2) < AFTER_NOUN
    noun, thing = (_pick(terms, name, number, topic) for name in ("nouns", "things"))
    before, behind = decorations(terms, number)
    return np.stack([before, terms.glued[np.where(is_noun, noun, thing)], behind], axis=1)


def decorations(terms: Terms, key: Ints64) -> tuple[Ints64, Ints64]:
    """Return the pieces before and behind a thing in the name of the made-up site that belongs to a key."""
    how = scrambled(key, salt=4)
    everywhere = np.zeros_like(key)
    before, behind = (_pick(terms, name, key, everywhere) for name in ("site_words", "site_ends"))
    return np.where(how < BEFORE, before, NOTHING), np.where(how >= 1 - BEHIND, behind, NOTHING)


def endings(terms: Terms, name: Ints64) -> Ints64:
    """Return the piece that an address with this name ends in: mostly .com, and nothing if the name has its own."""
    kind = scrambled(name.sum(axis=1), salt=5)
    elsewhere = (kind < ELSEWHERE) & (name[:, 1:] != NOTHING).any(axis=1)
    ending = terms.first("after") + np.where(elsewhere, 1 + (kind < ELSEWHERE / 3), 0)
    return np.where(terms.dotted[name[:, 0]], NOTHING, ending)


def _pick(terms: Terms, name: str, key: Ints64, topic: Ints64) -> Ints64:
    """Return the piece of a topic's list that belongs to a key."""
    place = (terms.size[name][topic] * scrambled(key, salt=len(name))).astype(np.int64)
    return terms.start[name][topic] + place
