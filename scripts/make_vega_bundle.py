"""Make the chart library that ``compare.html`` carries: vega, vega-lite and vega-embed in one file.

Run it from the project's root, with the three packages as ``npm pack`` leaves them::

    npm pack vega@6.4.0 vega-lite@6.4.3 vega-embed@7.3.0
    python scripts/make_vega_bundle.py vega-6.4.0.tgz vega-lite-6.4.3.tgz vega-embed-7.3.0.tgz

It writes two files into ``src/incrowd/data`` (or ``--out DIR``): ``vega.min.js``, the minified builds one after
the other, each below a line with its name, version and licence; and ``VEGA-LICENSE.txt``, their licences. The
same packages give the same bytes.
"""

from __future__ import annotations

import argparse
import json
import re
import tarfile
from pathlib import Path
from typing import NamedTuple

__all__ = ["Package", "bundle", "licences", "main", "read_package"]

OUT = Path(__file__).resolve().parent.parent / "src" / "incrowd" / "data"
ORDER = ("vega", "vega-lite", "vega-embed")  # each needs the ones before it
LARGEST = 1_200_000


class Package(NamedTuple):
    """What the page needs of one package."""

    name: str
    version: str
    licence_name: str
    licence: str
    script: str


def read_package(path: Path, build: str = "build/{name}.min.js") -> Package:
    """Read a package's minified build, by where it lies, and its licence."""
    with tarfile.open(path) as archive:

        def text(name: str) -> str:
            file = archive.extractfile(f"package/{name}")
            if file is None:
                raise SystemExit(f"{path} holds no file {name}")
            return file.read().decode()

        about = json.loads(text("package.json"))
        name = about["name"]
        script = text(build.format(name=name))
        return Package(name, about["version"], about["license"], text("LICENSE"), script)


def bundle(packages: list[Package]) -> str:
    """Return the builds as one script that can stand inside a page."""
    parts = []
    for package in packages:
        # A map of the source would be fetched; the page fetches nothing.
        script = re.sub(r"^//# sourceMappingURL=.*$", "", package.script, flags=re.MULTILINE).strip()
        parts.append(f"/*! {package.name} {package.version}, {package.licence_name} */\n{script}\n")
    whole = "".join(parts)
    if re.search(r"</script|<!--", whole, flags=re.IGNORECASE):
        raise SystemExit("a build holds text that would end or hide the script of a page; use other versions")
    if len(whole.encode()) > LARGEST:
        raise SystemExit(f"the bundle must be at most {LARGEST:,} bytes (got {len(whole.encode()):,})")
    return whole


def licences(packages: list[Package]) -> str:
    """Return the licences of all packages, each below its name and version."""
    return "\n".join(
        f"{package.name} {package.version} ({package.licence_name})\n\n{package.licence.strip()}\n"
        for package in packages
    )


def main() -> None:
    """Read the packages named on the command line and write the two files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("packages", nargs=len(ORDER), type=Path, help="the files that npm pack wrote")
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    found = {package.name: package for package in map(read_package, arguments.packages)}
    if set(found) != set(ORDER):
        raise SystemExit(f"give one package each of {', '.join(ORDER)}")
    packages = [found[name] for name in ORDER]
    (arguments.out / "vega.min.js").write_text(bundle(packages), encoding="utf-8")
    (arguments.out / "VEGA-LICENSE.txt").write_text(licences(packages), encoding="utf-8")


if __name__ == "__main__":
    main()
