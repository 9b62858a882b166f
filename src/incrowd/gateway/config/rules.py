"""Consistency rules between the parts of a configuration. Every error is one line with the place and the remedy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

from incrowd.errors import BadInputError, nearest
from incrowd.gateway.config.provider_rules import check_provider
from incrowd.gateway.config.settings import (
    Config,
    CursorPages,
    HttpProvider,
    OffsetPages,
    Parameter,
    PostgresProvider,
    Provider,
    Route,
)
from incrowd.generalizer.decision import STRICT
from incrowd.generalizer.generalizer import LEAST_KEY
from incrowd.generalizer.policy import Policy
from incrowd.generalizer.schema import Schema
from incrowd.generalizer.strict import MOST_STATES

__all__ = [
    "RESERVED_PARAMETERS",
    "check_names",
    "check_rules",
    "check_rungs",
    "check_templates",
    "policies_in_use",
]

SHORTEST_MEMORY = 3600.0
RESERVED_PARAMETERS = ("sort", "offset", "limit")
_TWICE = "the attribute is protected twice; keep the stricter one"
RESERVED_PATHS = ("/preview", "/healthz", "/readyz", "/openapi.json")
Several = TypeVar("Several", bound=Sized)


def check_rules(config: Config) -> None:
    """Check that the parts of a configuration are consistent."""
    _check_listen(config)
    _check_table(config)
    _check_secret(config)
    _check_ledger(config)
    _check_people(config)
    for name, provider in _some(config.providers, "providers", "a provider").items():
        check_provider(provider, f"providers.{name}")
    _some(config.routes, "routes", "a route")
    _once((route.path for route in config.routes), "routes[{}].path", "two routes cannot have the same path")
    for where, route in _routes(config):
        _check_route(route, config, where)
    if config.table.attributes:
        check_names(config, config.table.attributes)


def check_names(config: Config, attributes: Sequence[str]) -> None:
    """Refuse policies and parameters with attributes that the auxiliary table does not have."""
    for where, _, policy in policies_in_use(config):
        if policy.attribute not in attributes:
            raise _wrong(where, _no_attribute(policy.attribute, attributes))
    for where, parameter in _quasi(config):
        if parameter.attribute not in attributes:
            raise _wrong(f"{where}.attribute", _no_attribute(parameter.attribute, attributes))


def check_rungs(config: Config, schema: Schema) -> None:
    """Refuse parameters that do not have one name to send for each rung of their attribute's ladder."""
    for where, parameter in _quasi(config):
        rungs = schema[parameter.attribute].top
        if len(parameter.send) != rungs:
            raise _wrong(f"{where}.send", _names_needed(rungs, len(parameter.send)))


def check_templates(config: Config, schema: Schema) -> None:
    """Refuse routes with more generalizations than strategy strict tries."""
    for where, route in _routes(config) if config.privacy.strategy == STRICT else ():
        fixed = {parameter.attribute for parameter in route.parameters.values() if parameter.attribute}
        for policies in {person.protect for person in config.people}:
            sent = fixed - {policy.attribute for policy in policies}
            states = math.prod(schema[name].top + 1 for name in sent)
            if states > MOST_STATES:
                raise _wrong(
                    f"{where}.parameters",
                    f"have {states:,} generalizations and strategy strict tries at most {MOST_STATES:,}; make fewer of them quasi",
                )


def policies_in_use(config: Config) -> Iterator[tuple[str, str, Policy]]:
    """Yield every policy with its place and the person's name; "" for people who have no policies of their own."""
    for place, policy in enumerate(config.privacy.protect):
        yield f"privacy.protect[{place}]", "", policy
    for number, person in enumerate(config.people):
        if person.protect != config.privacy.protect:
            for place, policy in enumerate(person.protect):
                yield f"people[{number}].protect[{place}]", person.name, policy


def _check_listen(config: Config) -> None:
    listen, metrics = config.listen, config.metrics
    if metrics and metrics.port == listen.port:
        raise _wrong("metrics.port", "is the port that people connect to; give another one")
    tls = listen.tls
    for name in ("certificate", "key", "clients") if tls else ():
        path = getattr(tls, name)
        if path is not None and not path.is_file():
            raise _wrong(f"listen.tls.{name}", f"there is no file {path}; give one in PEM format")


def _check_table(config: Config) -> None:
    table = config.table
    for name in ("attributes", "columns"):
        _once(getattr(table, name), f"table.{name}[{{}}]", "is named twice; keep one")
    for place, attribute in enumerate(table.attributes if table.columns else ()):
        if attribute not in table.columns:
            raise _wrong(
                f"table.attributes[{place}]", f"is not in table.columns{nearest(attribute, table.columns)}"
            )
    for kind, given in (("domains", table.domains), ("ladders", table.ladders)):
        for name in given if table.attributes else ():
            if name not in table.attributes:
                raise _wrong(f"table.{kind}.{name}", _no_attribute(name, table.attributes))
    for name, domain in table.domains.items():
        _some(domain, f"table.domains.{name}", "a value")
    _some(config.privacy.protect, "privacy.protect", "an attribute, as in [income:l=5]")
    _once((policy.attribute for policy in config.privacy.protect), "privacy.protect[{}]", _TWICE)


def _check_secret(config: Config) -> None:
    secret = config.privacy.secret
    if secret and len(secret) < LEAST_KEY:
        raise _wrong(
            "privacy.secret",
            f"has {len(secret)} bytes, and {LEAST_KEY} are needed; create one: openssl rand -hex 32",
        )
    drawn = config.privacy.strategy == "random-fit"
    needs = "strategy random-fit" if drawn else "the ledger" if config.ledger else ""
    if needs and not secret:
        raise _wrong("privacy.secret", f"is missing, and {needs} needs it; add {{file: secret.key}}")


def _check_ledger(config: Config) -> None:
    ledger = config.ledger
    if ledger and ledger.time_to_live < SHORTEST_MEMORY:
        raise _wrong(
            "ledger.time_to_live",
            "is less than an hour: the provider remembers longer, and linked queries would not be noticed; give 1h or more",
        )
    if ledger and ledger.marker == ledger.file:
        raise _wrong("ledger.marker", "is the ledger itself; name a file in another directory")


def _check_people(config: Config) -> None:
    _some(config.people, "people", "a person")
    _once(
        (person.name for person in config.people),
        "people[{}].name",
        "another person has the same name; rename one",
    )
    _once(
        (person.key_sha256 for person in config.people),
        "people[{}].key_sha256",
        "another person has the same key; create one for each",
    )
    for place, person in enumerate(config.people):
        _once((policy.attribute for policy in person.protect), f"people[{place}].protect[{{}}]", _TWICE)


def _check_route(route: Route, config: Config, where: str) -> None:
    reserved = next((path for path in RESERVED_PATHS if f"{route.path}/".startswith(f"{path}/")), None)
    if reserved:
        raise _wrong(f"{where}.path", f"{reserved} is the gateway's own; choose another path")
    provider = config.providers.get(route.provider)
    if provider is None:
        raise _wrong(
            f"{where}.provider",
            f"there is no provider '{route.provider}'; there are {', '.join(config.providers)}"
            f"{nearest(route.provider, config.providers)}",
        )
    if route.page.size > route.page.most:
        raise _wrong(f"{where}.page.size", f"must be at most page.most, {route.page.most}")
    _once(route.sort, f"{where}.sort[{{}}]", "is named twice; keep one")
    protected = {policy.attribute for _, _, policy in policies_in_use(config)}
    for name, parameter in route.parameters.items():
        _check_parameter(name, parameter, f"{where}.parameters.{name}", protected, set(config.table.ladders))
    _check_sent_names(route, provider, where)
    if not isinstance(provider, HttpProvider):
        _check_columns(route, provider, where)


def _check_parameter(
    name: str, parameter: Parameter, where: str, protected: set[str], with_ladder: set[str]
) -> None:
    if name in RESERVED_PARAMETERS:
        raise _wrong(where, f"{', '.join(RESERVED_PARAMETERS)} are the gateway's own; rename the parameter")
    if parameter.use == "quasi":
        if parameter.attribute not in with_ladder and len(parameter.send) != 1:
            raise _wrong(f"{where}.send", _names_needed(1, len(parameter.send)))
        return
    if parameter.attribute:
        raise _wrong(f"{where}.attribute", "only a quasi parameter has an attribute; remove it or use quasi")
    if parameter.use == "block" and parameter.send:
        raise _wrong(f"{where}.send", "a blocked parameter is never sent; remove it")
    if parameter.use == "passthrough":
        _check_passthrough(name, parameter, where, protected)


def _check_passthrough(name: str, parameter: Parameter, where: str, protected: set[str]) -> None:
    if parameter.field:
        raise _wrong(f"{where}.field", "a passthrough parameter is not filtered here; remove it or use quasi")
    if len(parameter.send) != 1:
        raise _wrong(f"{where}.send", _names_needed(1, len(parameter.send)))
    if {name, *parameter.send} & protected:
        raise _wrong(f"{where}.use", "a protected attribute must not pass through; use quasi or block")


def _check_sent_names(route: Route, provider: Provider, where: str) -> None:
    """Refuse a name that would be sent to the provider with two meanings."""
    taken = dict.fromkeys(_own_names(provider), f"providers.{route.provider}")
    attributes: dict[str, str] = {}
    for name, parameter in route.parameters.items():
        at = f"{where}.parameters.{name}"
        for place, sent in enumerate(parameter.send):
            if sent in taken:
                raise _wrong(f"{at}.send[{place}]", f"{taken[sent]} sends this name too; choose another one")
            taken[sent] = at
        if parameter.attribute in attributes:
            raise _wrong(
                f"{at}.attribute", f"{attributes[parameter.attribute]} already has this attribute; keep one"
            )
        if parameter.attribute:
            attributes[parameter.attribute] = at


def _own_names(provider: Provider) -> list[str]:
    """Return the names that the gateway itself sends to a provider."""
    if not isinstance(provider, HttpProvider):
        return []
    names = [name for name, _ in parse_qsl(urlsplit(provider.url).query, keep_blank_values=True)]
    if isinstance(provider.pages, OffsetPages):
        names += [provider.pages.offset, provider.pages.limit]
    if isinstance(provider.pages, CursorPages):
        names += [provider.pages.cursor, provider.pages.limit or provider.pages.cursor]
    return names


def _check_columns(route: Route, provider: PostgresProvider, where: str) -> None:
    """Refuse fields that the provider's rows do not have."""
    known = provider.columns
    for name, parameter in route.parameters.items():
        at = f"{where}.parameters.{name}"
        if parameter.field and parameter.field[1:] not in known:
            raise _wrong(f"{at}.field", f"must be one of the provider's columns: /{', /'.join(known)}")
        for place, sent in enumerate(parameter.send):
            if not (sent.isascii() and sent.isidentifier()):
                raise _wrong(
                    f"{at}.send[{place}]", "must be a plain PostgreSQL column: letters, digits and _"
                )
    for place, field in enumerate(route.sort):
        if field not in known:
            raise _wrong(
                f"{where}.sort[{place}]", f"must be one of the provider's columns: {', '.join(known)}"
            )


def _routes(config: Config) -> Iterator[tuple[str, Route]]:
    for place, route in enumerate(config.routes):
        yield f"routes[{place}]", route


def _quasi(config: Config) -> Iterator[tuple[str, Parameter]]:
    """Yield the parameters that stand for an attribute, with their places."""
    for where, route in _routes(config):
        for name, parameter in route.parameters.items():
            if parameter.use == "quasi":
                yield f"{where}.parameters.{name}", parameter


def _some(given: Several, where: str, what: str) -> Several:
    if not len(given):
        raise _wrong(where, f"is empty; give at least {what}")
    return given


def _once(names: Iterable[str], where: str, what: str) -> None:
    seen: set[str] = set()
    for place, name in enumerate(names):
        if name in seen:
            raise _wrong(where.format(place), what)
        seen.add(name)


def _no_attribute(name: str, attributes: Sequence[str]) -> str:
    return (
        f"the table has no attribute '{name}'; there are {', '.join(attributes)}{nearest(name, attributes)}"
    )


def _names_needed(rungs: int, given: int) -> str:
    if rungs == 1:
        return f"must be a list of one name, since there is no ladder (got {given})"
    return f"must be a list of {rungs} names, one for each rung of the ladder (got {given})"


def _wrong(where: str, what: str) -> BadInputError:
    return BadInputError(f"{where}: {what}")
