"""A taxonomy file as it was read: its nodes in order of appearance, and its problems by kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from incrowd.errors import BadInputError
from incrowd.taxonomy.tree import Finder, Taxonomy, find_by_label

__all__ = ["ParsedTaxonomy", "Problem", "ProblemKind", "kinds_of"]

SHOWN_LINES = 3
MOST_CHARACTERS = 400_000_000  # of all labels: four bytes each still fit into one array of texts


class Problem(NamedTuple):
    """A problem of a taxonomy file: its line (0: the file as a whole), what it is, and the earlier line that it repeats, if any."""

    line: int
    kind: str
    earlier: int = 0

    @property
    def place(self) -> str:
        """The line's number, with that of the earlier line."""
        return f"{self.line:,} (first on line {self.earlier:,})" if self.earlier else f"{self.line:,}"


class ProblemKind(NamedTuple):
    """All problems of one kind: how many, and the first of them."""

    kind: str
    times: int
    first: list[Problem]

    def __str__(self) -> str:
        if not self.first[0].line:
            return self.kind
        places = ", ".join(problem.place for problem in self.first)
        more = f" and {self.times - len(self.first):,} more" if self.times > len(self.first) else ""
        return f"line{'s' * (self.times > 1)} {places}{more}: {self.kind}"


def kinds_of(problems: Iterable[Problem]) -> list[ProblemKind]:
    """Return problems by kind, in the order of their first lines; those of the whole file come last."""
    kinds: dict[str, list[Problem]] = {}
    for problem in sorted(problems, key=lambda problem: (problem.line == 0, problem.line)):
        kinds.setdefault(problem.kind, []).append(problem)
    return [ProblemKind(kind, len(some), some[:SHOWN_LINES]) for kind, some in kinds.items()]


@dataclass
class ParsedTaxonomy:
    """A taxonomy file as read: nodes in order of appearance, and its problems."""

    path: Path
    form: str
    find: Finder = find_by_label
    parent: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _steps: dict[tuple[int, str], int] = field(default_factory=dict)
    _characters: int = 0

    def add(self, label: str, line: int, above: int = -1) -> int:
        """Append a node and return its number."""
        self._characters += len(label)
        if self._characters > MOST_CHARACTERS:
            raise BadInputError(
                f"taxonomy {self.path.name}: line {line:,}: its paths are too long: with the labels of all nodes above them they "
                f"have more than {MOST_CHARACTERS:,} characters; shorten them"
            )
        self.parent.append(above)
        self.labels.append(label)
        self.lines.append(line)
        return len(self.labels) - 1

    def add_path(self, steps: Iterable[str], line: int, separator: str | None) -> int:
        """Add the nodes of one path from the root that are not there yet, and return the last.

        A node's label is its whole path, its steps joined by `separator`; without one it is its last step.
        """
        above = -1
        for step in steps:
            node = self._steps.get((above, step))
            if node is None:
                label = step if separator is None or above < 0 else self.labels[above] + separator + step
                node = self._steps[above, step] = self.add(label, line, above)
            above = node
        return above

    def add_problem(self, line: int, kind: str, *, earlier: int = 0) -> None:
        """Note a problem of a line (0: of the file as a whole), and the earlier line that it repeats."""
        self.problems.append(Problem(line, kind, earlier))

    def tree(self) -> Taxonomy:
        """Return the tree, or raise an error with the first kind of problems and how many there are besides."""
        kinds = kinds_of(self.problems)
        if kinds:
            more = len(kinds) - 1
            rest = f" ({more} more {'kind' if more == 1 else 'kinds'}: see 'incrowd taxonomy check')"
            raise BadInputError(f"taxonomy {self.path.name}: {kinds[0]}{rest if more else ''}")
        parent = np.array(self.parent, dtype=np.int32)
        return Taxonomy.from_parents(
            parent, pa.array(self.labels, pa.string()), name=self.path.name, find=self.find
        )
