"""Put htmx, which the studio's pages use, into the package.

Run it from the project's root, with the package as ``npm pack`` leaves it::

    npm pack htmx.org@2.0.11
    python scripts/get_htmx.py htmx.org-2.0.11.tgz

It writes ``htmx.min.js``, below a line with its name, version and licence, and ``HTMX-LICENSE.txt`` into ``src/incrowd/data``.
The same package gives the same bytes.
"""

from __future__ import annotations

import json
import sys
import tarfile
from pathlib import Path

__all__ = ["main"]

OUT = Path(__file__).resolve().parent.parent / "src" / "incrowd" / "data"


def main() -> None:
    """Read the package named on the command line and write the two files."""
    with tarfile.open(sys.argv[1]) as archive:

        def text(name: str) -> str:
            file = archive.extractfile(f"package/{name}")
            if file is None:
                raise SystemExit(f"{sys.argv[1]} holds no file {name}")
            return file.read().decode()

        about = json.loads(text("package.json"))
        heading = f"{about['name']} {about['version']}"
        script = f"/*! {heading}, {about['license']} */\n{text('dist/htmx.min.js').strip()}\n"
        (OUT / "htmx.min.js").write_text(script, encoding="utf-8")
        notice = f"{heading} ({about['license']})\n\n{text('LICENSE').strip()}\n"
        (OUT / "HTMX-LICENSE.txt").write_text(notice, encoding="utf-8")


if __name__ == "__main__":
    main()
