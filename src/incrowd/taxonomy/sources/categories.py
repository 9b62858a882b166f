"""Lists of categories as shops publish them: ``A > B > C`` lines, with or without an id in front, and comments.

Google's and Shopify's files of product categories are read as they are::

    # Google_Product_Taxonomy_Version: 2021-09-21             # Shopify Product Taxonomy - Categories
    1 - Animals & Pet Supplies                                gid://shopify/TaxonomyCategory/ap : Animals & Pet Supplies
    3237 - Animals & Pet Supplies > Live Animals              gid://shopify/TaxonomyCategory/ap-1 : Animals & Pet Supplies > Live Animals

A node is its whole path, and so is its label: *Accessories* below *Cameras* and below *Bicycles* are two nodes. A list
with several categories at the top gets a root above them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from incrowd.taxonomy.matching import ARROW, CategoryFinder
from incrowd.taxonomy.sources.balanced import unused_label
from incrowd.taxonomy.sources.lines import Line
from incrowd.taxonomy.sources.parsed import ParsedTaxonomy

__all__ = ["is_category_list", "read_categories"]

ROOT = "all categories"
# What may stand in front of a path: an id, then a TAB, a colon or a dash. A colon within an id has no blank behind it.
_IDS = (
    re.compile(r"([^\t>]*[^\s>])\s*\t\s*(.*)"),
    re.compile(r"([^\s>]+)\s*:\s+(.*)"),
    re.compile(r"([^\s>]+)\s+-\s+(.*)"),
)


def is_category_list(lines: Sequence[str]) -> bool:
    """Return whether lines, without comments, are a list of categories and no other form of a taxonomy.

    The first line may be a category of the top, without an arrow.
    """
    with_arrow = sum(">" in line for line in lines)
    if not with_arrow:
        return False
    if "\t" in lines[0]:
        # Of 'child TAB parent' lines, some child is a parent or all have one parent.
        ids, _, paths = zip(*(line.partition("\t") for line in lines), strict=True)
        return ">" not in "".join(ids) and set(ids).isdisjoint(paths) and len(set(paths)) > 1
    first = next((found[2] for form in _IDS if (found := form.fullmatch(lines[0].strip()))), lines[0])
    return 2 * with_arrow >= len(lines) or not re.search("[/;]", first)


def read_categories(parsed: ParsedTaxonomy, rows: Sequence[Line]) -> None:
    """Read ``A > B > C`` lines, each with an id in front where most have one.

    A path that stands there twice is one node, and any of its ids means it.
    """
    with_id = _form_of_ids(rows)
    node_of_id: dict[str, int] = {}
    line_of_id: dict[str, int] = {}
    for number, line in rows:
        found = with_id.fullmatch(line.strip()) if with_id else None
        if with_id and not found:
            parsed.add_problem(number, "no id in front of the path, as most lines have; add it")
            continue
        steps = [" ".join(step.split()) for step in (found[2] if found else line).split(">")]
        if not all(steps):
            parsed.add_problem(number, "a path with an empty step")
            continue
        node = parsed.add_path(steps, number, ARROW)
        if found and node_of_id.setdefault(found[1], node) != node:
            parsed.add_problem(
                number, "the id has another path already; rename it", earlier=line_of_id[found[1]]
            )
        elif found:
            line_of_id.setdefault(found[1], number)
    _check_ids(parsed, node_of_id, line_of_id)
    _add_root(parsed)
    labels = pa.array([parsed.labels[node] for node in node_of_id.values()], pa.string())
    parsed.find = CategoryFinder(pa.array(node_of_id, pa.string()), labels)


def _form_of_ids(rows: Sequence[Line]) -> re.Pattern[str] | None:
    """Return how ids stand in front of paths: as for more than half of the lines, each with another id."""
    for form in _IDS:
        ids = {found[1] for _, line in rows if (found := form.fullmatch(line.strip()))}
        if 2 * len(ids) > len(rows):
            return form
    return None


def _check_ids(parsed: ParsedTaxonomy, node_of_id: dict[str, int], line_of_id: dict[str, int]) -> None:
    """Note ids that are paths of other nodes: of an item called so nobody could say which it means."""
    node_of_label = {label: node for node, label in enumerate(parsed.labels)}
    for name, node in node_of_id.items():
        if node_of_label.get(name, node) != node:
            parsed.add_problem(line_of_id[name], "the id is the path of another category; rename one of them")


def _add_root(parsed: ParsedTaxonomy) -> None:
    """Put the categories of the top below one root, if there are several."""
    tops = [node for node, above in enumerate(parsed.parent) if above < 0]
    if len(tops) > 1:
        root = parsed.add(unused_label(ROOT, pa.array(parsed.labels, pa.string())), line=0)
        for node in tops:
            parsed.parent[node] = root
