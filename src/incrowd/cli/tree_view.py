"""Taxonomies on the terminal: their shape, their problems, and where a word is in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from incrowd.report.console import plain_console
from incrowd.report.visible import visible

__all__ = ["show_places", "show_problems", "show_shape"]


def show_shape(shape: Mapping[str, Any]) -> None:
    """Show a taxonomy's shape."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("taxonomy", Text(shape["taxonomy"]))
    for name in ("nodes", "leaves", "inner_nodes", "levels", "single_children"):
        table.add_row(name.replace("_", " "), f"{shape[name]:,}")
    table.add_row("root", Text(shape["root"]))
    table.add_row("widest node", Text(f"{shape['widest_node']} ({shape['children_of_widest']:,} children)"))
    if "moved_words" in shape:
        table.add_row("moved words", f"{shape['moved_words']:,}")
    table.add_row("nodes by level", ", ".join(f"{n:,}" for n in shape["nodes_by_level"]))
    plain_console().print(table)


def show_places(found: Mapping[str, Any]) -> None:
    """Show where a word is in a taxonomy: each node with its way from the root and the nodes around it."""
    console = plain_console()
    if found.get("why"):
        console.print(Text(visible(found["why"])))
    for node in found["found"]:
        number = f" (id {node['id']})" if node["id"] else ""
        console.print(Text(visible(node["label"] + number), style="bold"))
        table = Table(box=None, show_header=False, pad_edge=False)
        table.add_row("  path", Text(visible(" > ".join(node["path"]))))
        for name in ("siblings", "children"):
            table.add_row(f"  {name}", Text(_some_of(node[name], node[f"{name}_in_all"])))
        console.print(table)
    more = found["found_in_all"] - len(found["found"])
    if more:
        console.print(f"and {more:,} more nodes of this name")
    if found["alike"]:
        console.print(Text(f"See also: {_some_of(found['alike'], len(found['alike']))}"))


def _some_of(names: Sequence[str], in_all: int) -> str:
    """Return some of many names in one line."""
    more = f" and {in_all - len(names):,} more" if in_all > len(names) else ""
    return visible(" · ".join(names)) + more if in_all else "none"


def show_problems(found: Mapping[str, Any]) -> None:
    """Show a taxonomy file's problems, or that it has none."""
    console = plain_console()
    for problem in found["problems"]:
        console.print(Text(visible(problem["in_words"]), style="red"))
    if not found["problems"]:
        console.print("no problems", style="green")
        show_shape(found["shape"])
