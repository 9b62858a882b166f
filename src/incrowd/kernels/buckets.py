"""One split of Partition: which rows go where when a node is expanded (partition.txt, section 4.1).

A row's bucket is the set of the node's children that it hits. Only buckets that occur exist; the 2^f - 1
possible ones are never enumerated. Buckets are numbered from 0 in order of their first row; the leftovers,
who keep the old cut, have the number after the last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from incrowd.kernels.arrays import Rows, Tree, child_towards
from incrowd.kernels.jit import kernel

__all__ = ["Scratch", "children_hit", "first_at_least", "largest_part", "scratch", "split"]

Ints32 = npt.NDArray[np.int32]
Ints64 = npt.NDArray[np.int64]

HASH_START = 1469598103934665603
HASH_STEP = 1099511628211


class Scratch(NamedTuple):
    """Working space for one split; rows are numbered from the start of their partition."""

    sequence: Ints32  # the children that each row hits, row after row
    sequence_start: Ints64
    own_gain: Ints64
    bucket: Ints32
    table: Ints32
    size: Ints64
    first: Ints64
    total_gain: Ints64
    place: Ints64
    moved: Ints64


@kernel
def scratch(rows: int, items: int) -> Scratch:
    """Allocate working space for a partition of that many rows and items."""
    table = 1
    while table < 2 * rows:
        table *= 2
    return Scratch(
        np.empty(items, np.int32),
        np.empty(rows + 1, np.int64),
        np.empty(rows, np.int64),
        np.empty(rows, np.int32),
        np.empty(table, np.int32),
        np.empty(rows + 1, np.int64),
        np.empty(rows + 1, np.int64),
        np.empty(rows + 1, np.int64),
        np.empty(rows + 2, np.int64),
        np.empty(rows, np.int64),
    )


@kernel
def first_at_least(leaf: Ints32, low: int, high: int, wanted: int) -> int:
    """Return the first position in ``leaf[low:high]`` whose value is at least `wanted`."""
    while low < high:
        middle = (low + high) >> 1
        if leaf[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _hit_children(rows: Rows, tree: Tree, order: Ints64, node: int, work: Scratch) -> None:
    """Note for each row which children of `node` it hits, and what it gains if `node` is expanded."""
    filled = 0
    last = tree.last_leaf[node]
    weight = tree.weight[node]
    for i in range(len(order)):
        row = order[i]
        stop = rows.start[row + 1]
        at = first_at_least(rows.leaf, rows.start[row], stop, tree.first_leaf[node])
        work.sequence_start[i] = filled
        gain = 0
        while at < stop and rows.leaf[at] < last:
            child = child_towards(tree, node, rows.leaf[at])
            work.sequence[filled] = child
            filled += 1
            gained = weight - tree.weight[child]
            child_end = tree.last_leaf[child]
            while at < stop and rows.leaf[at] < child_end:
                gain += gained * rows.times[at]
                at += 1
        work.own_gain[i] = gain
    work.sequence_start[len(order)] = filled


@kernel
def _same_children(work: Scratch, a: int, b: int) -> bool:
    """Tell whether two rows hit the same children."""
    start_a, start_b = work.sequence_start[a], work.sequence_start[b]
    length = work.sequence_start[a + 1] - start_a
    if work.sequence_start[b + 1] - start_b != length:
        return False
    for i in range(length):
        if work.sequence[start_a + i] != work.sequence[start_b + i]:
            return False
    return True


@kernel
def _fill_buckets(rows: int, work: Scratch) -> int:
    """Give numbers to the sets of children that occur, in order of their first row; return how many there are."""
    mask = 1
    while mask < 2 * rows:
        mask *= 2
    work.table[:mask] = -1
    mask -= 1
    buckets = 0
    for i in range(rows):
        slot = np.uint64(HASH_START)
        for at in range(work.sequence_start[i], work.sequence_start[i + 1]):
            slot = (slot ^ np.uint64(work.sequence[at])) * np.uint64(HASH_STEP)
        slot ^= slot >> np.uint64(29)
        probe = np.int64(slot & np.uint64(mask))
        while work.table[probe] >= 0 and not _same_children(work, work.first[work.table[probe]], i):
            probe = (probe + 1) & mask
        if work.table[probe] < 0:
            work.table[probe] = buckets
            work.first[buckets] = i
            work.size[buckets] = 0
            work.total_gain[buckets] = 0
            buckets += 1
        bucket = work.table[probe]
        work.bucket[i] = bucket
        work.size[bucket] += 1
        work.total_gain[bucket] += work.own_gain[i]
    return buckets


@kernel
def _balance(rows: int, buckets: int, k: int, work: Scratch) -> None:
    """Send the rows of small buckets to the leftovers (bucket number `buckets`), and more until they are k.

    ALGORITHMS A.4 (partition.txt, balance_partitions): first the rows of least own gain from buckets that can
    spare them, else the whole bucket of least total gain.
    """
    left, surplus = 0, 0
    for bucket in range(buckets):
        if work.size[bucket] < k:
            left += work.size[bucket]
        else:
            surplus += work.size[bucket] - k
    for i in range(rows):
        if work.size[work.bucket[i]] < k:
            work.bucket[i] = buckets
    work.size[buckets] = left
    if left == 0 or left >= k:
        return
    if surplus >= k - left:
        _move_least_gains(rows, buckets, k, work)
    else:
        _dissolve_least_bucket(rows, buckets, k, work)


@kernel
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


@kernel
def _move_least_gains(rows: int, buckets: int, k: int, work: Scratch) -> None:
    """Move rows of least own gain to the leftovers, ties in input order, until the leftovers are k."""
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


@kernel
def _dissolve_least_bucket(rows: int, buckets: int, k: int, work: Scratch) -> None:
    """Move the whole bucket of least total gain to the leftovers; ties: the bucket that came first."""
    least = -1
    for bucket in range(buckets):
        if work.size[bucket] >= k and (least < 0 or work.total_gain[bucket] < work.total_gain[least]):
            least = bucket
    for i in range(rows):
        if work.bucket[i] == least:
            work.bucket[i] = buckets
    work.size[buckets] += work.size[least]
    work.size[least] = 0


@kernel
def _reorder(order: Ints64, buckets: int, k: int, work: Scratch) -> None:
    """Put each surviving bucket's rows together in `order`, leftovers last, input order kept within each."""
    place = 0
    for bucket in range(buckets + 1):
        work.place[bucket] = place
        if bucket == buckets or work.size[bucket] >= k:
            place += work.size[bucket]
    work.place[buckets + 1] = place
    rows = len(order)
    for i in range(rows):
        bucket = work.bucket[i]
        work.moved[work.place[bucket]] = order[i]
        work.place[bucket] += 1
    order[:] = work.moved[:rows]


@kernel
def split(rows: Rows, tree: Tree, order: Ints64, node: int, k: int, work: Scratch) -> int:
    """Expand `node` for the rows listed in `order`; put each part's rows together there, leftovers last.

    Afterwards part b (of those with ``work.size[b] >= k``) is ``order[work.place[b] - work.size[b] :
    work.place[b]]``. Returns the number of buckets, which is also the number of the leftovers.
    """
    _hit_children(rows, tree, order, node, work)
    buckets = _fill_buckets(len(order), work)
    _balance(len(order), buckets, k, work)
    _reorder(order, buckets, k, work)
    return buckets


@kernel
def largest_part(buckets: int, k: int, work: Scratch) -> int:
    """Return the part with the most rows."""
    largest = buckets
    for bucket in range(buckets):
        if work.size[bucket] >= k and work.size[bucket] > work.size[largest]:
            largest = bucket
    return largest


@kernel
def children_hit(bucket: int, buckets: int, work: Scratch) -> Ints32:
    """Return the children that a bucket's rows hit; none for the leftovers."""
    if bucket == buckets:
        return work.sequence[:0]
    first = work.first[bucket]
    return work.sequence[work.sequence_start[first] : work.sequence_start[first + 1]]
