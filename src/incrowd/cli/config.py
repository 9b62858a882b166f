"""A command's options in TOML files: every option has its key there, and the command line wins over the files.

The keys are derived from the command itself, so a new option has one too. A profile is such a file that the package brings along, or any
other; what a configuration says wins over it.
"""

from __future__ import annotations

import io
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from incrowd.cli.options import FILE, CommaText, TextOrFile
from incrowd.core.own_files import is_file, read_own
from incrowd.errors import BadInputError, nearest

__all__ = [
    "InputArgument",
    "Kind",
    "config_option",
    "key_of",
    "keys_of",
    "kind_of",
    "layer_of",
    "layer_of_setting",
    "profile_file",
    "profiles",
    "without_overruled",
]

Command = TypeVar("Command", bound=Callable[..., Any])
SOURCES = ("profile", "config")  # the later wins
ONLY_TYPED = (*SOURCES, "dry-run", "lacking", "json", "help")  # how a command is called, not what the job is
SETTINGS = "settings"  # the one option that is a table
TYPED = "command line"
LAYERS = (*SOURCES, TYPED)  # the later wins
OVERRULED = {"goal": "method", "method": "goal"}  # each says what the other does
LARGEST_FILE = 1 << 20
PROFILES = Path(__file__).parents[1] / "data/profiles"


@dataclass(frozen=True)
class Kind:
    """What the value of a key must be, in words and as an example, and how it becomes what the command line would have said."""

    words: str
    example: str
    read: Callable[[Any], Any]
    """Returns None for a value of another kind."""


def config_option(command: Command) -> Command:
    """Add ``--config`` and ``--profile``."""
    how: dict[str, Any] = {"is_eager": True, "expose_value": False, "callback": _use_file}
    profile = click.option(
        "--profile",
        metavar="NAME|FILE",
        help=f"Take options from a profile ({', '.join(profiles())}), or a TOML file; --config and the command line win. 'incrowd init --profile NAME' copies one.",
        **how,
    )
    config = click.option(
        "--config",
        type=FILE,
        help="Take options from a TOML file, as 'incrowd init' makes one; those of the command line win.",
        **how,
    )
    return config(profile(command))


def profiles() -> dict[str, Path]:
    """Return the profiles that the package brings along."""
    return {path.stem: path for path in sorted(PROFILES.glob("*.toml"))}


def profile_file(name: str) -> Path:
    """Return the file of a profile: one that the package brings along, by its name, or any other."""
    known = profiles()
    if name in known:
        return known[name]
    if is_file(name):
        return Path(name)
    there = ", ".join(f"{one} ({path})" for one, path in known.items())
    raise BadInputError(
        f"profile must be a name or a TOML file that exists (got '{name:.80}'){nearest(name, known)}; there are: {there}; "
        "'incrowd init --profile NAME' makes a copy to change"
    )


class InputArgument(click.Argument):
    """An argument, or several, that the file may name in place of the command line."""

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, click.Parameter]
    ) -> tuple[Any, ParameterSource]:
        """Return what was given, or what the file names: click before 8.3 asks it only for single arguments."""
        value, source = super().consume_value(ctx, opts)
        if value == () and (named := ctx.lookup_default(str(self.name))) is not None:
            return named, ParameterSource.DEFAULT_MAP
        return value, source


def without_overruled(options: dict[str, Any], context: click.Context) -> dict[str, Any]:
    """Drop from the file's options what the command line says in another way."""
    overruled = [
        name
        for name, by in OVERRULED.items()
        if context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP
        and context.get_parameter_source(by) is ParameterSource.COMMANDLINE
    ]
    return {**options, **dict.fromkeys(overruled)}


def layer_of(name: str, context: click.Context) -> int:
    """Return which of `LAYERS` says an option, as its number; -1 if none does."""
    if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
        return LAYERS.index(TYPED)
    read = context.meta.get(__name__, {})
    return max((LAYERS.index(source) for source in SOURCES if name in read.get(source, {})), default=-1)


def layer_of_setting(name: str, value: str, context: click.Context) -> int:
    """Return which of `LAYERS` says a parameter of the method, given the value that won."""
    read = context.meta.get(__name__, {})
    said = f"{name}={value}"
    found = (LAYERS.index(source) for source in SOURCES if said in read.get(source, {}).get(SETTINGS, ()))
    return max(found, default=LAYERS.index(TYPED))


def keys_of(command: click.Command) -> dict[str, click.Parameter]:
    """Return the parameters that a file may have, by their keys."""
    keys = {key_of(parameter): parameter for parameter in command.params}
    return {key: parameter for key, parameter in keys.items() if key not in ONLY_TYPED}


def key_of(parameter: click.Parameter) -> str:
    """Return a parameter's key: the name of the option, or what the help calls the argument."""
    if isinstance(parameter, click.Argument):
        return (parameter.metavar or str(parameter.name)).strip("[]. ").lower()
    return max(parameter.opts, key=len).lstrip("-")


def kind_of(parameter: click.Parameter) -> Kind:
    """Return what the value of a parameter's key must be."""
    return next(kind for fits, kind in _KINDS if fits(parameter))


def _use_file(context: click.Context, option: click.Parameter, given: Path | str | None) -> None:
    """Let a file say what the command line does not."""
    if given is None:
        return
    path = given if isinstance(given, Path) else profile_file(given)
    read = context.meta.setdefault(__name__, {})
    read[option.name] = _read_file(path, keys_of(context.command))
    context.default_map = _merged(*(read.get(source, {}) for source in SOURCES))


def _merged(profile: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what two files say together: the second wins, and of tables name by name."""
    below = {name: value for name, value in profile.items() if OVERRULED.get(name) not in config}
    tables = {
        name: [*below[name], *value] for name, value in config.items() if name == SETTINGS and name in below
    }
    return {**below, **config, **tables}


def _read_file(path: Path, keys: Mapping[str, click.Parameter]) -> dict[str, Any]:
    """Return the values in a file by the names of the parameters."""
    text = _text_of(path)
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(f"{path} is not TOML: {error}") from None
    except RecursionError:
        raise BadInputError(f"{path} is not TOML that can be read: it is nested too deeply") from None
    values: dict[str, Any] = {}
    for written, value in said.items():
        key = written.replace("_", "-")
        where = f"{path}{_line_of(written, text)}"
        if key not in keys:
            raise BadInputError(f"{where}: {_unknown(key, keys)}")
        parameter = keys[key]
        if parameter.name in values:
            raise BadInputError(f"{where}: {key} is there twice, once with - and once with _: keep one")
        values[str(parameter.name)] = _value(parameter, key, value, path.parent, where)
    return values


def _text_of(path: Path) -> str:
    data = read_own(
        path,
        name="config",
        kind="a file of options",
        remedy="give a TOML file, as 'incrowd init' makes one",
        largest=LARGEST_FILE,
    )
    try:
        return io.StringIO(data.decode("utf-8"), newline=None).read()  # however its lines end
    except UnicodeDecodeError:
        raise BadInputError(f"config {path} is not UTF-8: save it as UTF-8, or is it the input?") from None


def _unknown(key: str, keys: Mapping[str, click.Parameter]) -> str:
    if key in ONLY_TYPED:
        return f"{key} is for the command line only (--{key}): remove it"
    return f"there is no option '{key}'{nearest(key, keys)}; there are: {', '.join(keys)}"


def _value(parameter: click.Parameter, key: str, value: Any, base: Path, where: str) -> Any:
    """Return a value as the command line would give it; files are beside the file that names them."""
    kind = kind_of(parameter)
    read = kind.read(value)
    if read is None:  # the value itself is not shown: it may be a secret seed
        raise BadInputError(f"{where}: {key} must be {kind.words} (got {_kind_in_words(value)})")
    if isinstance(parameter.type, click.Path | TextOrFile):
        beside = [_beside(parameter.type, one, base) for one in ([read] if isinstance(read, str) else read)]
        return beside[0] if isinstance(read, str) else beside
    return read


def _beside(kind: click.Path | TextOrFile, name: str, base: Path) -> str:
    if isinstance(kind, TextOrFile) and not kind.is_file(name):
        return name
    return str(base / Path(name).expanduser())


def _line_of(key: str, text: str) -> str:
    """Return where a key is, as far as that can be told without a parser that keeps places."""
    found = re.search(rf"""^[ \t]*\[?[ \t]*["']?{re.escape(key)}["']?[ \t]*[=\].]""", text, re.MULTILINE)
    return f" line {text.count(chr(10), 0, found.start()) + 1}" if found else ""


def _kind_in_words(value: Any) -> str:
    names = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "a table",
    }
    return names.get(type(value), "a time")


def _number(value: Any) -> str | None:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _day(value: Any) -> str | None:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, str) else None


def _texts(value: Any) -> list[str] | None:
    return value if isinstance(value, list) and all(isinstance(one, str) for one in value) else None


def _joined(value: Any) -> str | None:
    texts: Sequence[str] | None = [value] if isinstance(value, str) else _texts(value)
    return None if texts is None else ",".join(texts)


def _pairs(value: Any) -> list[str] | None:
    """Return a table as the texts NAME=VALUE that an option takes one by one."""
    if not isinstance(value, dict) or not all(isinstance(one, str | int | float) for one in value.values()):
        return None
    return [f"{name}={_spelled(one)}" for name, one in value.items()]


def _spelled(value: str | float | bool) -> str:  # noqa: FBT001
    return str(value).lower() if isinstance(value, bool) else str(value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _several(value: Any) -> list[str] | None:
    return [value] if isinstance(value, str) else _texts(value)


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


# The first that fits a parameter.
_KINDS: Sequence[tuple[Callable[[click.Parameter], bool], Kind]] = (
    (lambda one: isinstance(one, click.Option) and one.is_flag, Kind("true or false", "false", _flag)),
    (lambda one: one.multiple, Kind("a table of names and values", "", _pairs)),
    (lambda one: one.nargs == -1, Kind("a text or a list of texts", '"..."', _several)),
    (
        lambda one: isinstance(one.type, click.types.IntParamType) or one.metavar == "INTEGER",
        Kind("a whole number", "0", _number),
    ),
    (
        lambda one: isinstance(one.type, CommaText),
        Kind("a list of texts, or one text with commas", '["..."]', _joined),
    ),
    (lambda one: one.metavar == "YYYY-MM-DD", Kind("a day, as 2026-04-01", "YYYY-MM-DD", _day)),
    (lambda _: True, Kind("a text", '"..."', _text)),
)
