"""Methods with values of their own parameters, as a comparison names them, and lists of k."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from incrowd.core.claims import Kind, check_k
from incrowd.errors import BadInputError, option
from incrowd.methods.reads import Reads
from incrowd.methods.registry import Method, method_named

__all__ = ["OF_KINDS", "Setting", "parse_ks", "parse_methods"]

OF_KINDS = ("thresholds", "weights")
"""Parameters that are about kinds of items: no other code runs with them."""


class Setting(NamedTuple):
    """A method with values of its own parameters, defaults included."""

    method: Method
    parameters: Mapping[str, Any]
    label: str = ""
    """As ``partition:publish=bag`` names it."""

    @property
    def kind(self) -> Kind:
        """What the method promises with these parameters."""
        return self.method.promise_with(self.parameters)

    @property
    def reads(self) -> Reads:
        """What it takes of a query log with these parameters."""
        return self.method.reads_with(self.parameters)

    @property
    def kernels(self) -> str:
        """A name for what it compiles."""
        values = (str(value) for name, value in self.parameters.items() if name not in OF_KINDS)
        return "-".join([self.method.name, *values])


def parse_methods(text: str, eps: str | None = None) -> list[Setting]:
    """Read a list as ``partition,partition:publish=bag``; several parameters are separated by ``;``.

    With `eps`, a list as ``0.5,1,3``, a method of differential privacy that does not say its own eps is there once for each.
    """
    all_eps = _parse_eps(eps)
    settings: dict[object, Setting] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        for setting in _settings(part, all_eps):
            settings.setdefault((setting.method.name, *setting.parameters.items()), setting)
    if any(setting.reads.kinds for setting in settings.values()):
        raise BadInputError(
            "of=weeks cannot be compared: it counts by week, and no other method does; drop it"
        )
    if not settings:
        raise BadInputError(
            f"{option('methods')} must name a method, as in {option('methods', ['partition', 'partition:publish=bag'])}"
        )
    if all_eps and not any(setting.method.is_noisy for setting in settings.values()):
        raise BadInputError(f"{option('eps')} is for methods dp and korolova: name one, or drop it")
    return list(settings.values())


def _parse_eps(text: str | None) -> list[str]:
    """Read a list of numbers; the result ascends and has each once. Their range is the methods' own."""
    if text is None:
        return []
    try:
        values = sorted({float(part) for part in text.split(",") if part.strip()})
    except ValueError:
        values = []
    if not values:
        raise BadInputError(
            f"{option('eps')} must hold numbers, as in {option('eps', [0.5, 1, 3])} (got '{text:.80}')"
        )
    return [f"{value:g}" for value in values]


def parse_ks(text: str | None, settings: Sequence[Setting]) -> list[int]:
    """Read a list as ``2,5,10``; the result ascends. It may be missing if no method takes k."""
    if text is None and all(setting.method.is_noisy for setting in settings):
        return []
    ks = sorted({check_k(part.strip()) for part in (text or "").split(",") if part.strip()})
    if not ks:
        raise BadInputError(f"{option('k')} must hold a number, as in {option('k', [2, 5, 10])}")
    return ks


def _settings(text: str, all_eps: Sequence[str]) -> list[Setting]:
    """Read one method with its parameters, once for each eps where it has one and does not say it."""
    name, _, rest = (part.strip() for part in text.partition(":"))
    given = {}
    for part in filter(None, map(str.strip, rest.split(";"))):
        key, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or not key:
            raise BadInputError(
                f"{option('methods')} takes parameters as NAME=VALUE, as in partition:publish=bag (got '{part}')"
            )
        given[key] = value
    method = method_named(name)
    if not all_eps or not method.is_noisy or "eps" in given:
        return [_labelled(method, given)]
    return [_labelled(method, {**given, "eps": eps}) for eps in all_eps]


def _labelled(method: Method, given: Mapping[str, str]) -> Setting:
    """Return a method with its parameters, under a name that says those that were given."""
    label = ";".join(f"{key}={value}" for key, value in given.items())
    return Setting(method, method.read_parameters(given), f"{method.name}:{label}" if label else method.name)
