"""Information loss by clusters, against the definitions, a plain algorithm and another library."""

from __future__ import annotations

from itertools import combinations
from math import inf, isnan, log2, nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform

from incrowd.errors import BadInputError
from incrowd.metrics.partitions import (
    Logs,
    best_number,
    calinski_harabasz,
    cut,
    hierarchy,
    information_loss,
    partition_distance,
)

# Distances and clusters by definition


def matrix_of(upper, users):
    """Return the symmetric matrix with the given values above the diagonal."""
    distance = np.zeros((users, users))
    distance[np.triu_indices(users, 1)] = upper
    return distance + distance.T


@st.composite
def matrices(draw, values, most=9):
    users = draw(st.integers(1, most))
    pairs = users * (users - 1) // 2
    return matrix_of(draw(st.lists(values, min_size=pairs, max_size=pairs)), users)


any_distance = matrices(st.floats(0, 10).map(lambda x: round(x, 3)))
many_ties = matrices(st.integers(0, 3).map(float))


def random_matrix(seed, users):
    """Return distances without ties that no points have."""
    return matrix_of(np.random.default_rng(seed).random(users * (users - 1) // 2), users)


def squares(distance, cluster):
    return sum(distance[a, b] ** 2 for a, b in combinations(sorted(cluster), 2)) / len(cluster)


def squares_within(distance, labels):
    return sum(squares(distance, np.flatnonzero(labels == label)) for label in np.unique(labels))


def as_sets(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)}


def clusterings_by_definition(distance):
    """Merge the two clusters whose union adds the least squares, each time computed anew."""
    clusters = [frozenset([user]) for user in range(len(distance))]
    yield set(clusters)
    while len(clusters) > 1:
        one, other = min(
            combinations(clusters, 2),
            key=lambda pair: (
                squares(distance, pair[0] | pair[1]) - squares(distance, pair[0]) - squares(distance, pair[1])
            ),
        )
        clusters = [cluster for cluster in clusters if cluster not in {one, other}] + [one | other]
        yield set(clusters)


# The hierarchy


@given(st.integers(0, 2**32), st.integers(1, 12))
def test_the_merges_are_those_of_the_plain_algorithm(seed, users):
    distance = random_matrix(seed, users)
    merges = hierarchy(distance)
    for left, clusters in zip(range(users, 0, -1), clusterings_by_definition(distance), strict=True):
        assert as_sets(cut(merges, left)) == clusters


@given(any_distance | many_ties)
def test_a_merge_adds_the_squares_that_it_says(distance):
    merges = hierarchy(distance)
    assert (np.diff(merges.growth) >= 0).all()
    assert merges.growth.min(initial=inf) >= 0
    for left in range(1, merges.distinct + 1):
        labels = cut(merges, left)
        assert len(np.unique(labels)) == left
        added = merges.growth[: merges.users - left].sum()
        assert added == pytest.approx(squares_within(distance, labels), abs=1e-9)


@pytest.mark.parametrize("users", [2, 50, 300])
def test_points_merge_as_in_another_library(users):
    points = np.random.default_rng(users).normal(size=(users, 3))
    merges = hierarchy(squareform(pdist(points)))
    expected = linkage(points, method="ward")
    np.testing.assert_allclose(np.sqrt(2 * merges.growth), expected[:, 2])


def test_the_distances_are_left_as_they_are():
    distance = random_matrix(1, 6)
    before = distance.copy()
    hierarchy(distance)
    assert (distance == before).all()


def test_users_at_distance_0_stay_together():
    place = np.array([0, 1, 0, 5, 1, 0])
    merges = hierarchy(np.abs(place[:, None] - place).astype(float))
    assert merges.distinct == 3
    assert cut(merges, 6).tolist() == cut(merges, 3).tolist() == [0, 1, 0, 2, 1, 0]
    assert cut(merges, 2).tolist() == [0, 0, 0, 1, 0, 0]


# The number of clusters


def variance_ratio(points, labels):
    """Return the index as it is for points, by their means."""
    groups = [points[labels == label] for label in np.unique(labels)]
    within = sum(((group - group.mean(axis=0)) ** 2).sum() for group in groups)
    between = sum(len(group) * ((group.mean(axis=0) - points.mean(axis=0)) ** 2).sum() for group in groups)
    return (between / (len(groups) - 1)) / (within / (len(points) - len(groups)))


def test_for_points_the_index_is_the_ratio_of_variances():
    points = np.random.default_rng(3).normal(size=(30, 4))
    merges = hierarchy(squareform(pdist(points)))
    index = calinski_harabasz(merges)
    assert len(index) == 31
    assert np.isnan(index[[0, 1, 30]]).all()
    for number in range(2, 30):
        assert index[number] == pytest.approx(variance_ratio(points, cut(merges, number)))


@given(any_distance | many_ties)
def test_the_index_is_what_its_formula_says(distance):
    merges = hierarchy(distance)
    users, total = len(distance), squares(distance, range(len(distance)))
    for number, index in enumerate(calinski_harabasz(merges)):
        if 2 <= number < merges.distinct:
            within = squares_within(distance, cut(merges, number))
            expected = ((total - within) / (number - 1)) / (within / (users - number))
            assert index == pytest.approx(expected, rel=1e-6, abs=1e-9)
        else:
            assert isnan(index)


def crowds(number, users):
    """Return the distances of users around so many places far from each other."""
    rng = np.random.default_rng(number)
    points = rng.normal(size=(users, 2)) + 100 * np.eye(number, 2 + number)[np.arange(users) % number, :2]
    points = np.hstack([points, 100.0 * np.eye(number)[np.arange(users) % number]])
    return squareform(pdist(points))


@pytest.mark.parametrize(("number", "users"), [(2, 40), (5, 100), (9, 100), (7, 300), (30, 300)])
def test_crowds_are_found(number, users):
    assert best_number(hierarchy(crowds(number, users))) == number


@pytest.mark.parametrize(("number", "users", "bound"), [(2, 300, 6), (3, 200, 4), (12, 100, 10), (5, 30, 3)])
def test_clusters_have_10_to_50_users_on_average(number, users, bound):
    assert best_number(hierarchy(crowds(number, users))) == bound


def test_of_equally_good_numbers_the_least_is_taken():
    users = 120  # from 2 to 12 clusters, and the index is 1 for all
    merges = hierarchy(0.7 * (1 - np.eye(users)))  # rounded, 8 clusters are best
    np.testing.assert_allclose(calinski_harabasz(merges)[2:users], 1)
    assert best_number(merges) == 2


@pytest.mark.parametrize(("places", "number"), [([0] * 5, 1), ([0], 1), ([0, 1], 2), ([0, 1] * 50, 2)])
def test_at_most_two_different_users_are_the_clusters(places, number):
    place = np.array(places)
    assert best_number(hierarchy(np.abs(place[:, None] - place).astype(float))) == number


def test_there_are_fewer_clusters_than_different_users():
    place = np.arange(600) % 5  # 12 at least, if the users differed
    assert best_number(hierarchy(np.abs(place[:, None] - place).astype(float))) == 4


# The distance of partitions


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([0, 0, 1, 1], [0, 1, 0, 1], 1.0),  # each says nothing of the other: (4 - 1 - 1) / 2
        ([0, 0, 1, 1], [0, 0, 1, 2], 1 / 3),  # (3 - 1 - 1.5) / 1.5
        ([0, 0, 1, 1], [0, 0, 0, 0], 1.0),  # (2 - 1 - 0) / 1
        ([0, 0, 0, 1], [0, 0, 1, 1], 2 - (2 - 0.75 * log2(3) + 1) / 1.5),
        ([0, 0, 1, 1], [7, 7, 3, 3], 0.0),
        ([0, 0, 0], [5, 5, 5], 0.0),  # no information in either
        ([], [], 0.0),
    ],
)
def test_hand_made_partitions(one, other, expected):
    found = partition_distance(np.array(one, dtype=np.int64), np.array(other, dtype=np.int64))
    assert found == pytest.approx(expected, abs=1e-15)


@st.composite
def partitions(draw, number):
    things = draw(st.integers(1, 12))
    labels = st.lists(st.integers(0, 4), min_size=things, max_size=things).map(np.array)
    return [draw(labels) for _ in range(number)]


@given(partitions(2))
def test_the_distance_is_symmetric_and_0_for_equal_partitions_only(pair):
    one, other = pair
    distance = partition_distance(one, other)
    assert distance == partition_distance(other, one)
    assert 0 <= distance <= 1
    assert (distance == 0) == (as_sets(one) == as_sets(other))


@given(partitions(3))
def test_a_way_round_is_no_shorter(three):
    a, b, c = three
    assert partition_distance(a, c) <= partition_distance(a, b) + partition_distance(b, c) + 1e-12


@given(partitions(2), st.permutations(range(5)))
def test_names_of_the_parts_do_not_matter(pair, names):
    one, other = pair
    assert partition_distance(np.array(names)[one], other) == partition_distance(one, other)


# Information loss


def filled(distance):
    return Logs(distance, np.zeros(len(distance), dtype=bool))


def loss(original, published, **options):
    return information_loss(original, published, np.random.default_rng(0), **options)


LINE = np.abs(np.subtract.outer(np.arange(8.0) ** 2, np.arange(8.0) ** 2))  # eight users, ever further apart


@given(any_distance | many_ties, st.data())
def test_nothing_is_lost_where_nothing_changes(distance, data):
    users = len(distance)
    logs = Logs(distance, np.array(data.draw(st.lists(st.booleans(), min_size=users, max_size=users))))
    assert loss(logs, logs).loss == 0


def test_all_is_lost_where_nothing_is_published():
    result = loss(filled(crowds(5, 100)), Logs(np.zeros((100, 100)), np.ones(100, dtype=bool)))
    assert (result.loss, result.clusters, result.published_clusters, result.users) == (100, 5, 1, 100)


def test_both_are_cut_into_as_many_clusters():
    result = loss(filled(crowds(5, 100)), filled(random_matrix(0, 100)))
    assert (result.clusters, result.published_clusters) == (5, 5)
    assert 0 < result.loss <= 100


def test_a_worked_example():
    original = filled(matrix_of([1, 9, 9, 9, 9, 2], 4))
    published = filled(matrix_of([9, 1, 9, 9, 2, 9], 4))
    assert loss(original, published, clusters=2).loss == 100  # 01 23 and 02 13: (4 - 1 - 1) / 2
    assert loss(original, published, clusters=3).loss == 50  # 01 2 3 and 02 1 3: (4 - 1.5 - 1.5) / 2
    assert loss(original, published, clusters=4).loss == 0


def test_empty_logs_are_one_cluster_among_the_others():
    empty = np.array([False] * 5 + [True] * 3)
    result = loss(filled(LINE), Logs(LINE, empty), clusters=3)
    before, after = cut(hierarchy(LINE), 3), [*cut(hierarchy(LINE[:5, :5]), 2), 2, 2, 2]
    assert result.loss == 100 * partition_distance(before, np.array(after))
    assert (result.clusters, result.published_clusters) == (3, 3)


def test_original_logs_may_be_empty_too():
    empty = np.arange(100) >= 90
    result = loss(Logs(crowds(5, 100), empty), filled(crowds(5, 100)))
    assert (result.clusters, result.published_clusters) == (6, 6)
    alone = loss(Logs(LINE, np.arange(8) > 0), filled(LINE), clusters=1)
    assert (alone.clusters, alone.published_clusters) == (2, 1)


def test_without_users_nothing_is_lost():
    result = loss(filled(np.zeros((0, 0))), filled(np.zeros((0, 0))))
    assert (result.loss, result.users) == (0, 0)


def test_a_function_may_make_the_distances_of_those_who_have_a_log():
    events = []

    def distance(users):
        events.append(users.tolist())
        return LINE[np.ix_(users, users)]

    empty = np.array([True, *[False] * 6, True])
    result = loss(Logs(distance, empty), Logs(distance, ~empty), clusters=2)
    assert events == [[1, 2, 3, 4, 5, 6], [0, 7]]
    assert result == loss(Logs(LINE, empty), Logs(LINE, ~empty), clusters=2)


def test_of_many_users_a_sample_is_clustered():
    original, published = random_matrix(1, 60), random_matrix(2, 60)
    users = np.sort(np.random.default_rng(5).choice(60, 25, replace=False))
    small = [filled(distance[np.ix_(users, users)]) for distance in (original, published)]
    large = [filled(original), filled(published)]
    result = information_loss(*large, np.random.default_rng(5), sample=25)
    assert result.users == 25
    assert result == loss(*small)
    assert result != information_loss(*large, np.random.default_rng(6), sample=25)
    assert loss(*large, sample=None) == loss(*large, sample=60)
    assert loss(*large).users == 60


def test_users_without_a_log_are_sampled_as_others_are():
    distance, empty = random_matrix(1, 60), np.arange(60) % 3 == 0
    users = np.sort(np.random.default_rng(0).choice(60, 25, replace=False))
    small = [Logs(distance[np.ix_(users, users)], flags[users]) for flags in (empty, ~empty)]
    assert loss(Logs(distance, empty), Logs(distance, ~empty), sample=25) == loss(*small)


def test_nothing_below_the_diagonal_is_read():
    upper = np.where(np.triu(np.ones((8, 8)), 1) > 0, LINE, nan)
    assert loss(filled(upper), filled(LINE)).loss == 0


@pytest.mark.parametrize("wrong", [nan, inf, -sqrt(2)])
def test_distances_are_numbers(wrong):
    distance = LINE.copy()
    distance[2, 5] = wrong
    with pytest.raises(BadInputError, match=r"^distance must be finite and at least 0 "):
        loss(filled(distance), filled(LINE))
    empty = np.arange(8) == 5
    assert loss(Logs(distance, empty), Logs(LINE, empty)).loss == 0


def test_both_are_of_the_same_users():
    with pytest.raises(BadInputError, match=r"^published must have the 8 users of original \(got 7\)$"):
        loss(filled(LINE), filled(LINE[:7, :7]))
    with pytest.raises(BadInputError, match=r"^distance must be a square of 8 users"):
        loss(filled(LINE), Logs(lambda users: LINE[users[1:]], np.zeros(8, dtype=bool)))


@pytest.mark.parametrize("name", ["sample", "clusters"])
def test_numbers_are_positive(name):
    with pytest.raises(BadInputError, match=rf"^{name} must be at least 1 \(got 0\)$"):
        loss(filled(LINE), filled(LINE), **{name: 0})
