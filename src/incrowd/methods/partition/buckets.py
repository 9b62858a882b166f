"""One split of Partition: which rows go into which bucket when a node is expanded.

Subroutines `distribute_data` and `balance_partitions` of Algorithm 1 in Y. He and J. F. Naughton, "Anonymization of Set-Valued
Data via Top-Down, Local Generalization", PVLDB 2(1), 2009, section 4.1.

A row's bucket is the set of the node's children that it hits, that is, has items below. Only buckets that occur exist; the
2^f - 1 possible ones are never enumerated. Buckets are numbered from 0 in order of their first row; the leftover partition,
which keeps the old cut, has the number after the last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from incrowd.core.types import Ints32, Ints64, Words64
from incrowd.kernels.arrays import Rows, Tree, first_at_least
from incrowd.kernels.jit import helper, kernel

__all__ = [
    "NONE",
    "Balance",
    "Hits",
    "Scratch",
    "balance",
    "children_hit",
    "hit_children",
    "largest_part",
    "scratch",
    "split",
]


NONE = -1
SMALL_TABLE = 64
HASH_START = 1469598103934665603
HASH_STEP = 1099511628211


class Scratch(NamedTuple):
    """Arrays for one split, allocated once; rows are numbered from the start of their partition."""

    sequence: Ints32  # the children that each row hits, row after row
    sequence_start: Ints64
    own_gain: Ints64
    bucket: Ints32
    table: Ints32
    key: Words64
    size: Ints64
    first: Ints64
    total_gain: Ints64
    place: Ints64
    moved: Ints64
    waiting: Ints32


@helper
def scratch(rows: int, items: int) -> Scratch:
    """Allocate the arrays for a partition of that many rows and items."""
    table = SMALL_TABLE
    while table < 4 * rows:
        table *= 2
    return Scratch(
        np.empty(items, np.int32),
        np.empty(rows + 1, np.int64),
        np.empty(rows, np.int64),
        np.empty(rows, np.int32),
        np.empty(table, np.int32),
        np.empty(rows + 1, np.uint64),
        np.empty(rows + 1, np.int64),
        np.empty(rows + 1, np.int64),
        np.empty(rows + 1, np.int64),
        np.empty(rows + 2, np.int64),
        np.empty(rows, np.int64),
        np.empty(items + 1, np.int32),
    )


class Hits(NamedTuple):
    """The children of a node that each row hits: row i of a list those in ``children[start[i]:start[i + 1]]``, and its gain."""

    start: Ints64
    children: Ints32
    gain: Ints64


@kernel
def hit_children(rows: Rows, tree: Tree, order: Ints64, node: int) -> Hits:
    """Return which children of `node` the rows listed in `order` hit, and what each row gains if `node` is expanded."""
    items = 0
    for row in order:
        items += rows.start[row + 1] - rows.start[row]
    hits = Hits(np.empty(len(order) + 1, np.int64), np.empty(items, np.int32), np.empty(len(order), np.int64))
    _hit_children(rows, tree, order, node, hits)
    return Hits(hits.start, hits.children[: hits.start[-1]].copy(), hits.gain)


@helper
def _hit_children(rows: Rows, tree: Tree, order: Ints64, node: int, hits: Hits) -> None:
    """Write down for each row which children of `node` it hits, and what it gains if `node` is expanded."""
    start, leaf, times, weights = rows.start, rows.leaf, rows.times, tree.weight
    sequence, sequence_start, own_gain = hits.children, hits.start, hits.gain
    first, last, weight = tree.first_leaf[node], tree.last_leaf[node], weights[node]
    child_above = tree.way[tree.depth[node] + 1]
    filled = 0
    for i in range(len(order)):
        row = order[i]
        stop = start[row + 1]
        at = first_at_least(leaf, start[row], stop, first)
        sequence_start[i] = filled
        gain, child, gained = 0, -1, 0
        while at < stop and leaf[at] < last:
            if child_above[leaf[at]] != child:
                child = child_above[leaf[at]]
                gained = weight - weights[child]
                sequence[filled] = child
                filled += 1
            gain += gained * times[at]
            at += 1
        own_gain[i] = gain
    sequence_start[len(order)] = filled


@helper
def _same_children(sequence: Ints32, sequence_start: Ints64, a: int, b: int) -> bool:
    """Return whether two rows hit the same children."""
    start_a, start_b = sequence_start[a], sequence_start[b]
    length = sequence_start[a + 1] - start_a
    if sequence_start[b + 1] - start_b != length:
        return False
    for i in range(length):
        if sequence[start_a + i] != sequence[start_b + i]:
            return False
    return True


@helper
def _fill_buckets(rows: int, work: Scratch) -> int:
    """Assign numbers to the sets of children that occur, in order of their first row; return how many there are.

    The hash table grows with the number of buckets, which is small, so that it stays in the processor's cache.
    """
    table, key, sequence, sequence_start = work.table, work.key, work.sequence, work.sequence_start
    first, size, total_gain, bucket_of, own_gain = (
        work.first,
        work.size,
        work.total_gain,
        work.bucket,
        work.own_gain,
    )
    mask, buckets = SMALL_TABLE - 1, 0
    _rehash(table, key, mask, 0)
    for i in range(rows):
        wanted = np.uint64(HASH_START)
        for at in range(sequence_start[i], sequence_start[i + 1]):
            wanted = (wanted ^ np.uint64(sequence[at])) * np.uint64(HASH_STEP)
        wanted ^= wanted >> np.uint64(29)
        slot = np.int64(wanted & np.uint64(mask))
        while table[slot] >= 0 and not (
            key[table[slot]] == wanted and _same_children(sequence, sequence_start, first[table[slot]], i)
        ):
            slot = (slot + 1) & mask
        bucket = table[slot]
        if bucket < 0:
            bucket = buckets
            table[slot] = bucket
            key[bucket], first[bucket], size[bucket], total_gain[bucket] = wanted, i, 0, 0
            buckets += 1
            if 2 * buckets > mask:
                mask = 2 * mask + 1
                _rehash(table, key, mask, buckets)
        bucket_of[i] = bucket
        size[bucket] += 1
        total_gain[bucket] += own_gain[i]
    return buckets


@helper
def _rehash(table: Ints32, key: Words64, mask: int, buckets: int) -> None:
    """Put the buckets into a table of `mask` + 1 slots."""
    for slot in range(mask + 1):
        table[slot] = -1
    for bucket in range(buckets):
        place = np.int64(key[bucket] & np.uint64(mask))
        while table[place] >= 0:
            place = (place + 1) & mask
        table[place] = bucket


class Balance(NamedTuple):
    """What becomes of the buckets of a split.

    Parameters
    ----------
    left
        The rows of the leftover partition in the end: none, or at least k.
    missing
        How many of them are rows of least gain from buckets of more than k rows.
    dissolved
        The bucket of at least k rows whose rows all go there; `NONE` if none has to.
    """

    left: int
    missing: int
    dissolved: int


def balance(size: Ints64, gain: Ints64, rows: int, k: int) -> Balance:
    """Decide how the leftover partition gets k rows, if any: from buckets that can spare them, else a whole bucket.

    Buckets of fewer than k rows are left over in any case, be they in the list or not. The bucket that is dissolved is the
    one whose rows gain least, the first of equal ones.

    Parameters
    ----------
    size, gain
        The rows of each bucket and what they gain together, in the order of the buckets' first rows.
    rows
        How many rows are split.
    k
        The least size of a part.
    """
    left, surplus, least = rows, 0, NONE
    for bucket in range(len(size)):
        if size[bucket] >= k:
            left -= size[bucket]
            surplus += size[bucket] - k
            if least == NONE or gain[bucket] < gain[least]:
                least = bucket
    if left == 0 or left >= k:
        return Balance(left, 0, NONE)
    if surplus >= k - left:
        return Balance(k, k - left, NONE)
    return Balance(left + size[least], 0, least)


_compiled_balance = helper(balance)


@helper
def _balance(rows: int, buckets: int, k: int, work: Scratch) -> None:
    """Move rows to the leftover partition (bucket number `buckets`) as :func:`balance` decides."""
    bucket_of, size = work.bucket, work.size
    decided = _compiled_balance(size[:buckets], work.total_gain[:buckets], rows, k)
    for i in range(rows):
        if size[bucket_of[i]] < k or bucket_of[i] == decided.dissolved:
            bucket_of[i] = buckets
    size[buckets] = decided.left - decided.missing
    if decided.dissolved != NONE:
        size[decided.dissolved] = 0
    if decided.missing > 0:
        _move_least_gains(rows, buckets, k, work)


@helper
def _sink(heap: Ints64, length: int, at: int, gain: Ints64) -> None:
    """Restore the heap order (least gain first, then input order) below position `at`."""
    while True:
        child = 2 * at + 1
        if child >= length:
            return
        other = child + 1
        if other < length and (gain[heap[other]], heap[other]) < (gain[heap[child]], heap[child]):
            child = other
        if (gain[heap[at]], heap[at]) < (gain[heap[child]], heap[child]):
            return
        heap[at], heap[child] = heap[child], heap[at]
        at = child


@helper
def _move_least_gains(rows: int, buckets: int, k: int, work: Scratch) -> None:
    """Move rows of least own gain to the leftover partition, ties in input order, until it has k.

    Only buckets of more than k rows give any.
    """
    heap, length = work.moved, 0
    for i in range(rows):
        if work.bucket[i] < buckets:
            heap[length] = i
            length += 1
    for at in range(length // 2 - 1, -1, -1):
        _sink(heap, length, at, work.own_gain)
    while work.size[buckets] < k:
        i = heap[0]
        length -= 1
        heap[0] = heap[length]
        _sink(heap, length, 0, work.own_gain)
        if work.size[work.bucket[i]] > k:
            work.size[work.bucket[i]] -= 1
            work.size[buckets] += 1
            work.bucket[i] = buckets


@helper
def _reorder(order: Ints64, buckets: int, k: int, work: Scratch) -> None:
    """Put the rows of each part together in `order`, the leftover partition last, input order kept within each."""
    place = 0
    for bucket in range(buckets + 1):
        work.place[bucket] = place
        if bucket == buckets or work.size[bucket] >= k:
            place += work.size[bucket]
    work.place[buckets + 1] = place
    bucket_of, places, moved = work.bucket, work.place, work.moved
    for i in range(len(order)):
        bucket = bucket_of[i]
        moved[places[bucket]] = order[i]
        places[bucket] += 1
    for i in range(len(order)):
        order[i] = moved[i]


@helper
def split(rows: Rows, tree: Tree, order: Ints64, node: int, k: int, work: Scratch) -> int:
    """Expand `node` for the rows listed in `order`; put the rows of each part together there, the leftover partition last.

    Afterwards part b (of those with ``work.size[b] >= k``) is ``order[work.place[b] - work.size[b] :
    work.place[b]]``. Returns the number of buckets, which is also the number of the leftover partition.
    """
    _hit_children(rows, tree, order, node, Hits(work.sequence_start, work.sequence, work.own_gain))
    buckets = _fill_buckets(len(order), work)
    _balance(len(order), buckets, k, work)
    _reorder(order, buckets, k, work)
    return buckets


@helper
def largest_part(buckets: int, k: int, work: Scratch) -> int:
    """Return the part with the most rows."""
    largest = buckets
    for bucket in range(buckets):
        if work.size[bucket] >= k and work.size[bucket] > work.size[largest]:
            largest = bucket
    return largest


@helper
def children_hit(bucket: int, buckets: int, work: Scratch) -> Ints32:
    """Return the children that the rows of a bucket hit; none for the leftover partition."""
    if bucket == buckets:
        return work.sequence[:0]
    first = work.first[bucket]
    return work.sequence[work.sequence_start[first] : work.sequence_start[first + 1]]
