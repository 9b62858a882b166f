"""The methods by name: what the command line, the comparison, the report and the tests iterate over."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

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
from incrowd.promises import KINDS, promise_of

__all__ = [
    "ASKING",
    "METHODS",
    "PROMISES",
    "PURPOSES",
    "WITHHELD",
    "Classes",
    "Method",
    "Progress",
    "Purpose",
    "describe_methods",
    "method_named",
    "method_parameters",
    "promise_of",
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
PROMISES: Mapping[str, Kind] = {name: kind for name, (kind, _) in KINDS.items()}
UNSAFE: Mapping[str, Any] = {"verbatim": True, "terms": "verbatim"}  # with these a method promises nothing


class Purpose(NamedTuple):
    """What a method is for, in one sentence, and whether its releases are meant to be published or compared."""

    purpose: str
    use: Literal["publishing", "comparison"]


PURPOSES: Mapping[str, Purpose] = {
    "flock": Purpose("Records of many users or baskets, as near to the originals as k allows.", "publishing"),
    "partition": Purpose("Quick records of large data; simple to explain.", "publishing"),
    "clump": Purpose("Records of some thousand users whose words are grouped by meaning.", "publishing"),
    "ssc": Purpose("Frequent terms and patterns, published as terms that people really had.", "publishing"),
    "microaggregation": Purpose("Real queries that stand for the interests of each group.", "publishing"),
    "navarro": Purpose("Shows what groups by spelling, time and clicks would publish.", "comparison"),
    "erola": Purpose("Shows what groups by categories of single words would publish.", "comparison"),
    "plain": Purpose("Shows what microaggregation gains by knowing what queries mean.", "comparison"),
    "korolova": Purpose(
        "A list of common queries with noisy counts, and nothing about single people.", "publishing"
    ),
    "poblete": Purpose("Shows what removing queries by their clicks leaves behind.", "comparison"),
    "apriori": Purpose("Records of people of whom an attacker knows at most m items.", "publishing"),
    "suppress": Purpose("Shows what removing rare items alone leaves behind.", "comparison"),
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
COMMON = ("transactions", "taxonomy", "k", "seed", "progress", "people")


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


def _promise_in_words(name: str) -> str:
    """Return what a method promises, and with which parameters it promises nothing."""
    own = method_parameters(name)
    without = [f"none with {key}={str(value).lower()}" for key, value in UNSAFE.items() if key in own]
    return "; ".join([PROMISES[name], *without])


def describe_methods() -> list[dict[str, Any]]:
    """Return every method's name, use, purpose, promise, summary and own parameters, for people."""
    return [
        {
            "name": name,
            "use": PURPOSES[name].use,
            "purpose": PURPOSES[name].purpose,
            "promise": _promise_in_words(name),
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
