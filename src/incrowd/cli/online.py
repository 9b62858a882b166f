"""``incrowd generalize`` and ``incrowd gateway``. Heavy imports are deferred until a command runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from incrowd.cli.extras import importing_extra
from incrowd.cli.options import FILE, comma_list, existing_input, json_option, print_json
from incrowd.errors import BadInputError

__all__ = ["gateway", "generalize"]

STRATEGIES = "strict, worst-fit, least-rows, best-fit, brute-force or random-fit"


def _read_pairs(_context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """Read NAME=VALUE, several by comma or by giving the option again; a comma may be part of a value."""
    pairs: dict[str, str] = {}
    flag = option.opts[0]
    for value in values:
        for part in re.split(r",(?=[^,=]+=)", value):
            name, sign, text = part.partition("=")
            if not sign or not name.strip() or not text.strip():
                raise BadInputError(f"{flag} takes NAME=VALUE, as in {flag} county=Essex")
            if name.strip() in pairs:
                raise BadInputError(f"{flag} names '{name.strip()}' more than once; give it one value")
            pairs[name.strip()] = text.strip()
    return pairs


def _no_strict(_context: click.Context, _option: click.Parameter, value: bool) -> None:  # noqa: FBT001
    """Refuse an option that was removed."""
    if value:
        raise BadInputError(
            "--strict was removed: strict is a strategy and the default; use --strategy strict"
        )


@click.command(short_help="Find the query to send to a provider in place of another.")
@click.argument("table", type=FILE)
@click.option(
    "--query",
    metavar="NAME=VALUE,...",
    callback=_read_pairs,
    multiple=True,
    required=True,
    help="The query, as in county=Essex,race=Black. May be given several times.",
)
@click.option(
    "--protect",
    metavar="RULE",
    multiple=True,
    required=True,
    help="A policy: income:l=5 (at least five possible values) or income:g=3 (at least three guesses on average).",
)
@click.option("--strategy", default="strict", show_default=True, help=f"{STRATEGIES}.")
@click.option("--strict", is_flag=True, expose_value=False, hidden=True, callback=_no_strict)
@click.option(
    "--attributes",
    help="Columns of TABLE to use, separated by commas; earlier ones are kept first. Default: all.",
)
@click.option(
    "--columns", help="Names of the columns, separated by commas, for a text file without a header."
)
@click.option(
    "--ladder",
    "ladders",
    metavar="NAME=FILE",
    callback=_read_pairs,
    multiple=True,
    help="Coarser values to try before an attribute is dropped: lines of value;coarser;coarser.",
)
@click.option("--secret", type=FILE, help="File with the key that seeds random-fit, at least 16 bytes.")
@json_option
def generalize(
    table: Path,
    query: dict[str, str],
    protect: tuple[str, ...],
    secret: Path | None,
    as_json: bool,  # noqa: FBT001
    **options: Any,
) -> None:
    """Show what to send to an untrusted provider in place of a query, and why.

    TABLE is the auxiliary table: what an outsider may know about people (CSV, TSV or Parquet, one person per row).
    Attributes of the query are made coarser or dropped until the protected attributes are hard enough to guess from it.
    Nothing is sent anywhere.

    Exit code 0: there is a query that may be sent; 1: there is none, so nothing may be sent.

    \b
    Examples:
      incrowd synth --loans 66270 --out people.csv
      incrowd generalize people.csv --query county=Essex,race=Black,gender=Female --protect income:l=5
    """  # noqa: D301 - click needs this character
    from incrowd.cli.decision import decision_as_dict, show_decision
    from incrowd.generalizer.policy import parse_policies

    policies = parse_policies(protect)
    protection = _protection(
        existing_input(table), [policy.attribute for policy in policies], secret, **options
    )
    decision = protection.decide(query, policies)
    if as_json:
        print_json(decision_as_dict(decision, policies))
    else:
        show_decision(query, decision, policies)
    if decision.refused:
        raise click.exceptions.Exit(1)


def _protection(
    table: Path,
    protected: list[str],
    secret: Path | None,
    *,
    strategy: str,
    attributes: str | None,
    columns: str | None,
    ladders: dict[str, str],
) -> Any:
    """Return the protection, with a counter that scans the table: there is only one query."""
    from incrowd.generalizer.counters import Scan
    from incrowd.generalizer.generalizer import LEAST_KEY
    from incrowd.generalizer.protection import Protection
    from incrowd.generalizer.tables import load_auxiliary

    key = existing_input(secret).read_bytes().strip() if secret else b""
    if strategy == "random-fit" and len(key) < LEAST_KEY:
        raise BadInputError(f"random-fit needs --secret FILE with at least {LEAST_KEY} bytes in it")

    loaded = load_auxiliary(
        table,
        columns=comma_list(columns),
        names=comma_list(attributes),
        ladders={name: Path(file) for name, file in ladders.items()},
    )
    for name in protected:
        loaded.schema[name]  # an unknown name is an error
    return Protection(Scan(loaded), strategy=strategy, key=key)


@click.command(short_help="Serve queries and disclose less to the provider.")
@click.option("--config", "file", type=FILE, help="The gateway's configuration (YAML).")
@click.option("--check", is_flag=True, help="Check the configuration, show what it can protect, and exit.")
@click.option(
    "--init-ledger", is_flag=True, help="Create the configuration's ledger and its marker, and exit."
)
@click.option(
    "--trust-ledger",
    is_flag=True,
    help="Create a new marker for a ledger that has lost it, and exit. The ledger must be the newest.",
)
@click.option(
    "--health", is_flag=True, help="Show whether the gateway of the configuration is alive, and exit."
)
@click.option(
    "--demo",
    is_flag=True,
    help="Run a synthetic provider with a gateway in front of it, on this machine only.",
)
@click.option(
    "--port", type=click.IntRange(1, 65_535), default=8080, show_default=True, help="Port of --demo."
)
@json_option
def gateway(file: Path | None, demo: bool, port: int, as_json: bool, **only: bool) -> None:  # noqa: FBT001
    """Serve the gateway of a configuration FILE until stopped; see docs/gateway.md.

    People send requests to its routes with their keys. The provider gets a query from which the protected attributes
    are hard to guess; the person gets the exact answer to the original query. Needs the extra: pip install
    'incrowd[gateway]'.

    A change of FILE or SIGHUP reloads it; if the new one is invalid, the old one stays in use. Exit code of --check: 0 it
    can serve; 2 it cannot. Of --health: 0 it is alive; 1 it is not.

    \b
    Examples:
      incrowd gateway --demo
      incrowd gateway --config gateway.yaml --init-ledger
      incrowd gateway --config gateway.yaml --check
      incrowd gateway --config gateway.yaml
    """  # noqa: D301 - click needs this character
    if (file is None) != demo or demo + sum(only.values()) > 1:
        raise BadInputError(
            "give --config FILE (with one of --check, --health, --init-ledger and --trust-ledger at most), or --demo"
        )
    with importing_extra("gateway"):
        from incrowd.gateway.ops.demo import run_demo
        from incrowd.gateway.server.serve import run_gateway
    if file is None:
        run_demo(port, click.echo)
    elif only["check"]:
        _check(file, as_json=as_json)
    elif only["health"]:
        _health(file, as_json=as_json)
    elif only["init_ledger"] or only["trust_ledger"]:
        _create_ledger(file, trust=only["trust_ledger"], as_json=as_json)
    else:
        run_gateway(file)


def _create_ledger(file: Path, *, trust: bool, as_json: bool) -> None:
    from incrowd.gateway.ops.ledgers import init_ledger, trust_ledger_of

    made = trust_ledger_of(file) if trust else init_ledger(file)
    if as_json:
        print_json({"ledger": str(made.file), "marker": str(made.marker), "new": not trust})
    elif trust:
        click.echo(
            f"{made.marker} is the new marker of the ledger {made.file}, which now counts as the newest."
        )
    else:
        click.echo(
            f"The ledger {made.file} and its marker {made.marker} were created. They have no past disclosures."
        )


def _health(file: Path, *, as_json: bool) -> None:
    from incrowd.gateway.config.config import load_config
    from incrowd.gateway.ops.health import is_alive

    alive = is_alive(load_config(file).listen)
    if as_json:
        print_json({"alive": alive})
    else:
        click.echo("alive" if alive else "not alive")
    if not alive:
        raise click.exceptions.Exit(1)


def _check(file: Path, *, as_json: bool) -> None:
    from incrowd.gateway.config.check import check, show
    from incrowd.gateway.config.config import load_config

    result = check(load_config(file), machine=True)
    if as_json:
        print_json(result.as_dict())
    else:
        show(result)
    if result.errors:
        raise click.exceptions.Exit(2)
