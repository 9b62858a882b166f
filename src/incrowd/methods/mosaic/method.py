"""Mosaic: every unit is cut into tiles, each held by at least k people, and nothing links one person's tiles.

Our own method; docs/papers/mosaic.md defines it and proves the promise. The floor decides what every item is published as,
joining makes larger tiles of those that occur together, and two steps around the joining raise what is kept: sets that long
units share come first, and units are repacked with the tiles that then exist.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.core.ragged import count_distinct, filtered_starts, list_ids, starts_of, take_lists
from incrowd.core.rounding import keyed_share, rounded_from
from incrowd.core.thresholds import parse_thresholds, parse_weights, spell_thresholds, spell_weights
from incrowd.core.tiles import Tiles
from incrowd.core.transactions import Transactions
from incrowd.core.types import Bools, Ints32, Ints64, Progress
from incrowd.errors import BadInputError, check_count, option
from incrowd.methods.mosaic.contents import (
    by_row,
    content_words,
    count_holders,
    count_label_owners,
    distinct_labels,
    mixed_words,
)
from incrowd.methods.mosaic.cover import Cover, Labels, People, cover_of, tiles_in_order
from incrowd.methods.mosaic.floor import WITHHELD, floor, kinds_of
from incrowd.methods.mosaic.join import AFTER_ROWS, join
from incrowd.methods.mosaic.needs import Needs, needs_of
from incrowd.methods.mosaic.repack import repack
from incrowd.methods.mosaic.rows import take_rows
from incrowd.taxonomy.tree import Taxonomy

__all__ = ["check_mosaic", "mosaic"]

PEOPLE_FOR_EACH_K = 10  # fewer people than this many times k are refused
NEARLY_EVERYBODY = 0.9  # a tile that more than this share of people hold says who lacks it
BEST_UP_TO = 5_000_000  # items of units, beyond which the default effort is joining alone
REPACKS = 2
AGED, AGED_FROM = 2, 14  # accounts must have been active on two days, where a log spans so many
LONGEST = {"user": 1_000, "record": 1_000}
LONGEST_PART = 50

Effort = Literal["fast", "best"]
Counts = Literal["exact", "rounded"]


class Units(NamedTuple):
    """The units as they are cut: the row of the transactions and the person behind each, and the labels that it has."""

    row: Ints64
    people: People
    cover: Cover
    node: Ints32  # of each label
    labels: Labels


class Counting(NamedTuple):
    """How people and units of tiles are counted and published."""

    k: int
    seed: int
    confidence: float
    cap: int
    counts: Counts


def mosaic(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    seed: int = 0,
    progress: Progress | None = None,
    confidence: float = 0.8,
    cap: int = 3,
    counts: Counts = "exact",
    longest: int | None = None,
    coarsest: float = 0.01,
    generalize: bool = True,
    effort: Effort | None = None,
    aged: int | None = None,
    thresholds: str = "",
    weights: str = "",
) -> Tiles:
    """Cut records into small sets of items, each held by at least k people.

    Parameters
    ----------
    transactions, taxonomy
        The units, and the tree that their items are attached to. How often a unit has an item does not matter.
    k, seed
        How many different people hold every tile; and a secret: with it the order in which people are held back could be foretold.
    progress
        Called with (steps done, steps in all).
    confidence
        At most this share of the people who hold a label hold any other label in the same tile; 1: no limit.
    cap
        How often one person counts in a tile's number of units, at most.
    counts
        Whether numbers are exact or rounded to k, k + 5, k + 10 and so on, up or down at random.
    longest
        Units with more labels than this are split at random. By default 50 for sessions and queries, 1,000 for people and records.
    coarsest
        The greatest share of the taxonomy's leaves that a published node may cover.
    generalize
        Whether items that fewer than k people have may be published as nodes above them; otherwise they are withheld.
    effort
        `fast` joins pairs only; `best`, the default up to five million items, does all.
    aged
        An account counts as one of k only if it was active on this many different days. By default 2 where a log spans two weeks.
    thresholds
        People that a tile with labels of some kinds needs beyond k, as ``url=10,query+url=25,place=50``.
    weights
        What a label of a kind counts beside a word, as ``url=2,week=0.5``, where tiles are joined.
    """
    aged = _days_needed(transactions, aged)
    needs = needs_of(taxonomy.kinds, k, parse_thresholds(thresholds), parse_weights(weights))
    place = partial(floor, tree=taxonomy, k=k, needs=needs, coarsest=coarsest, generalize=generalize)
    units, withheld = _units(transactions, taxonomy, k, seed, needs, place, longest=longest, aged=aged)
    chosen = effort or ("best" if len(units.cover.tile) <= BEST_UP_TO else "fast")
    cover, held_back = _covered(units, k, confidence, chosen, progress or (lambda *_: None))
    counting = Counting(k, seed, confidence, cap, counts)
    tiles = _tiles(cover, units, transactions, taxonomy, counting, withheld)
    note = f"Joined labels with effort {chosen}: no join held back more than {held_back:,} people."
    spelled = {"thresholds": spell_thresholds(thresholds), "weights": spell_weights(weights)}
    return replace(tiles, notes=(note,), used={"aged": aged, **spelled})


def check_mosaic(
    *,
    confidence: float,
    cap: int,
    longest: int | None,
    coarsest: float,
    aged: int | None,
    thresholds: str,
    weights: str,
    **_: object,
) -> None:
    """Refuse parameters out of range."""
    parse_thresholds(thresholds)
    parse_weights(weights)
    if not 0 < confidence <= 1:
        raise BadInputError(f"confidence must be greater than 0 and at most 1 (got {confidence:g})")
    if not 0 <= coarsest <= 1:
        raise BadInputError(f"coarsest must be between 0 and 1 (got {coarsest:g})")
    for name, value, least in (("cap", cap, 1), ("longest", longest, 2), ("aged", aged, 1)):
        if value is not None:
            check_count(name, value, least)


def check_needs(kinds: Sequence[str], k: int, *, thresholds: str, weights: str, **_: object) -> None:
    """Refuse thresholds and weights that do not fit the kinds of items, or k."""
    needs_of(kinds, k, parse_thresholds(thresholds), parse_weights(weights))


def mosaic_rate(entries: int, *, effort: Effort | None, **_: object) -> float:
    """Return microseconds for each item of each unit, from grouping to auditing."""
    return 15.0 if effort == "best" or (effort is None and entries <= BEST_UP_TO) else 4.0


def _days_needed(data: Transactions, aged: int | None) -> int:
    """Return on how many days an account must have been active to count: more than one makes planted accounts dearer."""
    if data.activity is None:
        if aged is not None and aged > 1:
            raise BadInputError(
                f"aged {aged:,} needs times: choose a time column ({option('columns', {'time': 'NAME'})}) or aged 1"
            )
        return 1
    return aged or (AGED if data.activity.span >= AGED_FROM else 1)


def _units(
    data: Transactions,
    tree: Taxonomy,
    k: int,
    seed: int,
    needs: Needs,
    place: Callable[..., Ints32],
    *,
    longest: int | None,
    aged: int,
) -> tuple[Units, int]:
    """Sort the units by owner, place their items on the floor, and split those that are too long."""
    people, order = _people(data, tree, k, seed, aged)
    unit, leaf = _leaves(data, tree, order)
    node = place(unit, leaf, people=people)
    del leaf  # these arrays are the largest that there are
    kept = node != WITHHELD
    withheld = len(node) - int(np.count_nonzero(kept))
    unit, node = unit[kept], node[kept]
    left = distinct_labels(unit, node)  # two items of a unit that are published at one node are one label
    unit, node = unit[:left], node[:left]
    label_node, label, labels = _labels(unit, node, tree, people, needs, seed)
    limit = longest or LONGEST.get(data.unit, LONGEST_PART)
    row, owner_of, unit = _split_long(order, people, unit, label, limit, seed)
    people = people._replace(owner=owner_of)
    start = starts_of(np.bincount(unit, minlength=len(row)))
    return Units(row, people, cover_of(start, label, len(label_node)), label_node, labels), withheld


def _leaves(data: Transactions, tree: Taxonomy, order: Ints64) -> tuple[Ints64, Ints32]:
    """Return the items of rows in some order as leaves, and the place of the row of each in that order."""
    start, at = take_lists(data.indptr, order)
    leaf = tree.leaves_of(data.items[at])
    return list_ids(start), leaf


def _people(data: Transactions, tree: Taxonomy, k: int, seed: int, aged: int) -> tuple[People, Ints64]:
    """Return the people, numbered by a keyed hash, and the rows that hold anything in the order of owner and content.

    People who were active on fewer days than `aged` hold tiles, and do not count.

    Neither depends on the order of the input, so nothing that is made of the units in their order does.
    """
    names = data.owners if data.people is None else data.people
    filled = np.flatnonzero(np.diff(data.indptr))
    number, first, person = np.unique(data.person[filled], return_index=True, return_inverse=True)
    place = _hash_order(names.take(pa.array(filled[first])).to_pylist(), seed)
    counts = np.empty(len(number), np.bool_)
    counts[place] = _counting(data, filled[first], aged)
    _check_many(int(np.count_nonzero(counts)), k, aged)
    owner = place[person]
    leaf_of = tree.leaves_of(np.arange(len(data.vocabulary), dtype=np.int32))
    order = np.lexsort((content_words(data.indptr, data.items, leaf_of)[filled], owner))
    rank = np.arange(len(number), dtype=np.int32)
    return People(owner[order], counts, rank), filled[order]


def _counting(data: Transactions, rows: Ints64, aged: int) -> Bools:
    """Tell which people count, given a row of each."""
    if data.activity is None:
        return np.ones(len(rows), np.bool_)
    active: Bools = data.activity.days[rows] >= aged
    return active


def check_people(data: Transactions, *, k: int, aged: int | None, **_: object) -> None:
    """Refuse data of too few people, as `mosaic` does, before anything is computed."""
    filled = np.flatnonzero(np.diff(data.indptr))
    first = np.unique(data.person[filled], return_index=True)[1]
    needed = _days_needed(data, aged)
    _check_many(int(np.count_nonzero(_counting(data, filled[first], needed))), k, needed)


def _check_many(found: int, k: int, aged: int) -> None:
    """Refuse fewer people than ten times k: most tiles would be everybody's, or nobody's."""
    if found < PEOPLE_FOR_EACH_K * k:
        active = f" who were active on {aged:,} days or more (aged)" if aged > 1 else ""
        raise BadInputError(
            f"mosaic needs at least {PEOPLE_FOR_EACH_K} k = {PEOPLE_FOR_EACH_K * k:,} people{active} (found {found:,}): "
            "use a smaller k or more data"
        )


def _hash_order(names: list[str], seed: int) -> Ints32:
    """Return the place of each person in an order that only who knows the seed can foretell."""
    keyed = hashlib.blake2b(digest_size=8, key=seed.to_bytes(8, "big"))
    digests = np.frombuffer(b"".join([_digest(keyed, name) for name in names]), ">u8")
    place = np.empty(len(names), dtype=np.int32)
    place[np.argsort(digests, kind="stable")] = np.arange(len(names), dtype=np.int32)
    return place


def _digest(keyed: hashlib.blake2b, name: str) -> bytes:
    """Return the keyed hash of a name; a copy of the keyed state saves hashing the key again."""
    copy = keyed.copy()
    copy.update(name.encode())
    return copy.digest()


def _labels(
    unit: Ints64, node: Ints32, tree: Taxonomy, people: People, needs: Needs, seed: int
) -> tuple[Ints32, Ints32, Labels]:
    """Return the published nodes, numbered from the one that most units have; each occurrence's number; and what is known of them."""
    units = np.bincount(node, minlength=len(tree))
    nodes = np.argsort(-units, kind="stable")[: np.count_nonzero(units)].astype(np.int32)
    number = np.empty(len(tree), dtype=np.int32)
    number[nodes] = np.arange(len(nodes), dtype=np.int32)
    label = number[node]
    holders = count_label_owners(unit, label, people, len(nodes))
    words = np.random.default_rng([1, seed]).integers(0, 2**63, len(nodes), dtype=np.uint64)
    kinds = kinds_of(tree)[nodes]
    weight = needs.weight[np.log2(kinds).astype(np.int64)]
    known = Labels(tree.first_leaf[nodes], tree.last_leaf[nodes], holders, words, kinds, weight, needs)
    return nodes, label, known


def _split_long(
    order: Ints64, people: People, unit: Ints64, label: Ints32, longest: int, seed: int
) -> tuple[Ints64, Ints32, Ints64]:
    """Split units with more labels than `longest` at random; return the row and the owner of each part, and each label's part."""
    lengths = np.bincount(unit, minlength=len(order))
    parts = np.maximum(1, -(-lengths // longest))
    first_part = starts_of(parts)
    part = first_part[unit]
    long = np.flatnonzero((parts > 1)[unit])
    # The part follows from the person and the label alone, not from the order of the input.
    words = people.rank[people.owner[unit[long]]].astype(np.uint64) << np.uint64(32) | label[long].astype(
        np.uint64
    )
    part[long] += (
        mixed_words(words ^ np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64))
        % parts[unit[long]].astype(np.uint64)
    ).astype(np.int64)
    if len(long):  # else the parts are the units, in order
        again = np.argsort(part, kind="stable")
        label[:], part = label[again], part[again]
    of_part = list_ids(first_part)
    return order[of_part], people.owner[of_part], part


def _covered(
    units: Units, k: int, confidence: float, effort: Effort, progress: Progress
) -> tuple[Cover, int]:
    """Join labels into tiles."""
    cover, labels, people = units.cover, units.labels, units.people
    if effort == "fast":
        progress(0, 1)
        return join(cover, labels, people, k, confidence)
    threads = os.cpu_count() or 1
    steps = 2 + 2 * REPACKS
    progress(0, steps)
    cover = tiles_in_order(_with_rows(cover, labels, people, k, confidence, threads))
    progress(1, steps)
    cover, held_back = join(cover, labels, people, k, confidence, power=AFTER_ROWS)
    for step in range(REPACKS):
        progress(2 + 2 * step, steps)
        cover = repack(tiles_in_order(cover), units.cover, labels, people, confidence, threads=threads)
        progress(3 + 2 * step, steps)
        cover, more = join(tiles_in_order(cover), labels, people, k, confidence, power=AFTER_ROWS)
        held_back = max(held_back, more)
    return cover, held_back


def _with_rows(
    cover: Cover, labels: Labels, people: People, k: int, confidence: float, threads: int
) -> Cover:
    """Take sets that long units share; labels that only say when, where or with what are no reason for one."""
    context = labels.needs.is_context[labels.kinds][cover.label[cover.first[cover.tile]]]
    if not context.any():
        return take_rows(cover, labels, people, k, confidence, threads=threads)
    words = cover._replace(start=filtered_starts(cover.start, ~context), tile=cover.tile[~context])
    rows = take_rows(words, labels, people, k, confidence, threads=threads)
    unit = np.concatenate((rows.unit_of, cover.unit_of[context]))
    tile = np.concatenate((rows.tile, cover.tile[context]))  # a label alone keeps its number
    order = np.argsort(unit, kind="stable")
    start = starts_of(np.bincount(unit, minlength=len(cover.start) - 1))
    return rows._replace(start=start, tile=tile[order])


def _tiles(
    cover: Cover,
    units: Units,
    data: Transactions,
    tree: Taxonomy,
    how: Counting,
    withheld: int,
) -> Tiles:
    """Count the people and units of every tile, withhold those that nearly everybody holds, and find each row's tiles."""
    cover = tiles_in_order(cover)
    unit = cover.unit_of
    people, capped = count_holders(cover, units.people.owner, units.people.counts, how.cap)
    shown = people <= NEARLY_EVERYBODY * np.count_nonzero(units.people.counts)
    _withhold_sure(shown, cover, units.people, how.confidence)
    number = np.cumsum(shown) - 1
    visible = shown[cover.tile]
    withheld += int(cover.sizes[cover.tile[~visible]].sum())
    row, tile = units.row[unit[visible]], number[cover.tile[visible]].astype(np.int32)
    sizes = cover.sizes[shown]
    keep = np.repeat(shown, cover.sizes)
    start = starts_of(sizes)
    nodes = units.node[cover.label[keep]]
    nodes = nodes[np.lexsort((nodes, list_ids(start)))]
    people, capped = people[shown], capped[shown]
    if how.counts == "rounded":
        people, capped = _rounded((people, capped), start, nodes, tree, how)
    return Tiles(
        start,
        nodes,
        people,
        capped,
        *by_row(row, tile, len(data)),
        withheld,
    )


def _withhold_sure(shown: Bools, cover: Cover, people: People, confidence: float) -> None:
    """Withhold more tiles until those that are left keep to the confidence: each that is withheld takes holders from its labels."""
    tile_of, owner_of = list_ids(cover.first), people.owner[cover.unit_of]
    fewer = np.unique(cover.label[~shown[tile_of]]) if confidence < 1 else np.empty(0, np.int32)
    while len(fewer):
        label, fewer = fewer[0], fewer[1:]
        with_label = np.zeros(len(shown), dtype=np.bool_)
        with_label[tile_of[cover.label == label]] = True
        at = np.flatnonzero((with_label & shown)[cover.tile] & people.counts[owner_of])
        start, take = take_lists(cover.first, cover.tile[at].astype(np.int64))
        together = count_distinct(
            cover.label[take], np.repeat(owner_of[at], np.diff(start)), int(cover.label.max()) + 1
        )
        sure = np.flatnonzero(together > confidence * together[label])
        sure = sure[sure != label]
        with_sure = np.zeros(len(shown), dtype=np.bool_)
        with_sure[tile_of[np.isin(cover.label, sure)]] = True
        gone = with_label & with_sure & shown
        shown[gone] = False
        fewer = np.union1d(fewer, cover.label[gone[tile_of]])


def _rounded(
    numbers: tuple[Ints64, Ints64], start: Ints64, nodes: Ints32, tree: Taxonomy, how: Counting
) -> tuple[Ints64, Ints64]:
    """Round people and units by a keyed hash of what each tile says: it is rounded alike in every release of one seed."""
    labels = list(zip(tree.labels_of(nodes).to_pylist(), tree.is_leaf[nodes].tolist(), strict=True))
    shares = [keyed_share(how.seed, labels[first:last]) for first, last in pairwise(start.tolist())]
    people, units = (
        np.array(
            [rounded_from(how.k, *pair) for pair in zip(counted.tolist(), shares, strict=True)], np.int64
        )
        for counted in numbers
    )
    return people, units
