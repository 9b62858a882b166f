"""Put htmx, which the studio's pages use, into the package.

Run it from the project's root, with the package as ``npm pack`` leaves it::

    npm pack htmx.org@2.0.11
    python scripts/get_htmx.py htmx.org-2.0.11.tgz

It writes ``htmx.min.js``, below a line with its name, version and licence, and ``HTMX-LICENSE.txt`` into ``src/incrowd/data``.
The same package gives the same bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from make_vega_bundle import OUT, bundle, licences, read_package

__all__ = ["main"]


def main() -> None:
    """Read the package named on the command line and write the two files."""
    htmx = read_package(Path(sys.argv[1]), "dist/htmx.min.js")
    (OUT / "htmx.min.js").write_text(bundle([htmx]), encoding="utf-8")
    (OUT / "HTMX-LICENSE.txt").write_text(licences([htmx]), encoding="utf-8")


if __name__ == "__main__":
    main()
