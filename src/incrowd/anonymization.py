"""The verb: transactions and a taxonomy in, a release out."""

from __future__ import annotations

from typing import Any

from incrowd.claims import Claim, check_k
from incrowd.errors import BadInputError
from incrowd.methods import PROMISES, method_named, read_parameters
from incrowd.release import Release
from incrowd.taxonomy import Taxonomy, Unlisted, ground
from incrowd.transactions import Transactions

__all__ = ["anonymize"]


def anonymize(
    transactions: Transactions,
    taxonomy: Taxonomy,
    *,
    k: int,
    method: str = "partition",
    seed: int = 0,
    unlisted: Unlisted = "refuse",
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
    **parameters
        The method's own parameters, as ``publish="bag"``.
    """
    k = check_k(k)
    run = method_named(method)
    own = read_parameters(method, parameters)
    grounded = ground(transactions, taxonomy, unlisted=unlisted)
    transactions, taxonomy = grounded.transactions, grounded.taxonomy
    classes = run(transactions, taxonomy, k=k, seed=seed, **own)
    if classes.withheld == len(transactions):
        raise BadInputError(
            f"method {method} leaves nothing to publish at k = {k}; use a smaller k or another method"
        )
    claim = Claim(PROMISES[method], k, transactions.unit.partition(":")[0], own.get("m"))
    return Release(method, {"k": k, "seed": seed, **own}, claim, transactions, taxonomy, classes)
