"""The claims of Liu & Wang, ICDM 2010 (section VI): SSC against LG(bag) in bLM, Recall and sDist.

    python benchmarks/reproduce_ssc.py [--quick] [--out DIR]

The paper's figures are in a technical report that we do not have; its text claims that SSC retains much more than
LG(bag) on vocabularies of the AOL log, by all three measures. Here: users and sessions made up by ``incrowd synth``,
and sessions of the Excite log (read from ``INCROWD_DATA``, default ``../shared/data`` from the project's root);
nouns over WordNet, as bags, k = 2 to 10, eps = 4. What comes out: docs/experiments.md.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import incrowd as ic
from incrowd.logs.synth.generate import write_log
from incrowd.taxonomy import open_taxonomy
from plots import Experiment, Measure, Style, first_filled, publish, read_options
from public_data import DATA, existing

KS = (2, 3, 4, 5, 6, 8, 10)
USERS, QUICK_USERS, GAP = 2_000, 300, "session:30m"
METHODS = {
    "LG(bag)": {"method": "partition", "publish": "bag"},
    "SSC": {"method": "ssc"},
    "SSC, seeds in input order": {"method": "ssc", "order": "input"},
    "SSC, generalized": {"method": "ssc", "typical": "generalize"},
    "Partition, LCG": {"method": "partition", "publish": "lcg"},
    "Clump": {"method": "clump"},
}
STYLES = {
    "LG(bag)": Style("#000000", "o"),
    "SSC": Style("#D55E00", "s"),
    "SSC, seeds in input order": Style("#D55E00", "s", "--"),
    "SSC, generalized": Style("#CC79A7", "D", "--"),
    "Partition, LCG": Style("#000000", "o", "--"),
    "Clump": Style("#0072B2", "^"),
}


def vocabularies(log: Path, unit: str, rows: int | None = None) -> tuple[ic.Transactions, ic.Taxonomy]:
    """Return bags of the nouns that WordNet lists, and WordNet."""
    with ic.read_log(log) as read:
        nouns = read.transactions(unit=unit, items="nouns")
    attached = open_taxonomy("wordnet", nouns, unlisted="drop")
    return first_filled(attached.transactions, rows or len(nouns)), attached.taxonomy


def by_k(title: str, rows: ic.Transactions, tree: ic.Taxonomy) -> Experiment:
    """Return the three measures by k; as in the paper, vocabularies are counted and not people."""
    print(f"{title}: {rows}\n", flush=True)
    runs = {
        name: [ic.anonymize(rows, tree, k=k, distinct="records", **settings) for k in KS]
        for name, settings in METHODS.items()
    }
    blm = {name: [release.losses.blm for release in of_k] for name, of_k in runs.items()}
    recall = {name: [release.utility.recall for release in of_k] for name, of_k in runs.items()}
    sdist = {name: [release.utility.sdist for release in of_k] for name, of_k in runs.items()}
    measures = [
        Measure("bLM", ".3f", blm, title),
        Measure("Recall", ".3f", recall, title),
        Measure("sDist", ".2f", sdist, title),
    ]
    return Experiment(title, "k", KS, measures)


def experiments(*, quick: bool) -> Iterator[Experiment]:
    """Yield a row of panels for each set of vocabularies."""
    excite = existing(DATA / "logs/excite-small.log")
    with tempfile.TemporaryDirectory() as scratch:
        made_up = Path(scratch) / "log.tsv"
        write_log(made_up, users=QUICK_USERS if quick else USERS, people="all")
        yield by_k("made-up users", *vocabularies(made_up, "user"))
        yield by_k("made-up sessions", *vocabularies(made_up, GAP))
    yield by_k("Excite, sessions", *vocabularies(excite, GAP, 200 if quick else None))


def main() -> None:
    options = read_options(__doc__)
    publish(experiments(quick=options.quick), STYLES, "reproduce-ssc", options.out, columns=3)


if __name__ == "__main__":
    main()
