"""incrowd: publish query logs and other set-valued data so that nobody in them stands out.

>>> import incrowd as ic
>>> log = ic.read_log("aol.tsv.gz")                       # doctest: +SKIP
>>> tx = log.transactions(unit="user", items="nouns")     # doctest: +SKIP
>>> tree = ic.wordnet(tx)                                 # doctest: +SKIP
>>> release = ic.anonymize(tx, tree, k=5)                 # doctest: +SKIP
>>> release.losses, release.claim, release.table()        # doctest: +SKIP
>>> release.write("out"); ic.audit("out").holds           # doctest: +SKIP
True
"""

from __future__ import annotations

from incrowd.anonymization import anonymize
from incrowd.audit import Audit, audit
from incrowd.claims import Claim
from incrowd.errors import BadInputError, ClaimError, IncrowdError
from incrowd.logs import Log, read_baskets, read_log
from incrowd.methods import METHODS
from incrowd.metrics import Losses
from incrowd.release import Release
from incrowd.taxonomy import Taxonomy, balanced, read_taxonomy, wordnet
from incrowd.transactions import Transactions
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
