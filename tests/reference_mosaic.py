"""Mosaic in plain Python, with sets and dicts: the floor, joining, and a recount of what is promised. Slow and simple."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

Leaves = frozenset[int]
Label = int
Content = frozenset[Label]


@dataclass(frozen=True)
class Tree:
    """Nodes numbered from the root so that parents come first; the root's parent is -1."""

    parent: Sequence[int]
    made: Collection[int] = ()

    @property
    def leaves(self) -> set[int]:
        return set(range(len(self.parent))) - set(self.parent)

    def above(self, node: int) -> list[int]:
        """Return a node and all that are above it."""
        way = []
        while node >= 0:
            way.append(node)
            node = self.parent[node]
        return way

    def below(self, node: int) -> Leaves:
        return frozenset(leaf for leaf in self.leaves if node in self.above(leaf))


def floor(
    units: Sequence[tuple[int, set[int]]],
    tree: Tree,
    counts: Collection[int],
    k: int,
    coarsest: float,
    *,
    generalize: bool,
) -> list[dict[int, int]]:
    """Return for each unit (owner, leaves) the node at which each of its leaves is published; withheld ones are left out."""
    pool: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for unit, (_, items) in enumerate(units):
        for leaf in items:
            pool[leaf].add((unit, leaf))
    placed: dict[tuple[int, int], int] = {}
    leaves = tree.leaves
    for node in reversed(range(len(tree.parent))):
        if node not in leaves:
            coarse = len(tree.below(node)) > coarsest * len(leaves)
            if not generalize or node == 0 or node in tree.made or coarse:
                continue
        if len({units[unit][0] for unit, _ in pool[node]} & set(counts)) >= k:
            placed |= dict.fromkeys(pool[node], node)
        elif node:
            pool[tree.parent[node]] |= pool[node]
    said = set(placed.values())
    for node in said - leaves:
        lower = {leaf for other in said - {node} if node in tree.above(other) for leaf in tree.below(other)}
        if len(tree.below(node) - lower) < k:
            placed = {where: at for where, at in placed.items() if at != node}
    return [
        {leaf: placed[unit, leaf] for leaf in items if (unit, leaf) in placed}
        for unit, (_, items) in enumerate(units)
    ]


@dataclass
class Pair:
    """Two tiles, their recorded score, how many units held both and at which step that was so."""

    younger: int
    older: int
    score: int
    units: int
    seen: int

    @property
    def turn(self) -> tuple[int, int, int]:
        return -self.score, self.younger, self.older


@dataclass
class Joining:
    """Joining, step by step. Unit u is of person ``owner[u]`` and holds the tiles ``held[u]``; tile t has the labels ``content[t]``."""

    owner: Sequence[int]
    held: list[set[int]]
    content: list[Content]
    counts: Collection[int]
    rank: Sequence[int]
    leaves: Mapping[Label, Leaves]
    k: int
    confidence: float
    kind: Mapping[Label, str] = field(default_factory=dict)
    thresholds: Mapping[frozenset[str], int] = field(default_factory=dict)
    weight: Mapping[str, float] = field(default_factory=dict)
    context: Collection[str] = ()
    step: int = 0
    most_held_back: int = 0
    pairs: list[Pair] = field(default_factory=list)
    changed: Counter[int] = field(default_factory=Counter)
    together: Counter[Content] = field(default_factory=Counter)

    def run(self) -> list[set[Content]]:
        """Join while a pair pays; return what every unit holds."""
        self.holders = {
            label: len(self.people(unit for unit in range(len(self.held)) if label in self.labels(unit)))
            for label in {label for labels in self.content for label in labels}
        }
        for tile, labels in enumerate(self.content):
            for a, b in combinations(labels, 2):
                self.together[frozenset((a, b))] += len(self.people(self.units(tile)))
        for tile in range(len(self.content)):
            self.meet(tile)
        while self.pairs:
            pair = self.best()
            if pair is not None:
                self.join(pair.younger, pair.older)
        return [{self.content[tile] for tile in tiles} for tiles in self.held]

    def labels(self, unit: int) -> set[Label]:
        return {label for tile in self.held[unit] for label in self.content[tile]}

    def units(self, tile: int) -> set[int]:
        return {unit for unit, tiles in enumerate(self.held) if tile in tiles}

    def owners(self, units: Iterable[int]) -> set[int]:
        return {self.owner[unit] for unit in units}

    def people(self, units: Iterable[int]) -> set[int]:
        """Return the owners who count towards k."""
        return self.owners(units) & set(self.counts)

    def kinds(self, labels: Iterable[Label]) -> set[str]:
        return {self.kind.get(label, "items") for label in labels}

    def need(self, labels: Iterable[Label]) -> int:
        """Return how many people a tile of these labels needs."""
        kinds = self.kinds(labels)
        return max([self.k, *(people for some, people in self.thresholds.items() if some <= kinds)])

    def score(self, n: int, f: int, g: int) -> int:
        lift = n * len(self.held) / (len(self.units(f)) * len(self.units(g)))
        weights = [
            sum(self.weight.get(self.kind.get(label, "items"), 1) for label in self.content[tile])
            for tile in (f, g)
        ]
        says_when = [self.kinds(self.content[tile]) <= set(self.context) for tile in (f, g)]
        if all(says_when) or (lift <= 1 and not any(says_when)):
            return 0
        worth = math.log(lift + any(says_when))
        return round(1e6 * math.sqrt(n) * (weights[0] * weights[1]) ** 2 * worth)

    def meet(self, tile: int) -> None:
        """Record the pairs of a tile with older ones that pay."""
        for older in {other for unit in self.units(tile) for other in self.held[unit] if other < tile}:
            both = self.units(tile) & self.units(older)
            score = self.score(len(both), tile, older)
            need = self.need(self.content[tile] | self.content[older])
            if len(self.people(both)) >= need and score > 0:
                self.pairs.append(Pair(tile, older, score, len(both), self.step))

    def best(self) -> Pair | None:
        """Renew the score of the pair whose turn it is; return it, no longer recorded, if it stays first."""
        pair = min(self.pairs, key=lambda one: one.turn)
        f, g = pair.younger, pair.older
        if not self.units(f) or not self.units(g):
            self.pairs.remove(pair)
            return None
        if max(self.changed[f], self.changed[g]) > pair.seen:
            pair.units = min(pair.units, len(self.units(f)), len(self.units(g)))
            pair.score = min(pair.score, self.score(pair.units, f, g))
            if pair.score > 0 and pair is not min(self.pairs, key=lambda one: one.turn):
                return None
            both = self.units(f) & self.units(g)
            pair.units, pair.seen = len(both), self.step
            pair.score = self.score(len(both), f, g) if both else 0
            if pair.score <= 0 or len(self.people(both)) < self.need(self.content[f] | self.content[g]):
                self.pairs.remove(pair)
                return None
            if pair is not min(self.pairs, key=lambda one: one.turn):
                return None
        self.pairs.remove(pair)
        return pair

    def join(self, f: int, g: int) -> None:
        """Join two tiles where the promise allows it."""
        kin = [
            self.leaves[a] <= self.leaves[b] or self.leaves[b] <= self.leaves[a]
            for a in self.content[f]
            for b in self.content[g]
        ]
        most = self.allowed(f, g)
        if any(kin) or most < self.need(self.content[f] | self.content[g]):
            return
        self.step += 1
        both = self.hold_back(f, g, most)
        if not both:
            return
        new = len(self.content)
        joined = self.content[f] | self.content[g]
        if self.confidence < 1:
            for a in self.content[f]:
                for b in self.content[g]:
                    self.together[frozenset((a, b))] += len(self.people(both))
        for unit in both:
            self.held[unit] -= {f, g}
            self.held[unit].add(new)
        for equal in [tile for tile, labels in enumerate(self.content) if labels == joined]:
            for unit in self.units(equal):
                self.held[unit].remove(equal)
                self.held[unit].add(new)
        self.content.append(joined)
        self.changed[f] = self.changed[g] = self.step
        self.meet(new)

    def allowed(self, f: int, g: int) -> float:
        """Return how many more people may hold the labels of two tiles together."""
        if self.confidence == 1:
            return math.inf
        return min(
            math.floor(self.confidence * min(self.holders[a], self.holders[b]) + 1e-9)
            - self.together[frozenset((a, b))]
            for a in self.content[f]
            for b in self.content[g]
        )

    def hold_back(self, f: int, g: int, most: float) -> set[int]:
        """Return the units in which two tiles are joined: the leftover rule. None where the pair is given up."""
        both = self.units(f) & self.units(g)
        rest = {tile: self.owners(self.units(tile) - both) for tile in (f, g)}
        out: set[int] = set()

        def short(tile: int) -> bool:
            return bool(rest[tile]) and len(rest[tile] & set(self.counts)) < self.need(self.content[tile])

        for owner in sorted(self.owners(both), key=lambda one: self.rank[one]):
            many = len(self.people(both) - out) > most
            if owner in self.counts and (many or any(short(t) and owner not in rest[t] for t in (f, g))):
                for tile in (f, g):
                    rest[tile].add(owner)
                out.add(owner)
        both = {unit for unit in both if self.owner[unit] not in out}
        if short(f) or short(g) or len(self.people(both)) < self.need(self.content[f] | self.content[g]):
            return set()
        self.most_held_back = max(self.most_held_back, len(out))
        return both


def broken(
    units: Sequence[tuple[int, Collection[int]]],
    held: Sequence[Sequence[Sequence[int]]],
    tree: Tree,
    k: int,
    confidence: float,
) -> list[str]:
    """Return what of the promise does not hold: unit u is (owner, leaves) and holds the tiles ``held[u]``, each of nodes."""
    found = []
    holders: dict[Content, set[int]] = defaultdict(set)
    for (owner, leaves), tiles in zip(units, held, strict=True):
        for tile in tiles:
            holders[frozenset(tile)].add(owner)
            found += [f"a label twice in {tile}"] * (len(set(tile)) != len(tile) or not tile)
        if not matched([node for tile in tiles for node in tile], leaves, tree):
            found.append(f"{tiles} is not true of {leaves}")
    by_label: dict[int, set[int]] = defaultdict(set)
    together: dict[tuple[int, int], set[int]] = defaultdict(set)
    for tile, owners in holders.items():
        if len(owners) < k:
            found.append(f"{sorted(tile)} has {len(owners)} people")
        for a in tile:
            by_label[a] |= owners
            found += [f"{b} is above {a}" for b in tree.above(a)[1:] if b in tile]
            for b in tile - {a}:
                together[a, b] |= owners
    for (a, b), owners in together.items():
        if len(owners) > confidence * len(by_label[a]) + 1e-9:
            found.append(f"{len(owners)} of {len(by_label[a])} with {a} have {b}")
    return found


def matched(nodes: Sequence[int], leaves: Collection[int], tree: Tree) -> bool:
    """Tell whether each node can be given a leaf of its own below it (augmenting paths)."""
    given: dict[int, int] = {}

    def give(place: int, tried: set[int]) -> bool:
        for leaf in leaves:
            if nodes[place] in tree.above(leaf) and leaf not in tried:
                tried.add(leaf)
                if leaf not in given or give(given[leaf], tried):
                    given[leaf] = place
                    return True
        return False

    return all(give(place, set()) for place in range(len(nodes)))
