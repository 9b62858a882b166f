"""The verb: transactions and a taxonomy in, a release out."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from incrowd.claims import Claim, Distinct, check_k
from incrowd.errors import BadInputError, check_choice
from incrowd.methods import PROMISES, Method, Progress, method_named, read_parameters
from incrowd.methods.people import with_people
from incrowd.release import Release
from incrowd.taxonomy import Taxonomy, Unlisted, ground
from incrowd.transactions import Transactions

__all__ = ["anonymize", "counted_by"]


def anonymize(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
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
        Every published record will be shared by at least k rows; at least 2.
    method
        A name in :data:`incrowd.METHODS`.
    seed
        For methods that make random choices: the same seed gives the same bytes.
    unlisted
        What to do with items that the taxonomy lacks: ``keep``, ``drop`` or ``refuse``.
    distinct
        What k counts where one person may have several rows: ``"people"`` (the default then) or ``"records"``.
    progress
        Told, by methods that take long, how many rows of how many are done.
    **parameters
        The method's own parameters, as ``publish="bag"``.
    """
    k = check_k(k)
    run = method_named(method)
    own = read_parameters(method, parameters)
    grounded = ground(transactions, taxonomy, unlisted=unlisted)
    transactions, taxonomy = grounded.transactions, grounded.taxonomy
    counted = counted_by(transactions, distinct)
    classes = run(counted, taxonomy, k=k, seed=seed, **_told(run, progress), **own)
    if counted.people is not None and PROMISES[method] == "k-anonymity":
        classes = with_people(classes, taxonomy, counted.person, k)
    if not classes.sizes.any():
        raise BadInputError(
            f"method {method} leaves nothing to publish with {_spelled({'k': k, **own})}; try others, or another method"
        )
    claim = Claim(
        PROMISES[method],
        k,
        transactions.unit.partition(":")[0],
        own.get("m"),
        "records" if counted.people is None else "people",
        classes.within,
        classes.speaks_of,
        classes.typed_by,
        *([own["eps"], own["delta"]] if PROMISES[method] == "differential privacy" else []),
    )
    return Release(method, {"k": k, "seed": seed, **own}, claim, transactions, taxonomy, classes)


def _spelled(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in parameters.items())


def counted_by(transactions: Transactions, distinct: Distinct | None) -> Transactions:
    """Return the transactions as a method shall count them: without people, each row is one of its own."""
    if distinct is not None:
        check_choice("distinct", distinct, get_args(Distinct))
    if distinct == "people" and transactions.people is None and transactions.unit == "record":
        raise BadInputError("distinct people needs to know whose each record is; baskets do not say")
    return replace(transactions, people=None) if distinct == "records" else transactions


def _told(method: Method, progress: Progress | None) -> dict[str, Progress]:
    """Return the progress callback as an argument, if the method takes one and somebody wants to know."""
    takes = "progress" in inspect.signature(method).parameters
    return {"progress": progress} if takes and progress is not None else {}
