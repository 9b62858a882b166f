"""The core of the verb: data on a taxonomy in, a release out."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, get_args

from incrowd.core.claims import Claim, Distinct
from incrowd.core.classes import Classes
from incrowd.core.history import Past
from incrowd.core.promises import promised, read_settings
from incrowd.core.tiles import Tiles
from incrowd.core.transactions import Transactions
from incrowd.core.types import Progress
from incrowd.errors import BadInputError, check_choice, option
from incrowd.jobs.following import follow
from incrowd.methods.people import with_people
from incrowd.methods.registry import Method
from incrowd.release.model import Release
from incrowd.release.tiles import TileRelease
from incrowd.taxonomy import Attached, Taxonomy

__all__ = ["SEED_BITS", "check_distinct", "choose_seed", "counted_by", "make_release", "noisy_release"]

SEED_BITS = 63


def check_distinct(method: Method, distinct: str | None) -> None:
    """Refuse to count anything else than records or people, or records where a method promises something about people alone."""
    if distinct is not None:
        check_choice("distinct", distinct, get_args(Distinct))
    if distinct == "records" and method.promise == "k-anonymous tiles":
        raise BadInputError(
            f"method {method.name} counts people, whatever the unit is: drop {option('distinct', 'records')}"
        )


def choose_seed(method: Method, given: int | None) -> int:
    """Return the seed that was given; else one from the system's source where it is secret, and 0 where it is published."""
    if given is not None:
        return given
    return secrets.randbits(SEED_BITS) if method.seed_is_secret else 0


def make_release(
    attached: Attached,
    method: Method,
    own: Mapping[str, Any],
    *,
    k: int | None,
    seed: int = 0,
    distinct: Distinct | None = None,
    past: Past | None = None,
    progress: Progress | None = None,
) -> Release | TileRelease:
    """Run a method on data that is attached to a taxonomy; everything is checked already."""
    transactions, taxonomy = attached.transactions, attached.taxonomy
    counted = counted_by(transactions, distinct)
    if past is not None and k is not None:
        return _following_release(attached, method, own, past, k=k, seed=seed, progress=progress)
    extra = _wanted(method, progress=progress, people=transactions.person)
    made = method.run(counted, taxonomy, k=k, seed=seed, **extra, **own)
    if isinstance(made, Tiles):
        return _tile_release(method, {"k": k, "seed": seed, **own, **made.used}, transactions, taxonomy, made)
    classes = made
    if k is not None and counted.people is not None and _can_be_merged(method, classes):
        classes = with_people(classes, taxonomy, counted.person, k)
    if method.is_noisy:
        return noisy_release(attached, method, own, classes, seed=seed, counted=counted)
    given = {"k": k, "seed": seed, **own}
    if not classes.sizes.any():
        raise BadInputError(
            f"method {method.name} leaves nothing to publish with {_spelled({'k': k, **own})}; "
            "try others, or another method"
        )
    return Release(method.name, given, _claim(method, given, counted), transactions, taxonomy, classes)


def noisy_release(
    attached: Attached,
    method: Method,
    own: Mapping[str, Any],
    classes: Classes,
    *,
    seed: int = 0,
    counted: Transactions | None = None,
) -> Release:
    """Return the release of a list with noisy counts; `counted` are the transactions as the method has counted them, if it did here."""
    given = {"seed": seed, **own}
    claim = _claim(method, given, attached.transactions if counted is None else counted)
    return Release(method.name, given, claim, attached.transactions, attached.taxonomy, classes)


def _following_release(
    attached: Attached,
    method: Method,
    own: Mapping[str, Any],
    past: Past,
    *,
    k: int,
    seed: int,
    progress: Progress | None,
) -> Release:
    """Return a release that follows others of the same people; a record is a person's."""
    data, tree = attached.transactions, attached.taxonomy
    run = partial(method.run, seed=seed, **_wanted(method, progress=progress), **own)
    assert method.records_of is not None  # noqa: S101 - the job is refused otherwise
    classes, following = follow(data, tree, past, run, partial(method.records_of, **own), k=k)
    given = {"k": k, "seed": seed, **own, "follows": min(k, past.k)}
    return Release(method.name, given, _claim(method, given, data), data, tree, classes, following)


def _tile_release(
    method: Method, given: Mapping[str, Any], transactions: Transactions, taxonomy: Taxonomy, tiles: Tiles
) -> TileRelease:
    """Return a release of tiles; people are counted, whatever the units are."""
    if not len(tiles):
        raise BadInputError(
            f"method {method.name} leaves nothing to publish with {_spelled(_without_seed(given))}; try others"
        )
    settings = read_settings(method.name, {**given, "unit": transactions.unit, "taxonomy": "file"})
    return TileRelease(
        method.name, given, promised(settings, distinct="people"), transactions, taxonomy, tiles
    )


def _claim(method: Method, given: Mapping[str, Any], counted: Transactions) -> Claim:
    """Return what is promised of a release with these parameters."""
    if method.is_noisy:
        unit = "record" if counted.unit == "record" and counted.people is None else "user"
        return Claim("differential privacy", unit=unit, eps=given["eps"], delta=given["delta"])
    settings = read_settings(method.name, {**given, "unit": counted.unit, "taxonomy": "file"})
    return promised(settings, distinct="records" if counted.people is None else "people")


def _can_be_merged(method: Method, classes: Classes) -> bool:
    """Tell whether classes may be merged by what is common to their nodes.

    Methods that publish something else than nodes above their rows' items count people themselves.
    """
    else_published = (classes.texts, classes.alternatives, classes.stands_for)
    return method.promise == "k-anonymity" and all(other is None for other in else_published)


def _without_seed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters without a secret: messages end up in logs that others read."""
    return {name: value for name, value in given.items() if name != "seed"}


def _spelled(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in parameters.items() if value != "")


def counted_by(transactions: Transactions, distinct: Distinct | None) -> Transactions:
    """Return the transactions as a method shall count them: without people, each row is one of its own."""
    if distinct == "people" and transactions.people is None and transactions.unit == "record":
        raise BadInputError("distinct people needs to know whose each record is; baskets do not say")
    return replace(transactions, people=None) if distinct == "records" else transactions


def _wanted(method: Method, **offered: Any) -> dict[str, Any]:
    """Return what is offered, as arguments, if the method takes it and there is anything."""
    taken = inspect.signature(method.run).parameters
    return {name: value for name, value in offered.items() if name in taken and value is not None}
