"""Draw which room of the code imports which into ARCHITECTURE.md, from the code itself.

Run: python scripts/draw_imports.py
An arrow that follows from others (a imports b, b imports c, a imports c too) is left out.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "incrowd"
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- imports: made by scripts/draw_imports.py -->", "<!-- end of imports -->"
FOUNDATION = {"errors", "version"}  # part of core
LEFT_OUT = {"", "__main__", "data"}

Graph = dict[str, set[str]]


def room_of(module: str) -> str:
    """Return the room that a module is in; the files of a release are a room of their own."""
    parts = [*module.split("."), "", ""]
    if parts[1] in FOUNDATION:
        return "core"
    return "release.files" if parts[1:3] == ["release", "files"] else parts[1]


def imported(tree: ast.Module) -> set[str]:
    """Return the modules of the product that a module names in imports, those for types included."""
    return {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("incrowd.")
    }


def rooms() -> Graph:
    """Return for each room those whose code it imports."""
    graph: Graph = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        room = room_of(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
        if room not in LEFT_OUT:
            graph[room] |= {room_of(module) for module in imported(ast.parse(path.read_bytes()))} - {room}
    return dict(graph)


def reach(graph: Graph, room: str) -> set[str]:
    """Return all rooms that a room needs, directly or not."""
    found: set[str] = set()
    waiting = [room]
    while waiting:
        new = graph.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def draw(graph: Graph) -> str:
    """Return the graph in the language of Mermaid."""
    lines = ["```mermaid", "flowchart BT"]
    for room in sorted(graph):
        implied = {far for near in graph[room] for far in reach(graph, near)}
        lines += [f"  {name(room)} --> {name(other)}" for other in sorted(graph[room] - implied)]
    return "\n".join([*lines, "```"])


def name(room: str) -> str:
    """Return a room's name and what is shown of it."""
    return f'{room.replace(".", "_")}["{room.replace(".", "/")}"]'


def page_with(text: str, drawing: str) -> str:
    """Return the page with the drawing between its marks."""
    return re.sub(f"{BEGIN}.*?{END}", f"{BEGIN}\n{drawing}\n{END}", text, flags=re.DOTALL)


def main() -> None:
    """Draw."""
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), draw(rooms())), encoding="utf-8")


if __name__ == "__main__":
    main()
