"""Addresses that people of a made-up log click: the site that they meant, a site of the topic, or one about the thing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from incrowd.core.types import Ints64
from incrowd.logs.synth.draws import powered, scrambled
from incrowd.logs.synth.queries import Queries
from incrowd.logs.synth.sites import decorations, endings
from incrowd.logs.synth.strings import join_rows
from incrowd.logs.synth.terms import NOTHING, Terms

__all__ = ["addresses"]

# Shares of results: a well-known site of the topic, one of anything, or (the rest) a site named after the thing.
OF_TOPIC, OF_ANYTHING = 0.30, 0.08


def addresses(
    terms: Terms, pieces: pa.StringArray, queries: Queries, query: Ints64, rank: Ints64
) -> pa.StringArray:
    """Return the address at a rank of a query's results, without the beginning that all addresses have.

    The same query and rank have the same address for everybody. What a query names, a site or a brand, comes first.

    Parameters
    ----------
    terms, pieces
        The terms, and their texts as far as `queries` needs them.
    queries
        The queries of a chunk.
    query, rank
        Which query, and which of its results, from 1 on.
    """
    key = queries.key[query] * 64 + rank
    named = (rank == 1) & (queries.known[query] | (queries.site[query] != NOTHING))
    site = terms.glued[np.where(named, queries.site[query], _known_site(terms, key, queries.topic[query]))]
    made_up = site == NOTHING
    before, behind = (np.where(made_up & ~named, piece, NOTHING) for piece in decorations(terms, key))
    name = np.zeros((len(query), 5), dtype=np.int64)
    name[:, 0] = np.where(made_up, before, site)
    name[:, 1:4] = np.where(made_up[:, None], queries.main[query], NOTHING)
    name[:, 4] = behind
    return join_rows(pieces, np.column_stack([name, endings(terms, name)]))


def _known_site(terms: Terms, key: Ints64, topic: Ints64) -> Ints64:
    """Return the well-known site that belongs to a key, or `NOTHING`."""
    kind = scrambled(key, salt=1)
    place = powered(scrambled(key, salt=2), 2)
    of_topic = terms.start["sites"][topic] + (terms.size["sites"][topic] * place).astype(np.int64)
    of_anything = terms.first("general_sites") + (terms.count("general_sites") * place).astype(np.int64)
    return np.where(kind < OF_TOPIC, of_topic, np.where(kind < OF_TOPIC + OF_ANYTHING, of_anything, NOTHING))
