"""SSC's clusters: the paper's example, and the pruned search against the full one on random data."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
import reference_ssc as naive
from golden import GOLDEN
from incrowd.kernels.matching import match_row
from incrowd.kernels.terms import Bags, Centre, Model, Near, count_near, list_near, paths_to, typical_terms
from incrowd.methods.ssc.kernel import Clusters, ssc_clusters
from kernels.test_terms import paths_of
from strategies import taxonomy_of

PAPER = GOLDEN["ssc"]
seeds = st.integers(0, 2**32 - 1)
models = st.sampled_from(["perfect", "perfect", "maximum"])


def bags_of(rows: list[dict[int, int]]) -> Bags:
    return Bags(
        np.cumsum([0, *map(len, rows)]),
        np.array([term for row in rows for term in row], dtype=np.int32),
        np.array([times for row in rows for times in row.values()], dtype=np.int32),
    )


def near_of(nodes: naive.Nodes, terms: list[int], eps: int) -> Near:
    paths = paths_of(nodes, terms)
    return list_near(paths, eps, count_near(paths, eps, 10**9))


def space_of(nodes: naive.Nodes, terms: list[int], dice: random.Random, model: str) -> naive.Space:
    """Return a space over the terms' numbers with any eps and an omega above eps / 2."""
    eps = dice.choice([0, 1, 2, 2, 3, 4, 6])
    apart = {(i, j): nodes.apart(one, two) for i, one in enumerate(terms) for j, two in enumerate(terms)}
    return naive.Space(lambda i, j: apart[i, j], eps, eps // 2 + dice.randint(1, 4), model)


def met(space: naive.Space, near: Near, row: dict[int, int], centre: naive.Centre, size: int):
    """Return the product's distance of a row and a centre, and its grown centre."""
    members = np.array([hyper for hyper, _ in centre], dtype=np.int32).reshape(len(centre), size)
    times = np.array([copies for _, copies in centre], dtype=np.int64)
    model = Model(space.omega if space.model == "perfect" else 0, int(near.distance.max(initial=0)))
    found = match_row(bags_of([row]), 0, near, Centre(members, times), model)
    grown = zip(map(tuple, found.centre.member.tolist()), found.centre.times.tolist(), strict=True)
    return found.distance, list(grown)


def in_lists(found: Clusters) -> list[naive.Cluster]:
    """Return the clusters as the reference writes them."""
    clusters = []
    for c in range(len(found.start) - 1):
        hypers = range(found.hyper_start[c], found.hyper_start[c + 1])
        terms = [tuple(found.term[found.term_start[h] : found.term_start[h + 1]].tolist()) for h in hypers]
        centre = list(zip(terms, (int(found.times[h]) for h in hypers), strict=True))
        clusters.append(naive.Cluster(found.member[found.start[c] : found.start[c + 1]].tolist(), centre))
    return clusters


class Paper:
    """The running example: rows of leaf ranks, t1 first; eps = 4, omega = 5."""

    def __init__(self) -> None:
        self.names = list(PAPER["vocabularies"])
        self.tree = reference.Tree(PAPER["taxonomy"])
        self.taxonomy = taxonomy_of(PAPER["taxonomy"])
        tree = self.taxonomy
        self.paths = paths_to(tree.parent, tree.end, tree.level - 1, tree.leaf_nodes)
        self.labels = tree.labels.to_pylist()
        self.leaf = {self.labels[node]: rank for rank, node in enumerate(tree.leaf_nodes.tolist())}
        rows = [Counter(self.leaf[term] for term in terms) for terms in PAPER["vocabularies"].values()]
        self.rows = [dict(sorted(row.items())) for row in rows]
        self.near = list_near(self.paths, PAPER["eps"], count_near(self.paths, PAPER["eps"], 10**9))

    def clusters(self, order: str) -> Clusters:
        lengths = [sum(row.values()) for row in self.rows]
        ranks = np.argsort(lengths, kind="stable") if order == "ascending" else np.arange(len(lengths))
        person = np.arange(len(lengths), dtype=np.int32)
        return ssc_clusters(
            bags_of(self.rows), self.near, ranks, person, k=PAPER["k"], omega=PAPER["eps"] + 1
        )

    def blm(self, found: Clusters) -> Fraction:
        node = typical_terms(self.paths, found.term_start, found.term, np.ones(8, dtype=np.bool_)).node
        covered = np.diff(found.term_start) * found.times
        occurrences = sum(sum(row.values()) for row in self.rows)
        kept = sum(
            (int(n) * self.tree.lm(self.labels[v]) for n, v in zip(covered, node, strict=True)), Fraction(0)
        )
        return (kept + occurrences - int(covered.sum())) / occurrences


@pytest.fixture(scope="module")
def paper() -> Paper:
    return Paper()


def test_printed_distances_of_terms(paper):
    all_pairs = list_near(paper.paths, 99, count_near(paper.paths, 99, 10**9))
    for one, other, printed in PAPER["term_distance_printed"]:
        part = slice(all_pairs.start[paper.leaf[one]], all_pairs.start[paper.leaf[one] + 1])
        assert all_pairs.distance[part][all_pairs.term[part] == paper.leaf[other]].tolist() == [printed]


@pytest.mark.parametrize("one", [0, 1])
def test_printed_distance_of_two_vocabularies(paper, one):
    """The first model prints 6; the second agrees, for every term of t1 and t2 is matched."""
    centre = [((term,), times) for term, times in paper.rows[1 - one].items()]
    for model in ("maximum", "perfect"):
        space = naive.Space(lambda _i, _j: 0, PAPER["eps"], PAPER["eps"] + 1, model)
        found, _ = met(space, paper.near, paper.rows[one], centre, 1)
        assert found == PAPER["distance_t1_t2_first_model_printed"]


@pytest.mark.parametrize("order", ["ascending", "input"])
def test_clusters_of_the_running_example(paper, order):
    expected = PAPER[f"seed_order_{order}"]
    found = paper.clusters(order)
    clusters = [sorted(paper.names[row] for row in cluster.rows) for cluster in in_lists(found)]
    assert clusters == expected["clusters"]
    assert paper.blm(found) == Fraction(expected["blm_derived"])


def test_typical_vocabularies_of_the_running_example(paper):
    found = paper.clusters("ascending")
    typical = typical_terms(paper.paths, found.term_start, found.term, np.ones(8, dtype=np.bool_))
    for c, expected in enumerate(PAPER["seed_order_ascending"]["typical"]):
        elected: Counter[str] = Counter()
        for hyper in range(found.hyper_start[c], found.hyper_start[c + 1]):
            node = paper.taxonomy.leaf_nodes[typical.term[hyper]]
            elected[paper.labels[node]] += int(found.times[hyper])
        assert elected == expected


class Problem:
    """Random rows over a random tree, some order of some of them, and people with one or several rows."""

    def __init__(self, seed: int, model: str) -> None:
        dice = random.Random(seed)
        self.nodes = naive.random_nodes(dice)
        self.terms = self.nodes.leaves()
        self.space = space_of(self.nodes, self.terms, dice, model)
        self.near = near_of(self.nodes, self.terms, self.space.eps)
        few = dice.sample(range(len(self.terms)), dice.randint(1, len(self.terms)))
        self.rows = [self._row(dice, few) for _ in range(dice.randint(1, 22))]
        number = len(self.rows)
        self.order = dice.sample(range(number), dice.choice([number, dice.randint(0, number)]))
        crowd = dice.choice([number, number, dice.randint(1, number)])
        self.person = (
            list(range(number)) if crowd == number else [dice.randrange(crowd) for _ in range(number)]
        )
        self.k = dice.randint(2, 5)
        self.farthest = dice.random() < 0.4

    @staticmethod
    def _row(dice: random.Random, terms: Sequence[int]) -> dict[int, int]:
        drawn = sorted({dice.choice(terms) for _ in range(dice.choice([0, 1, 2, 3, 5, 8]))})
        return {term: dice.choice([1, 1, 1, 2, 4]) for term in drawn}

    def by_kernel(self, **options) -> Clusters:
        return ssc_clusters(
            bags_of(self.rows),
            self.near,
            np.array(self.order, dtype=np.int64),
            np.array(self.person, dtype=np.int32),
            k=self.k,
            omega=self.space.omega,
            model=self.space.model,
            farthest=self.farthest,
            **options,
        )

    def by_full_search(self) -> tuple[list[naive.Cluster], int]:
        """Every nearest row and cluster is found by SciPy; only ties between best matchings fall as in the product."""

        def extend(row, centre, size):
            cost, grown = met(self.space, self.near, row, centre, size)
            assert cost == naive.distance(self.space, row, centre, size)
            return grown

        return naive.ssc(
            self.space, self.rows, self.order, self.person, self.k, farthest=self.farthest, extend=extend
        )


class Crowd(Problem):
    """A few people with many rows of a few terms that are all close: most rows join late, and bounds are loose."""

    def __init__(self, seed: int, model: str) -> None:
        super().__init__(seed, model)
        dice = random.Random(seed)
        families = [dice.randint(1, 4) for _ in range(3)]
        parent, edge = [-1], [0]
        for members in families:
            parent += [0, *[len(parent)] * members]
            edge += [1, *dice.choices([0, 1, 2], k=members)]
        self.nodes = naive.Nodes(parent, edge)
        self.terms = self.nodes.leaves()
        self.space = space_of(self.nodes, self.terms, dice, model)._replace(
            eps=6, omega=dice.choice([4, 5, 7])
        )
        self.near = near_of(self.nodes, self.terms, 6)
        few = range(len(self.terms))
        self.rows = [self._row(dice, few) for _ in range(dice.randint(16, 24))]
        self.order = dice.sample(range(len(self.rows)), len(self.rows))
        others = dice.randint(3, 8)
        self.person = [dice.choice([0, dice.randrange(others)]) for _ in self.rows]
        self.k = 2


@settings(max_examples=200)
@given(seeds, models, st.sampled_from([Problem, Problem, Crowd]))
def test_the_pruned_search_finds_what_the_full_one_finds(seed, model, kind):
    problem = kind(seed, model)
    found = problem.by_kernel()
    clusters, looked = problem.by_full_search()
    assert in_lists(found) == clusters
    assert found.considered == looked
    assert found.computed <= found.considered
    of_row = np.full(len(problem.rows), -1)
    for c, cluster in enumerate(clusters):
        of_row[cluster.rows] = c
    assert found.of_row.tolist() == of_row.tolist()


@settings(max_examples=150)
@given(seeds, models)
def test_every_cluster_has_k_people_and_nobody_is_left(seed, model):
    problem = Problem(seed, model)
    clusters = in_lists(problem.by_kernel())
    enough = len({problem.person[row] for row in problem.order}) >= problem.k
    assert sorted(row for cluster in clusters for row in cluster.rows) == (
        sorted(problem.order) if enough else []
    )
    for cluster in clusters:
        assert len({problem.person[row] for row in cluster.rows}) >= problem.k
        assert all(len(hyper) == len(cluster.rows) for hyper, _ in cluster.centre)
        for at, row in enumerate(cluster.rows):
            used: Counter[int] = Counter()
            for hyper, times in cluster.centre:
                used[hyper[at]] += times
            assert used <= Counter(problem.rows[row])


@settings(max_examples=50)
@given(seeds, models)
def test_one_unit_or_another_makes_no_difference(seed, model):
    """Distances and omega may be scaled, as for an omega with decimals."""
    problem = Problem(seed, model)
    before = in_lists(problem.by_kernel())
    problem.near = problem.near._replace(distance=problem.near.distance * np.int32(1000))
    problem.space = problem.space._replace(omega=problem.space.omega * 1000)
    assert in_lists(problem.by_kernel()) == before


def rows_of_clusters(rows: list[dict[int, int]], person: list[int], k: int, **options) -> list[list[int]]:
    """Return the rows of each cluster over five terms that have nothing to do with each other."""
    star = naive.Nodes([-1, *[0] * 5], [0, *[10_000] * 5])
    order, people = np.arange(len(rows)), np.array(person, dtype=np.int32)
    found = ssc_clusters(
        bags_of(rows), near_of(star, star.leaves(), 4), order, people, k=k, omega=5, **options
    )
    return [cluster.rows for cluster in in_lists(found)]


@pytest.mark.parametrize("farthest", [False, True])
def test_ties_go_to_the_first_row_and_the_first_cluster(farthest):
    found = rows_of_clusters([{0: 1}] * 8, list(range(8)), 3, farthest=farthest)
    assert found == [[0, 1, 2, 6, 7], [3, 4, 5]]


def test_a_cluster_takes_one_row_of_a_person_first_and_any_row_later():
    rows = [{0: 1}, {0: 1}, {1: 1}, {1: 1}, {0: 1}]
    assert rows_of_clusters(rows, [7, 7, 3, 3, 7], 2) == [[0, 2, 4], [1, 3]]


def test_rows_with_nothing_in_common_share_an_empty_centre():
    found = rows_of_clusters([{0: 2}, {1: 9}, {2: 1}, {3: 3}, {}], list(range(5)), 2)
    assert found == [[0, 4, 3], [1, 2]]  # a tie: 3 costs omega for each of its terms in either


def many_rows(number: int) -> tuple[Bags, Near]:
    """Return rows of 8 terms of 60, each within 2 of its 2 sisters."""
    rng = np.random.default_rng(1)
    families = naive.Nodes([-1, *[v for f in range(20) for v in (0, *[4 * f + 1] * 3)]], [0, *[1] * 80])
    rows = [{int(t): 1 for t in np.sort(rng.choice(60, 8, replace=False))} for _ in range(number)]
    return bags_of(rows), near_of(families, families.leaves(), 2)


def test_bounds_avoid_most_matchings():
    bags, near = many_rows(600)
    found = ssc_clusters(bags, near, np.arange(600), np.arange(600, dtype=np.int32), k=3, omega=3)
    assert found.computed < found.considered / 3


def test_progress_is_told_after_each_cluster_and_each_row_left():
    bags, near = many_rows(32)
    told: list[tuple[int, int]] = []
    ssc_clusters(
        bags,
        near,
        np.arange(32),
        np.arange(32, dtype=np.int32),
        k=5,
        omega=3,
        progress=lambda done, rows: told.append((done, rows)),
    )
    assert told == [(done, 32) for done in (5, 10, 15, 20, 25, 30, 31, 32)]


def test_input_is_not_changed():
    bags, near = many_rows(32)
    before = [array.copy() for array in (*bags, *near)]
    ssc_clusters(bags, near, np.arange(32), np.arange(32, dtype=np.int32), k=5, omega=3, farthest=True)
    assert all((old == new).all() for old, new in zip(before, (*bags, *near), strict=True))
