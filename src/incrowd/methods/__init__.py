"""The methods by name: what the command line, the comparison, the report and the tests iterate over."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from incrowd.claims import Kind
from incrowd.errors import BadInputError, check_choice, nearest
from incrowd.methods.apriori import apriori, check_apriori
from incrowd.methods.classes import WITHHELD, Classes, Progress
from incrowd.methods.clump import check_clump, clump
from incrowd.methods.flock import check_flock, flock
from incrowd.methods.microaggregation import check_microaggregation, microaggregation
from incrowd.methods.partition import partition
from incrowd.methods.rivals import check_korolova, erola, korolova, navarro, plain, poblete
from incrowd.methods.ssc import check_ssc, ssc
from incrowd.methods.suppress import suppress

__all__ = [
    "ASKING",
    "METHODS",
    "PROMISES",
    "WITHHELD",
    "Classes",
    "Method",
    "Progress",
    "describe_methods",
    "method_named",
    "method_parameters",
    "read_parameters",
    "variants",
]

Method = Callable[..., Classes]
METHODS: Mapping[str, Method] = {
    "flock": flock,
    "partition": partition,
    "clump": clump,
    "ssc": ssc,
    "microaggregation": microaggregation,
    "navarro": navarro,
    "erola": erola,
    "plain": plain,
    "korolova": korolova,
    "poblete": poblete,
    "apriori": apriori,
    "suppress": suppress,
}
PROMISES: Mapping[str, Kind] = {
    "flock": "k-anonymity",
    "partition": "k-anonymity",
    "clump": "k-anonymity",
    "ssc": "k-anonymity",
    "microaggregation": "k-anonymity",
    "navarro": "k-anonymity",
    "erola": "k-anonymity",
    "plain": "k-anonymity",
    "korolova": "differential privacy",
    "poblete": "none",
    "apriori": "k^m-anonymity",
    "suppress": "none",
}
ASKING = frozenset(
    ["microaggregation", "navarro", "erola", "plain", "korolova", "poblete"]
)  # methods that need every single query
CHECKS: Mapping[str, Callable[..., None]] = {
    "flock": check_flock,
    "clump": check_clump,
    "ssc": check_ssc,
    "microaggregation": check_microaggregation,
    "korolova": check_korolova,
    "apriori": check_apriori,
}
COMMON = ("transactions", "taxonomy", "k", "seed", "progress")


def method_named(name: str) -> Method:
    """Return a method, or say which name comes nearest."""
    return METHODS[check_choice("method", name, METHODS)]


def method_parameters(name: str) -> dict[str, inspect.Parameter]:
    """Return the parameters of a method beyond those that all have."""
    signature = inspect.signature(method_named(name))
    return {key: value for key, value in signature.parameters.items() if key not in COMMON}


def read_parameters(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check a method's own parameters and turn their texts into values; defaults are filled in."""
    known = method_parameters(name)
    hints = get_type_hints(method_named(name))
    for key in given:
        if key not in known:
            choice = ", ".join(known) or "none"
            raise BadInputError(
                f"method {name} has no parameter '{key}' (it has: {choice}){nearest(key, known)}"
            )
    values = {
        key: _value(key, given[key], hints[key]) if key in given else parameter.default
        for key, parameter in known.items()
    }
    if name in CHECKS:
        CHECKS[name](**values)
    return values


def describe_methods() -> list[dict[str, Any]]:
    """Return every method's name, promise, summary and own parameters, for people."""
    return [
        {
            "name": name,
            "promise": PROMISES[name],
            "summary": (inspect.getdoc(method) or "").partition("\n")[0],
            "parameters": [_describe(name, parameter) for parameter in method_parameters(name).values()],
        }
        for name, method in METHODS.items()
    ]


def _describe(method: str, parameter: inspect.Parameter) -> str:
    kind = _kind(get_type_hints(METHODS[method])[parameter.name])
    choice = "|".join(map(str, get_args(kind))) if get_origin(kind) is Literal else kind.__name__
    return f"{parameter.name}={choice} (default {parameter.default})".replace(
        "default None", "by default chosen"
    )


def _kind(hint: Any) -> Any:
    """Return what a parameter is if it is given: its annotation without None."""
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    return kinds[0] if NoneType in get_args(hint) else hint


def variants(name: str) -> list[dict[str, Any]]:
    """Return settings of a method's own parameters that together use every named choice at least once."""
    hints = get_type_hints(method_named(name))
    choices = {
        key: get_args(hints[key]) for key in method_parameters(name) if get_origin(hints[key]) is Literal
    }
    most = max((len(values) for values in choices.values()), default=1)
    return [{key: values[min(i, len(values) - 1)] for key, values in choices.items()} for i in range(most)]


def _value(name: str, value: Any, kind: Any) -> Any:
    """Read one parameter as its annotated type."""
    if value is None and NoneType in get_args(kind):
        return None
    kind = _kind(kind)
    if kind is bool:
        return check_choice(name, str(value).lower(), ("true", "false")) == "true"
    if get_origin(kind) is Literal:
        return check_choice(name, str(value), map(str, get_args(kind)))
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise BadInputError(f"{name} must be of type {kind.__name__} (got '{value}')") from None
