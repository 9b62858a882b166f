"""The verb: transactions and a taxonomy in, a release out."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from incrowd.core.claims import Claim, Distinct, check_k
from incrowd.core.classes import Classes
from incrowd.core.promises import promised, read_settings
from incrowd.core.tiles import Tiles
from incrowd.core.transactions import Transactions
from incrowd.core.types import Progress
from incrowd.errors import BadInputError, check_choice, option
from incrowd.methods.people import with_people
from incrowd.methods.registry import Method, method_named
from incrowd.release.model import Release
from incrowd.release.tiles import TileRelease
from incrowd.taxonomy import Attached, Taxonomy, Unlisted, attach

__all__ = ["SEED_BITS", "anonymize", "check_distinct", "choose_seed", "counted_by", "make_release"]

SEED_BITS = 63


def anonymize(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int | None = None,
    method: str = "flock",
    seed: int | None = None,
    unlisted: Unlisted = "refuse",
    distinct: Distinct | None = None,
    progress: Progress | None = None,
    **parameters: Any,
) -> Release | TileRelease:
    """Anonymize transactions.

    Parameters
    ----------
    transactions
        One row per person (or session, or basket).
    taxonomy
        A tree over the items; it is fitted to them if it is not yet.
    k
        Every published record will be shared by at least k rows; at least 2. Methods that promise differential privacy
        have no use for it, all others need it.
    method
        A name in :data:`incrowd.METHODS`.
    seed
        For methods that make random choices: the same seed gives the same bytes. Without it 0, but for mosaic a secret one
        from the system's source, which ``release.parameters`` has.
    unlisted
        What to do with items that the taxonomy lacks: ``keep``, ``drop`` or ``refuse``. Where differential privacy is
        promised they are kept: a refusal would tell of the data.
    distinct
        What k counts where one person may have several rows: ``"people"`` (the default then) or ``"records"``.
    progress
        Called with (rows done, rows in all) by methods that take long.
    **parameters
        The method's own parameters, as ``publish="bag"``.
    """
    chosen = method_named(method)
    own = chosen.read_parameters(parameters)
    check_distinct(chosen, distinct)
    needed = None if chosen.is_noisy else _needed_k(k, method)
    attached = attach(transactions, taxonomy, unlisted="keep" if chosen.is_noisy else unlisted)
    return make_release(
        attached,
        chosen,
        own,
        k=needed,
        seed=choose_seed(chosen, seed),
        distinct=distinct,
        progress=progress,
    )


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
    progress: Progress | None = None,
) -> Release | TileRelease:
    """Run a method on data that is attached to a taxonomy; everything is checked already."""
    transactions, taxonomy = attached.transactions, attached.taxonomy
    counted = counted_by(transactions, distinct)
    extra = _wanted(method, progress=progress, people=transactions.person)
    made = method.run(counted, taxonomy, k=k, seed=seed, **extra, **own)
    if isinstance(made, Tiles):
        return _tile_release(
            method, {"k": k, "seed": seed, **own, "aged": made.aged}, transactions, taxonomy, made
        )
    classes = made
    if k is not None and counted.people is not None and _can_be_merged(method, classes):
        classes = with_people(classes, taxonomy, counted.person, k)
    given = {"seed": seed, **own} if k is None else {"k": k, "seed": seed, **own}
    if not method.is_noisy and not classes.sizes.any():
        raise BadInputError(
            f"method {method.name} leaves nothing to publish with {_spelled({'k': k, **own})}; "
            "try others, or another method"
        )
    return Release(method.name, given, _claim(method, given, counted), transactions, taxonomy, classes)


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
        unit = counted.unit.partition(":")[0]
        return Claim("differential privacy", unit=unit, eps=given["eps"], delta=given["delta"])
    settings = read_settings(method.name, {**given, "unit": counted.unit, "taxonomy": "file"})
    return promised(settings, distinct="records" if counted.people is None else "people")


def _needed_k(k: int | None, method: str) -> int:
    """Return a k that was given and is one."""
    if k is None:
        raise BadInputError(f"method {method} needs k: how many people must share a record, at least 2")
    return check_k(k)


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
    return ", ".join(f"{name} = {value}" for name, value in parameters.items())


def counted_by(transactions: Transactions, distinct: Distinct | None) -> Transactions:
    """Return the transactions as a method shall count them: without people, each row is one of its own."""
    if distinct == "people" and transactions.people is None and transactions.unit == "record":
        raise BadInputError("distinct people needs to know whose each record is; baskets do not say")
    return replace(transactions, people=None) if distinct == "records" else transactions


def _wanted(method: Method, **offered: Any) -> dict[str, Any]:
    """Return what is offered, as arguments, if the method takes it and there is anything."""
    taken = inspect.signature(method.run).parameters
    return {name: value for name, value in offered.items() if name in taken and value is not None}
