"""A gateway's configuration: one YAML file, read, completed, and checked for consistency and against the auxiliary table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from incrowd.errors import BadInputError
from incrowd.gateway.config.reading import StructReader, read_yaml
from incrowd.gateway.config.rules import check_names, check_rules, check_rungs, check_templates
from incrowd.gateway.config.settings import Config, HttpProvider, LedgerSource, Parameter, Provider, Route
from incrowd.generalizer.schema import Schema

__all__ = ["check_against", "load_config"]


def load_config(path: Path) -> Config:
    """Read a configuration: secrets are read, paths are absolute, and its parts are consistent.

    `check_against` checks whether it also agrees with the auxiliary table.
    """
    path = Path(path).absolute()
    try:
        text = path.read_bytes()
    except OSError as error:
        raise BadInputError(f"{path}: cannot be read: {error.strerror}; give a configuration file") from None
    try:
        config = _completed(StructReader(path.parent).read(Config, read_yaml(text)), path)
        check_rules(config)
    except BadInputError as error:
        raise BadInputError(f"{path.name}: {error}") from None
    return config


def check_against(config: Config, schema: Schema) -> None:
    """Refuse a configuration that names attributes or rungs that the auxiliary table does not have."""
    try:
        check_names(config, schema.names)
        check_rungs(config, schema)
        check_templates(config, schema)
    except BadInputError as error:
        raise BadInputError(f"{config.file.name}: {error}") from None


def _completed(config: Config, path: Path) -> Config:
    """Fill in defaults that depend on other parts of the file."""
    default = config.privacy.protect
    return replace(
        config,
        file=path,
        table=replace(config.table, cache=path.parent / config.table.cache),
        ledger=_completed_ledger(config.ledger, path),
        people=tuple(replace(person, protect=person.protect or default) for person in config.people),
        routes=tuple(_completed_route(route) for route in config.routes),
        providers={name: _completed_provider(provider) for name, provider in config.providers.items()},
    )


def _completed_ledger(ledger: LedgerSource | None, path: Path) -> LedgerSource | None:
    if ledger is None or ledger.marker is not None:
        return ledger
    return replace(ledger, marker=path.parent / f"{ledger.file.name}.marker")


def _completed_route(route: Route) -> Route:
    parameters = {name: _completed_parameter(name, given) for name, given in route.parameters.items()}
    return replace(route, parameters=parameters)


def _completed_parameter(name: str, given: Parameter) -> Parameter:
    """Let the parameter's name default for the attribute, the field and the name to send."""
    left_out: dict[str, Any] = {}
    if given.use != "block":
        left_out["send"] = given.send or (name,)
    if given.use == "quasi":
        left_out["attribute"] = given.attribute or name
        left_out["field"] = given.field or f"/{name.replace('~', '~0').replace('/', '~1')}"
    return replace(given, **left_out)


def _completed_provider(provider: Provider) -> Provider:
    """Write header names in lower case; two that differ only in case are left for the rules to refuse."""
    if not isinstance(provider, HttpProvider):
        return provider
    forward = tuple(name.lower() for name in provider.forward)
    lower = {name.lower(): value for name, value in provider.headers.items()}
    headers = lower if len(lower) == len(provider.headers) else provider.headers
    return replace(provider, forward=forward, headers=headers)
