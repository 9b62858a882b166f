"""Reading YAML into structs: every error is one line that says where the mistake is and how to correct it.

msgspec checks the single values. The structure is walked here, so that errors have the path to the value, such as
``routes[0].parameters.county.send``, and suggest the name that was probably meant.
"""

from __future__ import annotations

import os
import re
import types
from collections.abc import Hashable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import yaml

from incrowd.errors import BadInputError, check_choice, nearest
from incrowd.gateway.config.settings import Hidden, HiddenBytes
from incrowd.generalizer.policy import Policy, parse_policy

__all__ = ["StructReader", "private_file", "read_yaml"]

# What a plain value must be where its type has no description.
_WORDS = {str: "text: put it in quotes", int: "a whole number", float: "a number", bool: "true or false"}
# A longer text that PyYAML quotes may be a secret that was not quoted, such as *word.
_QUOTED = re.compile(r" '[^'<][^']+'")


class _StrictLoader(yaml.SafeLoader):
    """YAML's safe loader, which refuses duplicate keys and reads only plain numbers, true, false and null as non-text.

    YAML 1.1 would read ``no`` as false, ``1:30`` as ninety and the zip code ``01234`` as an octal number.
    """

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - PyYAML keeps them in the class

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - PyYAML's
        seen = set()
        for key, _ in node.value:
            if key.value in seen and isinstance(key, yaml.ScalarNode):
                line = key.start_mark.line + 1
                raise BadInputError(f"line {line}: '{key.value}' is given twice; keep one")
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
        return super().construct_mapping(node, deep=deep)


for _tag, _pattern, _first in (
    ("null", r"~|null|", ["~", "n", ""]),
    ("bool", r"true|false", list("tf")),
    ("int", r"-?(0|[1-9][0-9]*)", list("-0123456789")),
    ("float", r"-?[0-9]+(\.[0-9]+([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)", list("-0123456789")),
    ("merge", r"<<", ["<"]),
):
    _StrictLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)


def read_yaml(text: bytes) -> Any:
    """Read the one document of a YAML file."""
    try:
        tree = yaml.load(text, _StrictLoader)  # noqa: S506 - a safe loader
    except BadInputError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        problem = _QUOTED.sub("", error.problem or "not YAML")
        raise BadInputError(f"{line}{problem} (see that line or the one above)") from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError):
        raise BadInputError("cannot be read as YAML: save it as UTF-8 text") from None
    if tree is None:
        raise BadInputError("is empty; see docs/gateway.md for an example")
    return tree


class StructReader:
    """Fills structs from parsed YAML.

    Parameters
    ----------
    folder
        The directory that relative paths are relative to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, kind: Any, tree: Any, where: str = "") -> Any:
        """Return a value of the given type, or raise an error of one line with its place."""
        plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
        origin = get_origin(plain)
        if isinstance(plain, type) and issubclass(plain, msgspec.Struct):
            return self._struct(plain, tree, where)
        if origin is tuple:
            return self._items(get_args(plain)[0], tree, where)
        if origin is dict:
            return self._mapping(*get_args(plain), tree=tree, where=where)
        if plain is kind and origin in {Union, types.UnionType}:
            return self._one_of(get_args(plain), tree, where)
        return self._leaf(kind, plain, tree, where)

    def _struct(self, kind: type[msgspec.Struct], tree: Any, where: str) -> Any:
        shorthand = getattr(kind, "shorthand", None)
        if shorthand and isinstance(tree, str):
            tree = {shorthand: tree}
        hints = _readable_fields(kind)
        given = _names(tree, where)
        if (tag := kind.__struct_config__.tag_field) is not None:
            given.pop(tag, None)
        for name in given:
            if name in (removed := getattr(kind, "removed", {})):
                raise _wrong(_join(where, name), removed[name])
            if name not in hints:
                known = f"; there are {', '.join(hints)}"
                raise _wrong(_join(where, name), f"there is no such field{nearest(name, hints) or known}")
        values = {name: self.read(hints[name], given[name], _join(where, name)) for name in given}
        for field in msgspec.structs.fields(kind):
            if field.required and field.name not in values:
                raise _wrong(_join(where, field.name), "is missing; add it")
        return kind(**values)

    def _items(self, kind: Any, tree: Any, where: str) -> tuple[Any, ...]:
        if not isinstance(tree, list):
            raise _wrong(where, "must be a list; put it in [ ]")
        return tuple(self.read(kind, item, f"{where}[{place}]") for place, item in enumerate(tree))

    def _mapping(self, key_kind: Any, kind: Any, *, tree: Any, where: str) -> dict[str, Any]:
        return {
            self.read(key_kind, name, where): self.read(kind, value, _join(where, name))
            for name, value in _names(tree, where).items()
        }

    def _one_of(self, kinds: tuple[Any, ...], tree: Any, where: str) -> Any:
        """Read an optional value, or one of several structs that `kind` distinguishes."""
        if tree is None and type(None) in kinds:
            return None
        kinds = tuple(kind for kind in kinds if kind is not type(None))
        if len(kinds) == 1:
            return self.read(kinds[0], tree, where)
        by_tag = {kind.__struct_config__.tag: kind for kind in kinds}
        tag = _names(tree, where).get("kind")
        if tag is None:
            raise _wrong(f"{where}.kind", f"is missing; give one of {', '.join(by_tag)}")
        with _Place(f"{where}.kind"):
            check_choice("it", str(tag), by_tag)
        return self.read(by_tag[tag], tree, where)

    def _leaf(self, kind: Any, plain: Any, tree: Any, where: str) -> Any:
        if plain in {Hidden, HiddenBytes}:
            inline, secret = self._secret(tree, where)
            return (
                HiddenBytes(secret, inline=inline)
                if plain is HiddenBytes
                else _text(secret, where, inline=inline)
            )
        with _Place(where):
            if plain is Path:
                return self.folder / _convert(str, tree)
            if plain is Policy:
                return parse_policy(_convert(str, tree))
            if get_origin(plain) is Literal and isinstance(tree, str):
                check_choice("it", tree, get_args(plain))
            return _convert(kind, tree)

    def _secret(self, tree: Any, where: str) -> tuple[bool, bytes]:
        """Return whether a secret is in the configuration file itself, and the secret."""
        match tree:
            case str():
                inline, secret = True, tree.encode("utf-8", "surrogatepass")
            case {"env": str(name), **rest} if not rest:
                inline, secret = False, os.environb.get(os.fsencode(name), b"")
                if not secret:
                    raise _wrong(where, f"the environment variable {name} is not set; set it")
            case {"file": str(name), **rest} if not rest:
                with _Place(where):
                    inline, secret = False, private_file(self.folder / name).rstrip(b"\r\n")
            case _:
                raise _wrong(where, "must be {env: NAME}, {file: PATH} or text in quotes")
        if not secret:
            raise _wrong(where, "is empty; give a secret")
        return inline, secret


def private_file(path: Path) -> bytes:
    """Return the content of a file that only its owner may read."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & 0o077:
                raise BadInputError(f"others may read the secret in {path}; chmod 600 {path}")
            return file.read()
    except OSError as error:
        raise BadInputError(
            f"cannot read {path}: {error.strerror}; give a file that is there and that this user may read"
        ) from None


class _Place:
    """A ``with`` block that adds the place to errors."""

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        """Enter the block."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Add the place to an error."""
        if isinstance(error, BadInputError):
            raise _wrong(self.where, str(error).removeprefix("it ")) from None


def _convert(kind: Any, tree: Any) -> Any:
    """Check a plain value. Errors do not show the value: it may be a secret in the wrong place."""
    plain = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    meta = kind.__metadata__[0] if get_origin(kind) is Annotated else msgspec.Meta()
    extra = meta.extra or {}
    value = extra["read"](tree) if "read" in extra else tree
    try:
        value = msgspec.convert(value, kind)
    except msgspec.ValidationError:
        raise BadInputError(f"must be {meta.description or _WORDS.get(plain, 'something else')}") from None
    return Hidden(value.lower()) if extra.get("hidden") else value


def _text(secret: bytes, where: str, *, inline: bool) -> Hidden:
    try:
        return Hidden(secret.decode(), inline=inline)
    except UnicodeDecodeError:
        raise _wrong(where, "must be UTF-8 text; save it as such") from None


def _names(tree: Any, where: str) -> dict[str, Any]:
    """Return a copy of a mapping whose names are text."""
    if not isinstance(tree, dict):
        raise _wrong(where, "must be names with values, such as {name: value}")
    if not all(isinstance(name, str) for name in tree):
        raise _wrong(where, "names must be text; put them in quotes")
    return dict(tree)


@cache
def _readable_fields(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the types of the fields that a file may set."""
    hints = get_type_hints(kind, include_extras=True)
    fields = {field.name: hints[field.name] for field in msgspec.structs.fields(kind)}
    return {name: hint for name, hint in fields.items() if not _is_derived(hint)}


def _is_derived(hint: Any) -> bool:
    return any((meta.extra or {}).get("derived") for meta in getattr(hint, "__metadata__", ()))


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _wrong(where: str, what: str) -> BadInputError:
    return BadInputError(f"{where}: {what}" if where else what)
