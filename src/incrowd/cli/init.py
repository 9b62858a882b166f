"""``incrowd init``: three questions, a look at the file, and a configuration with every option of 'incrowd anonymize' in it."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from incrowd.cli.commands import anonymize
from incrowd.cli.config import key_of, keys_of, kind_of, profile_file
from incrowd.cli.options import FILE, CommaText, comma_list, json_option, print_json
from incrowd.core.atomic import atomic_write, check_free
from incrowd.errors import BadInputError, IncrowdError

if TYPE_CHECKING:
    from incrowd.jobs.plan import Recognised

__all__ = ["init"]

READING = (
    "format",
    "columns",
    "encoding",
    "delimiter",
    "time_format",
    "day",
    "segment",
)  # options that decide how the first lines are understood
HEADING = "# Options of 'incrowd anonymize --config', made by 'incrowd init'."
INTRODUCTION = """\
# A line that begins with # has no effect: remove the # to set an option. What is typed on the command line wins over this file.
# Files are looked for beside this one. Look what would happen:  incrowd anonymize --config {name} --dry-run
"""
NOTES = {
    "seed": "Keep a seed of mosaic secret: out of version control, and out of files that others can read.",
    "set": "'incrowd methods' lists them. A table, so it stays at the end of the file.",
    "force": "Best left to the command line: in a file, it replaces the release at every run.",
}
SUFFIXES = (".tsv", ".csv", ".tab", ".jsonl", ".json", ".parquet", ".dat", ".txt", ".log")
MOST_ENTRIES = 200  # of the directory; the rest is not looked at
WIDTH = 110
OUT = "release"


@click.command(short_help="Write a configuration after three questions.")
@click.argument("file", type=FILE, default=Path("incrowd.toml"))
@click.option(
    "--input", "source", type=FILE, help="The log or file of baskets.  [default: the only one here]"
)
@click.option("--goal", help="What the release is for: words, queries or people.  [default: words]")
@click.option(
    "--k", metavar="INTEGER", help="How many people must share whatever is published.  [default: 5]"
)
@click.option(
    "--profile", metavar="NAME", help="Write a copy of this profile, to be changed, and ask nothing."
)
@click.option("--force", is_flag=True, help="Replace a configuration that 'incrowd init' made.")
@json_option
def init(file: Path, profile: str | None, force: bool, as_json: bool, **given: Any) -> None:  # noqa: FBT001
    """Look at a log and write FILE, a configuration for 'incrowd anonymize --config FILE'.

    On a terminal it asks what the file is, what the release is for, and how many people must share whatever is published, and
    proposes an answer to each. An option answers its question beforehand. Elsewhere, and with --json, nothing is asked:
    the defaults are taken, and named.

    FILE has every option of 'incrowd anonymize' with a line on each.  [default: incrowd.toml]

    \b
    Examples:
      incrowd init
      incrowd init job.toml --input log.csv --columns user=who,query=text --goal people --k 10
      incrowd init mine.toml --profile search-sharing
    """  # noqa: D301 - click needs this character
    check_free(file, force=force, ours=_is_configuration, what="configuration")
    if profile is not None:
        _copy_profile(file, profile, given, force=force, as_json=as_json)
        return
    asks = sys.stdin.isatty() and not as_json
    source, recognised = _choose_input(given, asks=asks)
    goal = _choose_goal(given["goal"], recognised, asks=asks)
    k = _choose_k(given["k"], asks=asks)
    values = {
        "input": _seen_from(file, source),
        "out": _free_name(file.parent),
        "goal": goal,
        "k": k,
        **{_key(name): given[name] for name in READING if given[name] not in (None, _default(_key(name)))},
    }
    _write(file, _configuration(file.name, values), force=force)
    _tell(file, values, recognised, given, as_json=as_json)


init.params[5:5] = [parameter for parameter in anonymize.params if parameter.name in READING]


def _write(file: Path, text: str, *, force: bool) -> None:
    with atomic_write(file, replaces=_is_configuration if force else None) as draft:
        draft.write_text(text, encoding="utf-8")


def _copy_profile(file: Path, name: str, given: Mapping[str, Any], *, force: bool, as_json: bool) -> None:
    """Write a profile's text below the line by which a configuration is known."""
    said = next((key_of(one) for one in init.params if given.get(str(one.name)) not in (None, "auto")), None)
    if said is not None:
        raise BadInputError(f"--profile makes a copy as it is: drop --{said}, or say it in the copy")
    source = profile_file(name)
    _write(file, f"{HEADING}\n\n{source.read_text(encoding='utf-8')}", force=force)
    if as_json:
        print_json({"file": str(file), "profile": str(source)})
        return
    click.echo(f"Wrote {file}, a copy of {source}. Next:")
    click.echo(f"  incrowd anonymize LOG --out release --profile {file} --dry-run")


def _key(name: str) -> str:
    """Return the key of an option's name."""
    return name.replace("_", "-")


def _choose_input(given: Mapping[str, Any], *, asks: bool) -> tuple[Path, Recognised]:
    """Return the input and what it looks like: the one that was named, or is given as an answer, or the only one here."""
    if given["source"] is not None:
        return given["source"], _recognise(given["source"], given)
    here = _inputs_here(given)
    if not asks:
        if len(here) != 1:
            found = f"{len(here)} files here look like logs" if here else "no file here looks like a log"
            raise BadInputError(f"{found}: name one with --input FILE")
        return next(iter(here.items()))
    while True:
        answer = click.prompt("1. What is the file?", default=str(next(iter(here), "")) or None, type=FILE)
        try:
            recognised = _recognise(answer, given)
        except IncrowdError as error:
            click.echo(f"   {error}")
        else:
            _echo_recognised(recognised)
            return answer, recognised


def _choose_goal(given: str | None, recognised: Recognised, *, asks: bool) -> str:
    from incrowd.errors import check_choice
    from incrowd.jobs.spec import DEFAULT_GOAL
    from incrowd.methods.registry import GOALS

    goals = [name for name in GOALS if name != "queries" or not recognised.is_baskets]
    if given is not None or not asks:
        return check_choice("goal", given or DEFAULT_GOAL, goals)
    click.echo("2. What will people do with the release?")
    for name in goals:
        click.echo(f"     {name:<8} {GOALS[name].question}")
    choice = click.Choice(goals)
    return str(click.prompt("   Which one?", default=DEFAULT_GOAL, type=choice, show_choices=False))


def _choose_k(given: str | None, *, asks: bool) -> int:
    from incrowd.core.claims import check_k
    from incrowd.jobs.spec import DEFAULT_K

    if given is not None or not asks:
        return check_k(DEFAULT_K if given is None else given)
    question = "3. How many people must share whatever is published?"
    return int(click.prompt(question, default=DEFAULT_K, type=click.IntRange(min=2)))


def _recognise(source: Path, given: Mapping[str, Any]) -> Recognised:
    from incrowd.jobs.plan import recognise
    from incrowd.logs import read_form

    return recognise(source, read_form({name: given[name] for name in READING}))


def _inputs_here(given: Mapping[str, Any]) -> dict[Path, Recognised]:
    """Return the files of this directory that look like logs or baskets, in the order of their names."""
    found = {}
    for path in sorted(Path().iterdir())[:MOST_ENTRIES]:
        if path.name.startswith(".") or not path.is_file() or not {*path.suffixes} & {*SUFFIXES}:
            continue
        try:
            found[path] = _recognise(path, given)
        except IncrowdError:
            continue
    return found


def _seen_from(file: Path, source: Path) -> str:
    """Return the name of the input as the configuration shall have it: relative to its own directory, unless it was absolute."""
    return str(source) if source.is_absolute() else os.path.relpath(source, file.parent)


def _free_name(directory: Path) -> str:
    """Return a name for the release that is not taken in the configuration's directory."""
    names = (OUT, *(f"{OUT}-{number}" for number in range(2, MOST_ENTRIES)))
    return next((name for name in names if not os.path.lexists(directory / name)), OUT)


def _configuration(name: str, values: Mapping[str, Any]) -> str:
    """Return a configuration: each option with a line on it, set or as a comment."""
    keys = keys_of(anonymize)
    tables = [key for key, parameter in keys.items() if parameter.multiple]
    ordered = (*(key for key in keys if key not in tables), *tables)  # in TOML, tables come last
    parts = [
        "\n".join((*_comments(key, keys[key]), *_setting(key, keys[key], values))) + "\n" for key in ordered
    ]
    return "\n".join((f"{HEADING}\n{INTRODUCTION.format(name=name)}", *parts))


def _comments(key: str, parameter: click.Parameter) -> Iterator[str]:
    note = [getattr(parameter, "help", None) or "The log, or the file of baskets."]
    if isinstance(show := getattr(parameter, "show_default", None), str):
        note.append(f"[default: {show}]")
    if key in NOTES:
        note.append(NOTES[key])
    for line in textwrap.wrap(" ".join(" ".join(note).split()), WIDTH, break_on_hyphens=False):
        yield f"# {line}"


def _setting(key: str, parameter: click.Parameter, values: Mapping[str, Any]) -> Iterator[str]:
    if parameter.multiple:
        name, _, value = str(parameter.metavar).partition("=")
        yield from (f"# [{key}]", f"# {name} = {_quoted(value)}")
    elif key in values:
        yield f"{key} = {_toml(parameter, values[key])}"
    else:
        default = _default(key)
        yield f"# {key} = {kind_of(parameter).example if default is None else _toml(parameter, default)}"


def _default(key: str) -> Any:
    """Return what an option is unless it is said, if that is known here; a machine's own is not."""
    default = next(parameter.to_info_dict() for parameter in anonymize.params if key_of(parameter) == key)[
        "default"
    ]
    return default if isinstance(default, str | bool | int) else None


def _toml(parameter: click.Parameter, value: Any) -> str:
    """Return a value as TOML spells it; its texts are those of JSON, but for one character."""
    if isinstance(parameter.type, CommaText):
        return f"[{', '.join(map(_quoted, comma_list(value)))}]"
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _is_configuration(path: Path) -> bool:
    """Tell whether `init` made a file: its first line says so."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.readline().rstrip(b"\r\n") == HEADING.encode()


def _echo_recognised(recognised: Recognised) -> None:
    from incrowd.cli.dry_run import in_words

    click.echo(f"   It is read as {in_words(recognised)}.")


def _tell(
    file: Path, values: Mapping[str, Any], recognised: Recognised, given: Mapping[str, Any], *, as_json: bool
) -> None:
    """Say what was written, what was taken without a question, and what to do next."""
    taken = {
        key: values[key]
        for key, name in (("input", "source"), ("goal", "goal"), ("k", "k"))
        if given[name] is None and (as_json or not sys.stdin.isatty())
    }
    if as_json:
        print_json(
            {"file": str(file), **values, "taken_by_default": list(taken), "recognised": recognised._asdict()}
        )
        return
    if taken:
        click.echo("No question was asked, as this is no terminal. Taken by default:")
        click.echo("  " + " ".join(f"--{key} {value}" for key, value in taken.items()))
    click.echo(f"Wrote {file}. Next:")
    click.echo(f"  incrowd anonymize --config {file} --dry-run   # what would be done; nothing is written")
    click.echo(
        f"  incrowd anonymize --config {file}             # makes the release in {file.parent / values['out']}/"
    )
