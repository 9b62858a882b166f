"""incrowd: publish query logs and other set-valued data without revealing which record is whose.

From data to an audited release:

    import incrowd as ic

    log = ic.read(frame, user="who", query="text", time="when")   # pandas, Polars, Arrow, rows, files
    release = ic.anonymize(log, k=5)                              # or ic.anonymize(frame, k=5)
    print(release.claim)                                          # what is promised
    release.to_pandas()                                           # what is published
    release.write("release")                                      # audited before it has its name
    audit = ic.audit("release")                                   # recounted from the files alone
    print(audit.holds, audit.claim.not_promised)

The verbs:

    read        data of any kind -> Log           (read_log and read_baskets: files)
    anonymize   data -> Release or TileRelease    (goal="words", "queries" or "people"; or method=...)
    audit       the directory of a release -> Audit    (audit_series: all releases of a series -> SeriesAudit)
    compare     data, methods=[...], k=[...] -> Comparison: a table, a page of charts
    risk        data, or a release and its data -> Risk: what attackers get, before and after
    tables      the directory of a release -> Tables: items, pairs, trends, for analysts
    generalize  a query, a table of people -> Decision: what may be sent in its place

The nouns:

    Log           queries or baskets that were read; log.transactions() are the rows
    Transactions  the items of each privacy unit: len(tx), tx[0], tx[:10], for row in tx. Private
    Taxonomy      a tree over items: wordnet(), balanced(tx, 5), read_taxonomy("file")
    Release       records, each shared by k; TileRelease: small sets of items, each held by k people
    Claim         what is promised; str(claim) is the sentence, claim.not_promised its limits
    Audit         what a recount found; Losses: what records lose; METHODS: all methods by name

Errors are IncrowdError: BadInputError (what you gave, and the remedy), ClaimError (nothing was published). Neither quotes a record, and
no object of yours prints one until it is asked to: a notebook can be shared. Help for one name: help(ic.anonymize). Guides: docs/.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from incrowd.auditing.result import Audit
    from incrowd.core.claims import Claim
    from incrowd.core.transactions import Transactions
    from incrowd.errors import BadInputError, ClaimError, IncrowdError
    from incrowd.generalizer.simple import generalize
    from incrowd.jobs.audit_library import audit
    from incrowd.jobs.compare import Comparison
    from incrowd.jobs.library import anonymize, compare
    from incrowd.jobs.risk_library import risk
    from incrowd.jobs.series_audit import audit_series
    from incrowd.logs import Log, read_baskets, read_log
    from incrowd.logs.frames import read
    from incrowd.methods.registry import METHODS
    from incrowd.metrics import Losses
    from incrowd.release.model import Release
    from incrowd.release.tables.made import tables
    from incrowd.release.tiles import TileRelease
    from incrowd.taxonomy import Taxonomy, balanced, read_taxonomy, wordnet
    from incrowd.version import __version__

    # For type checkers alone: with it, help(incrowd) would print every class in full.
    __all__ = [
        "METHODS",
        "Audit",
        "BadInputError",
        "Claim",
        "ClaimError",
        "Comparison",
        "IncrowdError",
        "Log",
        "Losses",
        "Release",
        "Taxonomy",
        "TileRelease",
        "Transactions",
        "__version__",
        "anonymize",
        "audit",
        "audit_series",
        "balanced",
        "compare",
        "generalize",
        "read",
        "read_baskets",
        "read_log",
        "read_taxonomy",
        "risk",
        "tables",
        "wordnet",
    ]

# Names are imported on first use, so that the command line starts at once.
_HOME = {
    "METHODS": "methods.registry",
    "Audit": "auditing.result",
    "BadInputError": "errors",
    "Claim": "core.claims",
    "ClaimError": "errors",
    "Comparison": "jobs.compare",
    "IncrowdError": "errors",
    "Log": "logs",
    "Losses": "metrics",
    "Release": "release.model",
    "Taxonomy": "taxonomy",
    "TileRelease": "release.tiles",
    "Transactions": "core.transactions",
    "__version__": "version",
    "anonymize": "jobs.library",
    "audit": "jobs.audit_library",
    "audit_series": "jobs.series_audit",
    "balanced": "taxonomy",
    "compare": "jobs.library",
    "generalize": "generalizer.simple",
    "read": "logs.frames",
    "read_baskets": "logs",
    "read_log": "logs",
    "read_taxonomy": "taxonomy",
    "risk": "jobs.risk_library",
    "tables": "release.tables.made",
    "wordnet": "taxonomy",
}


def __getattr__(name: str) -> _Any:
    if name not in _HOME:
        raise AttributeError(f"module 'incrowd' has no attribute '{name}'")
    value = getattr(_import_module(f"incrowd.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME} - {"TYPE_CHECKING", "annotations"})
