"""Taxonomy files: child-parent lines, category paths, ARX-style rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from incrowd.core.clean import clean_texts
from incrowd.errors import BadInputError
from incrowd.taxonomy.tree import Found, Taxonomy, find_by_label

__all__ = ["ParsedTaxonomy", "Problem", "parse_taxonomy"]

Path_ = tuple[str, ...]


class Problem(NamedTuple):
    """A problem of a taxonomy file and its line (0: the file as a whole)."""

    line: int
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text


@dataclass
class ParsedTaxonomy:
    """A taxonomy file as read: nodes in order of appearance, and its problems."""

    path: Path
    form: str
    parent: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def add(self, name: str, line: int) -> int:
        """Append a node without a parent and return its number."""
        self.parent.append(-1)
        self.names.append(name)
        self.lines.append(line)
        return len(self.names) - 1

    def tree(self) -> Taxonomy:
        """Return the tree, or raise the first problem."""
        if self.problems:
            raise BadInputError(f"taxonomy {self.path.name}: {self.problems[0]}")
        parent = np.array(self.parent, dtype=np.int32)
        labels = pa.array(self.names, pa.string())
        return Taxonomy.from_parents(parent, labels, name=self.path.name, find=_FINDERS[self.form])


def parse_taxonomy(path: str | Path) -> ParsedTaxonomy:
    """Read a taxonomy file and collect its problems instead of raising the first."""
    path = Path(path)
    rows = _rows(path)
    parsed = ParsedTaxonomy(path, _form(rows))
    _READERS[parsed.form](parsed, rows)
    _check_shape(parsed)
    # Those of the whole file last.
    parsed.problems.sort(key=lambda problem: (problem.line == 0, problem.line))
    return parsed


def _rows(path: Path) -> list[tuple[int, str]]:
    """Return the lines that hold something, with their numbers."""
    try:
        text = path.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError as error:
        raise BadInputError(f"taxonomy {path.name} cannot be read: {error.strerror}") from None
    if "\0" in text:
        raise BadInputError(f"taxonomy {path.name} looks like a binary file; give a text file")
    lines = clean_texts(pa.array(text.replace("\r\n", "\n").split("\n"), pa.string())).to_pylist()
    rows = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not rows:
        raise BadInputError(
            f"taxonomy {path.name} is empty; give lines of 'child TAB parent', paths or ARX rows"
        )
    return rows


def _form(rows: list[tuple[int, str]]) -> str:
    """Recognise the file's form by its first line."""
    first = rows[0][1]
    cells = first.split("\t")
    if ";" in first and len(cells) == 1:
        return "rows"
    if "/" in cells[0] and (len(cells) == 1 or cells[1].strip().isdigit()):
        return "paths"
    return "child-parent"


def _read_child_parent(parsed: ParsedTaxonomy, rows: list[tuple[int, str]]) -> None:
    """Read ``child TAB parent`` lines; the root is the one node without a parent."""
    node: dict[str, int] = {}
    given: dict[int, int] = {}
    for number, line in rows:
        child_name, _, parent_name = (cell.strip() for cell in line.partition("\t"))
        if not child_name or not parent_name or "\t" in parent_name:
            parsed.problems.append(
                Problem(
                    number,
                    "expected 'child TAB parent' (or, in the whole file, Top/Sub paths or leaf;parent;* rows)",
                )
            )
            continue
        for name in (child_name, parent_name):
            if name not in node:
                node[name] = parsed.add(name, number)
        child, above = node[child_name], node[parent_name]
        if child in given:
            parsed.problems.append(
                Problem(number, f"the child has a parent already, on line {given[child]}; keep one of them")
            )
            continue
        given[child] = number
        parsed.parent[child] = above
        parsed.lines[child] = number


def _read_paths(parsed: ParsedTaxonomy, rows: list[tuple[int, str]]) -> None:
    """Read ``Top/Sports/Surfing`` paths; a node is its whole path, and so is its label."""
    node: dict[Path_, int] = {}
    seen: dict[Path_, int] = {}
    for number, line in rows:
        steps = tuple(step.strip() for step in line.split("\t")[0].strip().strip("/").split("/"))
        if not all(steps):
            parsed.problems.append(Problem(number, "a path with an empty step"))
        elif steps in seen:
            parsed.problems.append(
                Problem(number, f"the path stands already on line {seen[steps]}; keep one of them")
            )
        else:
            seen[steps] = number
            _add_path(parsed, node, steps, number, ["/".join(steps[: i + 1]) for i in range(len(steps))])


def _read_rows(parsed: ParsedTaxonomy, rows: list[tuple[int, str]]) -> None:
    """Read ``leaf;parent;...;*`` rows; a node is identified by its path to the root; equal neighbours are one node."""
    node: dict[Path_, int] = {}
    seen: dict[str, int] = {}
    for number, line in rows:
        cells = [cell.strip().strip('"') for cell in line.split(";")]
        cells = [cell for i, cell in enumerate(cells) if i == 0 or cell != cells[i - 1]]
        if not all(cells):
            parsed.problems.append(Problem(number, "an empty cell"))
        elif cells[0] in seen:
            parsed.problems.append(
                Problem(number, f"the leaf stands already on line {seen[cells[0]]}; keep one of them")
            )
        else:
            seen[cells[0]] = number
            _add_path(parsed, node, tuple(reversed(cells)), number, list(reversed(cells)))
    _qualify_repeated_names(parsed)


def _add_path(
    parsed: ParsedTaxonomy, node: dict[Path_, int], steps: Path_, line: int, names: list[str]
) -> None:
    """Add the nodes of one path from the root that are not there yet."""
    above = -1
    for depth, name in enumerate(names, 1):
        way = steps[:depth]
        if way not in node:
            node[way] = parsed.add(name, line)
            parsed.parent[node[way]] = above
        above = node[way]


def _qualify_repeated_names(parsed: ParsedTaxonomy) -> None:
    """Prefix inner nodes whose name is not unique with the names above them."""
    inner = set(parsed.parent)
    repeated = {name for name, times in Counter(parsed.names).items() if times > 1}
    for node, name in enumerate(parsed.names):
        above = parsed.parent[node]
        if node in inner and above >= 0 and name in repeated:
            parsed.names[node] = f"{parsed.names[above]}/{name}"
    first: dict[str, int] = {}
    for node, name in enumerate(parsed.names):
        if first.setdefault(name, node) != node:
            parsed.problems.append(
                Problem(parsed.lines[node], "two nodes have the same name; rename one of them")
            )


def _check_shape(parsed: ParsedTaxonomy) -> None:
    """Note several roots, none, and cycles."""
    roots = [node for node, above in enumerate(parsed.parent) if above < 0]
    if len(roots) > 1:
        first, second = (parsed.lines[root] for root in roots[:2])
        parsed.problems.append(
            Problem(
                0, f"{len(roots)} roots (first named on lines {first} and {second}); put them under one root"
            )
        )
    state = [0] * len(parsed.parent)
    for start in range(len(state)):
        node, trail = start, []
        while node >= 0 and not state[node]:
            state[node] = 1
            trail.append(node)
            node = parsed.parent[node]
        if node >= 0 and state[node] == 1:
            parsed.problems.append(
                Problem(parsed.lines[node], "a cycle: the node is above itself; remove one of the lines")
            )
        for walked in trail:
            state[walked] = 2


def _find_in_paths(tree: Taxonomy, items: pa.Array) -> Found:
    """Find an item by its whole path, else by its last step where no other path ends in it."""
    node, exact = find_by_label(tree, items)
    steps = pc.replace_substring_regex(tree.labels, r"^.*/", "")
    counts = steps.value_counts()
    unique = counts.field("values").filter(pc.equal(counts.field("counts"), 1))
    only = pc.if_else(pc.is_in(steps, value_set=unique), steps, None)
    by_step = pc.index_in(items, value_set=only, skip_nulls=True).fill_null(-1).to_numpy(zero_copy_only=False)
    found = np.where(exact, node, by_step).astype(np.int32)
    return found, found >= 0


_READERS = {"child-parent": _read_child_parent, "paths": _read_paths, "rows": _read_rows}
_FINDERS = {"child-parent": find_by_label, "paths": _find_in_paths, "rows": find_by_label}
