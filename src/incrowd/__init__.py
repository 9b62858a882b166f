"""incrowd: publish query logs and other set-valued data without revealing which record is whose.

>>> import incrowd as ic
>>> log = ic.read_log("aol.tsv.gz")                       # doctest: +SKIP
>>> tx = log.transactions(unit="user", items="nouns")     # doctest: +SKIP
>>> tree = ic.wordnet(tx)                                 # doctest: +SKIP
>>> release = ic.anonymize(tx, tree, k=5)                 # doctest: +SKIP
>>> release.losses, release.claim, release.table()        # doctest: +SKIP
>>> release.write("out"); ic.audit("out").holds           # doctest: +SKIP
True

Names are imported on first use, so that the command line starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from incrowd.auditing.audit import audit
    from incrowd.auditing.result import Audit
    from incrowd.core.claims import Claim
    from incrowd.core.transactions import Transactions
    from incrowd.errors import BadInputError, ClaimError, IncrowdError
    from incrowd.jobs.anonymize import anonymize
    from incrowd.logs import Log, read_baskets, read_log
    from incrowd.methods.registry import METHODS
    from incrowd.metrics import Losses
    from incrowd.release.model import Release
    from incrowd.taxonomy import Taxonomy, balanced, read_taxonomy, wordnet
    from incrowd.version import __version__

__all__ = [
    "METHODS",
    "Audit",
    "BadInputError",
    "Claim",
    "ClaimError",
    "IncrowdError",
    "Log",
    "Losses",
    "Release",
    "Taxonomy",
    "Transactions",
    "__version__",
    "anonymize",
    "audit",
    "balanced",
    "read_baskets",
    "read_log",
    "read_taxonomy",
    "wordnet",
]

_HOME = {
    "METHODS": "methods.registry",
    "Audit": "auditing.audit",
    "BadInputError": "errors",
    "Claim": "core.claims",
    "ClaimError": "errors",
    "IncrowdError": "errors",
    "Log": "logs",
    "Losses": "metrics",
    "Release": "release.model",
    "Taxonomy": "taxonomy",
    "Transactions": "core.transactions",
    "__version__": "version",
    "anonymize": "jobs.anonymize",
    "audit": "auditing.audit",
    "balanced": "taxonomy",
    "read_baskets": "logs",
    "read_log": "logs",
    "read_taxonomy": "taxonomy",
    "wordnet": "taxonomy",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'incrowd' has no attribute '{name}'")
    value = getattr(import_module(f"incrowd.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
