"""Taxonomy files in text: child-parent lines, category paths, ARX-style rows, lists of categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from incrowd.taxonomy.matching import find_in_paths
from incrowd.taxonomy.sources.categories import is_category_list, read_categories
from incrowd.taxonomy.sources.lines import Line, read_lines, refuse_empty
from incrowd.taxonomy.sources.parsed import ParsedTaxonomy

__all__ = ["parse_taxonomy"]


def parse_taxonomy(path: str | Path) -> ParsedTaxonomy:
    """Read a taxonomy file and collect its problems instead of raising the first."""
    path = Path(path)
    lines = read_lines(path)
    name = _form(lines)
    form = _FORMS[name]
    lines = [(number, line) for number, line in lines if not form.is_comment(line)]
    if not lines:
        refuse_empty(path)
    parsed = ParsedTaxonomy(path, name)
    form.read(parsed, lines)
    _check_shape(parsed)
    return parsed


def _form(lines: Sequence[Line]) -> str:
    """Recognise the file's form, by its first line as far as possible."""
    texts = [line for _, line in lines]
    content = [line for line in texts if not line.startswith("#")] or texts
    cells = content[0].split("\t")
    if is_category_list(content):
        return "categories"
    if ";" in content[0] and len(cells) == 1:
        return "rows"
    if "/" in cells[0] and (len(cells) == 1 or cells[1].strip().isdigit()):
        return "paths"
    return "child-parent"


def _read_child_parent(parsed: ParsedTaxonomy, lines: Sequence[Line]) -> None:
    """Read ``child TAB parent`` lines; the root is the one node without a parent."""
    node: dict[str, int] = {}
    given: dict[int, int] = {}
    for number, line in lines:
        child_name, _, parent_name = (cell.strip() for cell in line.partition("\t"))
        if not child_name or not parent_name or "\t" in parent_name:
            parsed.add_problem(
                number,
                "expected 'child TAB parent' (or, in the whole file, 'A > B' or 'A/B' paths or 'leaf;parent;*' rows)",
            )
            continue
        for name in (child_name, parent_name):
            if name not in node:
                node[name] = parsed.add(name, number)
        child, above = node[child_name], node[parent_name]
        if child in given:
            parsed.add_problem(
                number, "the child has a parent already; keep one of them", earlier=given[child]
            )
            continue
        given[child] = number
        parsed.parent[child] = above
        parsed.lines[child] = number


def _read_paths(parsed: ParsedTaxonomy, lines: Sequence[Line]) -> None:
    """Read ``Top/Sports/Surfing`` paths; a node is its whole path, and so is its label."""
    parsed.find = find_in_paths
    seen: dict[int, int] = {}
    for number, line in lines:
        steps = [step.strip() for step in line.split("\t")[0].strip().strip("/").split("/")]
        if not all(steps):
            parsed.add_problem(number, "a path with an empty step")
            continue
        node = parsed.add_path(steps, number, "/")
        if seen.setdefault(node, number) != number:
            parsed.add_problem(number, "the path stands there twice; keep one of them", earlier=seen[node])


def _read_rows(parsed: ParsedTaxonomy, lines: Sequence[Line]) -> None:
    """Read ``leaf;parent;...;*`` rows; a node is identified by its path to the root; equal neighbours are one node."""
    seen: dict[str, int] = {}
    for number, line in lines:
        cells = [cell.strip().strip('"') for cell in line.split(";")]
        cells = [cell for i, cell in enumerate(cells) if i == 0 or cell != cells[i - 1]]
        if not all(cells):
            parsed.add_problem(number, "an empty cell")
        elif seen.setdefault(cells[0], number) != number:
            parsed.add_problem(
                number, "the leaf stands there twice; keep one of them", earlier=seen[cells[0]]
            )
        else:
            parsed.add_path(reversed(cells), number, None)
    _qualify_repeated_names(parsed)


def _qualify_repeated_names(parsed: ParsedTaxonomy) -> None:
    """Prefix inner nodes whose name is not unique with the names above them."""
    inner = set(parsed.parent)
    repeated = {name for name, times in Counter(parsed.labels).items() if times > 1}
    for node, name in enumerate(parsed.labels):
        above = parsed.parent[node]
        if node in inner and above >= 0 and name in repeated:
            parsed.labels[node] = f"{parsed.labels[above]}/{name}"
    first: dict[str, int] = {}
    for node, name in enumerate(parsed.labels):
        if first.setdefault(name, node) != node:
            parsed.add_problem(parsed.lines[node], "two nodes have the same name; rename one of them")


def _check_shape(parsed: ParsedTaxonomy) -> None:
    """Note several roots, none, and cycles."""
    roots = [node for node, above in enumerate(parsed.parent) if above < 0]
    if len(roots) > 1:
        first, second = (parsed.lines[root] for root in roots[:2])
        parsed.add_problem(
            0,
            f"{len(roots):,} roots (first named on lines {first:,} and {second:,}); put them under one root",
        )
    state = [0] * len(parsed.parent)
    for start in range(len(state)):
        node, trail = start, []
        while node >= 0 and not state[node]:
            state[node] = 1
            trail.append(node)
            node = parsed.parent[node]
        if node >= 0 and state[node] == 1:
            parsed.add_problem(
                parsed.lines[node], "a cycle: the node is above itself; remove one of the lines"
            )
        for walked in trail:
            state[walked] = 2


class _Form(NamedTuple):
    """How the lines of a form are read, and what separates the names on them."""

    read: Callable[[ParsedTaxonomy, Sequence[Line]], None]
    separator: str

    def is_comment(self, line: str) -> bool:
        """Return whether a line is a comment: it begins with # and names no nodes. An item may be a #hashtag."""
        return line.startswith("#") and (self.separator == ">" or self.separator not in line)


_FORMS = {
    "child-parent": _Form(_read_child_parent, "\t"),
    "paths": _Form(_read_paths, "/"),
    "rows": _Form(_read_rows, ";"),
    "categories": _Form(read_categories, ">"),
}
