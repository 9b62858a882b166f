"""The rules of the house, read from the source: who may import whom, and how long things may get."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import incrowd

SOURCE = Path(incrowd.__file__).parent
LAYERS = (
    ("core",),
    ("taxonomy", "report"),
    ("text", "kernels", "release.files"),
    ("logs", "methods", "metrics", "auditing", "generalizer"),
    ("release", "gateway", "attacks"),
    ("jobs",),
    ("spark", "studio"),
    ("cli",),
)
HEIGHT = {part: height for height, parts in enumerate(LAYERS) for part in parts}
LONGEST_MODULE = 500
LONGEST_FUNCTION = 60
USUAL_FUNCTION = 25
MAY_PRINT = ("cli", "report")


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


class Trees(dict[str, ast.Module]):
    """The modules as Python parses them, each when it is first looked at: every worker collects all tests, and one runs these."""

    def __missing__(self, module: str) -> ast.Module:
        self[module] = ast.parse(MODULES[module].read_text(encoding="utf-8"))
        return self[module]


TREES = Trees()


@cache
def nodes_of(module: str) -> list[ast.AST]:
    """Return all that is in a module."""
    return list(ast.walk(TREES[module]))


@pytest.fixture(scope="module", autouse=True)
def _let_go():
    """Forget all trees in the end: a search for garbage goes over every node of them."""
    yield
    for remembered in (nodes_of, imports):
        remembered.cache_clear()
    TREES.clear()


def part_of(module: str) -> str:
    """Return the room that a module is in: ``incrowd.text.words`` is in ``text``.

    The files of a release are a room of their own: the audit stands between what they are and who publishes them.
    """
    parts = [*module.split("."), "", ""]
    if parts[1] in {"errors", "version"}:
        return "core"
    return "release.files" if parts[1:3] == ["release", "files"] else parts[1]


@cache
def imports(module: str) -> set[str]:
    """Return the modules of the product that a module imports, be it in a function or for types alone."""
    found = set()
    for node in nodes_of(module):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return {name for name in found if name in MODULES and name != "incrowd"}


def everything_behind(module: str) -> set[str]:
    """Return the modules that importing a module loads, packages on the way included."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in seen or name == "incrowd":
            continue
        seen.add(name)
        waiting += [*imports(name), name.rpartition(".")[0]]
    return seen - {""}


def test_every_room_has_its_floor():
    rooms = {part_of(name) for name in MODULES} - {"", "__main__", "data"}
    assert rooms == set(HEIGHT)


@pytest.mark.parametrize("module", sorted(name for name in MODULES if part_of(name) in HEIGHT))
def test_imports_point_one_way(module):
    own = HEIGHT[part_of(module)]
    upward = {
        name for name in imports(module) if part_of(name) != part_of(module) and HEIGHT[part_of(name)] >= own
    }
    assert upward == set()


def test_the_audit_knows_no_method_and_no_kernel():
    rooms = {part_of(name) for name in everything_behind("incrowd.auditing.audit") - {"incrowd.release"}}
    assert rooms & {"methods", "kernels", "metrics", "release", "jobs"} == set()
    assert "taxonomy" in rooms  # the search does follow imports


def test_the_data_holds_no_code():
    assert [node for node in TREES["incrowd.data"].body if not isinstance(node, ast.Expr)] == []


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_is_short_says_what_it_is_and_what_it_offers(module):
    tree = TREES[module]
    assert len(MODULES[module].read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE
    assert ast.get_docstring(tree)
    if (
        module not in {"incrowd", "incrowd.data"} and len(tree.body) > 1
    ):  # test_api.py looks at the package's own names
        assert offered(tree) is not None


def offered(tree: ast.Module) -> list[str] | None:
    """Return ``__all__``."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return list(ast.literal_eval(node.value))
    return None


def test_everything_offered_is_there():
    for name in MODULES:
        if name == "incrowd.__main__":
            continue
        module = __import__(name, fromlist=["*"])
        assert [word for word in offered(TREES[name]) or [] if not hasattr(module, word)] == []


def functions():
    for module in MODULES:
        for node in nodes_of(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{module}.{node.name}:{node.lineno}", node.end_lineno - node.lineno + 1


def test_functions_are_short():
    lengths = dict(functions())
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}
    usual = sum(lines <= USUAL_FUNCTION for lines in lengths.values())
    assert usual / len(lengths) >= 0.9


@pytest.mark.parametrize("module", sorted(name for name in MODULES if part_of(name) not in MAY_PRINT))
def test_only_the_command_line_and_the_report_print(module):
    calls = [node for node in nodes_of(module) if isinstance(node, ast.Call)]
    names = [ast.unparse(node.func) for node in calls]
    assert not {"print", "sys.stdout.write", "sys.stderr.write", "warnings.warn"} & set(names)


@pytest.mark.parametrize(
    "module", sorted(name for name in MODULES if part_of(name) in ("methods", "kernels"))
)
def test_methods_and_kernels_read_no_clock_and_draw_no_hidden_chance(module):
    nodes = nodes_of(module)
    used = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    used |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert used & {"time", "datetime", "random", "secrets"} == set()


# What their documentation shows; the rest may change with any version. Attributes are ruff's business (SLF001).
DOCUMENTED = {
    # granian.http has the settings that an option of the server is made of.
    "granian": {"granian", "granian.constants", "granian.http", "granian.log"},
    "prometheus_client": {"prometheus_client", "prometheus_client.core", "prometheus_client.registry"},
}


@pytest.mark.parametrize("library", DOCUMENTED)
def test_only_the_documented_parts_of_the_servers_libraries_are_used(library):
    used = {
        node.module
        for module in MODULES
        for node in nodes_of(module)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == library
    }
    assert used
    assert used <= DOCUMENTED[library]
    inherited = {ast.unparse(base) for module in MODULES for base in bases(module)}
    assert not inherited & {"Granian", "MPServer"}


def bases(module):
    return [base for node in nodes_of(module) if isinstance(node, ast.ClassDef) for base in node.bases]
