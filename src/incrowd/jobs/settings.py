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


def parse_methods(text: str) -> list[Setting]:
    """Read a list as ``partition,partition:publish=bag``; several parameters are separated by ``;``."""
    settings: dict[object, Setting] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        setting = _setting(part)
        settings.setdefault((setting.method.name, *setting.parameters.items()), setting)
    if not settings:
        raise BadInputError(
            f"{option('methods')} must name a method, as in {option('methods', ['partition', 'partition:publish=bag'])}"
        )
    return list(settings.values())


def parse_ks(text: str | None, settings: Sequence[Setting]) -> list[int]:
    """Read a list as ``2,5,10``; the result ascends. It may be missing if no method takes k."""
    if text is None and all(setting.method.is_noisy for setting in settings):
        return []
    ks = sorted({check_k(part.strip()) for part in (text or "").split(",") if part.strip()})
    if not ks:
        raise BadInputError(f"{option('k')} must hold a number, as in {option('k', [2, 5, 10])}")
    return ks


def _setting(text: str) -> Setting:
    """Read one method with its parameters."""
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
    label = ";".join(f"{key}={value}" for key, value in given.items())
    return Setting(method, method.read_parameters(given), f"{name}:{label}" if label else name)
