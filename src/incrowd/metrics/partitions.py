"""Change of user groups (L): how differently users cluster by their original and by their published logs.

Users are clustered by the distances of their original logs, and again by those of their published logs; L is the
distance of the two partitions (Batet et al., Information Sciences 2013, section 5.1, equations 8 and 9). The paper
does not say how clusters are merged. Here it is by Ward's criterion, because the Calinski-Harabasz index that chooses
their number uses the same sums of squares, and both are defined for any distance:

    S(A) = the sum of d^2 over the pairs of users in A, divided by the number of users in A

For Euclidean distances this is the sum of squares about A's mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import fsum, log2
from typing import NamedTuple

import msgspec
import numpy as np

from incrowd.core.types import Bools, Floats, Ints64
from incrowd.errors import BadInputError, check_least

__all__ = [
    "Distances",
    "InformationLoss",
    "Logs",
    "Merges",
    "best_number",
    "calinski_harabasz",
    "cut",
    "hierarchy",
    "information_loss",
    "partition_distance",
]

SAMPLE = 2_000  # the most users that are clustered: time and memory grow with their square
USERS_A_CLUSTER = (10, 50)  # at least and at most, on average; the paper has 80 clusters of 1,000 users
ROUNDING = 1e-9  # indices that differ by a smaller share are equal

Distances = Callable[[Ints64], Floats]


class Logs(NamedTuple):
    """The input of a clustering: the distances of users' logs.

    Parameters
    ----------
    distance
        The square matrix of distances between all users, or a function that makes it for some users, given
        ascending. Distances of users without a log, and those below the diagonal, are not read.
    empty
        Which users have no log with any concept, or are withheld.
    """

    distance: Floats | Distances
    empty: Bools


class InformationLoss(msgspec.Struct, frozen=True):
    """How differently users cluster by what is published of them.

    Parameters
    ----------
    loss
        L, from 0 (the same partition) to 100.
    clusters, published_clusters
        How many clusters the originals and the published logs have. The latter are fewer where there are fewer
        different logs.
    users
        How many users were clustered: all, or the sample.
    """

    loss: float
    clusters: int
    published_clusters: int
    users: int


class Merges(NamedTuple):
    """A hierarchy of clusters: at each step those of the users ``one`` and ``other`` become one.

    ``growth`` is what the sum of S over all clusters grows by, ascending.
    """

    one: Ints64
    other: Ints64
    growth: Floats

    @property
    def users(self) -> int:
        """How many users the hierarchy is of."""
        return len(self.growth) + 1

    @property
    def distinct(self) -> int:
        """How many clusters there are when all users at distance 0 are together."""
        return self.users - int(np.count_nonzero(self.growth == 0))


def information_loss(
    original: Logs,
    published: Logs,
    rng: np.random.Generator,
    *,
    sample: int | None = SAMPLE,
    clusters: int | None = None,
) -> InformationLoss:
    """Return L, the distance between the clusters of the originals and those of the published logs.

    Parameters
    ----------
    original, published
        The logs of the same users, in the same order.
    rng
        Draws the users where there are more than `sample`.
    sample
        How many users are clustered at most; None: all.
    clusters
        Into how many clusters both are cut; None: the best number for the originals.

    Notes
    -----
    Users with an empty log make up one cluster, counted among `clusters`.
    """
    total = len(original.empty)
    if len(published.empty) != total:
        raise BadInputError(
            f"published must have the {total:,} users of original (got {len(published.empty):,})"
        )
    for name, value in (("sample", sample), ("clusters", clusters)):
        if value is not None:
            check_least(name, value)
    users = np.arange(total)
    if sample is not None and total > sample:
        users = np.sort(rng.choice(total, sample, replace=False))
    before = _partition(original, users, clusters)
    number = len(np.unique(before))
    after = _partition(published, users, number if clusters is None else clusters)
    return InformationLoss(
        loss=100 * partition_distance(before, after),
        clusters=number,
        published_clusters=len(np.unique(after)),
        users=len(users),
    )


def _partition(logs: Logs, users: Ints64, clusters: int | None) -> Ints64:
    """Return the cluster of each of the users; those without a log are one."""
    empty = logs.empty[users]
    filled = users[~empty]
    cluster = np.full(len(users), -1, dtype=np.int64)
    if len(filled):
        merges = hierarchy(_upper_triangle(logs.distance, filled))
        number = best_number(merges) if clusters is None else clusters - int(empty.any())
        cluster[~empty] = cut(merges, number)
    return cluster


def _upper_triangle(distance: Floats | Distances, users: Ints64) -> Floats:
    """Return the symmetric matrix of some users' distances that the upper triangle makes."""
    found = distance(users) if callable(distance) else distance[np.ix_(users, users)]
    if found.shape != (len(users), len(users)):
        raise BadInputError(f"distance must be a square of {len(users):,} users (got {found.shape})")
    upper = np.triu(found, 1).astype(np.float64, copy=False)
    upper += upper.T.copy()
    if not np.isfinite(upper).all() or (upper < 0).any():
        raise BadInputError("distance must be finite and at least 0 for users who have a log")
    return upper


def hierarchy(distance: Floats) -> Merges:
    """Cluster by Ward's criterion: merge the two clusters A and B whose S(A u B) - S(A) - S(B) is least.

    Which of equally good merges comes first depends on the order of the users, and on nothing else.

    Parameters
    ----------
    distance
        A symmetric matrix of finite distances, of one user at least.

    Notes
    -----
    The growth of a cluster C with A u B follows from those with A and B (see ``_merge``). This is algebra of the
    sums above, no geometry: it holds for any distance (Batagelj, "Generalized Ward and related clustering
    problems", 1988).

    A chain goes from a cluster to its nearest one, to the nearest of that, and so on, until two are nearest to each
    other. These two may merge at once, even if others are nearer: if A and B are nearest to each other, A u B is no
    nearer to any C than the nearer of A and B was, so the rest of the chain stays valid, and growths never shrink from
    merge to merge. A merge takes two clusters off the chain and makes one: time and memory are quadratic
    (Murtagh, 1983; Muellner, arXiv:1109.2378). Sorted by growth, the merges are those of the plain algorithm. A
    cluster is named by one of its users, so any order of the merges makes a tree.
    """
    growth_with = np.square(distance) / 2
    np.fill_diagonal(growth_with, np.inf)
    users = len(growth_with)
    size = np.ones(users)
    one, other = np.empty((2, users - 1), dtype=np.int64)
    growth = np.empty(users - 1)
    chain: list[int] = []
    for step in range(users - 1):
        _follow(chain, growth_with, size)
        first, second = sorted((chain.pop(), chain.pop()))
        one[step], other[step], growth[step] = first, second, growth_with[first, second]
        _merge(growth_with, size, first, second)
    order = np.argsort(growth, kind="stable")
    return Merges(one[order], other[order], growth[order])


def _follow(chain: list[int], growth_with: Floats, size: Floats) -> None:
    """Go from cluster to nearest cluster until the last two of the chain are nearest to each other."""
    if not chain:
        chain.append(int(np.argmax(size > 0)))
    while True:
        row = growth_with[chain[-1]]
        nearest = int(row.argmin())
        # On a tie go back, or the chain would never end.
        if len(chain) > 1 and row[chain[-2]] <= row[nearest]:
            return
        chain.append(nearest)


def _merge(growth_with: Floats, size: Floats, one: int, other: int) -> None:
    """Merge another cluster into one, and remove it from the search.

    g(A u B, C) = ((|A| + |C|) g(A, C) + (|B| + |C|) g(B, C) - |C| g(A, B)) / (|A| + |B| + |C|)
    """
    ours = (size[one] + size) * growth_with[one]
    theirs = (size[other] + size) * growth_with[other]
    both = (ours + theirs - size * growth_with[one, other]) / (size[one] + size[other] + size)
    growth_with[one] = growth_with[:, one] = both
    growth_with[other] = growth_with[:, other] = np.inf
    size[one] += size[other]
    size[other] = 0


def cut(merges: Merges, clusters: int) -> Ints64:
    """Return the cluster of each user when the hierarchy is cut into this many (at least one).

    Users at distance 0 stay together, so there may be fewer clusters.
    """
    cluster = np.arange(merges.users)
    steps = merges.users - min(clusters, merges.distinct)
    for one, other in zip(merges.one[:steps], merges.other[:steps], strict=True):
        cluster[cluster == cluster[other]] = cluster[one]
    return np.unique(cluster, return_inverse=True)[1].astype(np.int64)


def best_number(merges: Merges) -> int:
    """Return the number of clusters with the greatest Calinski-Harabasz index, the least of equally good ones.

    Numbers are tried that make clusters of 10 to 50 users on average, 2 at least, and fewer than there are
    different users; these are the clusters where there are no more than two. Without the bounds the index
    prefers 2 clusters of query logs, and then L is a matter of chance more than of the release.
    """
    least_users, most_users = USERS_A_CLUSTER
    most = min(max(2, merges.users // least_users), merges.distinct - 1)
    if most <= 1:
        return merges.distinct
    fewest = min(max(2, merges.users // most_users), most)
    index = calinski_harabasz(merges)[fewest : most + 1]
    return fewest + int(np.argmax(index >= index.max() * (1 - ROUNDING)))


def calinski_harabasz(merges: Merges) -> Floats:
    """Return the index of the cuts into 0, 1, 2, ... clusters; NaN where it is not defined.

    Notes
    -----
    With m users in c clusters, SSW the sum of S over the clusters and SST the S of all users together::

        index(c) = ((SST - SSW) / (c - 1)) / (SSW / (m - c))

    For Euclidean distances it is the variance ratio criterion (Calinski and Harabasz, "A dendrite method for
    cluster analysis", 1974, who derive it from mean squared distances), for others the pseudo F ratio of
    Anderson ("A new method for non-parametric multivariate analysis of variance", 2001).
    """
    users = merges.users
    within = np.concatenate((np.cumsum(merges.growth)[::-1], [0.0]))  # SSW of 1, 2, ... clusters
    index = np.full(users + 1, np.nan)
    number = np.arange(2, merges.distinct)  # from there on SSW is 0
    ssw = within[number - 1]
    index[number] = ((within[0] - ssw) / (number - 1)) / (ssw / (users - number))
    return index


def partition_distance(one: Ints64, other: Ints64) -> float:
    """Return how far two partitions of the same things are apart, from 0 to 1 (equation 8).

    It is a metric: the share of the information in both partitions that each has without the other
    (Lopez de Mantaras, "A distance-based attribute selection measure for decision tree induction", 1991).

    Parameters
    ----------
    one, other
        The part of each thing.
    """
    a, b = one.tolist(), other.tolist()
    joint = _information(list(zip(a, b, strict=True)))
    if joint == 0:
        return 0.0
    return min(max((2 * joint - (_information(a) + _information(b))) / joint, 0.0), 1.0)


def _information(parts: list[int] | list[tuple[int, int]]) -> float:
    """Return the average information of a partition, - sum p log2 p; the parts' order does not matter."""
    shares = [size / len(parts) for size in Counter[int | tuple[int, int]](parts).values()]
    return -fsum(share * log2(share) for share in shares)
