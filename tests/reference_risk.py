"""Naive versions of the attacks of the risk lab, for the tests to compare with: sets and dictionaries, step by step.

A world is what people have and what is published of them. Leaves and labels are nodes of a tree that is given by parents. Scores are
doubles; two that differ by less than `SAME` are the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

__all__ = ["SAME", "Prover", "World", "halves_linked", "interval"]

SAME = 1e-9


@dataclass(frozen=True)
class World:
    """People's leaves, a tree, and published sets with the people who hold each."""

    parent: Sequence[int]
    items: Sequence[frozenset[int]]
    sets: Sequence[frozenset[int]]
    holders: Sequence[frozenset[int]]

    def is_leaf(self, node: int) -> bool:
        return node not in self.parent

    def way_up(self, node: int) -> list[int]:
        way = []
        while node >= 0:
            way.append(node)
            node = self.parent[node]
        return way

    def leaves_below(self, node: int) -> int:
        return sum(node in self.way_up(other) for other in range(len(self.parent)) if self.is_leaf(other))

    def worth(self, node: int) -> float:
        everything = self.leaves_below(0)
        return 1.0 if everything == 1 else 1 - math.log(self.leaves_below(node)) / math.log(everything)

    def weight(self, leaf: int) -> float:
        return 1 / math.log(1 + max(sum(leaf in own for own in self.items), 1))

    def sharing(self, known: Collection[int]) -> int:
        """Count the people who have all that is known."""
        return sum(set(known) <= own for own in self.items)

    def scores(self, known: Iterable[int], skip: int = -1) -> dict[int, float]:
        """Return the sets that anything known speaks for, with their scores."""
        found = {}
        for number, labels in enumerate(self.sets):
            said = 0.0
            for leaf in known:
                finest = next((node for node in self.way_up(leaf) if node in labels), None)
                said += 0 if finest is None else self.weight(leaf) * self.worth(finest)
            if said > SAME and number != skip:
                found[number] = said
        return found

    def best(self, known: Iterable[int], skip: int = -1) -> set[int]:
        """Return the sets that match best."""
        scores = self.scores(known, skip)
        return {one for one, score in scores.items() if score > max(scores.values()) - SAME}

    def candidates(self, known: Iterable[int], person: int) -> tuple[int, bool]:
        """Return how many different people hold the sets that match best, and whether the person holds one."""
        found = {other for one in self.best(known) for other in self.holders[one]}
        return len(found), person in found

    def link(self, profile: Iterable[int], eccentricity: float) -> int | None:
        """Return the set that stands out; -1: none does; None: that hangs on a rounding."""
        scores = self.scores(profile)
        if not scores:
            return -1
        everything = sorted((scores.get(one, 0.0) for one in range(len(self.sets))), reverse=True)
        mean = sum(everything) / len(everything)
        spread = math.sqrt(sum((score - mean) ** 2 for score in everything) / len(everything))
        ahead = everything[0] - (everything[1] if len(everything) > 1 else 0.0)
        # The root of a rounding error of 1e-16 is 1e-8: equal scores have a spread of that, in sums of squares.
        if abs(ahead - eccentricity * spread) < 1e-6:
            return None
        return max(scores, key=scores.__getitem__) if ahead > eccentricity * spread else -1

    def guess(self, known: Collection[int], wanted: Collection[int], skip: int = -1) -> int:
        """Guess one more leaf of those wanted: of the best sets that print one, what most of their people have."""
        scores = self.scores(known, skip)
        new = {one: (self.sets[one] & set(wanted)) - set(known) for one in scores}
        best = max((scores[one] for one in scores if new[one]), default=0.0)
        if best:
            chosen = [one for one in scores if new[one] and scores[one] > best - SAME]
            said: Counter[int] = Counter()
            for one in chosen:
                said.update(dict.fromkeys(new[one], len(self.holders[one])))
            return _most(said)
        printed = Counter(
            leaf
            for labels, people in zip(self.sets, self.holders, strict=True)
            for leaf in labels & set(wanted)
            for _ in people
        )
        return _most({leaf: times for leaf, times in printed.items() if leaf not in known})

    def rarest(self) -> list[int]:
        """Return for each person who holds anything how many hold the rarest set that they hold."""
        return [
            min(len(people) for people in self.holders if person in people)
            for person in range(len(self.items))
            if any(person in people for people in self.holders)
        ]

    def alike(self) -> list[int]:
        """Return for each person who has anything how many have the same."""
        return [sum(own == other for other in self.items) for own in self.items if own]


def _most(said: Mapping[int, int]) -> int:
    return max(said, key=lambda leaf: (said[leaf], -leaf), default=-1)


def halves_linked(world: World, known: Sequence[int], skip: int = -1) -> int:
    """Return how many people hold the sets that are among the best for both halves of what is known."""
    half = len(known) // 2
    both = world.best(known[:half], skip) & world.best(known[half:], skip)
    return sum(len(world.holders[one]) for one in both)


def interval(right: float, tries: int) -> tuple[float, float]:
    """Return the shares p for which (right / tries - p) is at most z standard deviations: by bisection."""
    z, share = NormalDist().inv_cdf(0.975), right / tries

    def too_far(p: float) -> bool:
        return abs(share - p) > z * math.sqrt(p * (1 - p) / tries)

    def end(inside: float, outside: float) -> float:
        if not too_far(outside):
            return outside
        for _ in range(80):
            middle = (inside + outside) / 2
            inside, outside = (inside, middle) if too_far(middle) else (middle, outside)
        return inside

    return end(share, 0.0), end(share, 1.0)


@dataclass(frozen=True)
class Prover:
    """Downcoding by the definition: parents and labels of a tree's nodes."""

    parent: Sequence[int]
    labels: Sequence[str]

    def proven(self, printed: Mapping[int, int], *, sets: bool) -> dict[int, int]:
        """Return the leaves that somebody must have though they are not printed, and how often at least."""
        seen: Counter[int] = Counter()
        for node, times in printed.items():
            above = self.parent[node]
            seen[above if above >= 0 and self._own_leaf(above) == node else node] += times
        found: dict[int, int] = {}
        for node in seen:
            if self._own_leaf(node) is not None:
                continue
            for child in self._children(node):
                rest = self._leaves(node) - self._leaves(child)
                surplus = self._least(seen, node) - self._least(seen, child)
                if len(rest) == 1 or (rest and sets and surplus >= len(rest)):
                    for leaf in rest:
                        found[leaf] = max(found.get(leaf, 0), surplus if len(rest) == 1 else 1)
        hidden = {self._own_leaf(node) for node in seen}
        return {
            leaf: times
            for leaf, times in found.items()
            if times and leaf not in hidden and not self._least(seen, leaf)
        }

    def _least(self, seen: Mapping[int, int], node: int) -> int:
        """Return m(v): what is printed at a node or below."""
        return sum(times for other, times in seen.items() if node in self._way_up(other))

    def _way_up(self, node: int) -> list[int]:
        return [] if node < 0 else [node, *self._way_up(self.parent[node])]

    def _children(self, node: int) -> list[int]:
        return [other for other, above in enumerate(self.parent) if above == node]

    def _own_leaf(self, node: int) -> int | None:
        return next(
            (child for child in self._children(node) if self.labels[child] == self.labels[node]), None
        )

    def _leaves(self, node: int) -> set[int]:
        below = self._children(node)
        return set().union(*map(self._leaves, below)) if below else {node}
