"""The verb: transactions and a taxonomy in, a release out."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from incrowd.claims import Claim, Distinct, check_k
from incrowd.errors import BadInputError, check_choice
from incrowd.methods import PROMISES, Classes, Method, Progress, method_named, promise_of, read_parameters
from incrowd.methods.people import with_people
from incrowd.promises import promised, read_settings
from incrowd.release import Release
from incrowd.taxonomy import Taxonomy, Unlisted, ground
from incrowd.transactions import Transactions

__all__ = ["anonymize", "counted_by"]


def anonymize(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int | None = None,
    method: str = "flock",
    seed: int = 0,
    unlisted: Unlisted = "refuse",
    distinct: Distinct | None = None,
    progress: Progress | None = None,
    **parameters: Any,
) -> Release:
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
        For methods that make random choices: the same seed gives the same bytes.
    unlisted
        What to do with items that the taxonomy lacks: ``keep``, ``drop`` or ``refuse``. Where differential privacy is
        promised they are kept: a refusal would tell of the data.
    distinct
        What k counts where one person may have several rows: ``"people"`` (the default then) or ``"records"``.
    progress
        Told, by methods that take long, how many rows of how many are done.
    **parameters
        The method's own parameters, as ``publish="bag"``.
    """
    run = method_named(method)
    own = read_parameters(method, parameters)
    kind = promise_of(method, own)
    noisy = kind == "differential privacy"
    k = None if noisy else _needed_k(k, method)
    grounded = ground(transactions, taxonomy, unlisted="keep" if noisy else unlisted)
    transactions, taxonomy = grounded.transactions, grounded.taxonomy
    counted = counted_by(transactions, distinct)
    extra = _wanted(run, progress=progress, people=transactions.person)
    classes = run(counted, taxonomy, k=k, seed=seed, **extra, **own)
    if k is not None and counted.people is not None and _can_be_merged(method, classes):
        classes = with_people(classes, taxonomy, counted.person, k)
    given = {"seed": seed, **own} if k is None else {"k": k, "seed": seed, **own}
    if not noisy and not classes.sizes.any():
        raise BadInputError(
            f"method {method} leaves nothing to publish with {_spelled({'k': k, **own})}; try others, or another method"
        )
    claim = _claim(method, given, counted)
    return Release(method, given, claim, transactions, taxonomy, classes)


def _claim(method: str, given: Mapping[str, Any], counted: Transactions) -> Claim:
    """Return what is promised of a release with these parameters."""
    if PROMISES[method] == "differential privacy":
        unit = counted.unit.partition(":")[0]
        return Claim("differential privacy", unit=unit, eps=given["eps"], delta=given["delta"])
    settings = read_settings(method, {**given, "unit": counted.unit, "taxonomy": "file"})
    return promised(settings, distinct="records" if counted.people is None else "people")


def _needed_k(k: int | None, method: str) -> int:
    """Return a k that was given and is one."""
    if k is None:
        raise BadInputError(f"method {method} needs k: how many people must share a record, at least 2")
    return check_k(k)


def _can_be_merged(method: str, classes: Classes) -> bool:
    """Tell whether classes may be merged by what is common to their nodes.

    Methods that publish something else than nodes above their rows' items count people themselves.
    """
    else_published = (classes.texts, classes.alternatives, classes.stands_for)
    return PROMISES[method] == "k-anonymity" and all(other is None for other in else_published)


def _spelled(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in parameters.items())


def counted_by(transactions: Transactions, distinct: Distinct | None) -> Transactions:
    """Return the transactions as a method shall count them: without people, each row is one of its own."""
    if distinct is not None:
        check_choice("distinct", distinct, get_args(Distinct))
    if distinct == "people" and transactions.people is None and transactions.unit == "record":
        raise BadInputError("distinct people needs to know whose each record is; baskets do not say")
    return replace(transactions, people=None) if distinct == "records" else transactions


def _wanted(method: Method, **offered: Any) -> dict[str, Any]:
    """Return what is offered, as arguments, if the method takes it and there is anything."""
    taken = inspect.signature(method).parameters
    return {name: value for name, value in offered.items() if name in taken and value is not None}
